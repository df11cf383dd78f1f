"""Chooses the sessions that are pruned, by the filters of `hermes sessions prune`.

The same rows as Hermes 0.19's, but that `%` and `_` in a text are themselves here, and directories have their case:
Hermes takes the former for any text, and deletes more than was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from hermes_tui.errors import ValidationError
from session_adapters.model import JsonRecord

__all__ = ["PruneFilter", "Select", "prunable"]

Select = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs a SELECT with its values."""

_AGE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(?:([smhdw])[a-z]*)?")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SAME = "{0} = ?"
_PART = "instr(lower(COALESCE({0}, '')), lower(?)) > 0"
_TEXTS: Mapping[str, tuple[str, str]] = {
    "source": ("source", _SAME),
    "title": ("title", _PART),
    "end_reason": ("end_reason", _SAME),
    "cwd": ("cwd", "({0} = ?1 OR substr({0}, 1, length(?1) + 1) IN (?1 || '/', ?1 || '\\'))"),
    "model": ("model", _PART),
    "provider": ("billing_provider", "lower(COALESCE({0}, '')) = lower(?)"),
    "user": ("user_id", _SAME),
    "chat_id": ("chat_id", _SAME),
    "chat_type": ("chat_type", _SAME),
    "branch": ("git_branch", _PART),
}
"""Filter → its column, and the condition."""
_NUMBERS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "messages": (("message_count",), "{0}"),
    "tokens": (("input_tokens", "output_tokens"), "COALESCE({0}, 0) + COALESCE({1}, 0)"),
    "cost": (("actual_cost_usd", "estimated_cost_usd"), "COALESCE({0}, {1}, 0)"),
    "tool_calls": (("tool_call_count",), "COALESCE({0}, 0)"),
}
"""What has a least and a most → its columns, and the sum."""
_BOUNDS = {"min": ">=", "max": "<="}


class PruneFilter(JsonRecord, frozen=True):
    """Which of the sessions that have ended: all that is given must hold. An age is `90` (days), `5h`, `2d`, `1w` or
    a date; texts are compared as they stand but where it says otherwise."""

    older_than: str = ""
    """Begun before."""
    newer_than: str = ""
    """Begun then or later."""
    source: str = ""
    title: str = ""
    """A part of it, in either case; so with `model` and `branch`."""
    end_reason: str = ""
    cwd: str = ""
    """That directory or one below it."""
    model: str = ""
    provider: str = ""
    user: str = ""
    """The person's id."""
    chat_id: str = ""
    chat_type: str = ""
    branch: str = ""
    min_messages: int | None = None
    max_messages: int | None = None
    min_tokens: int | None = None
    """Input and output together."""
    max_tokens: int | None = None
    min_cost: float | None = None
    """In USD: what it did cost where that is known, else the estimate."""
    max_cost: float | None = None
    min_tool_calls: int | None = None
    max_tool_calls: int | None = None
    empty: bool = False
    """Without a message."""
    keep_last: int = 0
    """Of those that fit, so many that began last stay."""
    include_archived: bool = False

    @property
    def given(self) -> dict[str, str | int | float]:
        """What is asked for, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value != getattr(_ALL, name)}

    @property
    def words(self) -> list[str]:
        """As options of `hermes-tui hermes sessions prune`."""
        options = [(f"--{name.replace('_', '-')}", value) for name, value in self.given.items()]
        return [word for name, value in options for word in ([name] if value is True else [name, str(value)])]

    @property
    def columns(self) -> frozenset[str]:
        """Those that are looked at, of `sessions`."""
        texts = [_TEXTS[name][0] for name in self.given if name in _TEXTS]
        numbers = [column for name in self.given if name[4:] in _NUMBERS for column in _NUMBERS[name[4:]][0]]
        return frozenset((*texts, *numbers))

    def period(self, now: datetime) -> tuple[float | None, float | None]:
        """They began at the first or later, and before the second; seconds since the epoch. `now` is aware. Raises
        `ValidationError` for what is no age, and where nothing is between the two."""
        after, before = (_moment(text, now) if text else None for text in (self.newer_than, self.older_than))
        if after is not None and before is not None and after >= before:
            raise ValidationError(f"nothing is newer than {self.newer_than!r} and older than {self.older_than!r}")
        return after, before


_ALL = PruneFilter()


def prunable(
    select: Select, wanted: PruneFilter, after: float | None, before: float | None, *, archived: bool
) -> list[str]:
    """The ids, those that began first before the others. `after` and `before`: see `PruneFilter.period`. `archived`:
    the column is there. The others must be. Raises what `select` raises."""
    asked: list[tuple[str, Any]] = []
    if before is not None:
        asked.append(("started_at < ?", before))
    if after is not None:
        asked.append(("started_at >= ?", after))
    for name, given in wanted.given.items():
        if name in _TEXTS:
            column, condition = _TEXTS[name]
            asked.append((condition.format(column), (str(given).rstrip("/\\") or given) if name == "cwd" else given))
        elif name[4:] in _NUMBERS:
            columns, total = _NUMBERS[name[4:]]
            asked.append((f"{total.format(*columns)} {_BOUNDS[name[:3]]} ?", given))
    conditions, values = ["ended_at IS NOT NULL"], list[Any]()
    for condition, value in asked:
        # That of `cwd` names its value several times: by its number among all.
        conditions.append(condition.replace("?1", f"?{len(values) + 1}"))
        values.append(value)
    if wanted.empty:
        conditions.append("message_count = 0")
    if archived and not wanted.include_archived:
        conditions.append("archived = 0")
    found = select(
        f"SELECT id FROM sessions WHERE {' AND '.join(conditions)} ORDER BY started_at, id",  # noqa: S608 - ours
        values,
    )
    ids = [str(id_) for (id_,) in found]
    return ids[: -wanted.keep_last] if wanted.keep_last else ids


def _moment(text: str, now: datetime) -> float:
    age = _AGE.fullmatch(text.strip().lower())
    try:
        if age:
            return (now - timedelta(**{_UNITS[age[2] or "d"]: float(age[1])})).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValidationError(
            f"{text!r} is no age; use 90 (days), 5h, 2d, 1w, 2026-07-05 or 2026-07-05T14:30"
        ) from error
