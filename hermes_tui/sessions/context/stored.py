"""Spec 001's reading of a session: `LoadOptions`, `LoadState`, checkpoints.

What Hector's code does instead is in `practice`; the facts are in agentmux_hector.md 2.2 and 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

__all__ = [
    "RECENT",
    "WINDOW",
    "LoadOptions",
    "NativeRole",
    "Stored",
    "find_checkpoint_as_written",
    "get_messages_as_written",
    "load_state_as_written",
]

NativeRole = Literal["ROLE_USER", "ROLE_AGENT", "ROLE_UNSPECIFIED"]

MARK = "Summary:"
"""How the document says that a summary begins."""
RECENT = 100
"""Messages that `summary_buffer` loads where there is no checkpoint."""
WINDOW = 20
"""Messages of `buffer_window` where no size is given (the document's examples use 10)."""


class Stored(NamedTuple):
    """One row of `session_messages`, or one event."""

    message_id: str
    role: NativeRole
    text: str
    """What the message says; not thinking, calls or results."""
    author: str = ""
    has_message: bool = True
    """False for an event that only says what happened."""


class LoadOptions(Struct, frozen=True, kw_only=True):
    """What to load; all given conditions hold together."""

    limit: int = 0
    """Only the last so many; 0 for all."""
    from_message_id: str = ""
    """Only that message and those after it; empty for all."""
    roles: tuple[NativeRole, ...] = ()
    """Only these; none for all."""


def get_messages_as_written(rows: Sequence[Stored], options: LoadOptions) -> Sequence[Stored]:
    """`GetMessagesWithOptions`: oldest first. Nothing for a message id that is not there."""
    found = list(rows)
    if options.from_message_id:
        ids = [row.message_id for row in found]
        at = ids.index(options.from_message_id) if options.from_message_id in ids else len(ids)
        found = found[at:]
    if options.roles:
        found = [row for row in found if row.role in options.roles]
    return found[-options.limit :] if options.limit > 0 else found


def find_checkpoint_as_written(rows: Sequence[Stored]) -> int | None:
    """`findLastSummaryIndex`: the last message without a role whose text begins with `Summary:`; None for none."""
    for index in range(len(rows) - 1, -1, -1):
        if rows[index].role == "ROLE_UNSPECIFIED" and rows[index].text.startswith(MARK):
            return index
    return None


def load_state_as_written(rows: Sequence[Stored], strategy: str, window_size: int = WINDOW) -> Sequence[Stored]:
    """`LoadState` of `summary_buffer` or `buffer_window`: what the agent has in memory afterwards. Fewer than a
    hundred messages without a checkpoint are all loaded (the document's slice would be out of range)."""
    if strategy == "buffer_window":
        return get_messages_as_written(rows, LoadOptions(limit=window_size)) if window_size > 0 else ()
    if strategy != "summary_buffer":
        raise ValueError(f"spec 001 has no strategy {strategy!r}")
    everything = get_messages_as_written(rows, LoadOptions())
    checkpoint = find_checkpoint_as_written(everything)
    return everything[checkpoint:] if checkpoint is not None else everything[-RECENT:]
