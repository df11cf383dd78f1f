"""The one way to change lanes: a plan, its application, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from msgspec.structs import replace

from hermes_tui.errors import HermesTuiError, OperationRefused, StoreError, ValidationError
from hermes_tui.lifecycle.gateway.configuration import read_gateway_config
from hermes_tui.lifecycle.gateway.homes import HermesHome, home_of
from hermes_tui.lifecycle.gateway.process import Gateway, gateway_for
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.audit import Audit, History, new_id
from hermes_tui.lifecycle.operations.compare_and_set import write_file, write_rows
from hermes_tui.lifecycle.operations.facts import look_around
from hermes_tui.lifecycle.operations.history import OperatedOn, OperationHistory, read_lanes
from hermes_tui.lifecycle.operations.plan import SESSION_KINDS, Plan, Request
from hermes_tui.lifecycle.operations.planning import checked, draw_up
from hermes_tui.lifecycle.operations.record import AuditRecord, Operation
from hermes_tui.lifecycle.operations.record_rules import check_record, misfit
from hermes_tui.lifecycle.operations.sessions.kept_rows import KeptRows
from hermes_tui.lifecycle.operations.sessions.planning import draw_up_sessions
from hermes_tui.lifecycle.operations.sessions.promises import broken_promise
from hermes_tui.lifecycle.operations.sessions.tables import session_tables
from hermes_tui.lifecycle.operations.sessions.undo import draw_up_sessions_undo
from hermes_tui.lifecycle.operations.undo import draw_up_undo
from hermes_tui.lifecycle.operations.verify import Outcome
from hermes_tui.lifecycle.state_db.connection.access import examine
from hermes_tui.lifecycle.state_db.connection.contention import PATIENCE
from hermes_tui.lifecycle.state_db.connection.migrations import needs_work
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.platform.atomic_write import sweep
from session_adapters.base import Environment
from session_adapters.hermes.adapter import HermesAdapter

__all__ = ["Operations"]


class Operations:
    """Operations on the lanes of every profile of a machine. Keeps nothing open between calls."""

    def __init__(
        self,
        environment: Environment,
        *,
        read_only: bool = False,
        audit: Audit | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        step: Callable[[str], None] = lambda name: None,
        waiting: Callable[[str], None] = lambda words: None,
    ) -> None:
        """`read_only` refuses to apply anything. `audit` None: the user's own log. `clock` gives aware times. `step`
        is told each step before it is taken (begun, copy, rows, index, commit, applied, mirror, verify): for tests
        that break off there. `waiting` is told in a clause for which process `apply` has to wait."""
        self._environment = environment
        self._audit = audit or Audit()
        self._clock = clock
        self._read_only = read_only
        self._kept = KeptRows(self._audit.path)
        self._history = OperationHistory(environment, self._audit, clock, read_only=read_only)
        self._step = step
        self._waiting = waiting

    @property
    def read_only(self) -> bool:
        """Whether `apply` refuses whatever it is given."""
        return self._read_only

    # Past operations -----------------------------------------------------------------------------------------

    def outcome(self, operation_id: str) -> Outcome:
        """See `OperationHistory.outcome`."""
        return self._history.outcome(operation_id)

    def outcome_of(self, operation: Operation) -> Outcome:
        """See `OperationHistory.outcome_of`."""
        return self._history.outcome_of(operation)

    def log(self, limit: int = 50, profile: str | None = None, on: OperatedOn | None = None) -> list[Outcome]:
        """See `OperationHistory.log`."""
        return self._history.log(limit, profile, on)

    def pending(self) -> list[Outcome]:
        """See `OperationHistory.pending`."""
        return self._history.pending()

    def history(self) -> History:
        """See `OperationHistory.history`."""
        return self._history.history()

    # Planning ------------------------------------------------------------------------------------------------

    def plan(self, request: Request) -> Plan:
        """What the operation would do; writes nothing. What cannot be done now has a `refusal`. Raises
        `ValidationError`, `LaneNotFound`, and `StoreError` for a database that cannot be read."""
        checked(request)
        home = home_of(self._environment, request.profile)
        plan = read_lanes(home, lambda rows: self._drawn(request, rows, home))
        refusal = plan.refusal or self._unwritable(home) or self._open_elsewhere(plan) or self._promised(plan)
        return plan if refusal == plan.refusal else replace(plan, refusal=refusal)

    def _open_elsewhere(self, plan: Plan) -> str:
        """A chat in a terminal keeps its session in memory and writes on into it, whatever becomes of the row."""
        request = plan.request
        if request.kind not in ("reset", "suspend", "resume", *SESSION_KINDS) or request.force:
            return ""
        if request.kind == "rename":  # which a chat in a terminal takes no notice of
            return ""
        surfaces = HermesAdapter(self._environment).live()
        gateway = self._gateway(home_of(self._environment, request.profile))
        for session_id in (plan.session_id, request.target, *(one.session_id for one in plan.changes.removed)):
            surface = surfaces.get(session_id)
            if surface is not None and surface.pid != gateway.pid:
                return f"session {session_id} is open in process {surface.pid}, which goes on in it; close that first"
        return ""

    def _promised(self, plan: Plan) -> str:
        home = home_of(self._environment, plan.request.profile)
        return broken_promise(plan, self._history, self._kept, home, self._environment.proc, self._clock())

    def _drawn(self, request: Request, rows: StoredLanes, home: HermesHome, new: str = "") -> Plan:
        proc = self._environment.proc
        if request.kind in SESSION_KINDS:
            return draw_up_sessions(request, rows, home, proc, self._clock())
        if request.kind != "undo":
            return draw_up(request, rows, home, proc, self._clock(), new)
        operation = self._history.known(request.target)
        if operation.begun.request is None or operation.begun.request.profile != request.profile:
            raise ValidationError(f"operation {request.target} was on another profile")
        if not operation.begun.keys:
            outcome = self._history.judged(operation, rows)
            return draw_up_sessions_undo(request, operation, outcome, rows, home, proc, self._kept)
        return draw_up_undo(
            request, operation, self._history.judged(operation, rows), rows, home, proc, self._clock()
        )

    def undo(self, operation_id: str) -> Plan:
        """The plan that takes an operation back. Raises as `plan` does."""
        begun = self._history.known(operation_id).begun
        profile = begun.request.profile if begun.request else "default"
        return self.plan(Request(kind="undo", profile=profile, target=operation_id))

    # Applying ------------------------------------------------------------------------------------------------

    def apply(self, plan: Plan) -> Outcome:
        """Do what the plan says, all or nothing, and say what became of it. Raises `OperationRefused` and
        `StoreError`; nothing was changed then."""
        if self._read_only:
            raise OperationRefused("this program was started read-only, or its settings say so: nothing is changed")
        if plan.refusal:
            raise OperationRefused(f"{plan.request.kind}: {plan.refusal}")
        home = home_of(self._environment, plan.request.profile)
        with self._audit.alone(self._waiting):
            self._finish_interrupted(home)
            # Asked once more, now that nobody else of us is at it: the plan may be older than such a promise.
            if promised := self._promised(plan):
                raise OperationRefused(f"{plan.request.kind}: {promised}")
            # Earlier operations on these lanes: those that wait for a message still are replaced by this one, the
            # others are settled now, before the store changes once more.
            found = [
                one
                for one in self._history.history().operations
                if one.outcome is None and one.begun.home == str(home.path) and {*one.begun.keys} & {*plan.keys}
            ]
            earlier = [
                one.id for one in found if not self._history.settled(one).final and one.id != plan.request.target
            ]
            begun, fresh = self._written(plan, home)
            trouble = [self._mirrored(fresh, home), self._noted(plan, begun, earlier)]
        self._step("verify")
        outcome = self._history.judged(self._history.known(begun.operation))
        if outcome.final:
            with suppress(StoreError):  # whoever asks for the outcome next writes it down
                self._history.close(begun.operation, outcome)
        return replace(outcome, text="; ".join(part for part in (outcome.text, *trouble) if part))

    def _noted(self, plan: Plan, begun: AuditRecord, earlier: Sequence[str]) -> str:
        """Say in our log that it is done, and what that means for `earlier` ones. Should that fail, the store says it
        as well."""
        self._step("applied")
        try:
            self._audit.append(AuditRecord(operation=begun.operation, event="applied", at=self._clock()))
            for operation_id in earlier:
                self._history.note(operation_id, "replaced", f"{begun.operation} came before the lane's next message")
            if plan.request.kind == "undo":
                self._history.note(plan.request.target, "undone", f"taken back by {begun.operation}")
        except StoreError as error:
            return str(error).rstrip(".")
        return ""

    def _written(self, plan: Plan, home: HermesHome) -> tuple[AuditRecord, Plan]:
        """Rows and table, and the index where it is a file: one transaction."""
        reason = self._unwritable(home)
        if reason:
            raise OperationRefused(reason)
        begun: AuditRecord | None = None
        try:
            with self._store(home) as store, store.transaction():
                rows = StoredLanes.within(store)
                fresh = self._drawn(plan.request, rows, home, plan.becomes)
                if fresh.refusal:
                    raise OperationRefused(f"{plan.request.kind}: {fresh.refusal}")
                if fresh.basis != plan.basis:
                    what = "the lane" if plan.keys else "the store"
                    raise OperationRefused(f"{what} has changed since the plan was made; look at it and plan anew")
                # In the log, on the disk, before the first byte of the store changes.
                self._step("begun")
                begun = self._begin(fresh, home, rows.last_message())
                if fresh.changes.removed:
                    self._step("copy")
                    self._kept.keep(store, begun.operation, fresh.changes.removed, session_tables(rows))
                self._step("rows")
                if fresh.changes.restored:
                    self._kept.restore(store, fresh.request.target, fresh.changes.restored, session_tables(rows))
                write_rows(store, fresh.changes)
                # Asked once more: a gateway that started since has the old lanes in its memory, and writes them back.
                gateway = self._gateway(home)
                if (gateway.state == "running") != (fresh.mode == "live"):
                    now = "has started" if gateway.state == "running" else "is gone"
                    raise OperationRefused(f"a gateway {now} meanwhile; look again and plan anew")
                self._step("index")
                if fresh.changes.file_first:  # should it fail, the rows are rolled back
                    write_file(_placed(home), fresh.changes.file)
                self._step("commit")
        except HermesTuiError as error:
            if begun is not None:
                self._back_out(begun, home, str(error))
            raise
        return begun, fresh

    def _back_out(self, begun: AuditRecord, home: HermesHome, reason: str) -> None:
        """The transaction was rolled back; a file that was written before goes the same way. Raises `StoreError`
        where it cannot: the operation stays open in the log, and the next one puts it back."""
        try:
            _put_file_back(begun, home)
        except StoreError as error:
            raise StoreError(
                f"{reason.rstrip('.')}; but the file was written before, and cannot be put back now: {error} The next"
                " change of a lane does that."
            ) from error
        with suppress(StoreError):  # why it failed is to be told, not that it could not be noted
            self._history.note(begun.operation, "failed", reason)

    def _begin(self, plan: Plan, home: HermesHome, seen: int) -> AuditRecord:
        record = AuditRecord(
            operation=new_id(self._clock()),
            event="begun",
            at=self._clock(),
            request=plan.request,
            home=str(home.path),
            scope=home.scope,
            mode=plan.mode,
            session_id=plan.session_id,
            becomes=plan.becomes,
            older=plan.older,
            keys=plan.keys,
            changes=plan.changes,
            seen=seen,
        )
        # Only the record of an undo is held against those before it.
        known = self._history.history().operations if plan.request.kind == "undo" else ()
        try:
            check_record(record, {one.id: one.begun for one in known})
        except ValueError as error:  # what could not be taken back is not done
            raise OperationRefused(f"{plan.request.kind}: {error}; nothing was changed") from error
        try:
            self._audit.append(record)
        except StoreError as error:
            raise StoreError(
                f"{str(error).rstrip('.')}; without it nothing is changed, so make that possible."
            ) from error
        return record

    def _mirrored(self, plan: Plan, home: HermesHome) -> str:
        """Where the table counts, the file follows it; a failure changes nothing that counts."""
        self._step("mirror")
        if plan.changes.file_first:
            return ""
        try:
            write_file(_placed(home), plan.changes.file)
        except (OperationRefused, StoreError) as error:
            reason = str(error).rstrip(".")
            return f"the mirror sessions.json was not written ({reason}), which a gateway will do by itself"
        return ""

    def _finish_interrupted(self, home: HermesHome) -> None:
        """What an earlier process left half done: its index written and its rows not, or its mirror not."""
        sweep(_placed(home).index_file.resolve())
        for operation in self._history.history().operations:
            if (
                operation.applied is not None
                or operation.outcome is not None
                or operation.begun.home != str(home.path)
            ):
                continue
            found = self._history.judged(operation)
            if found.state in ("failed", "interrupted"):
                self._finish(operation.begun, found, home)
            self._history.settled(self._history.known(operation.id))

    def _finish(self, begun: AuditRecord, found: Outcome, home: HermesHome) -> None:
        proc = self._environment.proc
        if not begun.keys:  # of sessions: one transaction, which was done or was not
            return
        if read_lanes(home, lambda rows: misfit(begun, rows, look_around(rows, home, proc))):
            return  # nobody asked for this to be written
        if found.state == "failed":
            _put_file_back(begun, home)
        if found.state == "interrupted":
            with self._store(home) as store, store.transaction():
                write_rows(store, begun.changes)
            self._audit.append(AuditRecord(operation=begun.operation, event="applied", at=self._clock()))

    def _store(self, home: HermesHome) -> Store:
        def waiting(process: str) -> None:
            self._waiting(f"{process} keeps {home.database} locked; trying on, for {PATIENCE:.0f} s at most")

        return Store(home.database, read_only=False, clock=time.time, waiting=waiting)

    def _gateway(self, home: HermesHome) -> Gateway:
        return gateway_for(home.path, home.profile, home.root, self._environment.proc)

    def _unwritable(self, home: HermesHome) -> str:
        """Why nothing can be written there, whatever it is; empty if it can."""
        try:
            schema = examine(home.database, writing=True)
        except StoreError as error:
            return str(error).rstrip(".")
        if needs_work(schema):
            return (
                f"the database {home.database} has an old schema; start Hermes once, so that it brings it up to date"
            )
        return ""


def _placed(home: HermesHome) -> HermesHome:
    return replace(home, sessions=read_gateway_config(home.path).sessions_dir)


def _put_file_back(begun: AuditRecord, home: HermesHome) -> None:
    if begun.changes.file_first:
        with suppress(OperationRefused):  # something else has written there since
            write_file(_placed(home), begun.changes.inverse.file)
