"""Pi: one JSONL tree per session, in a folder per directory.

Format: pi/FACTS.md; spec 004 §4.2.7.

`~/.pi/agent/sessions/--<cwd with dashes>--/<time>_<id>.jsonl`; the folder's name is lossy, the header has the
directory. The document's layout, a folder per session, is read beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from session_adapters.base import Capabilities, Liveness, NativeCommand, Report, Root, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.damaged_places import reason_of
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import is_folder
from session_adapters.tree.adapter import DOCUMENT, TreeAdapter
from session_adapters.tree.live import newest_by_directory, processes

__all__ = ["PiAdapter"]

_STORE_VARIABLES = ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")
_NO_LOCK = "Pi does not lock its sessions: if another pi has this one open, both write into the same file"
_REWRITE = "Pi rewrites this older file in place when it resumes it"


class PiAdapter(TreeAdapter):
    """Reads Pi."""

    name = "pi"
    label = "Pi"
    badge = "pi"
    capabilities = Capabilities(session_persistence="file", can_resume=True, can_fork=True)

    def roots(self) -> Sequence[Root]:
        """Where Pi looks, strongest first, and the default place, whose sessions stay there when it is moved."""
        base = self.environment.path("PI_CODING_AGENT_DIR", ".pi", "agent")
        found = [(base / "sessions", "sessions by directory")]
        if flat := self.environment.variables.get("PI_CODING_AGENT_SESSION_DIR", "").strip():
            found.insert(0, (self.environment.expand(flat), "flat"))
        if chosen := self._setting(base / "settings.json", lambda problem: None):
            found.append((self.environment.expand(chosen), "settings.json sessionDir"))
        found.append((self.environment.home / ".pi" / "agent" / "sessions", "sessions by directory"))
        places: dict[Path, str] = {}
        for path, layout in found:
            if path.is_absolute():
                places.setdefault(path, layout)
        return [Root(path=path, layout=layout, exists=is_folder(path)) for path, layout in places.items()]

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""
        base = self.environment.path("PI_CODING_AGENT_DIR", ".pi", "agent")
        chosen = self._setting(base / "settings.json", report)
        if chosen and not self.environment.expand(chosen).is_absolute():
            reason = f"sessionDir {chosen} is relative to each project, so the sessions there are not listed"
            report(Problem(agent=self.name, path=str(base / "settings.json"), reason=reason))
        yield from super().sources(report)

    def _setting(self, path: Path, report: Report) -> str:
        """`sessionDir` of the user's settings; empty when there is none that can be read: Pi starts with defaults
        then, too."""
        try:
            settings = json.loads(read_small(path))
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except (OSError, ValueError, RecursionError) as error:
            reason = f"cannot be read, so a sessionDir that it names is not known: {reason_of(error)}"
            report(Problem(agent=self.name, path=str(path), reason=reason))
            return ""
        chosen = settings.get("sessionDir", "") if isinstance(settings, dict) else None
        if isinstance(chosen, str) and "\x00" not in chosen:
            return chosen
        reason = "its sessionDir is no path" if isinstance(settings, dict) else "it is no object of settings"
        report(Problem(agent=self.name, path=str(path), reason=f"{reason}; Pi's usual places are looked into"))
        return ""

    def live(self) -> Mapping[str, Liveness]:
        """A process titled exactly `pi`; which session it has open is inferred (`tree.live`)."""
        running = processes(self.environment.proc, lambda words: words == ("pi",))
        return newest_by_directory(running, lambda: self.sources(lambda problem: None), self.header_of)

    def may_wait_unseen(self, tool: str) -> bool:
        """See `Adapter.may_wait_unseen`. Pi asks for no leave."""
        return False

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`pi --session <path>`: a path, because ids are unique per directory only and may look like options."""
        hazards = [_NO_LOCK]
        if summary.raw.get("version") in (1, 2):
            hazards.append(_REWRITE)
        return self._command("--session", summary, "; ".join(hazards))

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`pi --fork <path>`: a new session in the same directory."""
        return self._command("--fork", summary, None)

    def _command(self, option: str, summary: SessionSummary, warning: str | None) -> NativeCommand | None:
        if summary.raw.get("layout") == DOCUMENT or not summary.path:
            return None  # no released Pi reads that layout
        variables = self.environment.variables
        kept = {name: variables[name] for name in _STORE_VARIABLES if variables.get(name)}
        return NativeCommand(argv=("pi", option, summary.path), cwd=summary.cwd, env=kept, warning=warning)
