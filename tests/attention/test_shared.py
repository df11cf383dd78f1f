"""What a running program lets others know."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

from hermes_tui.attention.shared import SharedCounts, shared_counts

KEEP = """
import sys, time
from pathlib import Path
from hermes_tui.attention.shared import SharedCounts
SharedCounts(Path(sys.argv[1])).keep({"need": 7})
print("kept", flush=True)
time.sleep(60)
"""


def test_what_is_kept_is_known_until_it_is_kept_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "attention.json"
    assert shared_counts(path) is None
    shared = SharedCounts(path)
    shared.keep({"need": 2, "working": 10})
    assert shared_counts(path) == {"need": 2, "working": 10}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shared.keep({"need": 0})
    assert shared_counts(path) == {"need": 0}
    other = SharedCounts(path)
    other.keep({"need": 99})
    assert shared_counts(path) == {"need": 0}, "one program at a time"
    shared.close()
    assert shared_counts(path) is None
    other.keep({"need": 3})
    assert shared_counts(path) == {"need": 3}, "the next one goes on"
    other.close()
    shared.keep({"need": 1})
    assert shared_counts(path) is None, "nothing is kept after the end"


def test_of_a_program_that_was_killed_nothing_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "attention.json"
    with subprocess.Popen([sys.executable, "-c", KEEP, str(path)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "kept\n"
        assert shared_counts(path) == {"need": 7}
        os.kill(program.pid, signal.SIGKILL)
        program.wait()
        assert shared_counts(path) is None


def test_of_a_program_that_is_stopped_nothing_is_believed(tmp_path: Path) -> None:
    """It keeps its lock, and sees nothing of what changes."""
    path = tmp_path / "attention.json"
    with subprocess.Popen([sys.executable, "-c", KEEP, str(path)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "kept\n"
        try:
            os.kill(program.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, program.pid, os.WSTOPPED)
            assert shared_counts(path) is None
            os.kill(program.pid, signal.SIGCONT)
            os.waitid(os.P_PID, program.pid, os.WCONTINUED)
            assert shared_counts(path) == {"need": 7}
        finally:
            program.kill()


def test_what_is_no_counts_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "attention.json"
    shared = SharedCounts(path)
    shared.keep({"need": 1})
    for data in (
        b"",
        b"{",
        b'{"need": 1}',
        b"[]",
        b'{"pid": 1, "counts": {"need": "\\u001b[31m"}}',
        b'{"pid": 1, "counts": {"need": 1}}' + b" " * 20_000,
    ):
        path.write_bytes(data)
        assert shared_counts(path) is None
    shared.close()


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    path = tmp_path / "attention.json"
    path.mkdir()
    shared = SharedCounts(path)
    shared.keep({"need": 1})
    shared.close()
    assert shared_counts(path) is None


def test_a_program_that_cannot_look_lets_nobody_believe_the_one_before(tmp_path: Path) -> None:
    before, now = SharedCounts(tmp_path / "counts.json"), SharedCounts(tmp_path / "counts.json")
    before.keep({"need": 7})
    before.close()
    now.keep({})
    assert shared_counts(tmp_path / "counts.json") is None
    now.close()
