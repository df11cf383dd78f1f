"""When the garbage collector runs: not while starting, listing or ending.

Hundreds of modules and thousands of sessions are made then, none of them garbage; looking through them again and
again took a fifth of a start, and two thirds of the time it takes to leave.
"""

from __future__ import annotations

import gc

__all__ = ["hurry", "leave", "settle"]

_USUAL = (5_000, 10, 10)
"""Python's own 700 had all sessions looked through seven times while five queries were typed, each time for as long
as a key may take."""
_RARELY = (100_000, 50, 100)


def hurry() -> None:
    """A command begins: look rarely."""
    gc.set_threshold(*_RARELY)


def settle() -> None:
    """The program has started and goes on for long: look as usual, but not at what the start has made."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


def leave() -> None:
    """The process ends: look no more."""
    gc.freeze()
    gc.disable()
