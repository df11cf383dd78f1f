"""The terminal handed to a pager or an editor and taken back; the clipboard of a bare terminal."""

from __future__ import annotations

import base64
import ctypes
import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from terminal import Terminal

pytestmark = pytest.mark.e2e

Start = Callable[..., Terminal]

STAND_IN = """\
import json, os, signal, stat, sys, termios
path = sys.argv[-1]
mode = termios.tcgetattr(0)
signals = []
signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
print("STAND-IN READY", flush=True)
line = sys.stdin.readline()
record = dict(
    argv=sys.argv[1:-1],
    text=open(path).read(),
    mode=stat.S_IMODE(os.stat(path).st_mode),
    path=path,
    cooked=bool(mode[3] & termios.ICANON and mode[3] & termios.ECHO and mode[3] & termios.ISIG),
    signals=signals,
    line=line,
)
json.dump(record, open(os.environ["RECORD"], "w"))
sys.exit(int(line.strip() or 0))
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> tuple[str, Path]:
    """A program that says what it was given and waits for a line: (its command, where it writes)."""
    script = tmp_path / "stand in.py"
    script.write_text(STAND_IN)
    folder = tmp_path / ("a long way down " * 4)  # which a message does not show
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    return f"'{folder / 'python'}' '{script}' -R --flag", tmp_path / "record.json"


@pytest.mark.parametrize(("key", "name"), [("p", "PAGER"), ("v", "EDITOR")])
def test_a_pager_and_an_editor_get_the_terminal_and_give_it_back(
    start: Start, stand_in: tuple[str, Path], key: str, name: str
) -> None:
    command, record = stand_in
    terminal = start(variables={name: command, "RECORD": str(record)})
    terminal.send("jj")
    terminal.until("Session n37x")
    terminal.quiet()
    terminal.send(key)
    terminal.until("STAND-IN READY")
    terminal.send("\x03")  # its own: ours goes on
    terminal.quiet(0.3)
    terminal.send("3\n")
    terminal.until("40 sessions")
    terminal.until("python ended with code 3")
    found = json.loads(record.read_text())
    assert found["argv"] == ["-R", "--flag"]
    assert found["text"].startswith("# Session n37x\n")
    assert "Answer 0 to Session n37x" in found["text"]
    assert found["mode"] == 0o600
    assert found["cooked"]
    assert found["signals"] == [2]
    assert not Path(found["path"]).exists()
    terminal.send("j")
    terminal.until("Session n36x")
    terminal.send("q")
    assert terminal.wait() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_whichever_thread_takes_a_signal_it_ends_while_an_editor_has_the_terminal(
    start: Start, stand_in: tuple[str, Path], number: signal.Signals, code: int
) -> None:
    """The thread that runs the handlers waited for the editor's end alone."""
    command, record = stand_in
    terminal = start(variables={"EDITOR": command, "RECORD": str(record)})
    terminal.send("v")
    terminal.until("STAND-IN READY")
    other = max(int(thread.name) for thread in Path(f"/proc/{terminal.pid}/task").iterdir())
    assert other != terminal.pid
    assert ctypes.CDLL(None).tgkill(terminal.pid, other, number) == 0
    assert terminal.wait() == code
    assert terminal.mode() == terminal.before


def test_copied_text_goes_out_as_osc_52(start: Start) -> None:
    terminal = start()
    terminal.send("y")
    terminal.until("session id")
    terminal.send("i")
    terminal.until("Copied")
    sent = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", terminal.received)
    assert [base64.b64decode(one).decode() for one in sent] == [
        re.search(r"claude:[0-9a-f-]+", base64.b64decode(sent[0]).decode())[0]  # type: ignore[index]
    ]


def test_typed_ahead_keys_in_the_list_export_nothing(start: Start, tmp_path: Path) -> None:
    """Law 9: `e` and Enter in one write."""
    terminal = start()
    terminal.send("e\r\r")
    terminal.until("hermes-tui sessions export")
    terminal.quiet()
    assert "hermes-tui sessions export" in terminal.text
    assert not list(tmp_path.rglob("*.md"))
