"""Memory of a program that runs for weeks: glibc's allocator, Python's collector.

The allocator is kept small; elsewhere than with glibc nothing happens. The collector does not run while the program
is starting, listing or ending: hundreds of modules and thousands of sessions are made then, none of them garbage;
looking through them again and again took a fifth of a start, and two thirds of the time it takes to leave.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from resource import getpagesize
from typing import Any

__all__ = [
    "Life",
    "begin_anew",
    "give_back",
    "hurry",
    "import_without",
    "leave",
    "settle",
    "settle_anew",
    "stay_small",
]


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of `mallopt`'s settings, from malloc.h."""
_LARGE = 8 << 10
"""A sixteenth of glibc's own first threshold, which would also grow with the first large block that is freed: what
files are read into would come from the heap, and the next small object above it keeps megabytes, for ever more. At
32 KiB the heap of a program that was used for an hour's worth of changes was 29 MB with 10 free, here 23 with 5."""


_TOLD, _NO_CACHES = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"
"""The variable that glibc reads when a process begins, and that no thread keeps freed blocks for itself: those of a
dozen threads lie between what stays."""
_BEGUN = "HERMES_TUI_BEGUN"
"""The process that has begun anew. A Python with rights of its own never gets glibc's variable, and would not end."""


def begin_anew() -> None:
    """Put this process, which was started for this program, in its own place once more, with an allocator that keeps
    nothing for single threads; call it before anything has begun. Nothing happens after that, where the user has told
    glibc something else, elsewhere than with glibc, and in a process that something else was started in."""
    before = os.environ.get(_TOLD, "")
    if os.environ.pop(_BEGUN, "") == str(os.getpid()):
        _tell(before.removesuffix(_NO_CACHES).removesuffix(":"))  # what is started from here is none of ours
    elif "tcache_count" not in before and _is_this_program() and _has_glibc():
        os.environ[_BEGUN] = str(os.getpid())
        _tell(":".join(filter(None, (before, _NO_CACHES))))
        with suppress(OSError):
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no shell is wanted
        del os.environ[_BEGUN]
        _tell(before)


def _tell(value: str) -> None:
    os.environ.pop(_TOLD, None)
    if value:
        os.environ[_TOLD] = value


def _is_this_program() -> bool:
    main = sys.modules["__main__"]
    module = main.__spec__.name if main.__spec__ is not None else Path(getattr(main, "__file__", None) or "").name
    return bool(sys.executable) and module in ("hermes_tui.__main__", "hermes-tui")


def _has_glibc() -> bool:
    with suppress(OSError, ValueError):
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    return False


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


def import_without(name: str, without: str, instead: str | None = None) -> None:
    """Import a module as where it finds no `without`. asyncio loads the TLS library and hashlib the one for
    cryptography where they are there: 8 MB and 25 ms of each start, for nothing. The screen and its helpers speak to
    no network, and hashlib has the usual functions itself, but where Python was built without them (Fedora): where
    there is no `instead`, nothing happens. Whoever imports `ssl` later gets it as ever."""
    if without in sys.modules or name in sys.modules:
        return
    if instead is not None:
        try:
            import_module(instead)
        except ImportError:
            return
    sys.modules[without] = None  # type: ignore[assignment]
    try:
        import_module(name)
    finally:
        del sys.modules[without]


class Life:
    """How long a process is kept: what it frees lies between what it holds, and no allocator gives that back."""

    def __init__(self, seconds: float, growth: int) -> None:
        """`seconds` at least; then until it has so many bytes more than it had the least time it was asked."""
        self._until = time.monotonic() + seconds
        self._growth = growth
        self._least = 0

    @property
    def over(self) -> bool:
        """Whether a new one is better."""
        try:
            # The second number is that of the pages that are in memory.
            now = int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()
        except (OSError, ValueError, IndexError):
            now = 0  # where nothing says so, it never counts as grown
        # Not what it had at first: what a new index took is given back only later.
        self._least = min(self._least or now, now)
        return time.monotonic() >= self._until and now - self._least > self._growth


@cache
def _library() -> Any:
    """One for all calls: each is a class of its own, garbage in a circle. Raises `OSError`."""
    from ctypes import CDLL

    return CDLL(None)


_USUAL = (5_000, 10, 10)
"""Python's own 700 had all sessions looked through seven times while five queries were typed, each time for as long
as a key may take."""
_RARELY = (1_000_000, 50, 100)


def hurry() -> None:
    """A command begins: look rarely."""
    gc.set_threshold(*_RARELY)


def settle() -> None:
    """The program has started and goes on for long: look as usual, but not at what the start has made."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


def settle_anew() -> None:
    """Look once at all that lives, what was not to be looked at before included, and then no more at it."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def leave() -> None:
    """The process ends: look no more."""
    gc.freeze()
    gc.disable()
