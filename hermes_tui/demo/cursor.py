"""A Cursor home (`~/.cursor`) for the demo: chats of the command line, each a database of blobs and a transcript.

The order of the messages stands in a root blob (protobuf) that names theirs; the messages are JSON. Formats: FACTS.md
of the cursor store, «CLI chats» and «Agent transcripts».
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from hermes_tui.demo.assistant_tales import FORMS, RETRIES
from hermes_tui.demo.ledger import Ledger
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Call, Helper, Tale, uuid
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, steps

__all__ = ["write"]

OLDER = 4
_DDL = """
CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
"""
_MODEL = "composer-2.5"


def write(home: Path, now: datetime) -> None:
    """Write `home/.cursor` as it would be at `now`."""
    root = home / ".cursor"
    older = [msgspec.structs.replace(tale, model=_MODEL) for tale in older_tales("cursor", OLDER)]
    for tale in (FORMS, RETRIES, *older):
        told = steps(tale, now)
        _chat(root, tale, told)
        _transcript(root, tale, told)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _dated(path: Path, moment: datetime) -> None:
    os.utime(path, (moment.timestamp(), moment.timestamp()))


def _chat_id(tale: Tale) -> str:
    return uuid("cursor", tale.slug)


def _query(step: Step, text: str) -> str:
    """A prompt as it is kept: with the time, to the minute."""
    at = step.at
    clock = f"{at:%A, %b} {at.day}, {at.year}, {at.hour % 12 or 12}:{at:%M} {'AM' if at.hour < 12 else 'PM'} (UTC)"
    return f"<timestamp>{clock}</timestamp>\n<user_query>\n{text}\n</user_query>"


# The database ------------------------------------------------------------------------------------------------


def _chat(root: Path, tale: Tale, told: list[Step]) -> None:
    """`chats/<md5 of the directory>/<id>`: the database, and two small files beside it."""
    cwd = f"/home/dev/{tale.project}"
    folder = root / "chats" / hashlib.md5(cwd.encode(), usedforsecurity=False).hexdigest() / _chat_id(tale)
    messages = [_json(message) for message in _messages(tale, cwd, told)]
    ids = [hashlib.sha256(message).hexdigest() for message in messages]
    top = _root_blob(ids, cwd, told[-1].at)
    top_id = hashlib.sha256(top).hexdigest()
    about = {"agentId": _chat_id(tale), "latestRootBlobId": top_id, "name": tale.title, "createdAt": _ms(told[0].at)}
    about |= {"mode": "default", "isRunEverything": False, "lastUsedModel": tale.model}
    with Ledger(folder / "store.db", _DDL) as ledger:
        for name, data in dict(zip([*ids, top_id], [*messages, top], strict=True)).items():
            ledger.insert("blobs", {"id": name, "data": data})
        ledger.insert("meta", {"key": "0", "value": _json(about).hex()})
    _dated(folder / "store.db", told[-1].at)
    listed = {"schemaVersion": 1, "hasConversation": True, "title": tale.title, "cwd": cwd}
    times = {"createdAtMs": _ms(told[0].at), "updatedAtMs": _ms(told[-1].at)}
    (folder / "meta.json").write_bytes(_json({**listed, **times}))
    typed = [step.event.text for step in told if isinstance(step.event, Prompt)]
    (folder / "prompt_history.json").write_bytes(_json(typed))


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def _field(number: int, data: bytes) -> bytes:
    """A protobuf field with a length."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _root_blob(ids: list[str], cwd: str, at: datetime) -> bytes:
    """The ids in order, the size of the context, the directory, what kind of client it is, the time."""
    context = _varint(1 << 3) + _varint(21000) + _varint(2 << 3) + _varint(256000)
    parts = [_field(1, bytes.fromhex(name)) for name in ids]
    parts += [_field(5, context), _field(9, f"file://{cwd}".encode()), _field(22, b"cli")]
    return b"".join((*parts, _varint(26 << 3) + _varint(_ms(at)), _field(27, b"Etc/UTC")))


def _messages(tale: Tale, cwd: str, told: list[Step]) -> list[dict[str, Any]]:
    """The system's message, the injected one of the user, then the conversation."""
    about = f"<user_info>\nOS Version: linux 6.8\nShell: bash\nWorkspace Path: {cwd}\n</user_info>"
    found: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an AI coding assistant operating as a CLI tool."},
        {
            "role": "user",
            "content": about,
            "providerOptions": {"cursor": {"requestContextCompleteness": {"env": True}}},
        },
    ]
    for step in told:
        event = step.event
        if isinstance(event, Prompt):
            options = {"cursor": {"requestId": uuid(step.seed, "request")}}
            content = [{"type": "text", "text": _query(step, event.text)}]
            found.append({"role": "user", "content": content, "providerOptions": options})
        elif isinstance(event, Answer):
            found.append(_answer(tale, cwd, step, event))
        elif isinstance(event, Result):
            found.append(_result(cwd, event))
        else:
            raise NotImplementedError("the demo's Cursor chats are neither compacted nor fail")
    return found


def _answer(tale: Tale, cwd: str, step: Step, answer: Answer) -> dict[str, Any]:
    model = {"cursor": {"modelName": tale.model}}
    content: list[dict[str, Any]] = [
        {"type": "reasoning", "text": answer.thinking, "signature": "", "providerOptions": model}
    ]
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for called in answer.calls:
        tool, arguments = _arguments(called.call, cwd)
        content.append({"type": "tool-call", "toolCallId": _call_id(called), "toolName": tool, "args": arguments})
    name = f"msg_{uuid(step.seed, 'message')}"
    options = {"cursor": {"modelProviderMessageId": name}}
    return {"role": "assistant", "content": content, "id": name, "providerOptions": options}


def _call_id(called: Called) -> str:
    """Two ids with a newline between them."""
    return f"call-{uuid(called.seed, 'call')}-0\nfc_{uuid(called.seed, 'function')}_0"


def _result(cwd: str, result: Result) -> dict[str, Any]:
    call, name = result.called.call, _call_id(result.called)
    failed = isinstance(call, Call) and call.failed
    if isinstance(call, Helper):
        text = call.answer
    elif call.kind == "shell":
        text = f"Exit code: {int(call.failed)}\n\nCommand output:\n\n```\n{call.output}\n```"
    elif call.kind == "read":
        text = call.output
    else:
        text = f"Wrote contents to {cwd}/{call.target}"
    tool = _arguments(call, cwd)[0]
    part = {"type": "tool-result", "toolCallId": name, "toolName": tool, "result": text}
    content = [{**part, "experimental_content": [{"type": "text", "text": text}]}]
    outcome: dict[str, Any] = {"failure": {"exitCode": 1}} if failed else {"success": {}}
    options = {"cursor": {"highLevelToolCallResult": {"isError": failed, "output": outcome}}}
    return {"role": "tool", "content": content, "id": name, "providerOptions": options}


def _arguments(call: Call | Helper, cwd: str) -> tuple[str, dict[str, Any]]:
    if isinstance(call, Helper):
        return "Task", {"description": call.task, "prompt": call.prompt}
    path = f"{cwd}/{call.target}"
    if call.kind == "shell":
        return "Shell", {"command": call.target, "description": "Run a command"}
    if call.kind == "read":
        return "Read", {"path": path}
    if call.kind == "edit":
        return "StrReplace", {"path": path, "old_string": call.before, "new_string": call.after}
    return "Write", {"path": path, "contents": call.after}


# The transcript ----------------------------------------------------------------------------------------------


def _transcript(root: Path, tale: Tale, told: list[Step]) -> None:
    """The same conversation, without results, times and model; thinking is blacked out."""
    cwd = f"/home/dev/{tale.project}"
    name = _chat_id(tale)
    path = root / "projects" / cwd[1:].replace("/", "-") / "agent-transcripts" / name / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    for step in told:
        event = step.event
        if isinstance(event, Prompt):
            content = [{"type": "text", "text": _query(step, event.text)}]
            lines.append({"role": "user", "message": {"content": content}})
        elif isinstance(event, Answer):
            text = "\n\n".join(part for part in (event.text, event.thinking and "[REDACTED]") if part)
            content = [{"type": "text", "text": text}] if text else []
            used = [_arguments(called.call, cwd) for called in event.calls]
            uses = [{"type": "tool_use", "name": tool, "input": arguments} for tool, arguments in used]
            lines.append({"role": "assistant", "message": {"content": [*content, *uses]}})
            if not event.calls:
                lines.append({"type": "turn_ended", "status": "success"})
    path.write_bytes(b"".join(_json(line) + b"\n" for line in lines))
    _dated(path, told[-1].at)
