"""Applies Hector's windows to messages: from messages to rows, and back."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.memory.message import AUTHORS, HectorMessage, NativeRole
from hermes_tui.memory.session_service import InMemorySessionService
from hermes_tui.memory.working.habits import HABITS
from hermes_tui.memory.working.strategies import StrategySettings, strategy_of
from hermes_tui.sessions.context.window_choice import WindowChoice
from session_adapters.model import Message

__all__ = ["hector_seen", "rows_of"]

_EMPTY = "Hector 1.x really starts with an empty history here: its limited query is no valid SQL"
_UNKNOWN = "Hector 1.x has no token_window; counted as 2.x would"


_SESSION = "session"


def rows_of(messages: Sequence[Message]) -> list[tuple[HectorMessage, list[int]]]:
    """Each row with the places of its messages: one that carries results or errors shows as several, with ids that
    end in `.1`, `.2` and so on."""
    found: list[tuple[HectorMessage, list[int]]] = []
    for index, message in enumerate(messages):
        if found and message.id == f"{found[-1][0].message_id}.{len(found[-1][1])}":
            found[-1][1].append(index)
            continue
        role: NativeRole = "ROLE_AGENT"
        if message.role == "user":
            role = "ROLE_USER"
        elif message.role == "system":
            role = "ROLE_UNSPECIFIED"
        row = HectorMessage(
            role=role,
            text=message.content,
            message_id=message.id,
            author=AUTHORS[role],
            has_message=message.kind != "notice",
            kept_from=message.kept_from,
        )
        found.append((row, [index]))
    return found


def hector_seen(messages: Sequence[Message], choice: WindowChoice) -> tuple[list[bool], list[int], str]:
    """For each message whether it is loaded; the places of checkpoints as this generation finds them; what has to be
    known besides."""
    rows = rows_of(messages)
    stored = [row for row, _ in rows]
    generation, note = choice.generation, ""
    name = choice.strategy or ("" if generation == "v2" else "summary_buffer")
    if generation in ("v0", "v1") and name == "buffer_window":
        # What is documented is shown, because that is what somebody who chose it expects, and said besides.
        note = _EMPTY
    elif generation in ("v0", "v1", "doc") and name == "token_window":
        note = _UNKNOWN
    settings = StrategySettings(strategy=name, window_size=choice.size, budget=choice.tokens, target=choice.target)
    service = InMemorySessionService("", {_SESSION: stored})
    loaded = strategy_of(settings, None, generation).load_state(_SESSION, service)
    checkpoints = [places[0] for row, places in rows if HABITS[generation].is_summary(row)]
    seen = [False] * len(messages)
    kept = {id(row) for row in loaded.messages}
    for row, places in rows:
        for place in places:
            seen[place] = id(row) in kept
    return seen, checkpoints, note
