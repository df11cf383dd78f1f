"""A Claude Code home (`~/.claude`) for the demo, in the format of 2.1.329, and the session that keeps growing."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.demo.claude_records import VERSION, Scribe, agent_id, encode
from hermes_tui.demo.main_tale import FAKE_CLOCK, FLAKY_LOGIN, FORK_AFTER
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Helper, Reply, Tale, Turn, uuid
from hermes_tui.demo.tales import OTHERS

__all__ = ["LIVE_PID", "LIVE_START", "live_session", "session_path", "write"]

OLDER = 130
LIVE_PID = 4127
LIVE_START = 126968
"""Start of that process in clock ticks, as in the 22nd field of its `/proc` stat."""


def write(home: Path, now: datetime) -> None:
    """Write `home/.claude` as it would be at `now`."""
    root = home / ".claude"
    for tale in (*OTHERS, *older_tales("claude", OLDER)):
        _save(root, _told(tale, now))
    main = live_session(now)
    _save(root, main)
    for helper, call_id, at in main.helpers:
        _save_helper(root, main, helper, call_id, at)
    _save(root, _branched(main, now))
    _live_file(root, main, now)


def live_session(now: datetime) -> Scribe:
    """The session that is open at `now`; more turns can be added to what it returns."""
    return _told(FLAKY_LOGIN, now)


def _told(tale: Tale, now: datetime) -> Scribe:
    """A session whose last record is `tale.ago` before `now`."""
    scribe = _scribe(tale, now)
    _tell(scribe, tale)
    # How long it takes is known when it is told: tell it again so that it ends at the right time.
    scribe = _scribe(tale, now - tale.ago - (scribe.at - now))
    _tell(scribe, tale)
    return scribe


def _scribe(tale: Tale, at: datetime) -> Scribe:
    session_id = uuid("claude", tale.slug)
    return Scribe(session_id, cwd=f"/home/dev/{tale.project}", branch=tale.branch, model=tale.model, at=at)


def _tell(scribe: Scribe, tale: Tale) -> None:
    scribe.state("mode", mode="normal")
    scribe.state("permission-mode", permissionMode="acceptEdits")
    for turn in tale.turns:
        scribe.turn(turn)
    scribe.state("ai-title", aiTitle=tale.title)


def _branched(main: Scribe, now: datetime) -> Scribe:
    """`/branch` after some turns: copies of the parent's records, each saying where it comes from."""
    attempt = _told_on(main, _scribe(FAKE_CLOCK, now))
    # Told twice, as in `_told`: now it ends when it should.
    return _told_on(main, _scribe(FAKE_CLOCK, now - FAKE_CLOCK.ago - (attempt.at - now)))


def _told_on(main: Scribe, fork: Scribe) -> Scribe:
    """`fork` with the first turns of `main` and its own after them."""
    _copy(main, fork)
    for turn in FAKE_CLOCK.turns:
        fork.turn(turn)
    fork.state("custom-title", customTitle=FAKE_CLOCK.title)
    return fork


def _copy(main: Scribe, fork: Scribe) -> None:
    """Begin `fork` with the records of the first turns of `main`."""
    prompts = 0
    for record in main.records:
        prompts += record["type"] == "user" and "promptSource" in record
        if prompts > FORK_AFTER:
            break
        if record["type"] in ("user", "assistant", "attachment"):
            origin = {"sessionId": main.session_id, "messageUuid": record["uuid"]}
            fork.records.append({**record, "sessionId": fork.session_id, "forkedFrom": origin})
            fork.parent = record["uuid"]


def _folder(root: Path, scribe: Scribe) -> Path:
    """Where the program keeps a project's sessions: every other character than a letter or digit becomes `-`."""
    folder = root / "projects" / re.sub("[^A-Za-z0-9]", "-", scribe.cwd)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def session_path(home: Path, scribe: Scribe) -> Path:
    """The file of a session."""
    return _folder(home / ".claude", scribe) / f"{scribe.session_id}.jsonl"


def _save(root: Path, scribe: Scribe) -> None:
    path = session_path(root.parent, scribe)
    path.write_bytes(b"".join(map(encode, scribe.records)))
    _dated(path, scribe.at)


def _save_helper(root: Path, main: Scribe, helper: Helper, call_id: str, at: datetime) -> None:
    """A sub-agent's own file and what the program notes beside it."""
    name = agent_id(main.session_id, helper)
    scribe = Scribe(main.session_id, cwd=main.cwd, branch=main.branch, model=main.model, at=at, helper_id=name)
    replies = (Reply(calls=(helper.call,)), Reply(text=helper.answer))
    scribe.turn(Turn(prompt=helper.prompt, replies=replies))
    folder = _folder(root, main) / main.session_id / "subagents"
    folder.mkdir(parents=True)
    path = folder / f"agent-{name}.jsonl"
    path.write_bytes(b"".join(map(encode, scribe.records)))
    _dated(path, scribe.at)
    about = {"agentType": "general-purpose", "description": helper.task, "toolUseId": call_id, "spawnDepth": 1}
    (folder / f"agent-{name}.meta.json").write_text(json.dumps({**about, "model": main.model, "finished": True}))


def _live_file(root: Path, main: Scribe, now: datetime) -> None:
    """`sessions/<pid>.json`: the process that has the session open."""
    folder = root / "sessions"
    folder.mkdir()
    started = int((now - timedelta(hours=2)).timestamp() * 1000)
    record: dict[str, Any] = {
        "pid": LIVE_PID,
        "sessionId": main.session_id,
        "cwd": main.cwd,
        "startedAt": started,
        "procStart": str(LIVE_START),
        "version": VERSION,
        "kind": "interactive",
        "entrypoint": "cli",
        "name": FLAKY_LOGIN.title,
        "status": "busy",
        "updatedAt": int(now.timestamp() * 1000),
    }
    (folder / f"{LIVE_PID}.json").write_text(json.dumps(record))


def _dated(path: Path, moment: datetime) -> None:
    os.utime(path, (moment.timestamp(), moment.timestamp()))
