"""What makes the demo move: one Claude Code session that goes on, line by line, as the real program writes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

from hermes_tui.demo.claude import LIVE_PID, live_session, session_path
from hermes_tui.demo.claude_records import Record, encode
from hermes_tui.demo.main_tale import LIVE_TURNS
from hermes_tui.demo.story import stamp

__all__ = ["LiveWriter"]

_PATIENCE = 300
"""Records after which the session only grows every half minute: a demo may be left open over night."""


class LiveWriter(threading.Thread):
    """Appends to the open session in `home` every `interval` seconds until `stop` is called. A daemon."""

    def __init__(self, home: Path, now: datetime, interval: float = 2.5) -> None:
        super().__init__(name="demo-writer", daemon=True)
        self._scribe = live_session(now)
        self._path = session_path(home, self._scribe)
        self._process = home / ".claude" / "sessions" / f"{LIVE_PID}.json"
        self._interval = interval
        self._stopped = threading.Event()
        self.failure: OSError | None = None
        """Why it ended by itself."""

    def run(self) -> None:
        """Write until stopped, or until the home is gone."""
        try:
            for count, record in enumerate(self._records()):
                if self._stopped.wait(self._interval if count < _PATIENCE else 30):
                    return
                self._append(record)
        except OSError as error:  # the home was removed, or the disk is full: the rest of the demo goes on
            self.failure = error

    def stop(self) -> None:
        """End soon; may be called more than once."""
        self._stopped.set()

    def _records(self) -> Iterator[Record]:
        """The conversation's further lines, without end."""
        for turn in cycle(LIVE_TURNS):
            del self._scribe.records[:]
            self._scribe.turn(turn)
            yield from list(self._scribe.records)

    def _append(self, record: Record) -> None:
        """One line as of now, in one write, and the process's own note of what it does."""
        now = datetime.now(UTC)
        if "timestamp" in record:
            record["timestamp"] = stamp(now)
        with self._path.open("ab") as file:
            file.write(encode(record))
        note = json.loads(self._process.read_bytes())
        note["status"] = "idle" if record["type"] == "last-prompt" else "busy"
        note["updatedAt"] = int(now.timestamp() * 1000)
        draft = self._process.with_suffix(".tmp")
        draft.write_text(json.dumps(note))
        draft.replace(self._process)
