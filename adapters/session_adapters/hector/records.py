"""The typed rows of Hector's tables and the JSON in them.

Format: spec 001 «Database Schema»; FACTS.md; facts agentmux_hector.md 2.1 and 2.3.

Columns are found by name; what a database does not have reads as the default. Times are text: SQLite's with the
writer's offset, PostgreSQL's its bare wall time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from session_adapters.growing.columns import RowsInColumns
from session_adapters.growing.ids import Ids
from session_adapters.reading.bounds import CROWDED, VALUES_LIMIT, is_crowded
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader
from session_adapters.text import from_json

__all__ = [
    "EVENTS",
    "EVENT_SESSIONS",
    "MESSAGES",
    "SESSIONS",
    "EventRow",
    "EventSession",
    "HectorMark",
    "HectorMarks",
    "HectorMessageRow",
    "HectorSessionRow",
    "decoded",
]


class HectorMark(NamedTuple):
    """A row without its text. Equal as long as nothing of it was changed."""

    place: Any
    """Finds it again while the database is open."""
    id: str
    role: str = ""
    """As Hector writes it; empty where the table does not say."""
    author: str = ""
    size: int = 0
    """Bytes of text."""
    time: str | None = None

    @property
    def kept(self) -> HectorMark:
        """What of it holds after the database was closed."""
        return self._replace(place=None)


class HectorMarks(RowsInColumns[HectorMark]):
    """The marks of all rows of a session."""

    def __init__(self, marks: Iterable[HectorMark] = ()) -> None:
        """`marks`: those there are, the last one first."""
        self._ids, self._times = Ids(), Ids()
        self._roles: list[str] = []
        self._authors: list[str] = []
        self._sizes, self._numbers = array("q"), array("q")
        self._others: dict[int, Any] = {}
        """By index, places that are no whole number."""
        for mark in marks:
            self.put_before(mark)

    def __len__(self) -> int:
        return len(self._roles)

    def row(self, at: int) -> HectorMark:
        """See `InColumns.row`."""
        place = self._others[at] if at in self._others else self._numbers[at]
        said = self._ids[at], self._roles[at], self._authors[at], self._sizes[at]
        return HectorMark(place, *said, self._times[at] or None)

    def put_before(self, mark: HectorMark) -> None:
        """Take in one that comes before those there are."""
        is_number = isinstance(mark.place, int)
        if not is_number:
            self._others[len(self)] = mark.place
        self._numbers.append(mark.place if is_number else 0)
        self._ids.append(mark.id)
        self._roles.append(mark.role)
        self._authors.append(mark.author)
        self._sizes.append(mark.size)
        self._times.append(mark.time or "")


class HectorSessionRow(msgspec.Struct, frozen=True):
    """A row of `sessions` in v0, v1 and the guide: one for each agent that uses the id. Version 0 has the id alone
    for a key, and an agent only perhaps."""

    id: str
    agent_id: str | None
    metadata: str | None
    """JSON. `pending_executions`: by task, what waits for a human to approve it."""
    created_at: str | None
    updated_at: str | None


class HectorMessageRow(msgspec.Struct, frozen=True):
    """A row of `session_messages`. It says which session it belongs to and not which agent: where several agents
    have a session of that id, each is given all rows. The guide's has neither `role` nor `sequence_num`."""

    message_json: str
    """A message of the A2A protocol: `parts` (`content` until October 2025), each with `text`, `data` or `file` and
    perhaps `metadata`. `role` is missing where it is the zero value."""
    role: str
    """ROLE_USER, ROLE_AGENT (calls and results of tools too), ROLE_UNSPECIFIED (summaries)."""
    message_id: str
    """Mostly empty in v0 and v1: no key."""
    created_at: str | None
    """One for a whole batch: no order."""


class EventSession(msgspec.Struct, frozen=True):
    """A row of v2's `sessions`."""

    app_name: str
    user_id: str
    id: str
    state_json: str | None
    """JSON; `_approval:<call>` holds a human's decision."""
    created_at: str | None
    updated_at: str | None


class EventRow(msgspec.Struct, frozen=True):
    """A row of v2's `session_events`. A summary has no time: it reads as year 1."""

    author: str
    """`user`, `system` for a summary, else the name of the agent."""
    role: str
    """`user` (results of tools too), `agent`, or nothing for an event without a message."""
    content_json: str
    """JSON list of parts by `kind`: text, data (`tool_use`, `tool_result`), file."""
    branch: str
    """The agents that led here, joined by dots."""
    transfer_to_agent: str
    escalate: str
    """A truth value, as in the next two: 0 and 1, or false and true."""
    require_input: str
    input_prompt: str
    interrupted: str
    error_code: str
    error_message: str
    thinking_json: str
    tool_calls_json: str
    """What the parts say of calls and results, in this column and the next, once more."""
    tool_results_json: str
    created_at: str | None


SESSIONS = RowReader(HectorSessionRow, limit=LISTED_LIMIT)
MESSAGES = RowReader(HectorMessageRow)
EVENT_SESSIONS = RowReader(EventSession, limit=LISTED_LIMIT)
EVENTS = RowReader(EventRow)


def decoded(text: str) -> Any:
    """The JSON value in a column. Raises `ValueError`."""
    if len(text) > VALUES_LIMIT and is_crowded(text.encode("utf-8", "surrogatepass")):
        raise ValueError(CROWDED)
    return from_json(text, strict=False)
