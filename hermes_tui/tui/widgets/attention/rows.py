"""Lines of the attention screen: what stands in them, and in which columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.cells import pad, width_of
from hermes_tui.display import age, safe, until
from hermes_tui.tui.agent_colours import agent_colour
from hermes_tui.tui.widgets.session_list.conversation import project_of
from hermes_tui.tui.widgets.states import State, attention_state
from hermes_tui.tui.widgets.styled import Part

if TYPE_CHECKING:
    from hermes_tui.attention.report import Attended, AttentionReport
    from session_adapters.model import SessionSummary

__all__ = ["AttentionRow", "attention_rows", "doing_words", "row_parts"]

_STATE = 11
_AGE = 3
_BADGE = 2
_TITLE = 30
"""Columns of the title at most; a third of the width where that is less."""
_PROJECT = 12
_PANE = 16
_WIDE = 110
"""Columns from which there is room for project and pane."""


class AttentionRow(NamedTuple):
    """A heading, or a session. Texts are safe for a terminal."""

    heading: str = ""
    session: SessionSummary | None = None
    state: State | None = None
    since: str = ""
    badge: str = ""
    title: str = ""
    project: str = ""
    doing: str = ""
    pane: str = ""

    @property
    def identity(self) -> str:
        """Which session it is; empty for a heading."""
        return self.session.unified_id if self.session is not None else ""


def attention_rows(
    report: AttentionReport,
    now: datetime,
    local: Callable[[datetime], datetime],
    badges: Mapping[str, str],
) -> Iterator[AttentionRow]:
    """The lines, group by group, each in the order of the report."""
    for group, found in groupby(report.by_session.values(), key=lambda one: one.state.group):
        yield AttentionRow(group)
        for one in found:
            yield AttentionRow(
                session=one.session,
                state=attention_state(one.state),
                since=age(one.state.since, now),
                badge=safe(badges.get(one.session.agent, one.session.agent[:_BADGE])),
                title=safe(one.lane or one.session.title) or "untitled",
                project=safe(project_of(one.session)) or "—",
                doing=doing_words(one, local, now),
                pane=safe(one.pane.name) if one.pane is not None else "gateway" if one.lane else "—",
            )


def doing_words(one: Attended, local: Callable[[datetime], datetime], now: datetime) -> str:
    """What it does, or waits for; where nothing says, what its record ends with."""
    state = one.state
    if state.state == "question" and state.text:
        return f"“{safe(state.text)}”"
    limit = [until(local(state.until), now)] if state.until is not None else []
    words = [word for word in (*limit, state.tool, state.text) if word]
    if not words and state.evidence:
        words = [state.evidence[0].words]
    return safe("  ".join(words))


def row_parts(row: AttentionRow, width: int, *, cursor: bool) -> Sequence[Part]:
    """A line of `width` columns."""
    if row.session is None or row.state is None:
        return [(f" {row.heading}", "caption")]
    wide = width >= _WIDE
    title = max(8, min(_TITLE if wide else _TITLE - 4, width // 3))
    quiet = "" if cursor else "faint"
    cells: list[tuple[str, int, str]] = [
        (f"{row.state.glyph} {row.state.word}", _STATE, row.state.style),
        (row.since, _AGE, quiet),
        (row.badge, _BADGE, f"agent-{agent_colour(row.session.agent)}"),
        (row.title, title, ""),
    ]
    if wide:
        cells.append((row.project, _PROJECT, quiet))
    pane = _PANE if wide else 0
    room = width - 4 - sum(size + 2 for _, size, _ in cells) - (pane + 2 if pane else 0)
    if room > 0:
        cells.append((row.doing, room, ""))
    if pane:
        cells.append((row.pane, pane, quiet))
    parts: list[Part] = [(" ▸ " if cursor else "   ", "")]
    for at, (text, size, style) in enumerate(cells):
        parts += [("  " if at else "", ""), (pad(text, size), style)]
    return parts if width_of("".join(text for text, _ in parts)) <= width else parts[:-1]
