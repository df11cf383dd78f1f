"""Gemini's sessions by their ends, by pages, and while they grow."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import asdict

from gemini_samples import (
    EVERY,
    SAMPLES,
    adapter,
    gemini,
    got,
    header,
    line,
    listed,
    never,
    place,
    put,
    user,
)
from session_adapters.gemini.adapter import GeminiAdapter
from session_adapters.gemini.records import BRIEF, DECODER, GeminiRecord
from session_adapters.gemini.turns import turn_of
from session_adapters.transcript import Change, Transcript
from support import STORES

ID = "11111111-aaaa"
COUNTS = {
    "turn_count",
    "message_count",
    "tool_call_count",
    "tokens",
    "model",
    "models",
    "partial",
    "warnings",
    "raw",
}
"""Fields of a summary that only the whole file can tell."""


@pytest.mark.parametrize("name", SAMPLES)
def test_the_ends_tell_everything_but_the_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GeminiAdapter, "head", 1_000)
    monkeypatch.setattr(GeminiAdapter, "tail", 1_000)
    reader = adapter(SAMPLES[name])
    whole, ends = listed(reader), listed(reader, exact=False)
    assert set(whole) == set(ends)
    for session_id, summary in whole.items():
        glance = ends[session_id]
        same = {key: value for key, value in asdict(summary).items() if key not in COUNTS}
        assert {key: getattr(glance, key) for key in same} == same
        assert glance.turn_count <= summary.turn_count
        assert glance.message_count <= summary.message_count
        if not glance.partial:
            assert glance == summary
    if name != "spec-layout":
        assert any(summary.partial for summary in ends.values())


@pytest.mark.parametrize("page", [1, 500, 1_400, 4_096, 20_000])
@pytest.mark.parametrize(("name", "session_id"), EVERY)
def test_pages_back_to_the_start_give_the_session(
    name: str, session_id: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = adapter(SAMPLES[name])
    source = reader.find(session_id)
    assert source is not None
    monkeypatch.setattr(GeminiAdapter, "page", page)
    transcript = reader.open(source, session_id)
    while transcript.earlier():
        pass
    assert transcript.complete
    assert transcript.messages == list(reader.session(source, session_id).messages)


def talk(turns: int) -> list[bytes]:
    return [row for n in range(turns) for row in (line(**user(f"u{n}", f"Q{n}")), line(**gemini(f"g{n}", f"A{n}")))]


def opened(reader: GeminiAdapter) -> Transcript:
    source = reader.find(ID)
    assert source is not None
    return reader.open(source, ID)


def test_pages_come_bit_by_bit_where_nothing_changes_what_stood_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GeminiAdapter, "page", 2_000)
    place(tmp_path, header(), *talk(200))
    transcript = opened(adapter(tmp_path))
    whole = got(adapter(tmp_path), ID).messages
    sizes = [len(transcript.messages)]
    while added := transcript.earlier():
        assert transcript.messages == list(whole[-len(transcript.messages) :])
        assert len(transcript.messages) == sizes[-1] + added
        sizes.append(len(transcript.messages))
    assert sizes[0] < 20
    assert len(sizes) > 3
    assert transcript.complete


@pytest.mark.parametrize("change", [line(**{"$rewindTo": "u50"}), put(user("u3", "Q3"))])
def test_what_changes_the_part_above_has_everything_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: bytes
) -> None:
    monkeypatch.setattr(GeminiAdapter, "page", 2_000)
    path = place(tmp_path, header(), *talk(200))
    reader = adapter(tmp_path)
    growing = opened(reader)
    assert not growing.complete
    with path.open("ab") as out:
        out.write(change)
    assert growing.refresh() == Change(first=0, rewritten=True)
    fresh = opened(reader)
    assert fresh.complete
    assert growing.messages == fresh.messages == list(got(reader, ID).messages)
    # Far above the end it is no business of the newest page, but of the pages from there up.
    path.write_bytes(b"".join((header(), *talk(100), change, *talk(200)[200:])))
    paged = opened(reader)
    assert not paged.complete
    while paged.earlier():
        pass
    assert paged.messages == list(got(reader, ID).messages)


@pytest.mark.parametrize(("name", "session_id"), [entry for entry in EVERY if entry[0] != "spec-layout"])
@pytest.mark.parametrize("page", [1_500, 1 << 20])
def test_following_gives_what_reading_anew_gives(
    store: Callable[..., Path], name: str, session_id: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = adapter(store("gemini", *(("home",) if name == "home" else ("older", "home"))))
    monkeypatch.setattr(GeminiAdapter, "page", page)
    source = reader.find(session_id)
    assert source is not None
    path = Path(source.path)
    if path.suffix == ".json":
        return follow_a_document(reader, path, session_id)
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(rows[0])
    followed = reader.open(source, session_id)
    for row in rows[1:]:
        for part in (row[: len(row) // 2], row[len(row) // 2 : -1], row[-1:]):
            before = list(followed.messages)
            with path.open("ab") as out:
                out.write(part)
            change = followed.refresh()
            same = before[: change.first] if change.first is not None else before
            assert followed.messages[: len(same)] == same
            if change.first is None:
                assert followed.messages == before
            if followed.complete:
                assert followed.messages == list(reader.session(source, session_id).messages)
    while followed.earlier():
        pass
    assert followed.messages == list(reader.session(source, session_id).messages)
    return None


def follow_a_document(reader: GeminiAdapter, path: Path, session_id: str) -> None:
    document = json.loads(path.read_text())
    messages = document["messages"]
    path.write_text(json.dumps(document | {"messages": messages[:1]}))
    source = next(one for one in reader.sources(never) if one.path == str(path))
    followed = reader.open(source, session_id)
    for number in range(2, len(messages) + 1):
        path.write_text(json.dumps(document | {"messages": messages[:number]}, indent=2))
        assert followed.refresh() == Change(first=number - 1)
        assert followed.messages == list(reader.session(source, session_id).messages)
    assert followed.refresh() == Change()
    path.write_text("{torn")
    followed.refresh()
    assert [problem.path for problem in followed.problems] == [str(path)]
    path.unlink()
    assert followed.refresh() == Change(gone=True)


WRITER = """
import sys, time
rows = open(sys.argv[1], "rb").read().splitlines(keepends=True)
for row in rows[1:]:
    with open(sys.argv[2], "ab") as out:  # Gemini opens the file for every record
        out.write(row)
"""


def test_beside_a_writer(store: Callable[..., Path], tmp_path: Path) -> None:
    reader = adapter(store("gemini", "home"))
    source = reader.find("dbd07463-9f3b-4525-8edb-6a43bfbcfdcd")
    assert source is not None
    path, kept = Path(source.path), tmp_path / "kept"
    kept.write_bytes(path.read_bytes())
    path.write_bytes(kept.read_bytes().splitlines(keepends=True)[0])
    followed = reader.open(source, "dbd07463-9f3b-4525-8edb-6a43bfbcfdcd")
    with subprocess.Popen([sys.executable, "-c", WRITER, str(kept), str(path)]) as writer:
        seen: list[int] = []
        while writer.poll() is None:
            followed.refresh()
            seen.append(sum(message.visibility == "live" for message in followed.messages))
            time.sleep(0)
        assert writer.returncode == 0
    followed.refresh()
    assert seen == sorted(seen)  # no resume ever emptied it
    assert path.read_bytes() == kept.read_bytes()
    assert followed.messages == list(reader.session(source, followed.session_id).messages)


def test_a_session_that_gemini_deletes_while_it_is_shown(tmp_path: Path) -> None:
    path = place(tmp_path, header(), *talk(3))
    transcript = opened(adapter(tmp_path))
    before = list(transcript.messages)
    path.unlink()
    assert transcript.refresh() == Change(gone=True)
    assert transcript.messages == before


def test_what_speaks_of_what_is_told_without_the_texts() -> None:
    """Where a log settles is looked for by a narrower decoder."""
    lines = [data for path in (STORES / "gemini").rglob("*.jsonl") for data in path.read_bytes().splitlines()]
    whole, brief = ([named(record) for data in lines for record in one.all(data)[0]] for one in (DECODER, BRIEF))
    assert whole == brief
    assert {"call", "result"} <= {what for found in whole for what, _ in found}


def named(record: GeminiRecord) -> list[tuple[str, str]]:
    """Ids of the messages in it, of their calls and results; and what is taken back."""
    update = record.update.messages if record.update is not None else None
    found = [("goes back to", str(record.rewind_to)), ("lists", f"{record.messages is None} {update is None}")]
    for one in (record, *(record.messages or ()), *(update or ())):
        turn = turn_of(one, "@1", glance=True)
        found.append(("message" if record.is_message else "other", turn.id))
        found += [("call", call.tool_call_id) for call in turn.calls]
        found += [("result", result.tool_call_id) for result in turn.results]
    return found
