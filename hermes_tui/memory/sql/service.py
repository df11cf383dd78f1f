"""The session service in SQL: every statement names the agent.

Format: spec 001 «Session Service» and «Multi-Agent Isolation».
"""

# ruff: noqa: S608 - the parts of statements are words of our own; every value is a parameter

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from hermes_tui.errors import StoreError, ValidationError
from hermes_tui.memory.message import HectorMessage, NativeRole
from hermes_tui.memory.session_service import (
    SUMMARY_ROLES,
    Checkpoint,
    HectorSession,
    LoadedMessages,
    LoadOptions,
    identified,
    since_checkpoint,
)
from hermes_tui.memory.sql.database import Dialect, SqlDatabase, Statements
from hermes_tui.memory.sql.schema import (
    Generation,
    Migration,
    as_bytes,
    create,
    generation_of,
    migrate,
    rows_of_old_session,
)
from session_adapters.hector.reader import moment

__all__ = ["SQLSessionService", "migrate_store"]

_OWN = "agent_id = ? AND session_id = ?"
_SUMMARIES_AT_ONCE = 8
_FIRST = datetime.min.replace(tzinfo=UTC)


def migrate_store(db: SqlDatabase) -> Migration:
    """Make the tables that Hector itself wrote ours, in one transaction; nothing where they are. Raises
    `StoreError`."""
    return db.write(lambda statements: migrate(statements, db.dialect))


class SQLSessionService:
    """A `SessionService` over a database that agents share. Makes the tables of a database that has none."""

    def __init__(self, db: SqlDatabase, agent_id: str, dialect: Dialect | None = None) -> None:
        """`dialect` is that of `db`, where one wants to be sure. Raises `StoreError`, also where the tables are
        Hector's own and `db` is to be written: `migrate_store` makes them ours."""
        if not agent_id:
            raise ValidationError("A session service needs the id of its agent: without it no session is isolated.")
        if dialect is not None and dialect != db.dialect:
            raise ValidationError(f"The dialect of {db.label} is {db.dialect}, not {dialect}.")
        self._db = db
        self._agent_id = agent_id
        self._dialect: Dialect = db.dialect
        self._generation: Generation = db.read(generation_of)
        if self._generation == "none" and not db.is_read_only:
            db.write(lambda statements: create(statements, self._dialect))
            self._generation = "current"
        if self._generation not in ("none", "current") and not db.is_read_only:
            raise StoreError(
                f"The sessions in {db.label} are in the tables of Hector itself ({self._generation}), which cannot"
                " tell agents apart: open it for reading, or let migrate_store change them."
            )

    @property
    def agent_id(self) -> str:
        """See `SessionService.agent_id`."""
        return self._agent_id

    # Writing -------------------------------------------------------------------------------------------------

    def append_messages(self, session_id: str, messages: Sequence[HectorMessage]) -> list[str]:
        """See `SessionService.append_messages`."""
        made = identified(messages)
        if not made:
            return []
        texts = [one.to_json(one.message_id, session_id) for one in made]

        def append(statements: Statements) -> None:
            now = self._now()
            # The session's row is locked first: on a server it puts the writers of one session in a queue.
            statements.run(
                "INSERT INTO sessions (id, agent_id, metadata, created_at, updated_at) VALUES (?, ?, '{}', ?, ?)"
                " ON CONFLICT (id, agent_id) DO UPDATE SET updated_at = excluded.updated_at",
                session_id, self._agent_id, now, now,
            )  # fmt: skip
            ((last,),) = statements.run(
                f"SELECT coalesce(max(sequence_num), 0) FROM session_messages WHERE {_OWN}",
                self._agent_id, session_id,
            )  # fmt: skip
            statements.run_many(
                "INSERT INTO session_messages"
                " (agent_id, session_id, message_id, role, message_json, sequence_num, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (self._agent_id, session_id, one.message_id, one.role, text, number, now)
                    for number, (one, text) in enumerate(zip(made, texts, strict=True), int(last) + 1)
                ],
            )

        self._db.write(append)
        return [one.message_id for one in made]

    def get_or_create_session(self, session_id: str, metadata: Mapping[str, Any] | None = None) -> HectorSession:
        """See `SessionService.get_or_create_session`."""

        def work(statements: Statements) -> HectorSession:
            now = self._now()
            statements.run(
                "INSERT INTO sessions (id, agent_id, metadata, created_at, updated_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (id, agent_id) DO NOTHING",
                session_id, self._agent_id, json.dumps(dict(metadata or {})), now, now,
            )  # fmt: skip
            (found,) = self._sessions(statements, session_id)
            return found

        return self._db.write(work)

    def delete_session(self, session_id: str) -> bool:
        """See `SessionService.delete_session`. The messages go with it, and no other agent's."""

        def work(statements: Statements) -> bool:
            statements.run(f"DELETE FROM session_messages WHERE {_OWN}", self._agent_id, session_id)
            found = statements.run(
                "DELETE FROM sessions WHERE agent_id = ? AND id = ? RETURNING id", self._agent_id, session_id
            )
            return bool(found)

        return self._db.write(work)

    # Reading -------------------------------------------------------------------------------------------------

    def get_messages_with_options(
        self,
        session_id: str,
        options: LoadOptions = LoadOptions(),  # noqa: B008 - immutable
    ) -> LoadedMessages:
        """See `SessionService.get_messages_with_options`."""
        if self._generation != "current":
            found = self._old_messages(session_id)
            return LoadedMessages(options.apply(found.messages), found.problems)

        def work(statements: Statements) -> LoadedMessages:
            own: tuple[Any, ...] = (self._agent_id, session_id)
            where, values = _OWN, own
            if options.from_message_id:
                # By its number: Hector compares ids as text.
                within = f"(SELECT sequence_num FROM session_messages WHERE {_OWN} AND message_id = ?)"
                where, values = f"{_OWN} AND sequence_num >= {within}", (*own, *own, options.from_message_id)
            if options.roles:
                where += f" AND role IN ({', '.join('?' * len(options.roles))})"
                values += options.roles
            limit = f" LIMIT {options.limit}" if options.limit > 0 else ""
            rows = statements.run(
                f"SELECT sequence_num, message_id, {as_bytes(self._dialect)} FROM session_messages"
                f" WHERE {where} ORDER BY sequence_num DESC{limit}",
                *values,
            )
            return _decoded(reversed(rows))

        return self._db.read(work)

    def load_from_checkpoint(
        self, session_id: str, is_checkpoint: Checkpoint, roles: Sequence[NativeRole] = SUMMARY_ROLES
    ) -> LoadedMessages | None:
        """See `SessionService.load_from_checkpoint`. Only what is given is read, and the messages of these roles
        that follow the checkpoint."""
        if self._generation != "current":
            loaded = self._old_messages(session_id)
            found = since_checkpoint(loaded.messages, is_checkpoint, roles)
            return None if found is None else LoadedMessages(found, loaded.problems)

        def work(statements: Statements) -> LoadedMessages | None:
            summary = self._last_checkpoint(statements, session_id, is_checkpoint, roles)
            if summary is None:
                return None
            number, checkpoint = summary
            first = number
            if checkpoint.kept_from:
                kept = statements.run(
                    f"SELECT sequence_num FROM session_messages WHERE {_OWN} AND message_id = ?",
                    self._agent_id, session_id, checkpoint.kept_from,
                )  # fmt: skip
                first = min(number, kept[0][0]) if kept else number
            rows = statements.run(
                f"SELECT sequence_num, message_id, {as_bytes(self._dialect)} FROM session_messages"
                f" WHERE {_OWN} AND sequence_num >= ? ORDER BY sequence_num",
                self._agent_id, session_id, first,
            )  # fmt: skip
            loaded = _decoded(rows)
            found = since_checkpoint(loaded.messages, is_checkpoint, roles)
            return None if found is None else LoadedMessages(found, loaded.problems)

        return self._db.read(work)

    def sessions(self) -> list[HectorSession]:
        """See `SessionService.sessions`."""
        return [] if self._generation == "none" else self._db.read(self._sessions)

    def count_messages(self, session_id: str) -> int:
        """See `SessionService.count_messages`."""
        if self._generation != "current":
            found = self._old_messages(session_id)
            return len(found.messages) + len(found.problems)
        query = f"SELECT count(*) FROM session_messages WHERE {_OWN}"
        ((number,),) = self._db.read(lambda statements: statements.run(query, self._agent_id, session_id))
        return int(number)

    def _sessions(self, statements: Statements, session_id: str | None = None) -> list[HectorSession]:
        one = "" if session_id is None else " AND id = ?"
        rows = statements.run(
            "SELECT id, metadata, CAST(created_at AS TEXT), CAST(updated_at AS TEXT) FROM sessions"
            f" WHERE agent_id = ?{one} ORDER BY id",
            self._agent_id, *(() if session_id is None else (session_id,)),
        )  # fmt: skip
        found = [
            HectorSession(
                id=name,
                agent_id=self._agent_id,
                metadata=_metadata(metadata),
                created_at=moment(created, None),
                updated_at=moment(updated, None),
            )
            for name, metadata, created, updated in rows
        ]
        # Not in SQL: Hector's own times are texts of several zones.
        return sorted(found, key=lambda one: one.updated_at or _FIRST, reverse=True)

    def _last_checkpoint(
        self, statements: Statements, session_id: str, is_checkpoint: Checkpoint, roles: Sequence[NativeRole]
    ) -> tuple[int, HectorMessage] | None:
        """The checkpoint with its number, found from the end, a few candidates at a time."""
        if tuple(roles) == SUMMARY_ROLES:
            having = " AND role = 'ROLE_UNSPECIFIED'"  # as the partial index has it
        else:
            having = f" AND role IN ({', '.join('?' * len(roles))})" if roles else ""
        values = () if tuple(roles) == SUMMARY_ROLES else tuple(roles)
        before = 1 << 62
        while True:
            rows = statements.run(
                f"SELECT sequence_num, message_id, {as_bytes(self._dialect)} FROM session_messages"
                f" WHERE {_OWN} AND sequence_num < ?{having} ORDER BY sequence_num DESC LIMIT {_SUMMARIES_AT_ONCE}",
                self._agent_id, session_id, before, *values,
            )  # fmt: skip
            for row in rows:
                found = next((one for one in _decoded([row]).messages if is_checkpoint(one)), None)
                if found is not None:
                    return int(row[0]), found
            if len(rows) < _SUMMARIES_AT_ONCE:
                return None
            before = rows[-1][0]

    def _old_messages(self, session_id: str) -> LoadedMessages:
        if self._generation == "none":
            return LoadedMessages([])
        return self._db.read(
            lambda statements: _decoded(
                rows_of_old_session(statements, self._dialect, self._generation, session_id, self._agent_id)
            )
        )

    def _now(self) -> object:
        now = datetime.now(UTC)
        return now.isoformat(sep=" ", timespec="microseconds") if self._dialect == "sqlite" else now


def _metadata(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {"unreadable": text}
    return value if isinstance(value, dict) else {"unreadable": text}


def _decoded(rows: Iterable[Sequence[Any]]) -> LoadedMessages:
    """Messages of rows: place, message id, JSON."""
    messages: list[HectorMessage] = []
    problems: list[str] = []
    for place, message_id, text in rows:
        name = message_id or f"row-{place}"
        try:
            if text is None:
                raise ValueError("the message is empty")
            message = HectorMessage.of_json(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
        except ValueError as error:
            problems.append(f"message {name}: {error}")
            continue
        messages.append(message.identified_as(name))
    return LoadedMessages(messages, tuple(problems))
