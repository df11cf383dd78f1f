"""omp (oh-my-pi): Pi's trees with a title slot, profiles and sub-agents.

Format: omp/FACTS.md; spec 004 §4.2.8.

`~/.omp/agent/sessions/<dir>/<time>_<id>.jsonl`; `<time>_<id>/` beside it holds the transcripts of its sub-agents
by name. Folder names changed over time and are never taken apart. `agent.db` holds credentials and is not opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from msgspec.structs import replace

from session_adapters.base import Capabilities, Liveness, NativeCommand, Report, Root, Source, unique
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import is_directory, is_folder
from session_adapters.tree.adapter import DOCUMENT, TreeAdapter
from session_adapters.tree.live import Process, newest_by_directory, process

__all__ = ["OmpAdapter"]

SUBAGENT = "subagent"
"""`Source.layout` of a transcript inside another session's folder."""
_DEPTH = 6
"""How deep sub-agents of sub-agents are looked for."""
_STORE_VARIABLES = ("PI_CONFIG_DIR", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME")
_NO_LOCK = "omp does not lock its sessions: if another omp has this one open, both write into the same file"


class OmpAdapter(TreeAdapter):
    """Reads omp."""

    name = "omp"
    label = "omp"
    badge = "om"
    capabilities = Capabilities(session_persistence="file", can_resume=True, can_fork=True)

    # Finding -----------------------------------------------------------------------------------------------

    @property
    def _base(self) -> Path:
        """The folder that `PI_CONFIG_DIR` renames."""
        chosen = self.environment.variables.get("PI_CONFIG_DIR", "").strip() or ".omp"
        return self.environment.home / self.environment.expand(chosen)

    def roots(self) -> Sequence[Root]:
        """The moved agent folder, the XDG one, the default one, and every profile's."""
        found: dict[Path, tuple[str, str | None]] = {}
        if moved := self.environment.variables.get("PI_CODING_AGENT_DIR", "").strip():
            found[self.environment.expand(moved) / "sessions"] = ("PI_CODING_AGENT_DIR", None)
        if shared := self.environment.variables.get("XDG_DATA_HOME", "").strip():
            found[self.environment.expand(shared) / "omp" / "sessions"] = ("XDG_DATA_HOME", None)
        found.setdefault(self._base / "agent" / "sessions", ("default", None))
        profiles = self._listed(self._base / "profiles", lambda problem: None)
        for entry in profiles:
            found.setdefault(Path(entry.path) / "agent" / "sessions", ("profile", entry.name))
        return [
            Root(path=path, layout=layout, profile=profile, exists=is_folder(path))
            for path, (layout, profile) in found.items()
        ]

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`; files that were started elsewhere with `--session` are registered in a folder
        of one-line files, which are read."""
        yield from unique(self._everything(report))

    def _everything(self, report: Report) -> Iterator[Source]:
        yield from self._walk(report)
        self._listed(self._base / "profiles", report)  # `roots` has what is in it, and cannot say why it has not
        for root in self.roots():
            for entry in self._listed(root.path.parent / "custom-session-files", report):
                path = self._registered(Path(entry.path), report)
                source = self.file_source(str(path), root, report) if path is not None else None
                if source is not None:
                    yield source

    def _registered(self, entry: Path, report: Report) -> Path | None:
        try:
            text = read_small(entry, 16 << 10).decode("utf-8", "replace").strip()
        except OSError as error:
            report(Problem(agent=self.name, path=str(entry), reason=f"cannot be read: {error.strerror or error}"))
            return None
        path = Path(text)
        if path.is_absolute() and path.suffix == ".jsonl" and "\x00" not in text:
            return path
        reason = "names no session file, so a session elsewhere may not be listed"
        report(Problem(agent=self.name, path=str(entry), reason=reason))
        return None

    def blobs(self) -> Sequence[Path]:
        """See `TreeAdapter.blobs`: beside the sessions."""
        return [root.path.parent / "blobs" for root in self.roots()]

    def inside(self, folder: os.DirEntry[str], root: Root, report: Report) -> Iterator[Source]:
        """The sub-agents of the session whose file stands beside the folder."""
        if os.path.isfile(f"{folder.path}.jsonl"):  # noqa: PTH113 - raises nothing where it cannot be reached
            yield from self._subagents(Path(folder.path), root, report, _DEPTH)

    def _subagents(self, folder: Path, root: Root, report: Report, depth: int) -> Iterator[Source]:
        for entry in self._listed(folder, report):
            if entry.name.endswith(".jsonl") and not is_directory(entry):
                source = self.file_source(entry.path, root, report)
                if source is not None:
                    yield replace(source, layout=SUBAGENT, session_id="")
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from self._subagents(Path(entry.path), root, report, depth - 1)

    # Summaries ---------------------------------------------------------------------------------------------

    def placed(self, source: Source, summary: SessionSummary) -> SessionSummary:
        """A file inside another session's folder is a sub-agent's."""
        if source.layout != SUBAGENT:
            return summary
        name = PurePath(summary.path).stem
        raw = {**summary.raw, "agentName": name}
        # The header names the session file; its place says the same when the header was lost.
        raw.setdefault("parentSession", f"{PurePath(summary.path).parent}.jsonl")
        return replace(summary, kind="subagent", title=summary.title or name, raw=raw)

    # Running -----------------------------------------------------------------------------------------------

    def live(self) -> Mapping[str, Liveness]:
        """A client file of a process that still runs; which session it has open is inferred (`tree.live`)."""
        return newest_by_directory(
            self._clients(),
            lambda: (source for source in self.sources(lambda problem: None) if source.layout != SUBAGENT),
            self.header_of,
        )

    def _clients(self) -> Iterator[Process]:
        """`run/daemons/<project>/clients/<pid>-<uuid>.json`; such files stay behind after a kill, so the process
        must be older than the file and look like omp."""
        places = [self._base]
        if state := self.environment.variables.get("XDG_STATE_HOME", "").strip():
            places.append(self.environment.expand(state) / "omp")
        for place in places:
            if not is_folder(place):
                continue
            for client in sorted(place.glob("run/daemons/*/clients/*.json")):
                try:
                    record = json.loads(read_small(client, 64 << 10))
                    written = client.stat().st_mtime
                    pid, project = record["pid"], record["projectDir"]
                except (OSError, ValueError, KeyError, TypeError, RecursionError):
                    continue  # being written or removed: it says nothing
                if not isinstance(pid, int) or not isinstance(project, str):
                    continue
                found = process(self.environment.proc, pid)
                names = {PurePath(word).name for word in found.words[:2]} if found is not None else set()
                if found is not None and found.started <= written + 1 and names & {"omp", "bun"}:
                    yield found._replace(cwd=project)

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`omp [--profile x] --resume <path>`."""
        return self._command(summary, "--resume", summary.path, _NO_LOCK)

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`omp [--profile x] --fork <id>`; works, though `omp --help` does not name it."""
        if summary.session_id.startswith("-"):
            return None  # would be taken for an option
        return self._command(summary, "--fork", summary.session_id, None)

    def _command(self, summary: SessionSummary, option: str, value: str, warning: str | None) -> NativeCommand | None:
        if summary.raw.get("layout") == DOCUMENT or summary.kind == "subagent" or not value:
            return None
        argv = ["omp"]
        if summary.profile:
            argv += ["--profile", summary.profile]
        path = PurePath(summary.path)
        # A fork is named by its id, which omp looks for in its own folders unless it is told another.
        if option == "--fork" and not any(path.is_relative_to(root.path) for root in self.roots()):
            argv += ["--session-dir", str(path.parent)]
        variables = self.environment.variables
        kept = {name: variables[name] for name in _STORE_VARIABLES if variables.get(name)}
        return NativeCommand(argv=(*argv, option, value), cwd=summary.cwd, env=kept, warning=warning)
