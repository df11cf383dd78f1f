"""Sessions whose records name their parent, and those in databases of many, as they grow: what is in the index, what
is read for it, what is kept."""

from __future__ import annotations

import gc
import json
import shutil
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from indexing import build, contents
from openclaw_store import event, folder_of, header, place, reply
from session_adapters.base import Environment
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
        before = grow(range(1, 201))
        grown = grow(range(201, 601)) - before
    finally:
        tracemalloc.stop()
    assert grown < 200 * 1600, f"{grown / 1600:.0f} bytes a line"


@pytest.mark.parametrize("kind", ["branch", "twice", "replaced", "half"])
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
