"""Which places are watched, and whose they are."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from hermes_tui.sessions.catalogue.snapshot import Snapshot

__all__ = ["agents_at", "directories"]


def directories(snapshot: Snapshot) -> tuple[Path, ...]:
    """The existing places, each once, without those inside others. A server is no place in the file system."""
    roots = (root for place in snapshot.places for root in place.roots)
    found: set[Path] = set()
    for root in roots:
        with suppress(OSError):  # its parent may not be entered any more
            if root.exists and root.path.exists():
                found.add(root.path)
    return tuple(path for path in sorted(found) if not any(other in path.parents for other in found))


def agents_at(paths: Collection[str], snapshot: Snapshot) -> Collection[str] | None:
    """Those that have places where `paths` lie; None where it is nobody's place, so that anybody may be meant."""
    roots = [(f"{root.path}/", place.agent) for place in snapshot.places for root in place.roots]
    found: set[str] = set()
    for path in paths:
        owners = {agent for root, agent in roots if f"{path}/".startswith(root)}
        if not owners:
            return None
        found |= owners
    return found
