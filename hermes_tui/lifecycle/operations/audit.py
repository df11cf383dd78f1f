"""The audit file of lane operations: JSON lines of ours with the old values.

`lanes log` and `undo` read it.

Every operation leaves up to three records of one id: `begun`, with all that is to be written and what stood there
before, on the disk before the first byte of the store changes; `applied`, once it is; `outcome`, once it is known
what became of it, with what shows it: it is settled then, and never looked into again. A process that dies in between
leaves the first, and what then holds is read off the store.

Nothing in the file is believed: a line that no operation of ours wrote is named and passed over (see `record_rules`).
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.operations.record import AuditRecord, Operation, decoded
from hermes_tui.lifecycle.operations.record_rules import check_record
from hermes_tui.lifecycle.state_db.connection.holders import holder
from hermes_tui.platform import locks, paths
from hermes_tui.platform.own_files import open_own, read_own

__all__ = ["SAID_AFTER", "Audit", "History", "new_id"]

PATIENCE = 15.0
"""Seconds to wait for another operation; one takes a fraction of a second."""
SAID_AFTER = 1.0
"""Seconds after which it is said who is waited for."""
_LIMIT = 64 << 20
"""Bytes of the log: ten thousand operations."""
_LONGEST = 16 << 20
"""Bytes of a line: thousands of lanes that are pruned at once."""
_MOST = 100_000
"""Lines of the log."""
_NAMED = 20
"""Lines that are named one by one, of those that cannot be used."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the log."""

    operations: tuple[Operation, ...] = ()
    """The oldest first."""
    problems: tuple[str, ...] = ()
    """Lines that cannot be used, and are acted on by nobody: file, line and reason, without a full stop."""


class Audit:
    """The file. It is made when first written to, readable by its owner alone."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` None: `lanes.jsonl` in the state directory."""
        self.path = path or paths.state_dir() / "lanes.jsonl"

    def append(self, record: AuditRecord) -> None:
        """Write one record and wait for the disk. Raises `StoreError`."""
        try:
            with self._opened() as number:
                end = os.lseek(number, 0, os.SEEK_END)
                # A process that died while it wrote left half a line: this one begins on a line of its own.
                torn = end > 0 and os.pread(number, 1, end - 1) != b"\n"
                line = (b"\n" if torn else b"") + msgspec.json.encode(record) + b"\n"
                if len(line) > _LONGEST:  # nobody would read it again
                    raise OSError(27, "the operation is too long for it; take fewer lanes at once")
                if end + len(line) > _LIMIT:
                    raise OSError(27, f"it would grow over {_LIMIT >> 20} MB; move it away")
                if os.write(number, line) != len(line):
                    os.ftruncate(number, end)  # half a line would be told of as a fault from then on
                    raise OSError(28, "no space left")
                os.fsync(number)
        except UnicodeEncodeError as error:
            raise StoreError(
                "The log of operations cannot name this home, whose path is not UTF-8: reach it by"
                " a link with another name (--home)."
            ) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(f"The log of operations {self.path} cannot be written: {reason}.") from error

    @contextmanager
    def alone(self, waiting: Callable[[str], None] = lambda words: None) -> Iterator[None]:
        """One operation at a time, over all processes of this user; `waiting` is told, in a clause, whose takes long.
        Raises `StoreError`, also where another one takes longer than any should."""
        lock = self.path.with_suffix(".lock")
        try:
            # A moment first: who has to wait no longer than that is not told for whom.
            number = locks.take(lock, min(SAID_AFTER, PATIENCE))
            if number is None:
                waiting(f"{holder(lock)} is changing lanes; waiting for it, for {PATIENCE:.0f} s at most")
                number = locks.take(lock, PATIENCE - SAID_AFTER)
        except OSError as error:
            raise StoreError(
                f"The log of operations cannot be locked: {lock}: {error.strerror or error}; without it nothing is"
                " changed, so make that possible."
            ) from error
        if number is None:
            raise StoreError(
                f"Another hermes-tui has been changing lanes for {PATIENCE:.0f} s and holds {lock}; nothing was"
                " changed here. If it was stopped, let it go on or end it, and try again."
            )
        try:
            yield
        finally:
            os.close(number)  # which is what lets the lock go

    def is_busy(self) -> bool:
        """Whether some process is at an operation right now; a lock that cannot be looked at counts as free."""
        return locks.is_held(self.path.with_suffix(".lock"))

    def read(self) -> History:
        """Every operation, and which lines none could be made of. Raises `StoreError`."""
        try:
            raw = read_own(self.path, _LIMIT)
            if raw.count(b"\n") > _MOST:
                raise OSError(27, f"it has more than {_MOST:,} lines")
        except FileNotFoundError:  # nothing was done here yet
            return History()
        except OSError as error:
            raise StoreError(
                f"The log of operations {self.path} cannot be read: {error.strerror or error}; without it nothing is"
                " changed or taken back, so repair it or move it away."
            ) from error
        reading = _Reading()
        for number, found in enumerate(re.finditer(rb"[^\n]*\n?", raw), 1):
            if found.group().strip():
                reading.take(number, found.group())
        return History(operations=tuple(reading.found.values()), problems=tuple(reading.named(self.path)))

    @contextmanager
    def _opened(self) -> Iterator[int]:
        # A lock of its own: whoever asks for an outcome writes it down without having been `alone`.
        paths.private_dir(self.path.parent)
        number = open_own(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            yield number
        finally:
            os.close(number)


class _Reading:
    """The lines of a log, put together by their operations."""

    def __init__(self) -> None:
        self.found: dict[str, Operation] = {}
        self._begun: dict[str, AuditRecord] = {}
        self._bad: list[tuple[int, str]] = []
        self._refused = set[str]()
        """Operations whose first line cannot be used; nor can the others, which need not be named."""

    def take(self, number: int, line: bytes) -> None:
        """One line."""
        if len(line) > _LONGEST:
            self._bad.append((number, f"it is longer than {_LONGEST >> 20} MB"))
            return
        try:
            record = decoded(line)
        except (ValueError, RecursionError) as error:
            self._bad.append((number, str(error)))
            return
        try:
            check_record(record, self._begun)
        except ValueError as error:
            if record.event == "begun" and record.operation not in self._begun:
                self._refused.add(record.operation)
            elif record.operation in self._refused:
                return
            self._bad.append((number, str(error)))
            return
        known = self.found.get(record.operation)
        if known is None:
            self._begun[record.operation] = record
            self.found[record.operation] = Operation(begun=record)
        elif record.event == "applied":
            self.found[record.operation] = msgspec.structs.replace(known, applied=record.at)
        elif known.outcome is None or record.state == "undone":
            # What was settled once stays: two processes may have looked at the same moment.
            self.found[record.operation] = msgspec.structs.replace(known, outcome=record)

    def named(self, path: Path) -> Iterator[str]:
        """The lines that could not be used."""
        for number, reason in self._bad[:_NAMED]:
            yield f"{path}, line {number}: no operation of ours: {reason[:200]}; nothing is done on its account"
        if len(self._bad) > _NAMED:
            yield f"{path}: {len(self._bad) - _NAMED:,} more lines cannot be used"


def new_id(now: datetime) -> str:
    """A name for an operation: its time in UTC, and six digits."""
    # `secrets` would load the library for cryptography: 4 MB of a program that is left open for weeks.
    return f"{now:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"
