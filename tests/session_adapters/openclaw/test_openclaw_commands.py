"""OpenClaw's own commands as argv, their hazards, and which sessions run now."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from openclaw_store import Database, adapter_for, event, folder_of, header, listed, place
from plain_openclaw import HOMES
from session_adapters.base import Environment, Liveness
from session_adapters.openclaw.adapter import OpenClawAdapter

Stored = Callable[..., Path]
SHOP = "agent:main:dashboard:57a7f76e-06e0-48a7-94c2-f3489994fd9b"


def test_capabilities_are_those_of_the_program() -> None:
    can = OpenClawAdapter.capabilities
    assert (can.session_persistence, can.can_resume, can.can_fork) == ("sqlite", True, True)


def test_commands_of_a_session_in_the_database() -> None:
    adapter = adapter_for(HOMES / "home")
    summary = listed(adapter)[SHOP]
    resume, fork = adapter.resume_command(summary), adapter.fork_command(summary)
    assert resume is not None and fork is not None
    assert resume.argv == ("openclaw", "tui", "--session", SHOP)
    assert fork.argv[:5] == ("openclaw", "gateway", "call", "sessions.create", "--params")
    assert json.loads(fork.argv[5]) == {"agentId": "main", "parentSessionKey": SHOP, "fork": True}
    assert resume.cwd == fork.cwd == "/home/dev/shop"
    assert resume.env == fork.env == {}
    assert resume.warning == "The OpenClaw gateway must be running"
    assert fork.warning is not None and "printed, not opened" in fork.warning


@pytest.mark.parametrize(
    ("home", "key", "words"),
    [
        ("home", "agent:main:telegram:direct:4711", "goes on in telegram too"),
        ("home-files-2026.3", "agent:main:main", "no longer reads"),
        ("home-clawdbot", "agent:main:main", "openclaw doctor"),
    ],
)
def test_each_hazard_is_named(home: str, key: str, words: str) -> None:
    adapter = adapter_for(HOMES / home)
    command = adapter.resume_command(listed(adapter, problems=[])[key])
    assert command is not None and command.warning is not None
    assert words in command.warning and not command.warning.endswith(".")


def test_what_cannot_be_resumed() -> None:
    for home in ("home-files-2026.3", "home-clawdbot", "home-spec"):
        adapter = adapter_for(HOMES / home)
        for key, summary in listed(adapter, problems=[]).items():
            assert (adapter.resume_command(summary) is not None) == key.startswith("agent:"), key
            assert adapter.fork_command(summary) is None


def test_another_state_directory_is_handed_on(store: Stored, tmp_path: Path) -> None:
    home = store("openclaw", "home")
    state = home / ".openclaw"
    adapter = adapter_for(tmp_path, OPENCLAW_STATE_DIR=str(state), OPENCLAW_CONFIG_PATH="/etc/claw.json")
    command = adapter.resume_command(listed(adapter)[SHOP])
    assert command is not None
    assert command.env == {"OPENCLAW_STATE_DIR": str(state), "OPENCLAW_CONFIG_PATH": "/etc/claw.json"}
    state.rename(home / ".openclaw-work")
    (home / ".openclaw").mkdir()
    adapter = adapter_for(home)
    summary = listed(adapter)[f"work/{SHOP}"]
    for command in (adapter.resume_command(summary), adapter.fork_command(summary)):
        assert command is not None and command.argv[:3] == ("openclaw", "--profile", "work")
        assert command.env == {}
    (home / ".openclaw").rmdir()
    (home / ".openclaw-work").rename(home / ".clawdbot")
    adapter = adapter_for(home)
    command = adapter.resume_command(listed(adapter)[SHOP])
    assert command is not None and command.env == {"OPENCLAW_STATE_DIR": str(home / ".clawdbot")}


def test_keys_are_no_options(tmp_path: Path) -> None:
    adapter = adapter_for(HOMES / "home")
    summary = listed(adapter)[SHOP]
    for key, argv in (
        ("--help", ("openclaw", "tui", "--session=--help")),
        ("a b;c", ("openclaw", "tui", "--session", "a b;c")),
    ):
        command = adapter.resume_command(replace(summary, raw={**summary.raw, "sessionKey": key}))
        assert command is not None and command.argv == argv
    for raw in ({**summary.raw, "sessionKey": "a\x00b"}, {**summary.raw, "sessionKey": 7}, {}):
        assert adapter.resume_command(replace(summary, raw=raw)) is None


# Processes ---------------------------------------------------------------------------------------------------

BOOT = 1_795_000_000


def process(proc: Path, pid: int, started: float, *words: str) -> int:
    """A process as /proc shows it; its start in ticks."""
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")
    ticks = int((started - BOOT) * os.sysconf("SC_CLK_TCK"))
    (folder / "stat").write_text(f"{pid} (open) claw) S " + " ".join(["0"] * 18) + f" {ticks} 0")
    (folder / "cwd").symlink_to("/home/dev")
    (proc / "stat").write_text(f"cpu 1\nbtime {BOOT}\n")
    return ticks


def live(home: Path) -> dict[str, Liveness]:
    return dict(OpenClawAdapter(Environment(home=home, proc=home / "proc")).live())


def test_a_row_that_runs_needs_a_gateway(tmp_path: Path) -> None:
    made = Database(tmp_path)
    made.key("k", "s", status="running")
    made.key("other", "o", status="done")
    assert live(tmp_path) == {}
    process(tmp_path / "proc", 7, BOOT + 5, "vim", "openclaw-gateway")
    assert live(tmp_path) == {}
    process(tmp_path / "proc", 8, BOOT + 5, "openclaw-gateway")
    assert live(tmp_path) == {"k": Liveness(pid=8, status="running")}


def test_a_lock_counts_while_its_process_lives(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    keys = {"agent:main:main": {"sessionId": "s"}}
    path = place(folder, "s.jsonl", header("s"), event("a", None), index=keys)
    orphan = place(folder, "o.jsonl", header("o"), event("a", None))
    ticks = process(tmp_path / "proc", 11, BOOT + 100, "node", "openclaw", "agent")
    created = "2026-11-18T12:00:00.000Z"  # some days after the process began
    for lock, running in (
        ({"pid": 11, "createdAt": created, "starttime": ticks}, True),
        ({"pid": 11, "createdAt": created, "starttime": ticks + 5}, False),  # the number was given to another
        ({"pid": 11, "createdAt": created}, True),
        ({"pid": 11, "createdAt": "2020-01-01T00:00:00.000Z"}, False),
        ({"pid": 12, "createdAt": created}, False),
        ({"pid": -1}, False),
        ({"pid": "x"}, False),
        ([], False),
    ):
        path.with_name("s.jsonl.lock").write_text(json.dumps(lock))
        assert live(tmp_path) == ({"agent:main:main": Liveness(pid=11, status="running")} if running else {}), lock
    orphan.with_name("o.jsonl.lock").write_text(json.dumps({"pid": 11, "starttime": ticks}))
    assert live(tmp_path) == {"o": Liveness(pid=11, status="running")}


def test_the_stale_lock_of_the_sample() -> None:
    assert dict(OpenClawAdapter(Environment(home=HOMES / "home-clawdbot")).live()) == {}
