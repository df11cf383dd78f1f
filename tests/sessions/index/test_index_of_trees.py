"""Sessions whose records name their parent, and those in databases of many, as they grow: what is in the index, what
is read for it, what is kept."""

from __future__ import annotations

import gc
import json
import shutil
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.index.writing.writer import IndexWriter
from indexing import build, contents
from openclaw_store import Database, event, folder_of, header, place, reply
from opencode_store import Store
from session_adapters.base import Environment
from session_adapters.openclaw.database.event_stores import ClawDatabaseStore, ClawEvent
from session_adapters.openclaw.database.texts import LOOK_BACK
from session_adapters.opencode.tables import OpenCodeRows
from session_adapters.opencode.texts import OPEN
from session_adapters.opencode.units import OpenCodeUnit
from session_adapters.reading.files import METER
from support import STORES

PI = ".pi/agent/sessions/--w--/2026-11-21T08-00-00-000Z_grow.jsonl"
OMP = ".omp/agent/sessions/-w/2026-11-21T08-00-00-000Z_grow.jsonl"
CLAW = ".openclaw/agents/main/sessions/grow.jsonl"
SAMPLES = sorted(
    path
    for agent, home in (("pi", "home"), ("pi", "home-hard"), ("omp", "home"), ("openclaw", "home-files-2026.3"))
    for path in (STORES / agent / home).rglob("*.jsonl")
    if path.read_bytes().count(b"\n") > 11
)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[apsw.Connection]:
    with closing(open_writer(tmp_path / "cache" / "i.db")) as connection:
        yield connection


def as_made_anew(tmp_path: Path) -> None:
    """The index is what another one is that is made of the stores as they are."""
    fresh = tmp_path / "fresh"
    build(Environment(home=tmp_path), fresh / "i.db")
    assert contents(tmp_path / "cache" / "i.db") == contents(fresh / "i.db")
    shutil.rmtree(fresh)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: f"{path.parts[-1][-12:-6]}")
def test_line_by_line_it_is_the_same(sample: Path, tmp_path: Path, index: apsw.Connection) -> None:
    home = next(parent for parent in sample.parents if parent.name.startswith("home"))
    path = tmp_path / sample.relative_to(home)
    path.parent.mkdir(parents=True)
    indexer = Indexer(index, Adapters(lambda: Environment(home=tmp_path)))
    for number, line in enumerate(sample.read_bytes().splitlines(keepends=True)):
        with path.open("ab") as file:
            file.write(line)
        assert indexer.run()
        if number % 9 == 8:
            as_made_anew(tmp_path)
    as_made_anew(tmp_path)


def turns(numbers: range, last: str | None) -> list[dict[str, Any]]:
    """Prompts, calls, results and answers, each of which hangs on the one before."""
    found: list[dict[str, Any]] = []
    for number in numbers:
        call = {"type": "toolCall", "id": f"call{number}", "name": "bash", "arguments": {"command": f"make {number}"}}
        names = [f"{kind}{number}" for kind in "acrb"]
        parents = [last, *names]
        found += [
            event(names[0], parents[0], f"question {number}", at=number),
            event(names[1], parents[1], role="assistant", at=number, content=[call]),
            event(names[2], parents[2], f"made {number}", "toolResult", number, toolCallId=f"call{number}"),
            reply(names[3], parents[3], f"answer {number}", at=number),
        ]
        last = names[3]
    return found


def said(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


@pytest.mark.parametrize("name", [PI, OMP, CLAW])
def test_a_line_that_is_added_costs_that_line(name: str, tmp_path: Path, index: apsw.Connection) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(said([header("grow"), *turns(range(300), None)]))
    indexer = Indexer(index, Adapters(lambda: Environment(home=tmp_path)))
    assert indexer.run()
    coming = iter(turns(range(300, 340), "b299"))

    def grow(lines: int) -> None:
        for line in [next(coming) for _ in range(lines)]:
            with path.open("ab") as file:
                file.write(said([line]))
            assert indexer.run()

    grow(1)
    METER.reset()
    grow(20)
    assert METER.bytes < 20 * 1500
    as_made_anew(tmp_path)


@pytest.mark.parametrize("name", [PI, OMP, CLAW])
def test_of_what_is_in_the_index_hashes_of_ids_are_kept(name: str, tmp_path: Path, index: apsw.Connection) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(said([header("grow"), *turns(range(1), None)]))
    indexer = Indexer(index, Adapters(lambda: Environment(home=tmp_path)))
    assert indexer.run()

    def grow(numbers: range) -> int:
        for number in range(numbers.start, numbers.stop, 10):
            with path.open("ab") as file:
                file.write(said(turns(range(number, number + 10), f"b{number - 1}")))
            assert indexer.run()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = grow(range(1, 101))
        grown = grow(range(101, 301)) - before
    finally:
        tracemalloc.stop()
    assert grown < 200 * 800, f"{grown / 800:.0f} bytes a line"


@pytest.mark.parametrize("kind", ["branch", "pointer", "twice", "replaced", "half"])
def test_what_is_not_added_to_the_end_is_read_anew(kind: str, tmp_path: Path, index: apsw.Connection) -> None:
    path = place(folder_of(tmp_path), "grow.jsonl", header("grow"), *turns(range(5), None))
    indexer = Indexer(index, Adapters(lambda: Environment(home=tmp_path)))
    assert indexer.run()
    for lines in (turns(range(5, 6), "b4"), turns(range(6, 7), "b5")):
        with path.open("ab") as file:
            file.write(said(lines))
        assert indexer.run()
    if kind == "branch":
        with path.open("ab") as file:
            file.write(said(turns(range(7, 9), "b2")))
    elif kind == "pointer":
        moment = {"parentId": "b6", "timestamp": "2026-11-21T00:00:09Z"}
        with path.open("ab") as file:
            file.write(said([{"type": "leaf", "id": "p", "targetId": "b2", **moment}]))
    elif kind == "twice":
        with path.open("ab") as file:
            file.write(said([event("a6", "b5", "other words")]))
    elif kind == "replaced":
        other = path.with_suffix(".new")
        other.write_bytes(path.read_bytes().replace(b"answer", b"reply ") + said(turns(range(7, 8), "b6")))
        other.replace(path)
    else:
        data = said(turns(range(7, 8), "b6"))
        with path.open("ab") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            assert indexer.run()
            file.write(data[len(data) // 2 :])
    assert indexer.run()
    as_made_anew(tmp_path)
    with path.open("ab") as file:
        file.write(said(turns(range(9, 10), "b2" if kind == "branch" else "b6")))
    assert indexer.run()
    as_made_anew(tmp_path)


# In databases ------------------------------------------------------------------------------------------------


@pytest.fixture
def claw(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path)
    with closing(made.connection):
        for name in ("grow", "other"):
            made.key(f"agent:main:{name}", name)
            made.connection.execute("BEGIN")
            made.write(name, header(name), *turns(range(40), None))
            made.connection.execute("COMMIT")
        yield made


def rested(index: apsw.Connection) -> None:
    """However long a look at a database takes, the next may come at once."""
    index.execute("UPDATE source SET again = 0")


def running(index: apsw.Connection, home: Path) -> Callable[[], None]:
    def run() -> None:
        rested(index)
        assert Indexer(index, Adapters(lambda: Environment(home=home))).run()

    return run


def test_of_a_database_the_events_that_are_new_are_read(
    claw: Database, tmp_path: Path, index: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an indexer that was just started, too: up to where a session was read stands in the index."""
    run = running(index, tmp_path)
    run()
    asked: list[int] = []
    read = ClawDatabaseStore.rows

    def rows(store: ClawDatabaseStore, start: int, count: int) -> list[ClawEvent]:
        found = read(store, start, count)
        asked.append(len(found))
        return found

    monkeypatch.setattr(ClawDatabaseStore, "rows", rows)
    run()
    assert not asked, "nothing was written"
    known: list[int] = []
    look = IndexWriter.rows

    def rows_of(writer: IndexWriter, *given: Any) -> Any:
        found = look(writer, *given)
        known.append(len(found))
        return found

    monkeypatch.setattr(IndexWriter, "rows", rows_of)
    for line in turns(range(40, 43), "b39"):
        claw.write("grow", line)
        asked.clear()
        run()
        assert 0 < sum(asked) <= 4 * (LOOK_BACK + 2)
    assert known and not any(known), "of what is in the index already nothing is held"
    as_made_anew(tmp_path)


@pytest.mark.parametrize("kind", ["branch", "pointer", "changed", "shorter", "new", "gone", "window", "renamed"])
def test_what_else_is_different_in_a_database_is_noticed(
    kind: str, claw: Database, tmp_path: Path, index: apsw.Connection
) -> None:
    run = running(index, tmp_path)
    run()
    asked = claw.connection.execute
    if kind == "branch":
        claw.write("grow", *turns(range(40, 42), "b10"))
    elif kind == "pointer":
        moment = {"parentId": "b39", "timestamp": "2026-11-21T00:00:09Z"}
        claw.write("grow", {"type": "leaf", "id": "p", "targetId": "b20", **moment})
        run()
        as_made_anew(tmp_path)
        claw.write("grow", *turns(range(40, 41), "p"))
    elif kind == "changed":
        longer = json.dumps(event("a3", "b2", "written again"))
        asked("UPDATE transcript_events SET event_json = ? WHERE session_id = 'grow' AND seq = 13", (longer,))
    elif kind == "shorter":
        asked("DELETE FROM transcript_events WHERE session_id = 'grow' AND seq > 100")
    elif kind == "new":
        claw.key("agent:main:third", "third")
        claw.write("third", header("third"), *turns(range(3), None))
    elif kind == "gone":
        asked("DELETE FROM transcript_events WHERE session_id = 'other'")
        asked("DELETE FROM session_nodes WHERE current_session_id = 'other'")
        asked("DELETE FROM session_windows WHERE session_id = 'other'")
    elif kind == "window":
        claw.key("agent:main:grow", "second")
        claw.write("second", header("second"), *turns(range(50, 52), None))
    else:
        asked("UPDATE session_nodes SET label = 'another name'")
    run()
    as_made_anew(tmp_path)
    claw.write("grow", *turns(range(60, 61), "b39"))
    run()
    as_made_anew(tmp_path)


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    with closing(made.connection):
        for name in ("ses_1", "ses_2"):
            made.session(name)
            made.connection.execute("BEGIN")
            for number in range(30):
                made.say(name, "user", f"question {number}")
                made.say(name, "assistant", f"answer {number}")
            made.connection.execute("COMMIT")
        yield made


def test_of_opencode_the_messages_that_are_new_or_open_are_read(
    opencode: Store, tmp_path: Path, index: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = running(index, tmp_path)
    run()
    asked: list[int] = []
    read = OpenCodeRows.contents

    def contents_of(rows: OpenCodeRows, units: Sequence[OpenCodeUnit], *given: Any, **named: Any) -> Any:
        asked.append(len(units))
        return read(rows, units, *given, **named)

    monkeypatch.setattr(OpenCodeRows, "contents", contents_of)
    run()
    assert not asked, "nothing was written"
    for number in range(3):
        opencode.say("ses_1", "user", f"one more {number}")
        asked.clear()
        run()
        assert 0 < sum(asked) <= OPEN + 1
    answer = opencode.message("ses_1", "assistant", modelID="m")
    opencode.part("ses_1", answer, type="step-start")
    run()
    text = opencode.part("ses_1", answer, type="text", text="Let")
    run()
    asked.clear()
    opencode.connection.execute("UPDATE part SET data = json_set(data, '$.text', 'Let me see') WHERE id = ?", (text,))
    run()
    assert 0 < sum(asked) <= OPEN
    as_made_anew(tmp_path)


@pytest.mark.parametrize("kind", ["undone", "again", "gone", "emptied", "middle", "new", "deleted", "failed"])
def test_what_else_is_different_in_opencode_is_noticed(
    kind: str, opencode: Store, tmp_path: Path, index: apsw.Connection
) -> None:
    run = running(index, tmp_path)
    last = opencode.say("ses_1", "assistant", "the last words", error={"name": "E", "data": {"message": "broken"}})
    run()
    asked = opencode.connection.execute
    if kind in ("undone", "again"):
        asked("UPDATE session SET revert = ? WHERE id = 'ses_1'", (json.dumps({"messageID": last}),))
        if kind == "again":
            run()
            asked("UPDATE session SET revert = NULL WHERE id = 'ses_1'")
    elif kind == "gone":
        asked("DELETE FROM message WHERE id = ?", (last,))
        asked("DELETE FROM part WHERE message_id = ?", (last,))
    elif kind == "emptied":
        asked("DELETE FROM part WHERE message_id = ?", (last,))
    elif kind == "middle":
        asked(
            "UPDATE part SET data = json_set(data, '$.text', 'written again') WHERE message_id ="
            " (SELECT id FROM message WHERE session_id = 'ses_1' ORDER BY id LIMIT 1 OFFSET 20)"
        )
    elif kind == "new":
        opencode.session("ses_3")
        opencode.say("ses_3", "user", "something else")
    elif kind == "deleted":
        asked("DELETE FROM session WHERE id = 'ses_2'")
    else:
        asked("UPDATE message SET data = json_remove(data, '$.error') WHERE id = ?", (last,))
    run()
    as_made_anew(tmp_path)
    opencode.say("ses_1", "user", "and on")
    run()
    as_made_anew(tmp_path)
