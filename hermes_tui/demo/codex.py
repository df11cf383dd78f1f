"""A Codex home (`~/.codex`) for the demo, as 0.169.0 keeps it: a fork by reference, a sub-agent, an open thread."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from hermes_tui.demo.coder_tales import CHECKOUT, CHECKOUT_FORK, MIGRATION, SEARCH
from hermes_tui.demo.codex_scribe import NICKNAME, VERSION, RolloutScribe, encode
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Helper, Tale, digest, stamp, uuid7
from hermes_tui.demo.telling import Prompt, Result, Step, helper_tale, steps

__all__ = ["LIVE_PID", "LIVE_START", "lock_path", "write"]

OLDER = 8
LIVE_PID = 4153
LIVE_START = 26_400_000
"""Start of that process in clock ticks."""
_MODEL = "gpt-5.5"
_FORK_AFTER = 2
"""Turns of `CHECKOUT` that its fork begins with."""


def write(home: Path, now: datetime) -> None:
    """Write `home/.codex` as it would be at `now`."""
    root = home / ".codex"
    names: list[tuple[str, str, datetime]] = []
    for tale in (MIGRATION, SEARCH, *(msgspec.structs.replace(t, model=_MODEL) for t in older_tales("codex", OLDER))):
        told = steps(tale, now)
        scribe = _told(tale, told)
        _save(root, scribe, told)
        _helpers(root, scribe, tale, told, now)
    told = steps(CHECKOUT, now)
    checkout = _told(CHECKOUT, told)
    _save(root, checkout, told)
    names.append((checkout.thread_id, CHECKOUT.title, told[-1].at))
    _save(root, *_forked(checkout, now))
    index = [{"id": name, "thread_name": title, "updated_at": stamp(at)} for name, title, at in names]
    (root / "session_index.jsonl").write_bytes(b"".join(map(encode, index)))
    _history(root, now)
    lock = lock_path(home, now)
    lock.parent.mkdir()
    (lock.parent / ".coordination.lock").touch()
    lock.touch()


def lock_path(home: Path, now: datetime) -> Path:
    """The empty file that the process with an open thread holds a lock on."""
    return home / ".codex" / "thread-writer-locks" / f"{_thread(CHECKOUT, steps(CHECKOUT, now))}.lock"


def _thread(tale: Tale, told: list[Step]) -> str:
    return uuid7(told[0].at, "codex", tale.slug)


def _told(tale: Tale, told: list[Step], thread_id: str = "", **meta: Any) -> RolloutScribe:
    """A thread with its first line and all of `told`."""
    name = thread_id or _thread(tale, told)
    scribe = RolloutScribe(name, cwd=f"/home/dev/{tale.project}", model=tale.model)
    scribe.line("session_meta", told[0].at, _meta(scribe, tale, told[0].at, **meta))
    scribe.tell(told)
    return scribe


def _meta(scribe: RolloutScribe, tale: Tale, at: datetime, **more: Any) -> dict[str, Any]:
    fields = {
        "session_id": scribe.thread_id,
        "id": scribe.thread_id,
        "timestamp": stamp(at),
        "cwd": scribe.cwd,
        "runtime_workspace_roots": [scribe.cwd],
        "originator": "codex_cli_rs",
        "cli_version": VERSION,
        "source": "cli",
        "thread_source": "user",
        "model_provider": "openai",
        "base_instructions": {"text": "You are Codex.", "provenance": {"type": "model", "model": tale.model}},
        "history_mode": "paginated",
        "git": {"commit_hash": digest(tale.project, "head", length=40), "branch": tale.branch},
    }
    return {**fields, **more}


def _forked(parent: RolloutScribe, now: datetime) -> tuple[RolloutScribe, list[Step]]:
    """`codex fork`: nothing is copied; the first line says how far the parent's lines belong to it."""
    ends = [line["ordinal"] for line in parent.lines if line["payload"].get("type") == "task_complete"]
    end = ends[_FORK_AFTER - 1] + 1
    told = steps(CHECKOUT_FORK, now)
    scribe = RolloutScribe(_thread(CHECKOUT_FORK, told), cwd=parent.cwd, model=parent.model, ordinal=end)
    size = sum(len(encode(line)) for line in parent.lines if line["ordinal"] < end)
    base = {"thread_id": parent.thread_id, "end_ordinal_exclusive": end, "end_byte_offset": size}
    origin = {"forked_from_id": parent.thread_id, "forked_from_ordinal_exclusive": end, "history_base": base}
    scribe.line("session_meta", told[0].at, _meta(scribe, CHECKOUT_FORK, told[0].at, **origin))
    scribe.tell(told)
    return scribe, told


def _helpers(root: Path, parent: RolloutScribe, tale: Tale, told: list[Step], now: datetime) -> None:
    """A rollout of its own for every helper that was sent off."""
    for step in told:
        if not (isinstance(step.event, Result) and isinstance(step.event.called.call, Helper)):
            continue
        helper = step.event.called.call
        own = helper_tale(tale, helper, now - step.at - timedelta(seconds=40))
        role = {"agent_nickname": NICKNAME, "agent_role": "default"}
        spawn = {"parent_thread_id": parent.thread_id, "depth": 1, "agent_path": None, **role}
        source = {"parent_thread_id": parent.thread_id, "source": {"subagent": {"thread_spawn": spawn}}}
        meta = {**source, **role, "thread_source": "subagent", "session_id": parent.thread_id}
        work = steps(own, now)
        _save(root, _told(own, work, parent.helper_id(step, helper), **meta), work)


def _save(root: Path, scribe: RolloutScribe, told: list[Step]) -> None:
    """Into the folder of its day; the name has the start (this machine keeps UTC) and the id."""
    start = told[0].at
    folder = root / "sessions" / f"{start:%Y/%m/%d}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-{start:%Y-%m-%dT%H-%M-%S}-{scribe.thread_id}.jsonl"
    path.write_bytes(b"".join(map(encode, scribe.lines)))
    moment = told[-1].at.timestamp()
    os.utime(path, (moment, moment))


def _history(root: Path, now: datetime) -> None:
    """`history.jsonl`: what was typed."""
    told = steps(CHECKOUT, now)
    typed = [
        {"session_id": _thread(CHECKOUT, told), "ts": int(step.at.timestamp()), "text": step.event.text}
        for step in told
        if isinstance(step.event, Prompt)
    ]
    (root / "history.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in typed))
