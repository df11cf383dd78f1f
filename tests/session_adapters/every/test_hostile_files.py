"""Files that are made to keep a reader busy: what is read of them is bounded, and what is left out is said."""

from __future__ import annotations

import json
import random
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from calls import calls_of
from chances import TIMES
from hostile_files import LOGS, Victim, aged, with_hole
from session_adapters.base import Adapter, Environment, Source
from session_adapters.cursor.facts import CursorFacts, CursorReader, CursorUnit
from session_adapters.gemini.builder import GeminiBuilder
from session_adapters.gemini.document import feed_document
from session_adapters.model import Message, Problem
from session_adapters.openclaw.database.event_stores import ARCHIVE_LIMIT, unpacked_archive, unpacked_event
from session_adapters.openclaw.database.events import Archive
from session_adapters.openclaw.zstd import ZstdError, decompress
from session_adapters.reading.bounds import VALUES_LIMIT, is_crowded
from session_adapters.reading.damaged_places import KEPT, REPORTED
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import METER, open_file
from session_adapters.reading.lines import line_start, lines
from session_adapters.reading.prefilter import may_hold
from session_adapters.registry import adapter_class

if sys.version_info >= (3, 14):
    from compression import zstd as codec
else:
    from backports import zstd as codec

HOLE = 16 << 30
READ = 300 << 20
"""Bytes that everything together may read: some times as much as a line may have."""
LESS = 10 if TIMES == 1 else 1
"""How much smaller limits are, and what goes beyond them. `make test-long` takes them as they are."""


@pytest.fixture(params=LOGS, ids=lambda victim: victim.agent)
def spoiled(
    request: pytest.FixtureRequest, store: Callable[..., Path], tmp_path: Path
) -> Iterator[tuple[Adapter, Path]]:
    """An adapter, and the file that a test spoils; nobody may read much."""
    victim: Victim = request.param
    home = store(victim.agent, *victim.home.split("/"))
    (tmp_path / "proc").mkdir()
    METER.reset()
    yield adapter_class(victim.agent)(Environment(home=home, proc=tmp_path / "proc")), victim.find(home)
    assert METER.bytes + METER.scanned < READ, METER.__dict__


@pytest.fixture
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may have fewer short and damaged lines."""
    monkeypatch.setattr("session_adapters.reading.lines.SHORT_LINES", 20_000 // LESS)
    monkeypatch.setattr("session_adapters.reading.lines.DAMAGED_LINES", 10_000 // LESS)


def source_of(adapter: Adapter, path: Path) -> Source:
    return next(source for source in adapter.sources(lambda problem: None) if source.path == str(path))


def contents(adapter: Adapter, source: Source) -> tuple[str, list[str]]:
    (*_, summary) = adapter.summaries(source, lambda problem: None, exact=True)
    return summary.session_id, [one.content for one in adapter.session(source, summary.session_id).messages]


def test_a_hole_behind_a_conversation_hides_nothing_and_is_named(spoiled: tuple[Adapter, Path]) -> None:
    adapter, path = spoiled
    session_id, said = contents(adapter, source_of(adapter, path))
    size = path.stat().st_size
    with_hole(path, HOLE)
    source = source_of(adapter, path)
    problems: list[Problem] = []
    adapter.summaries(source, problems.append)
    adapter.summaries(source, problems.append, exact=True)
    list(adapter.texts(source, problems.append))
    list(adapter.usage(source, problems.append))
    if adapter.verbatim is not None:
        assert not may_hold(str(path), [b"nosuchwordanywhere"], adapter.verbatim)
    assert contents(adapter, source) == (session_id, said)
    reason = f"the line is too long to be read ({HOLE:,} bytes)"
    assert (f"byte {size}", reason) in {(one.place, one.reason) for one in adapter.open(source, session_id).problems}


def test_what_stands_behind_a_hole_is_read(spoiled: tuple[Adapter, Path]) -> None:
    adapter, path = spoiled
    session_id, said = contents(adapter, source_of(adapter, path))
    last = path.read_bytes().splitlines(keepends=True)[-1]
    path.write_bytes(path.read_bytes().removesuffix(last))
    with_hole(path, HOLE, b"\n" + last)
    source = source_of(adapter, path)
    adapter.summaries(source, lambda problem: None)
    assert contents(adapter, source) == (session_id, said)
    transcript = adapter.open(source, session_id)
    while not transcript.complete and transcript.earlier():
        pass
    assert [one.content for one in transcript.messages] == said


def test_of_many_lines_without_a_record_few_are_noted(spoiled: tuple[Adapter, Path]) -> None:
    """And none is tried a second time by the slow decoder."""
    adapter, path = spoiled
    session_id, said = contents(adapter, source_of(adapter, path))
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole.removesuffix(last) + b"x\n" * (100_000 // LESS) + last)
    source = source_of(adapter, path)
    with calls_of(json.JSONDecoder.decode, json.JSONDecoder.raw_decode) as looked_into:
        assert contents(adapter, source) == (session_id, said)
        list(adapter.texts(source, lambda problem: None))
        transcript = adapter.open(source, session_id)
        while not transcript.complete and transcript.earlier():
            pass
    assert [one.content for one in transcript.messages] == said
    assert len(looked_into) < 1000
    assert 1 < len(transcript.problems) < 5000
    assert any("more lines without a record" in one.reason for one in transcript.problems)


def test_damaged_lines_are_counted_and_the_first_are_kept(spoiled: tuple[Adapter, Path]) -> None:
    adapter, path = spoiled
    session_id, said = contents(adapter, source_of(adapter, path))
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole.removesuffix(last) + b'{x}\n{"}\n' * 2_000 + last)
    source = source_of(adapter, path)
    problems: list[Problem] = []
    (*_, summary) = adapter.summaries(source, problems.append, exact=True)
    assert summary.warnings == 4_000
    assert (len(problems), problems[-1].reason) == (REPORTED + 1, "3,990 more damaged places")
    list(adapter.texts(source, problems.append))
    assert len(problems) <= 2 * (REPORTED + 1)
    transcript = adapter.open(source, session_id)
    while not transcript.complete and transcript.earlier():
        pass
    assert [one.content for one in transcript.messages] == said
    assert len(transcript.problems) == KEPT + 1
    assert transcript.problems[-1].reason == f"{4_000 - KEPT:,} more damaged places"
    assert transcript.problems[0].place == f"byte {len(whole) - len(last)}"


@pytest.mark.parametrize("short", [b"{}\n", b"{x}\n", b'{"a":}\n'])
@pytest.mark.usefixtures("few_lines")
def test_what_follows_very_many_short_lines_is_named(short: bytes, spoiled: tuple[Adapter, Path]) -> None:
    adapter, path = spoiled
    session_id, said = contents(adapter, source_of(adapter, path))
    with path.open("ab") as file:
        file.write(short * (200_000 // LESS))
    aged(path)
    with open_file(path) as fd:
        (*given, rest) = lines(fd)
    assert len(given) < 40_000 // LESS
    assert rest.offset + rest.too_long == path.stat().st_size
    problems: list[Problem] = []
    source = source_of(adapter, path)
    adapter.summaries(source, problems.append, exact=True)
    assert [one.content for one in adapter.session(source, session_id).messages][: len(said)] == said
    transcript = adapter.open(source, session_id)
    while not transcript.complete and transcript.earlier():
        pass
    reason = f"the rest of the file is not read, for it has too many short or damaged lines ({rest.too_long:,} bytes)"
    assert reason in {one.reason for one in problems}
    assert any("the rest of the file is not read" in one.reason for one in transcript.problems)


def test_a_search_names_a_session_that_is_damaged_where_no_list_looks(spoiled: tuple[Adapter, Path]) -> None:
    adapter, path = spoiled
    rows = path.read_bytes().splitlines(keepends=True)
    filler = rows[-1] * ((3 << 20) // len(rows[-1]))
    path.write_bytes(b"".join([*rows, filler, b'{"half":"a record\n', filler]))
    source = source_of(adapter, path)
    problems: list[Problem] = []
    list(adapter.texts(source, problems.append))
    assert any(one.path == str(path) for one in problems)


@pytest.mark.usefixtures("few_lines")
def test_what_follows_very_many_damaged_lines_is_named(spoiled: tuple[Adapter, Path]) -> None:
    """However long they are: each costs as much as dozens of whole ones."""
    adapter, path = spoiled
    session_id, said = contents(adapter, source_of(adapter, path))
    with path.open("ab") as file:
        file.write((b'{"a":"' + b"x" * 300 + b'"\n') * (60_000 // LESS))
    aged(path)
    source = source_of(adapter, path)
    problems: list[Problem] = []
    began = time.thread_time()
    adapter.summaries(source, problems.append, exact=True)
    list(adapter.texts(source, problems.append))
    transcript = adapter.open(source, session_id)
    while not transcript.complete and transcript.earlier():
        pass
    assert time.thread_time() - began < 30  # minutes, where it looked without end
    assert [one.content for one in transcript.messages][: len(said)] == said
    for found in (problems, transcript.problems):
        assert any("the rest of the file is not read" in one.reason for one in found)


@pytest.mark.parametrize(
    ("agent", "role"),
    [
        ("claude", "assistant"),
        ("copilot", "user"),
        ("gemini", "assistant"),
        ("omp", "user"),
        ("openclaw", "user"),
        ("pi", "user"),
    ],
)
def test_of_very_much_text_the_beginnings_are_kept(
    agent: str, role: str, store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, long = 4 << 20, "x " * 200_000
    for module in ("transcript", "gemini.builder"):
        monkeypatch.setattr(f"session_adapters.{module}.TEXT_LIMIT", limit)
    victim = next(one for one in LOGS if one.agent == agent)
    home = store(agent, victim.home)
    path = victim.find(home)
    adapter = adapter_class(agent)(Environment(home=home))
    source = source_of(adapter, path)
    session_id = adapter.summaries(source, print)[0].session_id
    rows = path.read_bytes().splitlines()
    said = (
        json.dumps(one.content)[1:-1].encode()
        for one in adapter.session(source, session_id).messages
        if one.role == role
    )
    line, text = next((row, one) for one in said for row in rows if len(one) > 9 and one in row)
    more = [line.replace(text, long.encode()) for _ in range(40)]
    for number, one in enumerate(more):
        for name in (b'"uuid":"', b'"id":"'):
            at = one.find(name) + len(name)
            if at >= len(name):
                more[number] = one = one[:at] + b"%08d" % number + one[at + 8 :]
    path.write_bytes(b"\n".join([*rows[:-1], *more, rows[-1], b""]))
    aged(path)
    problems: list[Problem] = []
    found = [one.prose for one in adapter.texts(source_of(adapter, path), problems.append, session_id)]
    assert limit / 2 < sum(map(len, found)) < limit * 1.3
    assert problems


def test_a_file_that_is_one_hole_hides_no_neighbour(spoiled: tuple[Adapter, Path]) -> None:
    adapter, path = spoiled
    before = {
        source.path: bool(contents(adapter, source)[1])
        for source in adapter.sources(lambda problem: None)
        if source.path.endswith(".jsonl")
    }
    path.write_bytes(b"")
    with_hole(path, HOLE)
    del before[str(path)]
    for source in adapter.sources(lambda problem: None):
        adapter.summaries(source, lambda problem: None)
        list(adapter.texts(source, lambda problem: None))
        if source.path in before:
            assert bool(contents(adapter, source)[1]) == before[source.path]


def test_where_a_line_begins_is_found_through_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo")
    with_hole(path, HOLE, b"three")
    METER.reset()
    with open_file(path) as fd:
        assert line_start(fd, path.stat().st_size) == 4
        assert line_start(fd, 3) == 0
        assert line_start(fd, path.stat().st_size, 100) == 100
    assert METER.bytes < 10 << 20


def test_a_line_of_gigabytes_ends_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a system does not tell holes, they are read: not without end."""
    monkeypatch.setattr("session_adapters.reading.lines.data_from", lambda fd, at, stop: at)
    monkeypatch.setattr("session_adapters.reading.lines.PASSED_OVER_LIMIT", 64 << 20)
    path = tmp_path / "f"
    path.write_bytes(b"{}\n")
    with_hole(path, HOLE, b"\n{}\n")
    METER.reset()
    with open_file(path) as fd:
        first, rest = lines(fd, 0, path.stat().st_size)
        assert (first.data, rest.offset, rest.too_long, rest.complete) == (b"{}", 3, HOLE + 4, True)
        assert line_start(fd, path.stat().st_size - 4) == 0
    assert METER.bytes < READ


@pytest.mark.parametrize(
    ("data", "crowded"),
    [
        (b"[" + b"0," * VALUES_LIMIT + b"0]", True),
        (b"[" + b"{}," * VALUES_LIMIT + b"{}]", True),
        (b"{" + b'"a":1,' * VALUES_LIMIT + b'"a":1}', True),
        (b'{"a":"' + b"1,2,[" * VALUES_LIMIT + b'"}', False),
        (b'{"a":"' + b'\\",' * VALUES_LIMIT + b'"}', False),
        (b'{"a":"' + b",\\" * VALUES_LIMIT, False),
    ],
    ids=["numbers", "objects", "keys", "text", "escaped", "commas"],
)
def test_values_are_counted_and_what_texts_hold_is_not(data: bytes, crowded: bool) -> None:
    assert is_crowded(data) == crowded
    decoder = Decoder(dict)
    assert decoder.all(data)[1] == (not data.endswith(b'"}'))
    if crowded:
        with pytest.raises(ValueError, match="more than 2,000,000 values"):
            decoder.one(data)


def test_values_are_counted_as_in_the_text_without_its_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_adapters.reading.bounds.VALUES_LIMIT", 12)
    monkeypatch.setattr("session_adapters.reading.bounds.BLOCK", 7)
    random = Random(20)
    texts = ['a"b\\', ",:[{", "\\", '\\"', "\\\\x", "plain"]

    def value(depth: int) -> object:
        kind = random.randrange(4 if depth < 4 else 2)
        if kind < 2:
            return random.choice(texts) if kind else None
        few = range(random.randrange(5))
        return [value(depth + 1) for _ in few] if kind == 2 else {f'{key}",': value(depth + 1) for key in few}

    crowded = 0
    for _ in range(2000):
        text = json.dumps(value(0))
        marks = sum(map(re.sub(r'"(\\.|[^"\\])*"', "", text).count, ",:[{"))
        assert is_crowded(text.encode()) == (marks > 12), text
        crowded += marks > 12
    assert 200 < crowded < 1800


def test_counting_values_takes_no_time_for_each() -> None:
    """It is done for each line that is long, in every pass."""
    crowded = b"{" + b",".join(b'"k%d":1' % number for number in range(1_100_000)) + b"}"
    long = b'{"a":"' + b'\\",' * 8_000_000 + b'"}'
    began = time.thread_time()
    assert is_crowded(crowded)
    assert time.thread_time() - began < 0.5
    began = time.thread_time()
    assert not is_crowded(long)
    assert time.thread_time() - began < 2


def test_noting_what_is_lost_takes_no_longer_the_more_there_is() -> None:
    """Each was compared with all before it: 100,000 damaged rows took minutes. The first are kept."""

    class Reader(CursorReader):
        def units(self, most: int = 0) -> list[CursorUnit]:
            return []

        def contents(self, units: Sequence[CursorUnit]) -> dict[str, list[Message]]:
            return {}

    reader = Reader(CursorFacts(id="c", kind="chat"))
    began = time.thread_time()
    for number in range(30_000):
        reader.note(f"row {number}", "it is damaged")
    reader.lost.forget({f"{number}" for number in range(500)})
    assert time.thread_time() - began < 2
    assert [place for place, _ in reader.lost] == [f"row {number}" for number in range(500, KEPT)]
    assert len(reader.lost) == 30_000 - 500


# Packed --------------------------------------------------------------------------------------------------------


def test_a_bomb_is_not_unpacked() -> None:
    bomb = codec.compress(bytes(1 << 30))
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    with pytest.raises(ZstdError, match="larger than expected"):
        decompress(bomb, 16 << 20)
    streamed = codec.ZstdCompressor(options={codec.CompressionParameter.window_log: 27})
    wide = streamed.compress(b"a") + streamed.flush()
    with pytest.raises(ZstdError, match="damaged"):
        decompress(wide, 16 << 20)
    with pytest.raises(ZstdError, match="more than 1,000 pieces"):
        decompress(codec.compress(b"") * 100_000, 16 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


def test_an_archive_is_as_large_as_it_is_and_not_as_the_database_says(tmp_path: Path) -> None:
    bomb = codec.compress(bytes(ARCHIVE_LIMIT + 1))
    with pytest.raises(OSError, match="larger than expected"):
        unpacked_archive(Archive("zstd", 1 << 40, "", bomb), str(tmp_path / "x"))
    assert "larger than expected" in unpacked_event(1, None, bomb, 1 << 40).reason
    with pytest.raises(OSError, match="more than 50,000 lines in"):
        unpacked_archive(Archive("zstd", 0, "", codec.compress(b"{}\n" * 60_000)), str(tmp_path / "x"))
    told = [b'{"n":"%s"}' % random.Random(number).randbytes(48).hex().encode() for number in range(60_000)]
    archive = Archive("zstd", 0, "", codec.compress(b"\n".join(told)))
    assert unpacked_archive(archive, str(tmp_path / "x")) == told


# Documents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "junk", [b'{"id":' * 400_000, b'{"id":"x' * 400_000, b'{"id":[' * 400_000], ids=["deep", "texts", "lists"]
)
@pytest.mark.parametrize("limit", [1000, 8000])
def test_what_is_whole_is_not_looked_for_without_end(
    junk: bytes, limit: int, store: Callable[..., Path], tmp_path: Path
) -> None:
    """A megabyte of beginnings in a damaged document kept a list busy for minutes."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        _look_for_what_is_whole(junk, store, tmp_path)
    finally:
        sys.setrecursionlimit(usual)


def _look_for_what_is_whole(junk: bytes, store: Callable[..., Path], tmp_path: Path) -> None:
    home = store("gemini", "older", "home")
    (path, *_) = sorted((home / ".gemini").rglob("chats/*.json"))
    adapter = adapter_class("gemini")(Environment(home=home, proc=tmp_path))
    _, said = contents(adapter, source_of(adapter, path))
    path.write_bytes(path.read_bytes().rstrip().removesuffix(b"}").rstrip().removesuffix(b"]") + b"," + junk)
    began = time.thread_time()
    session_id, still = contents(adapter, source_of(adapter, path))
    assert still == said
    assert "the document breaks off, or a message in it is damaged" in {
        one.reason for one in adapter.open(source_of(adapter, path), session_id).problems
    }
    assert time.thread_time() - began < 30  # minutes, where it looked without end


def test_whole_messages_among_beginnings_do_not_renew_the_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message that was found behind damage began the search anew."""
    monkeypatch.setattr("session_adapters.gemini.document.EFFORT_LIMIT", 20_000)
    message = b'{"id":"m","type":"user","timestamp":"2026-11-20T10:00:00Z","content":"hi"}'
    builder = GeminiBuilder()
    with calls_of(json.JSONDecoder.raw_decode) as tried:
        feed_document(b'{"sessionId":"s","messages":[' + (message + b',{"id":"x",?' * 20) * 200, builder)
    assert 20 < len(tried) < 1000
    assert len(builder.damaged) == 1


def test_a_document_that_is_too_large_is_named_in_a_list(store: Callable[..., Path], tmp_path: Path) -> None:
    home = store("gemini", "older", "home")
    path = sorted((home / ".gemini").rglob("chats/*.json"))[0]
    with_hole(path, HOLE)
    adapter = adapter_class("gemini")(Environment(home=home, proc=tmp_path))
    for exact in (False, True):
        problems: list[Problem] = []
        adapter.summaries(source_of(adapter, path), problems.append, exact=exact)
        size = path.stat().st_size
        reason = f"the document is too large to be read as a whole ({size:,} bytes)"
        assert reason in {one.reason for one in problems}


def test_a_document_of_millions_of_values_is_named(store: Callable[..., Path], tmp_path: Path) -> None:
    for agent, parts, pattern in (
        ("gemini", ("older", "home"), ".gemini/**/chats/*.json"),
        ("copilot", ("spec-layout", "home"), ".config/github-copilot/sessions/*.json"),
        ("openclaw", ("home-files-2026.3",), ".openclaw/agents/main/sessions/sessions.json"),
    ):
        home = store(agent, *parts)
        path = sorted(home.glob(pattern))[0]
        adapter = adapter_class(agent)(Environment(home=home, proc=tmp_path))
        listed = len(list(adapter.sources(lambda problem: None)))
        path.write_bytes(path.read_bytes().rstrip()[:-1] + b',"zz":[' + b"0," * VALUES_LIMIT + b"0]}")
        problems: list[Problem] = []
        summaries = [
            summary
            for source in adapter.sources(problems.append)
            for summary in adapter.summaries(source, problems.append, exact=True)
        ]
        assert summaries
        assert len(list(adapter.sources(lambda problem: None))) == listed
        assert any("more than 2,000,000 values" in one.reason for one in problems), agent


def test_values_are_gone_through_for_half_characters_only_where_there_are_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line that the typed decoder refuses may have hundreds of thousands of them."""
    monkeypatch.setattr("session_adapters.reading.decoding.scrub_json", lambda value: pytest.fail("gone through"))
    decoder = Decoder(dict)
    assert decoder.all(b'\xef\xbb\xbf{"a":"\\u00e9"}') == ([{"a": "\u00e9"}], False)
    with pytest.raises(pytest.fail.Exception):
        decoder.all(b'{"a":"\\uD83d"}')


@pytest.mark.parametrize("junk", [b"x", b"\xff\xfe", b"nothing"])
def test_a_line_without_an_object_is_not_taken_apart(junk: bytes) -> None:
    """Ten megabytes are five million such lines."""
    decoder = Decoder(dict)
    with calls_of(json.JSONDecoder.decode, json.JSONDecoder.raw_decode) as looked_into:
        assert decoder.all(junk) == ([], True)
        assert decoder.all(b" \0 ") == ([], False)
        with pytest.raises(ValueError, match=r"malformed|invalid"):
            decoder.one(junk)
    assert looked_into == []
