"""The outline of a session: what was asked, which files were changed, what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from hermes_tui.display import compact
from hermes_tui.sessions.calls.arguments import target
from hermes_tui.sessions.calls.edits import edits, is_untold_edit
from hermes_tui.sessions.landmarks import calls_of, is_landmark
from session_adapters.model import Message

__all__ = ["OutlineEntry", "outline"]

_LONGEST = 160


class OutlineEntry(NamedTuple):
    """A place in a session."""

    message_id: str
    call: int | None
    """Which of the message's calls it is; None for the message itself."""
    kind: Literal["prompt", "file", "error"]
    time: datetime | None
    text: str
    """One line, safe for a terminal."""


def outline(messages: Iterable[Message]) -> Iterator[OutlineEntry]:
    """The places in these messages, in their order; a call that failed is no change of a file."""
    for one in messages:
        if one.is_prompt:
            yield OutlineEntry(one.id, None, "prompt", one.timestamp, compact(one.content, _LONGEST))
        if is_landmark(one, "error"):
            text = one.content or (one.tool_result.tool_name if one.tool_result is not None else "")
            yield OutlineEntry(one.id, None, "error", one.timestamp, compact(text, _LONGEST))
        failed = calls_of(one, "error")
        for at, call in enumerate(one.tool_calls):
            if at in failed:
                said = compact(f"{call.tool_name} {target(call)}", _LONGEST)
                yield OutlineEntry(one.id, at, "error", one.timestamp, said)
                continue
            change = edits(call)
            if change is not None or is_untold_edit(call):
                paths = ", ".join(file.path for file in change.files) if change is not None else ""
                if said := compact(paths or target(call), _LONGEST):
                    yield OutlineEntry(one.id, at, "file", one.timestamp, said)
