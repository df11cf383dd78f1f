"""Damaged and hostile rollouts: no traceback, neighbours listed, what is lost is said, memory bounded."""

from __future__ import annotations

import copy
import json
import random
import shutil
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import chance, examples
from plain_codex import FORK_ID, OLD_FORK_ID, ROOT_ID, STORE, adapter, line, meta, no_report, said, turn, uuid, write
from session_adapters.base import SessionUnreadable
from session_adapters.model import Problem, Session
from session_adapters.reading.files import open_file
from session_adapters.transcript import Change, Transcript

NEIGHBOUR = "01a1fd33-0452-78d3-8c43-2a6fb117548b"
relaxed = examples(20)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fork by reference, its parent, a fork by copy, and a neighbour."""
    target = tmp_path_factory.mktemp("damage")
    wanted = (ROOT_ID, FORK_ID, OLD_FORK_ID, NEIGHBOUR)
    for store in ("home", "older/home"):
        for path in (STORE / store / ".codex").rglob("rollout-*.jsonl"):
            if path.stem[-36:] in wanted:
                folder = target / ".codex/sessions/2026/11/21"
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / path.name)
    return target


def original(session_id: str) -> bytes:
    return next(STORE.rglob(f"rollout-*{session_id}.jsonl")).read_bytes()


def drain(transcript: Transcript) -> None:
    for _ in range(10_000):
        if transcript.complete:
            return
        transcript.earlier()
    raise AssertionError("the transcript never ends")


def survives(home: Path, session_id: str, data: bytes) -> tuple[Session | None, list[Problem]]:
    """Read everything while the rollout of `session_id` holds `data`; the neighbour must be as ever."""
    path = next((home / ".codex").rglob(f"*{session_id}.jsonl"))
    path.write_bytes(data)
    try:
        return read_everything(home, session_id, path)
    finally:
        path.write_bytes(original(session_id))


def read_everything(home: Path, session_id: str, path: Path) -> tuple[Session | None, list[Problem]]:
    reader = adapter(home)
    problems: list[Problem] = []
    found = {}
    for source in reader.sources(problems.append):
        for exact in (False, True):
            for summary in reader.summaries(source, problems.append, exact=exact):
                found[summary.session_id] = summary
                msgspec.json.encode(summary)
    assert set(found) <= {ROOT_ID, FORK_ID, OLD_FORK_ID, NEIGHBOUR}
    assert found[NEIGHBOUR].message_count == 5
    assert all(problem.path and problem.reason for problem in problems)
    source = next(one for one in reader.sources(no_report) if one.path == str(path))
    session = None
    try:
        session = reader.session(source, session_id)
    except SessionUnreadable as error:
        assert str(path) in str(error)
        assert session_id not in found and any(problem.path == str(path) for problem in problems)
    else:
        assert session_id in found
        msgspec.json.encode(session)
        reader.page = 2000
        transcript = reader.open(source, session_id)
        drain(transcript)
        transcript.refresh()
    if session_id != FORK_ID:  # it stands on a damaged parent
        fork = reader.find(FORK_ID)
        assert fork is not None
        own = [one.content for one in reader.session(fork, FORK_ID).messages if not one.inherited and one.is_prompt]
        assert own == ["Write a README for the shop"]
    return session, problems


VICTIMS = st.sampled_from([ROOT_ID, FORK_ID, OLD_FORK_ID])


@relaxed
@given(VICTIMS, st.floats(0, 1))
def test_truncation(home: Path, session_id: str, at: float) -> None:
    data = original(session_id)
    survives(home, session_id, data[: int(len(data) * at)])


@relaxed
@given(VICTIMS, st.integers(0, 2**32))
def test_flipped_bits(home: Path, session_id: str, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(original(session_id))
    for _ in range(chance.randrange(1, 60)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    survives(home, session_id, bytes(data))


@relaxed
@given(VICTIMS, st.integers(0, 2**32), st.sampled_from(["nul", "glue", "repeat", "drop", "shuffle", "half"]))
def test_mangled_lines(home: Path, session_id: str, seed: int, how: str) -> None:
    chance = random.Random(seed)
    found = original(session_id).splitlines(keepends=True)
    at = chance.randrange(len(found))
    if how == "nul":
        found[at] = b"\x00" * chance.randrange(1, 5000) + found[at]
    elif how == "glue":
        found[at] = found[at].rstrip(b"\n")
    elif how == "repeat":
        found.insert(at, found[at])
    elif how == "drop":
        del found[at]
    elif how == "shuffle":
        chance.shuffle(found)
    else:
        found[at] = found[at][: len(found[at]) // 2]
    survives(home, session_id, b"".join(found))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@examples(50)
@given(st.integers(0, 2**32), VALUES)
def test_fields_of_any_type(home: Path, seed: int, value: object) -> None:
    """Any field anywhere may hold anything."""
    chance = random.Random(seed)
    found = [json.loads(one) for one in original(ROOT_ID).splitlines()]
    for _ in range(3):
        node = chance.choice(found)
        while True:
            key = chance.choice(sorted(node)) if isinstance(node, dict) else chance.randrange(len(node))
            if not node[key] or not isinstance(node[key], dict | list) or chance.random() < 0.3:
                node[key] = copy.deepcopy(value)
                break
            node = node[key]
        found = [one for one in found if isinstance(one, dict) and one]
    survives(home, ROOT_ID, "".join(json.dumps(one) + "\n" for one in found).encode())


def test_a_glued_and_a_half_line_lose_as_little_as_possible(home: Path) -> None:
    found = original(ROOT_ID).splitlines(keepends=True)
    glued = b"".join([*found[:7], found[7].rstrip(b"\n"), *found[8:]])
    session, problems = survives(home, ROOT_ID, glued)
    assert session is not None and not problems
    whole, _ = survives(home, ROOT_ID, original(ROOT_ID))
    assert whole is not None
    assert [one.content for one in session.messages] == [one.content for one in whole.messages]
    torn = b"".join([*found[:26], found[26][:300] + found[27], *found[28:]])
    session, problems = survives(home, ROOT_ID, torn)
    assert session is not None and session.warnings == 1 and session.tokens == whole.tokens
    (damage, *_) = [problem for problem in problems if problem.place]
    assert damage.place == f"byte {sum(len(one) for one in found[:26])}"
    assert damage.session_id == ROOT_ID


@pytest.mark.parametrize("data", [b"", b"\x00" * 4096, b"\n\n", b"poison", b"[]\n", b'{"a": 1}\n', b"\xff\xfe" * 50])
def test_nothing_to_be_had(home: Path, data: bytes) -> None:
    session, problems = survives(home, ROOT_ID, data)
    assert session is None
    assert any(ROOT_ID in problem.path for problem in problems)


def test_lone_surrogates_and_deep_nesting(tmp_path: Path) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    deep = b'{"timestamp":"x","type":"response_item","payload":{"type":"custom_tool_call","action":'
    with path.open("ab") as file:
        file.write(b'{"type":"response_item","payload":' + json.dumps(said("assistant", "\ud83d!")).encode() + b"}\n")
        file.write(deep + b"[" * 100_000 + b"\n")
        arguments = json.dumps({"type": "function_call", "arguments": '{"x": "\\ud800"}'}).encode()
        file.write(b'{"type":"response_item","payload":' + arguments + b"}\n")
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    session = reader.session(source, uuid(1))
    assert [one.content for one in session.messages] == ["a", "A", "\ufffd!"]
    assert session.messages[-1].tool_calls[0].input == {"x": "\ufffd"}
    assert session.warnings == 1


def test_a_long_line_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    with path.open("ab") as file:
        file.write(b'{"type":"response_item","payload":{"type":"message","role":"assistant","content":"')
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b'"}}\n' + json.dumps(line("response_item", said("assistant", "B"), 9)).encode() + b"\n")
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    problems: list[Problem] = []
    tracemalloc.start()
    (summary,) = reader.summaries(source, problems.append, exact=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 << 20
    assert summary.message_count == 3 and summary.warnings == 1
    assert [problem.reason.partition(" (")[0] for problem in problems] == ["the line is too long to be read"]


def test_a_long_session_is_counted_in_bounded_memory(tmp_path: Path) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)))
    output = {"type": "function_call_output", "call_id": "c", "output": "y" * 50_000}
    block = [*turn("a", "A"), line("response_item", {"type": "function_call", "call_id": "c", "name": "n"})]
    data = "".join(json.dumps(one) + "\n" for one in [*block, line("response_item", output)])
    with path.open("a") as file:
        for _ in range(800):
            file.write(data)
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    tracemalloc.start()
    (summary,) = reader.summaries(source, no_report, exact=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.size > 38 << 20
    assert peak < 25 << 20
    assert (summary.turn_count, summary.message_count, summary.tool_call_count) == (800, 2400, 800)


def test_a_file_that_vanishes_or_shrinks(tmp_path: Path, problems: list[Problem]) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"), *turn("b", "B"))
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    transcript = reader.open(source, uuid(1))
    write(tmp_path, uuid(1), meta(uuid(1)), *turn("c", "C"))
    assert transcript.refresh().rewritten
    assert [one.content for one in transcript.messages] == ["c", "C"]
    path.unlink()
    assert reader.summaries(source, problems.append) == () and not problems
    assert list(reader.sources(no_report)) == []


def test_an_unreadable_base_is_said(tmp_path: Path) -> None:
    parent = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    base = {"thread_id": uuid(1), "end_ordinal_exclusive": None, "end_byte_offset": parent.stat().st_size}
    write(tmp_path, uuid(2), meta(uuid(2), history_base=base), *turn("b", "B"))
    reader = adapter(tmp_path)
    source = reader.find(uuid(2))
    assert source is not None
    reader.page = 1  # a page of the usual size holds both
    transcript = reader.open(source, uuid(2))
    parent.unlink()
    drain(transcript)
    assert [one.content for one in transcript.messages][1:] == ["b", "B"]
    assert "cannot be read" in transcript.messages[0].content
    assert len(transcript.problems) == 1


@pytest.mark.parametrize("module", ["adapter", "splice"])
def test_a_base_that_can_be_read_again_is_read(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    base = {"thread_id": uuid(1), "end_ordinal_exclusive": None, "end_byte_offset": parent.stat().st_size}
    own = write(tmp_path, uuid(2), meta(uuid(2), history_base=base), *turn("b", "B"))
    reader = adapter(tmp_path)
    source = reader.find(uuid(2))
    assert source is not None

    def denied(path: str | Path) -> AbstractContextManager[int]:
        if str(path) == str(parent):
            raise PermissionError(13, "Permission denied")
        return open_file(path)

    with monkeypatch.context() as patched:
        for one in {"splice", module}:
            patched.setattr(f"session_adapters.codex.{one}.open_file", denied)
        transcript = reader.open(source, uuid(2))
        for _ in range(2):
            assert not transcript.refresh().rewritten
            assert [one.content for one in transcript.messages][1:] == ["b", "B"]
            assert "Permission denied" in transcript.messages[0].content
            assert [one.path for one in transcript.problems] == [str(own)]
    assert transcript.refresh().rewritten
    drain(transcript)
    assert [one.content for one in transcript.messages] == ["a", "A", "b", "B"]
    assert not transcript.problems
    assert transcript.refresh() == Change()


def test_both_ends_of_a_large_damaged_file(tmp_path: Path, store: Callable[..., Path]) -> None:
    """The ends are read apart from each other; neither must depend on the other being whole."""
    dice = chance(7)
    block = "".join(json.dumps(one) + "\n" for one in [*turn("a", "A" * 500), *turn("b", "B" * 500)])
    path = write(tmp_path, uuid(1), meta(uuid(1)))
    data = bytearray(path.read_bytes() + block.encode() * 200)
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    for _ in range(40):
        for _ in range(200):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data)
        for exact in (False, True):
            reader.summaries(source, lambda problem: None, exact=exact)
