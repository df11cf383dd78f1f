"""The attention screen (`A`): who needs a person, and how that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult

from hermes_tui.display import safe
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.attention.rows import attention_rows
from hermes_tui.tui.widgets.attention.table import AttentionTable
from hermes_tui.tui.widgets.line import Line, Part
from hermes_tui.tui.widgets.page import Paragraph
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_tui.attention.report import Attended, AttentionReport

__all__ = ["TICK", "AttentionScreen", "evidence_blocks", "title_parts"]

TICK = 10.0
"""Seconds between two looks at whether an age reads differently."""
_READING = "Looking at the sessions …"
_NOTHING = "Nothing needs you, and nothing is at work."
_COLUMN = 12


class AttentionScreen(FullScreen[SessionSummary | None]):
    """Shows what `AttentionWatch` finds; dismissed with the session that is to be opened, or without one."""

    AUTO_FOCUS = "AttentionTable"
    without = ("app.attention",)

    def __init__(self, program: Program, report: AttentionReport | None) -> None:
        """`report`: what was found last; None before the first look."""
        super().__init__()
        self._program = program
        self._clock = program.clock
        self._badges = {name: label.badge for name, label in program.manager.saved_labels.items()}
        self.report = report

    def body(self) -> ComposeResult:
        """The sessions, and how the state of the one under the cursor is known."""
        yield AttentionTable(id="attention")
        yield Line(id="evidence")

    def on_mount(self) -> None:
        """Show what is known, and let ages grow."""
        self._show()
        if not self._clock.is_fixed:
            self.set_interval(TICK, self._show)

    def on_resize(self) -> None:
        """The lines are cut to the width."""
        self.call_after_refresh(self._show)

    def on_screen_resume(self) -> None:
        """The keys of the screen above were others."""
        self.call_after_refresh(self.show_hints)

    @property
    def table(self) -> AttentionTable:
        """The sessions."""
        return self.query_one(AttentionTable)

    @property
    def attended(self) -> Attended | None:
        """The session under the cursor."""
        row = self.table.highlighted
        return self.report.by_session.get(row.identity) if row is not None and self.report is not None else None

    # Data --------------------------------------------------------------------------------------------------

    def apply(self, report: AttentionReport) -> None:
        """Show what was found."""
        self.report = report
        self._show()

    def _show(self) -> None:
        if not self.is_there:
            return
        rows = (
            list(attention_rows(self.report, self._clock.now(), self._clock.local, self._badges))
            if self.report is not None
            else []
        )
        self.show_title(title_parts(self.report))
        self.table.show(rows, _NOTHING if self.report is not None else _READING)
        self._show_evidence()

    @on(AttentionTable.Moved)
    def _show_evidence(self) -> None:
        """In the line at the bottom."""
        one = self.attended
        words: list[Part] = []
        for sign in one.state.evidence if one is not None else ():
            at = f" at {self._clock.local(sign.at):%H:%M:%S}" if sign.at is not None else ""
            purpose, against = ("warning", " (says otherwise)") if sign.contradicts else ("faint", "")
            words += [(" · " if words else "  ", "faint"), (f"{safe(sign.words)}{at}{against}", purpose)]
        self.query_one("#evidence", Line).show(words)

    # Actions -----------------------------------------------------------------------------------------------

    @on(AttentionTable.Opened)
    def _open(self) -> None:
        one = self.attended
        if one is not None:
            self.dismiss(one.session)

    def _subject(self) -> Attended | None:
        """The session to act on; where there is none, that is said."""
        one = self.attended
        if one is None:
            self.notify("There is no session here.")
        return one

    def action_explain(self) -> None:
        """Show how the state is known."""
        from hermes_tui.tui.screens.dialogs.page import PageScreen

        def when(moment: datetime | None) -> str:
            return f"{self._clock.local(moment):%Y-%m-%d %H:%M:%S}" if moment is not None else "since an unknown time"

        one = self._subject()
        if one is not None:
            self.app.push_screen(PageScreen("How it is known", evidence_blocks(one, when)))

    def action_jump(self) -> None:
        """Go to the pane in which the session runs."""
        one = self._subject()
        if one is not None:
            self._program.jump(one.session)

    def action_mark_read(self) -> None:
        """A person has looked at it."""
        one = self._subject()
        if one is not None:
            self._program.see(one.session)
            self.notify("Counted as seen." if one.unread else "Nothing came since you looked at it.")

    def action_next_unread(self) -> None:
        """To the next session with something new in it."""
        table, report = self.table, self.report
        unread = report.unread if report is not None else frozenset()
        rows = [at for at, row in enumerate(table.rows) if row.identity in unread]
        if rows:
            at = next((at for at in rows if at > table.cursor), rows[0])
            if at == table.cursor:
                self.notify("No other session here has anything new.")
            table.go(at)
        else:
            self.notify("No session here has anything new.")


def title_parts(report: AttentionReport | None) -> list[Part]:
    """`Attention · 3 need you, 1 of them stuck · 2 working`."""
    parts: list[Part] = [(" Attention", "bright")]
    found = [one.state for one in report.by_session.values()] if report is not None else []
    needs, works = sum(one.needs_person for one in found), sum(one.state == "working" for one in found)
    stuck = sum(one.state == "stuck" for one in found)
    if needs:
        said = f"? {needs} need{'s' * (needs == 1)} you" + (f", {stuck} of them stuck" if stuck else "")
        parts += [(" · ", "faint"), (said, "needs")]
    if works:
        parts += [(" · ", "faint"), (f"● {works} working", "live")]
    return parts


def evidence_blocks(one: Attended, when: Callable[[datetime | None], str]) -> Sequence[Paragraph]:
    """All signs there are of a session's state, with their times."""
    state, session = one.state, one.session
    facts = {
        "session": f"{session.title or 'untitled'} ({session.unified_id})",
        "state": f"{state.word}, {when(state.since)}",
        "tool": state.tool,
        "text": state.text,
        "until": when(state.until) if state.until is not None else "",
        "lane": one.lane,
        "directory": session.cwd or "",
        "process": str(state.pid) if state.pid is not None else "none was found",
        "pane": f"{one.pane.name} of the server at {one.pane.socket}" if one.pane is not None else "none was found",
    }
    blocks = [Paragraph(safe(text), label=name, column=_COLUMN) for name, text in facts.items() if text]
    blocks += [Paragraph(), Paragraph("What says so, the freshest sign counting most", style="heading")]
    for sign in state.evidence:
        words = f"{safe(sign.words)}, {when(sign.at)}"
        style = "warning" if sign.contradicts else ""
        against = "; this contradicts the state, and is older or says less" if sign.contradicts else ""
        blocks.append(Paragraph(words + against, style=style, label=sign.source, column=_COLUMN))
    return blocks
