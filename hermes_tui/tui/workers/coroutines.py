"""Coroutines beside the keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce

__all__ = ["run_beside"]


class _Owner(Protocol):
    """A widget, a screen or the program: with it, what it runs is over."""

    def run_worker(self, work: Callable[[], object], *, group: str, exclusive: bool = False) -> object:
        """Textual's."""


def run_beside(
    owner: _Owner, work: Callable[[], Awaitable[object]], group: str = "default", *, exclusive: bool = False
) -> None:
    """Run a coroutine function; an exclusive one ends the others of its group.

    A coroutine that was made already would never be awaited where its owner ends before it has begun. For a screen
    that was left nothing begins any more: what was submitted on it may come later than the key that left it.
    """
    if isinstance(owner, DismissOnce) and owner.is_left:
        return
    owner.run_worker(work, group=group, exclusive=exclusive)
