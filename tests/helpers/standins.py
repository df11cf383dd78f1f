"""Programs named like the agents' own, that write down how they were started and what was done to them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["StandIns"]

_PROGRAM = """#!{python}
import json, os, select, signal, sys, termios

def state(fd):
    try:
        mode = termios.tcgetattr(fd)[3]
    except (termios.error, OSError):
        return None
    return {{name: bool(mode & getattr(termios, name)) for name in ("ICANON", "ECHO", "ISIG")}}

said = {{
    "argv": [os.fsencode(one).decode("utf-8", "surrogateescape") for one in sys.argv],
    "cwd": os.getcwd(),
    "env": dict(os.environ),
    "terminal": state(0),
    "ignored": [number for number in (1, 2, 3, 15) if signal.getsignal(number) == signal.SIG_IGN],
    "pid": os.getpid(),
}}
folder = {folder!r}
name = os.path.basename(__file__)

def tell(**more):
    said.update(more)
    with open(os.path.join(folder, name + ".part"), "w") as file:
        json.dump(said, file)
    os.replace(os.path.join(folder, name + ".part"), os.path.join(folder, name + ".json"))

def interrupted(number, frame):
    tell(signal=number)
    os.write(1, b"interrupted\\n")  # whatever was interrupted may have been a print
    os._exit(7)

signal.signal(signal.SIGINT, interrupted)
tell()
if {waits!r}:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    print("READY " + name, flush=True)
    select.select([0, reading], [], [])  # a signal that comes just before a read would not end that
    for line in sys.stdin:
        tell(line=line)
        if line.strip() == "raw":
            mode = termios.tcgetattr(0)
            mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
            termios.tcsetattr(0, termios.TCSANOW, mode)
        break
sys.exit({code!r})
"""


class StandIns:
    """A directory for PATH, and what its programs wrote down."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.records = folder / "records"
        self.bin.mkdir(parents=True)
        self.records.mkdir()

    def add(self, name: str, *, waits: bool = False, code: int = 0) -> Path:
        """A program that ends with `code`, at once or after a line of input (or Ctrl-C: 7)."""
        path = self.bin / name
        # The interpreter's own -S -E: nothing of the machine's Python in what is written down.
        text = _PROGRAM.format(python=f"{sys.executable} -SE", folder=str(self.records), waits=waits, code=code)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def record(self, name: str) -> dict[str, Any]:
        """How it was started last."""
        found: dict[str, Any] = json.loads((self.records / f"{name}.json").read_text())
        return found

    def was_started(self, name: str) -> bool:
        """Whether it was."""
        return (self.records / f"{name}.json").exists()
