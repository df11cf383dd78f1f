"""Reads all of the session that a pane shows, part by part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.open_transcript import EarlierUnreadable, TranscriptHost
from session_adapters.model import Message

__all__ = ["WholeSession"]


class WholeSession:
    """What is not loaded is read in threads and not kept, where its agent's files allow that; else it is loaded."""

    def __init__(self, pane: TranscriptHost, arrived: Callable[[int], None]) -> None:
        """`arrived` is told how many messages came in front of those in the view."""
        self._pane = pane
        self._arrived = arrived

    async def parts(self) -> AsyncIterator[tuple[float, Sequence[Message]]]:
        """Messages from the first on, each time with the part of the session that was read. Ends early where another
        session is shown."""
        pane, opened = self._pane, self._pane.opened
        if opened.branches:
            yield 1.0, await opened.every_branch()
            return
        stream = opened.transcript.stream() if opened.transcript is not None and not opened.view.complete else None
        while stream is not None and (part := await in_thread(next, stream, None)) is not None:
            yield part
        while stream is None and not opened.view.complete and not opened.stuck:
            try:
                added = await opened.read_earlier()
            except EarlierUnreadable:
                break
            if opened is not pane.opened:
                return
            self._arrived(added)
            pane.settle()
        if stream is None:
            yield 1.0, opened.messages
