"""An OpenCode database (`~/.local/share/opencode`) for the demo, as 1.18.33 keeps it, with a sub-agent's session.

A step of the model is a message with parts; ids begin with the time, those of sessions with its complement, so that
the newest come first.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.demo.coder_tales import ALT_TEXTS, PAGINATION, VAT
from hermes_tui.demo.ledger import Ledger
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.opencode_schema import DDL
from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Tale, digest
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, Usage, helper_tale, steps

__all__ = ["write"]

OLDER = 6
VERSION = "1.18.33"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PROVIDER = "anthropic"
_NOTHING = Usage(0, 0, 0, 0, 0)
_WORDS = (
    "silent",
    "calm",
    "neon",
    "eager",
    "shiny",
    "stellar",
    "canyon",
    "wizard",
    "moon",
    "squid",
    "forest",
    "orchid",
)


def write(home: Path, now: datetime) -> None:
    """Write `home/.local/share/opencode` as it would be at `now`."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    tales = (*reversed(list(older_tales("opencode", OLDER))), PAGINATION, ALT_TEXTS, VAT)
    with Ledger(path, DDL) as ledger:
        for project in sorted({tale.project for tale in tales}):
            at = _ms(now - timedelta(days=200))
            row = {"id": _project(project), "worktree": f"/home/dev/{project}", "vcs": "git", "sandboxes": "[]"}
            ledger.insert("project", {**row, "time_created": at, "time_updated": at})
        for tale in tales:
            _Scribe(ledger, tale, now).tell()


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _project(name: str) -> str:
    """A git project is known by its first commit."""
    return digest("root commit", name, length=40)


def _identifier(prefix: str, milliseconds: int, count: int, *seed: object) -> str:
    """Six bytes of time and a counter, then fourteen letters and digits."""
    value = milliseconds * 0x1000 + count
    if prefix == "ses":
        value = ~value
    tail = int(digest(prefix, *seed, length=24), 16)
    letters = ""
    for _ in range(14):
        tail, place = divmod(tail, 62)
        letters += _ALPHABET[place]
    return f"{prefix}_{value & 0xFFFFFFFFFFFF:012x}{letters}"


class _Scribe:
    """Writes one session, and the sessions of its helpers."""

    def __init__(self, ledger: Ledger, tale: Tale, now: datetime, parent: str | None = None) -> None:
        self.ledger, self.tale, self.now, self.parent = ledger, tale, now, parent
        self.steps = steps(tale, now)
        self.started = self.steps[0].at
        self.id = _identifier("ses", _ms(self.started), 1, tale.slug)
        self.cwd = f"/home/dev/{tale.project}"
        self.agent = "general" if parent else "build"
        self.spent, self.cost = _NOTHING, 0.0
        self._asked = ""
        self._parts = 0
        self._results = {step.event.called.seed: step for step in self.steps if isinstance(step.event, Result)}

    def tell(self) -> None:
        """The session's row first: everything else refers to it."""
        words = [_WORDS[int(digest(self.tale.slug, side, length=4), 16) % 6 + 6 * side] for side in (0, 1)]
        row: dict[str, Any] = {"id": self.id, "project_id": _project(self.tale.project), "parent_id": self.parent}
        row |= {"slug": "-".join(words), "directory": self.cwd, "version": VERSION, "agent": self.agent}
        row["title"] = f"{self.tale.title} (@general subagent)" if self.parent else self.tale.title
        row["model"] = _json({"id": self.tale.model, "providerID": _PROVIDER, "variant": "default"})
        row |= {"summary_additions": 0, "summary_deletions": 0, "summary_files": 0}
        times = {"time_created": _ms(self.started), "time_updated": _ms(self.steps[-1].at)}
        self.ledger.insert("session", {**row, **times})
        for step in self.steps:
            event = step.event
            if isinstance(event, Prompt):
                self._prompt(step, [{"type": "text", "text": event.text}])
            elif isinstance(event, Answer):
                self._answer(step, event)
            elif isinstance(event, Compaction):
                self._prompt(step, [{"type": "compaction", "auto": False}])
                summary = Answer("", event.summary, (), Usage(9200, 0, 0, len(event.summary) // 3, 0))
                self._answer(step, summary, mode="compaction", summary=True)
            elif isinstance(event, Failure):
                self._fail(step, event)
        used = {"input": self.spent.fresh, "output": self.spent.output - self.spent.reasoning}
        used |= {"reasoning": self.spent.reasoning, "cache_read": self.spent.read, "cache_write": self.spent.written}
        counters = {f"tokens_{name}": count for name, count in used.items()}
        self.ledger.update("session", ("id", self.id), {**counters, "cost": round(self.cost, 8)})

    # Rows --------------------------------------------------------------------------------------------------

    def _message(self, step: Step, data: dict[str, Any], ended: datetime, seed: str = "") -> str:
        at = _ms(step.at)
        name = _identifier("msg", at, 1 + bool(seed), step.seed, seed)
        row = {"id": name, "session_id": self.id, "time_created": at, "time_updated": _ms(ended)}
        self.ledger.insert("message", {**row, "data": _json(data)})
        return name

    def _part(self, message: str, at: datetime, data: dict[str, Any]) -> None:
        self._parts += 1
        name = _identifier("prt", _ms(at), self._parts % 0x1000, message, self._parts)
        row = {"id": name, "message_id": message, "session_id": self.id}
        self.ledger.insert("part", {**row, "time_created": _ms(at), "time_updated": _ms(at), "data": _json(data)})

    def _prompt(self, step: Step, parts: list[dict[str, Any]]) -> None:
        model = {"providerID": _PROVIDER, "modelID": self.tale.model}
        data = {"role": "user", "time": {"created": _ms(step.at)}, "agent": self.agent, "model": model}
        self._asked = self._message(step, {**data, "summary": {"diffs": []}}, step.at)
        for part in parts:
            self._part(self._asked, step.at, part)

    def _reply(self, step: Step, usage: Usage, ended: datetime, **more: Any) -> str:
        """An assistant's message; its id."""
        self.spent, cost = self.spent.plus(usage), usage.dollars()["total"]
        self.cost += cost
        data: dict[str, Any] = {"parentID": self._asked, "role": "assistant", "mode": self.agent, "agent": self.agent}
        data |= {"path": {"cwd": self.cwd, "root": self.cwd}, "cost": cost, "tokens": _tokens(usage)}
        data |= {"modelID": self.tale.model, "providerID": _PROVIDER}
        times = {"created": _ms(step.at), "completed": _ms(ended)}
        return self._message(step, {**data, "time": times, **more}, ended, "reply")

    def _answer(self, step: Step, answer: Answer, **more: Any) -> None:
        ends = [self._results[called.seed].at for called in answer.calls]
        ended = max([step.at, *ends])
        finish = "tool-calls" if answer.calls else "stop"
        name = self._reply(step, answer.usage, ended, finish=finish, **more)
        snapshot = digest(step.seed, "tree", length=40)
        self._part(name, step.at, {"type": "step-start", "snapshot": snapshot})
        times = {"start": _ms(step.at), "end": _ms(step.at)}
        if answer.thinking:
            self._part(name, step.at, {"type": "reasoning", "text": answer.thinking, "time": times})
        if answer.text:
            self._part(name, step.at, {"type": "text", "text": answer.text, "time": times})
        for called, end in zip(answer.calls, ends, strict=True):
            self._part(name, step.at, self._tool(called, step.at, end))
        spent = {"tokens": _tokens(answer.usage), "cost": answer.usage.dollars()["total"]}
        self._part(name, ended, {"type": "step-finish", "reason": finish, "snapshot": snapshot, **spent})

    def _tool(self, called: Called, start: datetime, end: datetime) -> dict[str, Any]:
        call = called.call
        metadata: dict[str, Any] = {"truncated": False}
        if isinstance(call, Helper):
            child = _Scribe(self.ledger, helper_tale(self.tale, call, self.now - end), self.now, self.id)
            child.tell()
            tool, title = "task", call.task
            given = {"description": call.task, "prompt": call.prompt, "subagent_type": "general"}
            output = (
                f'<task id="{child.id}" state="completed">\n<task_result>\n{call.answer}\n</task_result>\n</task>'
            )
            metadata |= {"parentSessionId": self.id, "sessionId": child.id}
        else:
            tool, given = self._arguments(call)
            title, output = call.target, call.output
            if call.kind == "shell":
                metadata |= {"output": output, "exit": int(call.failed)}
            elif call.kind in ("edit", "write"):
                output = "Wrote file successfully." if call.kind == "write" else "Edit applied successfully."
        times = {"start": _ms(start), "end": _ms(end)}
        state = {"status": "completed", "input": given, "output": output, "metadata": metadata, "title": title}
        return {
            "type": "tool",
            "tool": tool,
            "callID": f"toolu_01{digest(self.id, called.seed, length=22)}",
            "state": {**state, "time": times},
        }

    def _arguments(self, call: Call) -> tuple[str, dict[str, Any]]:
        if call.kind == "shell":
            return "bash", {"command": call.target, "description": "Run a command"}
        path = f"{self.cwd}/{call.target}"
        if call.kind == "edit":
            return "edit", {"filePath": path, "oldString": call.before, "newString": call.after}
        if call.kind == "write":
            return "write", {"filePath": path, "content": call.after}
        return "read", {"filePath": path}

    def _fail(self, step: Step, failure: Failure) -> None:
        data = {"message": failure.reason, "statusCode": failure.status, "isRetryable": False}
        self._reply(step, _NOTHING, step.at, error={"name": "APIError", "data": data})


def _tokens(usage: Usage) -> dict[str, Any]:
    """Output without the reasoning, input without the cache."""
    cache = {"write": usage.written, "read": usage.read}
    counts = {"total": usage.total, "input": usage.fresh, "output": usage.output - usage.reasoning}
    return {**counts, "reasoning": usage.reasoning, "cache": cache}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
