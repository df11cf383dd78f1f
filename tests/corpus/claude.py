"""Conversations as Claude Code 2.0.31 writes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from corpus.conversations import Conversations, Part, compact, iso, random_uuid, written

__all__ = ["ClaudeWriter"]

_TOOLS = ("Bash", "Read", "Edit", "Grep", "Glob", "Write", "TodoWrite", "Task")
_MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001")


class ClaudeWriter:
    """`.claude/projects/<folder>/<uuid>.jsonl`; some sessions have a sub-agent beside."""

    def __init__(self, source: Conversations) -> None:
        self._source = source

    def write(self, number: int) -> None:
        """Write conversation `number`."""
        r, text = self._source.rng, self._source.text
        moment, parts = self._source.conversation(number)
        session = _Session(self._source)
        records = [compact(session.snapshot(moment))]
        session.context = r.randint(12_000, 20_000)
        for part in parts:
            moment = self._source.later(moment)
            records.append(compact(session.record(part, moment)))
        if r.random() < 0.3:
            records.append(compact({"type": "summary", "summary": " ".join(text.words(6)), "leafUuid": session.last}))
        folder = self._source.home / ".claude/projects" / session.cwd.replace("/", "-")
        size = written(folder / f"{session.id}.jsonl", records, moment)
        if r.random() < 0.08:
            agent = f"{r.getrandbits(32):08x}"
            path = folder / session.id / "subagents" / f"agent-{agent}.jsonl"
            written(path, session.side_chain(agent, moment), moment)
        self._source.session("claude", session.id, len(parts), size)

    def close(self) -> None:
        """Every file is whole already."""


class _Session:
    """One session while it is written."""

    def __init__(self, source: Conversations) -> None:
        r = source.rng
        self._source = source
        self.id, self.cwd = random_uuid(r), f"/home/dev/{r.choice(source.projects)}"
        self._model = r.choice(_MODELS)
        self._branch = r.choice(("main", "dev", f"fix/{source.text.word()}"))
        self.last: str | None = None
        self._call = ""
        self.context = 0

    def snapshot(self, moment: datetime) -> dict[str, Any]:
        """The record that a file begins with."""
        r = self._source.rng
        return {
            "type": "file-history-snapshot",
            "messageId": random_uuid(r),
            "snapshot": {"messageId": random_uuid(r), "trackedFileBackups": {}, "timestamp": iso(moment)},
            "isSnapshotUpdate": False,
        }

    def record(self, part: Part, moment: datetime) -> dict[str, Any]:
        """The next record of the conversation."""
        kind = "user" if part.kind in ("user", "result") else "assistant"
        parent, self.last = self.last, random_uuid(self._source.rng)
        base = {"parentUuid": parent, "isSidechain": False, **self._origin(), "type": kind}
        if part.kind == "user":
            more: dict[str, Any] = {"message": {"role": "user", "content": part.text}}
        elif part.kind == "result":
            more = {"message": self._result(part)}
        else:
            more = {"message": self._reply(part), "requestId": f"req_011{self._source.rng.getrandbits(80):020x}"}
        found = base | more | {"uuid": self.last, "timestamp": iso(moment)}
        if part.kind == "result":
            output = {"stdout": part.text[:400], "stderr": "", "interrupted": False, "isImage": False}
            found["toolUseResult"] = output
        return found

    def _origin(self) -> dict[str, str]:
        return {
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": "2.0.31",
            "gitBranch": self._branch,
        }

    def _result(self, part: Part) -> dict[str, Any]:
        failed = self._source.rng.random() < 0.05
        block = {"tool_use_id": self._call, "type": "tool_result", "content": part.text, "is_error": failed}
        return {"role": "user", "content": [block]}

    def _reply(self, part: Part) -> dict[str, Any]:
        r, block = self._source.rng, self._block(part)
        output = max(8, (len(part.text) + len(part.code)) // 4)
        cached, fresh, read = r.randint(100, 4000), r.randint(3, 12), self.context
        self._source.usage("claude", input=fresh, output=output, cache_read=read, cache_write=cached)
        self.context += cached
        return {
            "model": self._model,
            "id": f"msg_01{r.getrandbits(88):022x}",
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": fresh,
                "cache_creation_input_tokens": cached,
                "cache_read_input_tokens": read,
                "cache_creation": {"ephemeral_5m_input_tokens": cached, "ephemeral_1h_input_tokens": 0},
                "output_tokens": output,
                "service_tier": "standard",
            },
        }

    def _block(self, part: Part) -> dict[str, Any]:
        r = self._source.rng
        if part.kind == "assistant":
            return {"type": "text", "text": part.text}
        if part.kind == "thinking":
            return {"type": "thinking", "thinking": part.text, "signature": self._source.text.hapax() * 6}
        self._call = f"toolu_01{r.getrandbits(88):022x}"
        name, given = r.choice(_TOOLS), {"file_path": f"{self.cwd}/{part.text}"}
        if part.code:
            name = "Edit"
            given |= {"old_string": part.code[:120], "new_string": part.code}
        elif name == "Bash":
            given = {"command": f"pytest -q {part.text} | tail -40", "description": "Run the tests"}
        return {"type": "tool_use", "id": self._call, "name": name, "input": given}

    def side_chain(self, agent: str, moment: datetime) -> list[str]:
        """The records of a sub-agent."""
        r, prose = self._source.rng, self._source.text.prose
        records: list[str] = []
        parent: str | None = None
        for number in range(r.randint(2, 12)):
            own, role = random_uuid(r), "assistant" if number % 2 else "user"
            content = [{"type": "text", "text": prose(600)}] if number % 2 else prose(400)
            record = {
                "parentUuid": parent,
                "isSidechain": True,
                "agentId": agent,
                **self._origin(),
                "type": role,
                "message": {"role": role, "content": content},
                "uuid": own,
                "timestamp": iso(moment),
            }
            records.append(compact(record))
            parent = own
        return records
