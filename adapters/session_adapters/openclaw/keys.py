"""Which source holds a session: by its key, a window, the name of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from session_adapters.base import Environment, Source
from session_adapters.model import SessionSummary
from session_adapters.openclaw.database.tables import events_in
from session_adapters.openclaw.index import file_keys, key_summaries, transcript_names
from session_adapters.openclaw.listing import database_summaries
from session_adapters.openclaw.places import (
    DATABASE,
    DOCUMENT,
    FILE,
    INDEX,
    PACKED,
    StateDir,
    key_sources,
    state_dirs,
)
from session_adapters.openclaw.relations import related
from session_adapters.text import scrub

__all__ = ["ClawKeys", "local_id"]


class ClawKeys:
    """Knows nothing by itself: every answer is of the stores as they are."""

    def __init__(self, environment: Environment, sources: Callable[[], Iterable[Source]]) -> None:
        """`sources`: all there are."""
        self._environment = environment
        self._sources = sources

    def state_of(self, source: Source) -> StateDir:
        """The state directory that a source is in."""
        found = (state for state in state_dirs(self._environment) if str(state.path) == source.root)
        return next(found, None) or StateDir(Path(source.root), source.profile, "", "")

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`."""
        wanted = scrub(session_id)
        states = {str(state.path): state for state in state_dirs(self._environment)}
        listed = list(self._sources())
        empty: tuple[Source, str] | None = None
        for source in listed:
            local = local_id(wanted, states.get(source.root))
            if source.layout == DATABASE and local is not None:
                there = events_in(source.path, local)
                if there is not None and there[1]:
                    return source
                if there is not None:
                    empty = empty or (source, there[0])
        local_ids = {root: local_id(wanted, state) for root, state in states.items()}
        found = self._find_file(listed, wanted, local_ids)
        if found is not None or empty is None:
            return found
        # A database that knows the session and has nothing of it: its file was not taken over yet.
        left = (one for one in listed if one.layout == FILE and one.root == empty[0].root)
        return next((one for one in left if Path(one.path).name == f"{empty[1]}.jsonl"), empty[0])

    def _find_file(self, listed: Sequence[Source], wanted: str, local_ids: Mapping[str, str | None]) -> Source | None:
        files = [source for source in listed if source.layout in (FILE, PACKED, DOCUMENT)]
        for source in files:
            if source.session_id == wanted:
                return source
        by_path = {source.path: source for source in files if source.layout == FILE}
        for source in listed:
            local = local_ids.get(source.root)
            entry = file_keys(source).entries.get(local) if source.layout == INDEX and local is not None else None
            for name in transcript_names(entry) if entry is not None else ():
                if (path := str(Path(source.path).parent / name)) in by_path:
                    return by_path[path]
        documents = (source for source in files if source.layout == DOCUMENT)
        return next((one for one in documents if Path(one.path).stem == local_ids.get(one.root)), None)

    def is_in(self, source: Source, session_id: str) -> bool:
        """Whether a file holds the session: by its own id, or by a key, which an index translates."""
        if session_id == source.session_id:
            return True
        if source.layout != FILE:
            known = self.find(session_id)
            return known is not None and known.path == source.path
        local, name = local_id(session_id, self.state_of(source)), Path(source.path).name
        if local is None:
            return False
        for one in self.key_sources(source):
            if one.layout == INDEX:
                if local in file_keys(one).of.get(name, ()):
                    return True
            elif (there := events_in(one.path, local)) is not None and f"{there[0]}.jsonl" == name:
                return True
        return False

    def key_sources(self, source: Source) -> Iterator[Source]:
        """See `places.key_sources`: of a transcript."""
        return key_sources(self.state_of(source), self._environment, Path(source.path).parent)

    def under_key(self, source: Source, found: SessionSummary, state: StateDir) -> SessionSummary:
        """The transcript of a file with what its key says."""
        if source.layout != FILE:
            return found
        keys: list[SessionSummary] = []
        for one in self.key_sources(source):
            if one.layout == INDEX:
                keys += key_summaries(one, state, Path(source.path).name)
                continue
            try:
                window = str(found.raw.get("sessionId"))
                keys += database_summaries(one, state, lambda *said: None, exact=False, wanted=window)
            except (OSError, ValueError):
                continue  # `summaries` reports it
        return next((one for one in related([*keys, found]) if one.path == source.path), found)


def local_id(session_id: str, state: StateDir | None) -> str | None:
    """The id as the state directory itself has it; None for an id of another one."""
    if state is None or not state.tag:
        return session_id
    prefix = f"{state.tag}/"
    return session_id[len(prefix) :] if session_id.startswith(prefix) else None
