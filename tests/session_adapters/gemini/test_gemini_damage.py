"""Gemini's files torn, flipped, glued and repeated: neighbours are listed, and what is lost is said."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from gemini_samples import (
    CHATS,
    CONTEXT,
    SAMPLES,
    asked,
    bare,
    call,
    gemini,
    header,
    line,
    put,
    raw_id,
    response,
    session_files,
    user,
)
from session_adapters.base import Environment, SessionMissing, SessionUnreadable
from session_adapters.gemini.adapter import GeminiAdapter
from session_adapters.model import Message, Problem, SessionSummary
from session_adapters.reading.lines import LINE_LIMIT

FILES = {
    f"{path.parents[2].name if path.suffix == '.json' else sample}/{path.name}": path
    for sample, home in SAMPLES.items()
    for path in session_files(home)
}
LOGS = st.sampled_from(sorted(name for name in FILES if name.endswith(".jsonl")))
DOCUMENTS = st.sampled_from(sorted(name for name in FILES if name.endswith(".json")))
NEIGHBOUR = header("neighbour") + line(**user("n", "neighbour"))
slow = examples(20)


class Home:
    """A home with one session that may be damaged, and one beside it that is well."""

    def __init__(self, path: Path) -> None:
        self.folder = path / CHATS
        self.documents = path / ".gemini/sessions"
        for folder in (self.folder, self.documents):
            folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "session-2026-11-21T08-00-neighbou.jsonl").write_bytes(NEIGHBOUR)
        self.reader = type("Small", (GeminiAdapter,), {"head": 3_000, "tail": 3_000, "page": 5_000})(
            Environment(home=path)
        )
        self.file = self.folder / "unnamed"
        self.session_id = ""

    def put(self, name: str, data: bytes) -> None:
        """Write a sample's file, with other content."""
        self.file.unlink(missing_ok=True)
        path = FILES[name]
        self.session_id = raw_id(path)
        self.file = (self.folder if path.parent.name != "sessions" else self.documents) / path.name
        self.file.write_bytes(data)

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
            assert found["neighbour"].title == "neighbour"
            for one in (*found.values(), *problems):
                msgspec.json.encode(one)
        for problem in problems:
            assert problem.path == str(self.file)
            assert problem.reason
        return found, problems

    def messages(self) -> list[Message]:
        """The victim's, by pages and at once; both must be the same."""
        sources = [one for one in self.reader.sources(lambda problem: None) if one.path == str(self.file)]
        if not sources:  # zero bytes
            return []
        (source,) = sources
        summary = next(iter(self.reader.summaries(source, lambda problem: None, exact=True)), None)
        if summary is None:
            return []
        whole = self.reader.session(source, summary.session_id)
        transcript = self.reader.open(source, summary.session_id)
        while transcript.earlier():
            pass
        assert transcript.complete
        assert transcript.messages == list(whole.messages)
        assert len(transcript.problems) == whole.warnings == summary.warnings
        assert len(whole.messages) == summary.message_count
        assert whole.tokens == summary.tokens
        for message in whole.messages:
            msgspec.json.encode(message)
        return list(whole.messages)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def rows_of(name: str) -> list[bytes]:
    return FILES[name].read_bytes().splitlines(keepends=True)


def contents(messages: list[Message]) -> list[tuple[str, str, str]]:
    return [(message.role, message.content, message.visibility) for message in messages]


@slow
@given(name=LOGS, share=st.floats(0, 1))
def test_a_log_cut_off_anywhere(home: Home, name: str, share: float) -> None:
    data = FILES[name].read_bytes()
    cut = data[: int(len(data) * share)]
    home.put(name, cut)
    _, problems = home.read()
    torn = home.messages()
    whole = cut[: cut.rfind(b"\n") + 1]
    assert [problem for problem in problems if problem.place] == []  # the torn last line waits
    if cut != whole and not cut.endswith(b"}"):
        home.put(name, whole)
        assert contents(home.messages()) == contents(torn)


@slow
@given(name=DOCUMENTS, share=st.floats(0, 0.999))
def test_a_document_cut_off_anywhere(home: Home, name: str, share: float) -> None:
    """The messages before the cut are read; the cut is said, with its place."""
    data = FILES[name].read_bytes()
    home.put(name, data)
    whole = home.messages()
    cut = data[: int(len(data) * share)]
    home.put(name, cut)
    found, problems = home.read()
    torn = home.messages()
    assert contents(torn) == contents(whole)[: len(torn)]
    assert len(torn) == cut.count(b"\n    }")
    if home.session_id in found and data.count(b"}", 0, len(cut)) < data.count(b"}"):
        assert found[home.session_id].warnings == 1
        assert all(problem.place.startswith("byte ") for problem in problems)


@slow
@given(name=DOCUMENTS, share=st.floats(0, 0.99), size=st.integers(1, 300))
def test_a_hole_in_a_document_costs_what_it_hits(home: Home, name: str, share: float, size: int) -> None:
    data = FILES[name].read_bytes()
    home.put(name, data)
    whole = home.messages()
    at = int(len(data) * share)
    home.put(name, data[:at] + b"\0" * size + data[at + size :])
    found, _ = home.read()
    kept = home.messages()
    if home.session_id in found and kept != whole:
        # Where it joins two strings, all that follows is valid JSON inside of one message.
        assert len(kept) >= len(whole) - 2 - size // 100 or found[home.session_id].warnings
        assert len({message.id for message in kept} - {message.id for message in whole}) <= 1  # hit in its id


@slow
@given(name=LOGS, places=st.lists(st.tuples(st.floats(0, 0.999999), st.integers(0, 7)), min_size=1, max_size=5))
def test_flipped_bits(home: Home, name: str, places: list[tuple[float, int]]) -> None:
    data = bytearray(FILES[name].read_bytes())
    hit = set()
    for share, bit in places:
        at = int(len(data) * share)
        hit.add(data.count(b"\n", 0, at))
        data[at] ^= 1 << bit
    home.put(name, bytes(data))
    found, problems = home.read()
    home.messages()
    assert all(problem.place for problem in problems if "holds no session" not in problem.reason)
    # A flip harms the line that it hits, and the next one where it made or unmade a newline.
    assert all(summary.warnings <= 2 * len(hit) for summary in found.values())


@slow
@given(name=DOCUMENTS, places=st.lists(st.tuples(st.floats(0, 0.999999), st.integers(0, 7)), min_size=1, max_size=5))
def test_flipped_bits_in_a_document(home: Home, name: str, places: list[tuple[float, int]]) -> None:
    data = bytearray(FILES[name].read_bytes())
    for share, bit in places:
        data[int(len(data) * share)] ^= 1 << bit
    home.put(name, bytes(data))
    home.read()
    home.messages()


@slow
@given(name=LOGS, share=st.floats(0, 1), length=st.integers(1, 5_000))
def test_a_run_of_nuls(home: Home, name: str, share: float, length: int) -> None:
    rows = rows_of(name)
    home.put(name, b"".join(rows))
    want = contents(home.messages())
    at = int(len(rows) * share)
    home.put(name, b"".join([*rows[:at], b"\0" * length, *rows[at:]]))
    assert home.read()[1] == []
    assert contents(home.messages()) == want


@slow
@given(name=LOGS, gaps=st.sets(st.integers(0, 40), min_size=1, max_size=6))
def test_records_glued_together_are_taken_apart(home: Home, name: str, gaps: set[int]) -> None:
    rows = rows_of(name)
    home.put(name, b"".join(rows))
    want = contents(home.messages())
    glued = [row.rstrip(b"\n") if n in gaps and n + 1 < len(rows) else row for n, row in enumerate(rows)]
    home.put(name, b"".join(glued))
    assert home.read()[1] == []
    assert contents(home.messages()) == want


@slow
@given(name=LOGS, number=st.integers(0, 200), share=st.floats(0.05, 0.95))
def test_half_a_record_glued_to_the_next_costs_that_record_alone(
    home: Home, name: str, number: int, share: float
) -> None:
    rows = rows_of(name)
    number %= len(rows) - 1
    half = rows[number][: max(2, int(len(rows[number]) * share))].rstrip(b"}\n")
    home.put(name, b"".join([*rows[:number], half, *rows[number + 1 :]]))
    found, problems = home.read()
    assert problems
    assert all(summary.warnings == 1 for key, summary in found.items() if key != "neighbour")
    lost = home.messages()
    home.put(name, b"".join([*rows[:number], b"broken\n", *rows[number + 1 :]]))
    assert contents(home.messages()) == contents(lost)


@slow
@given(name=LOGS, number=st.integers(0, 200), times=st.integers(1, 4))
def test_a_line_written_several_times_at_once(home: Home, name: str, number: int, times: int) -> None:
    rows = rows_of(name)
    number %= len(rows)
    home.put(name, b"".join(rows))
    want = contents(home.messages())
    home.put(name, b"".join([*rows[:number], rows[number] * times, *rows[number:]]))
    assert home.read()[1] == []
    if b'"role"' not in rows[number]:
        assert contents(home.messages()) == want  # the document's lines have no ids


@slow
@given(name=LOGS, order=st.lists(st.integers(0, 200), min_size=1, max_size=8))
def test_old_lines_written_again(home: Home, name: str, order: list[int]) -> None:
    rows = rows_of(name)
    home.put(name, b"".join(rows))
    tokens = sum(message.token_usage.total for message in home.messages() if message.token_usage)
    home.put(name, b"".join([*rows, *(rows[number % len(rows)] for number in order)]))
    home.read()
    again = home.messages()
    if b'"id"' in rows[-2]:
        assert sum(message.token_usage.total for message in again if message.token_usage) == tokens


@slow
@given(data=st.binary(max_size=400), name=LOGS | DOCUMENTS)
def test_any_bytes(home: Home, data: bytes, name: str) -> None:
    home.put(name, data)
    home.read()
    home.messages()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["text", "id", "functionCall", "functionResponse", "response", "messages", "type", "thought"]), inner,
        max_size=4),
    max_leaves=12,
)  # fmt: skip
FIELDS = st.sampled_from(
    [
        "id", "type", "content", "displayContent", "timestamp", "thoughts", "tokens", "model", "toolCalls", "$set",
        "$rewindTo", "sessionId", "startTime", "kind", "role", "parts", "usage", "messages", "safetyRatings",
    ]
)  # fmt: skip


@slow
@given(records=st.lists(st.dictionaries(FIELDS, JSON), max_size=5), name=LOGS)
def test_records_with_fields_of_any_type(home: Home, records: list[dict[str, Any]], name: str) -> None:
    home.put(name, header() + b"".join(json.dumps(record).encode() + b"\n" for record in records))
    home.read()
    home.messages()
    home.put(name, json.dumps({"sessionId": "x", "messages": records}, indent=2).encode())
    home.read()
    home.messages()


def write(home: Home, *rows: bytes) -> None:
    home.put(next(name for name in FILES if "dbd07463" in name), b"".join(rows))


def test_lone_surrogates_become_replacement_characters(home: Home) -> None:
    row = b'{"id":"u","type":"user","content":[{"text":"a\\ud800b"}],"timestamp":"2026-11-21T08:00:00Z"}\n'
    write(home, header(), row, line(**gemini("g", toolCalls=[call("c", "\udcff"), call("d", {"k\udcff": "\ud800"})])))
    found, problems = home.read()
    assert problems == []
    assert found["11111111-aaaa"].title == "a\ufffdb"
    assert [one.output for one in home.messages()[1].tool_calls] == ["\ufffd", {"k\ufffd": "\ufffd"}]
    write(home, json.dumps({"sessionId": "x", "messages": [user("u", "a\ud800b")]}, indent=2).encode()[:-3])
    assert [message.content for message in home.messages()] == ["a\ufffdb"]


def test_a_file_without_a_record_is_said(home: Home) -> None:
    write(home, b"\0" * 100_000)
    found, problems = home.read()
    assert (set(found), {problem.reason for problem in problems}) == ({"neighbour"}, {"holds no session"})


def test_many_damaged_lines_are_counted_and_not_all_reported(home: Home) -> None:
    write(home, header(), line(**user("u", "Q")), b"broken\n" * 300)
    problems: list[Problem] = []
    (source,) = (one for one in home.reader.sources(problems.append) if one.path == str(home.file))
    (summary,) = home.reader.summaries(source, problems.append, exact=True)
    assert summary.warnings == 300
    assert len(problems) == 11
    assert problems[0].place == f"byte {len(header() + line(**user('u', 'Q')))}"
    assert problems[-1].reason == "290 more damaged places"
    assert {problem.session_id for problem in problems} == {"11111111-aaaa"}


def test_a_line_of_200_mb_in_bounded_memory(home: Home) -> None:
    write(home, header(), put(CONTEXT), line(**user("u", "Q")), line(**gemini("g", "A")))
    with home.file.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(header() + put(CONTEXT) + b'{"$set":{"messages":[{"id":"')
        file.seek(200 << 20, os.SEEK_CUR)
        file.write(b'"}]}}\n' + line(**user("v", "R")))
    tracemalloc.start()
    _, problems = home.read()
    found = home.messages()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # What could not be read restored the conversation: it is not taken for gone.
    assert contents(found)[1:] == [("user", "Q", "live"), ("assistant", "A", "live"), ("user", "R", "live")]
    assert {problem.reason.partition(" (")[0] for problem in problems} == {"the line is too long to be read"}
    assert peak < 3 * LINE_LIMIT


def test_calls_and_results_that_name_each_other_wrongly(home: Home) -> None:
    """Results before their calls, of no call, of a call with the same id twice, a list that names a message twice."""
    write(
        home,
        header(),
        line(**user("r", [response("c"), response("nobody"), response("c")])),
        line(**gemini("g", toolCalls=[call("c"), call("c")])),
        put(user("r", [response("c")]), bare("g", asked("c")), bare("g", asked("c")), user("r", "x")),
        line(**{"$rewindTo": "g"}),
        line(**user("r2", [response("")])),
    )
    home.read()
    home.messages()


def test_a_file_that_goes_or_changes_between_two_steps(home: Home) -> None:
    name = next(name for name in FILES if "dbd07463" in name)
    data = FILES[name].read_bytes()
    for harm in (
        lambda: home.file.unlink(),
        lambda: home.file.write_bytes(b"x"),
        lambda: os.truncate(home.file, 0),
        lambda: os.truncate(home.file, len(data) // 2),
    ):
        home.put(name, data)
        (source,) = (one for one in home.reader.sources(lambda problem: None) if one.path == str(home.file))
        transcript = home.reader.open(source, home.session_id)
        before = list(transcript.messages)
        harm()
        transcript.earlier()
        assert transcript.messages == before
        transcript.refresh()
        for exact in (False, True):
            home.reader.summaries(source, lambda problem: None, exact=exact)
        try:
            home.reader.session(source, home.session_id)
        except (SessionMissing, SessionUnreadable) as error:
            assert str(home.file) in str(error)


def test_a_file_without_permission_hides_no_other(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, header(), line(**user("u", "Q")))
    real = os.open

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if str(path) == str(home.file):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    found, problems = home.read()
    assert set(found) == {"neighbour"}
    assert {problem.reason for problem in problems} == {"cannot be read: Permission denied"}
    (source,) = (one for one in home.reader.sources(lambda problem: None) if one.path == str(home.file))
    with pytest.raises(SessionUnreadable, match="Permission denied"):
        home.reader.open(source, home.session_id)
