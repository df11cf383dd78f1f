"""The worker that opens the selected session, and notices when it grows.

The thread opens and stats; everything else that is done with a transcript happens in the screen's thread, so that
no two threads ever work on the same one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Worker
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript

__all__ = ["REMOTE_PAUSE", "RESTING_PAUSE", "RESTS", "OpenedSession", "SessionReader"]

_Nothing = Literal["nothing"]
_PAUSE = 1.0
"""Seconds between two looks at the open session while it grows."""
RESTS = 60.0
"""Seconds after which one that does not grow is at rest."""
RESTING_PAUSE = 5.0
"""Seconds between two looks at one that rests, unless another is asked for."""
REMOTE_PAUSE = 5.0
"""The same where a server has to be asked."""


class OpenedSession(NamedTuple):
    """What came of a request."""

    summary: SessionSummary
    transcript: Transcript | None = None
    """None when it could not be opened."""
    reason: str = ""
    """Then why: one sentence."""


class SessionReader:
    """`opened` and `grown` are called in the thread: the first with what came of the latest request, the second
    with the open transcript when its file has changed, or now and then where a server has it."""

    def __init__(
        self,
        open_session: Callable[[str, str], Transcript],
        opened: Callable[[OpenedSession], None],
        grown: Callable[[Transcript], None],
        prepare: Callable[[], object] = int,
    ) -> None:
        """`prepare` is called first: what is done then, nobody has to wait for when a session is opened."""
        self._prepare = prepare
        self._open_session = open_session
        self._opened = opened
        self._grown = grown
        self._worker = Worker[SessionSummary | Transcript | _Nothing]("reader", self._serve, first=0.0)
        self._is_ready = False
        # The thread's own: what it watches, and how that looked when it was last seen.
        self._transcript: Transcript | None = None
        self._stamp: tuple[object, ...] = ()
        self._grew = 0.0
        """When it was opened or had last changed."""

    def start(self) -> None:
        """Begin to serve requests, if that was not done yet."""
        self._worker.start()

    def request(self, summary: SessionSummary) -> None:
        """Open this session. A request that was not served yet is forgotten."""
        self._worker.ask(summary)

    def watch(self, transcript: Transcript) -> None:
        """Watch one that was opened before; nothing else is opened."""
        self._worker.ask(transcript)

    def look_now(self) -> None:
        """Look without waiting for its turn whether the watched session has grown."""
        self._worker.wake()

    def forget(self) -> None:
        """Watch nothing any more."""
        self._worker.ask("nothing")

    def stop(self) -> None:
        """End, without waiting for a read that is under way."""
        self._worker.stop()

    def _serve(self, request: SessionSummary | Transcript | _Nothing | None) -> float | None:
        if not self._is_ready:
            self._is_ready = True
            self._prepare()
        if isinstance(request, SessionSummary):
            # Watched from now on is what was asked for; until it is open, nothing.
            self._transcript, self._stamp = None, ()
            # Before it is read: what is written meanwhile is noticed at the next look.
            stamp = _stamp(request.path)
            try:
                transcript = self._open_session(request.agent, request.session_id)
            except HermesTuiError as error:
                self._opened(OpenedSession(request, reason=str(error)))
            except Exception as error:
                # A bug of one adapter must not leave the screen waiting for ever.
                reason = f"it could not be opened ({type(error).__name__}: {error})"
                self._opened(OpenedSession(request, reason=reason))
            else:
                if not self._worker.is_superseded:
                    self._transcript, self._grew = transcript, time.monotonic()
                    self._stamp = stamp if request.path == transcript.path else _stamp(transcript.path)
                    self._opened(OpenedSession(request, transcript))
        else:
            if request is not None:
                self._transcript = request if isinstance(request, Transcript) else None
            if (shown := self._transcript) is not None:
                # Told of if it has changed, or may have.
                before, self._stamp = self._stamp, () if shown.is_remote else _stamp(shown.path)
                if self._stamp != before:
                    self._grew = time.monotonic()
                if shown.is_remote or self._stamp != before:
                    self._grown(shown)
        if self._transcript is None:
            return None
        if self._transcript.is_remote:
            return REMOTE_PAUSE
        return _PAUSE if time.monotonic() - self._grew < RESTS else RESTING_PAUSE


def _stamp(path: str) -> tuple[object, ...]:
    """Changes when the file, or the write-ahead log beside it, does."""
    found: list[object] = []
    for name in (path, f"{path}-wal"):
        try:
            status = os.stat(name)  # noqa: PTH116  (every second, for weeks)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
