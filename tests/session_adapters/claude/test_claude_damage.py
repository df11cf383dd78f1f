"""Claude Code's files torn, flipped, glued and taken away: neighbours are listed, and what is lost is said."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from session_adapters.base import Environment, SessionMissing, SessionUnreadable
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Message, Problem, SessionSummary
from session_adapters.reading.lines import LINE_LIMIT
from support import STORES

PROJECTS = ".claude/projects"
NEIGHBOUR = b'{"type":"user","uuid":"n","message":{"content":"neighbour"},"timestamp":"2026-11-21T08:00:00Z"}\n'
DATA = {
    path.stem: path.read_bytes()
    for path in (
        *(STORES / "claude/home/.claude/projects/-home-dev-shop").glob("[6e]*.jsonl"),
        *(STORES / "claude/older/home/.claude/projects/-home-dev-shop").glob("[bc]*.jsonl"),
        *(STORES / "claude/spec-layout/home/.claude/projects/-home-dev-shop").glob("*.jsonl"),
    )
    if path.stat().st_size
}
SAMPLE = st.sampled_from(sorted(DATA))
slow = examples(20)


class Home:
    """A home with one session that may be damaged, and one beside it that is well."""

    def __init__(self, path: Path) -> None:
        self.folder = path / PROJECTS / "-p"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "victim.jsonl"
        (self.folder / "well.jsonl").write_bytes(NEIGHBOUR)
        self.reader = type("Small", (ClaudeAdapter,), {"head": 3_000, "tail": 3_000, "page": 5_000})(
            Environment(home=path)
        )

    def read(self) -> tuple[dict[str, SessionSummary], list[Problem]]:
        """Everything that can be done with the home; nothing of it may raise but what `Adapter` allows."""
        problems: list[Problem] = []
        found: dict[str, SessionSummary] = {}
        for exact in (False, True):
            sources = list(self.reader.sources(problems.append))
            found = {
                s.session_id: s
                for source in sources
                for s in self.reader.summaries(source, problems.append, exact=exact)
            }
            self.reader.relate(list(found.values()))
            assert found["well"].title == "neighbour"
        return found, problems

    def messages(self) -> list[Message]:
        """The victim's, by pages and at once; both must be the same."""
        source = self.reader.find("victim")
        if source is None:
            return []
        try:
            whole = self.reader.session(source, "victim")
        except SessionUnreadable as error:
            assert str(self.file) in str(error)
            return []
        transcript = self.reader.open(source, "victim")
        while transcript.earlier():
            pass
        assert transcript.complete
        assert transcript.messages == list(whole.messages)
        assert len(transcript.problems) == whole.warnings
        return list(whole.messages)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def blames_the_victim(home: Home, problems: list[Problem]) -> bool:
    return all(p.path == str(home.file) and p.place and p.reason and p.session_id == "victim" for p in problems)


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@slow
@given(name=SAMPLE, share=st.floats(0, 1))
def test_cut_off_anywhere(home: Home, name: str, share: float) -> None:
    data = DATA[name]
    cut = data[: int(len(data) * share)]
    home.file.write_bytes(cut)
    _, problems = home.read()
    torn = home.messages()
    # What is whole is read; the torn last line waits and is no damage.
    whole = cut[: cut.rfind(b"\n") + 1]
    last = cut[len(whole) :]
    assert problems == [] or not whole
    if last and not last.endswith(b"}"):
        home.file.write_bytes(whole)
        assert home.messages() == torn


@slow
@given(name=SAMPLE, places=st.lists(st.tuples(st.floats(0, 0.999999), st.integers(0, 7)), min_size=1, max_size=5))
def test_flipped_bits(home: Home, name: str, places: list[tuple[float, int]]) -> None:
    data = bytearray(DATA[name])
    hit = set()
    for share, bit in places:
        at = int(len(data) * share)
        data[at] ^= 1 << bit
        hit.add(DATA[name].count(b"\n", 0, at))
    home.file.write_bytes(data)
    found, problems = home.read()
    assert blames_the_victim(home, problems)
    home.messages()
    # A flip harms the line that it hits, and the next one where it made or unmade a newline.
    assert found["victim"].warnings <= 2 * len(hit)


@slow
@given(name=SAMPLE, share=st.floats(0, 1), length=st.integers(1, 5_000))
def test_a_run_of_nuls(home: Home, name: str, share: float, length: int) -> None:
    rows = lines_of(DATA[name])
    home.file.write_bytes(DATA[name])
    want = [message.content for message in home.messages()]
    at = int(len(rows) * share)
    home.file.write_bytes(b"".join([*rows[:at], b"\0" * length, *rows[at:]]))
    _, problems = home.read()
    assert problems == []
    assert [message.content for message in home.messages()] == want


@slow
@given(name=SAMPLE, gaps=st.sets(st.integers(0, 40), min_size=1, max_size=6))
def test_records_glued_together_are_taken_apart(home: Home, name: str, gaps: set[int]) -> None:
    rows = lines_of(DATA[name])
    home.file.write_bytes(DATA[name])
    want = [message.content for message in home.messages()]
    glued = [
        row.rstrip(b"\n") if number in gaps and number + 1 < len(rows) else row for number, row in enumerate(rows)
    ]
    home.file.write_bytes(b"".join(glued))
    _, problems = home.read()
    assert problems == []
    assert [message.content for message in home.messages()] == want


@slow
@given(name=SAMPLE, number=st.integers(0, 200), share=st.floats(0.05, 0.95))
def test_half_a_record_glued_to_the_next_costs_that_record_alone(
    home: Home, name: str, number: int, share: float
) -> None:
    rows = lines_of(DATA[name])
    number %= len(rows) - 1
    home.file.write_bytes(b"".join(rows[:number] + rows[number + 1 :]))
    want = [message.content for message in home.messages()]
    half = rows[number][: max(2, int(len(rows[number]) * share))]
    home.file.write_bytes(b"".join([*rows[:number], half, *rows[number + 1 :]]))
    found, problems = home.read()
    assert found["victim"].warnings == 1
    assert problems
    assert blames_the_victim(home, problems)
    got = [message.content for message in home.messages()]
    assert got == want


@slow
@given(name=SAMPLE, order=st.lists(st.integers(0, 200), min_size=1, max_size=8))
def test_lines_written_again(home: Home, name: str, order: list[int]) -> None:
    rows = lines_of(DATA[name])
    home.file.write_bytes(DATA[name])
    want = home.messages()
    again = [rows[number % len(rows)] for number in order]
    if b'"uuid"' in DATA[name]:
        again = [row for row in again if b'"uuid":"' in row]
        home.file.write_bytes(DATA[name] + b"".join(again))
        assert [m.content for m in home.messages()] == [m.content for m in want]
    else:
        home.file.write_bytes(DATA[name] + b"".join(again))
        home.messages()
    home.read()


@slow
@given(data=st.binary(max_size=400))
def test_any_bytes(home: Home, data: bytes) -> None:
    home.file.write_bytes(data)
    _, problems = home.read()
    assert blames_the_victim(home, [p for p in problems if p.place])
    home.messages()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "text", "content", "id", "usage", "input", "tool_use_id", "source", "model"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
FIELDS = [
    "type", "uuid", "message", "timestamp", "content", "cwd", "isMeta", "isSidechain", "forkedFrom", "subtype",
    "toolUseResult", "compactMetadata", "error", "totalUsd", "customTitle", "sessionId", "usage", "toolCallId",
]  # fmt: skip
TYPES = st.sampled_from(
    ["user", "assistant", "system", "tool_use", "tool_result", "cost", "custom-title", "ai-title"]
)


@slow
@given(records=st.lists(st.tuples(TYPES | JSON, st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=5))
def test_records_with_fields_of_any_type(home: Home, records: list[tuple[Any, dict[str, Any]]]) -> None:
    rows = [json.dumps(fields | {"type": kind}).encode() + b"\n" for kind, fields in records]
    home.file.write_bytes(NEIGHBOUR + b"".join(rows))
    found, problems = home.read()
    assert blames_the_victim(home, problems)
    assert found["victim"].message_count == len(home.messages())


def test_lone_surrogates_become_replacement_characters(home: Home) -> None:
    text = '{"type":"user","uuid":"1","cwd":"/p\\udcff","message":{"content":"a\\ud800b"}}\n'
    home.file.write_text(text)
    found, problems = home.read()
    assert problems == []
    assert (found["victim"].title, found["victim"].cwd) == ("a�b", "/p�")
    assert [message.content for message in home.messages()] == ["a�b"]


def test_a_file_without_a_record_is_said_and_hides_nothing(home: Home) -> None:
    home.file.write_bytes(b"\0" * 100_000)
    found, problems = home.read()
    assert set(found) == {"well"}
    assert {problem.reason for problem in problems} == {"holds no record"}


def test_zero_bytes_are_neither_a_session_nor_a_problem(home: Home) -> None:
    home.file.write_bytes(b"")
    found, problems = home.read()
    assert (set(found), problems) == ({"well"}, [])


def test_many_damaged_lines_are_counted_and_not_all_reported(home: Home) -> None:
    home.file.write_bytes(NEIGHBOUR + b"broken\n" * 300)
    problems: list[Problem] = []
    source = home.reader.find("victim")
    assert source is not None
    (summary,) = home.reader.summaries(source, problems.append, exact=True)
    assert summary.warnings == 300
    assert len(problems) == 11
    assert problems[0].place == f"byte {len(NEIGHBOUR)}"
    assert problems[-1].reason == "290 more damaged places"


def test_a_line_of_200_mb_in_bounded_memory(home: Home) -> None:
    after = NEIGHBOUR.replace(b'"n"', b'"m"').replace(b"neighbour", b"after")
    with home.file.open("wb") as file:
        file.write(NEIGHBOUR + b'{"type":"user","message":{"content":"')
        file.seek(200 << 20, os.SEEK_CUR)
        file.write(b'"}}\n' + after)
    tracemalloc.start()
    found, problems = home.read()
    contents = [message.content for message in home.messages()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert contents == ["neighbour", "after"]
    assert found["victim"].turn_count == 0
    assert {problem.reason.partition(" (")[0] for problem in problems} == {"the line is too long to be read"}
    assert peak < 3 * LINE_LIMIT


def test_a_file_that_goes_or_changes_between_two_steps(home: Home) -> None:
    for harm in (home.file.unlink, lambda: home.file.write_bytes(b"x"), lambda: os.truncate(home.file, 0)):
        home.file.write_bytes(DATA["677bcb80-64fb-432d-b58a-3a648e106e84"])
        source = home.reader.find("victim")
        assert source is not None
        transcript = home.reader.open(source, "victim")
        before = list(transcript.messages)
        harm()
        assert transcript.earlier() == 0
        assert transcript.messages == before
        transcript.refresh()
        home.reader.summaries(source, lambda problem: None)
        home.reader.summaries(source, lambda problem: None, exact=True)
        with pytest.raises((SessionMissing, SessionUnreadable)):
            home.reader.session(source, "victim")


def test_a_file_that_is_cut_or_replaced_while_it_is_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two reads of the file something happens to it."""
    data = DATA["677bcb80-64fb-432d-b58a-3a648e106e84"]
    real = os.pread

    def cut(number: int) -> None:
        os.truncate(home.file, len(data) // (number + 2))

    def swap(number: int) -> None:
        other = home.folder / "other"
        other.write_bytes(data[::-1])
        other.replace(home.file)

    def remove(number: int) -> None:
        home.file.unlink(missing_ok=True)

    harms: list[Callable[[int], None]] = [cut, swap, remove]
    for harm in harms:
        for when in range(6):
            home.file.write_bytes(data)
            source = home.reader.find("victim")
            assert source is not None
            count = 0

            def pread(
                fd: int, size: int, offset: int, *, when: int = when, harm: Callable[[int], None] = harm
            ) -> bytes:
                nonlocal count
                count += 1
                if count == when + 1:
                    harm(when)
                return real(fd, size, offset)

            with monkeypatch.context() as patch:
                patch.setattr(os, "pread", pread)
                for exact in (False, True):
                    home.reader.summaries(source, lambda problem: None, exact=exact)
                try:
                    transcript = home.reader.open(source, "victim")
                    while transcript.earlier():
                        pass
                    transcript.refresh()
                    home.reader.session(source, "victim")
                except (SessionMissing, SessionUnreadable):
                    pass
            home.file.unlink(missing_ok=True)


def test_what_stands_where_a_file_or_folder_should_be(home: Home) -> None:
    projects = home.folder.parent
    (projects / "file-not-folder").write_text("x")
    (projects / "loop").symlink_to(projects / "loop")
    (projects / "dangling").symlink_to(projects / "nowhere")
    (home.folder / "folder.jsonl").mkdir()
    (home.folder / "gone.jsonl").symlink_to(home.folder / "nowhere")
    (home.folder / "round.jsonl").symlink_to(home.folder / "round.jsonl")
    os.mkfifo(home.folder / "pipe.jsonl")
    (home.folder / "s").mkdir()
    (home.folder / "s" / "subagents").write_text("a file")
    found, problems = home.read()
    assert set(found) == {"well"}
    named = {Path(problem.path).name: problem.reason for problem in problems}
    assert set(named) == {"folder.jsonl", "gone.jsonl", "round.jsonl", "pipe.jsonl", "subagents"}
    assert named["folder.jsonl"] == named["pipe.jsonl"] == "is not a regular file"
    assert named["subagents"] == "the folder cannot be read: Not a directory"


def test_a_root_that_is_a_file_or_a_loop(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/projects").write_text("x")
    problems: list[Problem] = []
    reader = ClaudeAdapter(Environment(home=tmp_path))
    assert list(reader.sources(problems.append)) == []
    assert [Path(problem.path).name for problem in problems] == ["projects"]
    shutil.rmtree(tmp_path / ".claude")
    (tmp_path / ".claude").symlink_to(tmp_path / ".claude")
    assert list(reader.sources(problems.append)) == []
    assert reader.find("x") is None
    assert reader.live() == {}


def test_a_folder_without_permission_hides_no_other(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = home.folder.parent / "-closed"
    closed.mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    _, problems = home.read()
    assert {(problem.path, problem.reason) for problem in problems} == {
        (str(closed), "the folder cannot be read: Permission denied")
    }


def test_a_file_without_permission_hides_no_other(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.file.write_bytes(NEIGHBOUR)
    real = os.open

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if str(path) == str(home.file):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    found, problems = home.read()
    assert set(found) == {"well"}
    assert {(p.path, p.reason) for p in problems} == {(str(home.file), "cannot be read: Permission denied")}
    source = home.reader.find("victim")
    assert source is not None
    with pytest.raises(SessionUnreadable, match="Permission denied"):
        home.reader.open(source, "victim")


def test_names_that_are_no_text(home: Home) -> None:
    name = os.fsdecode(b"bad\xff\xfe.jsonl")
    (home.folder / name).write_bytes(NEIGHBOUR + b"broken\n")
    (home.folder / os.fsdecode(b"dir\xff.jsonl")).mkdir()
    found, problems = home.read()
    assert "well" in found
    for summary in found.values():
        msgspec.json.encode(summary)
    for problem in problems:
        msgspec.json.encode(problem)


def test_damaged_neighbours_of_a_session_cost_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for content in (b"", b"{torn", b"[]", b'{"customTitle": 5, "description": []}', b"\xff" * 100):
        home.file.write_bytes(NEIGHBOUR)
        helper = home.folder / "victim/subagents/agent-1.jsonl"
        helper.parent.mkdir(parents=True, exist_ok=True)
        helper.write_bytes(NEIGHBOUR)
        helper.with_name("agent-1.meta.json").write_bytes(content)
        (home.folder / "victim/custom-title.json").write_bytes(content)
        found, problems = home.read()
        assert (found["victim"].title, found["agent-1"].title) == ("neighbour", "neighbour")
        beside = {(Path(one.path).name, one.session_id) for one in problems if "title may be missing" in one.reason}
        assert beside == {("agent-1.meta.json", "agent-1"), ("custom-title.json", "victim")}, content
