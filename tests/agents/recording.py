"""Keeps what an agent leaves behind at one moment, to be looked at again where the agent is not.

A moment is a folder: `home/` has the agent's store, `moment.json` its processes, locks and panes, what was true then
and what may be said of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hermes_tui.attention.panes import Pane
from session_adapters.proc import flocks, open_files, pids, start_of, words_of

__all__ = ["Moment", "Recorder", "moments"]

_TERMINAL = "/dev/null"
STORES = {
    "claude": (".claude/projects", ".claude/sessions"),
    "codex": (".codex/sessions", ".codex/session_index.jsonl", ".codex/thread-writer-locks"),
    "gemini": (".gemini/tmp", ".gemini/projects.json"),
    "copilot": (".copilot/session-state",),
    "opencode": (
        ".local/share/opencode/opencode.db",
        ".local/share/opencode/opencode.db-wal",
        ".local/share/opencode/log",
    ),
    "pi": (".pi/agent/sessions",),
}
"""What an adapter looks at of a home."""


class Recorder:
    """Writes the moments of one agent, and packs them at the end."""

    def __init__(self, name: str, home: Path, folder: Path) -> None:
        self._name, self._home, self._folder = name, home, folder
        self._count = 0

    def keep(self, true: str, said: Sequence[str], panes: Sequence[Pane], stuck_after: float) -> None:
        """Write down how all is now."""
        self._count += 1
        folder = self._folder / f"{self._count:02}"
        (folder / "home").mkdir(parents=True)
        for store in STORES[self._name]:
            source, target = self._home / store, folder / "home" / store
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy2(source, target)
        proc = Path("/proc")
        mark = f"HOME={self._home}".encode()
        own = [int(pid) for pid in pids(proc) if mark in start_of(f"/proc/{pid}/environ", 1 << 16).split(b"\0")]
        inside = {path.stat().st_ino: str(path) for path in self._home.rglob("*") if path.is_file()}
        locks = [(one.pid, inside[one.inode]) for one in flocks(proc) if one.inode in inside]
        facts = {
            "true": true,
            "said": list(said),
            "now": time.time(),
            "stuckAfter": stuck_after,
            "home": str(self._home),
            "boot": next(line for line in (proc / "stat").read_text().splitlines() if line.startswith("btime ")),
            "processes": [_process(proc, pid) for pid in own],
            "locks": locks,
            "terminals": [Path(pane.tty).stat().st_rdev for pane in panes],
            "panes": [list(pane) for pane in panes],
        }
        text = re.sub(r"""/[^" ]*/hermes-tui-tests/agents/""", "/opt/", json.dumps(facts, indent=1))
        (folder / "moment.json").write_text(text)

    def pack(self, into: Path) -> None:
        """All of them as one archive."""
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(into / f"{self._name}.tar.xz", "w:xz", format=tarfile.PAX_FORMAT) as archive:
            archive.add(self._folder, self._name)


def _process(proc: Path, pid: int) -> dict[str, Any]:
    return {
        "pid": pid,
        "stat": start_of(f"{proc}/{pid}/stat").decode(),
        "words": [word.decode() for word in words_of(proc, pid)],
        "cwd": os.readlink(proc / str(pid) / "cwd"),  # noqa: PTH115 - as it stands there
        "files": sorted({path for path in open_files(proc, pid) if path.startswith("/") and "/dev/" not in path}),
    }


class Moment(NamedTuple):
    """A moment that was unpacked: a home and a process table to look at."""

    home: Path
    proc: Path
    facts: dict[str, Any]

    @property
    def panes(self) -> Sequence[Pane]:
        """The panes there were; their terminals are gone, and have a number that there is always."""
        return [Pane(*fields)._replace(tty=_TERMINAL) for fields in self.facts["panes"]]


def moments(archive: Path, into: Path) -> Iterator[Moment]:
    """Unpack an archive of moments."""
    with tarfile.open(archive) as packed:
        packed.extractall(into, filter="data")
    for folder in sorted(into.glob("*/*")):
        facts = json.loads((folder / "moment.json").read_text())
        home, proc = folder / "home", folder / "proc"
        _write_table(proc, facts, home)
        yield Moment(home, proc, facts)


def _at_terminal(stat: str, terminals: Sequence[int]) -> str:
    """A process' stat with the number of its terminal, field 7, as it is here."""
    name, _, rest = stat.rpartition(")")
    fields = rest.split()
    if int(fields[4]) in terminals:
        fields[4] = str(Path(_TERMINAL).stat().st_rdev)
    return f"{name}) {' '.join(fields)}\n"


def _write_table(proc: Path, facts: dict[str, Any], home: Path) -> None:
    """The process table of a moment, with the files of its home where they are now."""
    proc.mkdir()
    (proc / "stat").write_text(f"cpu 0\n{facts['boot']}\n")
    for one in facts["processes"]:
        folder = proc / str(one["pid"])
        (folder / "fd").mkdir(parents=True)
        (folder / "stat").write_text(_at_terminal(one["stat"], facts["terminals"]))
        (folder / "cmdline").write_text("".join(f"{word}\0" for word in one["words"]))
        (folder / "cwd").symlink_to(one["cwd"])
        for number, path in enumerate(one["files"]):
            (folder / "fd" / str(number)).symlink_to(path.replace(facts["home"], str(home)))
    lines = []
    for number, (pid, path) in enumerate(facts["locks"]):
        now = Path(path.replace(facts["home"], str(home)))
        if now.exists():
            status = now.stat()
            device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
            lines.append(f"{number}: FLOCK  ADVISORY  WRITE {pid} {device}:{status.st_ino} 0 EOF\n")
    (proc / "locks").write_text("".join(lines))
