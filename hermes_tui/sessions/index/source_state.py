"""What the index has of sources and messages: how far it is with each."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from session_adapters.base import Source

__all__ = [
    "CHEAP",
    "REST_SHARE",
    "VISIBILITY",
    "IndexedMessage",
    "Key",
    "Level",
    "Report",
    "Standing",
    "has_text_key",
    "key_of",
]

VISIBILITY = ("live", "rewound", "compacted", "branch")
"""As the index numbers them."""

REST_SHARE = 20
"""A source that took a second to be looked through again is left alone for so many: a large database that is written
to all the time must not keep a processor busy. Until then it is not covered."""
CHEAP = 0.25
"""Seconds of such a look after which nothing is left alone: whoever searches it meanwhile would read all of it."""

Key = tuple[str, str, str]
"""Agent, path and native id of a source."""


class Level(IntEnum):
    """How much of a source is in the index."""

    NOTHING = 0
    PROSE = 1
    ALL = 2


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an indexer has to do, as it last said."""

    pid: int = 0
    sources: int = -1
    """All there are; -1 before it has looked."""
    failed: int = 0
    """Those that could not be read; searching them is left to the scan."""
    left_out: int = 0
    """Those whose paths are no UTF-8, not among `sources`; searching them is left to the scan, too."""
    left_out_path: str = ""
    """The first of these paths, with U+FFFD for what is no UTF-8."""


class Standing:
    """How far a source is in the index."""

    __slots__ = ("again", "level", "lost", "number", "stamp")

    def __init__(
        self,
        number: int,
        stamp: tuple[int, ...] = (),
        level: Level = Level.NOTHING,
        again: int = 0,
        lost: str = "",
    ) -> None:
        self.number = number
        self.stamp = stamp
        """As `Source.stamp` was."""
        self.level = level
        self.again = again
        """The second, since the epoch, up to which it is left alone."""
        self.lost = lost
        """What of it could not be read; empty: nothing."""


class IndexedMessage:
    """What the index has of a message: what tells its words in each table from others, None where it has none."""

    __slots__ = ("at", "id", "names", "prose", "thought", "tool", "visibility")

    def __init__(
        self,
        id: int,  # noqa: A002
        at: int | None,
        visibility: int,
        prose: int | None = None,
        tool: int | None = None,
        names: str | None = None,
        thought: int | None = None,
    ) -> None:
        self.id, self.at, self.visibility = id, at, visibility
        self.prose, self.tool = prose, tool
        self.names = names
        """Numbers of names, with blanks between them; None where they were not looked at yet."""
        self.thought = thought
        """Words at the beginning of its tool text that were thought; None for none."""


def key_of(source: Source) -> Key:
    """What a source is known by."""
    return source.agent, source.path, source.session_id


def has_text_key(source: Source) -> bool:
    """Whether the key can be written to the database: a path may be any bytes."""
    try:
        "".join(key_of(source)).encode()
    except UnicodeEncodeError:
        return False
    return True
