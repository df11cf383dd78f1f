"""Hermes' memory files: `memories/MEMORY.md` and `memories/USER.md`.

One pair for each home (spec 004 §4.2.10); entries are parted by a line with nothing but `§`. Format: spec 004
§4.2.10; entries are parted by a line with nothing but `§`.

Each file is read as a session of its own that no list shows and only a search finds, a message for each entry.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.model import EPOCH, Message, SessionSummary
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import file_source
from session_adapters.text import one_line, scrub
from session_adapters.times import from_epoch

__all__ = ["LAYOUT", "MemoryTranscript", "memory_sources", "memory_summary", "read_memory"]

LAYOUT = "memory"
PREVIEW_LENGTH = 200
_FILES: Mapping[str, tuple[str, str]] = {
    "MEMORY.md": ("notes", "Memory: what the agent noted"),
    "USER.md": ("user", "Memory: what the agent knows of its user"),
}
"""Name of a file → the last word of its id, and its title."""
_BETWEEN = re.compile(r"(?:\A|\n)§[ \t]*(?=\n|\Z)")


def memory_sources(agent: str, root: Path, profile: str | None) -> Iterator[Source]:
    """The files under a Hermes home. Raises `OSError` for one that cannot be reached."""
    for name, (word, _) in _FILES.items():
        path = root / "memories" / name
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        session_id = "-".join(("memory", *filter(None, (profile,)), word))
        place = {"root": str(root), "layout": LAYOUT, "profile": profile}
        yield file_source(agent, str(path), status, session_id=session_id, **place)


def _entries(path: str) -> list[Message]:
    """The entries, numbered from 1. Raises `OSError`."""
    text = scrub(read_small(path).decode("utf-8-sig", "replace").replace("\r\n", "\n"))
    entries = [one.strip() for one in _BETWEEN.split(text)]
    return [
        Message(role="assistant", content=entry, id=str(number))
        for number, entry in enumerate(filter(None, entries), 1)
    ]


def memory_summary(source: Source) -> tuple[SessionSummary, list[Message]]:
    """What such a file holds. Raises `OSError`."""
    messages = _entries(source.path)
    written = from_epoch(source.modified) or EPOCH
    summary = SessionSummary(
        agent=source.agent,
        session_id=source.session_id,
        title=_FILES[os.path.basename(source.path)][1],  # noqa: PTH119 - of a string that is a path
        created_at=written,
        updated_at=written,
        message_count=len(messages),
        kind="memory",
        profile=source.profile,
        preview=one_line(messages[0].content, PREVIEW_LENGTH) if messages else "",
        path=source.path,
        size=source.size,
        raw={"layout": LAYOUT},
    )
    return summary, messages


class MemoryTranscript(WholeTranscript):
    """Such a file, opened for reading."""

    def read(self) -> tuple[list[Message], Sequence[tuple[str, str]]]:
        """See `WholeTranscript.read`."""
        return _entries(self.path), ()


def read_memory(source: Source) -> tuple[SessionSummary, list[Message]]:
    """As `memory_summary`. Raises `SessionMissing`, `SessionUnreadable`."""
    try:
        return memory_summary(source)
    except FileNotFoundError as error:
        raise SessionMissing(f"{source.path} is not there any more") from error
    except OSError as error:
        raise SessionUnreadable(f"cannot read {source.path}: {error.strerror or error}") from error
