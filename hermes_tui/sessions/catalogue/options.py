"""What `list` can be asked for (spec 004 §3.4), and how it is answered.

Decisions where the document is silent: dates are compared with `createdAt`, both ends included; a bare date covers
that whole day in the local zone; a time without a zone is local; sessions of unknown cost sort below every cost; ties
go by `updatedAt`, then by unified id, so that the order is always the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from hermes_tui.errors import ValidationError
from hermes_tui.sessions.marks import own_tag
from session_adapters.model import SessionSummary

__all__ = ["DEFAULT_LIMIT", "ListOptions", "SortDirection", "SortField", "changed", "matches", "select"]

Options = TypeVar("Options", bound=msgspec.Struct)
SortField = Literal["date", "cost", "turns", "tokens"]
"""`tokens` is ours."""
SortDirection = Literal["asc", "desc"]
DEFAULT_LIMIT = 100


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Filters, order and size of a list. Raises `ValidationError` for values that make no sense."""

    since: datetime | date | None = None
    """Created at this time or later."""
    until: datetime | date | None = None
    """Created at this time or earlier."""
    model: str | None = None
    """This very model id, if any message used it."""
    tags: tuple[str, ...] | None = None
    """Any one of them."""
    pinned: bool = False
    """Only those that the user pinned. «ours»"""
    cwd: str | Path | None = None
    """Started in this directory, however it is spelled (`~`, a trailing slash, a symbolic link)."""
    source: str | None = None
    """Held there: cli, telegram, cron …, as the agent names it. «ours»"""
    limit: int | None = DEFAULT_LIMIT
    """At most so many; None (ours) for all."""
    sort: SortField = "date"
    sort_direction: SortDirection = "desc"

    def __post_init__(self) -> None:
        limit: Any = self.limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise ValidationError(f"limit must be a whole number from 0 up, not {limit!r}")
        _check("sort", self.sort, get_args(SortField))
        _check("sort_direction", self.sort_direction, get_args(SortDirection))
        for name in ("since", "until"):
            value: Any = getattr(self, name)
            if value is not None and not isinstance(value, date):
                raise ValidationError(f"{name} must be a date or a datetime, not {value!r}")
        cwd: Any = self.cwd
        if cwd is not None and not isinstance(cwd, str | Path):
            raise ValidationError(f"cwd must be a path, not {cwd!r}")
        tags: Any = self.tags
        if isinstance(tags, str):
            raise ValidationError("tags must be a list of strings, not one string")
        msgspec.structs.force_setattr(self, "tags", None if tags is None else tuple(tags))

    @property
    def needs_all(self) -> bool:
        """Whether the answer depends on figures that only a session read in full has."""
        return self.sort in ("turns", "tokens") or self.model is not None


def select(summaries: Iterable[SessionSummary], options: ListOptions, home: str) -> list[SessionSummary]:
    """Filter, then sort, then cut. `home` is what `~` stands for."""
    found = [one for one in summaries if matches(one, options)]
    if options.cwd is not None:
        wanted = _directory(options.cwd, home)
        found = [one for one in found if one.cwd and _directory(one.cwd, home) == wanted]
    found.sort(key=lambda one: _sort_key(one, options.sort), reverse=options.sort_direction == "desc")
    return found if options.limit is None else found[: options.limit]


def matches(summary: SessionSummary, options: ListOptions) -> bool:
    """Whether a session passes the filters, `cwd` aside."""
    if options.since is not None and summary.created_at < _start(options.since):
        return False
    if options.until is not None and not _within(summary.created_at, options.until):
        return False
    if options.model is not None and options.model not in (summary.model, *summary.models):
        return False
    if options.pinned and not summary.pinned:
        return False
    if options.source is not None and options.source != summary.source:
        return False
    return not options.tags or any(tag in summary.tags or own_tag(tag) in summary.tags for tag in options.tags)


def _start(moment: datetime | date) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time.min)
    return _aware(moment)


def _aware(moment: datetime) -> datetime:
    """In a zone, the local one where it names none. Within a day of the first or the last moment there is, that one:
    another zone may have no such time, and sessions lie between."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError):
        return (datetime.min if moment.year == 1 else datetime.max).replace(tzinfo=UTC)


def _within(created: datetime, until: datetime | date) -> bool:
    if isinstance(until, datetime):
        return created <= _aware(until)
    if until == date.max:
        return True
    return created < _start(until + timedelta(days=1))


def _sort_key(summary: SessionSummary, field: SortField) -> tuple[Any, ...]:
    rest = (summary.updated_at, summary.unified_id)
    if field == "cost":
        cost = summary.cost
        return (cost is not None, cost.total_usd if cost else 0.0, *rest)
    if field == "turns":
        return (summary.turn_count, *rest)
    if field == "tokens":
        return (summary.tokens.total if summary.tokens else 0, *rest)
    return (summary.created_at, *rest)


@lru_cache(maxsize=4096)
def _directory(named: str | Path, home: str) -> str:
    path = str(named)
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a NUL in a path from a transcript
        return os.path.normpath(path)


def _check(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValidationError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def changed(options: Options | None, changes: Mapping[str, Any], kind: type[Options]) -> Options:
    """`options`, or those of `kind` that there are without any, with these changes. Raises `ValidationError`."""
    try:
        return msgspec.structs.replace(options, **changes) if options is not None else kind(**changes)
    except TypeError as error:
        names = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise ValidationError(f"unknown option; the options are {names}") from error
