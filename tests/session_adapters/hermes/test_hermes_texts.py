"""The texts of a Hermes database that are searched, and what of them is new: against whole conversations."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_store import Store, adapter_for
from session_adapters.base import Source
from session_adapters.hermes import texts as module
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.hermes.message_queries import read_rows, sized_ids
from session_adapters.hermes.session_queries import HermesSchema
from session_adapters.model import Problem
from session_adapters.reading import sqlite_limits
from session_adapters.reading.searchable import Text, texts_of
from session_adapters.reading.sqlite import read_database

VERSIONS = ("v1", "v2", "v3", "v4", "v5", "v6", "0.13.0", "0.15.0", "0.16.0", "0.17.0", "0.18.0", "0.18.2")
HOMES = (("home",), *(("old_versions", version) for version in VERSIONS))

Stored = Callable[..., Path]


def ignore(problem: Problem) -> None:
    """What cannot be read is the business of other tests."""


def conversations(adapter: HermesAdapter, source: Source) -> list[Text]:
    """The texts of every session as it is shown."""
    return [
        text
        for summary in adapter.summaries(source, ignore)
        for text in texts_of(summary.session_id, adapter.session(source, summary.session_id).messages)
    ]


@pytest.mark.parametrize("home", HOMES, ids="/".join)
@pytest.mark.parametrize("page", [5, 2000])
def test_texts_are_those_of_the_sessions(
    home: Sequence[str], page: int, store: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE_ROWS", page)
    adapter = adapter_for(store("hermes", *home))
    sources = list(adapter.sources(ignore))
    assert sources
    for source in sources:
        whole = _by_session(conversations(adapter, source))
        assert _by_session(adapter.texts(source, ignore)) == whole


def _by_session(texts: Iterable[Text]) -> list[Text]:
    """A list has the newest sessions first, the texts of a database come in the order of its rows."""
    return sorted(texts, key=lambda text: text.session_id)


class Follower:
    """Knows the texts of a database and brings them up to date by what is new alone."""

    def __init__(self, store: Store) -> None:
        self.adapter = store.adapter
        self.marks: dict[str, str] = {}
        self.texts: dict[str, dict[str, Text]] = {}
        self.read = 0
        """Texts that the latest `look` was given."""

    @property
    def source(self) -> Source:
        return next(iter(self.adapter.sources(ignore)))

    def look(self) -> None:
        found = self.adapter.new_texts(self.source, ignore, self.marks)
        assert found is not None
        marks: dict[str, str] = {}
        self.read = 0
        for one in found:
            marks[one.session_id] = one.mark
            assert one.mark
            known = {} if one.whole else self.texts[one.session_id]
            for text in one.texts:
                known[text.message_id] = text
                self.read += 1
            self.texts[one.session_id] = known
        self.marks = marks
        self.texts = {key: texts for key, texts in self.texts.items() if key in marks}

    def everything(self) -> list[Text]:
        return sorted(text for texts in self.texts.values() for text in texts.values())


def call(id_: str) -> str:
    return json.dumps([{"id": id_, "function": {"name": "run", "arguments": '{"command": "ls"}'}}])


STEPS = (
    "say",
    "say",
    "call",
    "answer",
    "answer",
    "rewind",
    "restore",
    "compact",
    "delete",
    "forget",
    "session",
    "edit",
)


@given(data=st.data())
@examples(25)
def test_what_is_new_makes_up_the_whole(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever becomes of the rows, and however rarely one looks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ALIKE", data.draw(st.sampled_from((1, 8))))
        _make_up_the_whole(data, tmp_path_factory)


def _make_up_the_whole(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store(tmp_path_factory.mktemp("home"))
    follower = Follower(store)
    for number in range(data.draw(st.integers(1, 20))):
        sessions = store.ids()
        step = data.draw(st.sampled_from(STEPS)) if sessions else "session"
        session = data.draw(st.sampled_from(sessions)) if sessions else ""
        run = store.connection.execute
        if step == "session":
            store.session(f"s{number}")
        elif step == "say":
            store.say(session, data.draw(st.sampled_from(("user", "assistant", "system"))), f"word{number}")
        elif step == "call":
            store.say(session, "assistant", "", tool_calls=call(data.draw(st.sampled_from(("a", "b", "ä\"'")))))
        elif step == "answer":
            id_ = data.draw(st.sampled_from(("a", "b", "ä\"'", "none")))
            store.say(session, "tool", f"output{number}", tool_call_id=id_, tool_name="named")
        elif step == "rewind":
            run("UPDATE messages SET active = 0 WHERE session_id = ? AND id % 3 = 0", (session,))
        elif step == "restore":
            run("UPDATE messages SET active = 1 WHERE session_id = ?", (session,))
        elif step == "compact":
            run("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND id % 2 = 0", (session,))
        elif step == "delete":
            run("DELETE FROM messages WHERE session_id = ? AND id % 2 = 0", (session,))
        elif step == "forget":
            run("DELETE FROM messages WHERE session_id = ?", (session,))
            run("DELETE FROM sessions WHERE id = ?", (session,))
        else:
            run("UPDATE messages SET content = content || ' more' WHERE session_id = ?", (session,))
        if data.draw(st.booleans()):
            follower.look()
            assert follower.everything() == sorted(conversations(store.adapter, follower.source))
    follower.look()
    assert follower.everything() == sorted(conversations(store.adapter, follower.source))
    store.connection.close()


def test_only_what_changed_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for session in ("a", "b", "c"):
        store.session(session)
        for number in range(50):
            store.say(session, "user", f"{session} said {number}")
    follower = Follower(store)
    follower.look()
    assert follower.read == 150
    follower.look()
    assert follower.read == 0
    store.say("b", "assistant", "one more", tool_calls=call("x"))
    follower.look()
    assert follower.read == 1
    store.say("b", "tool", "an answer", tool_call_id="x", tool_name="named")
    follower.look()
    assert follower.read == 1
    assert follower.texts["b"]["152"].tool == "an answer"  # the name stands with the call
    store.connection.execute("UPDATE messages SET active = 0 WHERE id = 3")
    follower.look()
    assert follower.read == 50
    assert follower.texts["a"]["3"].visibility == "rewound"
    store.connection.close()


def test_calls_that_are_named_alike_are_not_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some models name the calls of each turn alike: an answer had all of them read."""
    store, read = Store(tmp_path), list[int]()
    store.session("a")
    for _ in range(50):
        store.say("a", "assistant", "", tool_calls=call("call_1"))
        store.say("a", "tool", "an answer", tool_call_id="call_1", tool_name="named")
    follower = Follower(store)
    follower.look()

    def noted(*given: Any) -> Any:
        read.append(len(given[2]))
        return read_rows(*given)

    monkeypatch.setattr("session_adapters.hermes.texts.read_rows", noted)
    store.say("a", "tool", "another", tool_call_id="call_1", tool_name="named")
    follower.look()
    assert follower.read == 1 and follower.texts["a"]["101"].tool == "another"
    assert read == [module.ALIKE]
    store.connection.close()


VALUES = st.one_of(
    st.none(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False),
    st.text(alphabet="aä語", max_size=900),
    st.binary(max_size=900),
)


@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=40), room=st.integers(1 << 10, 50 << 10))
@examples(25)
def test_of_too_much_as_many_rows_are_read_as_there_is_room_for(
    rows: list[tuple[Any, ...]], room: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """How many is told by the sizes alone, whatever the values are, and is the same as by reading them."""
    store = Store(tmp_path_factory.mktemp("home"))
    store.session("one")
    for content, calls, name in rows:
        store.say("one", "user", content, tool_calls=calls, tool_name=name, active=10**18, compacted=10**18)
    store.connection.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_limits, "SESSION_LIMIT", room)

        def read(connection: apsw.Connection) -> None:
            schema = HermesSchema.of(connection)
            ids, _, left = sized_ids(connection, schema, "one")
            every = read_rows(connection, schema, range(1, len(rows) + 1))
            assert (list(ids), left) == ([row.id for row in every.rows], every.left)

        read_database(str(store.path), read)


def test_what_a_damaged_page_leaves_is_still_read(store: Stored, tmp_path: Path) -> None:
    """A page of the table of messages is overwritten: both ways of reading give what is left, and the same."""
    home = store("hermes", "home")
    path = home / ".hermes" / "state.db"
    connection = sqlite3.connect(path)
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    leaves = "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY pageno"
    try:
        pages = [page for (page,) in connection.execute(leaves)]
    except sqlite3.OperationalError:  # a library without dbstat
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()[0]
        pages = [root + 1]
    connection.close()
    content = bytearray(path.read_bytes())
    for page in pages[len(pages) // 2 : len(pages) // 2 + 1]:
        content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    adapter = adapter_for(home)
    source = next(source for source in adapter.sources(ignore) if source.path == str(path))
    whole = conversations(adapter, source)
    assert whole
    assert sorted(adapter.texts(source, ignore)) == sorted(whole)
