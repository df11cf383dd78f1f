"""An omp home (`~/.omp/agent`) for the demo, in the format of 18.2.3: a title slot, two branches, a sub-agent."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Compaction, Failure, Helper, Tale, stamp, uuid7
from hermes_tui.demo.telling import Answer, Called, Result, Step, Usage, helper_tale, steps
from hermes_tui.demo.tree_scribe import Entry, TreeScribe, encode, milliseconds
from hermes_tui.demo.tree_tales import IMAGES, IMAGES_AGAIN, IMAGES_AVIF, SCHEMA

__all__ = ["write"]

OLDER = 3
_HELPER = "QuietHeron"
_SLOT = 256
"""Bytes of the first line."""


class _Scribe(TreeScribe):
    """omp's dialect."""

    def usage(self, usage: Usage) -> Entry:
        return {**super().usage(usage), "reasoningTokens": usage.reasoning}

    def user(self, step: Step, text: str) -> Entry:
        return {**super().user(step, text), "attribution": "user"}

    def closing(self, step: Step) -> Entry:
        ended = milliseconds(step.at)
        return {**super().closing(step), "duration": 1804.5, "ttft": 611.25, "completedAt": ended}

    def call(self, called: Called) -> Entry:
        """With the arguments a second time, as text, as they were streamed."""
        plain = super().call(called)
        arguments = {**plain["arguments"], "i": _intent(called)}
        more = {"partialArgs": json.dumps(arguments, ensure_ascii=False), "streamIndex": 0, "intent": _intent(called)}
        return {**plain, "arguments": arguments, **more}

    def details(self, result: Result) -> Entry:
        return {"details": {"timeoutSeconds": 300, "wallTimeMs": round(result.seconds * 1000)}}

    def compaction(self, step: Step, compaction: Compaction) -> Entry:
        more = {"shortSummary": compaction.summary, "tokensAfter": 2100, "method": "soft", "fromExtension": False}
        return {**super().compaction(step, compaction), **more}

    def tell(self, steps: Any) -> None:
        """Each tool's start is noted before its result."""
        for step in steps:
            super().tell([step])
            if isinstance(step.event, Answer):
                for called in step.event.calls:
                    name, arguments = self.arguments(called.call)
                    note = {"toolCallId": self.call_id(called), "toolName": name, "startedAt": stamp(step.at)}
                    data = {**note, "args": arguments, "intent": _intent(called)}
                    self.entry("custom", step.at, called.seed, customType="tool_execution_start", data=data)


def _intent(called: Called) -> str:
    return called.call.task if isinstance(called.call, Helper) else f"{called.call.kind.title()} {called.call.target}"


def write(home: Path, now: datetime) -> None:
    """Write `home/.omp` as it would be at `now`."""
    root = home / ".omp" / "agent"
    for tale in (SCHEMA, *older_tales("omp", OLDER)):
        told = steps(tale, now)
        path = _save(root, _told(tale, told, title=tale.title, source="auto"), now, tale)
        for step in told:
            if isinstance(step.event, Result) and isinstance(step.event.called.call, Helper):
                _save_helper(path, tale, step.event.called.call, now - step.at, now)
    images = _told(IMAGES, steps(IMAGES, now), title=IMAGES.title, source="user")
    branch_at = images.parent
    images.tell(steps(IMAGES_AVIF, now))
    images.parent = branch_at
    summary = "AVIF was tried first: half the bytes, but the oldest readers in the log cannot show it."
    at = steps(IMAGES_AGAIN, now)[0].at
    images.entry("branch_summary", at, "back", fromId=branch_at, summary=summary, fromExtension=False)
    images.tell(steps(IMAGES_AGAIN, now))
    _save(root, images, now, IMAGES_AGAIN)


def _told(tale: Tale, told: list[Step], title: str = "", source: str = "", **header: str) -> _Scribe:
    start = told[0].at
    scribe = _Scribe(
        uuid7(start, "omp", tale.slug), cwd=f"/home/dev/{tale.project}", model=tale.model, provider="anthropic"
    )
    first = {"type": "session", "version": 3, "id": scribe.session_id, "timestamp": stamp(start), "cwd": scribe.cwd}
    scribe.entries += [_slot(title, source, start), {**first, **header}]
    model = f"{scribe.provider}/{scribe.model}"
    scribe.entry("model_change", start, "begin", model=model, resolvedModelIsFallback=False)
    scribe.entry("thinking_level_change", start, "begin", thinkingLevel="high", configured=None)
    scribe.tell(told)
    if title:
        scribe.entry("title_change", told[-1].at, "title", title=title, source=source)
    if not isinstance(told[-1].event, Failure):
        exit_note = {"reason": "dispose", "kind": "normal", "recordedAt": stamp(told[-1].at)}
        scribe.entry("custom", told[-1].at, "exit", customType="session_exit", data=exit_note)
    return scribe


def _slot(title: str, source: str, at: datetime) -> Entry:
    """The first line: always 256 bytes with its newline, so that a title can be written over in place."""
    slot: Entry = {"type": "title", "v": 1, "title": title}
    if source:
        slot["source"] = source
    slot |= {"updatedAt": stamp(at), "pad": ""}
    return {**slot, "pad": " " * (_SLOT - len(encode(slot)))}


def _save(root: Path, scribe: _Scribe, now: datetime, last: Tale) -> Path:
    """Written to the folder of its directory, whose name is relative to the user's home."""
    start = scribe.entries[1]["timestamp"].replace(":", "-").replace(".", "-")
    folder = root / "sessions" / scribe.cwd.removeprefix("/home/dev").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    return _write(folder / f"{start}_{scribe.session_id}.jsonl", scribe, now - last.ago)


def _save_helper(parent: Path, tale: Tale, helper: Helper, ago: timedelta, now: datetime) -> None:
    """A sub-agent's transcript and its answer, in a folder named like the session's file."""
    own = helper_tale(tale, helper, ago)
    parent.with_suffix("").mkdir()
    scribe = _told(own, steps(own, now), parentSession=str(parent))
    path = _write(parent.with_suffix("") / f"{_HELPER}.jsonl", scribe, now - ago)
    path.with_suffix(".md").write_text(helper.answer + "\n")


def _write(path: Path, scribe: _Scribe, moment: datetime) -> Path:
    path.write_bytes(b"".join(map(encode, scribe.entries)))
    os.utime(path, (moment.timestamp(), moment.timestamp()))
    return path
