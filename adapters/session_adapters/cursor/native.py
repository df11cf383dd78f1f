"""Cursor's own command, and which of its processes has a chat open.

Format: stores/cursor FACTS.md «Native commands».
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from session_adapters.base import Environment, Liveness, NativeCommand, Source, option
from session_adapters.cursor.places import folder_of_chats
from session_adapters.model import SessionSummary
from session_adapters.proc import open_files
from session_adapters.text import scrub
from session_adapters.tree.live import Process, newest_by_directory, processes

__all__ = ["live_sessions", "resume_command"]

_HANDED_ON = ("CURSOR_CONFIG_DIR", "CURSOR_DATA_DIR", "XDG_CONFIG_HOME")
_NO_DIRECTORY = (
    "Cursor looks for a chat by the directory it was held in, which this one does not say: start this in the right "
    "one, or it is not found"
)
_OTHER_DIRECTORY = (
    "The chat is filed under another directory than the one it names: if Cursor does not find it there, start this "
    "in the directory where it was begun"
)
_DOCUMENT = "Cursor itself never wrote this layout and may not find the session"
_NO_SESSION = frozenset({"ls", "login", "logout", "status", "update", "upgrade", "mcp", "worker", "worker-server"})
"""Words after the program's name that say it holds no conversation."""


def resume_command(summary: SessionSummary, environment: Environment) -> NativeCommand | None:
    """`cursor-agent --resume ID`, in the chat's directory; None for what the CLI cannot go on with: the editor's
    conversations, sub-agents, and transcripts whose chat is gone."""
    layout = summary.raw.get("layout")
    if layout not in ("chat", "document") or summary.kind == "subagent":
        return None
    warning: str | None = None
    if layout == "document":
        warning = _DOCUMENT
    elif not summary.cwd:
        warning = _NO_DIRECTORY
    else:
        names = folder_of_chats(summary.cwd), folder_of_chats(os.path.realpath(summary.cwd))
        warning = None if summary.raw.get("workspaceHash") in names else _OTHER_DIRECTORY
    return NativeCommand(
        argv=("cursor-agent", *option("--resume", summary.session_id)),
        cwd=summary.cwd,
        bound=bool(summary.cwd),
        env=environment.given(*_HANDED_ON),
        warning=warning,
    )


# Processes ---------------------------------------------------------------------------------------------------


def live_sessions(
    environment: Environment,
    recent: Callable[[], Iterable[Source]],
    directory: Callable[[Source], tuple[str, str] | None],
) -> Mapping[str, Liveness]:
    """Chats that a process has open: whose database it holds, or which its command line names; else the newest of its
    directory, if that changed since it started. Of the editor's process nothing tells which conversation it is in."""
    found: dict[str, Liveness] = {}
    others: list[Process] = []

    def is_cursor(words: tuple[str, ...]) -> bool:
        # A script named `cursor-agent`, in newer versions `agent`, or the interpreter that it starts.
        program = words[0].rpartition("/")[2]
        return program in ("cursor-agent", "agent") or any(
            "cursor-agent" in word.split("/") for word in words[:4] if not word.startswith("-")
        )

    for process in processes(environment.proc, is_cursor):
        held: dict[str, None] = {}  # a chat's database has a log beside it, and is one all the same
        for name in open_files(environment.proc, process.pid):
            parts = name.rsplit("/", 4)
            if len(parts) == 5 and parts[1] == "chats" and parts[4] in ("store.db", "store.db-wal"):
                held[scrub(parts[3])] = None
        named = _named(process.words)
        for session_id in list(held) or ([named] if named else []):
            found[session_id] = Liveness(pid=process.pid)
        if not held and not named and not _NO_SESSION.intersection(process.words[1:5]):
            others.append(process)
    for session_id, alive in newest_by_directory(others, recent, directory).items():
        found.setdefault(session_id, alive)
    return found


def _named(words: tuple[str, ...]) -> str | None:
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word == "--resume" and following and not following.startswith("-"):
            return following
        if word.startswith("--resume="):
            return word.partition("=")[2] or None
    return None
