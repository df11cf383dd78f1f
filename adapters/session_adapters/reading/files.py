"""Reads files in bounded memory, without touching them; splits lines at newlines.

Nothing of a store is trusted: a path may have become a pipe, a line may be 100 GB long (of which a sparse file keeps
nothing), hold NULs, half a record, two records glued together, or ten million values.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from session_adapters.reading.bounds import CROWDED, data_from, is_crowded
from session_adapters.reading.damage import READING, STRAYS, Line, Run
from session_adapters.reading.fragments import take_apart
from session_adapters.text import scrub_json

__all__ = [
    "BLOCK",
    "JUNK",
    "LINE_LIMIT",
    "METER",
    "PASSED_OVER_LIMIT",
    "PATIENCE",
    "Decoder",
    "Line",
    "Meter",
    "QuickDecoder",
    "RecordDecoder",
    "file_stamp",
    "has_text_keys",
    "is_unfinished",
    "is_whole",
    "line_start",
    "lines",
    "open_file",
    "read_at",
    "read_small",
    "scan_at",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

BLOCK = 1 << 20
_AT_ONCE = 1 << 30  # Linux reads 2 GB in one call at most, and macOS refuses more
LINE_LIMIT = 32 << 20
"""Bytes. A longer line is passed over and reported; it is never held in memory as a whole. Requests to models, with
all their images, are not larger."""
PASSED_OVER_LIMIT = 1 << 30
"""Bytes of one line that are passed over. What stands behind so many is not looked at, and belongs to the line."""

_SHORT_LINES, _SHORT = 20_000, 200
"""So many lines may be of less than so many bytes; what follows in the file is not read. Records are longer as a
rule, and each takes microseconds however short or damaged it is."""

PATIENCE = 60.0
"""Seconds after which a last line without newline waits for its writer no longer."""

JUNK = b"\x00 \t\r\n\xef\xbb\xbf"
"""What may stand around a record: NUL runs after a power cut, blanks, a byte order mark."""


class Meter:
    """Counts what is read, so that tests can hold the program to its laziness."""

    def __init__(self) -> None:
        self.opened = 0
        self.bytes = 0
        self.scanned = 0
        """Bytes that were searched for a few words and not looked into; not among `bytes`."""

    def reset(self) -> None:
        """Start again at zero."""
        self.opened = self.bytes = self.scanned = 0


METER = Meter()


class _Anything(msgspec.Struct):
    """An object; its fields are passed over."""


_OBJECT = msgspec.json.Decoder(_Anything).decode


def file_stamp(status: os.stat_result) -> tuple[int, ...]:
    """Changes when the content may have changed: device, inode, size, mtime in ns."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@contextmanager
def open_file(path: str | Path) -> Iterator[int]:
    """A descriptor of a regular file, for reading; its access time is left alone where the system allows it.

    Raises `OSError` (also for a directory, a pipe or a device, which are never waited for).
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:  # O_NOATIME is for the owner only
        fd = os.open(path, flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_dev == _proc():
            raise OSError(f"not a regular file: {path}")
        METER.opened += 1
        yield fd
    finally:
        os.close(fd)


@cache
def _proc() -> int | None:
    """The device of `/proc`, whose files look regular: some have no end, and memory in them."""
    try:
        return os.stat("/proc").st_dev if os.path.ismount("/proc") else None  # noqa: PTH116 - a system's own
    except OSError:
        return None


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Up to `size` bytes at `offset`; fewer only at the end of the file."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(fd, min(size, _AT_ONCE), offset)):  # one part, as a rule: no second copy
        parts.append(part)
        offset += len(part)
        size -= len(part)
    data = b"".join(parts)
    METER.bytes += len(data)
    return data


def scan_at(fd: int, offset: int, size: int) -> bytes:
    """Some of `size` bytes at `offset`, which are searched and not looked into."""
    data = os.pread(fd, size, offset)
    METER.scanned += len(data)
    return data


def read_small(path: str | Path, limit: int = 4 << 20) -> bytes:
    """A whole small file. Raises `OSError`, also when it is larger than `limit` bytes."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if size > limit:
            raise OSError(f"larger than expected ({size} bytes): {path}")
        return read_at(fd, 0, size)


def lines(fd: int, start: int = 0, stop: int | None = None) -> Iterator[Line]:
    """The lines from `start`, which must be the beginning of one, up to the byte `stop` (the end of the file if
    None). Blank lines are left out. A line over `LINE_LIMIT` comes as `too_long`, in bounded memory, and so does the
    `rest` of a file that has very many short or damaged ones."""
    offset = start
    pending: list[bytes] = []
    held = 0
    skipping = False
    position = start
    run = Run()
    given, allowed = 0, _SHORT_LINES
    while stop is None or position < stop:
        stored = data_from(fd, position, stop)
        if skipping or stored - position > LINE_LIMIT - held:
            position, pending, skipping = stored, [], True
        part = read_at(fd, position, BLOCK if stop is None else min(BLOCK, stop - position))
        if not part:
            break
        if position == offset and (passed := run.pass_over(part)):
            position = offset = position + passed
            continue
        allowed += len(part) // _SHORT
        if run.is_spoiled(position - start):
            yield from run.ended(offset)
            yield _rest(fd, offset, stop)
            return
        READING.run = run
        pieces = part.split(b"\n")
        rest = pieces.pop()
        if pieces:  # a line ends in this block
            if skipping:
                end = position + len(pieces.pop(0))
                yield from run.ended(offset)
                yield Line(offset, b"", too_long=end - offset)
                offset = end + 1
            elif pending:
                pieces[0] = b"".join((*pending, pieces[0]))
            pending, held, skipping = [], 0, False
        for data in pieces:
            if data[:1] == b"{" or b"{" in data:
                if run.length:
                    yield from run.ended(offset)
                if given == allowed:
                    yield _rest(fd, offset, stop)
                    return
                given += 1
                # Millions of them: without the call of a constructor.
                yield tuple.__new__(Line, (offset, data, True, 0, 0, False))
            elif data.strip(JUNK):
                run.length += 1
                if run.length <= STRAYS:
                    run.start = offset + len(data) + 1
                    yield Line(offset, data)
            offset += len(data) + 1
        position += len(part)
        held += len(rest)
        if held > LINE_LIMIT:
            pending, skipping = [], True
            if held > PASSED_OVER_LIMIT:
                position = os.fstat(fd).st_size if stop is None else stop
                break
        elif not skipping and rest:
            pending.append(rest)
    yield from run.ended(offset)
    if skipping:
        complete = held > PASSED_OVER_LIMIT or _is_left(fd, position)
        yield Line(offset, b"", complete=complete, too_long=position - offset)
    elif (data := b"".join(pending)).strip(JUNK):
        yield Line(offset, data, complete=_is_left(fd, position) and not is_whole(data))


def _rest(fd: int, offset: int, stop: int | None) -> Line:
    size = os.fstat(fd).st_size if stop is None else stop
    return Line(offset, b"", too_long=size - offset, rest=True)


def line_start(fd: int, at: int, floor: int = 0) -> int:
    """Where the line begins that the byte before `at` is in; `floor`, where one begins, if none does behind it. Holes
    are not read, and of one line no more than `lines` passes over: it is said to begin at `floor` then."""
    span, passed = 4 << 10, 0
    while at > floor and passed <= PASSED_OVER_LIMIT:
        low = max(floor, at - span)
        if data_from(fd, low, at) >= at:
            at, span = low, span * 2
        elif span > BLOCK:
            span = BLOCK
        else:
            found = read_at(fd, low, at - low).rfind(b"\n")
            if found >= 0:
                return low + found + 1
            passed += at - low
            at, span = low, min(span * 2, BLOCK)
    return floor


def _is_left(fd: int, end: int) -> bool:
    """Whether the file ends there and nobody has written to it lately: nothing more comes of its last line."""
    status = os.fstat(fd)
    return status.st_size <= end and time.time() - status.st_mtime > PATIENCE


def is_unfinished(path: str | Path) -> bool:
    """Whether the last line of a file has no newline. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        return bool(size) and read_at(fd, size - 1, 1) != b"\n"


def is_whole(data: bytes) -> bool:
    """Whether `data` is one JSON object from beginning to end: a last line that only lacks its newline."""
    try:
        _OBJECT(data.strip(JUNK))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


class RecordDecoder(Protocol[T_co]):
    """What makes records of lines."""

    def all(self, data: bytes) -> tuple[Sequence[T_co], bool]:
        """Every record that can be had from a line, and whether something in it was lost."""


class Decoder(Generic[T]):
    """Decodes lines into one record type: fast and typed first, then forgiving.

    A line that the typed decoder refuses (lone surrogates, NaN, a byte order mark, a field of another type) is
    tried again with the standard library; glued and half records are taken apart.
    """

    def __init__(self, record: type[T]) -> None:
        self._type = record
        self._decode = msgspec.json.Decoder(record).decode

    def one(self, data: bytes) -> T:
        """The record in `data`. Raises `ValueError` when there is none, or more than one, or too many values."""
        if is_crowded(data):
            raise ValueError(CROWDED)
        try:
            return self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if b"[" not in data and not _may_hold_object(data):
                raise ValueError(str(error)) from error
            return self._convert(_load(data), data)

    def all(self, data: bytes) -> tuple[list[T], bool]:
        """Every record that can be had from a line, and whether something in it was lost."""
        if is_crowded(data):
            return [], True
        try:
            record = self._decode(data)
            if has_text_keys(data):
                return [record], False
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if not _may_hold_object(data):
                READING.run.damaged += 1
                return [], bool(data.strip(JUNK))
        values, lost = take_apart(_text(data))
        lost = lost or not has_text_keys(data)
        records: list[T] = []
        for value in values:
            try:
                records.append(self._convert(value, data))
            except ValueError:
                lost = True
        READING.run.damaged += lost
        return records, lost

    def quick(self, record: type[T]) -> QuickDecoder[T]:
        """One that makes `record`s, of a subclass that passes over fields, of whole lines; damaged ones are left to
        this one."""
        return QuickDecoder(record, self)

    def _convert(self, value: object, data: bytes) -> T:
        if _SURROGATE.search(data):  # else there is none: of a million values each would be looked at
            value = scrub_json(value)
        try:
            return msgspec.convert(value, self._type, strict=False)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(str(error)) from error


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class QuickDecoder(Generic[T]):
    """See `Decoder.quick`."""

    def __init__(self, record: type[T], full: Decoder[T]) -> None:
        self._decode = msgspec.json.Decoder(record).decode
        self._full = full

    def all(self, data: bytes) -> tuple[Sequence[T], bool]:
        """See `Decoder.all`."""
        if is_crowded(data):
            return (), True
        try:
            record = self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            # The full decoder may make something of it, and says what it lost.
            return self._full.all(data)
        return ((record,), False) if has_text_keys(data) else self._full.all(data)


def has_text_keys(data: bytes) -> bool:
    """Whether no name of a field holds bytes that are no UTF-8: such a field is passed over, and what it held is
    lost. In a value they are shown as replacement characters."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return not _BROKEN_KEY.search(data.decode("utf-8", "replace"))
    return True


_BROKEN_KEY = re.compile(r'[{,]\s*"[^"\\\ufffd]*+(?:\\.[^"\\\ufffd]*+)*+\ufffd[^"\\]*+(?:\\.[^"\\]*+)*+"\s*:')


def _may_hold_object(data: bytes) -> bool:
    """Whether what no decoder took may hold an object: there may be millions of lines that do not."""
    return b"{" in data and b'"' in data and b"}" in data


_LENIENT = json.JSONDecoder(strict=False).decode
"""Raw control characters inside strings are no loss. Made once: there may be millions of damaged lines."""


def _text(data: bytes) -> str:
    return data.strip(JUNK).decode("utf-8", "replace")


def _load(data: bytes) -> object:
    try:
        return _LENIENT(_text(data))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
