"""Spending at a glance: recent days, two months, the largest items first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

from hermes_tui.sessions.cost.report import CostBreakdown, CostOptions, CostSummary, GroupBy, total_cost
from hermes_tui.sessions.cost.summary import SpendSummary
from session_adapters.model import Problem, SessionSummary

__all__ = ["DAYS", "KINDS", "Figure", "Kind", "Overview", "Rank", "overview"]

DAYS = 30
"""Days that the chart shows, today's among them."""
_DEAREST = 20
"""Sessions that are named."""

Kind = Literal["agent", "model", "project", "session"]
KINDS: tuple[Kind, ...] = ("agent", "model", "project", "session")


class Figure(NamedTuple):
    """A sum in US dollars."""

    usd: float = 0.0
    estimated: bool = False
    """A part of it is."""
    unpriced: bool = False
    """A part of what it stands for has no price, and is not in it."""


class Rank(NamedTuple):
    """One line of a ranking."""

    kind: Kind
    key: str
    """Agent, model, directory or the unified id of a conversation's first part."""
    label: str
    """The same, or the conversation's title."""
    figure: Figure
    sessions: tuple[str, ...]
    """Unified ids of the sessions behind it."""


class Overview(NamedTuple):
    """All of it."""

    days: tuple[tuple[date, float], ...] = ()
    """The last `DAYS` days in order, with the dollars of each."""
    this_month: Figure = Figure()
    last_month: Figure = Figure()
    whole: Figure = Figure()
    ranks: Mapping[Kind, tuple[Rank, ...]] = {}
    unpriced: tuple[str, ...] = ()
    """Models without a known price."""
    unpriced_tokens: int = 0
    problems: tuple[Problem, ...] = ()


def overview(sheet: SpendSummary, sessions: Sequence[SessionSummary], today: date) -> Overview:
    """What the sheet says as of `today`, a local date."""
    by_id = {one.unified_id: one for one in sessions}
    by_day = _groups(sheet, sessions, "day")
    whole = total_cost(sheet, sessions, CostOptions())
    first = today - timedelta(days=DAYS - 1)
    days = [first + timedelta(days=number) for number in range(DAYS)]
    last_month = today.replace(day=1) - timedelta(days=1)
    plain: Iterable[tuple[Kind, GroupBy]] = (("agent", "agent"), ("model", "model"), ("project", "project"))
    ranks: dict[Kind, tuple[Rank, ...]] = {
        kind: tuple(
            Rank(kind, one.key, one.key, _figure(one), one.sessions)
            for one in _groups(sheet, sessions, by).values()
            if one.total_usd or one.unpriced_tokens
        )
        for kind, by in plain
    }
    ranks["session"] = _dearest(_groups(sheet, sessions, "session"), by_id)
    return Overview(
        days=tuple((day, by_day[str(day)].total_usd if str(day) in by_day else 0.0) for day in days),
        this_month=_month(by_day, today),
        last_month=_month(by_day, last_month),
        whole=_figure(whole),
        ranks=ranks,
        unpriced=whole.unpriced,
        unpriced_tokens=whole.unpriced_tokens,
        problems=sheet.problems,
    )


def _groups(sheet: SpendSummary, sessions: Sequence[SessionSummary], by: GroupBy) -> dict[str, CostBreakdown]:
    return total_cost(sheet, sessions, CostOptions(group_by=by, local_days=True)).breakdowns or {}


def _figure(one: CostBreakdown | CostSummary) -> Figure:
    return Figure(one.total_usd, one.estimated_usd > 0, one.unpriced_tokens > 0)


def _sum(figures: Iterable[Figure]) -> Figure:
    every = list(figures)
    return Figure(
        sum(one.usd for one in every), any(one.estimated for one in every), any(one.unpriced for one in every)
    )


def _month(by_day: Mapping[str, CostBreakdown], day: date) -> Figure:
    beginning = f"{day:%Y-%m}-"
    return _sum(_figure(one) for key, one in by_day.items() if key.startswith(beginning))


def _dearest(groups: Mapping[str, CostBreakdown], by_id: Mapping[str, SessionSummary]) -> tuple[Rank, ...]:
    """The dearest conversations, all parts of each, with what their helpers spent."""
    families: dict[str, list[CostBreakdown]] = {}
    for key, one in groups.items():
        if one.sessions and (one.total_usd or one.unpriced_tokens):
            families.setdefault(_head(by_id[key], by_id) if key in by_id else key, []).append(one)
    found = [
        Rank(
            "session",
            head,
            _title([by_id[key] for key in (head, *(one.key for one in some)) if key in by_id]) or head,
            _sum(map(_figure, some)),
            tuple(
                dict.fromkeys((*([head] if head in by_id else ()), *(name for one in some for name in one.sessions)))
            ),
        )
        for head, some in families.items()
    ]
    found.sort(key=lambda rank: (-rank.figure.usd, rank.key))
    return tuple(found[:_DEAREST])


def _title(family: Sequence[SessionSummary]) -> str:
    """As the list has it: of the latest part that has one; a helper's is not asked for."""
    parts = sorted((one for one in family if one.kind != "subagent"), key=lambda one: one.updated_at, reverse=True)
    return next((one.title for one in parts if one.title), "")


def _head(session: SessionSummary, by_id: Mapping[str, SessionSummary]) -> str:
    """Unified id of the first part of the conversation that a session is a part of or a helper of."""
    seen = {session.unified_id}
    while session.kind in ("subagent", "continuation") and session.parent_id:
        above = by_id.get(f"{session.agent}:{session.parent_id}")
        if above is None or above.unified_id in seen:
            break
        session = above
        seen.add(session.unified_id)
    return session.unified_id
