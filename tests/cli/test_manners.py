"""How the program behaves as a process: pipes, signals, terminals, what it imports, what it leaves behind."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.cli import root as root_module
from hermes_tui.cli.execute import execute
from tiny_home import TinyHome

Spawn = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_a_closed_pipe_is_quiet(tiny_home: TinyHome, process_environment: dict[str, str]) -> None:
    for number in range(200):
        tiny_home.add(f"s{number:04}", title="t" * 90)
    tiny_home.add("long", turns=20_000)
    commands = {
        "sessions list tiny --json --limit 10000": "[\n",
        "sessions list tiny --limit 10000": "AGENT",
        "sessions show tiny long": "# A title",
        "sessions show tiny long --format jsonl": "{",
        "--help": "Usage",
    }
    for command, beginning in commands.items():
        script = f'"$0" -m hermes_tui --home "$1" {command} | head -n 1; echo "codes ${{PIPESTATUS[*]}}"'
        ran = subprocess.run(
            ["bash", "-c", script, sys.executable, str(tiny_home.home)],
            env=process_environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        first, codes = ran.stdout.splitlines()
        assert ran.stderr.replace("hermes-tui: 1 could not", "") == "" or "Traceback" not in ran.stderr
        assert "roken" not in ran.stderr
        assert (first + "\n").startswith(beginning)
        assert codes in ("codes 0 0", "codes 141 0")


def test_a_reader_that_closes_at_once_gives_141(tiny_home: TinyHome, process_environment: dict[str, str]) -> None:
    tiny_home.add("long", turns=20_000)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "hermes_tui", "--home", str(tiny_home.home), "sessions", "show", "tiny", "long"]
    ran = subprocess.run(
        command, env=process_environment, stdout=writing, stderr=subprocess.PIPE, timeout=180, check=False
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "</dev/null >/dev/full"])
def test_streams_that_are_closed_or_full(
    tiny_home: TinyHome, process_environment: dict[str, str], closed: str
) -> None:
    tiny_home.add("one")
    script = f'"$0" -m hermes_tui --home "$1" sessions list tiny {closed}'
    ran = subprocess.run(
        ["bash", "-c", script, sys.executable, str(tiny_home.home)],
        env=process_environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    assert ran.returncode in (0, 1, 141)
    if "full" in closed:
        assert ran.returncode == 1
        assert "No space left" in ran.stderr


@pytest.mark.parametrize(("arguments", "code"), [(("sessions", "search", "question"), 0), (("doctor", "--nope"), 2)])
def test_an_error_output_that_is_full_changes_no_exit_code(
    tiny_home: TinyHome, process_environment: dict[str, str], arguments: tuple[str, ...], code: int
) -> None:
    tiny_home.add("one")
    command = [sys.executable, "-m", "hermes_tui", "--home", str(tiny_home.home), *arguments]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command, env=process_environment, stdout=subprocess.DEVNULL, stderr=full, timeout=180, check=False
        )
    assert ran.returncode == code


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_help_that_cannot_be_written_is_said_to_be_just_that(
    process_environment: dict[str, str], option: str
) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "hermes_tui", option]
        ran = subprocess.run(
            command, env=process_environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=180, check=False
        )
    assert (ran.returncode, ran.stderr) == (1, "hermes-tui: cannot write the output: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        command, env=process_environment, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=180, check=False
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_ctrl_c_is_quiet(tiny_home: TinyHome, process_environment: dict[str, str]) -> None:
    os.mkfifo(tiny_home.home / "gate")
    script = (
        "import hermes_tui.cli.home_option as machine, sys\n"
        "real = machine.environment_of\n"
        f"def slow(home):\n    open({str(tiny_home.home / 'gate')!r}).read()\n    return real(home)\n"
        "machine.environment_of = slow\n"
        "from hermes_tui.cli import run\n"
        f"run(['--home', {str(tiny_home.home)!r}, 'sessions', 'list'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=process_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with (tiny_home.home / "gate").open("w"):  # opens when the other side does: it is inside the command now
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def run_in_terminal(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run in a pseudo-terminal; exit code and what was shown."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    shown = b""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_ctrl_c_is_quiet_while_the_program_is_imported() -> None:
    script = """
import sys

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "hermes_tui.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
from hermes_tui.__main__ import main
main()
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=180)
    assert (ran.returncode, ran.stderr) == (130, b"")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_is_refused_with_a_hint(process_environment: dict[str, str], term: str) -> None:
    command = [sys.executable, "-m", "hermes_tui"]
    code, shown = run_in_terminal(command, {**process_environment, "TERM": term})
    assert code == 2
    assert "cannot show a full-screen program" in shown
    assert "hermes-tui sessions list" in shown
    assert shown.count("\n") == 1
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--theme", "mauve"], {}, ["unknown theme 'mauve'", "known are hermes-dark, "]),
        ([], {"TEXTUAL_COLOR_SYSTEM": "lots"}, ["TEXTUAL_COLOR_SYSTEM", "'lots'", "standard, 256, truecolor"]),
    ],
)
def test_colours_that_there_are_not(
    tiny_home: TinyHome,
    process_environment: dict[str, str],
    arguments: list[str],
    variables: dict[str, str],
    words: list[str],
) -> None:
    command = [sys.executable, "-m", "hermes_tui", "--home", str(tiny_home.home), *arguments]
    code, shown = run_in_terminal(command, {**process_environment, "TERM": "xterm-256color", **variables})
    assert code == 2
    assert shown.startswith("hermes-tui: ")
    assert all(word in shown for word in words)
    assert shown.count("\n") == 1
    assert "\x1b" not in shown


@pytest.mark.parametrize("arguments", [(), ("demo",), ("demo", "--static")])
def test_no_terminal_is_refused_with_a_hint(spawn: Spawn, arguments: tuple[str, ...]) -> None:
    ran = spawn(*arguments, TERM="xterm-256color")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"is not a terminal" in ran.stderr
    assert b"hermes-tui sessions list" in ran.stderr
    assert ran.stderr.count(b"\n") == 1


def test_no_colour_is_ever_written(tiny_home: TinyHome, process_environment: dict[str, str]) -> None:
    tiny_home.add("one", title="\x1b[31mred")
    for arguments in (["sessions", "list"], ["sessions", "show", "tiny", "one"], ["doctor"], ["--help"]):
        command = [sys.executable, "-m", "hermes_tui", "--home", str(tiny_home.home), *arguments]
        code, shown = run_in_terminal(command, {**process_environment, "TERM": "xterm-256color"})
        assert code == 0
        assert "\x1b" not in shown


def test_a_bug_becomes_one_line_and_a_log_without_content(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], isolated_home: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("sk-secret-from-a-transcript")

    monkeypatch.setattr("hermes_tui.sessions.manager.SessionManager.list", fail)
    assert execute(["sessions", "list"]) == 1
    out, err = capfd.readouterr()
    log = isolated_home / ".local" / "state" / "hermes-tui" / "hermes-tui.log"
    assert out == ""
    assert err == f"hermes-tui: unexpected error (ZeroDivisionError); details are in {log}\n"
    text = log.read_text()
    assert "ZeroDivisionError" in text
    assert "test_manners.py" in text
    assert "sk-secret" not in text + err
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert execute(["sessions", "list", "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "INTERNAL_ERROR"


def test_the_log_is_rotated_and_never_an_obstacle(
    monkeypatch: pytest.MonkeyPatch, isolated_home: Path, tmp_path: Path
) -> None:
    from hermes_tui.platform.log import write_failure

    error = ValueError("x")
    path = write_failure(error)
    assert path is not None
    path.write_text("x" * 300_000)
    write_failure(error)
    assert sorted(one.name for one in path.parent.iterdir()) == ["hermes-tui.log", "hermes-tui.log.1"]
    assert path.stat().st_size < 10_000
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert write_failure(error) is None


def test_completion_answers_without_running_anything(spawn: Spawn) -> None:
    ran = spawn(_HERMES_TUI_COMPLETE="bash_complete", COMP_WORDS="hermes-tui se", COMP_CWORD="1")
    assert ran.stdout.decode().split() == ["plain,sessions"]


def test_version_and_help(spawn: Spawn) -> None:
    from hermes_tui import __version__

    assert spawn("--version").stdout.decode() == f"hermes-tui {__version__}\n"
    for command in ((), ("sessions",), ("sessions", "list"), ("sessions", "show"), ("doctor",), ("demo",)):
        short, long = spawn(*command, "-h"), spawn(*command, "--help")
        assert short.returncode == long.returncode == 0
        assert short.stdout == long.stdout
        assert short.stdout.startswith(b"Usage: hermes-tui")
    assert all(name.encode() in spawn("--help").stdout for name in root_module.COMMANDS)


@pytest.mark.parametrize("group", ["cost", "index", "lanes", "sessions"])
def test_a_group_without_a_command_shows_its_commands_each_in_a_whole_sentence(spawn: Spawn, group: str) -> None:
    ran = spawn(group, COLUMNS="80")
    assert (ran.returncode, ran.stdout) == (2, b"")
    shown = ran.stderr.decode()
    assert shown == spawn(group, "--help", COLUMNS="80").stdout.decode()
    assert "..." not in shown.split("Commands:")[1]
    assert all(line.endswith(".") for line in shown.split("Commands:\n")[1].splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("atention",), "No such command 'atention'. Did you mean 'attention'? See `hermes-tui --help`"),
        (("sessions", "serch"), "No such command 'serch'. Did you mean 'search'? See `hermes-tui sessions --help`"),
        (("zzz",), "No such command 'zzz'; see `hermes-tui --help`"),
    ],
)
def test_a_mistyped_command_is_told_the_one_that_is_like_it(spawn: Spawn, words: tuple[str, ...], said: str) -> None:
    ran = spawn(*words)
    assert (ran.returncode, ran.stderr.decode()) == (2, f"hermes-tui: {said}\n")


def test_a_home_that_is_not_there(spawn: Spawn, tmp_path: Path) -> None:
    ran = spawn("--home", str(tmp_path / "nowhere"), "sessions", "list")
    assert ran.returncode == 2
    assert b"there is no directory" in ran.stderr


def test_home_by_variable(spawn: Spawn, tiny_home: TinyHome) -> None:
    tiny_home.add("one")
    ran = spawn("sessions", "list", "tiny", "--json", HERMES_TUI_HOME=str(tiny_home.home), TINY_HOME="/nowhere")
    assert [row["sessionId"] for row in json.loads(ran.stdout)] == ["one"]


OPENING = """
import sys
from hermes_tui.cli import run
sys.argv = ["hermes-tui"]
try:
    run()
except SystemExit as end:
    print(end.code, "click" in sys.modules)
"""


def test_opening_takes_no_command_line_apart_and_obeys_the_variable(
    process_environment: dict[str, str], tmp_path: Path
) -> None:
    controller, terminal = pty.openpty()
    ran = subprocess.run(
        [sys.executable, "-c", OPENING],
        env={**process_environment, "TERM": "xterm", "HERMES_TUI_HOME": str(tmp_path / "nowhere")},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        timeout=180,
        check=True,
    )
    assert ran.returncode == 0
    said = os.read(controller, 10_000).decode().split("\r\n")
    os.close(controller)
    os.close(terminal)
    assert said[0] == f"hermes-tui: --home: there is no directory '{tmp_path / 'nowhere'}'"
    assert said[1] == "2 False"


@pytest.mark.parametrize("command", ["index status", "index rebuild", "sessions list", "sessions search x", "doctor"])
def test_a_home_whose_name_is_no_text(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    home = tmp_path / os.fsdecode(b"h\xff")
    home.mkdir()
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    assert execute([*command.split(), "--json"]) == 0
    json.loads(capfdbinary.readouterr().out.decode())


@pytest.mark.parametrize("command", ["index status", "sessions list", "sessions search x", "doctor"])
def test_a_home_that_is_none_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", "~")
    assert execute(command.split()) == 2
    assert capsys.readouterr().err == (
        "hermes-tui: HOME is '~', which is no directory; set it to one, or name one with --home\n"
    )


def test_the_interpreter_is_not_taken_down_beside_threads(process_environment: dict[str, str]) -> None:
    """One that imported while it was made the process crash now and then, after all was done."""
    code = """
import atexit, sys, threading, time
from hermes_tui.cli import run

atexit.register(sys.stdout.write, "taken down\\n")  # which that flushes
atexit.register(print, "tidied up", flush=True)
if {beside}:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
run(["--version"])
"""
    for beside, down in ((True, ""), (False, "taken down\n")):
        ran = subprocess.run(
            [sys.executable, "-c", code.format(beside=beside)],
            env=process_environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert (ran.returncode, ran.stdout.partition("\n")[2]) == (0, f"tidied up\n{down}"), ran.stderr
