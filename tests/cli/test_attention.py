"""`hermes-tui attention` and `status`: what needs a person, by a real process and real files."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.attention.shared import SharedCounts, shared_file
from hermes_tui.cli.execute import execute
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform import memory_tuning, paths
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.reading.files import METER
from support import STORES
from tiny_home import TinyHome, tree_hash

Cli = Callable[..., Any]
PROBLEMS = "hermes-tui: {} could not be read or only in part; `hermes-tui doctor` says why\n"
"""Two are those of adapters that are made wrongly."""
SESSION = "e83ad329-19e8-4541-be44-22c2ad4a47cf"


@pytest.fixture
def claude(tiny_home: TinyHome) -> Path:
    """Claude Code's store of one session, whose last prompt was just given."""
    home = tiny_home.home / ".claude"
    (sample,) = (STORES / "claude" / "home" / ".claude" / "projects").glob(f"*/{SESSION}.jsonl")
    target = home / "projects" / "-shop" / sample.name
    target.parent.mkdir(parents=True)
    shutil.copyfile(sample, target)
    (home / "sessions").mkdir()
    return home


def say(claude: Path, record: dict[str, Any]) -> None:
    """The next line of the transcript, said now."""
    (path,) = claude.glob("projects/-shop/*.jsonl")
    last = [json.loads(line) for line in path.read_text().splitlines() if '"uuid"' in line][-1]
    common = {
        "parentUuid": last["uuid"],
        "uuid": os.urandom(8).hex(),
        "isSidechain": False,
        "sessionId": SESSION,
        "timestamp": datetime.now(UTC).isoformat(),
        "cwd": "/shop",
    }
    with path.open("a") as file:
        file.write(json.dumps({**common, **record}) + "\n")


def run_tool(claude: Path, command: str = "rm -rf build") -> None:
    call = {"type": "tool_use", "id": f"toolu_{command}", "name": "Bash", "input": {"command": command}}
    say(claude, {"type": "user", "message": {"role": "user", "content": "Tidy up"}})
    reply = {"id": "msg_1", "role": "assistant", "model": "m", "content": [call]}
    say(claude, {"type": "assistant", "message": reply})


def be_live(claude: Path, status: str, waits_for: str | None = None) -> None:
    """Have this very process be the one that has the session open."""
    start = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    moment = datetime.now(UTC).timestamp() * 1000
    facts = {"sessionId": SESSION, "procStart": start, "status": status, "statusUpdatedAt": moment}
    (claude / "sessions" / f"{os.getpid()}.json").write_text(json.dumps({**facts, "waitingFor": waits_for}))


def told(cli: Cli) -> dict[str, Any]:
    ran = cli("attention", "--json")
    assert (ran.code, ran.err) == (0, PROBLEMS.format(2))
    return {one["unifiedId"]: one for one in json.loads(ran.out)["sessions"]}


def test_what_needs_a_person_is_said_with_its_evidence(claude: Path, cli: Cli) -> None:
    assert told(cli) == {}, "what is older than the first look counts as seen"
    run_tool(claude)
    be_live(claude, "busy")
    (works,) = told(cli).values()
    assert (works["state"], works["tool"], works["text"]) == ("working", "Bash", "rm -rf build")
    assert works["pid"] == os.getpid()
    assert not works["needsPerson"]
    be_live(claude, "waiting", "permission prompt")
    (waits,) = told(cli).values()
    assert (waits["state"], waits["needsPerson"]) == ("approval", True)
    assert [one["words"] for one in waits["evidence"]] == [
        "a call of Bash without a result",
        f"process {os.getpid()} says waiting (permission prompt)",
    ]
    text = cli("attention").out
    assert re.search(r"^need you\n  approval +now  claude:e83ad329\S* .* Bash rm -rf build +-\n$", text), text


def test_an_id_has_a_line_of_its_own_where_there_is_no_room(
    claude: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(cli)
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    monkeypatch.setenv("COLUMNS", "80")
    need, doing, name = cli("attention").out.splitlines()
    assert (need, name) == ("need you", f"    claude:{SESSION}")
    assert re.search(r"^  approval +now  \S.*  Bash rm -rf build$", doing), doing
    monkeypatch.setenv("COLUMNS", "40")
    assert cli("attention").out.splitlines()[1:] == [f"{doing[:39]}…", name]


def test_a_process_that_died_in_the_middle_is_gone(claude: Path, cli: Cli) -> None:
    assert told(cli) == {}
    run_tool(claude)
    (found,) = told(cli).values()
    assert found["state"] == "gone"
    assert found["evidence"][-1]["words"] == "no process has the session open"


def test_an_id_is_told_so_that_other_commands_take_it(claude: Path, cli: Cli) -> None:
    told(cli)
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    assert f" claude:{SESSION} " in cli("attention").out


def test_what_is_done_needs_somebody_until_it_was_seen(claude: Path, cli: Cli) -> None:
    assert told(cli) == {}
    say(claude, {"type": "user", "message": {"role": "user", "content": "Tidy up"}})
    text = [{"type": "text", "text": "Done."}]
    say(claude, {"type": "assistant", "message": {"id": "m", "role": "assistant", "model": "m", "content": text}})
    (found,) = told(cli).values()
    assert (found["state"], found["needsPerson"]) == ("done", True)
    assert cli("attention", "--seen").out.startswith("need you\n  done ")
    assert told(cli) == {}


def test_one_line_for_a_status_bar(claude: Path, cli: Cli) -> None:
    assert cli("status").out == "0 need you, 0 working\n"
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    assert cli("status").out == "1 need you, 0 working\n"
    assert cli("status", "--format", "{approval}/{question}/{done}").out == "1/0/0\n"
    for wrong in ("{nothing}", "{", "{need.x}", "{need[0]}", "{0}", "{need:>9999999999}"):
        ran = cli("status", "--format", wrong)
        assert (ran.code, ran.out) == (2, "")
        assert "cannot be filled in; known are need, working" in ran.err


def test_nothing_is_said_to_need_anybody_where_nothing_does(cli: Cli) -> None:
    assert cli("attention").out == "Nothing needs you, and nothing is at work.\n"


def test_no_store_is_touched(claude: Path, cli: Cli, tiny_home: TinyHome) -> None:
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    before = tree_hash(claude)
    told(cli)
    assert tree_hash(claude) == before


def test_hostile_words_do_no_harm(claude: Path, cli: Cli) -> None:
    assert told(cli) == {}
    say(claude, {"type": "user", "message": {"role": "user", "content": "Tidy up"}})
    call = {"type": "tool_use", "id": "t", "name": "B\x1b]0;x\x07ash", "input": {"command": "\x1b[2Jrm\n-rf\u202e /"}}
    say(claude, {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [call]}})
    be_live(claude, "wai\x1bting", "\x1b]52;c;x\x07")
    for arguments in (("attention",), ("attention", "--json")):
        assert not set(cli(*arguments).out) & set("\x1b\x07\u202e")


def test_beside_a_running_program_status_asks_only_that(cli: Cli, claude: Path, tiny_home: TinyHome) -> None:
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    shared = SharedCounts(shared_file(Environment(home=tiny_home.home.resolve()), paths.cache_dir()))
    shared.keep({"need": 5, "working": 41, "approval": 3})
    read = METER.opened
    assert cli("status").out == "5 need you, 41 working\n"
    assert cli("status", "--format", "{approval}").out == "3\n"
    assert METER.opened == read
    shared.close()
    assert cli("status").out == "1 need you, 0 working\n"


def test_beside_a_program_whose_settings_name_a_server_of_hectors(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It has stores that no variable names, and status looked for itself each time."""
    settings = tmp_path / "config.toml"
    settings.write_text('[hector]\ndsn = ["postgresql://nobody@127.0.0.1:1/none"]\n')
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(settings))
    shared = SharedCounts(shared_file(SessionManager().environment, paths.cache_dir()))
    shared.keep({"need": 5, "working": 41})
    assert execute(["status"]) == 0
    assert capfd.readouterr().out == "5 need you, 41 working\n"
    shared.close()


def test_status_where_there_is_no_home(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOME", "~")
    assert execute(["status"]) == 2
    assert capfd.readouterr().err.startswith("hermes-tui: HOME is '~', which is no directory; set it to one")


def test_a_session_that_runs_in_no_pane_cannot_be_jumped_to(claude: Path, cli: Cli) -> None:
    ran = cli("jump", f"claude:{SESSION}")
    assert ran.code == 1
    assert "no process has the session open, so it is in no pane" in ran.err
    be_live(claude, "busy")
    ran = cli("jump", "claude", SESSION[:8])
    assert ran.code == 1
    assert re.search(rf"process {os.getpid()} runs in|this terminal is not in tmux|tmux is not on PATH", ran.err)
    assert cli("jump").code == 8, "no session needs a person"


def test_what_could_not_be_read_is_said(claude: Path, cli: Cli) -> None:
    (claude / "projects/-shop/00000000-0000-4000-8000-000000000000.jsonl").write_bytes(b"\0" * 4096)
    found = cli("attention", "--json")
    assert (found.code, found.err) == (0, PROBLEMS.format(3))


def test_a_watch_tells_a_pipe_at_once(claude: Path, process_environment: dict[str, str]) -> None:
    """It stood in a buffer until there were eight kilobytes of it."""
    be_live(claude, "waiting", "permission")
    command = [sys.executable, "-m", "hermes_tui", "--home", str(claude.parent), "attention", "--watch", "--json"]
    environment = {name: value for name, value in process_environment.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        line = watch.stdout.readline()  # a whole object
        assert watch.poll() is None
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 130
    (shown,) = json.loads(line)["sessions"]
    assert shown["state"] == "approval"


def test_a_watch_tells_that_it_is_asked_for_something_else(claude: Path, process_environment: dict[str, str]) -> None:
    """And goes on where what was seen cannot be known for a while."""
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    marks = Path(process_environment["HOME"]) / ".local/state/hermes-tui/marks.db"
    command = [sys.executable, "-m", "hermes_tui", "--home", str(claude.parent), "attention", "--watch", "--json"]
    with subprocess.Popen(command, env=process_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watch:
        assert watch.stdout is not None and watch.stderr is not None
        (first,) = json.loads(watch.stdout.readline())["sessions"]
        marks.unlink()
        marks.mkdir()
        assert b"cannot be kept" in watch.stderr.readline()
        run_tool(claude, "make clean")
        (second,) = json.loads(watch.stdout.readline())["sessions"]
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 130
    assert [(one["state"], one["text"]) for one in (first, second)] == [
        ("approval", "rm -rf build"),
        ("approval", "make clean"),
    ]


def test_a_watch_parts_what_it_prints(claude: Path, process_environment: dict[str, str]) -> None:
    """All of it is printed again, with an empty line before."""
    run_tool(claude)
    be_live(claude, "waiting", "permission prompt")
    command = [sys.executable, "-m", "hermes_tui", "--home", str(claude.parent), "attention", "--watch"]
    with subprocess.Popen(command, env=process_environment, stdout=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        first = [watch.stdout.readline().decode() for _ in range(2)]
        run_tool(claude, "make clean")
        second = [watch.stdout.readline().decode() for _ in range(2)]
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 130
    assert (first[0], second) == ("need you\n", ["\n", "need you\n"])
    assert "rm -rf build" in first[1]


def test_a_watch_ends_when_nobody_reads_it(claude: Path, process_environment: dict[str, str]) -> None:
    """Though nothing changes any more, and it writes nothing."""
    be_live(claude, "waiting", "permission")
    command = [sys.executable, "-m", "hermes_tui", "--home", str(claude.parent), "attention", "--watch", "--json"]
    with subprocess.Popen(command, env=process_environment, stdout=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline()
        watch.stdout.close()
        assert watch.wait(60) == 141


def test_a_watch_tells_what_is_new_and_has_its_garbage_collected(
    claude: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on for days; commands look for garbage hardly ever."""
    be_live(claude, "waiting", "permission")
    looks: list[int] = []

    def pause(seconds: float) -> None:
        looks.append(gc.get_threshold()[0])
        if len(looks) == 3:
            raise HermesTuiError("enough")

    usual = gc.get_threshold()
    monkeypatch.setattr("hermes_tui.cli.stdout.wait", pause)
    memory_tuning.hurry()
    hurried = gc.get_threshold()[0]
    try:
        found = cli("attention", "--watch", "--json")
    finally:
        gc.set_threshold(*usual)  # without gc.unfreeze(), which would thaw all that conftest.py froze, too
    assert "enough" in found.err
    (shown,) = json.loads(found.out)["sessions"]  # of three looks what the first one saw
    assert shown["state"]
    assert len(looks) == 3
    assert max(looks) < hurried
