"""The filters of a query: `agent: model: cwd: since: is: cost:` and others.

`agent: model: cwd: tag: note: source: title: id: is: since: until: cost: tokens: turns:`
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import get_args
from unicodedata import normalize

from msgspec import Struct

from hermes_tui.sessions.period import period
from session_adapters.model import Role, SessionSummary

__all__ = [
    "ATTENDED",
    "FILTERS",
    "MESSAGE_FILTERS",
    "ROLES",
    "STATES",
    "NowIn",
    "SessionFilter",
    "no_states",
    "session_filter",
]

FILTERS: Mapping[str, str] = {
    "agent": "which agent: the beginning of its name",
    "cost": "what it cost in US dollars: cost:>1",
    "cwd": "where it was started: a part of the path",
    "file": "a file that a tool call named: a part of the path",
    "id": "the beginning of the session's id",
    "is": "needs, waiting, unread, working, stuck …; pinned, live, error, fork …",
    "model": "a part of the name of any model it used",
    "note": "a part of your own note",
    "role": "who said it: user, assistant, system or tool",
    "since": "begun then or later: 2026-11-21, 7d, yesterday",
    "source": "where it was held: cli, telegram, cron …",
    "tag": "the beginning of a tag",
    "title": "a part of the title",
    "tokens": "all tokens it used: tokens:>100k",
    "tool": "a part of the name of a tool that was called",
    "turns": "prompts that were answered: turns:>10",
    "until": "begun then or earlier; a day counts to its end",
}
"""Name → what it asks for, in a line for people."""

MESSAGE_FILTERS = frozenset({"role", "tool", "file"})

ROLES: Sequence[str] = get_args(Role)
"""What `role:` knows."""

STATES: Mapping[str, Callable[[SessionSummary], bool]] = {
    "archived": lambda one: one.archived,
    "error": lambda one: one.error,
    "fork": lambda one: one.kind == "fork",
    "live": lambda one: one.live,
    "pinned": lambda one: one.pinned,
    "subagent": lambda one: one.kind == "subagent",
}
"""What `is:` knows of a session by its summary."""

ATTENDED: Mapping[str, str] = {
    "needs": "needs a person",
    "waiting": "waits for leave or for an answer",
    "working": "at work",
    "unread": "something came since you looked",
    "approval": "a tool waits for leave",
    "question": "it asked something",
    "stuck": "at work and silent",
    "failed": "its last call failed",
    "limited": "the provider refuses for a while",
    "gone": "its process ended in the middle",
    "done": "finished since you looked",
    "idle": "nothing is going on",
}
"""What `is:` knows besides, as `hermes_tui.attention` judges it."""

NowIn = Callable[[str], frozenset[str]]
"""Unified ids of the sessions that are in one of `ATTENDED` now."""


def no_states(state: str) -> frozenset[str]:
    """Where it is not known how sessions are."""
    return frozenset()


_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "": operator.ge,
}
_NUMBER = re.compile(r"([<>]=?|=|)\s*\$?([0-9][0-9_,]{0,15}(?:\.[0-9]{0,6})?|\.[0-9]{1,6})([kmb]?)")
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9}
_MARKS = re.compile("[\u0300-\u036f]")
_UNFINISHED = re.compile(r"[<>]?=?\$?")


class SessionFilter(Struct, frozen=True):
    """One condition that a summary alone decides."""

    field: str
    values: tuple[str, ...]
    """In lower case; any one of them will do."""
    comparison: str = ""
    number: float = 0.0
    low: datetime | None = None
    """The first moment that `since` takes."""
    high: datetime | None = None
    """The last one that `until` takes."""
    among: frozenset[str] = frozenset()
    """Unified ids of the sessions that were in the states asked for, of `ATTENDED`, when the query was understood."""

    def passes(self, summary: SessionSummary) -> bool:
        """Whether the session is one of those asked for."""
        if self.field == "since":
            return self.low is not None and summary.created_at >= self.low
        if self.field == "until":
            return self.high is not None and summary.created_at <= self.high
        if self.field in _FIGURES:
            figure = _FIGURES[self.field](summary)
            return figure is not None and _COMPARISONS[self.comparison](figure, self.number)
        if self.field == "is":
            return summary.unified_id in self.among or any(
                STATES[value](summary) for value in self.values if value in STATES
            )
        return any(_TEXTS[self.field](summary, value) for value in self.values)


_FIGURES: Mapping[str, Callable[[SessionSummary], float | None]] = {
    "cost": lambda one: one.cost.total_usd if one.cost is not None else None,
    "tokens": lambda one: one.tokens.total if one.tokens is not None else None,
    "turns": lambda one: one.turn_count,
}
"""None where it is not known: that is neither more nor less than anything."""


def _plain(text: str) -> str:
    """Without regard to case and accents, as words are searched."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", _MARKS.sub("", normalize("NFD", text.lower())))


_TEXTS: Mapping[str, Callable[[SessionSummary, str], bool]] = {
    "agent": lambda one, value: one.agent.lower().startswith(value),
    "model": lambda one, value: any(value in name.lower() for name in (one.model or "", *one.models)),
    "cwd": lambda one, value: value in (one.cwd or "").lower(),
    "tag": lambda one, value: any(tag.lower().startswith(value) for tag in one.tags),
    "source": lambda one, value: value in (one.source or "").lower(),
    "note": lambda one, value: value in _plain(one.own_note),
    "title": lambda one, value: value in _plain(one.title) or value in _plain(one.agent_title or ""),
    "id": lambda one, value: one.session_id.lower().startswith(value) or one.unified_id.lower().startswith(value),
}


def session_filter(
    field: str, value: str, values: tuple[str, ...], now: datetime, now_in: NowIn = no_states
) -> SessionFilter | None:
    """The condition `field:value`, which is any one of `values` (in lower case) but for times and figures; None for
    one that is only begun, as while it is being typed. `now_in` is asked for states that no summary tells.

    Raises `ValueError` for a value that makes no sense.
    """
    if field in ("since", "until"):
        span = period(value, now) if value else None
        return None if span is None else SessionFilter(field, (value,), low=span[0], high=span[1])
    if field in _FIGURES:
        value = value.lower()
        if _UNFINISHED.fullmatch(value):  # the number is still to be typed
            return None
        figure = _NUMBER.fullmatch(value)
        if figure is None:
            raise ValueError(f"{value!r} is no number")
        number = float(figure[2].replace(",", "").replace("_", "")) * _FACTORS[figure[3]]
        return SessionFilter(field, (value,), comparison=figure[1], number=number)
    if field in ("title", "note"):
        values = tuple(map(_plain, values))
    if field == "cwd":
        values = tuple(one.removeprefix("~") for one in values)  # what is behind it is a part of the path
    if field == "is":
        states: list[str] = []
        for one in values:
            meant = [state for state in (*STATES, *ATTENDED) if state.startswith(one)]
            if not meant:
                raise ValueError(f"{one!r} is no state")
            states += meant
        values = tuple(states)
        among = frozenset[str]().union(*(now_in(state) for state in values if state in ATTENDED))
        return SessionFilter(field, values, among=among) if values else None
    return SessionFilter(field, values) if any(values) else None
