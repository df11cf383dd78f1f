"""Memory that is free goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hermes_tui.platform.memory_tuning import Life

GIVE_BACK = """
import os
from hermes_tui.platform.memory_tuning import give_back

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
    ran = subprocess.run([sys.executable, "-c", GIVE_BACK], capture_output=True, text=True, timeout=180, check=True)
    assert int(ran.stdout) > 50_000_000


STAY_SMALL = """
import os, sys, threading
from hermes_tui.platform.memory_tuning import stay_small

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
        int(subprocess.run([*command, how], capture_output=True, text=True, timeout=180, check=True).stdout)
        for how in ("small", "usual")
    )
    assert small < 4_000_000, (small, usual)


HASHES = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))
from hermes_tui.platform.memory_tuning import import_without
import_without("hashlib", "_hashlib", "_md5")
import hashlib
print(hashlib.md5(b"").hexdigest(), hashlib.sha256(b"").hexdigest()[:8], "_hashlib" in sys.modules)
"""


@pytest.mark.parametrize(
    "absent",
    [
        pytest.param((), id="usual"),
        pytest.param(("_md5", "_sha1", "_sha2", "_sha256", "_sha512"), id="Fedora's Python"),
    ],
)
def test_hashes_are_there_however_python_was_built(absent: tuple[str, ...]) -> None:
    ran = subprocess.run([sys.executable, "-c", HASHES, *absent], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["d41d8cd98f00b204e9800998ecf8427e", "e3b0c442", str(bool(absent))]
    assert ran.stderr == ""


def test_a_process_that_has_grown_is_better_started_anew() -> None:
    life, young = Life(0, 40 << 20), Life(3600, 40 << 20)
    assert not life.over and not young.over
    grown = b"x" * (80 << 20)
    assert life.over and not young.over, "it has only begun"
    del grown


def test_a_process_counts_from_the_least_that_it_had() -> None:
    begun = b"x" * (80 << 20)
    life = Life(0, 40 << 20)
    assert not life.over
    del begun
    assert not life.over
    grown = b"x" * (60 << 20)  # less than at first
    assert life.over
    del grown
