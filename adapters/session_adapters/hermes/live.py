"""Which sessions of Hermes a chat surface has open now, by Hermes' own list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_adapters.base import Liveness
from session_adapters.proc import start_ticks
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import is_new

__all__ = ["chat_list", "open_in_chats"]


class _ChatSurface(msgspec.Struct, frozen=True):
    """An entry of `runtime/active_sessions.json`: a chat that a process has open."""

    session_id: str = ""
    pid: int = 0
    process_start_time: float | None = None
    """Field 22 of `/proc/PID/stat`: clock ticks since boot."""


class _ActiveSessions(msgspec.Struct, frozen=True):
    entries: list[Any] = []


def open_in_chats(homes: Iterable[Path], proc: Path) -> Mapping[str, Liveness]:
    """Sessions that a chat surface has open. Hermes only keeps the list where `max_concurrent_sessions` is
    configured. An entry counts when its process still runs and began when the entry says, so that a reused pid is
    not taken for it."""
    found: dict[str, Liveness] = {}
    for home in homes:
        for entry in chat_list(home, lambda path, reason: None):
            try:
                surface = msgspec.convert(entry, _ChatSurface, strict=False)
            except msgspec.MsgspecError:  # no entry of a kind that is known: the list is a hint
                continue
            pid, began = surface.pid, surface.process_start_time
            if not surface.session_id or pid <= 0 or began is None:
                continue
            if start_ticks(proc, pid) == int(began):
                found[surface.session_id] = Liveness(pid=pid)
    return found


def chat_list(home: Path, report: Callable[[Path, str], None]) -> Sequence[Any]:
    """The entries as they stand in the file; `report` is told why they cannot be read."""
    path = home / "runtime" / "active_sessions.json"
    try:
        return msgspec.json.decode(read_small(path), type=_ActiveSessions, strict=False).entries
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
    except (ValueError, RecursionError):
        if is_new(path):
            return ()  # it may be being written: the next look tells
        reason = "it is damaged"
    report(path, f"{reason}; which sessions are open in a chat is not known")
    return ()
