"""Whose rules apply beside a running gateway, proven from what it left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from hermes_tui.lifecycle.gateway.process import Gateway, gateway_for, gateway_of
from hermes_tui.lifecycle.gateway.rules import rules_of
from lifecycle.worlds import gateway

STARTED = datetime(2026, 11, 21, 8, tzinfo=UTC)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


def process(folder: Path, version: str | None, pid: int = 77) -> Path:
    """A process table with one process, run from an environment with that Hermes."""
    environment = folder / "venv"
    packages = environment / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    if version:
        (packages / f"hermes_agent-{version}.dist-info").mkdir()
    proc = folder / "proc" / str(pid)
    proc.mkdir(parents=True)
    (proc / "cmdline").write_bytes(f"{environment}/bin/python\0{environment}/bin/hermes\0gateway\0run\0".encode())
    return folder / "proc"


def running(since: datetime) -> Gateway:
    return Gateway(home="/x", state="running", pid=77, since=since)


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("0.19.0", "proven"), ("0.21.3", "newer"), ("1.0.0", "newer"), ("0.18.2", "old"), ("0.13.0", "old")],
)
def test_the_installation_tells(tmp_path: Path, version: str, verdict: str) -> None:
    rules = rules_of(running(FUTURE), 22, process(tmp_path, version))
    assert rules.verdict == verdict
    assert rules.version == ".".join(version.split(".")[:2])
    assert f"Hermes {rules.version}" in rules.reason


def test_an_upgrade_since_the_start_proves_nothing(tmp_path: Path) -> None:
    rules = rules_of(running(STARTED - timedelta(days=9000)), 22, process(tmp_path, "0.19.0"))
    assert rules.verdict == "unproven"
    assert "after this gateway was started" in rules.reason


def test_a_start_right_after_the_installation(tmp_path: Path) -> None:
    """The start of a process is known to a second only, and may be taken for too early."""
    proc = process(tmp_path, "0.19.0")
    now = datetime.now(UTC)
    assert rules_of(running(now - timedelta(seconds=0.8)), 22, proc).verdict == "proven"
    assert rules_of(running(now - timedelta(seconds=5)), 22, proc).verdict == "unproven"


def test_nothing_installed_there_proves_nothing(tmp_path: Path) -> None:
    assert rules_of(running(STARTED), 22, process(tmp_path, None)).verdict == "unproven"


def test_a_database_of_another_version_has_another_gateway(tmp_path: Path) -> None:
    proc = process(tmp_path, "0.19.0")
    assert rules_of(running(FUTURE), 19, proc).verdict == "old"
    newer = rules_of(running(FUTURE), 30, proc)
    assert (newer.verdict, "schema 30, later than Hermes 0.19's (22)" in newer.reason) == ("newer", True)


def test_a_process_that_cannot_be_looked_at(tmp_path: Path) -> None:
    assert rules_of(running(STARTED), 22, tmp_path / "nothing").verdict == "unproven"


def test_the_real_installation(tmp_path: Path) -> None:
    with gateway(tmp_path):
        found = gateway_of(tmp_path)
        rules = rules_of(found, 22)
        assert (rules.verdict, rules.version) == ("proven", "0.19")


def test_what_a_gateway_says_of_itself(tmp_path: Path) -> None:
    with gateway(tmp_path) as process_:
        said = {"pid": process_.pid, "gateway_state": "draining", "active_agents": 2, "served_profiles": ["coder"]}
        (tmp_path / "gateway_state.json").write_bytes(msgspec.json.encode(said))
        found = gateway_of(tmp_path)
        assert (found.phase, found.active_agents, found.serves, found.draining) == ("draining", 2, ("coder",), True)
        # The state of a process that is gone, or of another one, is nobody's.
        (tmp_path / "gateway_state.json").write_bytes(msgspec.json.encode({**said, "pid": process_.pid + 1}))
        assert gateway_of(tmp_path).active_agents is None


def test_a_profile_that_another_gateway_serves(tmp_path: Path) -> None:
    coder = tmp_path / "profiles" / "coder"
    coder.mkdir(parents=True)
    with gateway(tmp_path) as process_:
        state = {"pid": process_.pid, "gateway_state": "running", "served_profiles": ["coder"]}
        (tmp_path / "gateway_state.json").write_bytes(msgspec.json.encode(state))
        assert gateway_for(coder, "coder", tmp_path).state == "running"
        assert gateway_for(coder, "writer", tmp_path).state == "stopped"
        assert gateway_for(coder, "coder", None).state == "stopped"
    assert gateway_for(coder, "coder", tmp_path).state == "stopped"
    assert list(coder.iterdir()) == []
