"""`sessions resume` and `fork` as real processes, with stand-ins for the agents' programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from standins import StandIns
from support import PATIENCE
from terminal import Terminal

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def programs(tmp_path: Path) -> StandIns:
    return StandIns(tmp_path / "programs")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of Claude Code, held in `tmp_path / "my work"`."""
    (tmp_path / "my work").mkdir()
    home = ClaudeHome(tmp_path / "home")
    path = home.session("Fix it")
    path.write_text(path.read_text().replace("/home/dev/shop", str(tmp_path / "my work")))
    return path


@pytest.fixture
def variables(programs: StandIns, session: Path) -> dict[str, str]:
    """The environment of a user who has the programs and the session."""
    return {**os.environ, "HOME": str(session.parents[3]), "PATH": str(programs.bin), "SECRET": "kept"}


@pytest.fixture
def run(variables: dict[str, str]) -> Run:
    """`run("resume", "claude", ID)`, without a terminal."""

    def start(*arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "hermes_tui", "sessions", *arguments]
        return subprocess.run(
            command,
            env={**variables, **more},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=180,
            check=False,
        )

    return start


Sit = Callable[..., Terminal]


@pytest.fixture
def sit(variables: dict[str, str]) -> Iterator[Sit]:
    """`sit("resume", "claude", ID)`, before a terminal."""
    seats: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        argv = [sys.executable, "-m", "hermes_tui", "sessions", *arguments]
        home = Path(variables["HOME"])
        kept = {name: variables[name] for name in ("PATH", "SECRET")}
        seats.append(Terminal(argv, home=home, variables=kept))
        return seats[-1]

    yield start
    for terminal in seats:
        terminal.close()


@pytest.mark.parametrize(("verb", "more"), [("resume", []), ("fork", ["--fork-session"])])
def test_the_program_gets_argv_directory_and_variables(
    run: Run, programs: StandIns, session: Path, tmp_path: Path, verb: str, more: list[str]
) -> None:
    programs.add("claude", code=5)
    ran = run(verb, "claude", session.stem)
    assert ran.returncode == 5, ran.stderr
    record = programs.record("claude")
    assert record["argv"][1:] == ["--resume", session.stem, *more]
    assert record["cwd"] == record["env"]["PWD"] == str(tmp_path / "my work")
    assert record["env"]["SECRET"] == "kept"
    # What whoever runs the tests ignores (`nohup`) stays so; what Python alone ignores does not.
    pythons_own = {signal.SIGPIPE, signal.SIGXFSZ}
    ours = {int(one) for one in signal.valid_signals() - pythons_own if signal.getsignal(one) == signal.SIG_IGN}
    assert set(record["ignored"]) == ours


def test_the_program_does_not_inherit_what_python_ignores(run: Run, programs: StandIns, session: Path) -> None:
    """SIGPIPE: bit 13 of what a shell started in our place ignores."""
    path = programs.bin / "claude"
    path.write_text(
        "#!/bin/sh\nwhile read -r name bits; do case $name in SigIgn:) echo $bits;; esac; done </proc/$$/status\n"
    )
    path.chmod(0o755)
    assert int(run("resume", "claude", session.stem).stdout, 16) & (1 << 12) == 0
    ours = subprocess.run([path], stdout=subprocess.PIPE, check=True, restore_signals=False)
    assert int(ours.stdout, 16) & (1 << 12), "the test would not notice"


def test_the_id_may_be_given_as_elsewhere(run: Run, programs: StandIns, session: Path) -> None:
    programs.add("claude")
    assert run("resume", f"claude:{session.stem}").returncode == 0
    assert run("resume", "claude", session.stem[:12]).returncode == 0
    assert programs.record("claude")["argv"][2] == session.stem
    assert run("resume", "claude").returncode == 2
    assert run("resume", "claude", "nope").returncode == 8
    assert run("resume", "nobody", "one").returncode == 3


def test_print_starts_nothing_and_can_be_pasted(run: Run, programs: StandIns, session: Path, tmp_path: Path) -> None:
    programs.add("claude", code=3)
    ran = run("fork", "claude", session.stem, "--print")
    assert ran.returncode == 0
    assert not programs.was_started("claude")
    assert ran.stdout.decode() == (f"cd -- '{tmp_path}/my work' && claude --resume {session.stem} --fork-session\n")
    pasted = subprocess.run(
        ["/bin/sh", "-c", ran.stdout], env={"PATH": f"{programs.bin}", "HOME": "/x"}, check=False, capture_output=True
    )
    assert pasted.returncode == 3
    assert programs.record("claude")["argv"][1:] == ["--resume", session.stem, "--fork-session"]
    assert programs.record("claude")["cwd"] == str(tmp_path / "my work")


def test_print_says_what_stands_in_the_way(run: Run, session: Path, tmp_path: Path) -> None:
    (tmp_path / "my work").rmdir()
    ran = run("resume", "claude", session.stem, "--print")
    assert ran.returncode == 0
    assert b"not on PATH" in ran.stderr and b"is gone; choose another with --cwd DIR" in ran.stderr


def test_nothing_starts_where_something_is_missing(
    run: Run, programs: StandIns, session: Path, tmp_path: Path
) -> None:
    ran = run("resume", "claude", session.stem)
    assert ran.returncode == 4
    assert b"claude is not on PATH" in ran.stderr and b"Traceback" not in ran.stderr
    programs.add("claude")
    (tmp_path / "my work").rmdir()
    ran = run("resume", "claude", session.stem, "--yes")
    assert ran.returncode == 2
    assert b"is gone; choose another with --cwd DIR" in ran.stderr
    assert not programs.was_started("claude")


def test_another_directory_has_to_be_agreed_to(run: Run, programs: StandIns, session: Path, tmp_path: Path) -> None:
    programs.add("claude")
    (tmp_path / "other").mkdir()
    chosen = ("resume", "claude", session.stem, "--cwd", str(tmp_path / "other"))
    ran = run(*chosen)
    assert ran.returncode == 10
    assert b"held in" in ran.stderr and b"--yes" in ran.stderr
    assert not programs.was_started("claude")
    assert run(*chosen, "--yes").returncode == 0
    assert programs.record("claude")["cwd"] == str(tmp_path / "other")


def test_a_program_that_is_no_program(run: Run, programs: StandIns, session: Path) -> None:
    """An error of the system is one sentence, and the exit code is ours."""
    path = programs.bin / "claude"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    ran = run("resume", "claude", session.stem)
    assert ran.returncode == 1
    assert ran.stderr.decode().count("\n") == 1 and "claude cannot be started" in ran.stderr.decode()


def _waits(terminal: Terminal, programs: StandIns) -> None:
    terminal.until("READY claude")
    assert programs.record("claude")["terminal"] == {"ICANON": True, "ECHO": True, "ISIG": True}


def test_ctrl_c_is_the_programs_own(sit: Sit, programs: StandIns, session: Path) -> None:
    programs.add("claude", waits=True)
    terminal = sit("resume", "claude", session.stem)
    _waits(terminal, programs)
    assert programs.record("claude")["pid"] == terminal.pid, "it runs in our place"
    terminal.send("\x03")
    assert terminal.wait() == 7, terminal.text
    assert programs.record("claude")["signal"] == signal.SIGINT
    assert "interrupted" in terminal.text and "Traceback" not in terminal.text


def test_what_is_typed_goes_to_the_program(sit: Sit, programs: StandIns, session: Path) -> None:
    programs.add("claude", waits=True, code=9)
    terminal = sit("resume", "claude", session.stem)
    _waits(terminal, programs)
    terminal.send("hello\n")
    assert terminal.wait() == 9
    assert programs.record("claude")["line"] == "hello\n"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 6), ("\n", 10), ("n\n", 10), ("\x03", 130)])
def test_a_warning_is_answered_before_anything_starts(
    sit: Sit, programs: StandIns, session: Path, tmp_path: Path, answer: str, code: int
) -> None:
    programs.add("claude", code=6)
    terminal = sit("resume", "claude", session.stem, "--cwd", str(tmp_path))
    terminal.until("Start it? [y/N]")
    assert not programs.was_started("claude")
    assert f"claude--resume{session.stem}" in "".join(terminal.text.split())  # wherever a line was full
    terminal.send(answer)
    assert terminal.wait(again=answer if code == 130 else "") == code
    assert programs.was_started("claude") is (code == 6)


def test_the_exit_by_a_signal_is_seen_too(variables: dict[str, str], programs: StandIns, session: Path) -> None:
    programs.add("claude", waits=True)
    command = [sys.executable, "-m", "hermes_tui", "sessions", "resume", "claude", session.stem]
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"READY claude\n"
        assert programs.record("claude")["terminal"] is None
        process.send_signal(signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert process.returncode == -signal.SIGTERM


# What the agent still sees ------------------------------------------------------------------------------------


def test_show_context_prints_what_is_seen_and_says_how_much(run: Run, session: Path) -> None:
    plain = run("show", "claude", session.stem)
    ran = run("show", "claude", session.stem, "--context")
    assert (ran.returncode, ran.stdout) == (0, plain.stdout)
    assert ran.stderr.decode().startswith("hermes-tui: claude sees all 2 messages, ≈ ")
    one = run("show", "claude", session.stem, "--strategy", "buffer_window:1", "--format", "jsonl")
    assert one.stdout.count(b"\n") == 2, "the session's line, and one message"
    assert "sees 1 of 2 messages" in one.stderr.decode() and "buffer_window 1 (chosen)" in one.stderr.decode()
    wrong = run("show", "claude", session.stem, "--strategy", "novel")
    assert wrong.returncode == 2 and b"buffer_window" in wrong.stderr
