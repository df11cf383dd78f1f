"""Damaged and hostile sessions of Copilot: no traceback, neighbours listed, what is lost is said, memory bounded."""

from __future__ import annotations

import copy
import gc
import json
import random
import shutil
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from damage import flipped, truncated
from plain_copilot import (
    DOCUMENTS,
    FORK_ID,
    HELPED_ID,
    PARENT_ID,
    Scribe,
    adapter,
    events_path,
    no_report,
    uuid,
)
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Problem, Session

relaxed = examples(20)
VICTIMS = st.sampled_from([PARENT_ID, FORK_ID, HELPED_ID])
NEIGHBOUR = "22222222-2222-4333-8444-555555555555"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("damage") / "home"
    for session_id in (PARENT_ID, FORK_ID, HELPED_ID, NEIGHBOUR):
        shutil.copytree(events_path(session_id).parent, events_path(session_id, target).parent)
    shutil.copytree(DOCUMENTS / ".config", target / ".config")
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    return target


def original(session_id: str) -> bytes:
    return events_path(session_id).read_bytes()


def survives(home: Path, session_id: str, data: bytes) -> tuple[Session | None, list[Problem]]:
    """Read everything while the events of `session_id` are `data`; the neighbours must be as ever."""
    path = events_path(session_id, home)
    path.write_bytes(data)
    try:
        return everything(home, session_id, path)
    finally:
        path.write_bytes(original(session_id))


def everything(home: Path, session_id: str, path: Path) -> tuple[Session | None, list[Problem]]:
    reader = adapter(home)
    problems: list[Problem] = []
    found = {}
    for source in reader.sources(problems.append):
        for exact in (False, True):
            for summary in reader.summaries(source, problems.append, exact=exact):
                found[summary.session_id] = summary
                msgspec.json.encode(summary)
    reader.relate(list(found.values()))
    assert found[NEIGHBOUR].message_count == 6 and found["gh-7781"].message_count == 2
    for problem in problems:
        assert problem.path == str(path) and problem.reason and not problem.reason.endswith(".")
    source_of = {one.path: one for one in reader.sources(no_report)}
    if str(path) not in source_of:
        assert session_id not in found
        return None, problems
    source = source_of[str(path)]
    session = None
    for one in [session_id, *(name for name in found if name.startswith(f"{session_id}:"))]:
        try:
            session = reader.session(source, one)
        except SessionUnreadable as error:
            assert str(path) in str(error) and one not in found and problems
            continue
        assert one in found
        msgspec.json.encode(session)
        reader.page = 2000
        transcript = reader.open(source, one)
        for _ in range(10_000):
            if not transcript.earlier():
                break
        assert transcript.complete
        transcript.refresh()
        if one == session_id:
            whole = session
    return (whole if session_id in found else None), problems


@relaxed
@given(st.data(), VICTIMS)
def test_truncation(home: Path, data: st.DataObject, session_id: str) -> None:
    survives(home, session_id, truncated(data, original(session_id)))


@relaxed
@given(st.data(), VICTIMS)
def test_flipped_bits(home: Path, data: st.DataObject, session_id: str) -> None:
    survives(home, session_id, flipped(data, original(session_id)))


@relaxed
@given(
    VICTIMS,
    st.integers(0, 2**32),
    st.sampled_from(["nul", "tail", "glue", "repeat", "drop", "shuffle", "half", "split"]),
)
def test_mangled_lines(home: Path, session_id: str, seed: int, how: str) -> None:
    chance = random.Random(seed)
    found = original(session_id).split(b"\n")[:-1]
    at = chance.randrange(len(found))
    if how == "nul":
        found[at] = b"\x00" * chance.randrange(1, 5000) + found[at]
    elif how == "tail":
        found.append(b"\x00" * 1728)
    elif how == "glue":
        found[at : at + 2] = [b"".join(found[at : at + 2])]
    elif how == "repeat":
        found.insert(chance.randrange(len(found)), found[at])
    elif how == "drop":
        del found[at]
    elif how == "shuffle":
        chance.shuffle(found)
    elif how == "half":
        found[at] = found[at][: len(found[at]) // 2]
    else:
        cut = chance.randrange(len(found[at]))
        found[at] = found[at][:cut] + b"\n" + found[at][cut:]
    survives(home, session_id, b"\n".join(found) + b"\n")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def replaced(found: list[object], chance: random.Random, value: object) -> None:
    """Put `value` somewhere."""
    node: object = chance.choice(found)
    while isinstance(node, dict | list) and node:
        key = chance.choice(sorted(node)) if isinstance(node, dict) else chance.randrange(len(node))
        inner = node[key]
        if not inner or not isinstance(inner, dict | list) or chance.random() < 0.3:
            node[key] = copy.deepcopy(value)
            return
        node = inner


@examples(50)
@given(VICTIMS, st.integers(0, 2**32), VALUES)
def test_fields_of_any_type(home: Path, session_id: str, seed: int, value: object) -> None:
    chance = random.Random(seed)
    found: list[object] = [json.loads(one) for one in original(session_id).split(b"\n") if one]
    for _ in range(3):
        replaced(found, chance, value)
    survives(home, session_id, "".join(json.dumps(one) + "\n" for one in found).encode())


@examples(30)
@given(st.integers(0, 2**32), VALUES)
def test_documents_with_fields_of_any_type(tmp_path: Path, seed: int, value: object) -> None:
    folder = tmp_path / ".config/github-copilot/sessions"
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    call = {"toolCallId": "t", "toolName": "n", "input": {"a": 1}, "output": ["b"]}
    row = {
        "role": "assistant",
        "content": [{"type": "text", "text": "x"}],
        "toolCalls": [call],
        "usage": {"inputTokens": 1},
    }
    whole: list[object] = [{"model": "m", "createdAt": "2025-04-01T12:00:00Z", "messages": [row, copy.deepcopy(row)]}]
    for _ in range(3):
        replaced(whole, chance, value)
    (folder / "gh-1.json").write_text(json.dumps(whole[0]))
    (folder / "gh-2.json").write_text('[{"role": "user", "content": "neighbour"}]')
    reader = adapter(tmp_path)
    problems: list[Problem] = []
    titles = []
    for source in reader.sources(no_report):
        listed = reader.summaries(source, problems.append)
        titles += [one.title for one in listed]
        try:
            msgspec.json.encode(reader.session(source, source.session_id))
        except SessionUnreadable:
            assert not listed and problems
    assert "neighbour" in titles


@relaxed
@given(st.data())
def test_damaged_documents(home: Path, data: st.DataObject) -> None:
    path = home / ".config/github-copilot/sessions/gh-7782.json"
    whole = path.read_bytes()
    path.write_bytes(data.draw(st.sampled_from([truncated, flipped]))(data, whole))
    try:
        reader = adapter(home)
        problems: list[Problem] = []
        found = [one for source in reader.sources(no_report) for one in reader.summaries(source, problems.append)]
        assert "gh-7781" in {one.session_id for one in found}
        gone = "gh-7782" not in {one.session_id for one in found} and path.stat().st_size > 0
        assert not gone or [one.path for one in problems] == [str(path)]
    finally:
        path.write_bytes(whole)


# As they were reported -------------------------------------------------------------------------------------------


def contents(home: Path) -> tuple[list[str], list[Problem]]:
    reader = adapter(home)
    problems: list[Problem] = []
    (source,) = reader.sources(no_report)
    (summary,) = reader.summaries(source, problems.append, exact=True)
    session = reader.session(source, source.session_id)
    assert session.warnings == summary.warnings == len(problems)
    return [one.content for one in session.messages], problems


def line(scribe: Scribe, text: str) -> bytes:
    return json.dumps(scribe.event("assistant.message", content=text), ensure_ascii=False).encode()


def test_line_separators_inside_a_string(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.write(line(scribe, "one\u2028two\u2029three\x85four") + b"\r\n")
    assert contents(tmp_path) == (["one\u2028two\u2029three\x85four"], [])


def test_raw_newlines_inside_a_string(tmp_path: Path) -> None:
    """One record over several lines, some of them blank."""
    scribe = Scribe(tmp_path)
    scribe.write(line(scribe, "one\n\n\n\ttwo {\n}").replace(b"\\n", b"\n").replace(b"\\t", b"\t") + b"\n")
    scribe.write(line(scribe, "next") + b"\n")
    assert contents(tmp_path) == (["one\n\n\n\ttwo {\n}", "next"], [])


def test_a_record_that_never_ends(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.write(line(scribe, "lost")[:60] + b"\nand\nmore}\n")
    scribe.write(line(scribe, "next") + b"\n")
    found, problems = contents(tmp_path)
    assert found == ["next"]
    start = scribe.path.read_bytes().index(b"\n") + 1
    assert [(one.place, one.session_id) for one in problems] == [(f"byte {start}", uuid(1))]


def test_a_cut_record_with_the_next_one_glued_on(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.write(line(scribe, "lost")[:60] + line(scribe, "rescued") + b"\n" + line(scribe, "next") + b"\n")
    found, problems = contents(tmp_path)
    assert found == ["rescued", "next"] and len(problems) == 1
    scribe.write(line(scribe, "a") + line(scribe, "b") + b"\n")
    assert contents(tmp_path)[0][-2:] == ["a", "b"]


def test_a_nul_tail_and_lone_surrogates(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.write(line(scribe, "x!").replace(b"x!", rb"\ud83d!") + b"\n" + b"\x00" * 1728)
    assert contents(tmp_path) == (["\ufffd!"], [])


def test_a_session_whose_start_is_lost(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, start=False)
    scribe.turn("a", "A", "c")
    assert contents(tmp_path) == (["a", "A"], [])


@pytest.mark.parametrize(
    "data", [b"\x00" * 4096, b"\n\n", b"poison", b"[]\n", b'{"a": 1}\n', b"\xff\xfe" * 50, b"{" * 9000]
)
def test_nothing_to_be_had(home: Path, data: bytes) -> None:
    session, problems = survives(home, PARENT_ID, data)
    assert session is None and problems


def test_zero_bytes_are_no_session(home: Path) -> None:
    assert survives(home, PARENT_ID, b"") == (None, [])


def test_deep_nesting(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.write(b'{"type":"assistant.message","data":{"content":' + b"[" * 100_000 + b"\n")
    scribe.write(b'{"type":"session.unknown","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    scribe.turn("a", "A")
    found, problems = contents(tmp_path)
    assert found == ["a", "A"] and problems


def test_a_long_line_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("a", "A")
    scribe.write(b'{"type":"assistant.message","data":{"content":"' + b"x" * (40 << 20) + b'"}}\n')
    scribe.turn("b", "B")
    tracemalloc.start()
    reader = adapter(tmp_path)
    problems: list[Problem] = []
    (source,) = reader.sources(no_report)
    (summary,) = reader.summaries(source, problems.append, exact=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 << 20
    assert summary.message_count == 4
    assert [one.reason.partition(" (")[0] for one in problems] == ["the line is too long to be read"]
    assert len(reader.session(source, uuid(1)).messages) == 4


def test_a_long_session_is_counted_in_bounded_memory(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    for number in range(800):
        scribe.turn(f"question {number}", "A", f"c{number}")
        scribe.add("tool.execution_complete", toolCallId="t", success=True, result={"content": "y" * 50_000})
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    tracemalloc.start()
    (summary,) = reader.summaries(source, no_report, exact=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.size > 38 << 20 and peak < 25 << 20
    assert (summary.turn_count, summary.message_count) == (800, 2400)


def test_calls_that_were_broken_off_leave_nothing_behind(tmp_path: Path) -> None:
    """Of each that had no result an id and a time were kept for as long as the session grew."""
    kept: list[int] = []
    for count in (500, 3000):
        folder = tmp_path / str(count)
        scribe = Scribe(folder)
        for number in range(count):
            scribe.turn(f"question {number}", "A")
            scribe.add("tool.execution_start", toolCallId=f"call-{number:040}", toolName="bash")
            scribe.add("assistant.turn_end", turnId=str(number))
        reader = adapter(folder)
        (source,) = reader.sources(no_report)
        counter = reader.counter(source)
        tracemalloc.start()
        counter(source, no_report)
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert kept[1] - kept[0] < 2500 * 100


def test_garbage_costs_no_more_than_its_size(tmp_path: Path) -> None:
    """Lines that could each be the end of the torn record above them."""
    scribe = Scribe(tmp_path)
    scribe.write(b'{"type":"assistant.message","data":{"content":"\n' + b"}\n" * 200_000)
    scribe.turn("a", "A")
    reader = adapter(tmp_path)
    problems: list[Problem] = []
    (source,) = reader.sources(no_report)
    (summary,) = reader.summaries(source, problems.append, exact=True)
    assert summary.message_count == 2 and len(problems) == 2
    assert problems[-1].reason == "199,000 more lines without a record"


def test_a_file_that_vanishes(tmp_path: Path, problems: list[Problem]) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("a", "A")
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    scribe.path.unlink()
    assert reader.summaries(source, problems.append) == () and not problems
    for read in (reader.session, reader.open):
        with pytest.raises(SessionMissing):
            read(source, uuid(1))
    scribe.path.mkdir()
    assert reader.summaries(source, problems.append) == () and len(problems) == 1
    for read in (reader.session, reader.open):
        with pytest.raises(SessionUnreadable):
            read(source, uuid(1))
