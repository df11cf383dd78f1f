"""A plan of a lane operation: what was read, what is written, what follows.

A plan is made without touching the store. `apply` makes it again within the transaction and refuses where what was
read is no longer so; nothing that was not in the plan is ever written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from session_adapters.model import JsonRecord

__all__ = [
    "SESSION_KINDS",
    "Cell",
    "Changes",
    "FileChange",
    "Kind",
    "Plan",
    "Removal",
    "Request",
    "RowChange",
    "TableChange",
    "basis_of",
]

LaneKind = Literal["reset", "suspend", "resume", "mark", "clear", "prune", "undo"]
SessionKind = Literal["rename", "end", "reopen", "delete", "clear-messages", "prune-sessions"]
Kind = LaneKind | SessionKind
SESSION_KINDS: tuple[str, ...] = get_args(SessionKind)
"""Operations on sessions themselves, whatever lane is in them."""

_OPTIONS = ("days", "reason", "force")


class Request(JsonRecord, frozen=True):
    """What was asked for."""

    kind: Kind
    profile: str = "default"
    key: str = ""
    """The lane; empty for `prune` and `undo`."""
    target: str = ""
    """For `resume` the session, for `undo` the operation."""
    reason: str = ""
    """For `mark`: restart_timeout, shutdown_timeout or restart_interrupted."""
    days: int = 0
    """For `prune`: lanes without activity for longer than that."""
    session: str = ""
    """The session, for operations on one."""
    title: str = ""
    """For `rename`; empty: none."""
    matching: PruneFilter = PruneFilter()
    """For `prune-sessions`: which."""
    force: bool = False
    """For `resume`: a session of another chat or person too."""

    @property
    def words(self) -> tuple[str, ...]:
        """What is written after `hermes-tui` and its own options to have the same done."""
        words = ["lanes", self.kind, *(word for word in (self.key, self.target) if word)]
        if self.kind in SESSION_KINDS:
            title = [self.title] if self.kind == "rename" else []
            words = ["hermes", "sessions", self.kind.removesuffix("-sessions").removesuffix("-messages")]
            words += [self.session, *title] if self.session else []
        for name in _OPTIONS:
            value = getattr(self, name)
            if value:
                words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        words += self.matching.words
        if self.profile != "default":
            words += ["--profile", self.profile]
        return tuple(words)


Cell = str | int | float | None
"""A value in a row that is changed."""


class RowChange(JsonRecord, frozen=True):
    """A row of `sessions`: only the columns that change."""

    session_id: str
    before: Mapping[str, Cell] | None = None
    """None: there is no such row."""
    after: Mapping[str, Cell] | None = None
    """None: it is removed (when the making of an unused one is undone)."""

    def after_of(self, column: str) -> Cell:
        """What the column will hold; None if it is not touched."""
        return (self.after or {}).get(column)


class TableChange(JsonRecord, frozen=True):
    """A row of `gateway_routing`; its JSON, None where there is none."""

    scope: str
    key: str
    before: str | None = None
    after: str | None = None


class FileChange(JsonRecord, frozen=True):
    """A member of `sessions.json`; its value as JSON, None where there is none."""

    key: str
    before: str | None = None
    after: str | None = None


class Removal(JsonRecord, frozen=True):
    """Rows of a session that are deleted; a copy of them is kept beside the log, for undo."""

    session_id: str
    tables: Mapping[str, int] = {}
    """Table → how many rows; `sessions` too where the session itself goes."""
    last_message: int = 0
    """Number of the last message among them."""


class Changes(JsonRecord, frozen=True):
    """All that is written. Rows, table and removals are one transaction; the file is replaced in one step."""

    rows: tuple[RowChange, ...] = ()
    table: tuple[TableChange, ...] = ()
    file: tuple[FileChange, ...] = ()
    removed: tuple[Removal, ...] = ()
    restored: tuple[Removal, ...] = ()
    """What an undo puts back."""

    @property
    def inverse(self) -> Changes:
        """What takes them back."""
        return Changes(
            rows=tuple(RowChange(session_id=one.session_id, before=one.after, after=one.before) for one in self.rows),
            table=tuple(
                TableChange(scope=one.scope, key=one.key, before=one.after, after=one.before) for one in self.table
            ),
            file=tuple(FileChange(key=one.key, before=one.after, after=one.before) for one in self.file),
            removed=self.restored,
            restored=self.removed,
        )

    @property
    def file_first(self) -> bool:
        """The file is replaced before the transaction is committed: where it is the index that counts, and where
        lanes leave the table, which the file would bring back. Otherwise it follows the table."""
        return not self.table or any(one.after is None for one in self.table)

    def __bool__(self) -> bool:
        return bool(self.rows or self.table or self.file or self.removed or self.restored)


class Plan(JsonRecord, frozen=True):
    """An operation laid out. Every text is a sentence or a clause without its full stop."""

    request: Request
    home: str
    mode: Literal["offline", "live"]
    """live: a gateway runs and keeps the lane in memory, so that the change waits for the lane's next message."""
    expects: Literal["done", "pending"] = "done"
    """What verification should find right after."""
    read: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    next_message: str = ""
    """What the lane's next message will meet."""
    notes: tuple[str, ...] = ()
    """What else is worth knowing before saying yes."""
    refusal: str = ""
    """Why it cannot be done now; empty if it can."""
    older: tuple[str, ...] = ()
    """Earlier sessions that the gateway would otherwise bring back, and that are closed too."""
    keys: tuple[str, ...] = ()
    """The lanes concerned."""
    session_id: str = ""
    """That the lane is in now."""
    becomes: str = ""
    """That it will be in; empty where Hermes will choose the id."""
    changes: Changes = Changes()
    basis: str = ""
    """Fingerprint of what was read."""


def basis_of(*parts: Any) -> str:
    """A fingerprint of anything that msgspec can encode."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
