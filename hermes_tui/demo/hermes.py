"""A Hermes home (`~/.hermes`) for the demo, as hermes-agent 0.19.0 keeps it: schema 22, a gateway, two profiles."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.demo.hermes_book import Book
from hermes_tui.demo.hermes_lanes import CODER_CHATS, COUNTS, MORE_CHATS, POLICIES, UNREADABLE
from hermes_tui.demo.hermes_tales import (
    CHATS,
    CRON_ANSWER,
    CRON_PROMPT,
    HELPERS,
    POSTGRES,
    POSTGRES_BRANCH,
    Chat,
    Lane,
)
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.story import Reply, Tale, Turn, digest

__all__ = ["GATEWAY_PID", "GATEWAY_START", "gateway_command", "write"]

OLDER = 120
_FRESH = timedelta(minutes=6)
"""How long ago the lane was reset that no message has come to since."""
GATEWAY_PID = 4100
GATEWAY_START = 124242
_PROGRAM = Path("hermes-agent/venv/bin/hermes")
"""Where Hermes' own installer puts it."""
"""Start of that process in clock ticks, as in the 22nd field of its `/proc` stat."""
_README = "LEGACY MIRROR of the gateway routing index (the primary copy lives in the gateway_routing table)."


def write(home: Path, now: datetime) -> None:
    """Write `home/.hermes` as it would be at `now`."""
    root = home / ".hermes"
    with Book(root / "state.db") as book:
        for tale in sorted(older_tales("hermes", OLDER), key=lambda tale: -tale.ago):
            book.tell(tale, now, source="cli", end_reason="user_exit")
        _cron(book, now)
        lanes = _lanes(book, root, (*CHATS, *MORE_CHATS), now, dict([UNREADABLE]))
        _postgres(book, now)
        _route(book, root, lanes, now)
    coder = root / "profiles" / "coder"
    with Book(coder / "state.db") as book:
        for tale in older_tales("hermes coder", 6):
            book.tell(tale, now, source="cli", end_reason="user_exit")
        _route(book, coder, _lanes(book, coder, CODER_CHATS, now, {}), now)
    (coder / ".clean_shutdown").write_text("")
    _files(root, lanes, now)


def _lanes(
    book: Book, root: Path, chats: Sequence[Chat], now: datetime, more: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Write the chats; the entries of those that are in lanes and `more`, and the mirror of these."""
    lanes: dict[str, dict[str, Any]] = dict(more)
    for chat in reversed(chats):
        current = _chat(book, chat, now)
        if chat.lane is not None:
            lanes[chat.lane.key] = _entry(chat, chat.lane, current, now)
    mirror: dict[str, Any] = {"_README": _README, **more}
    for chat in chats:
        if chat.lane is not None:
            other = {"session_id": chat.lane.mirrored_as} if chat.lane.mirrored_as else {}
            mirror[chat.lane.key] = lanes[chat.lane.key] | other
    (root / "sessions").mkdir()
    index = root / "sessions" / "sessions.json"
    index.write_text(json.dumps(mirror, indent=2))
    index.chmod(0o600)
    return lanes


def _route(book: Book, root: Path, lanes: dict[str, dict[str, Any]], now: datetime) -> None:
    for key, entry in lanes.items():
        book.route(str((root / "sessions").resolve()), key, json.dumps(entry), now)


def _chat(book: Book, chat: Chat, now: datetime) -> str:
    """All parts of a chat, each the continuation of the one before where that was compressed; the id of the one that
    the lane leads to."""
    parent: str | None = None
    told: list[str] = []
    for index, tale in enumerate(chat.parts):
        last = index == len(chat.parts) - 1
        compressed = chat.ended_by == "compression"
        parent = book.tell(
            tale,
            now,
            source=chat.lane.platform if chat.lane else chat.source,
            title=tale.title if last or not compressed else None,
            parent=parent if compressed else None,
            lane=chat.lane,
            end_reason=chat.end_reason if last else chat.ended_by,
            archived=chat.archived,
            photo=chat.photo,
            rewound=chat.rewound,
            compacted=chat.compacted,
            summary="Earlier turns were summarized: " + chat.parts[index - 1].title if index and compressed else "",
        )
        told.append(parent)
    if not told:  # a lane without a message
        return f"{now - _FRESH:%Y%m%d_%H%M%S}_{digest('hermes', chat.lane.key if chat.lane else '', length=8)}"
    return told[-2] if chat.behind else told[-1]


def _cron(book: Book, now: datetime) -> None:
    """The same job on four nights."""
    for day in range(4, 0, -1):
        at = (now - timedelta(days=day)).replace(hour=4, minute=0, second=2, microsecond=0)
        answer = Reply(text=CRON_ANSWER.format(day=f"{at:%d %B}"))
        turn = Turn(prompt=CRON_PROMPT, replies=(answer,))
        tale = Tale(
            slug=f"cron-{day}", title="", project="", turns=(turn,), ago=now - at, model="openai/gpt-5.2-mini"
        )
        name = f"cron_7f3a9c_{at:%Y%m%d_%H%M%S}"
        book.tell(tale, now, source="cron", title=None, end_reason="cron_complete", name=name)


def _postgres(book: Book, now: datetime) -> None:
    """A plan, a branch of it, a helper of it, and the helper's helper."""
    plan = book.tell(POSTGRES, now, source="cli")
    parent = plan
    for helper in HELPERS:
        config = {"_delegate_from": parent}
        parent = book.tell(
            helper, now, source="subagent", title=None, parent=parent, config=config, end_reason="delegate_complete"
        )
    book.tell(POSTGRES_BRANCH, now, source="cli", parent=plan, config={"_branched_from": plan})


def _entry(chat: Chat, lane: Lane, current: str, now: datetime) -> dict[str, Any]:
    """A lane in the routing index. Times are local and without a zone, as the gateway writes them."""
    ago = chat.parts[-1].ago if chat.parts else _FRESH
    updated = (now - ago).astimezone().replace(tzinfo=None).isoformat()
    created = (now - ago - timedelta(minutes=20 if chat.parts else 0)).astimezone().replace(tzinfo=None).isoformat()
    return {
        "session_key": lane.key,
        "session_id": current,
        "created_at": created,
        "updated_at": updated,
        "display_name": lane.chat_name,
        "platform": lane.platform,
        "chat_type": lane.chat_type,
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "total_tokens": 0,
        "last_prompt_tokens": 88012 if lane.resume_pending else 12040 if chat.parts else 0,
        "estimated_cost_usd": 0.0,
        "cost_status": "unknown",
        "expiry_finalized": False,
        "suspended": lane.suspended,
        "resume_pending": lane.resume_pending,
        "resume_reason": "restart_timeout" if lane.resume_pending else None,
        "last_resume_marked_at": updated if lane.resume_pending else None,
        "is_fresh_reset": lane.fresh,
        "was_auto_reset": lane.auto_reset is not None,
        "auto_reset_reason": lane.auto_reset,
        "reset_had_activity": False,
        "origin": origin(lane),
    }


def origin(lane: Lane) -> dict[str, Any]:
    """Where a lane's messages come from."""
    return {
        "platform": lane.platform,
        "chat_id": lane.chat_id,
        "chat_name": lane.chat_name,
        "chat_type": lane.chat_type,
        "user_id": lane.user_id,
        "user_name": lane.user_name,
        "thread_id": lane.thread_id,
        "chat_topic": None,
    }


def gateway_command(home: Path, now: datetime) -> tuple[str, ...]:
    """The command line of its process; the installation that it runs from is made, a month old."""
    program = home / ".hermes" / _PROGRAM
    package = program.parent.parent / "lib" / "python3.13" / "site-packages" / "hermes_agent-0.19.0.dist-info"
    package.mkdir(parents=True)
    installed = (now - timedelta(days=30)).timestamp()
    os.utime(package, (installed, installed))
    return str(program.with_name("python")), str(program), "gateway", "run"


def _files(root: Path, lanes: dict[str, dict[str, Any]], now: datetime) -> None:
    """What stands beside the database: the gateway's own files, settings."""
    process = {
        "pid": GATEWAY_PID,
        "kind": "hermes-gateway",
        "argv": [str(root / _PROGRAM), "gateway", "run"],
        "start_time": GATEWAY_START,
    }
    platforms = sorted({entry["platform"] for entry in lanes.values()})
    state = {
        **process,
        "gateway_state": "running",
        "exit_reason": None,
        "restart_requested": False,
        "active_agents": 0,
        "platforms": {name: {"state": "connected", "updated_at": now.isoformat()} for name in platforms},
        "updated_at": now.isoformat(),
    }
    (root / "gateway.lock").write_text(json.dumps(process))
    (root / "gateway.pid").write_text(json.dumps(process))
    (root / "gateway_state.json").write_text(json.dumps(state))
    (root / ".restart_failure_counts").write_text(json.dumps(COUNTS))
    (root / "gateway.json").write_text(json.dumps(POLICIES, indent=2))
    (root / "config.yaml").write_text(
        "model:\n  default: anthropic/claude-sonnet-4.6\n  provider: openrouter\n"
        "session_reset:\n  mode: daily\n  at_hour: 4\ngroup_sessions_per_user: true\n"
    )
