"""`H`: the three layers of memory of a session of Hector's."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from hermes_tui.cells import fit
from hermes_tui.display import compact, counted, safe, with_tilde
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.helper_call import in_helper
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.page import Page, Paragraph
from hermes_tui.tui.widgets.search_box import TextInput
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.memory.longterm.protocols import MemoryPoint
    from hermes_tui.memory.longterm.session_points import Owned, SessionPoints

__all__ = ["MemoryScreen"]

_COLUMN = 14
_LONGEST = 500
_SHOWN = 10
"""Messages of working memory, the last ones."""
_TEXT = 240
"""Characters of a message or point."""
_TABLES = {
    "v0": "tables of Hector 1, as they were first",
    "v1": "tables of Hector 1",
    "v2": "tables of Hector 2",
    "doc": "tables of Hector's guide",
    "isolated": "tables in which each message says whose it is",
}
_THIRD = Paragraph("long-term memory", style="heading")
_READING = (Paragraph("reading …", style="faint"),)


class MemoryScreen(FullScreen[None]):
    """What is stored, what of it the agent has before it, and what long-term memory holds: each read by itself, so
    that a server that does not answer keeps only its own part waiting."""

    AUTO_FOCUS = "Page"
    BINDINGS = bindings("memory")

    def __init__(self, program: Program, summary: SessionSummary) -> None:
        super().__init__()
        self._program = program
        self._summary = summary
        self._layers: Sequence[Paragraph] = _READING
        self._points: Sequence[Paragraph] = _READING
        self._question = ""

    def body(self) -> ComposeResult:
        """A line to ask in, and the page."""
        box = TextInput(
            placeholder="/ asks what its agent would recall",
            id="question",
            max_length=_LONGEST,
            compact=True,
            select_on_focus=False,
        )
        box.cursor_blink = False
        yield box
        yield Page()

    def on_mount(self) -> None:
        """Read all of it."""
        super().on_mount()
        self.show_title([(" Memory", "bright"), (f"  {compact(self._summary.known_as, 100)}", "")])
        self._show()
        run_beside(self, self._read_layers, "layers")
        run_beside(self, self._read_points, "points", exclusive=True)

    def _show(self) -> None:
        if not self.is_left:
            # `~` is the reader's own.
            home = None if self._program.named_home else str(self._program.manager.environment.home)
            blocks = (*self._layers, Paragraph(), *self._points)
            self.query_one(Page).show([one._replace(text=with_tilde(one.text, home)) for one in blocks])

    async def _read_layers(self) -> None:
        self._layers = await self._told(_layers(self._program, self._summary))
        self._show()

    async def _read_points(self) -> None:
        question = self._question
        read = in_thread(_points, self._program, self._summary, question)
        self._points = [_THIRD, *await self._told(read)]
        self._show()
        if question and not self.is_left:
            self.query_one(Page).reveal(_THIRD)

    async def _told(self, read: Awaitable[list[Paragraph]]) -> list[Paragraph]:
        """What was read, else why it was not."""
        try:
            return await read
        except HermesTuiError as error:
            return [Paragraph(safe(str(error)), style="warning")]
        except Exception as error:  # a bug must not leave the screen waiting for ever
            return [Paragraph(f"It did not work ({type(error).__name__}: {safe(str(error))}).", style="warning")]

    # Keys --------------------------------------------------------------------------------------------------

    def action_ask(self) -> None:
        """Type a question."""
        self.set_focus(self.query_one(Input))

    def action_leave(self) -> None:
        """Leave the line, or the screen."""
        if isinstance(self.focused, Input):
            self.set_focus(self.query_one(Page))
        else:
            self.action_close()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self._question = event.value.strip()
        self._points = [_THIRD, Paragraph("asking …", style="faint")]
        self._show()
        self.set_focus(self.query_one(Page))
        run_beside(self, self._read_points, "points", exclusive=True)


# Layers one and two -------------------------------------------------------------------------------------------


async def _layers(program: Program, summary: SessionSummary) -> list[Paragraph]:
    """What is stored, and what of it the agent has before it. Raises `HermesTuiError`."""
    from hermes_tui.sessions.context.shown import shown_context
    from hermes_tui.sessions.jsontext import json_text

    asked = summary.agent, summary.session_id, _SHOWN, _TEXT + 2
    shown = await in_helper(shown_context, program.manager, *asked)
    session = shown.session
    tables = _TABLES.get(str(session.raw.get("layout", "")), "tables")
    stored = f"{counted(session.message_count, 'message')} in {safe(session.path)}, {tables}"
    blocks = [Paragraph("session", style="heading"), _line("stored", stored)]
    blocks += [_line("note", safe(note)) for note in session.notes]
    for name, value in {"state": session.raw.get("state"), **session.beside}.items():
        if value:
            blocks.append(_line(safe(name), _beginning(json_text(value))))
    blocks += [
        Paragraph(),
        Paragraph("working memory", style="heading"),
        _line("strategy", safe(shown.strategy) or "the whole conversation"),
        _line("keeps", shown.sentence),
    ]
    blocks += [_line("but", safe(shown.note), "warning")] if shown.note else []
    if shown.kept > _SHOWN:
        blocks.append(_line("", f"… {counted(shown.kept - _SHOWN, 'earlier message')}", "faint"))
    return [*blocks, *(_line(label, _beginning(said)) for label, said in shown.last)]


def _beginning(text: str) -> str:
    """As much of a text as is shown; `…` where there is more, for half a figure would be another one."""
    return fit(compact(text, _TEXT + 2), _TEXT + 1)


def _line(label: str, text: str, style: str = "") -> Paragraph:
    return Paragraph(text, label=label, column=_COLUMN, style=style)


# Layer three --------------------------------------------------------------------------------------------------


def _points(program: Program, summary: SessionSummary, question: str) -> list[Paragraph]:
    """What long-term memory holds, or would give for a question. Raises `HermesTuiError`."""
    from hermes_tui.memory.configuration import own_configuration
    from hermes_tui.memory.longterm.session_points import session_points

    agent, session = _owned(summary)
    if not agent:
        return [Paragraph("Nothing says which agent's it is: long-term memory is kept by agent.", style="faint")]
    found = own_configuration(program.manager.environment, agent)
    if found is None:
        where = "a configuration of Hector's at home, or one that HERMES_TUI_HECTOR_PATH names,"
        return [Paragraph(f"No long-term memory is known: {where} has no agent {safe(agent)}.", style="faint")]
    path, configuration = found
    if configuration.agent(agent).long_term is None:
        return [Paragraph(f"{safe(agent)} has none: {safe(str(path))} configures no memory.longterm.", style="faint")]
    others = [
        owned
        for one in program.manager.catalogue.snapshot.sessions
        if one.agent == summary.agent and (agent in (owned := _owned(one)) or session in owned)
    ]
    others += [(name, session) for name in configuration.agents]
    return list(_told_points(session_points(configuration, agent, session, question, others), question, program))


def _owned(summary: SessionSummary) -> Owned:
    """Agent and session as points have them; in version 2 the app stands for the agent."""
    raw = summary.raw
    return str(raw.get("agentId") or raw.get("appName") or ""), str(raw.get("sessionId") or "")


def _told_points(found: SessionPoints, question: str, program: Program) -> list[Paragraph]:
    blocks = [_line("stored", f"{counted(found.total, 'point')} in {safe(found.store)}, by {safe(found.embedder)}")]
    if question:
        blocks.append(_line("asked", _beginning(question), "accent"))
        blocks += [_line(f"{one.score:.2f}", _point(one.point, program)) for one in found.recalled]
        if not found.recalled:
            blocks.append(_line("", "Nothing is recalled.", "faint"))
    else:
        blocks += [_line(safe(one.role), _point(one, program)) for one in found.points]
    if found.others:
        left = ", ".join(f"{count:,} of {safe(agent)}/{safe(session)}" for (agent, session), count in found.others)
        blocks += [Paragraph(), _line("left out", f"{left}: another agent's, or another session's", "faint")]
        blocks += [
            _line(f"{one.score:.2f}", f"{safe(one.point.agent_id)}/{safe(one.point.session_id)} · "
                  f"{_point(one.point, program)}", "faint")
            for one in found.left_out
        ]  # fmt: skip
    return blocks


def _point(point: MemoryPoint, program: Program) -> str:
    when = f"{program.clock.local(point.time):%Y-%m-%d %H:%M} · " if point.time is not None else ""
    return f"{when}{_beginning(point.content)}"
