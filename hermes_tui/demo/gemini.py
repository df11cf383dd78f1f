"""A Gemini CLI home (`~/.gemini`) for the demo, as 0.61.0 keeps it: a log per session that is to be replayed.

A reply is written when it comes and again, with its tool calls, when their results are there; the last record of an
id holds. A failed turn leaves no trace in this format, so no session here ends in an error.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from hermes_tui.demo.assistant_tales import COMMENTS, SITEMAP
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Tale, stamp, uuid
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, helper_tale, steps

__all__ = ["write"]

OLDER = 5
_MODEL = "gemini-2.5-pro"
Record = dict[str, Any]
"""A line before it is encoded."""


def write(home: Path, now: datetime) -> None:
    """Write `home/.gemini` as it would be at `now`."""
    root = home / ".gemini"
    older = [msgspec.structs.replace(tale, model=_MODEL) for tale in older_tales("gemini", OLDER)]
    tales = (SITEMAP, COMMENTS, *older)
    for tale in tales:
        # The summary is written by the next start: the newest has none yet.
        _save(root, tale, steps(tale, now), now, summary="" if tale is SITEMAP else tale.title)
    projects = sorted({tale.project for tale in tales})
    registry = {"projects": {f"/home/dev/{name}": name for name in projects}}
    (root / "projects.json").write_text(json.dumps(registry, indent=2))
    for name in projects:
        (root / "tmp" / name / ".project_root").write_text(f"/home/dev/{name}")


def _save(root: Path, tale: Tale, told: list[Step], now: datetime, summary: str = "", parent: str = "") -> str:
    """One session and those of its helpers; its id."""
    scribe = _Scribe(tale, told, "subagent" if parent else "main")
    chats = root / "tmp" / tale.project / "chats"
    for step in told:
        scribe.tell(step)
        if isinstance(step.event, Result) and isinstance(step.event.called.call, Helper):
            own = helper_tale(tale, step.event.called.call, now - step.at + timedelta(milliseconds=200))
            _save(root, own, steps(own, now), now, parent=scribe.session_id)
    if summary:
        scribe.records.append({"$set": {"summary": summary}})
    name = f"session-{told[0].at:%Y-%m-%dT%H-%M}-{scribe.session_id[:8]}"
    path = chats / parent / f"{scribe.session_id}.jsonl" if parent else chats / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in scribe.records]
    path.write_bytes("".join(lines).encode())
    os.utime(path, (told[-1].at.timestamp(), told[-1].at.timestamp()))
    return scribe.session_id


def _session_id(tale: Tale) -> str:
    return uuid("gemini", tale.slug)


class _Scribe:
    """Keeps one session's log."""

    def __init__(self, tale: Tale, told: list[Step], kind: str) -> None:
        self.tale = tale
        self.session_id = _session_id(tale)
        self.cwd = f"/home/dev/{tale.project}"
        self.records: list[Record] = []
        self._reply: Record = {}
        self._waiting = 0
        start = told[0].at
        hashed = hashlib.sha256(self.cwd.encode()).hexdigest()
        times = {"startTime": stamp(start), "lastUpdated": stamp(start)}
        self.records.append({"sessionId": self.session_id, "projectHash": hashed, **times, "kind": kind})
        if kind == "main":
            text = f"<session_context>\n- **Workspace Directories:**\n  - {self.cwd}\n</session_context>"
            context = self._message("user", start, "context", [{"text": text}])
            self.records.append({"$set": {"messages": [context], "lastUpdated": stamp(start)}})

    def _message(self, kind: str, at: datetime, seed: str, content: Any) -> Record:
        name = uuid(self.session_id, kind, seed)
        return {"id": name, "timestamp": stamp(at), "type": kind, "content": content}

    def _add(self, record: Record, at: datetime) -> None:
        self.records += [record, {"$set": {"lastUpdated": stamp(at)}}]

    def tell(self, step: Step) -> None:
        """Write one step."""
        event = step.event
        if isinstance(event, Prompt):
            self._add(self._message("user", step.at, step.seed, [{"text": event.text}]), step.at)
        elif isinstance(event, Answer):
            self._answer(step, event)
        elif isinstance(event, Result):
            self._result(step, event)
        elif isinstance(event, Compaction | Failure):
            raise NotImplementedError("the demo's Gemini sessions are neither compressed nor fail")

    def _answer(self, step: Step, answer: Answer) -> None:
        thought = {"subject": "", "description": answer.thinking, "timestamp": stamp(step.at)}
        usage = answer.usage
        counts = {"input": usage.input, "output": usage.output - usage.reasoning, "cached": usage.read}
        counts |= {"thoughts": usage.reasoning, "tool": 0, "total": usage.total}
        reply = self._message("gemini", step.at, step.seed, answer.text)
        reply |= {"thoughts": [thought] if answer.thinking else [], "tokens": counts, "model": self.tale.model}
        self._add(reply, step.at)
        self._reply, self._waiting = {**reply, "toolCalls": []}, len(answer.calls)

    def _result(self, step: Step, result: Result) -> None:
        """The reply is written again once all its calls have run, then the results, as a message of the user."""
        self._reply["toolCalls"].append(self._tool(step, result.called))
        self._waiting -= 1
        if self._waiting:
            return
        self.records.append(self._reply)
        parts = [part for call in self._reply["toolCalls"] for part in call["result"]]
        self._add(self._message("user", step.at, step.seed, parts), step.at)

    def _tool(self, step: Step, called: Called) -> Record:
        call = called.call
        tool, arguments, output, shown = self._arguments(call)
        name = f"{tool}__{tool}_{round(step.at.timestamp() * 1000)}_0"
        response = {"id": name, "name": tool, "response": {"output": output}}
        record = {"id": name, "name": tool, "args": arguments, "result": [{"functionResponse": response}]}
        record |= {"status": "success", "timestamp": stamp(step.at), "resultDisplay": shown}
        if isinstance(call, Helper):
            record["agentId"] = _session_id(helper_tale(self.tale, call, timedelta()))
        return record

    def _arguments(self, call: Call | Helper) -> tuple[str, Record, str, str]:
        """The tool's name here, its arguments, what the model and what the user sees of the result."""
        if isinstance(call, Helper):
            output = f"Subagent 'generalist' finished.\nTermination Reason: GOAL\nResult:\n{call.answer}"
            return "invoke_agent", {"agent_name": "generalist", "prompt": call.prompt}, output, call.answer
        path = f"{self.cwd}/{call.target}"
        if call.kind == "shell":
            failed = "\nExit Code: 1" if call.failed else ""
            output = f"<untrusted_context>\nOutput: {call.output}{failed}\n</untrusted_context>"
            arguments = {"command": call.target, "description": "Run a command"}
            return "run_shell_command", arguments, output, call.output
        if call.kind == "read":
            return "read_file", {"file_path": path}, call.output, ""
        if call.kind == "edit":
            arguments = {"file_path": path, "old_string": call.before, "new_string": call.after}
            return "replace", arguments, f"Successfully modified file: {path} (1 replacements).", ""
        output = f"Successfully created and wrote to new file: {path}."
        return "write_file", {"file_path": path, "content": call.after}, output, ""
