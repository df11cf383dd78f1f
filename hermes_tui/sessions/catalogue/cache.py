"""The cache file of the session list and of what sessions cost.

A cache, never a truth: delete it at any time. A damaged file, or one of another version of this program, counts as
absent. Parts of MessagePack: what is added up of the calls (`cost.summary`); a `FirstPicture`, which alone is read
for the first picture; lists of `CachedSource`, one of which is in memory at a time beside what is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hermes_tui.sessions.checksummed_file import forget_others, read_part, read_parts, write_parts
from hermes_tui.sessions.marks import OwnMarks
from session_adapters.base import Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.bounds import is_cut
from session_adapters.usage import CallPack, Packed, packed

__all__ = [
    "PICTURED",
    "TOGETHER",
    "CachedSource",
    "FirstPicture",
    "load",
    "load_labels",
    "load_picture",
    "load_sums",
    "save",
]

_MAGIC = b"hermes-tui catalogue 10\n"
_SUMS, _PICTURED, _LISTED = range(3)
"""Numbers of the parts; from the last one on there are entries."""
TOGETHER = 1000
"""Entries in one part."""
PICTURED = 5_000
"""Sessions in the first picture: decoded before anything is shown, and written beside the entries each time."""


class CachedSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What one source held when it had that stamp."""

    source: Source
    summaries: tuple[SessionSummary, ...] = ()
    """As read; relations to other sessions are not in them."""
    problems: tuple[Problem, ...] = ()
    stale: tuple[Problem, ...] = ()
    """Why it could not be read since: all else is as it was before. Not written to the file. No indexer
    has anything to do for it: it is of another moment than the index, and stays so."""
    exact: bool = False
    """Read in full."""
    waits: bool = False
    """It was being written to: looked at again for half a line at its end when nobody has done so for a while."""
    calls: Packed | None = None
    """What its model calls used; None where that was not asked for."""
    callers: tuple[str, ...] = ()
    """Sessions that `calls` names and `names` does not."""
    uncounted: tuple[str, ...] = ()
    """Native ids of the sessions of which `calls` says nothing, or what has changed since."""
    call_problems: tuple[Problem, ...] = ()
    """Why `calls` lacks some: not written to the file either."""

    @property
    def is_unreadable(self) -> bool:
        """It could not be read at all: not written to the file, so that the next process tries again."""
        return bool(self.problems) and not self.summaries

    @property
    def unread(self) -> Sequence[Problem]:
        """Why sessions are missing, or all of them, or are as they were before."""
        return self.stale or ([one for one in self.problems if is_cut((one,))] if self.summaries else self.problems)

    @property
    def names(self) -> Sequence[str]:
        """Native ids of its sessions: the one that its path tells, and those that were read."""
        read = [one.session_id for one in self.summaries]
        told = self.source.session_id
        return read if not told or read == [told] else list(dict.fromkeys((told, *read)))

    @property
    def is_counted(self) -> bool:
        """Whether `calls` has those of all its sessions."""
        return not self.summaries or (self.calls is not None and not self.uncounted and not self.call_problems)

    @property
    def reading(self) -> int:
        """Changes with `calls`, the same in each process. Of a source of many sessions it does not: which of those
        changed is in `uncounted`."""
        many = not self.source.session_id and len(self.summaries) > 1
        return hash((() if many else self.source.stamp, bool(self.call_problems)))

    def counts(self, session_id: str) -> bool:
        """Whether `calls` has those of a session, as they are now."""
        return self.calls is not None and session_id not in self.uncounted

    def with_calls(self, packs: Iterable[CallPack], problems: Iterable[Problem] = ()) -> CachedSource:
        """The same, with the calls of all its sessions."""
        calls = packed(packs)
        callers = tuple(dict.fromkeys(one.session_id for one in calls).keys() - self.names)
        return replace(self, calls=calls, callers=callers, uncounted=(), call_problems=tuple(problems))

    def with_calls_of(self, before: CachedSource | None) -> CachedSource:
        """The same, with the calls that were read before: of a source of many sessions those of the ones that did not
        change."""
        if before is None or before.calls is None or self.calls is not None:
            return self
        changed = before.uncounted
        if before.source.stamp != self.source.stamp:
            if self.source.session_id or len(self.summaries) < 2 or before.call_problems:
                return self
            # What changes with what a session in a database of many used.
            old = {one.session_id: one for one in before.summaries}
            new = {one.session_id: one for one in self.summaries}
            differ = {name for name in old.keys() | new.keys() if not _used_alike(old.get(name), new.get(name))}
            changed = tuple(differ.union(changed))
        return self.counted_as(before, changed)

    def counted_as(self, other: CachedSource, uncounted: tuple[str, ...] = ()) -> CachedSource:
        """The same, with the calls that another has."""
        calls, callers, problems = other.calls, other.callers, other.call_problems
        return replace(self, calls=calls, callers=callers, uncounted=uncounted, call_problems=problems)


def _used_alike(one: SessionSummary | None, other: SessionSummary | None) -> bool:
    if one is None or other is None:
        return False
    return one is other or _used(one) == _used(other)


_used = attrgetter("updated_at", "message_count", "tokens", "cost", "models")


class FirstPicture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was shown last: enough for a first picture without any adapter."""

    sessions: tuple[SessionSummary, ...] = ()
    """The newest, with their relations, newest first; nothing of processes."""
    left: int = 0
    """How many more there are."""
    labels: Mapping[str, tuple[str, str]] = {}
    """Agent name → label and badge, of all agents there were."""
    marks: Mapping[str, OwnMarks] = {}
    """The user's own, by unified id, as they were then: to read them takes SQLite."""


class _Labels(msgspec.Struct):
    labels: dict[str, tuple[str, str]] = {}


_ENCODER = msgspec.msgpack.Encoder()
_WHOLE = msgspec.msgpack.Decoder(list[CachedSource])
_PICTURE = msgspec.msgpack.Decoder(FirstPicture)
_LABELS = msgspec.msgpack.Decoder(_Labels)
_NOTHING = FirstPicture()


def load(
    path: Path, picture: FirstPicture = _NOTHING, damaged: Callable[[], None] = lambda: None
) -> Iterator[CachedSource]:
    """The entries in the file, without those of damaged parts, of which each is told; none when it is missing or of
    another version. A summary that equals the one in `picture` is that one, so that it is not in memory twice."""
    shown = {one.unified_id: one for one in picture.sessions}
    for part in read_parts(path, _MAGIC, _LISTED):
        try:
            entries = _WHOLE.decode(part or b"")
        except (msgspec.MsgspecError, ValueError, RecursionError):  # its sources are read again, as if they were new
            damaged()
            continue
        for entry in entries if shown else ():
            if any(one.unified_id in shown for one in entry.summaries):
                same = (shown.get(one.unified_id) for one in entry.summaries)
                summaries = (one if other != one else other for one, other in zip(entry.summaries, same, strict=True))
                msgspec.structs.force_setattr(entry, "summaries", tuple(summaries))
        yield from entries


def load_picture(path: Path) -> FirstPicture | None:
    """The picture in the file, without reading the entries; None when it is missing, damaged or of another
    version."""
    part = read_part(path, _MAGIC, _PICTURED)
    try:
        return None if part is None else _PICTURE.decode(part)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def load_labels(path: Path) -> FirstPicture:
    """The picture in the file without its sessions, of which there may be very many; empty as `load_picture`."""
    part = read_part(path, _MAGIC, _PICTURED)
    try:
        return _NOTHING if part is None else FirstPicture(labels=_LABELS.decode(part).labels)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _NOTHING


def load_sums(path: Path) -> bytes:
    """What is added up of the calls, as it was given to `save`; nothing when it is missing, damaged or of another
    version."""
    return read_part(path, _MAGIC, _SUMS) or b""


def save(path: Path, entries: Iterable[CachedSource], picture: FirstPicture = _NOTHING, sums: bytes = b"") -> None:
    """Replace the file. Raises `OSError`."""
    write_parts(path, _MAGIC, _parts(entries, picture, sums))
    forget_others(path, "catalogue-*.msgpack")
    forget_others(path, "costs-*.msgpack")  # of earlier versions of this program


def _parts(entries: Iterable[CachedSource], picture: FirstPicture, sums: bytes) -> Iterator[bytes | bytearray]:
    """One after the other: of many sessions each is large."""
    yield sums
    try:
        encoded = _ENCODER.encode(picture)
    except (OverflowError, TypeError, ValueError, RecursionError):
        # A session that cannot be encoded is missing in the first picture and nowhere else.
        sessions = tuple(filter(_is_encodable, picture.sessions))
        encoded = _ENCODER.encode(FirstPicture(sessions=sessions, left=picture.left, labels=picture.labels))
    yield encoded
    del encoded  # before the next part is made
    rest = iter(entries)
    while some := tuple(islice(rest, TOGETHER)):
        yield _encoded(some)


def _is_encodable(value: object) -> bool:
    try:
        _ENCODER.encode(value)
    except (OverflowError, TypeError, ValueError, RecursionError):
        return False
    return True


def _encoded(entries: Iterable[CachedSource]) -> bytearray:
    """An array of the entries, each encoded on its own: one with a number too large for MessagePack is read anew next
    time."""
    count, found = 0, bytearray(5)  # room for the head of the array, which says how many there are
    for entry in entries:
        end = len(found)
        try:
            if entry.call_problems:
                entry = replace(entry, calls=None, callers=(), uncounted=(), call_problems=())
            if entry.stale:
                entry = replace(entry, stale=())
            if not entry.is_unreadable:
                _ENCODER.encode_into(entry, found, -1)
                count += 1
        except (OverflowError, TypeError, ValueError, RecursionError):
            del found[end:]
    found[:5] = b"\xdd" + count.to_bytes(4, "big")  # MessagePack's array 32
    return found
