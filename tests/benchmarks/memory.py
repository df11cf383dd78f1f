"""What Hector's memory costs at its sizes: 100,000 messages, 50,000 points.

    python -m benchmarks.memory DIR

On SQLite: appends in batches of five, and the state that is loaded after a summary, with the rows that were read for
it. Of long-term memory, embedded: recalls among 50,000 points, in one session and in fifty.
"""

from __future__ import annotations

import math
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_tui.memory.longterm.protocols import MemoryPoint
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.sql.service import SQLSessionService
from hermes_tui.memory.sql.sqlite import SqliteDatabase
from hermes_tui.memory.working.buffer_window import BufferWindow
from hermes_tui.memory.working.summary_buffer import SummaryBuffer
from hermes_tui.memory.working.token_window import TokenWindow

MESSAGES = 100_000
POINTS = 50_000
SIZE = 256
TEXT = "A message of the usual length, with a few words about what was done and what is next. " * 3


class Times(NamedTuple):
    """Seconds of each call: by the clock, and of the processor."""

    clock: list[float]
    processor: list[float]

    def __str__(self) -> str:
        """The middle, the 95th of a hundred and the longest, in milliseconds."""
        parts = []
        for name, times in (("", sorted(self.clock)), (" of the processor", sorted(self.processor))):
            at = [times[len(times) // 2], times[math.ceil(len(times) * 0.95) - 1], times[-1]]
            parts.append("p50 {:.2f}, p95 {:.2f}, longest {:.1f} ms".format(*(1000 * one for one in at)) + name)
        return "; ".join(parts)


def timed(count: int, work: Callable[[int], object]) -> Times:
    """Seconds of each call."""
    found = Times([], [])
    for number in range(count):
        start, worked = time.perf_counter(), time.process_time()
        work(number)
        found.clock.append(time.perf_counter() - start)
        found.processor.append(time.process_time() - worked)
    return found


def sessions(folder: Path) -> Iterator[str]:
    """Layer 1 and 2."""
    database = SqliteDatabase(folder / "sessions.db")
    service = SQLSessionService(database, "assistant")

    def append(number: int) -> None:
        made = [
            HectorMessage(role="ROLE_USER" if part % 2 else "ROLE_AGENT", text=f"{number}.{part} {TEXT}")
            for part in range(5)
        ]
        service.append_messages("s1", made)

    yield f"append, batches of 5, {MESSAGES:,} messages in one session: {timed(MESSAGES // 5, append)}"
    yield f"the file: {(folder / 'sessions.db').stat().st_size / 1e6:.0f} MB"
    for follows in (None, 200):
        if follows:
            service.append_messages("s1", [HectorMessage(role="ROLE_UNSPECIFIED", text="Summary: so far")])
            for number in range(follows // 5):
                append(number)
        for name, strategy in (
            ("summary_buffer", SummaryBuffer()),
            ("buffer_window 20", BufferWindow()),
            ("token_window 8000", TokenWindow()),
        ):
            before = database.rows_read
            history = strategy.load_state("s1", service)
            rows = database.rows_read - before
            times = timed(50, lambda _, strategy=strategy: strategy.load_state("s1", service))  # type: ignore[misc]
            what = f"a summary {follows} messages before the end" if follows else "no summary"
            yield f"load_state {name}, {what}: {len(history.messages)} messages, {rows} rows read, {times}"
    database.close()


def points(folder: Path, spread_over: int) -> Iterator[str]:
    """Layer 3, with this many sessions."""
    dice = random.Random(1)
    store = EmbeddedQdrant(folder / f"vectors-{spread_over}")

    def vector() -> list[float]:
        return [dice.gauss(0, 1) for _ in range(SIZE)]

    def upsert(number: int) -> None:
        made = [
            MemoryPoint(
                id=str(uuid.UUID(int=number * 5 + part)),
                agent_id="assistant",
                session_id=f"s{(number * 5 + part) % spread_over}",
                role="user",
                content=TEXT,
                timestamp=number,
            )
            for part in range(5)
        ]
        store.upsert([(one, vector()) for one in made])

    yield f"upsert, batches of 5, {POINTS:,} points in {spread_over} sessions: {timed(POINTS // 5, upsert)}"
    queries = [vector() for _ in range(200)]
    times = timed(200, lambda number: store.search("assistant", f"s{number % spread_over}", queries[number], 5))
    yield f"recall of 5 among them: {times}"
    store.close()
    start = time.perf_counter()
    store = EmbeddedQdrant(folder / f"vectors-{spread_over}")
    store.count("assistant")
    yield f"opened again: {time.perf_counter() - start:.2f} s"
    times = timed(200, lambda number: store.search("assistant", f"s{number % spread_over}", queries[number], 5))
    size = sum(one.stat().st_blocks * 512 for one in (folder / f"vectors-{spread_over}").rglob("*"))
    yield f"recall of 5 then: {times}; {size / 1e6:.0f} MB on the disk"
    store.close()


def main() -> None:
    """Print a line for each figure."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    for line in (*sessions(folder), *points(folder, 1), *points(folder, 50)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
