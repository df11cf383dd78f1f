"""The outline of a session: what was asked, which files were changed, what failed."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from hermes_tui.display import compact
from hermes_tui.sessions.calls.arguments import target
from hermes_tui.sessions.calls.edits import edits, is_untold_edit
from hermes_tui.sessions.landmarks import calls_of, is_landmark
from session_adapters.growing.columns import InColumns
from session_adapters.growing.ids import Ids
from session_adapters.model import Message
from session_adapters.times import from_epoch

__all__ = ["Outline", "OutlineEntry", "outline"]

_LONGEST = 160
_Kind = Literal["prompt", "file", "error"]
_KINDS: Sequence[_Kind] = get_args(_Kind)


class OutlineEntry(NamedTuple):
    """A place in a session."""

    message_id: str
    call: int | None
    """Which of the message's calls it is; None for the message itself."""
    kind: _Kind
    time: datetime | None
    text: str
    """One line, safe for a terminal."""


class Outline(InColumns[OutlineEntry]):
    """The places of a session that is read part by part. In columns: a long one has many thousands, and as objects
    they would be made and let go of each time that somebody looks at them."""

    def __init__(self) -> None:
        self._ids, self._texts = Ids(), Ids()
        self._calls = array("q")
        """-1 for None."""
        self._kinds = bytearray()
        self._times = array("d")
        """NaN for None."""

    def take(self, messages: Iterable[Message]) -> None:
        """Put the places in these messages behind those there are."""
        for one in outline(messages):
            self._ids.append(one.message_id)
            self._texts.append(one.text)
            self._calls.append(-1 if one.call is None else one.call)
            self._kinds.append(_KINDS.index(one.kind))
            self._times.append(math.nan if one.time is None else one.time.timestamp())

    def __len__(self) -> int:
        return len(self._times)

    def row(self, at: int) -> OutlineEntry:
        """See `InColumns.row`."""
        call, time = self._calls[at], self._times[at]
        return OutlineEntry(
            self._ids[at],
            None if call < 0 else call,
            _KINDS[self._kinds[at]],
            None if math.isnan(time) else from_epoch(time),
            self._texts[at],
        )


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
