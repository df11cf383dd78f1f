"""Keeps the memory of a program small that runs for weeks.

With glibc; elsewhere nothing happens.
"""

from __future__ import annotations

import os
import sysconfig
from contextlib import suppress
from functools import cache
from typing import Any

__all__ = ["give_back", "stay_small"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of `mallopt`'s settings, from malloc.h."""
_LARGE = 128 << 10
"""glibc's own first threshold. It would grow with the first large block that is freed, and what files are read into
would come from the heap: the next small object above it keeps megabytes, for ever more of them."""
_RAW, _MEM, _OBJECTS = range(3)
"""Domains of Python's allocators, from pymem.h."""
_CONTEXT, _MALLOC, _CALLOC = range(3)
"""Places in a `PyMemAllocatorEx`, which has five pointers; behind these are `realloc` and `free`."""


def stay_small() -> None:
    """Give large blocks back when they are freed, and let all threads share one heap; call it before they start. The
    small objects of Python that are made from now on come from that heap, too."""
    with suppress(OSError, AttributeError):
        set_option = _library().mallopt
        for option, value in ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE), (_ARENA_MAX, 1)):
            set_option(option, value)
        _leave_arenas()


def give_back() -> None:
    """What reading needed and needs no more: the allocator keeps megabytes of it."""
    with suppress(OSError, AttributeError):
        _library().malloc_trim(0)


def _leave_arenas() -> None:
    """Python takes memory for small objects a megabyte at a time, and while one object is left in that gives nothing
    back: after a large session was shown, that is all of them. glibc gives back every page that is free. What there
    is already is changed and freed as before: Python's own functions hand on what is in no arena of theirs."""
    if "PYTHONMALLOC" in os.environ or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return  # another allocator, which does not hand on
    from ctypes import byref, c_void_p, pythonapi

    kind = c_void_p * 5
    raw, found = kind(), [kind(), kind()]
    pythonapi.PyMem_GetAllocator(_RAW, byref(raw))
    for domain, allocator in zip((_MEM, _OBJECTS), found, strict=True):
        pythonapi.PyMem_GetAllocator(domain, byref(allocator))
    if any(one[_CONTEXT] for one in (raw, *found)) or raw[_MALLOC] in (one[_MALLOC] for one in found):
        return  # somebody traces memory or looks for mistakes in its use
    for domain, allocator in zip((_MEM, _OBJECTS), found, strict=True):
        allocator[_MALLOC], allocator[_CALLOC] = raw[_MALLOC], raw[_CALLOC]
        pythonapi.PyMem_SetAllocator(domain, byref(allocator))


@cache
def _library() -> Any:
    """One for all calls: each is a class of its own, garbage in a circle. Raises `OSError`."""
    from ctypes import CDLL

    return CDLL(None)
