"""OpenClaw's own commands, and which of its sessions run now.

Format: stores/openclaw FACTS.md «Native commands».
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from session_adapters.base import Environment, Liveness, NativeCommand, option
from session_adapters.model import SessionSummary
from session_adapters.openclaw.places import DATABASE, StateDir
from session_adapters.openclaw.records import LOCK, ClawKey
from session_adapters.proc import start_ticks
from session_adapters.reading.files import read_small
from session_adapters.times import parse_time
from session_adapters.tree.live import process, processes

__all__ = ["fork_command", "gateway", "locked", "resume_command"]

_GATEWAY = "The OpenClaw gateway must be running"
_SHARED = "The conversation goes on in {channel} too: both write into the same session"
_FILES = (
    "This session is in files, which OpenClaw since July 2026 no longer reads: it starts an empty one unless "
    "`openclaw doctor` has taken the files over"
)
_FORKED = "The fork's key is printed, not opened"
_NAMES = frozenset({"openclaw-gateway", "openclaw-agent"})
_SLACK = 1.0
"""Seconds between the start of a process as /proc has it and the clock."""


def resume_command(summary: SessionSummary, state: StateDir | None, environment: Environment) -> NativeCommand | None:
    """`openclaw [--profile x] tui --session KEY`. A window that is no longer the key's current one, and a transcript
    without a key, cannot be resumed."""
    key = _key(summary)
    if key is None or state is None:
        return None
    channel = ClawKey.of(key).channel
    warnings = [
        _GATEWAY,
        _SHARED.format(channel=channel) if channel else None,
        _FILES if summary.raw.get("layout") != DATABASE else None,
    ]
    return _command(("tui", *option("--session", key)), summary, state, environment, warnings)


def fork_command(summary: SessionSummary, state: StateDir | None, environment: Environment) -> NativeCommand | None:
    """`openclaw gateway call sessions.create`, which copies the conversation as it is now: there is no command for
    it. Only of what is in the database."""
    key = _key(summary)
    if key is None or state is None or summary.raw.get("layout") != DATABASE:
        return None
    values = {"agentId": ClawKey.of(key).agent_id, "parentSessionKey": key, "fork": True}
    words = ("gateway", "call", "sessions.create", "--params", json.dumps(values))
    return _command(words, summary, state, environment, [_GATEWAY, _FORKED])


def _key(summary: SessionSummary) -> str | None:
    key = summary.raw.get("sessionKey")
    return key if isinstance(key, str) and key and summary.raw.get("current") and "\x00" not in key else None


def _command(
    words: tuple[str, ...],
    summary: SessionSummary,
    state: StateDir,
    environment: Environment,
    warnings: Iterable[str | None],
) -> NativeCommand:
    profile = ("--profile", state.profile) if state.profile else ()
    kept = environment.given("OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH")
    if state.layout in ("OPENCLAW_STATE_DIR", "earlier name"):
        kept["OPENCLAW_STATE_DIR"] = str(state.path)
    return NativeCommand(
        argv=("openclaw", *profile, *words), cwd=summary.cwd, env=kept, warning=". ".join(filter(None, warnings))
    )


# Processes ---------------------------------------------------------------------------------------------------


def gateway(environment: Environment) -> int | None:
    """The id of a process that runs sessions for the gateway; None when there is none."""

    def is_gateway(words: tuple[str, ...]) -> bool:
        # It sets a title, which stands in the place of its command line.
        return any(PurePath(word).name in _NAMES for word in words[:1])

    return next((one.pid for one in processes(environment.proc, is_gateway)), None)


def locked(paths: Iterable[str], environment: Environment) -> Iterator[tuple[str, Liveness]]:
    """Those of these transcripts that a run holds now: a lock file lies beside it, which stays behind after a crash,
    so its process must live and have been started before it."""
    for path in paths:
        try:
            lock = LOCK.one(read_small(f"{path}.lock", 64 << 10))
        except (OSError, ValueError):
            continue  # none, or it is being written
        found = process(environment.proc, lock.pid) if lock.pid > 0 else None
        if found is None:
            continue
        if lock.starttime is not None:
            holds = start_ticks(environment.proc, lock.pid) == int(lock.starttime)
        else:  # without the start of its process the time of the lock has to do
            created = parse_time(lock.created_at)
            holds = created is not None and found.started <= created.timestamp() + _SLACK
        if holds:
            yield path, Liveness(pid=lock.pid, status="running")
