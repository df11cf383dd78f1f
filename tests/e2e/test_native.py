"""Handing the terminal to an agent's program and coming back, in a real tmux, with stand-ins for the programs."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from claude_lines import ClaudeHome
from standins import StandIns
from support import PATIENCE
from system_programs import required_program
from terminal import Terminal
from tmuxes import Tmux, until

pytestmark = [pytest.mark.e2e, pytest.mark.needs("tmux")]

_COOKED = {"ICANON": True, "ECHO": True, "ISIG": True}


@pytest.fixture
def home(tmp_path: Path) -> ClaudeHome:
    """Five sessions that were held in a directory that is there."""
    made = ClaudeHome(tmp_path / "home")
    (tmp_path / "work").mkdir()
    for number in range(5):
        path = made.session(f"Session n{number}x", turns=2)
        path.write_text(path.read_text().replace("/home/dev/shop", str(tmp_path / "work")))
    return made


@pytest.fixture
def programs(tmp_path: Path) -> StandIns:
    """With tmux among them, wherever that is."""
    made = StandIns(tmp_path / "programs")
    (made.bin / "tmux").symlink_to(required_program("tmux"))
    return made


@pytest.fixture
def variables(home: ClaudeHome, programs: StandIns) -> dict[str, str]:
    path = f"{programs.bin}:/usr/bin:/bin"
    return {"HOME": str(home.home), "LC_ALL": "C.UTF-8", "COLORTERM": "truecolor", "PATH": path}


@pytest.fixture
def tmux(variables: dict[str, str]) -> Iterator[Tmux]:
    """The program in a window of tmux; TMUX is set, as tmux does."""
    with Tmux((100, 30), [sys.executable, "-m", "hermes_tui"], variables) as server:
        yield server


@pytest.fixture
def bare(tmux: Tmux, variables: dict[str, str]) -> Iterator[Tmux]:
    """The same where TMUX is not set, as in a plain terminal."""
    command = ["env", "-u", "TMUX", *(f"{name}={value}" for name, value in variables.items())]
    tmux.run("respawn-pane", "-k", *command, sys.executable, "-m", "hermes_tui")
    yield tmux


def _third(tmux: Tmux) -> None:
    """The cursor on the third session."""
    tmux.until("5 sessions", "Session n4x", "↵ open")
    tmux.keys("Down", "Down")


def _started(tmux: Tmux, programs: StandIns) -> None:
    end = time.monotonic() + PATIENCE
    while not programs.was_started("claude"):
        assert time.monotonic() < end, tmux.text()
        time.sleep(0.05)


def test_here_and_back_to_the_same_place(bare: Tmux, programs: StandIns, home: ClaudeHome, tmp_path: Path) -> None:
    programs.add("claude", waits=True)
    _third(bare)
    before = bare.text()
    bare.type("r")
    bare.until("claude --resume", "Resume with Claude Code?", "[ Cancel ]", "Here (y)", "sessions resume claude")
    bare.agree("y")
    bare.until("READY claude", absent="Session n4x")
    record = programs.record("claude")
    assert record["terminal"] == _COOKED
    assert record["cwd"] == str(tmp_path / "work")
    assert record["ignored"] == []
    assert record["env"]["HOME"] == str(home.home)
    (wanted,) = [path.stem for path in home.projects.rglob("*.jsonl") if "n2x" in path.read_text()]
    assert record["argv"][1:] == ["--resume", wanted]
    bare.keys("Enter")
    after = bare.until("↵ open", "Session n4x", absent="READY")
    assert _cursor_line(after) == _cursor_line(before)
    bare.keys("Down")
    bare.type("q")
    bare.until_it_ends()


def _cursor_line(text: str) -> list[str]:
    """The list, and the detail line, which tells where the cursor is; without what grows with time."""
    return [line for line in text.splitlines() if "n2x" in line]


def test_who_worked_in_a_session_here_has_seen_it(bare: Tmux, programs: StandIns, home: ClaudeHome) -> None:
    programs.add("claude", waits=True)
    _third(bare)
    bare.type("r")
    bare.until("claude --resume")
    bare.agree("y")
    bare.until("READY claude")
    (path,) = [path for path in home.projects.rglob("*.jsonl") if "n2x" in path.read_text()]
    home.start = datetime.now(UTC)
    home.say(path, "user", "And now this")
    home.say(path, "assistant", "Done, as you have seen")
    bare.keys("Enter")
    bare.until("↵ open", "Session n4x", absent="READY")
    marks = apsw.Connection(str(home.home / ".local" / "state" / "hermes-tui" / "marks.db"))
    marks.set_busy_timeout(5000)
    until(lambda: marks.execute("SELECT id FROM seen").get == f"claude:{path.stem}")
    bare.until("↵ open", absent="needs you")


def test_ctrl_c_ends_the_program_and_not_us(bare: Tmux, programs: StandIns) -> None:
    programs.add("claude", waits=True)
    _third(bare)
    bare.type("F")
    bare.until("claude --resume", "--fork-session", "Fork with Claude Code?")
    bare.agree("y")
    bare.until("READY claude")
    bare.keys("C-c")
    bare.until("interrupted", "ended with exit code 7; Enter returns")
    assert programs.record("claude")["signal"] == signal.SIGINT
    bare.keys("C-c")  # nobody is there to take it any more, and it must not end the program
    bare.keys("Enter")
    bare.until("↵ open", "Claude Code ended with exit code 7")
    bare.keys("Down")
    bare.until("↵ open")
    assert bare.is_there


def test_a_program_that_leaves_the_terminal_in_a_mess(bare: Tmux, programs: StandIns) -> None:
    """Without echo, lines and signals; and the keys that it left unread press nothing."""
    programs.add("claude", waits=True)
    _third(bare)
    bare.type("r")
    bare.until("claude --resume")
    bare.agree("y")
    bare.until("READY claude")
    bare.type("raw\nqqq")
    bare.until("↵ open", "Session n4x")
    time.sleep(0.5)
    assert bare.is_there, "the keys behind it quit the program"
    bare.type("q")
    bare.until_it_ends()


def test_in_tmux_a_window_is_offered(tmux: Tmux, programs: StandIns, tmp_path: Path) -> None:
    programs.add("claude", waits=True)
    _third(tmux)
    tmux.type("r")
    tmux.until("claude --resume", "New window (w)", "Here (y)")
    tmux.agree("w")
    _started(tmux, programs)
    assert "resume claude" in tmux.run("list-windows", "-F", "#{window_name}")
    tmux.until("READY claude")
    record = programs.record("claude")
    assert record["terminal"] == _COOKED
    assert record["cwd"] == str(tmp_path / "work")
    assert record["env"]["PATH"].startswith(str(programs.bin))
    tmux.keys("Enter")
    tmux.until("Session n4x", "↵ open", absent="READY")
    assert tmux.run("list-windows").count("\n") == 1


def test_a_window_whose_program_fails_stays_to_be_read(tmux: Tmux, programs: StandIns) -> None:
    programs.add("claude", waits=True, code=3)
    _third(tmux)
    tmux.type("r")
    tmux.until("claude --resume", "New window (w)")
    tmux.keys("Tab")
    tmux.until("[ New window (w) ]")
    tmux.agree("\r")
    tmux.until("READY claude")
    tmux.keys("Enter")
    tmux.until("READY claude", "claude ended with exit code 3; Enter closes this window")
    tmux.keys("C-c")  # nobody is there to take it any more
    tmux.keys("Enter")
    tmux.until("Session n4x", "↵ open", absent="READY")
    assert tmux.run("list-windows").count("\n") == 1


def test_ctrl_c_in_a_window_is_the_programs(tmux: Tmux, programs: StandIns) -> None:
    programs.add("claude", waits=True)
    _third(tmux)
    tmux.type("r")
    tmux.until("claude --resume", "New window (w)")
    tmux.agree("w")
    tmux.until("READY claude")
    tmux.keys("C-c")
    tmux.until("interrupted", "claude ended with exit code 7")
    assert programs.record("claude")["signal"] == signal.SIGINT
    assert programs.record("claude")["ignored"] == []
    tmux.keys("Enter")
    tmux.until("↵ open", absent="READY")


def test_keys_typed_ahead_start_nothing(bare: Tmux, programs: StandIns) -> None:
    """Law 9."""
    programs.add("claude")
    _third(bare)
    for keys in ("ry", "Fy", "r\ny", "rw"):
        bare.type(keys)
        bare.until("Cancel")
        time.sleep(0.5)
        bare.keys("Escape")
        bare.until("↵ open", absent="Cancel")
    assert not programs.was_started("claude")


def test_nothing_starts_without_the_program_or_the_directory(bare: Tmux, programs: StandIns, tmp_path: Path) -> None:
    _third(bare)
    bare.type("r")
    bare.until("Cannot resume yet", "claude is not on PATH", "[ Cancel ]", absent="Here (y)")
    bare.keys("Escape")
    bare.until("↵ open", absent="Cancel")
    programs.add("claude")
    (tmp_path / "work").rename(tmp_path / "moved")
    bare.type("r")
    bare.until("choose another", "d runs it in another directory", absent="Here (y)")
    bare.type("d")
    bare.keys("C-u")
    bare.until("Run it in another directory")
    bare.type(f"{tmp_path / 'moved'}")
    bare.keys("Enter")
    bare.until("claude --resume", "was held in", "Here (y)")
    bare.agree("y")
    _started(bare, programs)
    bare.until("↵ open", absent="Cancel")
    assert programs.record("claude")["cwd"] == str(tmp_path / "moved")


Sit = Callable[..., Terminal]


def test_what_a_store_says_runs_no_shell(
    tmux: Tmux, tmp_path: Path, programs: StandIns, variables: dict[str, str]
) -> None:
    """tmux ends a command at a word that ends in a semicolon, and runs `#(…)` in a directory's name by a shell."""
    from hermes_tui.sessions.native.plan import Start
    from hermes_tui.sessions.native.start import open_window

    program = programs.add("pi")
    evil = tmp_path / "#(touch pwned);"
    evil.mkdir()
    words = ("--session", "a;b;", "; kill-server ;", "$(touch pwned)", "#{pid}", "`touch pwned`", "x\\;")
    start = Start(
        verb="resume", agent="pi#(touch pwned);", label="Pi", session_id="x", title="", argv=("pi", *words),
        program=str(program), cwd=str(evil), env={"ODD": "#(touch pwned);"},
    )  # fmt: skip
    socket = tmux.run("display-message", "-p", "#{socket_path},#{pid},0").strip()
    window = open_window(start, {"TMUX": socket, "PATH": variables["PATH"], "TERM": "xterm-256color"})
    assert window.startswith("@")
    end = time.monotonic() + PATIENCE
    while not programs.was_started("pi"):
        assert time.monotonic() < end, tmux.text()
        time.sleep(0.05)
    record = programs.record("pi")
    assert record["argv"][1:] == list(words)
    assert record["cwd"] == str(evil)
    assert record["env"]["ODD"] == "#(touch pwned);"
    assert tmux.is_there
    assert not list(tmp_path.rglob("pwned"))
