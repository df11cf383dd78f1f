"""The panes of a real tmux: whose process runs where."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui.attention.panes import Pane, list_panes, pane_of
from system_programs import required_program


class Server:
    """A tmux server of the test's own, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.variables = {
            "TMUX_TMPDIR": str(folder),
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TERM": "xterm",
        }

    def run(self, *arguments: str) -> str:
        argv = ["tmux", "-L", "panes", *arguments]
        return subprocess.run(argv, env=self.variables, check=True, capture_output=True, text=True).stdout.strip()

    def until(self, count: int) -> list[Pane]:
        """All panes, once there are so many."""
        for _ in range(200):
            found = list(list_panes(self.variables))
            if len(found) == count:
                return found
            time.sleep(0.05)
        raise AssertionError(f"there are {len(found)} panes, not {count}")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    required_program("tmux")
    one = Server(tmp_path)
    one.run("new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "sh -c 'sleep 600 & wait'")
    yield one
    subprocess.run(["tmux", "-L", "panes", "kill-server"], env=one.variables, check=False, capture_output=True)


def child_of(pid: int) -> int:
    for _ in range(200):
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError(f"process {pid} has started nothing")


def test_a_process_is_found_in_its_pane(server: Server) -> None:
    server.run("new-window", "-t", "main", "sleep 600")
    server.run("split-window", "-t", "main:1", "sleep 600")
    server.run("select-pane", "-t", "main:1.1", "-T", "◇  Ready (shop)")
    panes = server.until(3)
    assert [one.name for one in panes] == ["main:0.0", "main:1.0", "main:1.1"]
    assert panes[2].title == "◇  Ready (shop)"
    assert all(pane_of(one.pid, panes) == one for one in panes)
    assert pane_of(child_of(panes[0].pid), panes) == panes[0]
    assert pane_of(os.getpid(), panes) is None
    assert pane_of(2**22 + 1, panes) is None, "no such process"


def test_panes_are_found_in_every_locale(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """To one that is not UTF-8 tmux prints `_` for what separates the fields, and for the signs in titles."""
    server.run("select-pane", "-t", "main:0.0", "-T", "\u25c7  Ready (shop)")
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.setenv(name, "C")
    (pane,) = list_panes(server.variables)
    assert (pane.name, pane.title) == ("main:0.0", "\u25c7  Ready (shop)")


def test_a_pane_whose_program_ended_is_none(server: Server) -> None:
    server.run("set-option", "-g", "remain-on-exit", "on")
    server.run("new-window", "-t", "main", "true")
    for _ in range(200):
        if server.run("list-panes", "-a", "-F", "#{pane_dead}").count("1"):
            break
        time.sleep(0.05)
    assert [one.name for one in list_panes(server.variables)] == ["main:0.0"]


def test_without_tmux_there_are_no_panes(tmp_path: Path) -> None:
    assert list_panes({"PATH": str(tmp_path)}) == ()
    assert not list_panes({"TMUX_TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]})
