"""`total_cost`: sums over the sessions that match, and by group.

Format: spec 004 §3.5 and §3.6.

Decisions where the document is silent: bounds are compared with a session's `createdAt`, as in a list; a day is that
of the model call; tags count a session in each of them, so that they may add up to more than all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from hermes_tui.errors import ValidationError
from hermes_tui.sessions.catalogue.options import ListOptions, matches
from hermes_tui.sessions.cost.aggregate import days_of
from hermes_tui.sessions.cost.runs import Run
from hermes_tui.sessions.cost.summary import SpendRow, SpendSummary
from session_adapters.model import EPOCH, SessionSummary

__all__ = [
    "NO_BRANCH",
    "NO_LANE",
    "UNKNOWN",
    "UNTAGGED",
    "CostBreakdown",
    "CostOptions",
    "CostSummary",
    "GroupBy",
    "GroupOrder",
    "conversation_of",
    "total_cost",
]

GroupBy = Literal["agent", "model", "day", "tag", "project", "branch", "lane", "conversation", "session"]
"""The last five are ours: by directory, by directory and git branch, by the gateway's lane, by the first part of a
conversation with all its parts and sub-agents, and by unified id."""
GroupOrder = Literal["cost", "tokens", "key"]
UNKNOWN = "unknown"
"""Group of calls whose model, or sessions whose directory, is not recorded."""
UNTAGGED = "untagged"
NO_BRANCH = "no branch"
NO_LANE = "no lane"
"""Groups of sessions elsewhere than in a git repository, and than in a lane of Hermes' gateway."""


class CostOptions(Struct, frozen=True, kw_only=True):
    """Which sessions count, and how they are grouped. Raises `ValidationError` for values that make no sense."""

    agent: str | None = None
    """One that there is not counts nothing."""
    since: datetime | date | None = None
    until: datetime | date | None = None
    """Both are compared with the time at which a session was created; a bare date is a whole local day."""
    model: str | None = None
    """Sessions that used this model, with all that they used."""
    tags: tuple[str, ...] | None = None
    """Sessions with any one of them."""
    source: str | None = None
    """Sessions held there: cli, telegram, cron … «ours»"""
    group_by: GroupBy | None = None
    sort: GroupOrder | None = None
    """The groups with the most first, or in the order of their names; None: by cost, days by name. «ours»"""
    local_days: bool = False
    """Days are those of the local time zone; else of UTC (checklist C-3)."""

    def __post_init__(self) -> None:
        self.as_list()
        if self.group_by is not None and self.group_by not in get_args(GroupBy):
            raise ValidationError(f"group_by must be one of {', '.join(get_args(GroupBy))}, not {self.group_by!r}")
        if self.sort is not None and self.sort not in get_args(GroupOrder):
            raise ValidationError(f"sort must be one of {', '.join(get_args(GroupOrder))}, not {self.sort!r}")

    def as_list(self) -> ListOptions:
        """The same filters, for sessions."""
        return ListOptions(
            since=self.since, until=self.until, model=self.model, tags=self.tags, source=self.source, limit=None
        )


class _Totals(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """What both a whole and a group of it have. Money in US dollars."""

    # By factories: `omit_defaults` would leave out a plain 0, and a figure is told also where it is 0.
    total_usd: float = field(default_factory=float)
    input_tokens: int = field(default_factory=int)
    output_tokens: int = field(default_factory=int)
    thinking_tokens: int = field(default_factory=int)
    """Part of the output."""
    cached_tokens: int = field(default_factory=int)
    session_count: int = field(default_factory=int)
    # The rest is ours.
    estimated_usd: float = field(default_factory=float)
    """The part of `total_usd` that was worked out from a price list."""
    cache_write_tokens: int = field(default_factory=int)
    call_count: int = field(default_factory=int)
    unpriced_tokens: int = field(default_factory=int)
    """Tokens that nobody knows the price of: what they cost is not in `total_usd`."""


class CostBreakdown(_Totals):
    """One group."""

    key: str = field(default_factory=str)
    sessions: tuple[str, ...] = ()
    """Unified ids of its sessions; the command line leaves them out."""


def _nothing() -> tuple[str, ...]:
    return ()  # msgspec knows `tuple` itself for empty, and would leave the field out


class CostSummary(_Totals, kw_only=True):
    """All that match."""

    run_count: int = field(default_factory=int)
    """Runs of agent-mux among them."""
    unpriced: tuple[str, ...] = field(default_factory=_nothing)
    """Models without a known price. «ours»"""
    breakdowns: dict[str, CostBreakdown] | None = None
    """By group, the dearest first, days in order, unless they were asked for in another one."""


def total_cost(sheet: SpendSummary, sessions: Iterable[SessionSummary], options: CostOptions) -> CostSummary:
    """The sums of those of `sessions` that match `options`."""
    wanted = options.as_list()
    sessions = list(sessions)
    models: dict[str, list[str]] = {}
    for row in sheet.rows if options.model is not None else ():
        models.setdefault(row.unified_id, []).append(row.model)
    chosen: dict[str, SessionSummary] = {}
    for one in sessions:
        if one.unified_id in sheet.copies or options.agent not in (None, one.agent):
            continue
        # With the tags and models that only the sheet knows: a list may have read the ends of a file alone.
        tags, used = sheet.tags.get(one.unified_id, ()), models.get(one.unified_id, ())
        whole = one
        if tags or used:
            whole = replace(
                one, tags=tuple(dict.fromkeys((*one.tags, *tags))), models=tuple(dict.fromkeys((*one.models, *used)))
            )
        if matches(whole, wanted):
            chosen[one.unified_id] = one
    strangers = [run for run in sheet.strangers if _run_matches(run, options)]
    books = _Books(sheet, chosen, options, sessions)
    for row in sheet.rows:
        if row.unified_id in chosen:
            books.add(row)
    for run in strangers:
        books.add_stranger(run)
    books.close()
    books.summary.run_count = len(strangers) + sum(sheet.runs.get(name, 0) for name in chosen)
    return books.summary


def _run_matches(run: Run, options: CostOptions) -> bool:
    """Whether a run of a session that no store has counts: as if it were the session."""
    if run.cost is None or options.agent not in (None, run.agent):
        return False
    created = EPOCH if run.time is None else datetime.fromtimestamp(run.time, EPOCH.tzinfo)
    session = SessionSummary(
        agent=run.agent, session_id=run.session_id, created_at=created, model=run.model, tags=run.tags
    )
    return matches(session, options.as_list())


class _Books:
    """Adds rows to the whole and to their groups."""

    def __init__(
        self,
        sheet: SpendSummary,
        sessions: Mapping[str, SessionSummary],
        options: CostOptions,
        every: Iterable[SessionSummary],
    ) -> None:
        """`sessions` count; `every` one tells which belong together."""
        self.summary = CostSummary(session_count=len(sessions))
        self._sheet = sheet
        self._sessions = sessions
        self._groups: dict[str, CostBreakdown] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._group_by = options.group_by
        self._order = options.sort or ("key" if options.group_by == "day" else "cost")
        self._local = options.local_days
        self._unpriced: dict[str, None] = {}
        self._found: set[str] = set()
        by_conversation = options.group_by == "conversation"
        self._by_id = {one.unified_id: one for one in every} if by_conversation else {}

    def add(self, row: SpendRow) -> None:
        """Take in what a session spent."""
        session = self._sessions[row.unified_id]
        self._found.add(row.unified_id)
        self._add(row, self._keys(row, session))

    def add_stranger(self, run: Run) -> None:
        """Take in a run whose session no store has."""
        if run.cost is None:
            return
        tokens = run.cost.usage(run.session_id)
        row = SpendRow(
            "",
            run.model or "",
            *(days_of(run.time) if run.time is not None else (UNKNOWN, UNKNOWN)),
            1,
            tokens.input_tokens,
            tokens.output_tokens,
            tokens.cached_tokens,
            tokens.cache_write_tokens,
            tokens.thinking_tokens,
            run.cost.total_usd or 0.0,
        )
        session = SessionSummary(agent=run.agent, session_id=run.session_id, tags=run.tags)
        self._add(row, self._keys(row, session))

    def close(self) -> None:
        """Count sessions, put groups in order."""
        for name in self._sessions.keys() - self._found:
            session = self._sessions[name]
            row = SpendRow(name, session.model or "", *days_of(session.created_at.timestamp()), 0, 0, 0, 0, 0, 0)
            self._add(row, self._keys(row, session))
        self.summary.unpriced = tuple(sorted(self._unpriced))
        if self._group_by is None:
            return
        for key, group in self._groups.items():
            group.sessions = tuple(self._members[key])
            group.session_count = len(group.sessions)
        ordered = sorted(self._groups.values(), key=lambda one: one.key)
        if self._order == "cost":
            ordered.sort(key=lambda one: -one.total_usd)
        elif self._order == "tokens":
            # Without what was thought, which is part of the output.
            ordered.sort(
                key=lambda one: -(one.input_tokens + one.cached_tokens + one.cache_write_tokens + one.output_tokens)
            )
        self.summary.breakdowns = {group.key: group for group in ordered}

    def _add(self, row: SpendRow, keys: Iterable[str]) -> None:
        _plus(self.summary, row)
        if row.unpriced_tokens:
            self._unpriced[row.model or UNKNOWN] = None
        for key in keys:
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = CostBreakdown(key=key)
            _plus(group, row)
            members = self._members.setdefault(key, {})
            if row.unified_id:
                members[row.unified_id] = None

    def _keys(self, row: SpendRow, session: SessionSummary) -> tuple[str, ...]:
        match self._group_by:
            case None:
                return ()
            case "agent":
                return (session.agent,)
            case "model":
                return (row.model or UNKNOWN,)
            case "day":
                return (row.local_day if self._local else row.day,)
            case "project":
                return (session.cwd or UNKNOWN,)
            case "branch":
                return (f"{session.cwd or UNKNOWN} {session.git_branch}" if session.git_branch else NO_BRANCH,)
            case "lane":
                return (str(session.raw.get("session_key") or NO_LANE),)
            case "conversation":
                key = row.origin or session.unified_id
                return (conversation_of(self._by_id[key], self._by_id) if key in self._by_id else key,)
            case "session":
                return (row.origin or session.unified_id,)
        # By tag: a session counts in each of its tags.
        tags = dict.fromkeys((*session.tags, *self._sheet.tags.get(row.unified_id, ())))
        return tuple(tags) or (UNTAGGED,)


def conversation_of(session: SessionSummary, by_id: Mapping[str, SessionSummary]) -> str:
    """Unified id of the first part of the conversation that a session is a part of or a helper of."""
    seen = {session.unified_id}
    while session.kind in ("subagent", "continuation") and session.parent_id:
        above = by_id.get(f"{session.agent}:{session.parent_id}")
        if above is None or above.unified_id in seen:
            break
        session = above
        seen.add(session.unified_id)
    return session.unified_id


def _plus(total: _Totals, row: SpendRow) -> None:
    total.total_usd += row.usd
    total.estimated_usd += row.estimated_usd
    total.input_tokens += row.input_tokens
    total.output_tokens += row.output_tokens
    total.thinking_tokens += row.thinking_tokens
    total.cached_tokens += row.cached_tokens
    total.cache_write_tokens += row.cache_write_tokens
    total.call_count += row.calls
    total.unpriced_tokens += row.unpriced_tokens
