"""Memory that is free goes back to the system."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os
from hermes_tui.memory import give_back

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
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert int(ran.stdout) > 50_000_000
