"""Codex' rollout lines, written as 0.169.0 writes them: each thing that happens as an event and as a model item.

Formats: FACTS.md of the codex store, third generation of lines. Ordinals count the lines of a thread, and go on in
a fork.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, digest, stamp, uuid7
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, Usage

__all__ = ["NICKNAME", "VERSION", "Line", "RolloutScribe", "encode"]

VERSION = "0.169.0"
NICKNAME = "Ramanujan"
"""What Codex calls the sub-agent."""
_WINDOW = 258400
_COMPACTED = "Another language model started to solve this problem and produced a summary of its thinking process."

Line = dict[str, Any]
"""A line before it is encoded."""


def encode(line: Line) -> bytes:
    """One line, newline included."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _tokens(usage: Usage) -> Line:
    """Input with the cache, output with the reasoning."""
    counts = {"input_tokens": usage.input, "cached_input_tokens": usage.read, "cache_write_input_tokens": 0}
    spent = {"output_tokens": usage.output, "reasoning_output_tokens": usage.reasoning, "total_tokens": usage.total}
    return {**counts, **spent}


class RolloutScribe:
    """Keeps one thread's lines. `ordinal` is that of the next one."""

    def __init__(self, thread_id: str, *, cwd: str, model: str, ordinal: int = 0) -> None:
        self.thread_id = thread_id
        self.cwd = cwd
        self.model = model
        self.ordinal = ordinal
        self.lines: list[Line] = []
        self.spent = Usage(0, 0, 0, 0, 0)
        self._turn = ""
        self._turn_at: datetime | None = None
        self._said: str | None = None
        self._prompts: list[Line] = []
        self._told = ordinal > 0
        self._open: dict[str, Usage] = {}

    # Lines -------------------------------------------------------------------------------------------------

    def line(self, kind: str, at: datetime, payload: Line, **more: Any) -> None:
        """The next line."""
        self.lines.append({"timestamp": stamp(at), "ordinal": self.ordinal, "type": kind, "payload": payload, **more})
        self.ordinal += 1

    def _event(self, kind: str, at: datetime, **fields: Any) -> None:
        self.line("event_msg", at, {"type": kind, **fields})

    def _item(self, at: datetime, kind: str, name: str, **fields: Any) -> None:
        moment = round(at.timestamp() * 1000)
        item = {"type": kind, "id": name, **fields}
        times = {"started_at_ms": moment, "completed_at_ms": moment}
        self._event("item_completed", at, thread_id=self.thread_id, turn_id=self._turn, item=item, **times)

    def _response(self, at: datetime, payload: Line) -> None:
        payload = {**payload, "internal_chat_message_metadata_passthrough": {"turn_id": self._turn}}
        sequence = {"history_sequence": self.ordinal, "sampled_through_sequence": 0, "client_authored": False}
        self.line("response_item", at, payload, metadata=sequence)

    def _message(self, at: datetime, role: str, name: str, text: str) -> Line:
        kind = "output_text" if role == "assistant" else "input_text"
        message = {"type": "message", "id": name, "role": role, "content": [{"type": kind, "text": text}]}
        self._response(at, message)
        return message

    def _name(self, prefix: str, seed: str) -> str:
        return f"{prefix}_{digest(self.thread_id, seed, prefix, length=40)}"

    # Conversation ------------------------------------------------------------------------------------------

    def tell(self, steps: Iterable[Step]) -> None:
        """Write all steps; the last turn is complete then."""
        at: datetime | None = None
        for step in steps:
            at, event = step.at, step.event
            if isinstance(event, Prompt):
                self.end_turn(at)
                self._prompt(step, event.text)
            elif isinstance(event, Answer):
                self._answer(step, event)
            elif isinstance(event, Result):
                self._result(step, event)
            elif isinstance(event, Compaction):
                self.end_turn(at)
                self._compact(step, event)
            else:
                self.end_turn(at, event)
        if at is not None:
            self.end_turn(at)

    def end_turn(self, at: datetime, failure: Failure | None = None) -> None:
        """The turn is over, unless it is already."""
        if self._turn_at is None:
            return
        fields: Line = {"root_turn_id": self._turn, "turn_id": self._turn, "last_agent_message": self._said}
        if failure is not None:
            text = json.dumps({"error": {"message": failure.reason, "type": "server_error"}})
            fields["error"] = {"message": f"unexpected status {failure.status}: {text}", "codex_error_info": "other"}
        seconds = (at - self._turn_at).total_seconds()
        times = {"started_at": int(self._turn_at.timestamp()), "completed_at": int(at.timestamp())}
        self._event("task_complete", at, **fields, **times, duration_ms=round(seconds * 1000))
        self._turn_at = self._said = None

    def _begin_turn(self, step: Step) -> None:
        self._turn, self._turn_at = uuid7(step.at, self.thread_id, step.seed, "turn"), step.at
        attribution = {"turn_id": self._turn, "turn_trigger": "user", "parent_turn_id": None}
        attribution |= {"initiating_agent_path": None, "root_turn_id": self._turn}
        ids = {"turn_attribution": attribution, "turn_id": self._turn, "root_turn_id": self._turn}
        times = {"started_at": int(step.at.timestamp()), "model_context_window": _WINDOW}
        self._event("task_started", step.at, **ids, **times, collaboration_mode_kind="default")

    def _prompt(self, step: Step, text: str) -> None:
        self._begin_turn(step)
        if not self._told:
            self._told = True
            self._context(step)
        settings = {"model": self.model, "reasoning_effort": None, "developer_instructions": None}
        mode = {"mode": "default", "settings": settings}
        context: Line = {
            "turn_id": self._turn,
            "root_turn_id": self._turn,
            "cwd": self.cwd,
            "approval_policy": "on-request",
        }
        context |= {"model": self.model, "collaboration_mode": mode, "summary": "auto"}
        self.line("turn_context", step.at, context)
        message = self._message(step.at, "user", self._name("msg", step.seed), text)
        self._prompts.append(message)
        content = [{"type": "text", "text": text, "text_elements": []}]
        self._item(step.at, "UserMessage", uuid7(step.at, self.thread_id, step.seed, "item"), content=content)

    def _context(self, step: Step) -> None:
        """What Codex puts before the first prompt."""
        rules = "<permissions instructions>\nCommands are asked for first.\n</permissions instructions>"
        self._message(step.at, "developer", self._name("msg", f"{step.seed} rules"), rules)
        surroundings = (
            f"  <cwd>{self.cwd}</cwd>\n  <shell>bash</shell>\n  <current_date>{step.at:%Y-%m-%d}</current_date>"
        )
        text = f"<environment_context>\n{surroundings}\n</environment_context>"
        self._message(step.at, "user", self._name("msg", f"{step.seed} context"), text)
        state = {"environments": {"local": {"cwd": self.cwd, "status": "available", "shell": "bash"}}}
        self.line("world_state", step.at, {"full": True, "state": {"model": self.model, "environments": state}})

    def _answer(self, step: Step, answer: Answer) -> None:
        at = step.at
        if answer.thinking:
            name = self._name("rs", step.seed)
            self._item(at, "Reasoning", name, summary_text=[answer.thinking], raw_content=[])
            summary = [{"type": "summary_text", "text": answer.thinking}]
            hidden = f"gAAAAAB{digest(name, 'hidden', length=58)}"
            reasoning = {"type": "reasoning", "id": name, "summary": summary, "content": None}
            self._response(at, {**reasoning, "encrypted_content": hidden})
        if answer.text:
            self._said = answer.text
            name = self._name("msg", step.seed)
            self._item(at, "AgentMessage", name, content=[{"type": "Text", "text": answer.text}])
            self._message(at, "assistant", name, answer.text)
        for called in answer.calls:
            self._response(at, self._call(called))
        self._count(at, self._name("resp", step.seed), answer.usage)
        if not answer.calls:
            self._token_count(at, answer.usage)
        for called in answer.calls:
            self._open[called.seed] = answer.usage

    def _count(self, at: datetime, response: str, usage: Usage) -> None:
        """What a model call took, once; the thread's sum."""
        self.spent = self.spent.plus(usage)
        ids = {"thread_id": self.thread_id, "turn_id": self._turn, "session_id": self.thread_id}
        spent = {"usage": _tokens(usage), "thread_token_usage": _tokens(self.spent)}
        self.line("token_usage_record", at, {**ids, "root_turn_id": self._turn, "response_id": response, **spent})

    def _token_count(self, at: datetime, usage: Usage) -> None:
        """The same as an event, which the program repeats now and then."""
        info = {"total_token_usage": _tokens(self.spent), "last_token_usage": _tokens(usage)}
        limits = {"limit_id": "codex", "primary": None, "secondary": None}
        self._event("token_count", at, info={**info, "model_context_window": _WINDOW}, rate_limits=limits)

    # Tools -------------------------------------------------------------------------------------------------

    def call_id(self, called: Called) -> str:
        """Of a call and its result."""
        return f"call_{digest(self.thread_id, called.seed, length=24)}"

    def _call(self, called: Called) -> Line:
        call, name = called.call, self.call_id(called)
        if isinstance(call, Call) and call.kind in ("edit", "write"):
            ids = {"id": self._name("ctc", called.seed), "status": "completed", "call_id": name}
            return {"type": "custom_tool_call", **ids, "name": "apply_patch", "input": _patch(call)}
        ids = {"status": "completed", "id": self._name("fc", called.seed)}
        if isinstance(call, Helper):
            tool: Line = {"name": "spawn_agent", "namespace": "multi_agent_v1"}
            arguments = {"message": call.prompt, "agent_type": "default"}
        else:
            tool, arguments = {"name": "exec_command"}, {"cmd": _command(call)}
        return {"type": "function_call", **ids, **tool, "arguments": json.dumps(arguments), "call_id": name}

    def _result(self, step: Step, result: Result) -> None:
        call, name = result.called.call, self.call_id(result.called)
        if isinstance(call, Helper):
            child = self.helper_id(step, call)
            text = json.dumps({"agent_id": child, "nickname": NICKNAME}, separators=(",", ":"))
            states = {"receiver_thread_ids": [child], "agents_states": {child: "pending_init"}, "model": self.model}
            spawn = {"tool": "spawn_agent", "status": "completed", "sender_thread_id": self.thread_id}
            self._item(step.at, "CollabAgentToolCall", name, **spawn, **states, prompt=call.prompt)
        elif call.kind in ("edit", "write"):
            done = f"Success. Updated the following files:\n{'A' if call.kind == 'write' else 'M'} {call.target}\n"
            change = {"type": "add" if call.kind == "write" else "update"}
            changes = {f"{self.cwd}/{call.target}": change}
            self._item(step.at, "FileChange", name, changes=changes, status="completed", stdout=done, stderr="")
            text = f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{done}"
        else:
            text = self._ran(step, call, name)
        custom = isinstance(call, Call) and call.kind in ("edit", "write")
        kind = "custom_tool_call_output" if custom else "function_call_output"
        self._response(step.at, {"type": kind, "id": self._name("fco", step.seed), "call_id": name, "output": text})
        self._token_count(step.at, self._open.pop(result.called.seed))

    def _ran(self, step: Step, call: Call, name: str) -> str:
        """A command has ended: the event; the text for the model."""
        code = int(call.failed)
        run = {"command": ["/bin/bash", "-lc", _command(call)], "cwd": f"file://{self.cwd}", "source": "agent"}
        ended = {"status": "failed" if code else "completed", "aggregated_output": call.output, "exit_code": code}
        self._item(step.at, "CommandExecution", name, **run, **ended)
        head = f"Chunk ID: {digest(name, length=6)}\nWall time: {call.seconds:.4f} seconds\n"
        return f"{head}Process exited with code {code}\nOutput:\n{call.output}\n"

    def helper_id(self, step: Step, helper: Helper) -> str:
        """Id of the thread that the helper works in."""
        return uuid7(step.at, self.thread_id, helper.task)

    def _compact(self, step: Step, compaction: Compaction) -> None:
        """`/compact`, a turn of its own. The history that replaces the old one repeats the old prompts."""
        self._begin_turn(step)
        usage = Usage(200, 60000, 0, len(compaction.summary) // 3, 0)
        name = self._name("msg", step.seed)
        self._count(step.at, self._name("resp", step.seed), usage)
        message = f"{_COMPACTED}\n{compaction.summary}"
        content = [{"type": "input_text", "text": message}]
        history = [*self._prompts, {"type": "message", "id": name, "role": "user", "content": content}]
        self.line("compacted", step.at, {"message": message, "replacement_history": history})
        self._item(step.at, "ContextCompaction", uuid7(step.at, self.thread_id, step.seed, "item"))
        self.end_turn(step.at)


def _command(call: Call) -> str:
    return f"sed -n 1,200p {call.target}" if call.kind == "read" else call.target


def _patch(call: Call) -> str:
    """An edit or a new file in the form that `apply_patch` takes."""
    added = [f"+{line}" for line in call.after.splitlines()]
    if call.kind == "write":
        body = [f"*** Add File: {call.target}", *added]
    else:
        body = [f"*** Update File: {call.target}", "@@", *(f"-{line}" for line in call.before.splitlines()), *added]
    return "\n".join(("*** Begin Patch", *body, "*** End Patch"))
