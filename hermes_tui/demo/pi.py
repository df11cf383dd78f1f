"""A Pi home (`~/.pi/agent`) for the demo, as 1.5.2 keeps it: two branches in one file, a fork, a long session."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Compaction, Tale, stamp, uuid7
from hermes_tui.demo.telling import Step, Usage, steps
from hermes_tui.demo.tree_scribe import Entry, TreeScribe, encode
from hermes_tui.demo.tree_tales import BACKFILL, CHARTS, CHARTS_AGAIN, CHARTS_FORK, CHARTS_LINES, FEED

__all__ = ["LIVE_CWD", "LIVE_PID", "LIVE_START", "write"]

OLDER = 4
LIVE_PID = 4188
LIVE_START = 26_700_000
"""Start of that process in clock ticks."""
LIVE_CWD = f"/home/dev/{BACKFILL.project}"
_PREAMBLE = "You are a coding assistant running inside pi, a coding agent harness."


class _Scribe(TreeScribe):
    """Pi's dialect."""

    def usage(self, usage: Usage) -> Entry:
        return {**super().usage(usage), "reasoning": usage.reasoning}

    def closing(self, step: Step) -> Entry:
        return {**super().closing(step), "rawStopReason": "stop", "durationMs": 1800, "thinkingLevel": "medium"}

    def compaction(self, step: Step, compaction: Compaction) -> Entry:
        spent = self.usage(Usage(380, 39000, 50, 226, 0))
        return {**super().compaction(step, compaction), "usage": spent, "fromHook": False}


def write(home: Path, now: datetime) -> None:
    """Write `home/.pi` as it would be at `now`."""
    root = home / ".pi" / "agent"
    for tale in (BACKFILL, FEED, *older_tales("pi", OLDER)):
        _save(root, _told(tale, now), now, tale)
    charts = _told(CHARTS, now, title=CHARTS.title)
    fork_from = charts.parent
    _save(root, _forked(root, charts, now), now, CHARTS_FORK)
    # The curves were given up: the conversation goes on from where it was before them.
    charts.tell(steps(CHARTS_LINES, now))
    left, charts.parent = charts.parent, fork_from
    summary = "Lines were tried for the daily totals and left again: two of the series hide each other."
    charts.entry("branch_summary", steps(CHARTS_AGAIN, now)[0].at, "back", fromId=left, summary=summary)
    charts.tell(steps(CHARTS_AGAIN, now))
    _save(root, charts, now, CHARTS_AGAIN)
    (root / "settings.json").write_text(json.dumps({"defaultProvider": "anthropic", "defaultModel": FEED.model}))


def _told(tale: Tale, now: datetime, title: str = "") -> _Scribe:
    told = steps(tale, now)
    start = told[0].at
    scribe = _Scribe(
        uuid7(start, "pi", tale.slug), cwd=f"/home/dev/{tale.project}", model=tale.model, provider="anthropic"
    )
    _begin(scribe, start)
    scribe.tell(told[:1])
    if title:
        scribe.entry("session_info", start, "name", name=title)
    scribe.tell(told[1:])
    return scribe


def _begin(scribe: _Scribe, at: datetime, **more: str) -> None:
    """The header, and what 1.x puts before the first prompt."""
    header = {"type": "session", "version": 3, "id": scribe.session_id, "timestamp": stamp(at), "cwd": scribe.cwd}
    scribe.entries.append({**header, **more})
    scribe.entry("model_change", at, "begin", provider=scribe.provider, modelId=scribe.model)
    scribe.entry("thinking_level_change", at, "begin", thinkingLevel="medium")
    sections = {"preamble": _PREAMBLE, "cwd": f"<cwd>\n{scribe.cwd}\n</cwd>"}
    body = {"role": "system", "content": "", "sections": sections, "timestamp": round(at.timestamp() * 1000)}
    scribe.entry("message", at, "system", message=body)


def _forked(root: Path, source: _Scribe, now: datetime) -> _Scribe:
    """`/fork`: a new file with copies of the entries, which keep their ids and times."""
    told = steps(CHARTS_FORK, now)
    at = told[0].at
    fork = _Scribe(uuid7(at, "pi", CHARTS_FORK.slug), cwd=source.cwd, model=source.model, provider="anthropic")
    header = {"type": "session", "version": 3, "id": fork.session_id, "timestamp": stamp(at), "cwd": fork.cwd}
    fork.entries += [{**header, "parentSession": str(_path(root, source))}, *source.entries[1:]]
    fork.parent, fork.kept = source.parent, source.kept
    fork.tell(told)
    return fork


def _path(root: Path, scribe: _Scribe) -> Path:
    """Where the program keeps a session: a folder for the directory, the start and the id in the name."""
    start = scribe.entries[0]["timestamp"].replace(":", "-").replace(".", "-")
    return root / "sessions" / f"-{scribe.cwd.replace('/', '-')}--" / f"{start}_{scribe.session_id}.jsonl"


def _save(root: Path, scribe: _Scribe, now: datetime, last: Tale) -> None:
    path = _path(root, scribe)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(encode, scribe.entries)))
    moment = (now - last.ago).timestamp()
    os.utime(path, (moment, moment))
