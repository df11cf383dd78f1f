"""What of a message's looks depends on the messages around it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.transcript.layout.heights import MessageColumn

__all__ = ["MessageContext", "context_of"]


class MessageContext(NamedTuple):
    """What of a message's looks depends on the messages around it."""

    first: bool = False
    """Nothing is shown above it."""
    unread: bool = False
    """Nothing is above it because that is not loaded."""
    continues: bool = False
    """The agent said the message above, too."""
    model: bool = False
    """The model is another one than before."""
    day: bool = False
    """The first message of a day."""
    divides: bool = False
    """The messages above were copied from the parent session, this one not."""
    above: int | None = None
    """How many messages are above, where all are loaded."""
    branches: int = 0
    """How many other branches of the conversation part above it."""
    since: datetime | None = None
    """It is the first that came after this."""


_LOOK_BACK = 60
"""Messages above that are asked for the model; beyond them it is worth saying again."""


def context_of(
    column: MessageColumn, index: int, clock: Clock, *, complete: bool, branches: int = 0
) -> MessageContext:
    """The context of entry `index`; `complete` says that nothing is above the first entry, `branches` how many other
    branches of the conversation part before it."""
    entries = column.entries
    message = entries[index].message
    found = column.shown(index - 1, -1)
    above = None if found is None else entries[found].message
    recent = reversed(entries[max(0, index - _LOOK_BACK) : index])
    model = next((entry.message.model for entry in recent if entry.message.model), None)
    return MessageContext(
        first=above is None,
        unread=above is None and not complete,
        continues=above is not None
        and (above.role, above.kind) == (message.role, message.kind) == ("assistant", "message")
        and (above.visibility, above.inherited) == (message.visibility, message.inherited),
        model=bool(message.model) and message.model != model,
        day=message.timestamp is not None
        and (
            above is None
            or above.timestamp is None
            or clock.local(above.timestamp).date() != clock.local(message.timestamp).date()
        ),
        divides=above is not None and above.inherited and not message.inherited,
        above=index if message.kind == "compaction" and complete else None,
        branches=branches,
    )
