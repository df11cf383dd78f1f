"""Codex' transcripts by pages, growing, and how little is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from hermes_tui.sessions.search.excerpt import messages_around
from plain_codex import FORK_ID, OLD_FORK_ID, ROLLOUTS, ROOT_ID, STORE, adapter, both, ident, no_report
from session_adapters.base import SessionMissing, Source
from session_adapters.codex.adapter import CodexAdapter
from session_adapters.growing import jsonl_adapter
from session_adapters.model import Message
from session_adapters.reading.files import METER


def messages_by_pages(reader: CodexAdapter, source: Source, page: int) -> list[Message]:
    reader.page = page
    transcript = reader.open(source, source.session_id)
    while not transcript.complete:
        before = list(transcript.messages)
        added = transcript.earlier()
        assert len(transcript.messages) == len(before) + added
        assert added or transcript.complete
    return transcript.messages


@pytest.mark.parametrize(("home", "path"), ROLLOUTS, ids=ident)
def test_pages_give_what_one_pass_gives(home: str, path: Path) -> None:
    reader = adapter(STORE / home)
    source = next(one for one in reader.sources(no_report) if one.path == str(path))
    whole = reader.session(source, source.session_id).messages
    for page in (1, 300, *range(500, 24_000, 1700)):
        assert messages_by_pages(reader, source, page) == list(whole), page


def calls_of(message: Message) -> list[object]:
    return [(call.tool_name, call.input) for call in message.tool_calls]


def shown(messages: Iterable[Message]) -> list[object]:
    """What is shown of messages when somebody looks at one of them: what they used may begin further above."""
    return [
        (one.id, one.role, one.kind, one.content, one.timestamp, one.visibility, one.tool_result, calls_of(one))
        for one in messages
    ]


@pytest.mark.parametrize(("home", "path"), ROLLOUTS, ids=ident)
def test_what_is_around_a_message_is_as_in_the_whole(home: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl_adapter, "AROUND", 500)
    reader = adapter(STORE / home)
    source = next(one for one in reader.sources(no_report) if one.path == str(path))
    whole = reader.session(source, source.session_id).messages
    names = [one.id for one in whole]
    for place, name in enumerate(names):
        if names.count(name) == 1:  # a fork's own may be called like one of its parent's
            found, at = messages_around(reader.open_at(source, source.session_id, name, 3), name, 3)
            assert shown(found[max(0, at - 3) : at + 4]) == shown(whole[max(0, place - 3) : place + 4]), name


@pytest.mark.parametrize(
    "home, session_id", [("home", ROOT_ID), ("home", FORK_ID), ("older/home", OLD_FORK_ID)], ids=ident
)
def test_following_line_by_line(home: str, session_id: str, store: Callable[..., Path]) -> None:
    copy = store("codex", *home.split("/"))
    reader = adapter(copy)
    source = reader.find(session_id)
    assert source is not None
    path = Path(source.path)
    whole = reader.session(source, session_id).messages
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"\n") + 1])
    transcript = reader.open(source, session_id)
    for line in data.splitlines(keepends=True)[1:]:
        for part in (line[: len(line) // 2], line[len(line) // 2 :]):
            before = list(transcript.messages)
            with path.open("ab") as file:
                file.write(part)
            change = transcript.refresh()
            assert not change.gone and not change.rewritten
            same = len(transcript.messages) if change.first is None else change.first
            assert transcript.messages[:same] == before[:same]
    while not transcript.complete:
        transcript.earlier()
    # An old fork's own part is known only once it begins: what came before is marked at the next opening.
    assert [(one.role, one.kind, one.content) for one in transcript.messages] == [
        (one.role, one.kind, one.content) for one in whole
    ]
    path.unlink()
    assert transcript.refresh().gone
    with pytest.raises(SessionMissing):
        reader.open(source, session_id)


def test_listing_reads_the_ends_only(store: Callable[..., Path]) -> None:
    copy = store("codex", "home")
    reader = adapter(copy)
    source = reader.find(ROOT_ID)
    assert source is not None
    path = Path(source.path)
    first, *rest = path.read_bytes().splitlines(keepends=True)
    filler = json.dumps(
        {"timestamp": "2026-11-21T08:22:20.000Z", "type": "world_state", "payload": {"x": "y" * 9999}}
    )
    path.write_bytes(b"".join([first, *rest[:9], (filler + "\n").encode() * 3000, *rest[9:]]))
    METER.reset()
    (source,) = [one for one in reader.sources(no_report) if one.session_id == ROOT_ID]
    assert METER.opened == 1, "the file of names, which belong to no rollout"
    (ends,) = reader.summaries(source, no_report)
    assert METER.bytes < 300_000
    (exact,) = reader.summaries(source, no_report, exact=True)
    assert ends.partial and not exact.partial
    assert (ends.title, ends.created_at, ends.updated_at, ends.size) == (
        exact.title, exact.created_at, exact.updated_at, exact.size,
    )  # fmt: skip
    # The running total at the end stands for the calls between.
    assert ends.tokens == exact.tokens == both(STORE / "home", ROOT_ID)[0].tokens
    assert ends.message_count <= exact.message_count


def test_get_reads_only_the_session_and_what_it_builds_on(store: Callable[..., Path]) -> None:
    copy = store("codex", "home")
    for path in (copy / ".codex").rglob("rollout-*.jsonl"):
        if path.stem[-36:] not in (ROOT_ID, FORK_ID):
            path.write_bytes(b"poison")
    reader = adapter(copy)
    METER.reset()
    source = reader.find(FORK_ID)
    assert source is not None and METER.opened == 0
    session = reader.session(source, FORK_ID)
    # Head and body of two rollouts, and the list of names.
    assert METER.opened == 5
    assert len(session.messages) == len(both(STORE / "home", FORK_ID)[1].messages)
    METER.reset()
    assert reader.find("01a1fd32-0000-7000-8000-000000000000") is None
    assert METER.opened == 0
