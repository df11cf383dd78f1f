"""The index for the rest of the program: its state, and its indexer process.

Nothing here raises for a disk that is full or a directory that cannot be written: searching works without an index,
and `Progress.trouble` says what it lacks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from hermes_tui.platform import locks
from hermes_tui.platform.parent import helper_command, helper_variables
from hermes_tui.sessions.index.diagnostics import leave_word, trouble_at
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import STORES, remove
from hermes_tui.sessions.index.writing.ipc import tell
from hermes_tui.sessions.own_environment import file_name
from session_adapters.base import Environment, Source
from session_adapters.proc import words_of

__all__ = ["PAUSE", "REST", "TAKE_OVER", "IndexService", "Progress", "index_file"]

PAUSE = 15.0
"""Seconds between two wake-ups of an indexer at least: what was written since is searched in the stores."""
REST = 60.0
"""Seconds between the end of an indexer and the start of the next at least."""
_STEP = 5.0
"""Seconds after which it is worth to look again whether an indexer has ended."""
_TROUBLE = {
    1: "the indexer failed; the log says where",
    3: "another program is making the index",
    4: "the index could not be written: the disk is full, or the cache directory is read-only",
}
TAKE_OVER = 10.0
"""Seconds for an indexer of another program to say who it is and to end."""
_PATIENCE = 0.3
"""Seconds that an indexer has to end in order."""
_MODULE = "hermes_tui.sessions.index.writing.worker"


def index_file(environment: Environment, cache_dir: Path) -> Path:
    """Where the index of one home and one set of variables that move stores is."""
    return cache_dir / file_name(environment, "index", ".db")


class Progress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far an index is."""

    state: Literal["absent", "complete", "partial", "unusable", "off"]
    path: str
    size: int
    """Bytes on disk."""
    running: bool
    """An indexer is at work."""
    sources: int = 0
    """Session files and databases there were when an indexer last looked."""
    prose: int = 0
    """Those of which what was said is in the index."""
    everything: int = 0
    """Those of which tool text is, too."""
    failed: int = 0
    """Those that could not be read for it."""
    left_out: int = 0
    """Further ones, whose paths are no UTF-8."""
    left_out_path: str = ""
    """The first of them, with U+FFFD for what is no UTF-8."""
    messages: int = 0
    trouble: str = ""
    """Why there is no index, or why it does not grow; one sentence without a full stop."""


class IndexService:
    """One index, and its indexer. Safe for several threads."""

    def __init__(
        self,
        path: Path,
        environment: Environment,
        *,
        on: bool = True,
        sources: Callable[[], Iterable[Source]] | None = None,
    ) -> None:
        """`on` False: as if there were none, and none is made. `sources` gives those that this process knows: while
        the index has all of them no indexer is started."""
        self.path = path
        self.on = on
        self.index = SearchIndex(path if on else path.with_suffix(".off"), self.hurry)
        self._held = path.with_suffix(".lock")
        self._environment = environment
        self._sources = sources
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._detached = False
        self._asked: float | None = None
        self._ended: float | None = None
        self._trouble = ""

    # The indexer -------------------------------------------------------------------------------------------

    def poke(self, *, follow: bool = True, alone: bool = False, patient: bool = False) -> float | None:
        """Something may have changed: have the index brought up to date, if it is not, by a process of its own that
        ends with this one, unless it is to go on `alone`, and else when it is through; with `follow` it waits for
        more; a `patient` one waits until that of another program is through, and does what that left. Returns at
        once, after how many seconds to ask again; None when nothing is left to be done."""
        if not self.on:
            return None
        lacking = None if self._sources is None else self.index.lacking(self._sources(), time.time())
        with self._lock:
            now = time.monotonic()
            if self._alive():
                if lacking != [] and (self._asked is None or now - self._asked >= PAUSE):
                    self._asked = now
                    self._wake(lacking or ())
                return _STEP
            if lacking == []:
                return None
            if self._ended is not None and now - self._ended < REST:
                return REST - (now - self._ended)
            self._asked = now
            self._start(follow=follow, alone=alone, patient=patient)
            return _STEP

    def hurry(self, sources: Sequence[Source]) -> bool:
        """Have an indexer that was started here take in `sources` now; False where none is at work."""
        with self._lock:
            if not self._alive():
                return False
            self._wake(sources)
            return True

    @property
    def pid(self) -> int | None:
        """The indexer that was started here, while it is at work."""
        with self._lock:
            return self._process.pid if self._alive() and self._process is not None else None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until an indexer that was started with `follow` False is through; whether it is."""
        process = self._process
        if process is None:
            return True
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        with self._lock:
            self._alive()
        return True

    def close(self) -> None:
        """Let the indexer end, unless it was to go on alone, and close what is open."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None and self._detached:
            process.poll()
            process.returncode = process.returncode or 0  # nobody waits for it
        elif process is not None:
            # It ends by itself when nobody is at the other end; where that takes long it may be stopped anywhere.
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
        self.index.close()

    def _alive(self) -> bool:
        process = self._process
        if process is None:
            return False
        code = process.poll()
        if code is None:
            return True
        self._process = None
        self._ended = time.monotonic()
        self._trouble = f"the indexer was ended: {signal.strsignal(-code)}" if code < 0 else _TROUBLE.get(code, "")
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        return False

    def _start(self, *, follow: bool, alone: bool, patient: bool) -> None:
        words = (str(self.path), *(["--follow"] if follow else []), *(["--patient"] if patient else []))
        command = [sys.executable, "-m", _MODULE, *words] if alone else helper_command(_MODULE, *words)
        environment = self._environment
        try:
            variables = helper_variables()
            # A HOME that is no directory is nobody's: with it, another was named, which the indexer is told.
            if environment != Environment(home=Path(os.environ.get("HOME", "")), variables=dict(os.environ)):
                home, proc = str(environment.home), str(environment.proc)
                given = {"home": home, "variables": dict(environment.variables), "proc": proc}
                variables[STORES] = json.dumps(given)  # which, unlike msgspec, takes names that are no UTF-8
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE if follow else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=variables,
                cwd="/",
                start_new_session=True,
            )
            if self._process.stdin is not None:
                # Who tells it something does not wait until it listens.
                os.set_blocking(self._process.stdin.fileno(), False)
            self._detached, self._trouble = alone, ""
        except OSError as error:
            self._ended = time.monotonic()
            self._trouble = f"the indexer cannot be started: {error.strerror or error}"

    def _wake(self, lacking: Sequence[Source]) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError):  # it is just ending, and started next time, or has not heard the last time yet
                tell(process.stdin.fileno(), lacking)

    # How far it is -----------------------------------------------------------------------------------------

    @property
    def trouble(self) -> str:
        """Why the index does not grow, one sentence without a full stop; empty while it may."""
        if not self.on:
            return ""
        with self._lock:
            self._alive()
            said = self._trouble
        return trouble_at(self.path, self._held) or said

    def progress(self) -> Progress:
        """How far the index is."""
        running = locks.is_held(self._held)
        size = 0
        for end in ("", "-wal"):
            with suppress(OSError):  # there is none
                size += Path(f"{self.path}{end}").stat().st_size
        trouble = self.trouble
        if not self.on:
            return Progress(state="off", path=str(self.path), size=size, running=running)
        figures = self.index.figures()
        if figures is None:
            absent = not os.path.lexists(self.path)
            trouble = trouble or ("" if absent else self.index.problem)
            state: Literal["absent", "unusable"] = "absent" if absent else "unusable"
            return Progress(state=state, path=str(self.path), size=size, running=running, trouble=trouble)
        done = 0 <= figures.sources <= figures.everything + figures.failed
        return Progress(
            state="complete" if done else "partial",
            path=str(self.path),
            size=size,
            running=running,
            trouble=trouble,
            **figures._replace(sources=max(0, figures.sources))._asdict(),
        )

    def clear(self) -> bool:
        """Delete the index. An indexer that another program started is ended; False where that could not be done.
        Raises `OSError`."""
        self.close()
        if not self.path.parent.exists():
            return True
        # If need be the lock is taken from the indexer that has it: that one may be stopped at any moment, and says
        # who it is when it has looked at the stores.
        proc, until = self._environment.proc, time.monotonic() + TAKE_OVER
        while (held := locks.take(self._held)) is None and time.monotonic() < until:
            pid = self.index.indexer()
            if pid is None or not {_MODULE.encode(), os.fsencode(self.path)} <= set(words_of(proc, pid)):
                continue  # another process may have been given the number since
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
                os.kill(pid, signal.SIGCONT)  # one that is suspended ends only so
        if held is None:
            return False
        try:
            remove(self.path)
            leave_word(held, "")
        finally:
            os.close(held)
        return True
