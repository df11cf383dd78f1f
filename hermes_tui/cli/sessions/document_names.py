"""The names of spec 003 in the JSON of searches, beside the older ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from hermes_tui.sessions.search.model import MessageWindow, Result, ResultLine
from session_adapters.model import SessionSummary

__all__ = ["listed_session", "message_window", "search_result"]


def search_result(one: Result) -> dict[str, Any]:
    """A result of `sessions search --json`."""
    window = one.window or MessageWindow()
    return {
        **_plain(one),
        "session_id": one.unified_id,
        "match_message_id": one.message_id,
        "matched_role": one.match_role or ("session_title" if one.match_field == "title" else None),
        "bookend_start": list(_messages(one.start)),
        **_window(window),
        "bookend_end": list(_messages(one.end)),
    }


def message_window(window: MessageWindow, session: SessionSummary, size: int) -> dict[str, Any]:
    """What `sessions show --around --format json` prints."""
    anchor = next((line.message_id for line in window.lines if line.anchor), None)
    names = {"session_id": session.unified_id, "around_message_id": anchor, "window": size}
    return {**_plain(window), **names, **_window(window)}


def listed_session(one: SessionSummary) -> dict[str, Any]:
    """A conversation of `sessions browse --json`."""
    found = _plain(one)
    names = {"session_id": one.unified_id, "started_at": found["createdAt"], "last_active": found["updatedAt"]}
    return {**found, **names, "message_count": one.message_count}


def _plain(record: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(record)
    return found


def _window(window: MessageWindow) -> dict[str, Any]:
    return {
        "messages": list(_messages(window.lines)),
        "messages_before": window.before,
        "messages_after": window.after,
    }


def _messages(lines: Iterable[ResultLine]) -> Iterator[dict[str, Any]]:
    for line in lines:
        found = _plain(line)
        yield {"id": found.pop("messageId"), "role": found.pop("role"), "content": found.pop("text"), **found}
