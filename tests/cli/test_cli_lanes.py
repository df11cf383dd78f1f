"""`hermes-tui lanes`: what it prints, what it asks, and its exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from databases import locked
from hermes_tui.cli.execute import execute
from hermes_tui.lifecycle.state_db.connection import store
from lifecycle.worlds import gateway
from tiny_home import tree_hash

KEY = "agent:main:discord:dm:70000197"
SESSION = "20260614_104550_73114e68"


class Lanes:
    """The command line on a copy of the sample store."""

    def __init__(self, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capfd = capfd

    def __call__(self, *arguments: str, before: Sequence[str] = ()) -> tuple[int, str, str]:
        return self.execute(*before, "lanes", *arguments)

    def execute(self, *arguments: str) -> tuple[int, str, str]:
        """Any command."""
        self._capfd.readouterr()
        code = execute(["--home", str(self.home), *arguments])
        out, err = self._capfd.readouterr()
        return code, out, err

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json")[1])


@pytest.fixture
def run(store: Callable[..., Path], capfd: pytest.CaptureFixture[str]) -> Lanes:
    return Lanes(store("hermes", "home"), capfd)


def test_list(run: Lanes) -> None:
    code, out, err = run("list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("default: no gateway runs")
    assert sum("agent:main:" in line for line in lines) == 17
    assert any(re.search(r"slack .*#general › .* shared .* suspended .*:1781000\.0001$", line) for line in lines)
    assert run("list", "--profile", "coder")[1].splitlines()[1].strip() == "(no lanes)"
    assert run("list", "--profile", "nobody")[0] == 2


@pytest.mark.parametrize("columns", [70, 80, 120, 160])
def test_a_list_is_no_wider_than_the_terminal(run: Lanes, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are whole all the same, in a line of their own where there is no room beside what a lane is at."""
    keys = sorted(one["key"] for one in run.json("list")["lanes"])
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = [line for line in run("list")[1].splitlines() if not line.startswith("  note: ")]
    assert sorted(line.split()[-1] for line in lines if "agent:main:" in line) == keys
    assert all(len(line) <= columns for line in lines if not re.search(r"gateway|^    agent:main:", line))
    assert ("    KEY" in lines) == (columns < 160)


def test_list_and_show_as_json(run: Lanes) -> None:
    found = run.json("list")
    assert {one["name"] for one in found["profiles"]} == {"default", "coder"}
    assert len(found["lanes"]) == 17
    lane = run.json("show", KEY)
    assert (lane["key"], lane["sessionId"], lane["state"]) == (KEY, SESSION, "live")


def test_what_a_lane_is_at_and_what_waits_behind_it(run: Lanes) -> None:
    """Where the gateway writes that down, as `GatewayRunner` does; the real one keeps its queue to itself."""
    root = run.home / ".hermes"
    calls = json.dumps([{"id": "c1", "function": {"name": "web_search", "arguments": '{"query": "docker"}'}}])
    (root / "gateway.lock").touch()
    with gateway(root, Path(sys.executable)) as process:
        said = {"pid": process.pid, "gateway_state": "running", "active_agents": 1, "queued": {KEY: 3}}
        (root / "gateway_state.json").write_text(json.dumps(said))
        assert "└" not in run("list")[1].replace("  └ 3 messages behind the turn", "")
        time.sleep(1.1)  # the start of a process is known to a second, and a turn before it is not its own
        began = time.time()
        with closing(sqlite3.connect(root / "state.db")) as raw, raw:
            insert = "INSERT INTO messages (session_id, role, content, tool_calls, timestamp) VALUES (?, ?, ?, ?, ?)"
            raw.execute(insert, (SESSION, "user", "Look that up", None, began))
            raw.execute(insert, (SESSION, "assistant", "", calls, began))
        lines = run("list")[1].splitlines()
        at = next(at for at, line in enumerate(lines) if line.endswith(KEY))
        since = datetime.fromtimestamp(began).strftime("%H:%M:%S")
        assert "working now" in lines[at]
        assert lines[at + 1].strip() == f"└ working since {since}: web_search docker; 3 messages behind the turn"
        shown = run("show", KEY)[1]
        assert f"working since {since}: web_search docker" in shown and "3 messages behind the turn" in shown
        (lane,) = [one for one in run.json("list")["lanes"] if one["key"] == KEY]
        assert (lane["turn"]["state"], lane["turn"]["tool"], lane["queued"]) == ("working", "web_search", 3)
        del said["queued"]
        (root / "gateway_state.json").write_text(json.dumps(said))
        assert "not known: the gateway keeps it in its memory" in run("show", KEY)[1]
    assert "turn" not in run.json("show", KEY)


def test_a_lane_that_may_only_not_be_readable(run: Lanes) -> None:
    """That there is none is not said without what could not be read."""
    (run.home / ".hermes" / "sessions" / "sessions.json").unlink()
    (run.home / ".hermes" / "state.db").write_bytes(b"no database at all\n" * 500)
    for arguments in (("show", KEY), ("reset", KEY, "--yes")):
        code, _, err = run(*arguments)
        assert (code, "not everything could be read: " in err) == (8, True)
        assert "not an SQLite database" in err
    for form in ((), ("--json",)):
        code, _, err = run("list", *form)
        assert (code, "not an SQLite database" in err) == (0, True)


def test_profiles_that_cannot_be_listed_are_said(run: Lanes) -> None:
    profiles = run.home / ".hermes" / "profiles"
    profiles.rename(run.home / "profiles")
    profiles.symlink_to(profiles)  # whose folder leads to itself, which root cannot list either
    said = f"{profiles}: the profiles cannot be listed: Too many levels of symbolic links"
    code, _, err = run("list")
    assert (code, said in err) == (0, True)
    for command in (("list",), ("prune", "--days", "3", "--dry-run")):
        code, _, err = run(*command, "--profile", "coder")
        assert (code, f"no Hermes profile 'coder'; known are default; but {said}" in err) == (2, True)


def test_no_hermes_home(run: Lanes, tmp_path: Path) -> None:
    run.home = tmp_path / "nothing"
    run.home.mkdir()
    code, out, _ = run("list")
    assert (code, f"{run.home / '.hermes'} is not there; set HERMES_HOME" in out) == (0, True)
    assert "is not there" in run.json("list")["noHome"]
    for arguments, expected in ((("show", KEY), 8), (("list", "--profile", "x"), 2), (("prune", "--days", "1"), 2)):
        code, _, err = run(*arguments)
        assert (code, "no Hermes home was found: " in err) == (expected, True)


def test_show_by_the_end_of_a_key(run: Lanes) -> None:
    code, out, _ = run("show", "dm:70000197")
    assert code == 0
    assert out.startswith(KEY)
    for text in ("platform discord", SESSION, "policy         never", "30,701"):
        assert text in out
    code, _, err = run("show", "nobody")
    assert (code, "there is no lane 'nobody'" in err) == (8, True)
    code, _, err = run("show", "5")
    assert code == 0  # …group:-100700001:5 alone ends so
    code, _, err = run("show", "")
    assert code == 8


def test_a_key_in_two_profiles(run: Lanes) -> None:
    coder = run.home / ".hermes" / "profiles" / "coder" / "sessions"
    coder.mkdir()
    (coder / "sessions.json").write_bytes((run.home / ".hermes" / "sessions" / "sessions.json").read_bytes())
    code, _, err = run("show", KEY)
    assert code == 8
    assert "several lanes are meant" in err
    assert run("show", KEY, "--profile", "coder")[0] == 0


def test_a_dry_run_changes_nothing(run: Lanes) -> None:
    before = tree_hash(run.home)
    code, out, _ = run("reset", KEY, "--dry-run")
    assert code == 0
    assert "ends 20260614_104550_73114e68 with reason session_reset" in out
    assert "the next message goes into the new session" in out
    assert run("clear", KEY, "--dry-run")[0] == 10
    assert run.json("suspend", KEY, "--dry-run")["plan"]["writes"] == ["sets the lane's mark `suspended`"]
    assert tree_hash(run.home) == before


def test_nobody_there_to_ask(run: Lanes) -> None:
    before = tree_hash(run.home)
    code, _, err = run("reset", KEY)
    assert code == 10
    assert "nobody is there to confirm the plan" in err
    assert tree_hash(run.home) == before


def test_reset_log_and_undo(run: Lanes) -> None:
    code, out, _ = run("reset", "discord:dm:70000197", "--yes")
    assert code == 0
    operation = out.splitlines()[-1].split()[0]
    new = run.json("show", KEY)["sessionId"]
    assert new in out.splitlines()[-1]
    assert new != SESSION
    code, log, _ = run("log")
    assert code == 0
    assert re.match(rf"{operation}  .*  done      reset {KEY}: the lane is in the new session {new}", log)
    code, _, err = run("undo", operation, "--yes", "--profile", "coder")
    assert (code, "was on profile 'default', not on 'coder'" in err) == (2, True)
    assert run("undo", operation, "--yes")[0] == 0
    assert run.json("show", KEY)["sessionId"] == SESSION
    assert [one["state"] for one in run.json("log")] == ["done", "undone"]
    assert run("undo", operation, "--yes")[0] == 10
    assert run("undo", "nothing", "--yes")[0] == 2


def test_the_log_of_one_profile(run: Lanes) -> None:
    run("suspend", KEY, "--yes")
    assert [one["request"]["kind"] for one in run.json("log", "--profile", "default")] == ["suspend"]
    assert run.json("log", "--profile", "coder") == []
    assert run("log", "--profile", "nobody")[0] == 2


def test_a_limit_counts_what_is_listed(run: Lanes) -> None:
    """Operations on sessions stand in the same log, and have a list of their own."""
    run("suspend", KEY, "--yes")
    for title in ("first", "second"):
        assert run.execute("hermes", "sessions", "rename", SESSION, title, "--yes")[0] == 0
    assert [one["request"]["kind"] for one in run.json("log", "--limit", "1")] == ["suspend"]
    run("resume", KEY, SESSION, "--yes")
    found = json.loads(run.execute("hermes", "sessions", "log", "--limit", "2", "--json")[1])
    assert [one["request"]["title"] for one in found] == ["second", "first"]


def test_every_other_operation(run: Lanes) -> None:
    assert run("mark", KEY, "--yes", "--reason", "shutdown_timeout")[0] == 0
    assert run.json("show", KEY)["resumeReason"] == "shutdown_timeout"
    assert run("clear", KEY, "--yes")[0] == 0
    assert run.json("show", KEY)["state"] == "live"
    assert run("suspend", KEY, "--yes")[0] == 0
    assert run.json("show", KEY)["state"] == "suspended"
    key = "agent:main:telegram:dm:700001"
    assert run("resume", key, "20260614_162517_8648cd1d", "--yes")[0] == 0
    assert run.json("show", key)["sessionId"] == "20260614_162517_8648cd1d"
    assert run("resume", key, "20260614_041927_75ba28", "--yes")[0] == 10
    assert run("resume", key, "20260614_041927_75ba28", "--yes", "--force")[0] == 0
    assert run("prune", "--days", "1", "--yes")[0] == 0
    # What was suspended stays, and so does what was just used.
    assert {one["key"] for one in run.json("list")["lanes"]} == {
        KEY,
        key,
        "agent:main:slack:channel:C0700001:1781000.0001",
    }
    assert run("prune", "--days", "0", "--yes")[0] == 2
    assert run("mark", KEY, "--yes", "--reason", "because")[0] == 2


def test_the_end_of_a_key_may_begin_after_a_semicolon(run: Lanes) -> None:
    """As of a key of iMessage: the address is what people know."""
    key = "agent:main:bluebubbles:dm:iMessage;-;+15550001"
    index = run.home / ".hermes" / "sessions" / "sessions.json"
    members = json.loads(index.read_text())
    members[key] = members[KEY] | {"session_key": key}
    index.write_text(json.dumps(members))
    for name in ("+15550001", "iMessage;-;+15550001", key):
        assert run.json("show", name)["key"] == key
    assert run("show", "5550001")[0] == run("show", "nobody")[0] != 0


def test_an_expired_lane_is_called_so(run: Lanes) -> None:
    (run.home / ".hermes" / "config.yaml").write_text("session_reset: {mode: idle, idle_minutes: 60}\n")
    assert {one["key"]: one["state"] for one in run.json("list")["lanes"]}[KEY] == "expired"
    assert re.search(rf" expired +at the next message +{KEY}\n", run("list")[1])
    assert "  state          expired\n" in run("show", KEY)[1]


def test_a_lane_without_its_database_says_so(run: Lanes) -> None:
    """It was shown with no messages and no tokens, as if that were so."""
    database = run.home / ".hermes" / "state.db"
    database.write_bytes(b"no database" * 1000)
    code, out, err = run("show", KEY)
    assert (code, "messages       0" in out) == (0, True)
    assert f"{database}: it is not an SQLite database; the lanes are shown as sessions.json has them" in err
    database.unlink()
    assert f"there is no database {database}" in run("show", KEY)[2]
    # The store is found, it said, and had no problem.
    assert f"  ! there is no database {database}; sessions.json has 17 lanes" in run.execute("doctor")[1]


def test_a_plan_to_drop_no_lane_speaks_of_lanes(run: Lanes) -> None:
    """Of sessions, none of which is ever dropped with a lane, it spoke."""
    code, out, _ = run("prune", "--days", "36500", "--yes")
    assert (code, out.splitlines()[0]) == (10, "prune: 0 lanes (profile default)")


def test_json_of_an_operation_and_of_its_refusal(run: Lanes) -> None:
    found = run.json("suspend", KEY, "--yes")
    assert found["outcome"]["state"] == "done"
    assert found["plan"]["request"] == {"kind": "suspend", "key": KEY}
    code, out, _ = run("suspend", KEY, "--yes", "--json")
    assert code == 10
    assert json.loads(out)["error"] == {"code": "REFUSED", "message": "suspend: it is suspended already"}


def test_read_only(run: Lanes) -> None:
    before = tree_hash(run.home)
    code, _, err = run("suspend", KEY, "--yes", before=["--read-only"])
    assert (code, "read-only" in err) == (10, True)
    assert run("suspend", KEY, "--dry-run", before=["--read-only"])[0] == 0
    code, _, err = run("suspend", KEY, before=["--read-only"])  # it asked, and said that --yes would do it
    assert (code, "read-only" in err, "--yes" in err) == (10, True, False)
    assert run("list", before=["--read-only"])[0] == 0
    assert tree_hash(run.home) == before


def test_read_only_in_the_settings(run: Lanes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("read_only = true\n")
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(tmp_path / "config.toml"))
    assert run("suspend", KEY, "--yes")[0] == 10


def test_pending_and_lost_have_their_codes(run: Lanes) -> None:
    home = run.home / ".hermes"
    with gateway(home):
        code, out, _ = run("list")
        assert "gateway running (pid" in out
        assert "Hermes 0.19)" in out
        code, out, _ = run("reset", KEY, "--yes")
        assert code == 12
        assert "pending" in out and "the lane's next message begins a fresh session" in out
        assert run.json("log")[0]["state"] == "pending"
        code, _, err = run("mark", KEY, "--yes")
        assert (code, "a gateway is running" in err) == (10, True)


def test_who_is_waited_for_is_said_once(run: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_TIMEOUT", 1)
    pids: list[int] = []
    pauses: list[float] = []
    database = run.home / ".hermes" / "state.db"
    with locked(database) as release:

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                pids.append(release())

        monkeypatch.setattr(time, "sleep", sleep)
        code, out, err = run("suspend", KEY, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["outcome"]["state"] == "done"
    assert re.fullmatch(
        rf"hermes-tui: process {pids[0]} \(python\S*\) keeps {re.escape(str(database))} locked; "
        r"trying on, for 16 s at most\n",
        err,
    )


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 10), ("", 10)])
def test_a_person_is_asked(run: Lanes, process_environment: dict[str, str], answer: str, code: int) -> None:
    """In a pseudo-terminal: the default is no."""
    before = tree_hash(run.home)
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "hermes_tui", "--home", str(run.home), "lanes", "suspend", KEY]
    with subprocess.Popen(
        command, env=process_environment, stdin=follower, stdout=follower, stderr=follower
    ) as process:
        os.close(follower)
        said = b""
        while b"Do it? [y/N]" not in said:
            assert select.select([leader], [], [], 60)[0], said
            said += os.read(leader, 4096)
        os.write(leader, f"{answer}\n".encode())
        while True:
            try:
                more = os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
        assert process.wait(60) == code
    os.close(leader)
    assert (tree_hash(run.home) == before) == (code == 10)
    assert b"suspend: " + KEY.encode() in said


def test_hostile_names_do_not_reach_the_terminal(run: Lanes) -> None:
    index = run.home / ".hermes" / "sessions" / "sessions.json"
    members = json.loads(index.read_text())
    evil = "\x1b[2J\u202egpj\r\nx"
    members["agent:main:x:dm:1"] = {
        **members[KEY],
        "session_key": "agent:main:x:dm:1",
        "display_name": evil,
        "auto_reset_reason": evil,
        "was_auto_reset": True,
    }
    index.write_text(json.dumps(members))
    for arguments in (("list",), ("show", "agent:main:x:dm:1"), ("reset", "agent:main:x:dm:1", "--dry-run")):
        _, out, err = run(*arguments)
        assert not set(out + err) & set("\x1b\u202e\r")


def test_history(run: Lanes) -> None:
    code, out, err = run("history", KEY)
    told = run.json("history", KEY)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == told["answer"]
    ids = [one["sessionId"] for one in told["sessions"]]
    assert ids[0] == run.json("show", KEY)["sessionId"]
    assert [line.split()[0] for line in out.splitlines() if line.split()[:1] and line.split()[0] in ids] == ids
    assert run("history", "nobody")[0] == 8
