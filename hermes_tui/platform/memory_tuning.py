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
    "give_back",
    "hurry",
    "import_without",
    "leave",
    "restart_without_thread_caches",
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


_TUNABLES, _NO_CACHES = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"
"""The variable that glibc reads when a process starts, and the setting with which no thread keeps freed blocks for
itself: those of a dozen threads lie between what stays."""
_RESTARTED = "HERMES_TUI_RESTARTED"
"""The id of the process that has restarted. A Python with capabilities (setcap) is not given glibc's variable, and
would restart for ever."""


def restart_without_thread_caches() -> None:
    """Start this process once more (`execv`) with glibc's caches of each thread off; call it before anything else has
    started. It returns at once in the process that was restarted, where the user has set the caches, where there is
    no glibc, and where something else than the command `hermes-tui` imported us."""
    before = os.environ.get(_TUNABLES, "")
    if os.environ.pop(_RESTARTED, "") == str(os.getpid()):
        _set_tunables(before.removesuffix(_NO_CACHES).removesuffix(":"))  # children get the user's own
    elif "tcache_count" not in before and "CS_GNU_LIBC_VERSION" in os.confstr_names and _is_this_program():
        os.environ[_RESTARTED] = str(os.getpid())
        _set_tunables(":".join(filter(None, (before, _NO_CACHES))))
        with suppress(OSError):
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no shell is wanted
        del os.environ[_RESTARTED]
        _set_tunables(before)


def _set_tunables(value: str) -> None:
    os.environ.pop(_TUNABLES, None)
    if value:
        os.environ[_TUNABLES] = value


def _is_this_program() -> bool:
    main = sys.modules["__main__"]
    module = main.__spec__.name if main.__spec__ is not None else Path(getattr(main, "__file__", None) or "").name
    return bool(sys.executable) and module in ("hermes_tui.__main__", "hermes-tui")


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
