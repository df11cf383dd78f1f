"""Background threads: a worker that serves the newest request, and how it answers.

Nobody waits for a daemon thread when the program ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Slot", "Worker", "in_background"]

T = TypeVar("T")


def in_background(name: str, function: Callable[[], object]) -> None:
    """Call `function` once in a thread of this name, by which an error in it is reported."""
    threading.Thread(target=function, name=name, daemon=True).start()


class Worker(Generic[T]):
    """Serves the newest request in a thread of its own, and works by itself now and then if it is told to."""

    def __init__(
        self,
        name: str,
        serve: Callable[[T | None], float | None],
        failed: Callable[[Exception], float | None] | None = None,
        *,
        first: float | None = None,
    ) -> None:
        """`serve` is called in the thread with the newest request, and returns the seconds after which it is called
        again without one; None: not before the next. `first`: the seconds after which it is called for the first
        time, whatever is asked for before; None: at the first request. `failed` is called there with an error of
        `serve`, says it and returns what `serve` does; without it the error ends the thread."""
        self._name = name
        self._serve = serve
        self._failed = failed
        self._first = first
        self._changed = threading.Condition()
        self._requests: list[T] = []
        """None or one."""
        self._woken = False
        """No pause is waited for to its end."""
        self._serving = False
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    @property
    def is_started(self) -> bool:
        """`start` was called."""
        return self._thread is not None

    @property
    def is_over(self) -> bool:
        """`stop` was called."""
        return self._over.is_set()

    @property
    def is_superseded(self) -> bool:
        """There is a newer request, or nobody wants an answer any more: `serve` may give up."""
        return bool(self._requests) or self.is_over

    @property
    def is_busy(self) -> bool:
        """A request waits or is being served."""
        with self._changed:
            return bool(self._requests) or self._serving

    def start(self) -> None:
        """Begin to serve requests, those that were made before too; once."""
        if self._thread is None and not self.is_over:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def ask(self, request: T) -> None:
        """Have this served instead of what waits; the first begins once the worker is started."""
        with self._changed:
            self._requests = [request]
            self._changed.notify_all()

    def wake(self) -> None:
        """Have `serve` called without a request now, instead of after its pause."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def rest(self, seconds: float) -> None:
        """Called by `serve`: do nothing for so long, whatever is asked for, unless it is to end."""
        self._over.wait(seconds)

    def stop(self) -> None:
        """End, without waiting for what is being served."""
        with self._changed:
            self._over.set()
            self._changed.notify_all()

    def join(self, seconds: float | None = None) -> None:
        """After `stop`: wait so long at most for what is being served."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        pause = None
        if self._first is not None:
            self.rest(self._first)
            pause = 0.0
        while True:
            with self._changed:
                self._serving = False
                self._changed.wait_for(lambda: self._woken or self.is_superseded, pause)
                self._woken = False
                if self.is_over:
                    return
                request = self._requests.pop() if self._requests else None
                self._serving = True
            try:
                pause = self._serve(request)
            except Exception as error:
                if self._failed is None:
                    raise
                pause = self._failed(error)


class Slot(Generic[T]):
    """The newest value only, handed from one thread to another: however many are put in before the receiver gets
    round to it, it is called once and takes the last."""

    def __init__(self, schedule: Callable[[Callable[[], None]], object], receive: Callable[[T], None]) -> None:
        """`schedule` runs a function in the receiver's thread (`loop.call_soon_threadsafe`)."""
        self._schedule = schedule
        self._receive = receive
        self._lock = threading.Lock()
        self._value: list[T] = []

    def put(self, value: T) -> None:
        """Replace what waits. Raises `RuntimeError` when the receiver's loop is closed."""
        with self._lock:
            waiting = bool(self._value)
            self._value = [value]
        if not waiting:  # else the call that is scheduled already takes this one
            self._schedule(self._take)

    def _take(self) -> None:
        with self._lock:
            values, self._value = self._value, []
        # Without the lock: what receives may take long, and nobody who puts something in waits for it.
        for value in values:
            self._receive(value)
