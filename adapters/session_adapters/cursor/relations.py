"""Merges the same conversation from several stores, and fills in directories.

Format: FACTS.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from msgspec.structs import replace

from session_adapters.model import SessionSummary

__all__ = ["RANKS", "relate"]

RANKS = {"chat": 0, "composer": 1, "transcript": 2, "text": 3, "tab": 4, "document": 5}
"""Of several copies the richest counts: a transcript lacks results, thoughts and models."""


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Each session once, with its parent and title from whichever copy knows them, and its directory."""
    best: dict[str, SessionSummary] = {}
    for summary in sorted(summaries, key=_rank):
        kept = best.setdefault(summary.session_id, summary)
        if kept is not summary:
            best[summary.session_id] = _completed(kept, summary)
    return _in_directories(best[key] for key in dict.fromkeys(one.session_id for one in summaries))


def _rank(summary: SessionSummary) -> tuple[int, float]:
    return RANKS.get(str(summary.raw.get("layout")), 9), -summary.updated_at.timestamp()


def _completed(kept: SessionSummary, other: SessionSummary) -> SessionSummary:
    if kept.parent_id is None and other.parent_id is not None:
        kept = replace(kept, kind=other.kind, parent_id=other.parent_id)
    return replace(kept, cwd=kept.cwd or other.cwd)


def _in_directories(found: Iterable[SessionSummary]) -> list[SessionSummary]:
    """Chats and transcripts lie in folders named after their directory, by a digest or with its signs replaced:
    neither can be undone, but a directory that another session names can be tried."""
    sessions = list(found)
    lacking = [one for one in sessions if not one.cwd]
    if not lacking:
        return sessions
    known = {name: one.cwd for one in sessions if one.cwd for name in _folders(one.cwd)}
    return [one if one.cwd else replace(one, cwd=known.get(_folder(one))) for one in sessions]


def _folders(directory: str) -> tuple[str, str]:
    slug = re.sub(r"[^0-9A-Za-z]", "-", directory).strip("-")
    return hashlib.md5(directory.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(), slug


def _folder(summary: SessionSummary) -> str:
    path = PurePath(summary.path)
    if summary.raw.get("layout") == "chat":
        return path.parent.parent.name
    places = [parent.parent.name for parent in path.parents if parent.name == "agent-transcripts"]
    return places[0] if places else ""
