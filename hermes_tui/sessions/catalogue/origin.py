"""Where a conversation was held, with whom, and why it ended."""

from __future__ import annotations

from collections.abc import Iterator

from session_adapters.model import SessionSummary

__all__ = ["origin_of"]


def origin_of(session: SessionSummary) -> Iterator[tuple[str, str]]:
    """(name, value) of what is known of Source, User, Chat, Parent and Ended, as the agent wrote it: not safe for a
    terminal yet."""
    raw = session.raw
    if session.source:
        yield "Source", session.source
    if user := raw.get("user_id"):
        yield "User", str(user)
    chat = " ".join(str(raw[name]) for name in ("chat_type", "display_name") if raw.get(name))
    place = ", thread ".join(str(raw[name]) for name in ("chat_id", "thread_id") if raw.get(name))
    if chat or place:
        yield "Chat", f"{chat} ({place})" if chat and place else chat or place
    if session.parent_id and session.parent_id != session.forked_from:
        yield "Parent", session.parent_id
    if session.end_reason:
        yield "Ended", session.end_reason
