"""Past operations with their outcomes, kept in our log and proven by the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from os.path import realpath
from typing import Literal, TypeVar

import apsw
from msgspec.structs import replace

from hermes_tui.errors import StoreError, ValidationError
from hermes_tui.lifecycle.gateway.homes import HermesHome, hermes_homes, home_of
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.audit import Audit, History
from hermes_tui.lifecycle.operations.record import AuditRecord, Evidence, Operation, OutcomeState
from hermes_tui.lifecycle.operations.record_rules import LONGEST_TEXT
from hermes_tui.lifecycle.operations.verify import Outcome, judge, outcome_of
from hermes_tui.lifecycle.state_db.connection.access import advice_on
from session_adapters.base import Environment
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, read_database

__all__ = ["OperatedOn", "OperationHistory", "read_lanes"]

OperatedOn = Literal["lanes", "sessions"]
T = TypeVar("T")


class OperationHistory:
    """The operations that were, each with its outcome."""

    def __init__(
        self, environment: Environment, audit: Audit, clock: Callable[[], datetime], *, read_only: bool = False
    ) -> None:
        """`read_only`: outcomes are told and not written down."""
        self._environment = environment
        self._audit = audit
        self._clock = clock
        self._read_only = read_only

    def outcome(self, operation_id: str) -> Outcome:
        """What became of an operation: to be asked again while it is pending. Reads the store; what it finds for
        good goes into the log if that can be written. Raises `ValidationError` for an unknown id, `StoreError`."""
        return self.outcome_of(self.known(operation_id))

    def outcome_of(self, operation: Operation) -> Outcome:
        """The same of an operation as the log has it, without reading that once more. Raises `StoreError`."""
        if operation.outcome is None and operation.applied is None and self._audit.is_busy():
            # A process is still at it: what is not written now may be in a moment.
            return _told(operation, "pending", "it is being carried out")
        return self.settled(operation, insists=False)

    def settled(self, operation: Operation, *, insists: bool = True) -> Outcome:
        """From the log; or else from the store, and written down where that is for good. `insists` False: told also
        where it cannot be written, as on a full disk. Raises `StoreError`."""
        found = self.judged(operation)
        if not found.final or operation.outcome is not None or self._read_only:
            return found
        if operation.applied is None:  # its process may have ended it since the log was read, and knows best
            now = self.known(operation.id)
            if now.outcome is not None:
                return self.judged(now)
        try:
            self.close(operation.id, found)
        except StoreError:
            if insists:
                raise
        return found

    def judged(self, operation: Operation, rows: StoredLanes | None = None) -> Outcome:
        """From the log, or else from the store: through `rows`, where that is open already."""
        kept = operation.outcome
        if kept is not None and kept.state is not None:
            return _told(operation, kept.state, kept.text, kept.evidence)
        assert operation.begun.request is not None  # noqa: S101 - every `begun` has one
        home = home_of(self._environment, operation.begun.request.profile)

        def look(rows: StoredLanes) -> Outcome:
            return judge(operation, rows, home, self._environment.proc, self._clock())

        return look(rows) if rows is not None else read_lanes(home, look)

    def log(self, limit: int = 50, profile: str | None = None, on: OperatedOn | None = None) -> list[Outcome]:
        """The latest operations on this machine's homes, newest first, each with what became of it: unknown, and why,
        where its store cannot be read now. With `profile` only those on that one, with `on` only those on lanes, or
        on sessions themselves. Raises `ValidationError` for a profile that there is not, `StoreError` where the log
        itself cannot be read."""
        home = str(home_of(self._environment, profile).path) if profile is not None else None
        found = [
            one
            for one in self.history().operations[::-1]
            if home in (None, one.begun.home) and on in (None, "lanes" if one.begun.keys else "sessions")
        ]
        return [self._listed(one) for one in found[:limit]]

    def _listed(self, operation: Operation) -> Outcome:
        """A store that is damaged or gone hides no operation on another."""
        try:
            return self.outcome_of(operation)
        except StoreError as error:
            told = outcome_of(operation, "unknown", str(error).rstrip("."), operation.begun.session_id)
            return replace(told, final=False)

    def pending(self) -> list[Outcome]:
        """Those of which it is not known yet what became of them. Raises `StoreError`."""
        return [self.outcome_of(one) for one in self.history().operations if one.outcome is None]

    def history(self) -> History:
        """What stands in the log of this machine's homes: it is the user's, whatever home the program is shown.
        Raises `StoreError`."""
        here = {realpath(home.path): home for home in hermes_homes(self._environment)}
        history = self._audit.read()
        found, problems = [], list(history.problems)
        for one in history.operations:
            profile = one.begun.request.profile if one.begun.request is not None else ""
            home = here.get(realpath(one.begun.home))
            if home is not None and home.profile == profile:
                # As it is called now: another path may have led there then.
                found.append(replace(one, begun=replace(one.begun, home=str(home.path))))
            elif home is not None:
                problems.append(
                    f"{self._audit.path}: operation {one.id}: its home is not that of profile {profile!r}; nothing is"
                    " done on its account"
                )
        return History(operations=tuple(found), problems=tuple(problems))

    def close(self, operation_id: str, found: Outcome) -> None:
        """Write an outcome down for good. Raises `StoreError`."""
        self.note(operation_id, found.state, found.text, found.evidence)

    def note(self, operation_id: str, state: OutcomeState, text: str, evidence: Evidence | None = None) -> None:
        """Write down what became of an operation, and what shows it. Raises `StoreError`."""
        at = self._clock()
        text = text[:LONGEST_TEXT]
        self._audit.append(
            AuditRecord(operation=operation_id, event="outcome", at=at, state=state, text=text, evidence=evidence)
        )

    def known(self, operation_id: str) -> Operation:
        """The operation of that id. Raises `ValidationError`, `StoreError`."""
        history = self.history()
        found = next((one for one in history.operations if one.id == operation_id), None)
        if found is None:
            unread = f"; but not all of it can be used: {history.problems[0]}" if history.problems else ""
            raise ValidationError(
                f"there is no operation {operation_id!r}; `hermes-tui lanes log` lists them{unread}"
            )
        return found


def read_lanes(home: HermesHome, read: Callable[[StoredLanes], T]) -> T:
    """What `read` makes of a home's lanes as they stand in its database. Raises `StoreError`."""
    try:
        return read_database(home.database, lambda connection: read(StoredLanes.of(connection)))
    except DatabaseMissing as error:
        raise StoreError(
            f"profile {home.profile!r} has no database {home.database}, so there is nothing to work on."
        ) from error
    except (DatabaseUnreadable, apsw.Error, UnicodeDecodeError) as error:
        advice = advice_on(home.database)
        raise StoreError(f"The session store {home.database} cannot be read: {error}; {advice}.") from error


def _told(operation: Operation, state: OutcomeState, text: str, evidence: Evidence | None = None) -> Outcome:
    """An outcome without a look at the store: the lane is taken to be where the operation left it."""
    begun = operation.begun
    left = begun.session_id if state == "pending" else begun.becomes or begun.session_id
    return outcome_of(operation, state, text, evidence.session_id if evidence else left, evidence)
