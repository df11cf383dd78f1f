"""Keeps glibc's allocator small in a program that runs for weeks.

Elsewhere nothing happens.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

__all__ = ["give_back", "stay_small"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of `mallopt`'s settings, from malloc.h."""
_LARGE = 32 << 10
"""A quarter of glibc's own first threshold, which would also grow with the first large block that is freed: what
files are read into would come from the heap, and the next small object above it keeps megabytes, for ever more."""


def stay_small() -> None:
    """Give large blocks back when they are freed, and let all threads share one heap; call it before they start."""
    with suppress(OSError, AttributeError):
        set_option = _library().mallopt
        for option, value in ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE), (_ARENA_MAX, 1)):
            set_option(option, value)


def give_back() -> None:
    """What reading needed and needs no more: the allocator keeps megabytes of it."""
    with suppress(OSError, AttributeError):
        _library().malloc_trim(0)


@cache
def _library() -> Any:
    """One for all calls: each is a class of its own, garbage in a circle. Raises `OSError`."""
    from ctypes import CDLL

    return CDLL(None)
