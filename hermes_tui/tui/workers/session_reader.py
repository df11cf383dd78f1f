"""Opens the session that is looked at, and notices when it grows: one daemon thread.

The thread opens and stats; everything else that is done with a transcript happens in the screen's thread, so that
no two threads ever work on the same one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NamedTuple

from hermes_tui.errors import HermesTuiError
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript

__all__ = ["OpenedSession", "SessionReader"]

_PAUSE = 1.0
"""Seconds between two looks at the open session."""
_REMOTE_PAUSE = 5.0
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
        self._condition = threading.Condition()
        self._request: SessionSummary | None = None
        self._transcript: Transcript | None = None
        self._over = False
        self._started = False

    def start(self) -> None:
        """Begin to serve requests, if that was not done yet."""
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="reader", daemon=True).start()

    def request(self, summary: SessionSummary) -> None:
        """Open this session. A request that was not served yet is forgotten."""
        with self._condition:
            self._request = summary
            self._transcript = None
            self._condition.notify()

    def watch(self, transcript: Transcript) -> None:
        """Watch one that was opened before; nothing else is opened."""
        with self._condition:
            self._request = None
            self._transcript = transcript
            self._condition.notify()

    def forget(self) -> None:
        """Watch nothing any more."""
        with self._condition:
            self._request = self._transcript = None

    def stop(self) -> None:
        """End, without waiting for a read that is under way."""
        with self._condition:
            self._over = True
            self._condition.notify()

    def _run(self) -> None:
        stamp: tuple[object, ...] = ()
        self._prepare()
        while True:
            with self._condition:
                if self._request is None and not self._over:
                    self._condition.wait(_pause(self._transcript))
                if self._over:
                    return
                request, self._request = self._request, None
                transcript = self._transcript
            if request is not None:
                stamp = self._serve(request)
            elif transcript is not None and transcript.is_remote:
                self._grown(transcript)
            elif transcript is not None:
                now = _stamp(transcript.path)
                if now != stamp:
                    stamp = now
                    self._grown(transcript)

    def _serve(self, request: SessionSummary) -> tuple[object, ...]:
        """Open what was asked for; how its file looked just before."""
        stamp = _stamp(request.path)
        try:
            transcript = self._open_session(request.agent, request.session_id)
        except HermesTuiError as error:
            self._opened(OpenedSession(request, reason=str(error)))
            return ()
        except Exception as error:
            # A bug of one adapter must not leave the screen waiting for ever.
            self._opened(OpenedSession(request, reason=f"it could not be opened ({type(error).__name__}: {error})"))
            return ()
        with self._condition:
            if self._request is not None:
                return ()
            self._transcript = transcript
        self._opened(OpenedSession(request, transcript))
        return stamp if request.path == transcript.path else _stamp(transcript.path)


def _pause(transcript: Transcript | None) -> float | None:
    """Seconds until the open session is looked at; None where there is none."""
    if transcript is None:
        return None
    return _REMOTE_PAUSE if transcript.is_remote else _PAUSE


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
