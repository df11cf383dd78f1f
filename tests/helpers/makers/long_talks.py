"""Sessions of any length, in the store of every agent that keeps them in another way: the same talk in each."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import gemini_samples
import openclaw_store
from claude_lines import ClaudeHome
from cursor_store import Chat, prompt
from hector_store import Store as HectorStore
from hermes_store import Store as HermesStore
from opencode_store import Store as OpenCodeStore
from session_adapters.base import Adapter, Environment, Source
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Message
from session_adapters.omp import OmpAdapter
from session_adapters.pi import PiAdapter
from session_adapters.transcript import Transcript

__all__ = ["TALKS", "TURN", "Talk"]

TURN = 4
"""Messages of a turn: a prompt, a call, its result, an answer."""
_START = datetime(2026, 1, 1, 10, tzinfo=UTC)


class Talk(ABC):
    """One session in a home of its own. In turns that are named, the command fails."""

    adapter: Adapter
    session_id = "talk"

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        self.home = home
        self.failing = frozenset(failing)
        self.filler = " word" * (filler // 5)
        """Characters that every answer has besides."""
        self.turns = 0

    def open(self) -> Transcript:
        """The session from its end."""
        return self.adapter.open(self._source(), self.session_id)

    def open_at(self, message_id: str, size: int) -> Transcript:
        """What stands around a message."""
        return self.adapter.open_at(self._source(), self.session_id, message_id, size)

    def whole(self) -> list[Message]:
        """All its messages, as they are read at once."""
        return list(self.adapter.session(self._source(), self.session_id).messages)

    def _source(self) -> Source:
        source = self.adapter.find(self.session_id)
        assert source is not None
        return source

    def add(self, turns: int) -> None:
        """Let it go on for so many turns."""
        self.write(range(self.turns, self.turns + turns))
        self.turns += turns

    def said(self, turn: int) -> tuple[str, str, str, str]:
        """The prompt of a turn, its command, what that gave, and the answer."""
        result = "it failed" if turn in self.failing else "made"
        return f"Prompt {turn}", f"make {turn}", result, f"Answer {turn}{self.filler}"

    @abstractmethod
    def write(self, turns: range) -> None:
        """Append these turns."""


class ClaudeTalk(Talk):
    """Lines of a file."""

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        made = ClaudeHome(home, _START)
        self._path = made.session("Prompt first", turns=0)
        self._path.parent.mkdir(exist_ok=True)
        self.session_id = self._path.stem
        self.adapter = ClaudeAdapter(Environment(home=home))

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        lines = []
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            call = {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {"command": command}}
            gave: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": result}
            gave["is_error"] = turn in self.failing
            rows: tuple[tuple[str, Any], ...] = (
                ("user", asked),
                ("assistant", [call]),
                ("user", [gave]),
                ("assistant", [{"type": "text", "text": answer}]),
            )
            for place, (role, content) in enumerate(rows):
                number = turn * TURN + place
                message: dict[str, Any] = {"role": role, "content": content}
                if role == "assistant":
                    message |= {"id": f"msg_{number}", "type": "message", "model": "claude-sonnet-4-6"}
                record: dict[str, Any] = {
                    "type": role,
                    "message": message,
                    "uuid": f"u{number}",
                    "sessionId": self.session_id,
                }
                record |= {"parentUuid": f"u{number - 1}" if number else None, "isSidechain": False}
                lines.append(record | {"cwd": "/home/dev/shop", "timestamp": _time(number)})
        _append(self._path, lines)


class GeminiTalk(Talk):
    """A log, which begins as that of each real session: with a list of messages that replaces what there was."""

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        context = gemini_samples.CONTEXT
        self._path = gemini_samples.place(
            home, gemini_samples.header(self.session_id), gemini_samples.put(context), name="session-talk.jsonl"
        )
        self.adapter = gemini_samples.adapter(home)

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        lines: list[dict[str, Any]] = []
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            status = "error" if turn in self.failing else "success"
            call = {"id": f"c{turn}", "name": "run_shell_command", "args": {"command": command}, "status": status}
            gave = {"functionResponse": {"id": f"c{turn}", "name": call["name"], "response": {"output": result}}}
            rows: list[dict[str, Any]] = [
                {"type": "user", "content": [{"text": asked}]},
                {"type": "gemini", "content": "", "model": "gemini-2.5-pro"},
                {"type": "user", "content": [gave]},
                {"type": "gemini", "content": answer, "model": "gemini-2.5-pro"},
            ]
            for place, row in enumerate(rows):
                number = turn * TURN + place
                lines.append({"id": f"g{number}", "timestamp": _time(number)} | row)
                if place == 1:  # written again when the call has its result
                    lines.append(lines[-1] | {"toolCalls": [call | {"result": [gave]}]})
                lines.append({"$set": {"lastUpdated": _time(number)}})
        _append(self._path, lines)


class HermesTalk(Talk):
    """Rows of a table, with those of another session between them."""

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._store = HermesStore(home)
        self.adapter = self._store.adapter
        self._store.session("talk")
        self._store.session("other")

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        say = self._store.say
        self._store.connection.execute("BEGIN")
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            call = {"id": f"c{turn}", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
            say("talk", "user", asked)
            say("other", "user", "Something else")
            say("talk", "assistant", "", tool_calls=json.dumps([call]))
            given = json.dumps({"exit_code": int(turn in self.failing), "output": result})
            say("talk", "tool", given, tool_call_id=f"c{turn}", tool_name="bash")
            say("talk", "assistant", answer)
        self._store.connection.execute("COMMIT")


class HectorTalk(Talk):
    """Rows of a table, numbered within the session."""

    session_id = "assistant/talk"

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._store = HectorStore(home)
        self.adapter = self._store.adapter
        self._store.session("talk")

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        self._store.connection.execute("BEGIN")
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            call = {"type": "tool_use", "id": f"c{turn}", "name": "bash", "arguments": {"command": command}}
            gave: dict[str, Any] = {"type": "tool_result", "tool_call_id": f"c{turn}", "content": result}
            rows: tuple[tuple[str, Any], ...] = (
                ("USER", {"text": asked}),
                ("AGENT", {"data": call}),
                ("AGENT", {"data": gave | {"is_error": turn in self.failing}}),
                ("AGENT", {"text": answer}),
            )
            for place, (role, part) in enumerate(rows):
                number = turn * TURN + place
                row = {"session_id": "talk", "message_id": "", "role": f"ROLE_{role}", "sequence_num": number + 1}
                row |= {"message_json": json.dumps({"role": f"ROLE_{role}", "parts": [part]})}
                self._store.insert("session_messages", row | {"created_at": _time(number)})
        self._store.connection.execute("COMMIT")


class OpenCodeTalk(Talk):
    """Messages and their parts in two tables."""

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._store = OpenCodeStore(home)
        self.adapter = self._store.adapter
        self._store.session("talk")

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        store = self._store
        store.connection.execute("BEGIN")
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            failed = turn in self.failing
            state: dict[str, Any] = {"status": "error" if failed else "completed", "input": {"command": command}}
            state |= {"error": result} if failed else {"output": result}
            store.say("talk", "user", asked)
            called = store.message("talk", "assistant")
            store.part("talk", called, type="tool", tool="bash", callID=f"c{turn}", state=state)
            store.say("talk", "assistant", answer)
        store.connection.execute("COMMIT")


class CursorTalk(Talk):
    """Blobs that a root names."""

    session_id = "chat-1"

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._chat = Chat(home)
        self.adapter = self._chat.adapter

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        messages: list[dict[str, Any]] = []
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            call = {"type": "tool-call", "toolCallId": f"c{turn}", "toolName": "Shell", "args": {"command": command}}
            gave = {"type": "tool-result", "toolCallId": f"c{turn}", "toolName": "Shell", "result": result}
            messages += [
                prompt(asked),
                {"role": "assistant", "content": [call]},
                {"role": "tool", "content": [gave | {"isError": turn in self.failing}]},
                {"role": "assistant", "content": answer},
            ]
        self._chat.add(*messages)


class PiTalk(Talk):
    """A tree in the lines of a file."""

    folder = ".pi/agent/sessions/--srv--"
    kind: type[PiAdapter | OmpAdapter] = PiAdapter

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._path = home / self.folder / "2026-01-01T10-00-00-000Z_talk.jsonl"
        self._path.parent.mkdir(parents=True)
        self.adapter = self.kind(Environment(home=home))
        _append(self._path, [{"type": "session", "version": 3, "id": "talk", "timestamp": _time(0), "cwd": "/srv"}])

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        _append(self._path, self.events(turns))

    def events(self, turns: range) -> list[dict[str, Any]]:
        """The entries of these turns."""
        found: list[dict[str, Any]] = []
        for turn in turns:
            asked, command, result, answer = self.said(turn)
            call = {"type": "toolCall", "id": f"c{turn}", "name": "bash", "arguments": {"command": command}}
            gave: dict[str, Any] = {"role": "toolResult", "toolCallId": f"c{turn}", "toolName": "bash"}
            gave |= {"content": [{"type": "text", "text": result}], "isError": turn in self.failing}
            messages: list[dict[str, Any]] = [
                {"role": "user", "content": asked},
                {"role": "assistant", "content": [call], "model": "m-1"},
                gave,
                {"role": "assistant", "content": [{"type": "text", "text": answer}], "model": "m-1"},
            ]
            for place, message in enumerate(messages):
                number = turn * TURN + place
                entry = {"type": "message", "id": f"{number:08x}", "timestamp": _time(number), "message": message}
                found.append(entry | {"parentId": f"{number - 1:08x}" if number else None})
        return found


class OmpTalk(PiTalk):
    """The same, of another program."""

    folder = ".omp/agent/sessions/-srv"
    kind = OmpAdapter


class OpenClawFileTalk(PiTalk):
    """The same, named by an index of keys."""

    folder = ".openclaw/agents/main/sessions"

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._path = self._path.rename(self._path.with_name("talk.jsonl"))
        self._path.with_name("sessions.json").write_text(json.dumps({"k": {"sessionId": "talk", "updatedAt": 1}}))
        self.adapter = openclaw_store.adapter_for(home)
        self.session_id = "k"


class OpenClawTalk(PiTalk):
    """The same tree in the rows of a table."""

    folder = "beside"
    session_id = "k"

    def __init__(self, home: Path, failing: Iterable[int] = (), filler: int = 0) -> None:
        super().__init__(home, failing, filler)
        self._database = openclaw_store.Database(home)
        self.adapter = self._database.adapter
        self._database.key("k", "talk")

    def write(self, turns: range) -> None:
        """See `Talk.write`."""
        self._database.connection.execute("BEGIN")
        self._database.write("talk", *self.events(turns))
        self._database.connection.execute("COMMIT")


TALKS: dict[str, type[Talk]] = {
    "claude": ClaudeTalk,
    "cursor": CursorTalk,
    "gemini": GeminiTalk,
    "hector": HectorTalk,
    "hermes": HermesTalk,
    "omp": OmpTalk,
    "openclaw": OpenClawTalk,
    "openclaw files": OpenClawFileTalk,
    "opencode": OpenCodeTalk,
    "pi": PiTalk,
}
"""By agent, and where it has several stores by those."""


def _time(number: int) -> str:
    return (_START + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _append(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in records)
