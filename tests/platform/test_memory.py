"""Memory that is free goes back to the system."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

GIVE_BACK = """
import os
from hermes_tui.platform.allocator import give_back

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

kept = [bytes(2000) for _ in range(40_000)]
del kept[:-1]  # the last one is above all others: the allocator keeps what is below
before = resident()
give_back()
print(before - resident())
"""


def test_what_lies_below_something_that_is_used_is_given_back() -> None:
    ran = subprocess.run([sys.executable, "-c", GIVE_BACK], capture_output=True, text=True, timeout=60, check=True)
    assert int(ran.stdout) > 50_000_000


STAY_SMALL = """
import os, sys, threading
from hermes_tui.platform.allocator import stay_small

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def work():
    kept = []
    for size in range(40):
        large = bytes(1_000_000 + size * 50_000)  # a part of a file, each time a little more
        kept.append(bytes(2_000))
        del large
    keeps.append(kept)

stay_small() if sys.argv[1] == "small" else None
keeps = []
before = resident()
for _ in range(8):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(resident() - before)
"""


def test_what_was_read_is_not_kept_beside_what_is() -> None:
    command = [sys.executable, "-c", STAY_SMALL]
    small, usual = (
        int(subprocess.run([*command, how], capture_output=True, text=True, timeout=60, check=True).stdout)
        for how in ("small", "usual")
    )
    assert small < 4_000_000, (small, usual)


SCATTERED = """
import os, sys
from hermes_tui.platform.allocator import give_back, stay_small

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

stay_small() if sys.argv[1] == "small" else None
before = resident()
many = [[str(number)] for number in range(400_000)]
kept = many[::2000]
del many
give_back()
print(resident() - before)
"""


def test_what_little_is_kept_of_much_keeps_no_more_than_its_pages() -> None:
    """Python's own allocator has a megabyte of 5,000 small objects for as long as one of them is used."""
    command = [sys.executable, "-c", SCATTERED]
    small, usual = (
        int(subprocess.run([*command, how], capture_output=True, text=True, timeout=60, check=True).stdout)
        for how in ("small", "usual")
    )
    assert small < 4_000_000 < 40_000_000 < usual, (small, usual)


USED_AS_BEFORE = """
import gc, threading, tracemalloc
from hermes_tui.platform.allocator import stay_small

older = [[str(number), {number: bytearray(number % 700)}] for number in range(20_000)]
stay_small()
stay_small()
for step in range(3):  # what was made before grows, shrinks and goes, beside what is made now
    newer = [[str(number), {number: bytearray(number % 700)}] for number in range(20_000)]
    for number, ((text, sizes), other) in enumerate(zip(older, newer)):
        assert text == other[0] and sizes == other[1]
        sizes[number].extend(bytes(step * 300))
        del sizes[number][number % 700:]
        sizes.update({str(more): more for more in range(step * 4)})
        for more in range(step * 4):
            del sizes[str(more)]
    older[::2] = newer[::2]
    threads = [threading.Thread(target=lambda: [dict(a=n) for n in range(20_000)]) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    gc.collect()
tracemalloc.start()
kept = [bytes(100) for _ in range(1000)]
assert tracemalloc.get_traced_memory()[0] > 100_000
tracemalloc.stop()
del older, newer, kept
print("well")
"""


@pytest.mark.parametrize("variable", ["", "PYTHONMALLOC=debug", "PYTHONDEVMODE=1", "PYTHONTRACEMALLOC=1"])
def test_what_was_made_before_is_used_as_before(variable: str) -> None:
    variables = dict([variable.split("=")]) if variable else {}
    command = [sys.executable, "-W", "error", "-c", USED_AS_BEFORE]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **variables}
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "well\n", "")
