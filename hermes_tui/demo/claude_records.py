"""Claude Code's records, written as Claude Code 2.1.329 writes them: one JSON object per line.

Formats: FACTS.md of the claude store, «Records». One reply becomes one line per block, all with the same message
id, request id and usage; injected context and request logs stand between the lines of the conversation.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Reply, Turn, digest, number, stamp, uuid

__all__ = ["VERSION", "Record", "Scribe", "agent_id", "encode"]

VERSION = "2.1.329"
Record = dict[str, Any]
"""A line before it is encoded."""


def encode(record: Record) -> bytes:
    """One line, newline included."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def agent_id(session_id: str, helper: Helper) -> str:
    """The id of a helper's own record: `a` and 16 hexadecimal digits."""
    return "a" + digest(session_id, helper.task, length=16)


class Scribe:
    """Keeps one session's record. `records` are the lines so far; `at` is the time of the next one."""

    def __init__(
        self, session_id: str, *, cwd: str, branch: str, model: str, at: datetime, helper_id: str = ""
    ) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.branch = branch
        self.model = model
        self.at = at
        self.helper_id = helper_id
        self.records: list[Record] = []
        self.parent: str | None = None
        self.prompts = 0
        self._prompt_id = ""
        self._context = 0
        self._made = 0
        self._told = False
        self.helpers: list[tuple[Helper, str, datetime]] = []
        """(helper, id of the call that sent it off, when)"""

    # Lines -------------------------------------------------------------------------------------------------

    def state(self, kind: str, **fields: Any) -> None:
        """A line without uuid and time; of most kinds the last one counts."""
        self.records.append({"type": kind, **fields, "sessionId": self.session_id})

    def _line(self, seconds: float = 0.0, **fields: Any) -> Record:
        self.at += timedelta(seconds=seconds)
        self._made += 1
        record: Record = {"parentUuid": self.parent, "isSidechain": bool(self.helper_id)}
        if self.helper_id:
            record["agentId"] = self.helper_id
        record |= fields
        record |= {
            "uuid": uuid(self.session_id, self.helper_id, self._made),
            "timestamp": stamp(self.at),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": self.branch,
        }
        self.parent = record["uuid"]
        self.records.append(record)
        return record

    def _attachment(self, attachment: Record, text: str) -> None:
        rendered = [{"content": f"<system-reminder>\n{text}\n</system-reminder>"}]
        self._line(type="attachment", attachment=attachment, rendered=rendered, renderedRole="system")

    # Conversation ------------------------------------------------------------------------------------------

    def turn(self, turn: Turn) -> None:
        """A prompt and all that follows it."""
        replies = list(turn.replies)
        while replies and isinstance(replies[0], Compaction):
            self.compact(replies.pop(0))  # type: ignore[arg-type]
        self.prompt(turn.prompt)
        for reply in replies:
            if isinstance(reply, Reply):
                self.reply(reply)
            elif isinstance(reply, Failure):
                self.fail(reply)
        if not self.helper_id:
            self._line(
                type="system", subtype="turn_duration", durationMs=number(2000, 90000, self.parent), isMeta=False
            )
            self.state("last-prompt", lastPrompt=turn.prompt, leafUuid=self.parent)

    def prompt(self, text: str) -> None:
        """What the human typed; before the first one the program's own context."""
        self.prompts += 1
        self._prompt_id = uuid(self.session_id, "prompt", self.prompts)
        self._line(
            seconds=number(300, 900, self.session_id, self.prompts),
            promptId=self._prompt_id,
            type="user",
            message={"role": "user", "content": text},
            permissionMode="acceptEdits",
            origin={"kind": "human"},
            promptSource="typed",
            turnOrigin="human",
            turnPosition={"promptIndex": self.prompts, "turnIndex": self.prompts},
        )
        if not self._told:
            self._told = True
            snapshot = {"workingDirectory": self.cwd, "isWorktree": False, "isGitRepo": True, "platform": "linux"}
            self._attachment({"type": "environment", "snapshot": snapshot}, f"Working directory: {self.cwd}")
            self._attachment({"type": "date", "date": stamp(self.at)[:10]}, f"Today's date is {stamp(self.at)[:10]}.")

    def reply(self, reply: Reply) -> None:
        """One answer: a line per block, then the results of its calls."""
        seed = (self.session_id, self.helper_id, self._made)
        blocks: list[Record] = []
        if reply.thinking:
            blocks.append(
                {"type": "thinking", "thinking": reply.thinking, "signature": digest(*seed, "sign", length=48)}
            )
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        calls: list[tuple[str, Call | Helper]] = []
        for index, call in enumerate((*reply.calls, *((reply.helper,) if reply.helper else ()))):
            call_id = f"toolu_01{digest(*seed, index, length=22)}"
            calls.append((call_id, call))
            name, arguments = _arguments(call, self.cwd)
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
        self._request_log(seed)
        sources = self._blocks(
            blocks, "tool_use" if calls else "end_turn", len(str(reply.text)) + 40 * len(calls), seed
        )
        for (call_id, call), source in zip(calls, sources[len(blocks) - len(calls) :], strict=True):
            if isinstance(call, Helper):
                self._sent_off(call, call_id, source)
            else:
                self._result(call, call_id, source)

    def _blocks(self, blocks: list[Record], stop: str, length: int, seed: tuple[Any, ...]) -> list[str]:
        """The lines of one reply; their uuids."""
        fresh = number(180, 2600, *seed)
        read, self._context = self._context, self._context + fresh
        usage = {
            "input_tokens": number(3, 12, *seed),
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": read,
            "output_tokens": 20 + length // 3,
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": fresh, "ephemeral_5m_input_tokens": 0},
        }
        made = []
        for index, block in enumerate(blocks):
            message = {
                "id": f"msg_01{digest(*seed, 'message', length=22)}",
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": usage,
            }
            made.append(
                self._line(
                    seconds=number(1, 5, *seed, index),
                    message=message,
                    apiBlockIndex=index,
                    requestId=f"req_011C{digest(*seed, 'request', length=20)}",
                    requestedModel=self.model,
                    type="assistant",
                    effort="high",
                    madeBy="model",
                )["uuid"]
            )
        return made

    def _request_log(self, seed: tuple[Any, ...]) -> None:
        """What 2.1.329 logs of every request; the blob repeats a message that stands elsewhere in the file."""
        last = next((r["message"] for r in reversed(self.records) if r["type"] == "user"), None)
        blob = digest(*seed, "blob", length=64)
        self.state("api-request-blob", hash=blob, message=last)
        self.state(
            "api-request",
            id=uuid(*seed, "log"),
            timestamp=stamp(self.at),
            version=VERSION,
            querySource="repl_main_thread",
            params={"model": self.model, "max_tokens": 32000},
            keep=0,
            tail=[blob],
        )

    def _answer(self, call_id: str, source: str, content: Any, result: Any, seconds: float, failed: bool) -> None:
        block: Record = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if failed:
            block["is_error"] = True
        self._line(
            seconds=seconds,
            promptId=self._prompt_id,
            type="user",
            message={"role": "user", "content": [block]},
            toolUseResult=result,
            sourceToolAssistantUUID=source,
        )

    def _result(self, call: Call, call_id: str, source: str) -> None:
        path = f"{self.cwd}/{call.target}"
        output = call.output
        result: Any
        if call.kind == "shell":
            result = {
                "stdout": output,
                "stderr": "",
                "interrupted": False,
                "isImage": False,
                "noOutputExpected": False,
            }
            if call.failed:
                output = f"Exit code 1\n{output}"
                result = f"Error: {output}"
        elif call.kind == "read":
            plain = "".join(line.partition("\t")[2] + "\n" for line in output.splitlines())
            lines = output.count("\n") + 1
            file = {"filePath": path, "content": plain, "numLines": lines, "startLine": 1, "totalLines": lines}
            result = {"type": "text", "file": file}
        elif call.kind == "edit":
            output = f"The file {path} has been updated successfully."
            result = {"filePath": path, "oldString": call.before, "newString": call.after}
            result["structuredPatch"] = [_patch(call)]
        else:
            output = f"File created successfully at: {path}"
            result = {"type": "create", "filePath": path, "content": call.after, "structuredPatch": []}
        self._answer(call_id, source, output, result, call.seconds, call.failed)

    def _sent_off(self, helper: Helper, call_id: str, source: str) -> None:
        """The helper runs on its own; here stands only that it was started."""
        name = agent_id(self.session_id, helper)
        text = f"Async agent launched successfully.\nagentId: {name}"
        result = {"isAsync": True, "status": "async_launched", "agentId": name, "description": helper.task}
        self._answer(call_id, source, [{"type": "text", "text": text}], result, 0.2, failed=False)
        self.helpers.append((helper, call_id, self.at))

    def compact(self, compaction: Compaction) -> None:
        """Everything above stays in the file; the model sees the summary instead."""
        before, self._context = self._context, 2400
        above, self.parent = self.parent, None
        self._line(
            seconds=30,
            logicalParentUuid=above,
            type="system",
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata={"trigger": "manual", "preTokens": before, "postTokens": self._context},
        )
        text = (
            "This session is being continued from a previous conversation that ran out of context. The summary below "
        )
        self._line(
            type="user",
            message={"role": "user", "content": f"{text}covers the earlier portion.\n\n{compaction.summary}"},
            isVisibleInTranscriptOnly=True,
            isCompactSummary=True,
        )

    def fail(self, failure: Failure) -> None:
        """One retry, then the program's own message in the model's place."""
        error = {"message": f"{failure.status} {failure.reason}", "status": failure.status}
        retry = {"retryInMs": 606, "retryAttempt": 1, "maxRetries": 10, "source": "request_retry"}
        self._line(seconds=2, type="system", subtype="api_error", level="error", error=error, **retry)
        message = {
            "id": uuid(self.session_id, "failure", self._made),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": f"API Error: {failure.status} {failure.reason}"}],
            "stop_reason": "stop_sequence",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        self._line(seconds=40, type="assistant", message=message, isApiErrorMessage=True, error="server_error")


def _patch(call: Call) -> Record:
    """The edit as a hunk."""
    removed, added = call.before.splitlines(), call.after.splitlines()
    lines = [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    return {"oldStart": 11, "oldLines": len(removed), "newStart": 11, "newLines": len(added), "lines": lines}


def _arguments(call: Call | Helper, cwd: str) -> tuple[str, Record]:
    """The tool's name here, and its arguments."""
    if isinstance(call, Helper):
        return "Agent", {"description": call.task, "prompt": call.prompt, "subagent_type": "general-purpose"}
    if call.kind == "shell":
        return "Bash", {"command": call.target, "description": "Run a command"}
    path = f"{cwd}/{call.target}"
    if call.kind == "read":
        return "Read", {"file_path": path}
    if call.kind == "edit":
        return "Edit", {"replace_all": False, "file_path": path, "old_string": call.before, "new_string": call.after}
    return "Write", {"file_path": path, "content": call.after}
