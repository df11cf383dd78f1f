"""The keys in `sessions.json`: names, channels, parents of transcripts.

Format: stores/openclaw FACTS.md.

It is a source of its own, so that a transcript need not be read again whenever it changes, which is at every run.
What it says becomes a summary without messages; `relations` puts it together with that of the transcript.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from session_adapters.base import Source
from session_adapters.model import SessionKind, SessionSummary
from session_adapters.openclaw.places import AGENT, INDEX, StateDir
from session_adapters.openclaw.records import ENTRY, ClawKey, IndexEntry
from session_adapters.reading.bounds import CROWDED, DOCUMENT_LIMIT, is_crowded
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import file_stamp, read_small
from session_adapters.text import one_line

__all__ = ["described", "file_keys", "index_summaries", "key_summaries", "transcript_names"]

_RAW_ENTRIES = msgspec.json.Decoder(dict[str, msgspec.Raw])
"""Entries repeat megabytes of skills (FACTS.md «Traps»): most of each is passed over."""
_ANY_ENTRIES = Decoder(dict)
_KEYS = 20_000
"""Keys that are read; each becomes a summary, and a person has some hundreds."""
_FAILED = frozenset({"failed", "killed", "timeout"})

Note = Callable[[str, str], None]
"""(key, reason) of what could not be read."""


def _read_index(path: str, note: Note) -> dict[str, IndexEntry]:
    """Key → entry. Raises `OSError`, and `ValueError` where it is no JSON object."""
    data = read_small(path, DOCUMENT_LIMIT)
    if is_crowded(data):
        raise OSError(CROWDED)
    found: dict[str, IndexEntry] = {}
    for number, (key, raw) in enumerate(_entries(data)):
        if number == _KEYS:
            raise OSError(f"it has more than {_KEYS:,} keys")
        try:
            found[key] = ENTRY.one(raw)
        except ValueError:
            note(key, "the entry has fields of other types than expected")
    return found


def _entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        yield from ((key, bytes(raw)) for key, raw in _RAW_ENTRIES.decode(data).items())
        return
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # Something is not as OpenClaw writes it: the entries that are stay.
        pass
    for key, value in _ANY_ENTRIES.one(data).items():
        if isinstance(key, str) and isinstance(value, dict):
            yield key, msgspec.json.encode(value)


def transcript_names(entry: IndexEntry) -> tuple[str, ...]:
    """The file names that an entry's transcript may have. The directory in it counts for nothing: stores move."""
    named = PurePath((entry.session_file or "").replace("\\", "/")).name
    usual = f"{entry.session_id}.jsonl"
    return tuple(dict.fromkeys(name for name in (named, usual) if name.endswith(".jsonl") and name != ".jsonl"))


class FileKeys(NamedTuple):
    """The keys in an index whose transcripts are there."""

    entries: dict[str, IndexEntry]
    of: dict[str, list[str]]
    """Name of a file → the keys that may name it."""


def file_keys(source: Source) -> FileKeys:
    """Of an index as it is now; without any where it cannot be read, which `index_summaries` says."""
    try:
        stamp = file_stamp(Path(source.path).parent.stat())
        return _file_keys(source.path, (*source.stamp, *stamp))
    except OSError:
        return FileKeys({}, {})


@lru_cache(maxsize=8)
def _file_keys(path: str, stamp: tuple[int, ...]) -> FileKeys:
    # Each file of the folder is asked for, and an index may have megabytes.
    found = FileKeys({}, {})
    names = set(os.listdir(Path(path).parent))  # noqa: PTH208 - names alone
    try:
        entries = _read_index(path, lambda *one: None)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None):
            raise  # the system's: it may go by itself, and what is returned is kept
        return found
    for key, entry in entries.items():
        for name in names.intersection(transcript_names(entry)):
            found.entries[key] = entry
            found.of.setdefault(name, []).append(key)
    return found


def key_summaries(source: Source, state: StateDir, transcript: str) -> list[SessionSummary]:
    """What an index says of the file `transcript`, in the place of `index_summaries`."""
    known = file_keys(source)
    return [_summary(source, state, key, known.entries[key]) for key in known.of.get(transcript, ())]


def index_summaries(source: Source, state: StateDir, note: Note) -> list[SessionSummary]:
    """What the keys say. Raises as `_read_index` does."""
    folder = Path(source.path).parent
    try:
        names = set(os.listdir(folder))  # noqa: PTH208 - names alone
    except OSError:
        names = set()
    has_database = (folder.parent / "agent" / "openclaw-agent.sqlite").exists()
    found = []
    for key, entry in _read_index(source.path, note).items():
        wanted = transcript_names(entry)
        # With a database the transcripts are in there: the import moved their files away.
        if not has_database and names and not names.intersection(wanted):
            note(key, f"its transcript {wanted[0] if wanted else ''} is not there")
        found.append(_summary(source, state, key, entry))
    return found


def _summary(source: Source, state: StateDir, key: str, entry: IndexEntry) -> SessionSummary:
    bare = SessionSummary(
        agent=AGENT,
        session_id=state.tagged(key),
        profile=source.profile,
        path=source.path,
        raw={"layout": INDEX, "files": list(transcript_names(entry)), "sessionId": entry.session_id},
    )
    return described(bare, key, entry, state)


def described(
    summary: SessionSummary, key: str, entry: IndexEntry, state: StateDir, columns: Mapping[str, Any] | None = None
) -> SessionSummary:
    """The summary with what is known of its key. `columns` are those of the database, which say some of it again."""
    has = {name: value for name, value in (columns or {}).items() if value is not None}
    parts = ClawKey.of(key)
    spawner = has.get("spawned_by") or entry.spawned_by
    kind: SessionKind = "subagent" if spawner or parts.is_subagent else summary.kind
    delivery = entry.delivery_context.channel if entry.delivery_context else None
    origin = entry.origin.provider if entry.origin else None
    places = (parts.channel, has.get("channel"), entry.channel, entry.last_channel, delivery, origin)
    channel = next((place for place in places if isinstance(place, str) and place), None)
    status = has.get("status") or entry.status
    name = has.get("label") or entry.label or has.get("display_name") or entry.display_name or entry.auto_label
    models = summary.models or tuple(filter(None, (has.get("model") or entry.model or entry.model_override,)))
    return replace(
        summary,
        title=one_line(name or "") or summary.title,
        kind=kind,
        parent_id=state.tagged(spawner) if spawner else None if kind == "subagent" else summary.parent_id,
        forked_from=None if kind == "subagent" else summary.forked_from,
        cwd=summary.cwd or entry.session_root or entry.spawned_cwd,
        model=models[0] if models else None,
        models=models,
        source=channel or parts.origin,
        archived=summary.archived or bool(has.get("archived_at") or entry.archived_at),
        error=summary.error or status == "failed",
        end_reason=status if status in _FAILED else summary.end_reason,
        raw={
            **summary.raw,
            **_facts(parts, entry, has, channel),
            "sessionKey": key,
            "agentId": parts.agent_id,
        },
    )


def _facts(parts: ClawKey, entry: IndexEntry, has: Mapping[str, Any], channel: str | None) -> dict[str, Any]:
    facts = {
        "channel": channel,
        "chatType": parts.chat_type or has.get("chat_type") or entry.chat_type,
        "parentSessionKey": has.get("parent_session_key") or entry.parent_session_key,
        "createdVia": has.get("created_via"),
        "status": has.get("status") or entry.status,
        "label": has.get("label") or entry.label,
    }
    return {name: value for name, value in facts.items() if value}
