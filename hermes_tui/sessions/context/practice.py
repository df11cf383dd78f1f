"""What Hector really does where spec 001 describes something else.

Format: facts agentmux_hector.md 2.2 and 2.4.

`v1` (October to December 2025) reads through SQL and gets some of it wrong; `v2` keeps events and cuts them by a
budget of tokens. Tokens are estimated as v2 does without a tokenizer: nobody else's vocabularies are downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from hermes_tui.sessions.context.stored import RECENT, WINDOW, LoadOptions, Stored
from hermes_tui.sessions.context.tokens import fitting

__all__ = [
    "BUDGET",
    "FEWEST",
    "PRESERVED",
    "TARGET",
    "Generation",
    "Limits",
    "LoadFailed",
    "checkpoints_in_practice",
    "find_checkpoint_in_practice",
    "get_messages_in_practice",
    "load_state_in_practice",
    "tokens_in_practice",
]

Generation = Literal["v1", "v2"]

MARKS = ("Previous conversation summary:", "Conversation summary:")
"""What the code looks for; it writes the first."""
BUDGET = 8000
TARGET = 0.7
PRESERVED = 5
"""Events that `token_window` keeps, however long."""
_MEMORY = 1000
"""Messages that v1 keeps in memory."""
FEWEST = 10
"""Events that v2's `summary_buffer` keeps, however long."""


class Limits(NamedTuple):
    """The sizes of a strategy."""

    size: int = WINDOW
    """Messages of `buffer_window`."""
    budget: int = BUDGET
    """Tokens of `summary_buffer` and `token_window`."""
    target: float = TARGET
    """The part of the budget that `summary_buffer` fills."""
    preserved: int = PRESERVED


class LoadFailed(Exception):
    """The database refuses Hector's query. It goes on with an empty history."""


def get_messages_in_practice(rows: Sequence[Stored], options: LoadOptions) -> Sequence[Stored]:
    """`GetMessagesWithOptions` of v1. A limited read has two ORDER BY clauses: raises `LoadFailed`. A message id is
    compared as text, and most messages have none: those that follow in the alphabet, not in the conversation."""
    if options.limit > 0:
        raise LoadFailed('near "ORDER": syntax error')
    found = list(rows)
    if options.from_message_id:
        found = [row for row in found if row.message_id > options.from_message_id]
    if options.roles:
        found = [row for row in found if row.role in options.roles]
    return found


def checkpoints_in_practice(rows: Sequence[Stored], generation: Generation) -> list[int]:
    """Where summaries are: in v1 a message without a role that contains the marker, in v2 any that begins with it,
    whoever wrote it."""
    if generation == "v2":
        return [index for index, row in enumerate(rows) if row.text.startswith(MARKS)]
    return [
        index
        for index, row in enumerate(rows)
        if row.role == "ROLE_UNSPECIFIED" and any(mark in row.text for mark in MARKS)
    ]


def find_checkpoint_in_practice(rows: Sequence[Stored], generation: Generation) -> int | None:
    """The last of them."""
    found = checkpoints_in_practice(rows, generation)
    return found[-1] if found else None


def tokens_in_practice(row: Stored) -> int:
    """v2's estimate for one event: a token for four bytes of text, and of the author's name, and three more."""
    return len(row.text.encode()) // 4 + len(row.author.encode()) // 4 + 3


def load_state_in_practice(
    rows: Sequence[Stored],
    strategy: str,
    generation: Generation,
    limits: Limits = Limits(),  # noqa: B008  (immutable)
) -> Sequence[Stored]:
    """What the agent takes into its next call. An unknown strategy, or none, means everything in v2 and
    `summary_buffer` in v1, as there."""
    if generation == "v1":
        return _load_v1(rows, strategy, limits)
    if strategy == "buffer_window":
        return rows[-limits.size :] if limits.size > 0 else ()
    if strategy == "token_window":
        return _token_window(rows, limits)
    if strategy == "summary_buffer":
        checkpoint = find_checkpoint_in_practice(rows, "v2")
        kept = rows if checkpoint is None else rows[checkpoint:]
        count = _count(kept, int(limits.budget * limits.target), FEWEST)
        return kept[len(kept) - count :]
    return rows


def _load_v1(rows: Sequence[Stored], strategy: str, limits: Limits) -> Sequence[Stored]:
    if strategy == "buffer_window":
        try:
            return get_messages_in_practice(rows, LoadOptions(limit=limits.size))
        except LoadFailed:
            return ()
    everything = get_messages_in_practice(rows, LoadOptions())
    checkpoint = find_checkpoint_in_practice(everything, "v1")
    kept = everything[checkpoint:] if checkpoint is not None else everything[-RECENT:]
    return kept[-_MEMORY:]


def _token_window(rows: Sequence[Stored], limits: Limits) -> Sequence[Stored]:
    """What does not fit is counted over the events that have a message, and then so many of all events are cut."""
    messages = [row for row in rows if row.has_message]
    return rows[len(messages) - _count(messages, limits.budget, limits.preserved) :]


def _count(rows: Sequence[Stored], budget: int, fewest: int) -> int:
    return fitting(map(tokens_in_practice, reversed(rows)), budget, fewest)
