"""Applies Hector's windows to messages: from messages to rows, and back."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.sessions.context.practice import (
    BUDGET,
    PRESERVED,
    TARGET,
    Generation,
    Limits,
    checkpoints_in_practice,
    load_state_in_practice,
)
from hermes_tui.sessions.context.stored import (
    WINDOW,
    NativeRole,
    Stored,
    find_checkpoint_as_written,
    load_state_as_written,
)
from hermes_tui.sessions.context.windows import WindowChoice
from session_adapters.model import Message

__all__ = ["hector_seen", "rows_of"]

_EMPTY = "Hector 1.x really starts with an empty history here: its limited query is no valid SQL"
_UNKNOWN = "Hector 1.x has no token_window; counted as 2.x would"


def rows_of(messages: Sequence[Message]) -> list[tuple[Stored, list[int]]]:
    """Each row with the places of its messages: one that carries results or errors shows as several, with ids that
    end in `.1`, `.2` and so on."""
    found: list[tuple[Stored, list[int]]] = []
    for index, message in enumerate(messages):
        if found and message.id == f"{found[-1][0].message_id}.{len(found[-1][1])}":
            found[-1][1].append(index)
        else:
            found.append((_stored(message), [index]))
    return found


def _stored(message: Message) -> Stored:
    role: NativeRole = "ROLE_AGENT"
    if message.role == "user":
        role = "ROLE_USER"
    elif message.role == "system":
        role = "ROLE_UNSPECIFIED"
    author = {"user": "user", "system": "system"}.get(message.role, "assistant")
    return Stored(message.id, role, message.content, author, message.kind != "notice")


def hector_seen(messages: Sequence[Message], choice: WindowChoice) -> tuple[list[bool], list[int], str]:
    """For each message whether it is loaded; the places of checkpoints as this generation finds them; what has to be
    known besides."""
    rows = rows_of(messages)
    stored = [row for row, _ in rows]
    loaded, checkpoints, note = _loaded(stored, choice)
    seen = [False] * len(messages)
    kept = {id(row) for row in loaded}
    for row, places in rows:
        for place in places:
            seen[place] = id(row) in kept
    return seen, [rows[index][1][0] for index in checkpoints], note


def _loaded(rows: Sequence[Stored], choice: WindowChoice) -> tuple[Sequence[Stored], list[int], str]:
    strategy = choice.strategy or ""
    size = choice.size or WINDOW
    limits = Limits(size, choice.tokens or BUDGET, choice.target or TARGET, PRESERVED)
    generation: Generation = "v2" if choice.generation == "v2" else "v1"
    if choice.generation == "doc":
        checkpoints = _all_as_written(rows)
        if strategy != "token_window":
            return load_state_as_written(rows, strategy or "summary_buffer", size), checkpoints, ""
    else:
        checkpoints = checkpoints_in_practice(rows, generation)
    if generation == "v1" and strategy == "buffer_window":
        # What is documented is shown, because that is what somebody who chose it expects, and said besides.
        return load_state_as_written(rows, strategy, size), checkpoints, _EMPTY
    if generation == "v1" and strategy == "token_window":
        return load_state_in_practice(rows, strategy, "v2", limits), checkpoints, _UNKNOWN
    return load_state_in_practice(rows, strategy, generation, limits), checkpoints, ""


def _all_as_written(rows: Sequence[Stored]) -> list[int]:
    return [index for index, row in enumerate(rows) if find_checkpoint_as_written((row,)) is not None]
