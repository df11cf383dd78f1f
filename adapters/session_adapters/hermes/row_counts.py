"""What the rows of one Hermes session add up to.

Of a database of gigabytes only roles and the beginnings of texts are read for a list: no messages are made. Which
rows are prompts and answers is asked of the functions that make them.
"""

from __future__ import annotations

from typing import Any

from session_adapters.hermes.messages import BEGINNINGS, JSON_PREFIX, kind_of, plain_text, role_of, visibility_of
from session_adapters.reading.sqlite_rows import as_text
from session_adapters.session_counts import SessionFold

__all__ = ["PREFIX", "RowCounts"]

PREFIX = 1200
"""Bytes of a prompt that are read for a title."""

_JSON = JSON_PREFIX.encode()
_ROLES = {name.encode(): role_of(name) for name in ("user", "assistant", "tool", "system")}
_SPECIAL = frozenset(beginning[:1].encode() for beginning in BEGINNINGS) | {b"\x00"}
"""First bytes of the messages that may be something else."""


class RowCounts(SessionFold):
    """What the rows of one session add up to. How many there are is asked of SQLite."""

    def __init__(self) -> None:
        super().__init__()
        self.last: float | None = None
        self.first: float | None = None
        self.compacted = 0
        self.damaged = 0
        self.preview = ""
        self.prompt_id: int | None = None
        """The first prompt, while its text is still to be read because it has pictures in it."""
        self._archived: dict[bytes, int] = {}
        self._rows = 0

    def feed(
        self, id_: int, role: Any, active: Any, compacted: Any, observed: Any, head: bytes | None, calls: int
    ) -> None:
        """One row, in the order of ids: `head` are the first bytes of its text, `calls` the number of its tool
        calls, -1 where they are malformed."""
        self._rows += 1
        if calls:
            self.tool_calls += max(calls, 1)
            self.damaged += calls < 0
        visibility = visibility_of(active, compacted)
        if visibility != "live":
            self.rewound += visibility == "rewound"
            self.compacted += visibility == "compacted"
        known = _ROLES.get(role) or role_of(as_text(role) or "")
        if known in ("tool", "system") or visibility == "rewound":
            return
        head = head or b""
        # Most messages are what they seem: only the others are worth decoding.
        plain = not observed and head[:1] not in _SPECIAL
        if not plain and kind_of(known, head.decode("utf-8", "ignore"), bool(observed)) != "message":
            return
        again = 0
        if known == "user":
            if visibility == "compacted":
                self._archived[head] = self._archived.get(head, 0) + 1
            elif self._archived:
                again = self._archived.get(head, 0)
        if again:  # it was counted already: compaction in place writes the newest rows once more
            self._archived[head] = again - 1
            self.gap()
        else:
            self.step(known, messages=0)
        if known == "assistant":
            return
        if not self.preview and self.prompt_id is None:
            if head.startswith(_JSON) or (len(head) >= PREFIX and b"<memory-context>" in head):
                self.prompt_id = id_
            else:
                self.preview = plain_text(head.decode("utf-8", "ignore"))

    def close(self) -> None:
        """All rows were fed."""
        self.messages = max(self.messages, self._rows)
        self._archived.clear()
