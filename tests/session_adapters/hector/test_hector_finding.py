"""Where Hector's sessions are looked for, what they are called, and what looking costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from databases import nothing_left_open, run_python
from hector_store import V2_SCHEMA, Store, adapter_for, everything, get, listed, sample_adapter
from session_adapters.base import SessionMissing
from session_adapters.hector import ids
from session_adapters.hector import summary as hector_summary
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.hector.configuration.places import PATH_VARIABLE
from session_adapters.hector.conversations import Conversations
from session_adapters.hector.layout import HectorFacts
from session_adapters.hector.reader import HectorReader
from session_adapters.model import Problem
from session_adapters.registry import BUILT_IN, adapter_class

Stored = Callable[..., Path]
Statements = list[tuple[str, list[str]]]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


# Ids ---------------------------------------------------------------------------------------------------------

parts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("/@:% ")), max_size=12)


@given(st.one_of(st.tuples(parts, parts), st.tuples(parts, parts, parts)))
@example(("@deleted", "x"))
@example((ids.Missing.DELETED, "x"))
@example((ids.Missing.NO_AGENT, "@none"))
@example(("", ""))
def test_ids_are_composite_and_go_both_ways(native: ids.Parts) -> None:
    made = ids.encode(native)
    assert ids.decode(made) == native
    assert made.count("/") == len(native) - 1
    assert ids.split_store(made) == (made, "")
    assert ids.split_store(ids.of_store(made, "/some/file.db")) == (made, ids.store_tag("/some/file.db"))
    # Nothing but what marks a session without an agent needs quoting in a shell, or holds a blank or control.
    assert made.removeprefix("@").replace("%", "").replace("/", "").replace("~", "").isascii()


@given(st.text(max_size=20))
def test_text_that_is_no_id_is_refused(text: str) -> None:
    try:
        native = ids.decode(text)
    except ValueError:
        return
    assert ids.encode(native) == text


def test_an_agent_called_as_we_mark_what_has_none_is_told_apart(own: Store) -> None:
    own.session("s", agent="@deleted")
    own.session("s", agent="@none")
    own.session("s", agent="")
    own.say("s", "USER", "whose")
    own.say("gone", "USER", "left")
    assert listed(own.adapter).keys() == {"%40deleted/s", "%40none/s", "/s", "@deleted/gone"}
    for session_id in ("%40deleted/s", "%40none/s", "/s"):
        assert [message.content for message in get(own.adapter, session_id).messages] == ["whose"]
    for absent in ("@deleted/s", "@none/s", "assistant/s"):
        assert own.adapter.find(absent) is None


# Places ------------------------------------------------------------------------------------------------------


def test_the_adapter_is_built_in() -> None:
    assert adapter_class("hector") is HectorAdapter
    assert "hector" in BUILT_IN


def test_home_working_directory_and_named_places_are_looked_at(tmp_path: Path, problems: list[Problem]) -> None:
    for number, name in enumerate(("home", "work", "elsewhere", "files")):
        made = Store(tmp_path / name, "named.db" if name == "files" else "data/sessions.db")
        made.session(f"s{number}")
        made.connection.close()
    (tmp_path / "work" / ".hector").mkdir()
    (tmp_path / "alias.db").symlink_to(tmp_path / "home" / "data" / "sessions.db")
    named = [tmp_path / "elsewhere", tmp_path / "files" / "named.db", tmp_path / "alias.db", tmp_path / "absent.db"]
    adapter = adapter_for(tmp_path / "home", *named, PWD=str(tmp_path / "work"))
    assert [(str(root.path.relative_to(tmp_path)), root.layout, root.exists) for root in adapter.roots()] == [
        ("home/data/sessions.db", "data/sessions.db", True),
        ("home/.hector", "hector.db", False),
        ("work/data/sessions.db", "data/sessions.db", True),
        ("elsewhere/data/sessions.db", "data/sessions.db", True),
        ("elsewhere/.hector", "hector.db", False),
        ("files/named.db", PATH_VARIABLE, True),
        ("absent.db", PATH_VARIABLE, False),
    ]
    found = everything(adapter, problems.append)
    assert [summary.session_id for _, summary in found] == [f"assistant/s{number}" for number in range(4)]
    assert [summary.cwd for _, summary in found] == [
        *(str(tmp_path / name) for name in ("home", "work", "elsewhere")),
        None,
    ]
    assert problems == []
    for source, summary in found:
        assert adapter.find(summary.session_id) == source


def test_a_configuration_names_files_and_its_variables_are_filled_in(tmp_path: Path, problems: list[Problem]) -> None:
    for name in ("state/a.db", "b.db", "c.db"):
        made = Store(tmp_path, name)
        made.session(name[-4])
        made.connection.close()
    (tmp_path / "config.yaml").write_text(
        "session_stores:\n"
        "  one: {backend: sql, sql: {driver: sqlite, database: './${FOLDER}/a.db'}}\n"
        "  two: {backend: sql, sql: {driver: sqlite, database: '${ABSENT:-b.db}'}}\n"
        "  memory: {backend: memory}\n"
        "  given: {sql: {driver: postgres, host: '${HOST}', database: sessions, password: '${SECRET}'}}\n"
        "  other: {backend: sql, sql: {driver: postgres, host: db, port: 6432, database: '${ABSENT}'}}\n"
        "  odd: [1, 2]\n"
        "  odder: {sql: 3}\n"
    )
    (tmp_path / ".hector").mkdir()
    (tmp_path / ".hector" / "config.yaml").write_text(
        "databases:\n  main: {driver: sqlite3, database: c.db}\n  none: {driver: sqlite, database: ':memory:'}\n"
    )
    variables = {"FOLDER": "state", "HOST": "127.0.0.1", "SECRET": "tell-nobody"}
    adapter = adapter_for(tmp_path, dsn="postgresql://u@127.0.0.1:5432/sessions?connect_timeout=1", **variables)
    names = [root.path.name for root in adapter.roots()]
    assert names == ["sessions.db", ".hector", "a.db", "b.db", "c.db", "sessions"]
    found = everything(adapter, problems.append)
    assert [summary.session_id for _, summary in found] == ["assistant/a", "assistant/b", "assistant/c"]
    places = [problem.place for problem in problems if problem.path == str(tmp_path / "config.yaml")]
    assert places == ["session_stores.other"]
    assert "HERMES_TUI_HECTOR_DSN" in problems[0].reason
    assert "tell-nobody" not in repr((problems, adapter.roots(), found))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"theme: dark\nlist: [", None),
        (b"", None),
        (b"\x00\xff\xfe", None),
        (b"session_stores: [", "while parsing a flow"),
        (b"databases:\n  a: !!python/object/apply:os.system ['true']\n", "is not read"),
        (b"databases: {a: {driver: sqlite, database: [1]}}\n", None),
        (b"databases: " + b"[" * 500_000, "nested more than 32 deep"),
        (b"databases:\n" + b"- " * 30_000, "nested more than 32 deep"),
        (b"databases: {" + b"a," * 300_000, "more than 100,000 values"),
        (b"session_stores: 7\ndatabases: [a, b]\n", None),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_configuration_that_is_none_or_anothers(
    content: bytes, reason: str | None, own: Store, problems: list[Problem]
) -> None:
    """Many programs have a `config.yaml`: only one that names databases as Hector does is complained about."""
    own.session("s")
    (own.home / "config.yaml").write_bytes(content)
    assert len(everything_reported(own.adapter, problems)) == 1
    assert len(problems) == (reason is not None)
    assert all(reason is not None and reason in problem.reason for problem in problems)


def everything_reported(adapter: HectorAdapter, problems: list[Problem]) -> list[Any]:
    return [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]


def test_an_id_in_two_databases_is_two_sessions(tmp_path: Path, problems: list[Problem]) -> None:
    stores = [Store(tmp_path / name) for name in ("first", "second", "third")]
    for number, made in enumerate(stores):
        made.session("default")
        made.say("default", "USER", f"said in {number}")
        made.session(f"only-{number}")
        made.connection.close()
    adapter = adapter_for(tmp_path / "first", tmp_path / "second", tmp_path / "third")
    tags = [ids.store_tag(str(made.path)) for made in stores]
    names = ["assistant/default", f"assistant/default@{tags[1]}", f"assistant/default@{tags[2]}"]
    assert set(listed(adapter)) == {*names, "assistant/only-0", "assistant/only-1", "assistant/only-2"}
    for number, session_id in enumerate(names):
        session = get(adapter, session_id)
        assert (session.session_id, session.title) == (session_id, f"said in {number}")
        source = adapter.find(session_id)
        assert source is not None
        transcript = adapter.open(source, session_id)
        assert (transcript.session_id, transcript.messages) == (session_id, list(session.messages))
    source = adapter.find(names[1])
    assert source is not None
    with pytest.raises(SessionMissing):
        adapter.session(source, names[2])
    assert adapter.find("assistant/default@00000000") is None


# Cost of reading ---------------------------------------------------------------------------------------------


def test_the_sessions_of_each_database_are_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of earlier ones were read again for every later one, to know which ids they have."""
    stores = [Store(tmp_path / name) for name in ("first", "second", "third")]
    for made in stores:
        made.session("default")
        made.connection.close()
    asked: list[HectorReader] = []
    sessions = Conversations.sessions

    def counted(self: Conversations) -> Iterator[HectorFacts]:
        asked.append(self.reader)
        return sessions(self)

    monkeypatch.setattr(Conversations, "sessions", counted)
    assert len(listed(adapter_for(tmp_path / "first", tmp_path / "second", tmp_path / "third"))) == 3
    assert len(asked) == 3


def test_a_list_of_a_large_database_reads_only_first_prompts(
    own: Store, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hector_summary, "FULL_SIZE", 1000)
    for number in range(30):
        own.session(f"s{number}")
        for turn in range(5):
            own.say(f"s{number}", "USER", f"prompt {number}-{turn}")
            own.say(f"s{number}", "AGENT", "answer")
    glances = everything(own.adapter)
    assert all(summary.partial for _, summary in glances)
    assert [summary.title for _, summary in glances] == [f"prompt {number}-0" for number in reversed(range(30))]
    assert {(summary.message_count, summary.turn_count) for _, summary in glances} == {(10, 5)}
    reading = [query for query, _ in statements if "CAST" in query.split("FROM")[0] and '"message_json"' in query]
    rows_read = [query for query in reading if "coalesce(octet_length" not in query]
    assert len(rows_read) == 30, "one row for each session, and no other text"
    source = glances[0][0]
    exact = own.adapter.summaries(source, lambda problem: None, exact=True)
    assert not any(summary.partial for summary in exact)
    assert [(one.title, one.message_count, one.turn_count) for one in exact] == [
        (one.title, one.message_count, one.turn_count) for _, one in glances
    ]


def test_a_list_takes_few_statements(own: Store, statements: Statements) -> None:
    for number in range(150):
        own.session(f"s{number}")
        own.say(f"s{number}", "USER", "prompt")
    assert len(everything(own.adapter)) == 150
    marking = [query for query, _ in statements if "coalesce(octet_length" in query]
    assert len(marking) == 1, "all sessions of a batch at once"


def test_one_session_is_read_without_the_others(own: Store, statements: Statements) -> None:
    for number in range(50):
        own.session(f"s{number}")
        own.say(f"s{number}", "USER", "x")
    own.get("s7")
    own.open("s7").refresh()
    touching = [step for _, plan in statements for step in plan if "session_messages" in step or "sessions" in step]
    assert touching
    assert [step for step in touching if step.startswith("SCAN")] == []


def test_v2_reads_one_session_without_the_others(tmp_path: Path, statements: Statements) -> None:
    made = Store(tmp_path, ".hector/hector.db", V2_SCHEMA)
    with closing(made.connection):
        for number in range(50):
            key = {"app_name": "a", "user_id": "u", "created_at": "2025-12-13 11:00:00+01:00"}
            made.insert("sessions", {**key, "id": f"s{number}", "updated_at": key["created_at"]})
            made.insert("session_events", {**key, "id": f"e{number}", "session_id": f"s{number}", "sequence_num": 1})
        assert len(get(made.adapter, "a/u/s7").messages) == 1
    touching = [step for _, plan in statements for step in plan if "session_events" in step or "sessions" in step]
    assert touching
    assert [step for step in touching if step.startswith("SCAN")] == []


def test_no_database_is_opened_as_a_plain_file(store: Stored) -> None:
    """Closing such a file would drop this process's locks on it (law 3). Audited in a fresh interpreter."""
    code = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, arguments: opened.append((event, str(arguments[0]))) if event in
                 ("open", "sqlite3.connect", "socket.connect") else None)
from session_adapters.base import Environment
from session_adapters.hector.adapter import HectorAdapter
adapter = HectorAdapter(Environment(home=Path(sys.argv[1])))
count = 0
for source in adapter.sources(lambda problem: None):
    for summary in adapter.summaries(source, lambda problem: None):
        adapter.session(adapter.find(summary.session_id), summary.session_id)
        adapter.open(source, summary.session_id).refresh()
        count += 1
assert count == 24 and opened
print([event for event in opened if event[0] != "open" or ".db" in event[1]])
"""
    assert run_python(code, store("hector", "home")).stdout == "[]\n"


def test_descriptors_stay_the_same_over_200_conversations(store: Stored) -> None:
    adapter = sample_adapter(store("hector", "home"))
    found = everything(adapter)
    with nothing_left_open():
        for number in range(200):
            source, summary = found[number % len(found)]
            adapter.open(source, summary.session_id).refresh()
