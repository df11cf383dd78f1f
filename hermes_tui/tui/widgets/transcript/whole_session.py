"""Reads all of the session that a pane shows, part by part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.open_transcript import EarlierUnreadable, TranscriptHost
from session_adapters.model import Message

__all__ = ["WholeSession"]


class WholeSession:
    """What is not loaded is read in threads and not kept, where its agent's store allows that; else it is loaded."""

    def __init__(self, pane: TranscriptHost, arrived: Callable[[int], None]) -> None:
        """`arrived` is told how many messages came in front of those in the view."""
        self._pane = pane
        self._arrived = arrived

    async def parts(self) -> AsyncIterator[tuple[float, Sequence[Message]]]:
        """Messages from the first on, each time with the part of the session that was read. Ends early where another
        session is shown."""
        opened = self._pane.opened
        if opened.branches:
            async for some in opened.every_branch():
                yield some
                del some  # before the next are read
                if opened is not self._pane.opened:
                    break
            return
        if opened.transcript is None or (opened.view.complete and not opened.is_cut):
            yield 1.0, opened.messages
            return
        stream = opened.transcript.stream()
        while stream is not None and (read := await in_thread(next, stream, None)) is not None:
            yield read
            del read  # before the next is read
        part = await opened.look_beside(0) if stream is None else None
        if stream is None and part is None:
            # Its store gives no parts: what is above is loaded.
            while not opened.view.complete and not opened.stuck:
                try:
                    added = await opened.read_earlier()
                except EarlierUnreadable:  # noted as `stuck`; what is loaded can be used
                    break
                if opened is not self._pane.opened:
                    return
                self._arrived(added)
                self._pane.settle()
            yield 1.0, opened.messages
        while part is not None and opened is self._pane.opened:
            yield part.begins, part.messages
            part.let_go()
            part = await opened.look_beside(1, part)
