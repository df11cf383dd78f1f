"""Is a Hermes gateway alive? Found out without touching anything it owns.

A gateway holds an exclusive flock on `<home>/gateway.lock` for as long as it lives; the kernel frees it even after
SIGKILL, while its pid and state files stay behind. The lock is looked up in `/proc` and never taken: a gateway that
is just starting exits when somebody else holds it for an instant (facts on Hermes, section 4.1).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from session_adapters.model import JsonRecord
from session_adapters.proc import booted_at, file_locks, has_flock, is_nested, start_ticks, started_at
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import is_new
from session_adapters.times import from_epoch

__all__ = ["Gateway", "file_faults", "gateway_for", "gateway_of"]


class Gateway(JsonRecord, frozen=True):
    """What is known of the gateway of one Hermes home (the default profile's or another's)."""

    home: str
    state: Literal["running", "stopped", "unknown"]
    pid: int | None = None
    since: datetime | None = None
    """When the process started."""
    reason: str = ""
    """Why the state is unknown."""
    phase: str = ""
    """What a running gateway says of itself: starting, running, draining, stopping; halted where its process is
    stopped by a signal, and says nothing."""
    active_agents: int | None = None
    """Turns in progress over all lanes, as it last wrote it down."""
    said_at: datetime | None = None
    """When it wrote that down."""
    queued: Mapping[str, int] | None = None
    """Messages that wait behind a lane's turn, by its key, as it last wrote it down; None: it keeps them in memory
    alone, as Hermes does. `GatewayRunner` writes it where it is told to."""
    serves: tuple[str, ...] = ()
    """Other profiles that it serves from this home."""

    @property
    def draining(self) -> bool:
        """It takes no new turns."""
        return self.phase in ("draining", "stopping")


class _PidRecord(msgspec.Struct):
    """The body of `gateway.pid` and `gateway.lock`."""

    pid: int
    start_time: Any = None
    """As `start_ticks`, where it is that: nothing else of the record hangs on it."""


class _StateRecord(msgspec.Struct):
    """The body of `gateway_state.json`; it stays behind when the gateway is gone."""

    pid: int | None = None
    gateway_state: str = ""
    active_agents: int | None = None
    updated_at: datetime | None = None
    served_profiles: list[str] | None = None
    queued: Any = None
    """A field of ours: no other value of it may spoil the rest."""


_FILES: Mapping[str, Any] = {
    "gateway_state.json": _StateRecord,
    **dict.fromkeys(("gateway.pid", "gateway.lock"), _PidRecord | int),
}
"""Name → what is in it; old versions write the bare number of the process."""


def gateway_of(home: Path, proc: Path = Path("/proc")) -> Gateway:
    """The gateway that serves the Hermes home `home`; `proc` is where the process table is mounted."""
    lock = home / "gateway.lock"
    try:
        status = lock.stat()
    except FileNotFoundError:
        return _without_lock(home, proc)
    except OSError as error:
        return Gateway(home=str(home), state="unknown", reason=f"cannot look at {lock}: {error.strerror}")
    named = _named_pid(home)
    try:
        holder = _holder(lock, status, named, proc)
    except OSError as error:
        reason = f"this system does not list its file locks in {proc / 'locks'} ({error.strerror})"
        return Gateway(home=str(home), state="unknown", reason=reason)
    if holder is None:
        return _without_lock(home, proc)
    pid = holder if holder > 0 else named  # 0: a process of another pid namespace
    # What it wrote of itself; nothing where the file is another process's or cannot be read.
    try:
        said = msgspec.json.decode(read_small(home / "gateway_state.json", limit=1 << 20), type=_StateRecord)
    except (OSError, ValueError, RecursionError):  # the lock tells that it runs; the file only says more of it
        said = _StateRecord()
    if said.pid != pid:
        said = _StateRecord()
    began = started_at(proc, holder)
    queued: dict[str, int] | None = None
    if isinstance(said.queued, dict):
        # A field of ours in a file of Hermes': what is no number of messages is left out, and a bool is none.
        found = said.queued.items()
        queued = {key: number for key, number in found if isinstance(key, str) and type(number) is int}
    return Gateway(
        home=str(home),
        state="running",
        pid=pid,
        since=from_epoch(began) if began is not None else None,
        phase="halted" if _is_halted(proc, holder) else said.gateway_state,
        active_agents=said.active_agents,
        said_at=said.updated_at if said.updated_at is not None and said.updated_at.tzinfo else None,
        queued=queued,
        serves=tuple(said.served_profiles or ()),
    )


def _holder(lock: Path, status: os.stat_result, named: int | None, proc: Path) -> int | None:
    """The process that holds the lock, 0: one of another pid namespace, None: nobody. Raises `OSError`."""
    if named is not None and has_flock(proc, named, lock, status.st_ino):
        return named
    device = (os.major(status.st_dev), os.minor(status.st_dev))
    for one in file_locks(proc):
        if (one.kind, one.access, one.inode) != ("FLOCK", "WRITE", status.st_ino):
            continue
        # Overlay and btrfs show another device number there than `stat` gives: the pid then tells.
        if one.device == device or (one.pid > 0 and one.pid == named):
            return one.pid
    return None


def _without_lock(home: Path, proc: Path) -> Gateway:
    """Of a home whose lock is not seen to be held. Stopped, unless a gateway may run all the same: one that ends in
    order takes its pid file away."""
    path = home / "gateway.pid"
    record, reason = _record_in(path), ""
    if record is not None and record.start_time is not None and record.start_time == start_ticks(proc, record.pid):
        reason = f"process {record.pid} of {path} is alive, and its gateway.lock was taken away; restart the gateway"
    elif is_nested(proc) and _was_written_since(booted_at(proc), path):
        # What is left of one that was killed looks the same in a container as what one beside it has.
        reason = (
            f"locks held outside of this container are not listed in it, and there is a {path}; look from where the"
            " gateway runs, or, if none does, move that file away"
        )
    return Gateway(home=str(home), state="unknown" if reason else "stopped", reason=reason)


def _was_written_since(boot: int | None, path: Path) -> bool:
    try:
        return path.stat().st_mtime >= (boot or 0)
    except OSError:
        return False


def gateway_for(home: Path, profile: str, root: Path | None, proc: Path = Path("/proc")) -> Gateway:
    """The gateway that the lanes in `home` belong to: its own, else the one at `root` (the default profile's home)
    where that serves this profile too."""
    own = gateway_of(home, proc)
    if own.state != "stopped" or root is None:
        return own
    shared = gateway_of(root, proc)
    return shared if shared.state == "unknown" or profile in shared.serves else own


def file_faults(home: Path) -> Iterator[str]:
    """What is wrong with the files that a gateway leaves of itself: a sentence each, without a full stop."""
    for name, kind in _FILES.items():
        path = home / name
        try:
            data = read_small(path, limit=1 << 20)
            if data.strip() or name != "gateway.lock":  # its lock counts, and an old version writes nothing into it
                msgspec.json.decode(data, type=kind)
            continue
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
        except (ValueError, RecursionError):
            if is_new(path):
                continue  # it may be being written: the next look tells
            reason = "it is damaged"
        # Beside a gateway whose lock was moved away another one would start on the same store.
        advice = (
            "stop the gateway, move it away and start the gateway again, which writes it anew"
            if os.access(path, os.R_OK)
            else "this user may not read it, so run this as the one whose it is"
        )
        yield f"{path}: {reason}, so what a running gateway says of itself is not known; {advice}"


def _named_pid(home: Path) -> int | None:
    """The pid that the gateway wrote down, in its pid file or else in the lock file."""
    record = _record_in(home / "gateway.pid") or _record_in(home / "gateway.lock")
    return None if record is None else record.pid


def _record_in(path: Path) -> _PidRecord | None:
    """None also where an old version wrote another thing, or the file is just being written."""
    try:
        return msgspec.json.decode(read_small(path, limit=65536), type=_PidRecord)
    except (OSError, ValueError, RecursionError):
        return None


def _is_halted(proc: Path, pid: int) -> bool:
    """By SIGSTOP or a debugger: it lives, holds its lock and does nothing."""
    try:
        # Field 3; the name before it may hold anything. Of both cases of T one means a debugger.
        return (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):  # it ended since, and holds nothing any more
        return False
