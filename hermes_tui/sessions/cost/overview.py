"""Spending at a glance: recent days, two months, the largest items first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import PurePath
from typing import Literal, NamedTuple, get_args

from msgspec.structs import replace

from hermes_tui.sessions.cost.aggregate import days_of
from hermes_tui.sessions.cost.report import (
    NO_BRANCH,
    NO_LANE,
    UNKNOWN,
    CostBreakdown,
    CostOptions,
    CostSummary,
    GroupBy,
    conversation_of,
    total_cost,
)
from hermes_tui.sessions.cost.summary import SpendSummary
from session_adapters.model import Problem, SessionSummary

__all__ = ["KINDS", "SPANS", "Figure", "Kind", "Overview", "Rank", "Span", "overview"]

Span = Literal["7 days", "30 days", "90 days", "this month", "all time"]
SPANS: tuple[Span, ...] = get_args(Span)
"""The days that chart and rankings are about, today among them."""
_DAYS: Mapping[str, int] = {"7 days": 7, "30 days": 30, "90 days": 90}
_BARS = 92
"""In a chart, at most: of longer spans a bar stands for several days."""
_DEAREST = 20
"""Sessions that are named."""

Kind = Literal["agent", "model", "project", "branch", "lane", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)


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
    """Agent, model, directory, directory and branch, lane, or the unified id of a conversation's first part."""
    label: str
    """The same, or the conversation's title."""
    figure: Figure
    sessions: tuple[str, ...]
    """Unified ids of the sessions behind it."""


class Overview(NamedTuple):
    """All of it."""

    span: Span = "30 days"
    """What `days`, `spent` and `ranks` are about."""
    days: tuple[tuple[date, float], ...] = ()
    """Its days in order, with the dollars of each; of a long one the first of several, with the dollars of all."""
    spent: Figure = Figure()
    this_month: Figure = Figure()
    last_month: Figure = Figure()
    whole: Figure = Figure()
    ranks: Mapping[Kind, tuple[Rank, ...]] = {}
    unpriced: tuple[str, ...] = ()
    """Models without a known price."""
    unpriced_tokens: int = 0
    problems: tuple[Problem, ...] = ()


def overview(
    sheet: SpendSummary, sessions: Sequence[SessionSummary], today: date, span: Span = "30 days"
) -> Overview:
    """What the sheet says as of `today`, a local date."""
    by_id = {one.unified_id: one for one in sessions}
    by_day = _groups(sheet, sessions, "day")
    whole = total_cost(sheet, sessions, CostOptions())
    last_month = today.replace(day=1) - timedelta(days=1)
    first = _first_day(span, by_day, today)
    spent = sheet
    if span != "all time":
        # What was spent from that local day on. Of what nobody knows the day it cannot be told.
        day = str(first)
        spent = replace(
            sheet,
            rows=tuple(row for row in sheet.rows if row.local_day != UNKNOWN and row.local_day >= day),
            strangers=tuple(run for run in sheet.strangers if run.time is not None and days_of(run.time)[1] >= day),
        )
    ranks: dict[Kind, tuple[Rank, ...]] = {
        kind: tuple(
            Rank(kind, one.key, _label(kind, one, by_id), _figure(one), one.sessions)
            for one in _groups(spent, sessions, kind).values()
            if (one.total_usd or one.unpriced_tokens) and one.key not in (NO_BRANCH, NO_LANE)
        )
        for kind in KINDS
        if kind != "session"
    }
    ranks["session"] = _dearest(_groups(spent, sessions, "session"), by_id)
    return Overview(
        span=span,
        days=_bars(by_day, first, today),
        spent=_figure(total_cost(spent, sessions, CostOptions())),
        this_month=_month(by_day, today),
        last_month=_month(by_day, last_month),
        whole=_figure(whole),
        ranks=ranks,
        unpriced=whole.unpriced,
        unpriced_tokens=whole.unpriced_tokens,
        problems=sheet.problems,
    )


def _first_day(span: Span, by_day: Mapping[str, CostBreakdown], today: date) -> date:
    """With which a span begins; of all time the first on which something was spent."""
    if span in _DAYS:
        return today - timedelta(days=_DAYS[span] - 1)
    if span == "this month":
        return today.replace(day=1)
    days = [key for key, one in by_day.items() if key != UNKNOWN and (one.total_usd or one.unpriced_tokens)]
    return min([today, *(date.fromisoformat(day) for day in days)])


def _bars(by_day: Mapping[str, CostBreakdown], first: date, today: date) -> tuple[tuple[date, float], ...]:
    number = (today - first).days + 1
    step = -(-number // _BARS)  # rounded up, as is the number of bars
    bars = [0.0] * -(-number // step)
    for key, one in by_day.items():
        if key != UNKNOWN and 0 <= (at := (date.fromisoformat(key) - first).days) < number:
            bars[at // step] += one.total_usd
    return tuple((first + timedelta(days=at * step), usd) for at, usd in enumerate(bars))


def _label(kind: Kind, one: CostBreakdown, by_id: Mapping[str, SessionSummary]) -> str:
    """What people know it by: of a branch, the project's name too."""
    session = next((by_id[name] for name in one.sessions if name in by_id), None)
    if kind != "branch" or session is None or not session.git_branch:
        return one.key
    return f"{PurePath(session.cwd or '').name} · {session.git_branch}"


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
            families.setdefault(conversation_of(by_id[key], by_id) if key in by_id else key, []).append(one)
    found: list[Rank] = []
    for head, some in families.items():
        family = [by_id[key] for key in (head, *(one.key for one in some)) if key in by_id]
        # The title is that of the latest part that has one, as in the list; a helper's is not asked for.
        parts = [one for one in family if one.kind != "subagent"]
        parts.sort(key=lambda one: one.updated_at, reverse=True)
        title = next((one.title for one in parts if one.title), head)
        names = (name for one in some for name in one.sessions)
        # The first part stands first, also where only a helper of it spent anything.
        sessions = tuple(dict.fromkeys((*([head] if head in by_id else ()), *names)))
        found.append(Rank("session", head, title, _sum(map(_figure, some)), sessions))
    found.sort(key=lambda rank: (-rank.figure.usd, rank.key))
    return tuple(found[:_DEAREST])
