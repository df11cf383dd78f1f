"""A Copilot CLI home (`~/.copilot`) for the demo, as 1.0.102 keeps it: events in a chain, a helper among them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from hermes_tui.demo.assistant_tales import EMAILS, FLAGS
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Tale, digest, stamp, uuid
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, Usage, helper_tale, steps

__all__ = ["LIVE_PID", "LIVE_START", "hold_path", "write"]

OLDER = 5
VERSION = "1.0.102"
LIVE_PID = 4171
LIVE_START = 26_900_000
"""Start of that process in clock ticks."""
_MODEL = "claude-sonnet-4.6"


def write(home: Path, now: datetime) -> None:
    """Write `home/.copilot` as it would be at `now`."""
    for tale in (EMAILS, FLAGS, *(msgspec.structs.replace(t, model=_MODEL) for t in older_tales("copilot", OLDER))):
        scribe = _Scribe(tale, steps(tale, now))
        scribe.tell(now)
        folder = _folder(home, tale)
        folder.mkdir(parents=True)
        _save(folder, scribe)
    hold = hold_path(home)
    hold.touch()
    hold.with_suffix(".lock").write_text(str(LIVE_PID))


def hold_path(home: Path) -> Path:
    """The file that the process with an open session holds a lock on."""
    return _folder(home, EMAILS) / f"inuse.{LIVE_PID}.hold"


def _folder(home: Path, tale: Tale) -> Path:
    return home / ".copilot" / "session-state" / uuid("copilot", tale.slug)


def _save(folder: Path, scribe: _Scribe) -> None:
    lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in scribe.events]
    path = folder / "events.jsonl"
    path.write_bytes("".join(lines).encode())
    ended = scribe.steps[-1].at
    os.utime(path, (ended.timestamp(), ended.timestamp()))
    tale = scribe.tale
    workspace = {"id": scribe.session_id, "cwd": scribe.cwd, "git_root": scribe.cwd, "branch": tale.branch}
    workspace |= {"client_name": "github/cli", "name": tale.title, "user_named": "false", "summary_count": "0"}
    workspace |= {"fork_count": "0", "created_at": stamp(scribe.steps[0].at), "updated_at": stamp(ended)}
    (folder / "workspace.yaml").write_text("".join(f"{key}: {value}\n" for key, value in workspace.items()))


class _Scribe:
    """Keeps one session's events; each names the one before it."""

    def __init__(self, tale: Tale, told: list[Step]) -> None:
        self.tale = tale
        self.steps = told
        self.session_id = uuid("copilot", tale.slug)
        self.cwd = f"/home/dev/{tale.project}"
        self.events: list[dict[str, Any]] = []
        self._helper: dict[str, str] = {}
        self._source = self.session_id
        self._prompt = self._interaction = ""
        self._turn = 0
        self._waiting = 0
        self._records = 0

    def event(self, kind: str, at: datetime, data: dict[str, Any]) -> None:
        """The next event."""
        name = uuid(self.session_id, "event", len(self.events))
        parent = self.events[-1]["id"] if self.events else None
        ids = {"id": name, "timestamp": stamp(at), "parentId": parent}
        helper = {"agentId": self._helper["agent"]} if self._helper else {}
        self.events.append({"type": kind, "data": data, **helper, **ids})

    def tell(self, now: datetime) -> None:
        """The whole session."""
        start = self.steps[0].at
        context = {"cwd": self.cwd, "gitRoot": self.cwd, "branch": self.tale.branch}
        context["headCommit"] = digest(self.tale.project, "head", length=40)
        about = {"sessionId": self.session_id, "version": 1, "producer": "copilot-agent", "copilotVersion": VERSION}
        model = {"startTime": stamp(start), "selectedModel": self.tale.model, "reasoningEffort": "medium"}
        self.event("session.start", start, {**about, **model, "context": context, "alreadyInUse": False})
        self._tell(self.steps, now)

    def _tell(self, told: list[Step], now: datetime) -> None:
        for step in told:
            event = step.event
            if isinstance(event, Prompt):
                self._asked(step, event.text)
            elif isinstance(event, Answer):
                self._answer(step, event)
            elif isinstance(event, Result):
                self._result(step, event, now)
            elif isinstance(event, Compaction):
                data = {"success": True, "outcome": "applied", "summaryContent": event.summary}
                counts = {"preCompactionTokens": 61200, "postCompactionTokens": 5752, "checkpointNumber": 1}
                self.event("session.compaction_complete", step.at, {**data, **counts, "trigger": "manual"})
            else:
                self._fail(step, event)

    def _asked(self, step: Step, text: str) -> None:
        self._prompt, self._interaction = uuid(step.seed, "prompt"), uuid(step.seed, "interaction")
        self._turn = 0
        padded = f"<current_datetime>{stamp(step.at)}</current_datetime>\n\n{text}"
        ids = {"messageId": self._prompt, "interactionId": self._interaction, "turnId": "0"}
        data = {"content": text, "transformedContent": padded, **ids, "delivery": "idle"}
        if self._helper:
            data["source"] = f"agent-{self.session_id}"
        self.event("user.message", step.at, data)

    def _ids(self) -> dict[str, Any]:
        parent = {"parentToolCallId": self._helper["call"]} if self._helper else {}
        return {"interactionId": self._interaction, "turnId": str(self._turn), **parent}

    def _begin(self, at: datetime) -> None:
        self.event("assistant.turn_start", at, self._ids())

    def _end(self, at: datetime) -> None:
        self.event("assistant.turn_end", at, {"turnId": str(self._turn)})
        self._turn += 1

    def _answer(self, step: Step, answer: Answer) -> None:
        self._begin(step.at)
        self._usage(step, answer.usage)
        asked = [self._request(called) for called in answer.calls]
        message = {"messageId": uuid(step.seed, "message"), "originatingMessageId": self._prompt}
        message |= {"model": self.tale.model, "content": answer.text}
        data = {**message, "toolRequests": asked, **self._ids(), "apiCallId": self._call_name(step)}
        if answer.thinking:
            data["reasoningText"] = answer.thinking
        self.event("assistant.message", step.at, data)
        self._waiting = len(asked)
        if not asked:
            self._end(step.at)

    def _call_name(self, step: Step) -> str:
        return f"chatcmpl-{digest(step.seed, 'copilot', length=24)}"

    def _usage(self, step: Step, usage: Usage) -> None:
        """A record of a model call; the input has what was read from and written to the cache in it."""
        self._records += 1
        name = self._call_name(step)
        counts = {"inputTokens": usage.input, "outputTokens": usage.output, "cacheReadTokens": usage.read}
        counts |= {"cacheWriteTokens": usage.written, "reasoningTokens": usage.reasoning}
        source = {"sourceSessionId": self._source, "sequence": self._records, "usageId": name}
        data = {"model": self.tale.model, **counts, "cost": 0.0, "apiCallId": name, "accounting": source}
        self.event("session.usage_record", step.at, {"usage": data})

    # Tools -------------------------------------------------------------------------------------------------

    def _call_id(self, called: Called) -> str:
        return f"call_{digest(self.session_id, called.seed, length=24)}"

    def _request(self, called: Called) -> dict[str, Any]:
        tool, arguments = self._arguments(called.call)
        ids = {"toolCallId": self._call_id(called), "name": tool, "arguments": arguments}
        return {**ids, "type": "function", "intentionSummary": arguments.get("description", tool)}

    def _result(self, step: Step, result: Result, now: datetime) -> None:
        called, call = result.called, result.called.call
        tool, arguments = self._arguments(call)
        name = self._call_id(called)
        started = {"toolCallId": name, "toolName": tool, "arguments": arguments, "turnId": str(self._turn)}
        self.event("tool.execution_start", step.at, {**started, "model": self.tale.model})
        data: dict[str, Any] = {"toolCallId": name, "model": self.tale.model, **self._ids(), "success": True}
        if isinstance(call, Helper):
            with self._sent_off(step, call, name):
                self._tell(steps(helper_tale(self.tale, call, now - step.at), now), now)
            output = call.answer
        else:
            output = call.output or f"File {call.target} {'created' if call.kind == 'write' else 'updated'}"
        if isinstance(call, Call) and call.kind == "shell":
            code = int(call.failed)
            data["shellExecution"] = {"exitCode": code}
            output = f"{output}\n<shellId: 0 completed with exit code {code}>"
        self.event("tool.execution_complete", step.at, {**data, "result": {"content": output}})
        self._waiting -= 1
        if not self._waiting:
            self._end(step.at)

    @contextmanager
    def _sent_off(self, step: Step, helper: Helper, call: str) -> Iterator[None]:
        """What happens inside is a helper's; its records are accounted to an internal session."""
        agent = {"agentName": "general-purpose", "agentDisplayName": helper.task, "model": self.tale.model}
        before = (self._prompt, self._interaction, self._turn, self._waiting, self._source)
        self._helper = {"agent": uuid(step.seed, "agent"), "call": call}
        self._source = uuid(step.seed, "accounting")
        self.event("subagent.started", step.at, {"toolCallId": call, **agent, "agentDescription": helper.task})
        yield
        self.event("subagent.completed", step.at, {"toolCallId": call, **agent, "totalToolCalls": 1})
        self._helper = {}
        self._prompt, self._interaction, self._turn, self._waiting, self._source = before

    def _arguments(self, call: Call | Helper) -> tuple[str, dict[str, Any]]:
        if isinstance(call, Helper):
            task = {"description": call.task, "prompt": call.prompt, "agent_type": "general-purpose"}
            return "task", {**task, "mode": "sync"}
        path = f"{self.cwd}/{call.target}"
        if call.kind == "shell":
            return "bash", {"command": call.target, "description": "Run a command"}
        if call.kind == "edit":
            return "edit", {"path": path, "old_str": call.before, "new_str": call.after}
        if call.kind == "write":
            return "create", {"path": path, "file_text": call.after}
        return "view", {"path": path}

    def _fail(self, step: Step, failure: Failure) -> None:
        self._begin(step.at)
        self._end(step.at)
        error = {"errorType": "query", "message": f"{failure.status} {failure.reason}", "statusCode": failure.status}
        self.event("session.error", step.at, {**error, "originatingMessageId": self._prompt})
