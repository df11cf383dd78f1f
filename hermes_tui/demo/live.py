"""Makes the demo live: a session that grows, and a gateway of its own process.

The session grows by `data/claude/live.jsonl`, repeated: each line says how many seconds to wait, which record to
append and what changes in the process's own note.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from hermes_tui.demo.home import DATA, manifest_of
from hermes_tui.demo.template import Template

__all__ = ["DemoGateway", "LiveWriter"]

_PATIENCE = 300
"""Records after which the session only grows every half minute: a demo may be left open over night."""


class DemoGateway(threading.Thread):
    """Runs the gateway as a process of its own, once the program has had time to start. A daemon."""

    def __init__(self, home: Path, delay: float = 3.0) -> None:
        """`delay` in seconds."""
        super().__init__(name="demo-gateway", daemon=True)
        self._command = [sys.executable, "-m", "hermes_tui.demo.gateway", str(home)]
        self._delay = delay
        self._stopped = threading.Event()

    def run(self) -> None:
        """Serve until stopped. The process ends with its standard input, also where this one was killed."""
        if self._stopped.wait(self._delay):
            return
        null = subprocess.DEVNULL
        process = subprocess.Popen(  # noqa: S603 - ourselves
            self._command, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
        )
        self._stopped.wait()
        process.kill()
        process.communicate()

    def stop(self) -> None:
        """End soon; may be called more than once."""
        self._stopped.set()


class LiveWriter(threading.Thread):
    """Appends to the open session of `agent` in `home` until `stop` is called. A daemon."""

    def __init__(self, home: Path, *, agent: str = "claude", pace: float = 1.0) -> None:
        """`pace` multiplies the waits."""
        super().__init__(name="demo-writer", daemon=True)
        live = manifest_of(agent)["live"]
        self._session, self._note = home / live["session"], home / live["note"]
        self._script = DATA / agent / live["script"]
        self._pace = pace
        self._stopped = threading.Event()
        self.failure: OSError | None = None
        """Why it ended by itself."""

    def run(self) -> None:
        """Write until stopped, or until the home is gone."""
        try:
            for written, (line, names) in enumerate(self._lines()):
                after = json.loads(line)["after"] if written < _PATIENCE else 30.0
                if self._stopped.wait(after * self._pace):
                    return
                step = json.loads(Template(datetime.now(UTC), self._script.parent).fill(line, names))
                names["above"] = step["append"].get("uuid", names["above"])
                with self._session.open("ab") as file:  # a line in one write: nobody finds half of it
                    file.write(json.dumps(step["append"], ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
                # Whoever reads the note meanwhile finds the old one or the new one, whole.
                draft = self._note.with_suffix(".tmp")
                draft.write_text(json.dumps(json.loads(self._note.read_bytes()) | step["note"]))
                draft.replace(self._note)
        except OSError as error:  # the home was removed, or the disk is full: the rest of the demo goes on
            self.failure = error

    def stop(self) -> None:
        """End soon; may be called more than once."""
        self._stopped.set()

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The script's lines without end, with what has a name in them: the round, and the record above."""
        records = map(json.loads, self._session.read_bytes().splitlines())
        names: dict[str, Any] = {"above": [record["uuid"] for record in records if "uuid" in record][-1]}
        script = self._script.read_text(encoding="utf-8").splitlines()
        for number in count():
            names["round"] = number
            for line in script:
                yield line, names
