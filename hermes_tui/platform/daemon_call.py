"""Runs a read in a daemon thread, so that the end of the program need not wait.

`asyncio.to_thread` would: its threads are joined both by the loop and by the interpreter, and a read from a network
file system that hangs, or of a long file, would hold up who wants to leave.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["in_thread"]

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function` returns or raises, called in a daemon thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(call: Callable[[], None]) -> None:
        if not future.done():  # else nobody waits any more
            call()

    def run() -> None:
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            failure = error  # `error` is gone once this clause is left
            outcome = lambda: future.set_exception(failure)  # noqa: E731
        else:
            outcome = lambda: future.set_result(value)  # noqa: E731
        try:
            loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:
            if not loop.is_closed():
                raise
            # The program is over.

    threading.Thread(target=run, name="daemon call", daemon=True).start()
    return await future
