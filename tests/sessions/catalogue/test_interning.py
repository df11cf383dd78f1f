"""Equal strings are kept once, and stay equal."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.interning import share_strings
from session_adapters.base import Source
from session_adapters.model import SessionSummary

_BEGUN = datetime(2026, 11, 6, 15, 25, 49, tzinfo=UTC)


def made(number: int) -> bytes:
    """An entry as it comes out of a file: every string its own."""
    path = f"/home/dev/.tiny/{number}.jsonl"
    summary = SessionSummary(
        agent="tiny",
        session_id=str(number) * 20,
        title="The same title, and a preview",
        preview="The same title, and a preview",
        cwd="/home/dev/some project",
        model="a-model",
        models=("a-model", "b-model"),
        git_branch="feature/some branch",
        path=path,
        created_at=_BEGUN,
        updated_at=_BEGUN,
        raw={
            "version": "2.1.0",
            "firstUuid": f"{number:036}",
            "branches": ["feature/some branch"],
            "count": 7,
            "left": [1],
            "name": "The same title, and a preview",
        },
    )
    source = Source(agent="tiny", path=path, stamp=(1, 2), session_id=str(number) * 20, root="/home/dev/.tiny")
    return msgspec.msgpack.encode(CachedSource(source=source, summaries=(summary,)))


def test_equal_strings_are_one_and_nothing_else_changes() -> None:
    decode = msgspec.msgpack.Decoder(CachedSource).decode
    one, two = decode(made(1)), decode(made(2))
    (first,), (second,) = one.summaries, two.summaries
    assert first.cwd is not second.cwd  # else this test shows nothing
    for entry in (one, two):
        share_strings(entry)
    assert (one, two) == (decode(made(1)), decode(made(2)))
    for name in ("agent", "cwd", "model", "git_branch"):
        assert getattr(first, name) is getattr(second, name)
    assert first.models is second.models
    assert first.raw["branches"] is second.raw["branches"]
    assert first.raw["name"] is first.title
    assert one.source.root is two.source.root
    assert first.path is one.source.path
    assert first.session_id is one.source.session_id
    assert first.preview is first.title
    assert first.updated_at is first.created_at
    assert first.raw["version"] is second.raw["version"]
    assert first.raw["branches"][0] is first.git_branch
