"""A conversation in a growing file, seen through a builder small enough to be checked by eye."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chances import examples
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.growing import jsonl_adapter
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.model import Message, ToolCall, ToolResult
from session_adapters.reading import lines as module
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import METER
from session_adapters.reading.lines import Line
from session_adapters.transcript import Builder, Change, Transcript


class Note(msgspec.Struct):
    """`say` opens a message, `more` goes on with the one before, `call` and `answer` are a tool's."""

    say: str | None = None
    more: str | None = None
    call: str | None = None
    answer: str | None = None


NOTES = Decoder(Note)


class NoteBuilder(Builder):
    """One message a line, but `more` lengthens the message right before it."""

    def feed(self, line: Line) -> None:
        records, lost = NOTES.all(line.data)
        if lost:
            self.damaged.add(line.offset, "damaged")
        for record in records:
            self._take(record, str(line.offset))

    def _take(self, record: Note, place: str) -> None:
        if record.say is not None:
            self.add(Message(role="user", id=place, content=record.say))
        elif record.more is not None:
            last = len(self.messages) - 1
            part = Message(role="assistant", id=place, content=record.more)
            joined = self.join(self.messages[last], part) if last >= 0 else None
            if joined is None:
                self.add(part)
            else:
                self.change(last, joined)
        elif record.call is not None:
            call = ToolCall(tool_call_id=record.call, tool_name="tool")
            self.add(Message(role="assistant", id=place, tool_calls=(call,)))
        elif record.answer is not None:
            result = ToolResult(tool_call_id=record.answer, output=f"answer {record.answer}")
            self.add(Message(role="tool", id=place, tool_result=self.link(result, duration_ms=7)))

    @classmethod
    def join(cls, earlier: Message, later: Message) -> Message | None:
        if earlier.role == later.role == "assistant" and not earlier.tool_calls and not later.tool_calls:
            return replace(earlier, content=earlier.content + later.content)
        return None

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        return b'"say"' in line


NOTE = st.one_of(
    st.text("ab é", max_size=12).map(lambda text: {"say": text}),
    st.text("xyz", min_size=1, max_size=12).map(lambda text: {"more": text}),
    st.sampled_from("123").map(lambda name: {"call": name}),
    st.sampled_from("123").map(lambda name: {"answer": name}),
)


def encode(notes: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(note).encode() + b"\n" for note in notes)


def opened(path: Path, page: int = 1 << 20) -> JsonlTranscript[NoteBuilder]:
    return JsonlTranscript("notes", "s", str(path), NoteBuilder, page=page)


def to_the_start(transcript: JsonlTranscript[NoteBuilder]) -> list[Message]:
    while transcript.earlier():
        pass
    assert transcript.complete
    return transcript.messages


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.jsonl"
    path.write_bytes(encode([{"say": f"line {n}"} for n in range(40)]))
    return path


@examples(150)
@given(notes=st.lists(NOTE, max_size=25), page=st.integers(1, 300))
def test_pages_give_what_one_pass_gives(
    tmp_path_factory: pytest.TempPathFactory, notes: list[dict[str, str]], page: int
) -> None:
    # A call answered twice or before it was made is linked by its place, so let every call have one answer after it.
    seen: set[str] = set()
    ordered = []
    for note in notes:
        name = note.get("call") or note.get("answer")
        if name is not None and ("call" in note) == (name in seen):
            continue
        if name is not None:
            seen ^= {name}
        ordered.append(note)
    path = tmp_path_factory.mktemp("pages") / "f"
    path.write_bytes(encode(ordered))
    assert to_the_start(opened(path, page)) == opened(path).messages


def test_the_last_page_comes_first_and_earlier_counts_what_it_puts_in_front(file: Path) -> None:
    transcript = opened(file, 100)
    assert transcript.messages[-1].content == "line 39"
    assert not transcript.complete
    while not transcript.complete:
        before = list(transcript.messages)
        added = transcript.earlier()
        assert added > 0
        assert transcript.messages[added:] == before
    assert [message.content for message in transcript.messages] == [f"line {n}" for n in range(40)]
    assert transcript.earlier() == 0


def test_pages_without_messages_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(encode([{"say": "first"}, *[{"other": "x" * 50}] * 50, {"say": "last"}]))
    transcript = opened(path, 100)
    assert [message.content for message in transcript.messages] == ["last"]
    assert transcript.earlier() == 1
    assert transcript.complete


def test_a_result_finds_its_call_on_an_earlier_page_with_all_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "f"
    notes: list[dict[str, str]] = [{"call": "1"}, *[{"say": "x" * 50}] * 5, {"answer": "1"}]
    path.write_bytes(encode(notes))
    messages = to_the_start(opened(path, 80))
    call = messages[0].tool_calls[0]
    assert (call.output, call.duration_ms) == ("answer 1", 7)
    result = messages[-1].tool_result
    assert result is not None
    assert (result.linked, result.tool_name) == (True, "tool")


def test_opening_a_large_file_reads_its_end_only(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(encode([{"say": "x" * 1_000}] * 20_000))
    METER.reset()
    transcript = opened(path, 64 << 10)
    assert METER.bytes < 200 << 10
    assert transcript.messages
    METER.reset()
    transcript.refresh()
    assert METER.bytes < 1_000


@examples(60)
@given(notes=st.lists(NOTE, max_size=12), cuts=st.lists(st.integers(1, 40), max_size=20))
def test_following_gives_what_reading_anew_gives(
    tmp_path_factory: pytest.TempPathFactory, notes: list[dict[str, str]], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("follow") / "f"
    path.write_bytes(b"")
    followed = opened(path)
    data, at = encode(notes), 0
    for cut in [*cuts, len(data)]:
        with path.open("ab") as out:
            out.write(data[at : at + cut])
        at += cut
        before = list(followed.messages)
        change = followed.refresh()
        assert followed.messages == opened(path).messages
        assert not change.gone
        if change.first is None:
            assert followed.messages == before
        else:
            assert followed.messages[: change.first] == before[: change.first]
        assert followed.problems == []


def test_nothing_new_is_no_change(file: Path) -> None:
    transcript = opened(file)
    assert transcript.refresh() == Change()


def test_a_result_that_arrives_changes_the_message_of_its_call(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(encode([{"say": "a"}, {"call": "1"}, {"say": "b"}]))
    transcript = opened(path)
    with path.open("ab") as out:
        out.write(encode([{"answer": "1"}]))
    assert transcript.refresh() == Change(first=1)
    assert transcript.messages[1].tool_calls[0].output == "answer 1"


def truncate(path: Path) -> None:
    os.truncate(path, 50)


def replace_file(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(encode([{"say": "another file"}] * 100))
    other.replace(path)


def rewrite(path: Path) -> None:
    path.write_bytes(encode([{"say": "the same inode, other words"}] * 100))


@pytest.mark.parametrize("harm", [truncate, replace_file, rewrite])
def test_a_file_that_is_another_one_is_read_anew(file: Path, harm: Callable[[Path], None]) -> None:
    transcript = opened(file)
    harm(file)
    assert transcript.earlier() == 0
    assert transcript.refresh() == Change(first=0, rewritten=True)
    assert transcript.messages == opened(file).messages


@pytest.mark.parametrize("harm", [truncate, replace_file, rewrite])
def test_an_earlier_page_of_another_file_is_never_put_in_front(file: Path, harm: Callable[[Path], None]) -> None:
    transcript = opened(file, 100)
    before = list(transcript.messages)
    harm(file)
    assert transcript.earlier() == 0
    assert not transcript.complete
    assert transcript.messages == before
    assert transcript.refresh().rewritten
    assert to_the_start(transcript) == opened(file).messages


def test_a_deleted_file_leaves_what_was_read_and_may_come_back(file: Path) -> None:
    data = file.read_bytes()
    transcript = opened(file, 200)
    before = list(transcript.messages)
    file.unlink()
    assert transcript.refresh() == Change(gone=True)
    assert transcript.earlier() == 0
    assert transcript.refresh() == Change(gone=True)
    assert transcript.messages == before
    file.write_bytes(data + encode([{"say": "back"}]))
    change = transcript.refresh()
    assert change.first is not None
    assert transcript.messages[-1].content == "back"
    assert to_the_start(transcript) == opened(file).messages


def test_a_file_that_cannot_be_read_now_is_said_once_and_forgotten_when_it_can(file: Path) -> None:
    transcript = opened(file)
    aside = file.rename(file.with_suffix(".aside"))
    file.mkdir()
    for _ in range(3):
        assert transcript.refresh() == Change()
        assert [problem.reason.partition(":")[0] for problem in transcript.problems] == ["cannot be read now"]
    assert len(transcript.messages) == 40
    file.rmdir()
    aside.rename(file)
    assert transcript.refresh() == Change()
    assert transcript.problems == []


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(SessionMissing):
        opened(tmp_path / "absent")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("loop", "."):
        with pytest.raises(SessionUnreadable):
            opened(tmp_path / name)


def test_damage_is_told_with_its_place_once(tmp_path: Path) -> None:
    path = tmp_path / "f"
    good = encode([{"say": "x" * 60}])
    path.write_bytes(good + b"garbage\n" + good * 3 + b'{"say":\n' + good)
    transcript = opened(path, 150)
    to_the_start(transcript)
    transcript.refresh()
    assert [problem.place for problem in transcript.problems] == [f"byte {len(good)}", f"byte {len(good) * 4 + 8}"]
    assert {problem.path for problem in transcript.problems} == {str(path)}


def test_a_line_too_long_to_be_read_hides_nothing_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 1_000)
    monkeypatch.setattr(module, "BLOCK", 256)
    path = tmp_path / "f"
    path.write_bytes(encode([{"say": "before"}, {"say": "x" * 5_000}, {"say": "after"}]))
    for page in (10, 300, 4_000, 100_000):
        transcript = opened(path, page)
        assert [message.content for message in to_the_start(transcript)] == ["before", "after"]
        assert [problem.reason.partition(" (")[0] for problem in transcript.problems] == [
            "the line is too long to be read"
        ]


def test_a_long_line_that_is_still_being_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 1_000)
    monkeypatch.setattr(module, "BLOCK", 256)
    path = tmp_path / "f"
    path.write_bytes(encode([{"say": "before"}]) + b'{"say": "' + b"x" * 5_000)
    transcript = opened(path)
    assert transcript.problems == []
    with path.open("ab") as out:
        out.write(b'"}\n' + encode([{"say": "after"}]))
    transcript.refresh()
    assert [message.content for message in transcript.messages] == ["before", "after"]
    assert len(transcript.problems) == 1


def test_a_last_line_without_newline_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(encode([{"say": "a"}]) + b'{"say": "b"}')
    transcript = opened(path)
    assert [message.content for message in transcript.messages] == ["a", "b"]
    with path.open("ab") as out:
        out.write(b"\n" + encode([{"say": "c"}]))
    assert transcript.refresh() == Change(first=2)
    assert [message.content for message in transcript.messages] == ["a", "b", "c"]


def test_a_last_line_that_was_not_the_end_is_read_anew(tmp_path: Path) -> None:
    """Two records glued together arrive in two writes: what looked like a whole line was none."""
    path = tmp_path / "f"
    path.write_bytes(b'{"say": "b"}')
    transcript = opened(path)
    with path.open("ab") as out:
        out.write(b'{"say": "c"}\n')
    assert transcript.refresh().rewritten
    assert [message.content for message in transcript.messages] == ["b", "c"]


# Parts that are read alone -----------------------------------------------------------------------------------


def _texts(transcript: Transcript) -> list[str]:
    return [message.content for message in transcript.messages]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(60, 500), st.integers(40, 300))
@examples(60)
def test_parts_one_after_the_other_are_the_whole(lengths: list[int], part: int, page: int) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_adapter, "PART", part)
        path = Path(directory) / "notes.jsonl"
        said = [f"{number}:" + "x" * length for number, length in enumerate(lengths)]
        path.write_text("".join(json.dumps({"say": text}) + "\n" for text in said))
        end = JsonlTranscript("a", "s", str(path), NoteBuilder, page=page)
        found, above = _texts(end), end.part(-1)
        while above is not None:
            assert above.is_cut and _texts(above)
            assert len(above.messages) * 3 < part + 450  # some lines, not all that is above
            found, above = [*_texts(above), *found], above.part(-1)
        assert found == said
        below, found = end.part(0), []
        assert below is not None and below.begins == 0.0 and below.complete
        while below is not None:
            found, below = [*found, *_texts(below)], below.part(1)
        assert found == said
        read_on = end.part(0)
        assert read_on is not None
        while read_on.is_cut:
            read_on.refresh()
        assert _texts(read_on) == said and end.part(1) is None
        path.write_text(path.read_text() + json.dumps({"say": "more"}) + "\n")
        read_on.refresh()
        assert _texts(read_on) == [*said, "more"]


def test_a_part_is_read_on_to_the_next_message_however_long_the_lines_between(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    said = ["first " * 20, "long " * 2000, "last"]
    nothing = json.dumps({"other": "x" * 700}) + "\n"
    path.write_text("".join(json.dumps({"say": text}) + "\n" + nothing * 9 for text in said))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_adapter, "PART", 100)
        part = JsonlTranscript("a", "s", str(path), NoteBuilder, page=50).part(0)
    assert part is not None and part.is_cut and _texts(part) == said[:1]
    while len(known := _texts(part)) < len(said):
        assert part.refresh() == Change(first=len(known))
    assert known == said


def test_of_what_holds_no_message_not_all_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may have gigabytes of it: the next key goes on."""
    monkeypatch.setattr(jsonl_adapter, "LINE_LIMIT", 400)
    monkeypatch.setattr(jsonl_adapter, "PART", 100)
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps({"say": "first " * 20}) + "\n" + (json.dumps({"other": "x" * 30}) + "\n") * 200)
    part = JsonlTranscript("a", "s", str(path), NoteBuilder, page=50).part(0)
    assert part is not None and part.is_cut
    assert part.refresh() == Change() and part.is_cut
    rounds = 1
    while part.is_cut:
        assert part.refresh() == Change()
        rounds += 1
    assert rounds > 5


def test_a_part_of_a_file_that_is_another_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"say": "x" * 50}) + "\n" for _ in range(50)))
    end = JsonlTranscript("a", "s", str(path), NoteBuilder, page=200)
    path.write_text('{"say": "other"}\n')
    assert end.part(-1) is None and end.part(0) is None
    path.unlink()
    assert end.part(0) is None
