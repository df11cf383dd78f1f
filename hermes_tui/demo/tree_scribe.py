"""Records of the agents whose sessions are trees of entries: Pi, omp and OpenClaw, each with its own dialect.

An entry names the one it follows, so that a conversation can go on from an earlier point without losing what came
after it. Formats: FACTS.md of the three stores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, digest, stamp
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, Usage

__all__ = ["Entry", "TreeScribe", "encode", "milliseconds"]

Entry = dict[str, Any]
"""A line before it is encoded."""


def encode(entry: Entry) -> bytes:
    """One line, newline included."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def milliseconds(moment: datetime) -> int:
    """Since the epoch."""
    return round(moment.timestamp() * 1000)


class TreeScribe:
    """Keeps one session's entries. `parent` is where the next one hangs; set it back to begin another branch."""

    shell: ClassVar[str] = "bash"
    """The tool that runs commands."""

    def __init__(self, session_id: str, *, cwd: str, model: str, provider: str) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.model = model
        self.provider = provider
        self.entries: list[Entry] = []
        self.parent: str | None = None
        self.kept = ""
        """The latest prompt: what a compaction keeps from."""

    # What the dialects say differently ---------------------------------------------------------------------

    def entry_id(self, seed: str) -> str:
        """Eight hexadecimal digits."""
        return digest(self.session_id, seed, length=8)

    def usage(self, usage: Usage) -> Entry:
        """Tokens and dollars of a model call."""
        counts = {"input": usage.fresh, "output": usage.output, "cacheRead": usage.read}
        return {**counts, "cacheWrite": usage.written, "totalTokens": usage.total, "cost": usage.dollars()}

    def user(self, step: Step, text: str) -> Entry:
        """The body of a prompt."""
        return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": milliseconds(step.at)}

    def closing(self, step: Step) -> Entry:
        """What stands at the end of an assistant's body."""
        return {"responseId": f"chatcmpl-{digest(step.seed, 'response', length=12)}"}

    def call(self, called: Called) -> Entry:
        """A call inside an assistant's body."""
        name, arguments = self.arguments(called.call)
        return {"type": "toolCall", "id": self.call_id(called), "name": name, "arguments": arguments}

    def details(self, result: Result) -> Entry:
        """What stands in a result beside its text."""
        return {"durationMs": round(result.seconds * 1000)}

    def compaction(self, step: Step, compaction: Compaction) -> Entry:
        """The fields of a compaction."""
        return {
            "summary": compaction.summary,
            "firstKeptEntryId": self.kept,
            "tokensBefore": 41200,
            "details": {"readFiles": [], "modifiedFiles": []},
        }

    # Telling -----------------------------------------------------------------------------------------------

    def tell(self, steps: Iterable[Step]) -> None:
        """Write all steps where the session stands now."""
        for step in steps:
            event = step.event
            if isinstance(event, Prompt):
                self.kept = self.message(step, self.user(step, event.text))
            elif isinstance(event, Answer):
                self._answer(step, event)
            elif isinstance(event, Result):
                self._result(step, event)
            elif isinstance(event, Compaction):
                self.entry("compaction", step.at, step.seed, **self.compaction(step, event))
            else:
                self._fail(step, event)

    def entry(self, kind: str, at: datetime, seed: str, **fields: Any) -> str:
        """The next entry; its id."""
        name = self.entry_id(f"{kind} {seed}")
        self.entries.append({"type": kind, "id": name, "parentId": self.parent, "timestamp": stamp(at), **fields})
        self.parent = name
        return name

    def message(self, step: Step, body: Entry) -> str:
        """The next message; its id."""
        return self.entry("message", step.at, step.seed, message=body)

    def call_id(self, called: Called) -> str:
        """Of a call and its result."""
        return f"call_{digest(self.session_id, called.seed, length=24)}"

    def _assistant(self, step: Step, content: list[Entry], usage: Usage, stop: str, **more: Any) -> None:
        body: Entry = {"role": "assistant", "content": content, "api": "openai-completions"}
        body |= {"provider": self.provider, "model": self.model, "usage": self.usage(usage), "stopReason": stop}
        self.message(step, {**body, "timestamp": milliseconds(step.at), **more})

    def _answer(self, step: Step, answer: Answer) -> None:
        content: list[Entry] = []
        if answer.thinking:
            thought = {"thinking": answer.thinking, "thinkingSignature": "reasoning_content"}
            content.append({"type": "thinking", **thought})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [self.call(called) for called in answer.calls]
        stop = "toolUse" if answer.calls else "stop"
        self._assistant(step, content, answer.usage, stop, **self.closing(step))

    def _fail(self, step: Step, failure: Failure) -> None:
        text = json.dumps({"type": "error", "error": {"type": "api_error", "message": failure.reason}})
        self._assistant(step, [], Usage(0, 0, 0, 0, 0), "error", errorMessage=f"{failure.status} {text}")

    def _result(self, step: Step, result: Result) -> None:
        called = result.called
        body: Entry = {"role": "toolResult", "toolCallId": self.call_id(called)}
        body |= {"toolName": self.arguments(called.call)[0]}
        body |= {"content": [{"type": "text", "text": self.output(called.call)}], **self.details(result)}
        failed = isinstance(called.call, Call) and called.call.failed
        self.message(step, {**body, "isError": failed, "timestamp": milliseconds(step.at)})

    def arguments(self, call: Call | Helper) -> tuple[str, Entry]:
        """The tool's name here, and its arguments."""
        if isinstance(call, Helper):
            return "task", {"context": call.task, "tasks": [{"task": call.prompt}]}
        if call.kind == "shell":
            return self.shell, {"command": call.target}
        if call.kind == "read":
            return "read", {"path": call.target}
        if call.kind == "edit":
            return "edit", {"path": call.target, "edits": [{"oldText": call.before, "newText": call.after}]}
        return "write", {"path": call.target, "content": call.after}

    def output(self, call: Call | Helper) -> str:
        """The text that the model sees of a result."""
        if isinstance(call, Helper):
            return call.answer
        if call.kind == "edit":
            return f"Successfully replaced 1 block(s) in {call.target}."
        if call.kind == "write":
            return f"Successfully wrote to {call.target}"
        return f"{call.output}\n\nCommand exited with code 1" if call.failed else call.output
