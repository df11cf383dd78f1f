"""Memory that is free, given back to the system."""

from __future__ import annotations

from contextlib import suppress

__all__ = ["give_back"]


def give_back() -> None:
    """What reading needed and needs no more: the allocator keeps megabytes of it for each thread that read.
    Only glibc has to be asked, and can be; elsewhere nothing happens."""
    from ctypes import CDLL

    with suppress(OSError, AttributeError):
        CDLL(None).malloc_trim(0)
