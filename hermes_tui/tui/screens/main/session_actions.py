"""What is done with a session as a whole, from list and transcript: compare, export, copy, read elsewhere.

Everything that reads a store or writes a file happens beside the screen (`session_work`), which is told how it went.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import aside
from hermes_tui.tui.widgets.session_list.rows import Conversation, ListedPart
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from session_adapters.model import SessionSummary, unified_id

if TYPE_CHECKING:
    from hermes_tui.sessions.native import Verb
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.screens.dialogs.export import ExportChoice

__all__ = ["SessionActions"]


class SessionActions(Screen[None]):
    """For a screen with the list and the transcript."""

    if TYPE_CHECKING:

        @property
        def sessions(self) -> SessionList:
            """The list."""
            raise NotImplementedError

        @property
        def pane(self) -> TranscriptPane:
            """The transcript."""
            raise NotImplementedError

        @property
        def is_reading(self) -> bool:
            """The transcript has the keys."""
            raise NotImplementedError

    @property
    def _program(self) -> HermesApp:
        return cast("HermesApp", self.app)

    @property
    def subject(self) -> SessionSummary | None:
        """The session that keys act on: the one that is read, else the one under the cursor."""
        if self.is_reading and self.pane.summary is not None:
            return self.pane.summary
        highlighted = self.sessions.highlighted
        return highlighted.tip if highlighted is not None else None

    def _nothing_here(self) -> None:
        self.notify("There is no session here.", markup=False)

    # Compare -----------------------------------------------------------------------------------------------

    def _pair(self) -> tuple[ListedPart, ListedPart] | None:
        """The two marked ones; one marked and this one; a fork and what it came from."""
        part = self.sessions.forest.part
        marked = [part(conversation.tip.unified_id) for conversation in self.sessions.marked]
        found = [one for one in marked if one is not None]
        subject = self.subject
        if len(found) < 2 and subject is not None:
            found = [one for one in found if one.summary.unified_id != subject.unified_id]
            if not found and subject.kind == "fork" and subject.parent_id:
                found = [one for one in [part(unified_id(subject.agent, subject.parent_id))] if one is not None]
            found.append(part(subject.unified_id) or ListedPart(subject))
        return (found[0], found[1]) if len(found) == 2 else None

    def action_diff(self) -> None:
        """Show two sessions side by side."""
        from hermes_tui.tui.screens.diff import DiffScreen

        pair = self._pair()
        if pair is None:
            said = "Mark two sessions with space, then press d; a fork is compared with its origin."
            self.notify(said, markup=False)
            return
        self.app.push_screen(DiffScreen(*pair, self._program.manager.diff))

    # Export ------------------------------------------------------------------------------------------------

    def action_export(self) -> None:
        """Ask how and where, and write it."""
        from hermes_tui.tui.screens.dialogs.export import ExportScreen

        subject = self.subject
        if subject is None:
            self._nothing_here()
            return
        home: Conversation | None = self.sessions.forest.by_session.get(subject.unified_id)
        parts: Sequence[SessionSummary] = home.parts if home is not None else (subject,)

        def wished(wish: ExportChoice | None) -> None:
            if wish is not None:
                self.run_worker(self._export(subject, parts, wish), group="session", exit_on_error=True)

        self.app.push_screen(ExportScreen(subject, len(parts), Path("~"), self._program.named_home), wished)

    async def _export(self, subject: SessionSummary, parts: Sequence[SessionSummary], wish: ExportChoice) -> None:
        from hermes_tui.tui.screens.main.session_work import beside, write_export

        try:
            said = await beside(partial(write_export, self._program.manager, subject, parts, wish))
        except Exception as error:
            self._failed(error)
        else:
            self.notify(safe(said), markup=False, timeout=10)

    def _failed(self, error: Exception) -> None:
        """Say what went wrong. A bug of one adapter is told, too, and the program goes on."""
        known = isinstance(error, HermesTuiError)
        said = str(error) if known else f"It did not work ({type(error).__name__}: {error})"
        self.notify(safe(said), severity="error", markup=False, timeout=10)

    # Copy --------------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Ask what to copy."""
        from hermes_tui.tui.screens.dialogs.copy import CopyMenu, copyables, native_commands

        subject = self.subject
        if subject is None:
            self._nothing_here()
            return
        shown = self.pane.summary
        message = self.pane.message if shown is not None and shown.unified_id == subject.unified_id else None
        offered = copyables(subject, message, self._program.named_home)
        agent = self._program.manager.saved_labels.get(subject.agent)
        commands = {
            key: one
            for key, one in native_commands(safe(agent.label if agent is not None else subject.agent)).items()
            if self._program.manager.offers(subject, one.verb)
        }

        menu = CopyMenu(offered, list(commands.values()))

        def chosen(key: str | None) -> None:
            if key in commands:
                verb = commands[key].verb
                work = self._copy_command(subject, verb, masked=menu.masks)
            elif key is not None:
                work = self._copy(next(one.text for one in offered if one.choice.key == key), masked=menu.masks)
            else:
                return
            self.run_worker(work, group="session", exit_on_error=True)

        self.app.push_screen(menu, chosen)

    async def _copy_command(self, subject: SessionSummary, verb: Verb, *, masked: bool) -> None:
        """Looking for the program, and whether the session is open elsewhere, may take a moment."""
        manager = self._program.manager
        try:
            start = await aside(
                manager.resume if verb == "resume" else manager.fork, subject.agent, subject.session_id
            )
        except HermesTuiError as error:
            self._failed(error)
            return
        await self._copy(start.line, masked=masked)
        told = [f"As it is the command would fail: {one.text}." for one in start.obstacles]
        for text in (*told, *(f"{warning}." for warning in start.warnings)):
            self.notify(safe(text), severity="warning", markup=False, timeout=10)

    async def _copy(self, text: str, *, masked: bool) -> None:
        """Copy it, and say how much went where, and how many secrets were `masked`."""
        from hermes_tui.platform.clipboard import copy
        from hermes_tui.redact import Redactor

        report = ""
        if masked:
            redactor = Redactor()
            text = await aside(redactor.text, text)
            report = f" {redactor.report[0].upper()}{redactor.report[1:]}."
        try:
            said = copy(self.app, text)
        except OSError as error:
            self.notify(f"Cannot be copied: {error.strerror or error}", severity="error", markup=False)
        else:
            self.notify(said + report, markup=False)

    # Elsewhere ---------------------------------------------------------------------------------------------

    def action_pager(self) -> None:
        """Read it in the user's pager."""
        from hermes_tui.platform.external import pager

        self._elsewhere(pager)

    def action_editor(self) -> None:
        """Open it in the user's editor."""
        from hermes_tui.platform.external import editor

        self._elsewhere(editor)

    def _elsewhere(self, program: Callable[[], list[str]]) -> None:
        """Write the session as Markdown into a private file, and hand the terminal to `program` with it."""
        subject = self.subject
        if subject is None:
            self._nothing_here()
            return
        try:
            argv = program()
        except HermesTuiError as error:
            self._failed(error)
            return
        self.run_worker(self._read_elsewhere(subject, argv), group="session", exit_on_error=True)

    async def _read_elsewhere(self, subject: SessionSummary, argv: Sequence[str]) -> None:
        from hermes_tui.tui.screens.main.session_work import beside, write_for_reading

        try:
            name = await beside(partial(write_for_reading, self._program.manager, subject))
        except Exception as error:
            self._failed(error)
        else:
            self._hand_over(argv, name)

    def _hand_over(self, argv: Sequence[str], name: str) -> None:
        from hermes_tui.platform.external import run_outside

        try:
            code = run_outside(self.app, [*argv, name]) if self.is_attached else 0
        except HermesTuiError as error:
            self._failed(error)
        else:
            if code:
                self.notify(f"{safe(argv[0])} ended with code {code}.", severity="warning", markup=False)
        finally:
            Path(name).unlink(missing_ok=True)  # an editor may have moved it
