"""Cursor's sessions read by plain lines, as far as its stores say anything."""

from __future__ import annotations

import hashlib
import re
import tempfile
import textwrap
from pathlib import Path

from plain_cursor import Plain as Native
from plain_cursor import plain_home, typed
from plain_session import Call, Plain, Said, summed
from plain_tables import rows

__all__ = ["plain_cursor"]


def plain_cursor(home: Path) -> list[Plain]:
    """Every chat, composer, tab, transcript and document."""
    with tempfile.TemporaryDirectory() as scratch:
        sessions = plain_home(home, Path(scratch))
    tracked = {}
    for path in home.glob(".cursor/ai-tracking/ai-code-tracking.db"):
        tracked = {row["conversationId"]: row for row in rows(path, "SELECT * FROM conversation_summaries")}
    # The folder of a chat is a hash of where it was held: known folders tell which.
    hashed = {hashlib.md5(one.cwd.encode()).hexdigest(): one.cwd for one in sessions.values() if one.cwd}
    folders = {path.name: hashed.get(path.parent.name) for path in home.glob(".cursor/chats/*/*")}
    found = [
        _session(session_id, one._replace(cwd=one.cwd or folders.get(session_id)), tracked.get(session_id) or {})
        for session_id, one in sessions.items()
    ]
    return found + [_text(path) for path in sorted(home.glob(".cursor/projects/*/agent-transcripts/*.txt"))]


def _session(session_id: str, one: Native, tracked: dict[str, str]) -> Plain:
    results = [result for said in one.said for result in said.results]
    said = []
    for line in one.said:
        calls = []
        for name, arguments in line.calls:
            at = next((number for number, (tool, _) in enumerate(results) if tool == name), None)
            calls.append(Call(name, arguments, None if at is None else results.pop(at)[1], None))
        said.append(Said(line.role, line.text, None, tuple(calls), line.model))
    spoken = [line.text for line in said if line.role == "user"]
    prompts = [text for text in spoken if text and not text.startswith("<user_info>")]
    named = one.title if one.title != "New Agent" else ""
    model = tracked.get("model") or one.model
    fresh, written = summed([(*line.tokens, 0, 0, 0) for line in one.said])[:2]
    return Plain(
        session_id=session_id,
        said=tuple(said),
        title=named or tracked.get("title") or (prompts or [""])[0],
        created=one.created,
        cwd=one.cwd,
        kind="subagent" if one.parent else "session",
        parent=one.parent,
        tokens=(fresh, written, one.more[0], 0, one.more[1]),
        models=tuple(line.model for line in said if line.model) or ((model,) if model else ()),
        archived=one.archived,
    )


def _text(path: Path) -> Plain:
    """The oldest transcripts: who speaks on a line, thinking, calls and results each under a mark."""
    said: list[Said] = []
    for block in re.split(r"(?m)^(?=user:$|assistant:$|\[)", path.read_text()):
        mark, _, rest = block.partition("\n")
        if mark in ("user:", "assistant:"):
            said.append(Said(mark[:-1], typed(rest).strip()))
        elif mark.startswith("[Tool call]"):
            name, text = mark.split("] ")[1], said[-1].text
            arguments = dict(line.strip().split("=", 1) for line in rest.strip().splitlines())
            said[-1] = said[-1]._replace(text=text, calls=(Call(name, arguments, None, None),))
        elif mark.startswith("[Tool result]"):
            result, _, after = rest.partition("\n\n")
            call = said[-1].calls[0]._replace(result=textwrap.dedent(result))
            said[-1] = said[-1]._replace(calls=(call,))
            said += [Said("tool"), Said("assistant", after.strip())]
        elif mark == "[Thinking]":
            said[-1] = said[-1]._replace(text=rest.partition("\n\n")[2].strip())
    project = path.parents[1]
    logged = re.search(r"workspacePath=(\S+)", (project / "worker.log").read_text())
    return Plain(path.stem, tuple(said), said[0].text or "", cwd=logged[1] if logged else None)
