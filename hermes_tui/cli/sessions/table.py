"""Sessions as a table of fixed columns for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import PurePath

from hermes_tui.cells import fit, pad, width_of
from hermes_tui.display import PIN, age, count, money, safe
from session_adapters.model import SessionSummary

__all__ = ["session_table", "title_text"]

_HEAD = ("AGENT", "SESSION", "AGE", "LAST", "TURNS", "TOKENS", "COST", "MODEL", "SOURCE", "PROJECT", "TITLE")
"""`AGE` is since it was begun, which is the usual order; `LAST` since its newest message."""
_TOKENS, _SOURCE = _HEAD.index("TOKENS"), _HEAD.index("SOURCE")
_LEAST_FIRST = tuple(_HEAD.index(name) for name in ("SOURCE", "PROJECT", "MODEL", "COST", "TURNS", "LAST"))
_RIGHT = {2, 3, 4, 5, 6}
_MOST = (10, 44, 3, 4, 6, 6, 10, 22, 10, 16, 0)
"""Cells per column at most; 0 takes the rest of the line."""
_GAP = "  "
_TITLE_LEAST = 20
_ID_MOST, _ID_NARROW = 80, 40
"""Cells, and those on a terminal that has not room for all columns. A longer id sticks out of its own row alone: that
of one helper would take the titles of all others away."""


def session_table(
    sessions: Sequence[SessionSummary],
    now: datetime,
    width: int,
    pending: Collection[str] = (),
    *,
    tokens: bool = False,
) -> Iterator[str]:
    """Lines of a table no wider than `width` cells, heading first; `(no sessions)` when there are none. `pending`:
    unified ids of those whose cost is not added up yet, which is shown as `…`. `tokens`: with their number. The
    source is told where not all were held in a terminal.

    On a narrow terminal long ids have no column as wide as they are, and columns are left out, the least telling
    first. Ids are never cut, for they are what the next command needs: where not even agent and id fit, a line is
    wider.
    """
    if not sessions:
        yield "(no sessions)"
        return
    rows = [_row(one, now, one.unified_id in pending) for one in sessions]
    widths = [
        max(width_of(_HEAD[column]), *(min(width_of(row[column]), _MOST[column] or 200) for row in rows))
        for column in range(len(_HEAD))
    ]
    away = () if tokens else (_TOKENS,)
    if all(one.source in (None, "cli") for one in sessions):
        away = (*away, _SOURCE)
    columns = [column for column in range(len(_HEAD)) if column not in away]
    _fit_into(width, columns, widths, [width_of(row[1]) for row in rows])
    for row in (_HEAD, *rows):
        lead, *others = (
            pad(row[column], widths[column], right=column in _RIGHT) for column in columns if column != 1
        )
        named = f"{lead}{_GAP}{row[1]}"
        if width_of(row[1]) <= widths[1]:
            yield _GAP.join((f"{lead}{_GAP}{pad(row[1], widths[1])}", *others)).rstrip()
        else:
            rest = fit(_GAP.join(others).rstrip(), width - width_of(named) - len(_GAP))
            yield f"{named}{_GAP}{rest}".rstrip()


def _fit_into(width: int, columns: list[int], widths: list[int], ids: Sequence[int]) -> None:
    """Set the widths of ids and titles, and take columns away, until the rest fits beside a readable title."""

    def left() -> int:
        """Cells beside all columns but the title."""
        return width - sum(widths[column] + len(_GAP) for column in columns[:-1])

    title = min(_TITLE_LEAST, widths[-1])
    for most in (_ID_MOST, _ID_NARROW):
        usual = [one for one in ids if one <= most] or [min(*ids, _ID_MOST)]
        widths[1] = max(len(_HEAD[1]), *usual)
        if left() >= title:
            break
    for optional in _LEAST_FIRST:
        if left() < title and optional in columns:
            columns.remove(optional)
    widths[-1] = max(0, min(widths[-1], left()))


def title_text(one: SessionSummary) -> str:
    """The title, safe for a terminal, with whether it is pinned and its tags."""
    return f"{PIN} " * one.pinned + " ".join((safe(one.title), *(f"#{safe(tag)}" for tag in one.tags)))


def _row(one: SessionSummary, now: datetime, pending: bool) -> tuple[str, ...]:
    mark = "+" if one.partial else ""
    project = PurePath(one.cwd).name if one.cwd else ""
    return (
        safe(one.agent),
        safe(one.session_id),
        age(one.created_at, now),
        age(one.updated_at, now),
        f"{count(one.turn_count)}{mark}",
        count(one.tokens.total) if one.tokens else "",
        "…" if pending else money(one.cost),
        safe(one.model or ""),
        safe(one.source or ""),
        safe(project),
        title_text(one),
    )
