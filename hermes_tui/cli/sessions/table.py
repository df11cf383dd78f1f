"""Sessions as a table of fixed columns for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import PurePath

from hermes_tui.cells import pad, width_of
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
_ID_MOST = 72
"""Cells. A longer id than any agent makes sticks out of its own row alone."""


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

    On a narrow terminal columns are left out, the least telling first. Ids are never cut, for they are what the
    next command needs: where not even agent, id and age fit, a line is wider.
    """
    if not sessions:
        yield "(no sessions)"
        return
    rows = [_row(one, now, one.unified_id in pending) for one in sessions]
    widths = [
        max(width_of(_HEAD[column]), *(min(width_of(row[column]), _MOST[column] or 200) for row in rows))
        for column in range(len(_HEAD))
    ]
    widths[1] = max([widths[1], *(min(width_of(row[1]), _ID_MOST) for row in rows)])
    away = () if tokens else (_TOKENS,)
    if all(one.source in (None, "cli") for one in sessions):
        away = (*away, _SOURCE)
    columns = [column for column in range(len(_HEAD)) if column not in away]
    for optional in (None, *_LEAST_FIRST):  # until the rest fits beside a readable title, which takes what is left
        if optional in columns:
            columns.remove(optional)
        used = sum(widths[column] + len(_GAP) for column in columns[:-1])
        if width - used >= min(_TITLE_LEAST, widths[-1]):
            break
    widths[-1] = max(0, min(widths[-1], width - used))
    for row in (_HEAD, *rows):
        cells = [
            row[column]
            if column == 1 and width_of(row[column]) > widths[column]
            else pad(row[column], widths[column], right=column in _RIGHT)
            for column in columns
        ]
        yield _GAP.join(cells).rstrip()


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
