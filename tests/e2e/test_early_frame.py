"""The list is on the terminal before the screen's library is imported, and gives way to the program in order."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from terminal import Terminal

pytestmark = pytest.mark.e2e

Start = Callable[..., Terminal]

ALT_SCREEN_ON = b"\x1b[?1049h"
ALT_SCREEN_OFF = b"\x1b[?1049l"

HELD = """
import sys, time
from pathlib import Path

class Hold:
    def find_spec(self, name, path=None, target=None):
        if name == "textual":
            gate = Path(sys.argv[1])
            while not gate.exists():
                time.sleep(0.01)
            gate.with_suffix(".modules").write_text(" ".join(sys.modules))
            if gate.read_text():
                raise ImportError(gate.read_text())

sys.meta_path.insert(0, Hold())
from hermes_tui.cli import run
run([])
"""
"""The program, held where it imports Textual, until the file is there that it is told of."""


@pytest.fixture
def held(start: Start, claude_home: ClaudeHome, tmp_path: Path) -> Iterator[tuple[Terminal, Path]]:
    """The second start, held; and the file that lets it go on."""
    first = start()
    kept = claude_home.home / ".cache" / "hermes-tui"
    first.until(lambda: list(kept.glob("first-frame-*.msgpack")))
    first.send("\x11")
    assert first.wait() == 0
    gate = tmp_path / "gate"
    terminal = Terminal([sys.executable, "-c", HELD, str(gate)], home=claude_home.home)
    terminal.until("Session n39x")
    terminal.quiet()
    yield terminal, gate
    terminal.close()


def _let_go(gate: Path, what: str) -> None:
    """The file is there with all that is in it, or not at all: somebody looks for it all the time."""
    draft = gate.with_suffix(".draft")
    draft.write_text(what)
    draft.rename(gate)


def test_what_comes_before_the_screens_library_is_little(held: tuple[Terminal, Path]) -> None:
    terminal, gate = held
    _let_go(gate, "")
    terminal.until("40 sessions")
    before = set(gate.with_suffix(".modules").read_text().split())
    assert {"hashlib", "asyncio"} <= before
    assert not before & {"_hashlib", "ssl", "importlib.metadata", "apsw", "rich.console", "click"}


def test_rows_are_there_first_and_the_program_takes_over(held: tuple[Terminal, Path]) -> None:
    terminal, gate = held
    early = terminal.text
    assert "Session n30x" in early
    assert "40 sessions" not in early
    terminal.send("jj\r")
    terminal.quiet()
    assert terminal.text == early, "what is typed is not shown"
    _let_go(gate, "")
    # What was typed meanwhile was not lost: two down, and opened.
    terminal.until(lambda: "Session n37x" in terminal.text.splitlines()[1])
    terminal.until("Answer 0")
    assert terminal.received.count(ALT_SCREEN_ON) == 1, "to enter it again would clear it"
    terminal.send("\x11")
    assert terminal.wait() == 0
    assert terminal.mode() == terminal.before
    assert terminal.received.count(ALT_SCREEN_OFF) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_meanwhile_leaves_the_terminal_as_it_was(
    held: tuple[Terminal, Path], number: signal.Signals
) -> None:
    terminal, _ = held
    terminal.signal(number)
    assert terminal.wait() == 128 + number
    assert terminal.mode() == terminal.before
    assert ALT_SCREEN_OFF in terminal.received


def test_so_does_a_program_that_cannot_start(held: tuple[Terminal, Path]) -> None:
    terminal, gate = held
    _let_go(gate, "no such thing")
    assert terminal.wait() == 1
    terminal.pump(0.5)
    assert terminal.mode() == terminal.before
    assert "ImportError" in bytes(terminal.received).rpartition(ALT_SCREEN_OFF)[2].decode()
