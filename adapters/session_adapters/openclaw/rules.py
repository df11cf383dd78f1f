"""How OpenClaw's events differ from Pi's, from which they descend.

Format: stores/openclaw FACTS.md «SQLite schema».

An event `leaf` says where the conversation goes on after a rewind; `reset` starts a fresh history in the same
transcript; a user's message may have been put there by the program; results say in their details what the command
exited with, and which session a helper got.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from session_adapters.model import Message, SessionSummary
from session_adapters.text import one_line
from session_adapters.times import parse_seconds
from session_adapters.tree.file import Shown, TreeFile, TreeShape
from session_adapters.tree.messages import entry_time
from session_adapters.tree.nodes import TreeNode
from session_adapters.tree.records import SPOKEN, TreeEntry
from session_adapters.tree.summary import TreeCounts

__all__ = ["ClawCounts", "ClawFile", "ClawShape", "asked"]

_ENVELOPE = re.compile(r"\s*\[[^\]\n]{0,200}\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\]\n]{0,60}\]\s*")
"""`[Sat 2026-11-21 08:59 UTC] `, `[Telegram dev id:4711 2026-01-10 10:00 UTC] `."""
_TASK = re.compile(r"\[Subagent Task\]:?\s*")
_MESSAGE_ID = re.compile(r"\s*\[message_id: [^\]\n]*\]\s*$")
_HEARTBEAT = "Read HEARTBEAT.md"
_INSERTED = frozenset({"internal_system", "inter_session"})
"""`provenance.kind` of messages that no user wrote."""
_RUNTIME = "OpenClaw runtime context (internal)"
_RESET = "Reset: nothing above is seen by the agent any more"


def asked(text: str) -> str:
    """A prompt as the user wrote it: without the time and sender that OpenClaw puts before it for the model."""
    text = text[:4000]
    text = _ENVELOPE.sub("", text, count=1) if _ENVELOPE.match(text) else text
    task = _TASK.search(text)
    if task is not None and text.startswith("[Subagent Context]"):
        text = text[task.end() :]
    return _MESSAGE_ID.sub("", text).strip()


class ClawShape(TreeShape):
    """Pi's tree with OpenClaw's leaf rule."""

    spoken_types = SPOKEN | {"reset"}

    def __init__(self, *rest: Any) -> None:
        super().__init__(*rest)
        self.forked_at: float | None = None
        """Seconds; what is older was copied by a fork. Headers tell another time once the fork was rewound."""
        self.known_leaf: str | None = None
        """The leaf that OpenClaw's own index has for what was read."""
        self._emptied = False

    def take(self, record: Any) -> int | None:
        """See `TreeShape.take`."""
        if record.type == "leaf" and record.id is not None:
            # A pointer: what follows hangs on its target, and so does the pointer.
            target = record.target_id
            known = target is None or self.tree.find(target) is not None
            self._emptied = target is None
            self.led_away = self.led_away or not known
            return self.tree.add(
                TreeNode(record.id, target if known else record.parent_id, False, parse_seconds(record.timestamp))
            )
        if record.type != "session":
            self._emptied = False
        return super().take(record)

    def leaf(self) -> int | None:
        """The last event. Where that is a setting which hangs on nothing, as some versions wrote them, the last
        thing said: only a pointer leads away from a whole conversation."""
        known = self.tree.find(self.known_leaf)
        if known is not None:
            return known
        last = self.tree.last()
        if last is None or self._emptied or self.tree.spoken_above(last) is not None:
            return last
        spoken = self.tree.nodes.spoken
        return next((index for index in range(last, -1, -1) if spoken[index]), last)

    def is_inherited(self, timestamp: Any) -> bool:
        """Copies in a fork keep their time, which is before the fork."""
        if self.forked_at is None:
            return super().is_inherited(timestamp)
        moment = parse_seconds(timestamp)
        return moment is not None and moment < self.forked_at

    def show(self, entry: TreeEntry, node_id: str) -> Shown:
        """See `TreeShape.show`."""
        if entry.type == "reset":
            message = Message(
                role="system",
                kind="compaction",
                id=node_id,
                content=_RESET,
                timestamp=entry_time(entry),
                inherited=self.is_inherited(entry.timestamp),
            )
            return Shown((message,))
        shown = super().show(entry, node_id)
        if not shown.messages:
            return shown
        message, *more = shown.messages
        if message.role == "user" and message.kind == "message":
            provenance = entry.message.provenance if entry.message is not None else None
            inserted = isinstance(provenance, dict) and provenance.get("kind") in _INSERTED
            # What says nothing of its origin, a heartbeat for one, is known by its first words.
            inserted = inserted or asked(message.content[:400]).startswith((_HEARTBEAT, _RUNTIME))
            return Shown((replace(message, kind="notice" if inserted else "message"),))
        if message.tool_result is not None:
            return _result(entry, message)
        if entry.custom_type == "run-failed-before-reply":
            return Shown((replace(message, kind="error"), *more))
        if entry.message is not None and entry.message.provider == "openclaw":
            # What a channel was sent, written down by the gateway: no model was called.
            return Shown((replace(message, model=None), *more))
        return shown


def _result(entry: TreeEntry, message: Message) -> Shown:
    """A result with what its details say: shells report a failure as text and exit code alone."""
    details = entry.message.details if entry.message is not None else None
    if not isinstance(details, dict) or message.tool_result is None:
        return Shown((message,))
    code = details.get("exitCode")
    failed = details.get("status") in ("error", "failed") or (isinstance(code, int) and code != 0)
    if failed and not message.tool_result.is_error:
        message = replace(message, tool_result=replace(message.tool_result, is_error=True))
    found: dict[str, Any] = {}
    duration, child = details.get("durationMs"), details.get("childSessionKey")
    if isinstance(duration, int | float) and 0 <= duration < 1e12:
        found["duration_ms"] = int(duration)
    if isinstance(child, str) and child:
        found["subagent_id"] = child
    return Shown((message,), found)


class ClawFile(ClawShape, TreeFile):
    """A session in a JSONL file."""


class ClawCounts(ClawShape, TreeCounts):
    """What a list shows of a session."""

    def take(self, record: Any) -> int | None:
        """See `TreeShape.take`."""
        index = super().take(record)
        if index is not None and record.type == "leaf":
            self.note_place(index)
        return index

    def prompt(self, text: str) -> str:
        """See `TreeCounts.prompt`."""
        return asked(text)

    @property
    def title(self) -> str:
        """The first prompt; names are in other places than the transcript."""
        return one_line(self.first_prompt)

    def summary(self, agent: str, session_id: str, **more: Any) -> SessionSummary:
        """See `TreeCounts.summary`. A session that was rewound began with its first message, not with its header."""
        found = super().summary(agent, session_id, **more)
        header = self.header
        forked = self.forked_at is not None or (header is not None and header.parent_session)
        first = self.first_time
        if forked or first is None or first >= found.created_at:
            return found
        return replace(found, created_at=first)
