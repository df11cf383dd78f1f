"""Writes the demo's home: every agent's store, and the `/proc` of open sessions.

The stores are data: `data/<agent>/files.yaml` says which file of the data becomes which file of the home, and
`template.py` what may stand in both. The same moment gives the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from hermes_tui.demo.databases import chat_rows, write_database
from hermes_tui.demo.template import Template, rows_of
from hermes_tui.errors import HermesTuiError, ValidationError
from session_adapters.base import Environment

__all__ = ["DATA", "MARKER", "environment_of", "manifest_of", "prepare", "write_home"]

DATA = Path(__file__).parent / "data"
MARKER = ".hermes-tui-demo"
"""Stands in every demo home, so that only a demo home is ever overwritten."""
_STORES = (".claude", ".codex", ".copilot", ".cursor", ".gemini", ".hector", ".hermes", ".omp", ".openclaw", ".pi")
_PARTS = (*_STORES, ".cache", ".config", ".local", "Library", "proc")
"""What a demo home consists of: the stores, our own files made while it runs, the process table."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def environment_of(home: Path) -> Environment:
    """The machine that has only this home: no variable of the user's, and the demo's own process table."""
    return Environment(home=home, variables={}, proc=home / "proc")


def prepare(home: Path) -> None:
    """Make `home` an empty directory: a new one, an empty one, or a former demo home whose parts are removed.

    Raises `ValidationError` for any other, `OSError` where the system does not let us.
    """
    if home.exists() and not home.is_dir():
        raise ValidationError(f"{home} is not a directory; name one that is empty or not there yet")
    if home.is_dir() and any(home.iterdir()) and not (home / MARKER).is_file():
        raise ValidationError(
            f"{home} is not empty and no demo home; name a directory that is empty or not there yet"
        )
    home.mkdir(parents=True, exist_ok=True)
    for part in (home / name for name in _PARTS):
        if part.is_symlink():  # what it leads to is not ours, and nothing may be written there
            part.unlink()
        elif part.is_dir():
            shutil.rmtree(part)
    (home / MARKER).write_text("Made by `hermes-tui demo`. It may be removed at any time.\n")


def manifest_of(agent: str) -> dict[str, Any]:
    """What `files.yaml` says of the agent's store."""
    loaded: dict[str, Any] = yaml.load((DATA / agent / "files.yaml").read_bytes(), _LOADER)  # noqa: S506
    return loaded


def write_home(home: Path, now: datetime, agents: Iterable[str] = ()) -> None:
    """Write the stores (of all agents unless some are named) as they would be at `now` into `home`, which must be
    prepared, and the process table of the sessions that are open."""
    writer = _Writer(home, now)
    for agent in agents or sorted(folder.name for folder in DATA.iterdir()):
        writer.write_store(agent)
    writer.write_processes()


class _Writer:
    """Fills in the data of one home."""

    def __init__(self, home: Path, now: datetime) -> None:
        self._home = home
        self._now = now
        self._processes: list[dict[str, Any]] = []

    def write_store(self, agent: str) -> None:
        """All files of the agent; its processes are kept for the table."""
        template, manifest = Template(self._now, DATA / agent), manifest_of(agent)
        home = {"home": str(self._home), "real_home": str(self._home.resolve())}
        known = _named(template, home, manifest.get("names", {}))
        for entry in manifest["files"]:
            rows = rows_of(DATA / agent / entry["rows"]) if "rows" in entry else ({},)
            try:
                for row in rows:
                    names = _named(template, {**known, **row}, entry.get("names", {}))
                    self._write_file(template, {"to": manifest.get("to"), **entry}, names)
            except ValueError as error:  # no JSON, or a row that is too long
                raise HermesTuiError(f"the demo's data in {DATA / agent} cannot be read: {entry}: {error}") from error
        processes = json.dumps(manifest.get("processes", []), ensure_ascii=False)
        self._processes += json.loads(template.fill(processes, known))

    def _write_file(self, template: Template, entry: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        """A file, a database, or a directory where the path ends with a slash."""
        to = template.fill(entry["to"], names, json_text=False)
        if Path(to).is_absolute() or ".." in Path(to).parts:
            raise ValidationError(f"the demo's data in {template.folder} lead out of the demo home: {to}")
        path = self._home / to
        (path if to.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        template.latest = None
        if "text" in entry:
            path.write_text(template.fill(entry["text"], names, json_text=False), encoding="utf-8")
        elif "from" in entry:
            text = (template.folder / entry["from"]).read_text(encoding="utf-8")
            filled = template.fill_file(text, names, json_text=path.suffix != ".yaml")
            template.written[entry["from"]] = filled
            if "schema" in entry:
                rows = (json.loads(line) for line in filled.split("\n") if line)
                schema = (template.folder / entry["schema"]).read_text(encoding="utf-8")
                write_database(
                    path, schema, chat_rows(rows) if entry.get("chat") else rows, entry.get("spaced", False)
                )
            else:
                path.write_bytes(filled.encode())
        if "mode" in entry:
            path.chmod(entry["mode"])
        # A session is as old as the last thing in it, unless something else is said.
        modified = template.at(entry["modified"]) if "modified" in entry else template.latest
        if modified is not None and ("modified" in entry or path.suffix == ".jsonl"):
            os.utime(path, (modified.timestamp(), modified.timestamp()))

    def write_processes(self) -> None:
        """The process table: what the agents' processes are called, where they work and which files they hold."""
        proc = self._home / "proc"
        locks: list[str] = []
        for process in sorted(self._processes, key=lambda process: process["pid"]):
            pid, name = process["pid"], process["name"]
            folder = proc / str(pid)
            folder.mkdir(parents=True)
            # The start is field 22; pid and name are 1 and 2.
            fields = ["S", "1", *["0"] * 17, str(process["start"]), *["0"] * 30]
            (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
            (folder / "comm").write_text(f"{name}\n")
            (folder / "cmdline").write_text("".join(f"{word}\0" for word in process.get("command", [name])))
            (folder / "cwd").symlink_to(process.get("cwd", "/home/dev"))
            if "since" in process:
                up = Template(self._now, DATA).at(process["since"]).timestamp()
                boot = int(up - process["start"] / os.sysconf("SC_CLK_TCK"))
                (proc / "stat").write_text(f"cpu  0 0 0 0\nbtime {boot}\n")
            if "holds" in process:
                held = (self._home / process["holds"]).resolve()
                (folder / "fd").mkdir()
                (folder / "fd" / "7").symlink_to(held)
                # A line of `/proc/locks`: of some agents it is what tells that a session is open.
                lock = held.stat()
                place = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
                locks.append(f"{len(locks) + 1}: FLOCK  ADVISORY  WRITE {pid} {place} 0 EOF\n")
        if locks:
            (proc / "locks").write_text("".join(locks))


def _named(template: Template, known: Mapping[str, Any], more: Mapping[str, str]) -> dict[str, Any]:
    """`known` and `more`, each of which may be made of those before it."""
    names = dict(known)
    for name, value in more.items():
        names[name] = template.fill(value, names, json_text=False)
    return names
