"""An OpenCode conversation opened for reading: newest units first."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from session_adapters.activity import Activity
from session_adapters.opencode.units import OpenCodeStore, OpenCodeUnit
from session_adapters.reading.files import open_file, read_at
from session_adapters.reading.units import PAGE_UNITS, UnitTranscript
from session_adapters.times import from_iso

__all__ = ["PAGE_UNITS", "OpenCodeTranscript"]


class OpenCodeTranscript(UnitTranscript[OpenCodeUnit]):
    """The units of one session; OpenCode writes them again while an answer comes in."""

    def __init__(self, shelf: OpenCodeStore, session_id: str, *, page: int = PAGE_UNITS, last: int = 0) -> None:
        super().__init__("opencode", shelf, session_id, page=page, last=last)

    @property
    def activity(self) -> Activity:
        """See `Transcript.activity`."""
        return with_asking(super().activity, self.path, self.session_id)


# Waiting for leave ------------------------------------------------------------------------------------------


_TAIL = 128 << 10
_SLACK = 1.0
"""Seconds by which a log may be behind the row of its call."""
_ASKING = re.compile(rb"^timestamp=(\S+) (.*)message=asking id=per_\S* permission=(\S+)", re.MULTILINE)
_RUN = re.compile(rb"\brun=(\S+)")
"""Which process wrote a line."""
_LEAVE: Mapping[str, Collection[str]] = {"edit": ("write", "edit", "multiedit", "patch", "apply_patch")}
"""What is asked for by another name than the tool's: by which tools."""
_ANY_TOOL = ("external_directory", "doom_loop")
"""What any tool may ask for."""


def with_asking(activity: Activity, database: str, session_id: str) -> Activity:
    """The activity, as `approval` where the log says that its call waits for leave."""
    if activity.step != "working" or not activity.tool or activity.since is None:
        return activity
    tail = _newest_tail(Path(database).parent / "log")
    asked = list(_ASKING.finditer(tail))
    if not asked:
        return activity
    last = asked[-1]
    when = from_iso(last[1].decode("ascii", "replace"))
    if when is None or (activity.since - when).total_seconds() > _SLACK:
        return activity
    leave, tools = last[3].decode("utf-8", "replace"), activity.tools or (activity.tool,)
    is_of_tool = leave in _ANY_TOOL or not {leave, *_LEAVE.get(leave, ())}.isdisjoint(tools)
    # What a helper asks for its `task`, which has begun, waits for, too.
    is_own = "task" in tools or (is_of_tool and not activity.begun)
    loops = list(re.finditer(rb"^.*message=loop session\.id=" + re.escape(session_id.encode()), tail, re.MULTILINE))
    has_gone_on = any(loop.start() > last.end() for loop in loops)
    if not is_own or has_gone_on or (loops and _RUN.findall(loops[-1][0]) != _RUN.findall(last[2])):
        return activity
    return replace(activity, step="approval", since=when, record="its log says that it asks for leave")


def _newest_tail(folder: Path) -> bytes:
    """The end of the log that was written last; nothing where there is none that can be read."""
    try:
        logs = [entry for entry in os.scandir(folder) if entry.name.endswith(".log") and entry.is_file()]
        newest = max(logs, key=lambda entry: entry.stat().st_mtime_ns, default=None)
        if newest is None:
            return b""
        with open_file(newest.path) as fd:
            size = os.fstat(fd).st_size
            return read_at(fd, max(0, size - _TAIL), min(size, _TAIL))
    except OSError:
        return b""
