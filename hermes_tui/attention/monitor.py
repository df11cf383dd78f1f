"""Looks at all sessions that may need a person, and says how each is."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from hermes_tui.attention.panes import Pane, is_real, list_panes, pane_of
from hermes_tui.attention.report import Attended, AttentionReport
from hermes_tui.attention.states import RUNS, STUCK_AFTER, Sign, judge
from hermes_tui.errors import HermesTuiError
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.mark_store import MarkStore, MarksUnusable
from session_adapters.activity import Activity, steps_of_title
from session_adapters.base import Liveness
from session_adapters.model import SessionSummary
from session_adapters.proc import started_at

if TYPE_CHECKING:
    from hermes_tui.attention.lanes import LaneSession
    from hermes_tui.lifecycle.lanes import Board
    from hermes_tui.sessions.catalogue.catalogue import Catalogue
    from session_adapters.base import Adapter, Environment, Source
    from session_adapters.transcript import Transcript

__all__ = ["Monitor"]

_RECENT = timedelta(days=2)
"""Sessions that nobody has open are looked at if they changed since then, and nobody has seen it."""
_BEFORE_FIRST = timedelta(hours=1)
"""What changed before the first run counts as seen, but for what went wrong within this time before it."""
_SETTLES = 5.0
"""Seconds after a change in which a record is read again: a log beside it may come later."""
_SOON, _LATER, _RARELY = 2.0, 15.0, 60.0
"""Seconds until the next look: while a title or a log may tell more at any time; while nothing but time does; while
nothing is at work."""
_WAITS = 10.0
"""Seconds that sessions of lanes are waited for at the start: without their lane they would be judged wrongly."""
_MOST = 300
"""Sessions that are looked at, the newest first."""


class _Known(NamedTuple):
    store: tuple[int, ...]
    """How its file looked."""
    row: tuple[datetime, int, bool]
    """How the list has it."""
    activity: Activity
    changed: float
    """When the session changed last, seconds since the epoch."""
    read: float
    """When it was read."""
    is_listed_by_message: bool
    """See `Transcript.is_listed_by_message`."""


class _Title(NamedTuple):
    text: str
    since: float | None
    """None where it said so when it was first seen."""


class Sessions(Protocol):
    """What is asked of the manager of sessions."""

    @property
    def catalogue(self) -> Catalogue:
        """The list."""

    @property
    def environment(self) -> Environment:
        """The machine."""

    def read(
        self, agent: str, session_id: str, how: Callable[[Adapter, Source], Transcript], source: Source | None = None
    ) -> Transcript:
        """A session, read so by its adapter; without `source` it is looked for. Raises `HermesTuiError`."""


class Monitor:
    """Keeps what it read of each session until its store changes. One thread at a time."""

    def __init__(
        self,
        manager: Sessions,
        marks: MarkStore,
        *,
        stuck_after: timedelta = STUCK_AFTER,
        board: Callable[[], Board | None] | None = None,
        panes: Callable[[], Sequence[Pane]] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`board` gives the lanes of Hermes' gateways, None where they are not known yet; without it they are
        read."""
        self._manager = manager
        self._board = board
        self._marks = marks
        self._stuck_after = stuck_after
        self._list_panes = panes or self._real_panes
        self._now = now
        self._known: dict[str, _Known] = {}
        self._titles: dict[tuple[str, str], _Title] = {}
        """By socket and id of the pane: each server counts its panes from 0."""
        self._shared: Collection[str] = ()
        """Paths of the stores that hold several sessions."""
        self._pause: float | None = None
        self._running: Collection[str] = ()
        """Unified ids of the sessions that a process was at something in when it last looked."""
        self._seen: tuple[Mapping[str, float], float] = ({}, now())
        """What was seen, as it was last known, and since when that is kept."""
        self._made = time.monotonic()
        self.trouble = ""
        """Why what was seen was not known at the last look, or could not be kept."""

    def look(self, snapshot: Snapshot) -> AttentionReport:
        """The sessions that run or that changed unseen. Where it is not known what was seen, `trouble` says why."""
        processes = self._manager.catalogue.processes
        self.trouble = ""
        try:
            self._seen = self._marks.seen(), self._marks.began
        except MarksUnusable as error:
            self.trouble = str(error)
        (seen, began), now = self._seen, self._now()
        known_lanes = self._lanes() if any(session.agent == "hermes" for session in snapshot.sessions) else {}
        unknown, lanes = "hermes" if known_lanes is None else "", known_lanes or {}
        runs = {*processes, *(key for key, lane in lanes.items() if lane.is_busy)}
        named = {*seen, *processes, *self._running}
        wanted: list[tuple[SessionSummary, bool]] = []
        ended: set[str] = set()
        before: set[str] = set()
        all_unread: dict[str, float] = {}
        # What is older than that is neither recent nor of the time just before the first run (`_BEFORE_FIRST`).
        for session in _in_question(snapshot.sessions, min(now, began) - _RECENT.total_seconds(), named):
            if session.gone or session.kind == "subagent" or session.agent == unknown:
                continue
            at, key = session.updated_at.timestamp(), session.unified_id
            unread = at > (looked := seen.get(key, began))
            if unread:
                all_unread[key] = looked
            recent = at > now - _RECENT.total_seconds()
            if key in self._running and key not in runs and not unread:
                ended.add(key)
            is_news = unread or key in runs or session.waits
            tells = key in processes or key in ended or (recent and is_news)
            if not tells and key not in seen and began - _BEFORE_FIRST.total_seconds() < at <= began:
                before.add(key)
            if len(wanted) < _MOST and (tells or key in before):
                wanted.append((session, unread))
        panes = self._list_panes() if processes else ()
        paths = {one.path for one, _ in wanted}
        stores = Counter(one.path for one in snapshot.sessions if one.path in paths and one.kind != "subagent")
        self._shared = {path for path, sessions in stores.items() if sessions > 1}
        proc = self._manager.environment.proc
        adapters = {agent: self._manager.catalogue.adapter_of(agent) for agent in {one.agent for one, _ in wanted}}
        found = [
            self._attend(
                session,
                adapters[session.agent],
                unread,
                processes.get(session.unified_id),
                lanes.get(session.unified_id),
                panes,
                proc,
                now,
            )
            for session, unread in wanted
        ]
        kept = {session.unified_id for session, _ in wanted}
        self._known = {key: known for key, known in self._known.items() if key in kept}
        there = {(pane.socket, pane.id) for pane in panes}
        self._titles = {which: title for which, title in self._titles.items() if which in there}
        # Who has just begun to look is told what went wrong, and not what else there was.
        found = [one for one in found if one and (one.state.needs_person or one.session.unified_id not in before)]
        known = self._with_ended(found, ended, all_unread)
        if lanes:
            from hermes_tui.attention.lanes import no_more_than_run

            known = no_more_than_run(known, lanes)
        ordered = sorted(known, key=lambda one: one.rank)
        at_work = (*RUNS, "stuck")
        self._running = {
            one.session.unified_id for one in ordered if one.session.unified_id in runs and one.state.state in at_work
        }
        settling = any(one.read < one.changed + _SETTLES for one in self._known.values())
        by_title = any(one.state.state in RUNS and one.pane is not None for one in ordered)
        works = any(one.state.state in at_work for one in ordered)
        self._pause = _SOON if settling or by_title or unknown else _LATER if works else _RARELY if ordered else None
        return AttentionReport({one.session.unified_id: one for one in ordered}, all_unread)

    def _with_ended(
        self, found: Iterable[Attended | None], ended: Collection[str], all_unread: dict[str, float]
    ) -> Iterator[Attended]:
        """Of those that `ended` since they were last looked at, only what ended in the middle of a turn: that is
        something new in it, though no message says so."""
        for one in filter(None, found):
            session = one.session
            if session.unified_id not in ended:
                yield one
            elif one.state.state == "gone":
                try:
                    self._marks.renew(session.unified_id, session.updated_at)
                    all_unread[session.unified_id] = self._marks.seen()[session.unified_id]
                except MarksUnusable as error:
                    self.trouble = str(error)
                yield replace(one, unread=True)

    @property
    def pause(self) -> float | None:
        """Seconds after which it should look again though no store changed: for what titles, logs and time tell.
        None: not before a store changes."""
        return self._pause

    def _real_panes(self) -> Sequence[Pane]:
        return list_panes() if is_real(self._manager.environment.proc) else ()

    def _lanes(self) -> Mapping[str, LaneSession] | None:
        """The sessions of lanes; imported here: most people have none. None: not yet known."""
        from hermes_tui.attention.lanes import lane_sessions
        from hermes_tui.lifecycle.lanes import board as read_board

        board = self._board() if self._board is not None else read_board(self._manager.environment)
        if board is None:
            return None if time.monotonic() - self._made < _WAITS else {}
        return lane_sessions(board)

    def _attend(
        self,
        session: SessionSummary,
        adapter: Adapter | None,
        unread: bool,
        live: Liveness | None,
        lane: LaneSession | None,
        panes: Sequence[Pane],
        proc: Path,
        now: float,
    ) -> Attended | None:
        known = self._read(session)
        if known is None:
            return None
        tools = known.activity.tools or (known.activity.tool,)
        can_tell = adapter is not None and adapter.tells_processes
        if live is None and lane is not None:
            live, can_tell = lane.process(known.activity), lane.can_tell
        # Who speaks in a lane reads the answer there, also where the lane has left the session since.
        read_there = lane is not None or (live is None and bool(session.raw.get("session_key")))
        pane = pane_of(live.pid, panes, proc) if live is not None else None
        started: float | None = None
        if live is not None and lane is None and known.activity.step in RUNS:
            started = started_at(proc, live.pid)  # which is known to a second
        state = judge(
            known.activity,
            live,
            title=self._title(session.agent, pane, now) if pane is not None else None,
            changed=datetime.fromtimestamp(known.changed, UTC),
            now=datetime.fromtimestamp(now, UTC),
            unread=unread and not read_there,
            can_tell=can_tell,
            may_wait=adapter is None or any(map(adapter.may_wait_unseen, tools)),
            started=datetime.fromtimestamp(started, UTC) if started is not None else None,
            stuck_after=self._stuck_after,
        )
        name = lane.name if lane is not None else ""
        return Attended(session=session, state=state, unread=unread, pane=pane, lane=name)

    def _read(self, session: SessionSummary) -> _Known | None:
        """What the record says; None where it cannot be read, which the list of problems says."""
        stamp: list[int] = []
        changed = 0.0
        for file in (session.path, f"{session.path}-wal"):  # a database writes beside itself first
            with suppress(OSError):
                status = Path(file).stat()
                stamp += (status.st_ino, status.st_size, status.st_mtime_ns)
                changed = max(changed, status.st_mtime)
        store = tuple(stamp)
        row = (session.updated_at, session.message_count, session.waits)
        is_shared = session.path in self._shared
        if is_shared:  # that others' messages are written says nothing of this one
            changed = session.updated_at.timestamp()
        known = self._known.get(session.unified_id)
        by_row = known is not None and is_shared and known.is_listed_by_message
        is_same = known is not None and known.row == row and (by_row or known.store == store)
        # A clock may have been set back, or a file be of a year that there is none of: nothing changed after now.
        changed = known.changed if known is not None and is_same else min(changed, self._now())
        if known is None or not is_same or known.read < changed + _SETTLES:
            with suppress(HermesTuiError):
                agent, name = session.agent, session.session_id
                source = self._manager.catalogue.listed_in(agent, name)
                opened = self._manager.read(agent, name, lambda adapter, found: adapter.open_end(found, name), source)
                if opened.activity.since is None and not opened.complete:  # the end does not tell where it stands
                    opened = self._manager.read(agent, name, lambda adapter, found: adapter.open(found, name), source)
                known = self._known[session.unified_id] = _Known(
                    store, row, opened.activity, changed, self._now(), opened.is_listed_by_message
                )
        return known

    def _title(self, agent: str, pane: Pane, now: float) -> Sign | None:
        """What the title of a pane says, since when it does."""
        steps = steps_of_title(agent, pane.title)
        if not steps:
            return None
        which = (pane.socket, pane.id)
        before = self._titles.get(which)
        if before is None or steps_of_title(agent, before.text) != steps:
            before = self._titles[which] = _Title(pane.title, None if before is None else now)
        return Sign(
            source="title",
            steps=steps,
            at=None if before.since is None else datetime.fromtimestamp(before.since, UTC),
            words=f"the title of pane {pane.name} is {pane.title.strip()!r}",
        )


def _in_question(
    sessions: Sequence[SessionSummary], since: float, named: Collection[str]
) -> Iterator[SessionSummary]:
    """Of sessions in the order of a snapshot those that changed after that time, and of the others those that are
    `named`: of tens of thousands hardly any is."""
    older = bisect_left(sessions, -since, key=lambda one: -one.updated_at.timestamp())
    yield from sessions[:older]
    yield from (one for one in sessions[older:] if one.unified_id in named)
