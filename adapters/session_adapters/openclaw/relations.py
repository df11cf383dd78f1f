"""Merges summaries of one session, and links forks to their origin.

A transcript and its key in `sessions.json`, a file and the database that took it over, copies of a file (stores2.md
section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from msgspec.structs import replace

from session_adapters.model import SessionSummary
from session_adapters.openclaw.places import DATABASE, DOCUMENT, FILE, INDEX, PACKED

__all__ = ["forked_from", "merged", "related"]


def merged(transcript: SessionSummary, key: SessionSummary) -> SessionSummary:
    """A transcript under its key: what the key says before what the transcript does."""
    helper = key.kind == "subagent"
    return replace(
        transcript,
        session_id=key.session_id,
        title=key.title or transcript.title,
        kind=key.kind if helper else transcript.kind,
        parent_id=key.parent_id if helper else transcript.parent_id,
        forked_from=None if helper else transcript.forked_from,
        cwd=transcript.cwd or key.cwd,
        model=transcript.model or key.model,
        models=transcript.models or key.models,
        source=key.source or transcript.source,
        archived=transcript.archived or key.archived,
        error=transcript.error or key.error,
        end_reason=key.end_reason or transcript.end_reason,
        raw={**key.raw, **transcript.raw, "current": True},
    )


def related(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Every session once. The database counts before the files it was made from, unless it has nothing of one."""
    layouts: dict[Any, list[SessionSummary]] = {}
    for one in summaries:
        layouts.setdefault(one.raw.get("layout"), []).append(one)
    keys, stored = layouts.get(INDEX, []), layouts.get(DATABASE, [])
    # Of copies of a file the longest: those in the import's archive, or with another end to the name.
    best: dict[tuple[Any, ...], SessionSummary] = {}
    for one in (*layouts.get(FILE, []), *layouts.get(PACKED, [])):
        copy = (one.raw.get("sessionId"), one.created_at)
        other = best.get(copy)
        if other is None or (one.message_count, one.size) > (other.message_count, other.size):
            best[copy] = one
    owners = {id_: one for one in stored for id_ in (*one.raw.get("windows", ()), one.raw.get("sessionId"))}
    filled: dict[str, SessionSummary] = {}
    left: list[SessionSummary] = []
    for one in best.values():
        owner = owners.get(one.raw.get("sessionId")) or owners.get(_header_id(one))
        if owner is None:
            left.append(one)
        elif (
            not owner.message_count
            and not owner.raw.get("packed")
            and one.raw.get("sessionId") == owner.raw.get("sessionId")
        ):
            filled[owner.session_id] = merged(one, owner)
    taken = {one.session_id for one in stored}
    found = [filled.get(one.session_id, one) for one in stored]
    found += _under_keys(left, [key for key in keys if key.session_id not in taken])
    ids: dict[str, str] = {}  # session id → the id under which it is known
    for one in found:
        for id_ in (*one.raw.get("windows", ()), one.raw.get("headerId"), one.raw.get("sessionId")):
            if isinstance(id_, str):
                ids[id_] = one.session_id
    return [
        *(_forked(one, ids) if one.kind == "fork" else one for one in found),
        *layouts.get(DOCUMENT, []),
    ]


def _header_id(one: SessionSummary) -> str | None:
    """The id in a file's header, where the name is that id with a topic behind it: some names and headers do not
    belong together (FACTS.md «Traps»)."""
    header, stem = one.raw.get("headerId"), one.raw.get("sessionId")
    matches = isinstance(header, str) and isinstance(stem, str) and header and stem.startswith(f"{header}-topic-")
    return str(header) if matches else None


def _under_keys(files: list[SessionSummary], keys: list[SessionSummary]) -> list[SessionSummary]:
    """The files that a key names with its name, the others as they are."""
    by_path = {one.path: one for one in files if one.raw.get("layout") != PACKED}
    named: dict[str, SessionSummary] = {}
    # Of two keys for one file the longer, which comes last: older versions wrote an alias beside the full key.
    for key in sorted(keys, key=lambda one: (len(one.session_id), one.session_id)):
        folder = Path(key.path).parent
        for name in key.raw.get("files", ()):
            one = by_path.get(str(folder / name))
            if one is not None:
                named[one.path] = key
                break
    return [merged(one, named[one.path]) if one.path in named else one for one in files]


def forked_from(header: str) -> str:
    """The session id in a header's `parentSession`: a path, or `sqlite:<agent>:<id>:<path of the database>`."""
    if header.startswith("sqlite:"):
        return header.split(":", 3)[2] if header.count(":") >= 2 else ""
    return PurePath(header.replace("\\", "/")).name.partition(".jsonl")[0]


def _forked(one: SessionSummary, ids: dict[str, str]) -> SessionSummary:
    if one.forked_from is not None:
        return one
    named = one.raw.get("parentSession")
    session_id = forked_from(named) if isinstance(named, str) else ""
    parent = ids.get(session_id, session_id) or None
    parent = None if parent == one.session_id else parent
    return replace(one, parent_id=parent, forked_from=parent)
