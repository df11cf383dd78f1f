"""Calls a function in a process of its own, for what reads all of a session.

A face neither stutters nor grows by it: what was read is let go of, but Python keeps the memory around every small
thing that was made meanwhile and stays.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.parent import helper_command, helper_variables

__all__ = ["HelperCall", "in_helper"]

T = TypeVar("T")


class HelperCall(Generic[T]):
    """One call, which begins at once. It ends with this process, too."""

    def __init__(self, function: Callable[..., T], *arguments: Any) -> None:
        """`function` is one of a module, it and its arguments can be pickled. Raises `OSError`."""
        self._question = pickle.dumps((function, arguments))
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            helper_command(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=helper_variables(),
            start_new_session=True,  # Ctrl-C is meant for the screen
        )

    def result(self, seconds: float | None = None) -> T:
        """What the function returns or raises; waits, for so many seconds at most. Raises `HermesTuiError` where the
        process ended without an answer."""
        try:
            answer, _ = self._process.communicate(self._question, seconds)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            self._process.communicate()  # or it would stay as a zombie
            raise HermesTuiError(f"the process that reads it had no answer after {seconds:.0f} seconds") from error
        if not answer:
            code = self._process.returncode
            how = signal.strsignal(-code) if code < 0 else f"exit code {code}"
            raise HermesTuiError(f"the process that reads it ended without an answer ({how})")
        failure, value = pickle.loads(answer)  # noqa: S301 - what our own process wrote
        if failure is not None:
            raise failure
        return cast("T", value)

    def end(self) -> None:
        """Nobody waits for it any more: the function ends by a `SystemExit`, and leaves no half of a file."""
        if self._process.poll() is None:
            self._process.terminate()


async def in_helper(function: Callable[..., T], *arguments: Any) -> T:
    """The same for a coroutine; with it the call ends. Raises as `HelperCall.result` does."""
    from hermes_tui.platform.daemon_call import in_thread  # and with it asyncio, which no command needs

    call = HelperCall(function, *arguments)
    try:
        return await in_thread(call.result)
    finally:
        call.end()


def main() -> None:
    """Answer a question from standard input."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a third party's reader may print
    function, arguments = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - what our own process wrote
    try:
        answer = pickle.dumps((None, function(*arguments)))
    except HermesTuiError as error:
        answer = pickle.dumps((error, None))
    except Exception as error:
        # By its words: its class may not be understood elsewhere.
        answer = pickle.dumps((HermesTuiError(f"it failed ({type(error).__name__}: {error})"), None))
    signal.setitimer(signal.ITIMER_REAL, 0)  # `parent`'s: an alarm while a pipe is full would lose part of the answer
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    main()
