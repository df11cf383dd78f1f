"""The worker that keeps the search index up to date, and reports progress.

It looks once a second while an index is being made, else seldom, and when nothing is left to be done it sleeps until
sessions change.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_tui.platform.background import Worker

if TYPE_CHECKING:
    from hermes_tui.sessions.index.service import IndexService, Progress

__all__ = ["LET_GO_AFTER", "PAUSE", "IndexWatch", "progress_words"]

PAUSE = 1.0
"""Seconds between two looks at how far the index is."""
LET_GO_AFTER = 15.0
"""Seconds after which the pages of the index that were read are let go of, while it is written to."""


class IndexWatch:
    """`told` is called in the thread with what the header is to say; empty once there is nothing to be said."""

    def __init__(self, service: Callable[[], IndexService], told: Callable[[str], None]) -> None:
        self._service = service
        self._told = told
        self._worker = Worker[None]("index watch", self._serve)
        self._said = ""
        self._rested = time.monotonic()

    def look(self) -> None:
        """Sessions have changed. The first time the thread begins."""
        self._worker.ask(None)
        self._worker.start()

    def stop(self) -> None:
        """End, and let the indexer end."""
        self._worker.stop()
        if self._worker.is_started:
            self._service().close()

    def _serve(self, request: None) -> float | None:
        service = self._service()
        again = service.poke()
        if time.monotonic() - self._rested >= LET_GO_AFTER:
            service.index.rest()
            self._rested = time.monotonic()
        words = progress_words(service.progress())
        if words != self._said:
            self._said = words
            self._told(words)
        return PAUSE if words else again


def progress_words(progress: Progress) -> str:
    """`indexing 43 %` while what was said is not all in the index, `indexing tools 43 %` until the rest is."""
    if not progress.running or progress.state not in ("absent", "partial"):
        return ""
    if progress.sources <= 0:
        return "indexing"
    prose = progress.prose + progress.failed
    if prose < progress.sources:
        return f"indexing {100 * prose // progress.sources} %"
    return f"indexing tools {100 * (progress.everything + progress.failed) // progress.sources} %"
