"""Titles of sessions: cleaned, unique, numbered in a lineage.

Format: spec 000, "Session Titles"; facts on Hermes, 2.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from hermes_tui.errors import StoreError, ValidationError
from hermes_tui.lifecycle.state_db.connection.failures import RuleBroken
from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.sessions import escape_like

__all__ = [
    "MAX_TITLE_LENGTH",
    "TitleRefused",
    "continued_by",
    "get_next_title_in_lineage",
    "get_session_by_title",
    "get_session_title",
    "resolve_session_by_title",
    "sanitize_title",
    "set_auto_title_if_empty",
    "set_session_title",
]

MAX_TITLE_LENGTH = 100
"""Characters, after cleaning."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]")
"""Zero-width characters, those that change the direction of text, and placeholders."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_NUMBERED = re.compile(r"(.*?) #(\d+)")
_LAST_NUMBER = re.compile(r".* #(\d+)")


class TitleRefused(ValidationError, ValueError):
    """A title is too long, or another session has it."""


def sanitize_title(title: str | None) -> str | None:
    """A title without control characters, with single spaces; None when nothing is left. Raises `TitleRefused`."""
    if not title:
        return None
    text = _CONTROLS.sub("", _SURROGATES.sub("\ufffd", title))
    text = " ".join(_INVISIBLE.sub("", text).split())
    if len(text) > MAX_TITLE_LENGTH:
        raise TitleRefused(f"A title of {len(text)} characters is too long: at most {MAX_TITLE_LENGTH} are kept.")
    return text or None


def set_session_title(store: Store, session_id: str, title: str | None) -> bool:
    """Give a session a title, or take it away with an empty one; whether there is such a session.

    A session that continues another may take the title of that one, which is hidden behind it. Raises
    `TitleRefused`, `StoreError` when the store is too old for titles.
    """
    return _set_title(store, session_id, title, "")


def set_auto_title_if_empty(store: Store, session_id: str, title: str | None) -> bool:
    """The same, unless the session has a title already; whether it was set."""
    return _set_title(store, session_id, title, " AND title IS NULL")


def _set_title(store: Store, session_id: str, title: str | None, condition: str) -> bool:
    cleaned = sanitize_title(title)
    if not store.schema.has("sessions", "title"):
        raise StoreError(f"The session store {store.path} is too old for titles.")
    try:
        with store.transaction():
            if store.row(f"SELECT 1 FROM sessions WHERE id = ?{condition}", (session_id,)) is None:  # noqa: S608
                return False
            query = "SELECT id FROM sessions WHERE title = ? AND id <> ?"
            holder = store.value(query, (cleaned, session_id)) if cleaned else None
            if holder is not None:
                if not continued_by(store.rows, holder, session_id):
                    raise TitleRefused(f"The title '{cleaned}' is already used by session {holder}; choose another.")
                # Titles are unique: the earlier part gives its own up before the later one has it.
                store.execute("UPDATE sessions SET title = NULL WHERE id = ?", (holder,))
            statement = "UPDATE sessions SET title = ? WHERE id = ?"
            return store.execute(statement, (cleaned, session_id)) > 0
    except RuleBroken as error:
        raise TitleRefused(f"The title '{cleaned}' is already used by another session.") from error


def continued_by(select: Callable[[str, Sequence[Any]], Sequence[object]], earlier_id: str, session_id: str) -> bool:
    """Whether a session is a later part of the same, compressed conversation; `select` runs a SELECT."""
    return bool(
        select(
            "WITH RECURSIVE earlier(id) AS (SELECT ?1 UNION SELECT p.id FROM earlier e"
            " JOIN sessions c ON c.id = e.id JOIN sessions p ON p.id = c.parent_session_id"
            " WHERE p.end_reason = 'compression') SELECT 1 FROM earlier WHERE id = ?2 AND id <> ?1",
            (session_id, earlier_id),
        )
    )


def get_session_title(store: Store, session_id: str) -> str | None:
    """The title of a session."""
    column = store.schema.expression("sessions", "title")
    title = store.value(f"SELECT {column} FROM sessions WHERE id = ?", (session_id,))  # noqa: S608
    return None if title is None else str(title)


def get_session_by_title(store: Store, title: str) -> Row | None:
    """The session with exactly this title."""
    if not store.schema.has("sessions", "title"):
        return None
    return store.row("SELECT * FROM sessions WHERE title = ?", (title,))


def resolve_session_by_title(store: Store, title: str) -> str | None:
    """The session that a title means: of "Title #2", "Title #3" … the one begun last, else the one of exactly
    this title."""
    if not store.schema.has("sessions", "title"):
        return None
    # As in Hermes, LIKE takes `Fix #abc` for a numbered one too, in letters of either case.
    later = store.value(
        "SELECT id FROM sessions WHERE title LIKE ? ESCAPE '\\' ORDER BY started_at DESC LIMIT 1",
        (escape_like(title) + " #%",),
    )
    exact = later or (get_session_by_title(store, title) or {}).get("id")
    return None if exact is None else str(exact)


def get_next_title_in_lineage(store: Store, base_title: str) -> str:
    """The title for a session that goes on where one of this title ended: "Fix" → "Fix #2" → "Fix #3". One that
    nobody has stays as it is, without its number."""
    numbered = _NUMBERED.fullmatch(base_title)
    base = numbered[1] if numbered else base_title
    if not store.schema.has("sessions", "title"):
        return base
    titles = [
        str(row["title"])
        for row in store.rows(
            "SELECT title FROM sessions WHERE title = ? OR title LIKE ? ESCAPE '\\'",
            (base, escape_like(base) + " #%"),
        )
    ]
    if not titles:
        return base
    numbers = [int(found[1]) for title in titles if (found := _LAST_NUMBER.fullmatch(title))]
    return f"{base} #{max([1, *numbers]) + 1}"
