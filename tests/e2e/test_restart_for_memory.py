"""The program restarts without glibc's caches of threads; what it starts has them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from terminal import Terminal

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        "CS_GNU_LIBC_VERSION" not in os.confstr_names,
        reason="glibc's allocator alone",
    ),
]

OURS = "glibc.malloc.tcache_count=0"


def told(pid: int) -> str | None:
    """What glibc was told when that process began."""
    variables = "\0" + Path(f"/proc/{pid}/environ").read_text()
    # glibc has written zeros over the colons in between.
    told = re.search(r"\0GLIBC_TUNABLES=(glibc[^\0]*(?:\0glibc[^\0]*)*)", variables)
    return told[1].replace("\0", ":") if told else None


def told_to_children(pid: int) -> Iterator[str | None]:
    """The same of what it started and what still runs."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            with suppress(ProcessLookupError, FileNotFoundError):
                yield told(child)


@pytest.mark.parametrize(
    ("users", "programs"),
    [
        (None, OURS),
        ("glibc.malloc.top_pad=0", f"glibc.malloc.top_pad=0:{OURS}"),
        ("glibc.malloc.tcache_count=3", "glibc.malloc.tcache_count=3"),
        (OURS, OURS),
    ],
)
def test_glibc_is_told(users: str | None, programs: str, start: Callable[..., Terminal]) -> None:
    terminal = start(variables={} if users is None else {"GLIBC_TUNABLES": users})
    assert told(terminal.pid) == programs
    terminal.until(lambda: set(told_to_children(terminal.pid)) == {users})
    terminal.send("q")
    assert terminal.wait() == 0
