"""What a gateway does about its lanes when it starts and stops.

Format: spec 002 section 7.

After a clean shutdown nothing; after anything else the lanes that were active just before count as interrupted, so
that their conversations go on. One that was busy in three restarts in a row is suspended instead: whatever it does
there probably is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.policy import FRESHNESS
from hermes_tui.lifecycle.store import SessionStore
from hermes_tui.platform.atomic_write import replacing
from session_adapters.reading.files import read_small

__all__ = [
    "AUTO_RESUME_REASONS",
    "STUCK_AFTER",
    "GatewayStart",
    "auto_resumable",
    "clear_restart_count",
    "count_busy",
    "mark_clean_shutdown",
    "recover",
    "restart_counts",
]

CLEAN_SHUTDOWN = ".clean_shutdown"
"""Empty; left when a drain ended in time, taken away by the next start."""
COUNTS = (".restart_failure_counts", "restart_counts.json")
"""The program's name of the file, and the document's. Session key → restarts in a row with the lane busy."""
STUCK_AFTER = 3
RECENT = 120.0
"""Seconds."""
AUTO_RESUME_REASONS = ("restart_timeout", "shutdown_timeout", "restart_interrupted")


class GatewayStart(msgspec.Struct, frozen=True, kw_only=True):
    """What the start did."""

    clean: bool
    """The shutdown before it was clean."""
    marked: int = 0
    """Lanes that count as interrupted now."""
    suspended: tuple[str, ...] = ()
    """Keys of lanes that were stuck."""
    problem: str = ""
    """Why the counts could not be read; they are left where they are then."""


def recover(home: Path, store: SessionStore, *, was_cut: Callable[[str], bool] | None = None) -> GatewayStart:
    """The first thing that a starting gateway does with its lanes. Counts stay until their lane is suspended, or has
    a turn that ends: Hermes 0.19 drops them at every start, and so never counts to three. `was_cut` says of
    a session whether its last turn was: after a crash such lanes are counted, and the others lose the mark that all
    get which were active; None: all keep it, and who goes down counts, as Hermes. Raises `StoreError`, `OSError`."""
    marker = home / CLEAN_SHUTDOWN
    clean = marker.exists()
    if clean:
        marker.unlink()  # at once: a gateway that is killed from now on has not ended cleanly
    marked = 0 if clean else store.suspend_recently_active(RECENT)
    known = {entry.session_key: entry for entry in store.list_sessions()}
    counts, problem = restart_counts(home)
    if was_cut is not None and not clean:
        pending = [entry for entry in known.values() if entry.resume_pending]
        cut = {entry.session_key for entry in pending if was_cut(entry.session_id)}
        for entry in pending:
            if entry.session_key not in cut and entry.resume_reason == "restart_interrupted":
                marked -= store.clear_resume_pending(entry.session_key)
        # A file of counts that cannot be read is left where it is.
        counts = counts if problem else count_busy(home, cut)
    stuck = [key for key, number in counts.items() if number >= STUCK_AFTER and key in known]
    stuck = [key for key in stuck if not known[key].suspended]
    for key in stuck:
        store.suspend_session(key)
    if stuck:
        _keep_counts(home, {key: number for key, number in counts.items() if key not in stuck})
    return GatewayStart(clean=clean, marked=marked, suspended=tuple(stuck), problem=problem)


def count_busy(home: Path, busy: Iterable[str]) -> dict[str, int]:
    """When a gateway goes down with these lanes busy: one more for each. A lane that is not busy has broken the
    loop and starts from nothing. Returns the counts. Raises `OSError`."""
    before, _ = restart_counts(home)
    counts = {key: before.get(key, 0) + 1 for key in busy}
    _keep_counts(home, counts)
    return counts


def clear_restart_count(home: Path, session_key: str) -> None:
    """A turn of the lane has ended well: it has broken the loop. Raises `OSError`."""
    counts, _ = restart_counts(home)
    if counts.pop(session_key, None) is not None:
        _keep_counts(home, counts)


def _keep_counts(home: Path, counts: Mapping[str, int]) -> None:
    """Under the program's name, and no longer under the document's; no file where there is none."""
    if counts:
        with replacing(home / COUNTS[0]) as file:
            file.write(msgspec.json.encode(counts))
    for name in COUNTS[bool(counts) :]:
        (home / name).unlink(missing_ok=True)


def mark_clean_shutdown(home: Path) -> None:
    """When every turn ended in time. Raises `OSError`."""
    (home / CLEAN_SHUTDOWN).touch()


def restart_counts(home: Path) -> tuple[dict[str, int], str]:
    """The counts of the guard against loops, and what is wrong with the file. Raises nothing."""
    for name in COUNTS:
        try:
            return msgspec.json.decode(read_small(home / name, 1 << 20), type=dict[str, int]), ""
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return {}, f"{home / name}: {error.strerror or error}"
        except ValueError as error:
            return {}, f"{home / name}: {error}"
    return {}, ""


def auto_resumable(entry: SessionEntry, now: datetime, freshness: float = FRESHNESS) -> bool:
    """Whether a starting gateway goes on with the lane by itself: marked, for a reason of a restart, and not too
    long ago. `now` is local, without a zone; `freshness` in seconds, 0 or less for ever."""
    if not entry.resume_pending or entry.suspended or entry.resume_reason not in AUTO_RESUME_REASONS:
        return False
    marked = entry.last_resume_marked_at or entry.updated_at
    return freshness <= 0 or (now - marked).total_seconds() <= freshness
