"""agent-mux's run index: costs of its runs, and tags of sessions.

Format: spec 004 §6.4.

`run-index.jsonl`, one run a line, in `~/.agent-mux/` and in the `.agent-mux/` of a project: the one that
`AGENT_MUX_PROJECT_DIR` names, and the nearest one above each directory that sessions were held in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from session_adapters.base import Environment
from session_adapters.model import Problem, TokenUsage, unified_id
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import file_stamp, open_file
from session_adapters.reading.lines import line_start, lines
from session_adapters.times import parse_time
from session_adapters.usage import Usage, call_of

__all__ = ["INDEX_LIMIT", "Run", "RunCost", "RunIndex", "index_files", "read_index"]

_FOLDER = ".agent-mux"
_NAME = "run-index.jsonl"
_VERSION = 1
_DEEP = 40
"""Directories above a session's own that are looked into, at most."""
INDEX_LIMIT = 16 << 20
"""Bytes that are read of all indexes together: some 60,000 runs, with which a report takes 80 MB more."""


class RunCost(Struct, frozen=True, rename={"total_usd": "totalUsd", "input_tokens": "inputTokens",
    "output_tokens": "outputTokens", "thinking_tokens": "thinkingTokens", "cached_tokens": "cachedTokens",
    "cache_read_tokens": "cacheReadTokens", "cache_creation_tokens": "cacheCreationTokens"}):  # fmt: skip
    """`cost` of a run."""

    total_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    cached_tokens: int | None = None
    """As the document has it; the program writes the next two in its place."""
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None

    def usage(self, session_id: str) -> Usage:
        """Its tokens, without the money."""
        read = self.cached_tokens if self.cache_read_tokens is None else self.cache_read_tokens
        tokens = TokenUsage(
            input_tokens=self.input_tokens or 0,
            output_tokens=self.output_tokens or 0,
            cached_tokens=read or 0,
            cache_write_tokens=self.cache_creation_tokens or 0,
            thinking_tokens=self.thinking_tokens or 0,
        )
        return call_of(session_id, "", None, None, tokens, None)


class _Line(Struct, rename="camel"):
    """A line of the index."""

    v: int | None = None
    run_id: str | None = None
    agent: str | None = None
    model: str | None = None
    session_id: str | None = None
    timestamp: str | int | float | None = None
    cost: RunCost | None = None
    tags: list[str] | None = None


class Run(Struct, frozen=True):
    """One run of an agent under agent-mux."""

    run_id: str
    agent: str
    session_id: str
    """Empty where the index does not say."""
    time: float | None
    """Seconds since the epoch."""
    model: str | None
    cost: RunCost | None
    tags: tuple[str, ...]


class RunIndex(Struct, frozen=True):
    """The runs of all files, each once."""

    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: Mapping[str, tuple[int, ...]] = {}
    """Path → what changes with the file."""

    def by_session(self) -> Mapping[str, Sequence[Run]]:
        """Unified id → the runs that name that session."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            if run.session_id:
                found.setdefault(unified_id(run.agent, run.session_id), []).append(run)
        return found

    def tags(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """(agent, session id) → the tags of all its runs, in the order of their first use."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for run in self.runs:
            if run.tags and run.session_id:
                found.setdefault((run.agent, run.session_id), {}).update(dict.fromkeys(run.tags))
        return {key: tuple(tags) for key, tags in found.items()}


_DECODER = Decoder(_Line)


def index_files(environment: Environment, directories: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The run indexes there are, with the stamp of each. `directories`: where sessions were held."""
    found: dict[str, tuple[int, ...]] = {}
    looked: set[str] = set()
    _look(str(environment.home), found)
    named = environment.variables.get("AGENT_MUX_PROJECT_DIR", "").strip()
    if named:
        path = str(environment.expand(named))
        _look(path, found)
        _look_in(path, found)
    for directory in directories:
        if not directory.startswith("/") or "\0" in directory:
            continue
        for folder in (directory, *map(str, list(PurePath(directory).parents)[:_DEEP])):
            # Above a directory that was looked at nothing is found that is not known by now.
            if folder in looked or _look(folder, found):
                break
            looked.add(folder)
    return found


def _look(folder: str, found: dict[str, tuple[int, ...]]) -> bool:
    return _look_in(os.path.join(folder, _FOLDER), found)  # noqa: PTH118 - asked for every directory at every look


def _look_in(folder: str, found: dict[str, tuple[int, ...]]) -> bool:
    path = os.path.join(folder, _NAME)  # noqa: PTH118 - as above
    try:
        found[path] = file_stamp(os.stat(path))  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return False
    return True


def read_index(files: Mapping[str, tuple[int, ...]]) -> RunIndex:
    """Every run of the files, once. Lines of another version, torn or damaged ones are passed over, as the format
    wants it. A problem is a file that cannot be read, or of which older runs are left out, for there are too many."""
    runs: dict[str, Run] = {}
    problems: list[Problem] = []

    def say(path: str, reason: str) -> None:
        problems.append(Problem(agent="agent-mux", path=path, reason=reason))

    left = INDEX_LIMIT
    for path in files:
        try:
            with open_file(path) as fd:
                size = os.fstat(fd).st_size
                start = line_start(fd, max(0, size - left))
                left -= min(left, size - start)
                if start:
                    say(path, f"there are too many runs: the first {start:,} bytes, with the oldest, are left out")
                for line in lines(fd, start, size):
                    if line.rest:
                        say(path, line.excess)
                    for record in _DECODER.all(line.data)[0]:
                        run = _run(record, f"{path}@{line.offset}")
                        if run is not None:
                            runs.setdefault(run.run_id, run)
        except OSError as error:
            say(path, f"cannot be read: {error.strerror or error}")
    return RunIndex(tuple(runs.values()), tuple(problems), files)


def _run(record: _Line, place: str) -> Run | None:
    if record.v != _VERSION or not record.agent:
        return None
    moment = parse_time(record.timestamp)
    cost = record.cost
    if cost is not None and (cost.total_usd is None or not 0 <= cost.total_usd < 1e9):
        cost = None
    return Run(
        record.run_id or place,
        record.agent,
        record.session_id or "",
        moment.timestamp() if moment is not None else None,
        record.model or None,
        cost,
        tuple(tag for tag in record.tags or () if tag),
    )
