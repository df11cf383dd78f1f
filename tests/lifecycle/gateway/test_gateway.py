"""Is a gateway alive: seen in the kernel's own list of locks, held by a real process."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_tui.lifecycle.gateway.process import file_faults, gateway_of
from session_adapters.proc import flocks
from tiny_home import tree_hash

HOLDER = """
import fcntl, os, sys
lock = open(sys.argv[1], "a")
fcntl.flock(lock, int(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(lock: Path, how: int = fcntl.LOCK_EX) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock as a gateway does."""
    command = [sys.executable, "-c", HOLDER, str(lock), str(how)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A Hermes home whose gateway once ran: the lock file stays after it."""
    home = tmp_path / "hermes"
    home.mkdir()
    (home / "gateway.lock").write_text(json.dumps({"pid": 999998, "kind": "hermes-gateway", "start_time": 4242}))
    return home


def test_no_gateway_ever(tmp_path: Path) -> None:
    assert gateway_of(tmp_path).state == "stopped"


@pytest.fixture
def outermost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the tests run in a container, whose locks tell less."""
    monkeypatch.setattr("hermes_tui.lifecycle.gateway.process.is_nested", lambda proc: False)


@pytest.mark.usefixtures("outermost")
def test_a_lock_file_left_behind_is_no_gateway(home: Path) -> None:
    (home / "gateway.pid").write_text(json.dumps({"pid": os.getpid()}))  # pid reused by somebody else
    (home / "gateway_state.json").write_text(json.dumps({"gateway_state": "running", "pid": os.getpid()}))
    assert gateway_of(home).state == "stopped"


def test_a_lock_is_moved_away_of_no_gateway_that_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it was, as the text said, none seemed to run, and another one would have started beside it."""
    (home / "gateway.lock").write_text('{"pid": 4')
    os.utime(home / "gateway.lock", (1, 1))
    (said,) = file_faults(home)
    assert "it is damaged" in said and "; stop the gateway, move it away and start the gateway again" in said
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    (said,) = file_faults(home)
    assert "move it away" not in said and said.endswith("run this as the one whose it is")


@pytest.mark.usefixtures("outermost")
def test_a_gateway_whose_lock_was_taken_away_may_run(home: Path) -> None:
    """As by somebody who took it for a stale one: it was said that none runs, while one had all lanes in memory."""
    with held(home / "gateway.lock") as process:
        began = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        (home / "gateway.pid").write_text(json.dumps({"pid": process.pid, "start_time": began}))
        (home / "gateway.lock").unlink()
        for _ in range(2):
            found = gateway_of(home)
            assert (found.state, found.pid) == ("unknown", None)
            assert f"process {process.pid} of {home / 'gateway.pid'} is alive" in found.reason
            (home / "gateway.lock").touch()  # as Hermes' next look makes it
        (home / "gateway.pid").write_text(json.dumps({"pid": process.pid, "start_time": began - 1}))
        assert gateway_of(home).state == "stopped", "another process has its number"


def test_in_a_container_a_gateway_beside_it_holds_a_lock_that_is_not_listed(home: Path, tmp_path: Path) -> None:
    """It was said that none runs, and a lane that it has in its memory was changed as if nobody had."""
    proc = tmp_path / "proc"
    (proc / "self" / "ns").mkdir(parents=True)
    (proc / "locks").write_text("")
    namespace = proc / "self" / "ns" / "pid"
    namespace.symlink_to("pid:[4026532178]")
    assert gateway_of(home, proc).state == "stopped", "it ended in order"
    (home / "gateway.pid").write_text(json.dumps({"pid": 7}))
    found = gateway_of(home, proc)
    assert (found.state, found.pid) == ("unknown", None)
    assert f"there is a {home / 'gateway.pid'}; look from where the gateway runs" in found.reason
    (proc / "stat").write_text(f"cpu 1\nbtime {int(time.time()) + 60}\n")
    assert gateway_of(home, proc).state == "stopped", "it was written before the machine was started"
    (proc / "stat").write_text("cpu 1\nbtime 60\n")
    assert gateway_of(home, proc).state == "unknown"
    namespace.unlink()
    namespace.symlink_to("pid:[4026531836]")
    assert gateway_of(home, proc).state == "stopped", "outside all locks are listed"


def test_what_a_gateway_wrote_may_be_nested_without_end(home: Path) -> None:
    with held(home / "gateway.lock") as process:
        for name in ("gateway.pid", "gateway_state.json"):
            (home / name).write_text('{"x": ' + "[" * 30_000)
        found = gateway_of(home)
        assert (found.state, found.pid, found.phase) == ("running", process.pid, "")


def test_a_held_lock_is_a_gateway_with_its_pid_and_start(home: Path) -> None:
    before = datetime.now(UTC)
    with held(home / "gateway.lock") as process:
        untouched = tree_hash(home)
        found = gateway_of(home)
        assert (found.state, found.pid, found.home) == ("running", process.pid, str(home))
        assert found.since is not None
        # Clock ticks and the rounded boot time give seconds, not more.
        assert abs(found.since - before) < timedelta(seconds=10)
        assert tree_hash(home) == untouched
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert gateway_of(home).state == "stopped"


def test_a_gateway_whose_process_is_halted(home: Path) -> None:
    """A hang that can be seen: it holds its lock, and does nothing until it goes on."""
    with held(home / "gateway.lock") as process:
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        found = gateway_of(home)
        assert (found.state, found.phase, found.pid) == ("running", "halted", process.pid)
        os.kill(process.pid, signal.SIGCONT)
        os.waitid(os.P_PID, process.pid, os.WCONTINUED | os.WNOWAIT)
        assert gateway_of(home).phase != "halted"


def test_another_gateways_lock_is_not_ours(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.lock"
    other.touch()
    with held(other):
        assert gateway_of(home).state == "stopped"


def test_a_shared_lock_is_somebody_looking(home: Path) -> None:
    with held(home / "gateway.lock", fcntl.LOCK_SH):
        assert gateway_of(home).state == "stopped"


def test_looking_never_takes_the_lock(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the lock was taken")

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)
    gateway_of(home)


_CHURN = """
import fcntl, os, sys
files = [open(os.path.join(sys.argv[1], f"{os.getpid()}-{at}"), "w") for at in range(40)]
while True:
    for how in (fcntl.LOCK_EX, fcntl.LOCK_UN):
        for file in files:
            fcntl.flock(file, how)
"""


def test_a_lock_is_seen_among_many_that_come_and_go(tmp_path: Path) -> None:
    """The kernel lists locks page by page, and skips some where the list changes between two pages."""
    lasting = [(tmp_path / f"lasting-{at}").open("w") for at in range(150)]
    for file in lasting:
        fcntl.flock(file, fcntl.LOCK_EX)
    wanted = {os.fstat(file.fileno()).st_ino for file in lasting}
    churning = [subprocess.Popen([sys.executable, "-c", _CHURN, str(tmp_path)]) for _ in range(2)]
    try:
        for _ in range(150):
            seen = {lock.inode for lock in flocks(Path("/proc"))}
            assert wanted <= seen
    finally:
        for process in churning:
            process.kill()
            process.wait()
        for file in lasting:
            file.close()


def locks(proc: Path, *lines: str) -> None:
    proc.mkdir(exist_ok=True)
    (proc / "locks").write_text("".join(f"{line}\n" for line in lines))


def test_a_waiting_process_holds_nothing(home: Path, tmp_path: Path) -> None:
    inode = (home / "gateway.lock").stat().st_ino
    device = (home / "gateway.lock").stat().st_dev
    place = f"{os.major(device):02x}:{os.minor(device):02x}:{inode}"
    locks(tmp_path / "proc", f"1: -> FLOCK  ADVISORY  WRITE 12 {place} 0 EOF", "garbage", "")
    assert gateway_of(home, tmp_path / "proc").state == "stopped"
    locks(tmp_path / "proc", f"1: FLOCK  ADVISORY  WRITE 12 {place} 0 EOF")
    assert gateway_of(home, tmp_path / "proc").pid == 12


def test_a_file_system_with_two_device_numbers(home: Path, tmp_path: Path) -> None:
    inode = (home / "gateway.lock").stat().st_ino
    locks(tmp_path / "proc", f"1: FLOCK  ADVISORY  WRITE 999998 ff:fe:{inode} 0 EOF")
    assert gateway_of(home, tmp_path / "proc").state == "running"  # the pid is the one in the lock file
    locks(tmp_path / "proc", f"1: FLOCK  ADVISORY  WRITE 12 ff:fe:{inode} 0 EOF")
    assert gateway_of(home, tmp_path / "proc").state == "stopped"


def test_a_process_of_another_pid_namespace(home: Path, tmp_path: Path) -> None:
    status = (home / "gateway.lock").stat()
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    locks(tmp_path / "proc", f"1: FLOCK  ADVISORY  WRITE 0 {place} 0 EOF")
    found = gateway_of(home, tmp_path / "proc")
    assert (found.state, found.pid, found.since) == ("running", 999998, None)


def test_a_system_without_a_list_of_locks(home: Path, tmp_path: Path) -> None:
    found = gateway_of(home, tmp_path / "no-proc")
    assert found.state == "unknown"
    assert "does not list its file locks" in found.reason


def test_a_gateway_that_names_itself_is_seen_without_the_list_of_all_locks(home: Path, tmp_path: Path) -> None:
    """While that list is read, every other lock of the machine waits."""
    proc = tmp_path / "proc"
    proc.mkdir()
    with held(home / "gateway.lock") as process:
        (home / "gateway.pid").write_text(json.dumps({"pid": process.pid}))
        (proc / str(process.pid)).symlink_to(f"/proc/{process.pid}")
        assert not (proc / "locks").exists()
        found = gateway_of(home, proc)
        assert (found.state, found.pid) == ("running", process.pid)
    with held(home / "gateway.lock", fcntl.LOCK_SH) as process:
        (home / "gateway.pid").write_text(json.dumps({"pid": process.pid}))
        (proc / str(process.pid)).symlink_to(f"/proc/{process.pid}")
        assert gateway_of(home, proc).state == "unknown", "a shared lock is no gateway's, and the list is not there"
