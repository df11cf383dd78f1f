"""Tells by its columns which of Hector's generations a database has.

Format: facts agentmux_hector.md 2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from session_adapters.base import SessionMissing, Source
from session_adapters.hector import ids
from session_adapters.hector.conversations import Conversations
from session_adapters.hector.events import Events
from session_adapters.hector.ids import Parts
from session_adapters.hector.layout import HectorFacts, HectorLayout
from session_adapters.hector.reader import Database, HectorReader
from session_adapters.reading.sqlite import DatabaseUnreadable, SessionGone
from session_adapters.text import scrub

__all__ = ["layout_of", "parts_in", "visit"]

T = TypeVar("T")


def layout_of(reader: HectorReader) -> HectorLayout:
    """The tables that are there. Raises `DatabaseUnreadable` for a database without any of Hector's."""
    sessions = reader.columns("sessions")
    events = reader.columns("session_events")
    messages = reader.columns("session_messages")
    has_events = {"id", "app_name", "user_id", "session_id", "sequence_num"} <= events
    has_messages = {"session_id", "message_json"} <= messages and bool({"id", "message_id"} & messages)
    has_messages = has_messages and bool({"sequence_num", "created_at"} & messages)
    if has_events and ("app_name" in sessions or not has_messages):
        return Events(reader, sessions, events)
    if has_messages:
        return Conversations(reader, sessions, messages)
    raise DatabaseUnreadable("it has none of Hector's tables of messages: it is not Hector's or was never finished")


def visit(database: Database, parts: Parts, work: Callable[[HectorLayout, HectorFacts], T]) -> T:
    """`work` with one session of a database; it may be run again. Raises `SessionGone`, `DatabaseMissing` and
    `DatabaseUnreadable`."""

    def read(reader: HectorReader) -> T:
        layout = layout_of(reader)
        facts = layout.find(parts)
        if facts is None:
            raise SessionGone(ids.encode(parts))
        return work(layout, facts)

    return database.read(read)


def parts_in(source: Source, session_id: str) -> Parts:
    """What the id of a session in a source is made of. Raises `SessionMissing`."""
    plain, tag = ids.split_store(scrub(session_id))
    try:
        if tag and ids.store_tag(source.path) != tag:
            raise ValueError("it is another database's")
        return ids.decode(plain)
    except ValueError as error:
        raise SessionMissing(f"hector has no session {session_id!r}: {error}") from error
