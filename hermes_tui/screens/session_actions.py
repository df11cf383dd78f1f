"""What is done with a session as a whole, from list and transcript: compare, export, copy, read elsewhere.

Everything that reads a store or writes a file happens in a thread; the screen is told how it went.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from textual.screen import Screen

from hermes_tui.display import size
from hermes_tui.errors import HermesTuiError
from hermes_tui.widgets.session_list import SessionList
from hermes_tui.widgets.session_rows import Conversation
from hermes_tui.widgets.transcript.pane import TranscriptPane
from session_adapters.model import SessionSummary, unified_id

if TYPE_CHECKING:
    from hermes_tui.app import HermesApp
    from hermes_tui.screens.copying import Copyable
    from hermes_tui.screens.export import Wish

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

    def _in_thread(self, work: Callable[[], str]) -> None:
        """Do `work` in a thread and say what it returns, or what kept it from it."""

        def run() -> None:
            severity: Literal["information", "error"] = "information"
            try:
                said = work()
            except HermesTuiError as error:
                said, severity = str(error), "error"
            except Exception as error:  # a bug of one adapter: told, and the program goes on
                said, severity = f"It did not work ({type(error).__name__}: {error})", "error"
            if said:
                self.app.call_from_thread(self.notify, said, severity=severity, markup=False, timeout=10)

        self.run_worker(run, thread=True, group="session", exit_on_error=False)

    def _nothing_here(self) -> None:
        self.notify("There is no session here.", markup=False)

    # Compare -----------------------------------------------------------------------------------------------

    def _pair(self) -> tuple[SessionSummary, SessionSummary] | None:
        """The two marked ones; one marked and this one; a fork and what it came from."""
        marked = [conversation.tip for conversation in self.sessions.marked]
        subject = self.subject
        if len(marked) == 2:
            return marked[0], marked[1]
        if subject is None:
            return None
        if marked and marked[0].unified_id != subject.unified_id:
            return marked[0], subject
        if subject.kind == "fork" and subject.parent_id:
            home = self.sessions.forest.by_session.get(unified_id(subject.agent, subject.parent_id))
            if home is not None:
                parent = unified_id(subject.agent, subject.parent_id)
                return next(part for part in home.parts if part.unified_id == parent), subject
        return None

    def action_diff(self) -> None:
        """Show two sessions side by side."""
        from hermes_tui.screens.diff import DiffScreen

        pair = self._pair()
        if pair is None:
            said = "Mark two sessions with space, then press d; a fork is compared with its origin."
            self.notify(said, markup=False)
            return
        self.app.push_screen(DiffScreen(*pair, self._program.manager.diff))

    # Export ------------------------------------------------------------------------------------------------

    def action_export(self) -> None:
        """Ask how and where, and write it."""
        from hermes_tui.screens.export import ExportScreen

        subject = self.subject
        if subject is None:
            self._nothing_here()
            return
        home: Conversation | None = self.sessions.forest.by_session.get(subject.unified_id)
        parts: Sequence[SessionSummary] = home.parts if home is not None else (subject,)

        def wished(wish: Wish | None) -> None:
            if wish is not None:
                self._in_thread(lambda: self._write(subject, parts, wish))

        self.app.push_screen(ExportScreen(subject, len(parts), Path("~")), wished)

    def _write(self, subject: SessionSummary, parts: Sequence[SessionSummary], wish: Wish) -> str:
        from hermes_tui.redact import Redactor
        from hermes_tui.sessions.export import export, export_lineage
        from hermes_tui.sessions.export.target import write_file

        manager = self._program.manager
        redactor = Redactor() if wish.redact else None
        if wish.lineage:
            every = (manager.get(part.agent, part.session_id) for part in parts)
            written = export_lineage(every, wish.form, redactor=redactor)
        else:
            written = export(manager.get(subject.agent, subject.session_id), wish.form, redactor=redactor)
        octets = write_file(wish.path, written, replace=wish.replace)
        masked = f"; {redactor.report}" if redactor is not None else ""
        return f"Wrote {wish.path} ({size(octets)}){masked}"

    # Copy --------------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Ask what to copy."""
        from hermes_tui.screens.copying import copyables
        from hermes_tui.screens.menu import MenuScreen

        subject = self.subject
        if subject is None:
            self._nothing_here()
            return
        shown = self.pane.summary
        message = self.pane.message if shown is not None and shown.unified_id == subject.unified_id else None
        offered = copyables(subject, message)

        def chosen(key: str | None) -> None:
            if key is not None:
                self._copy(next(one for one in offered if one.choice.key == key))

        self.app.push_screen(MenuScreen("Copy", [one.choice for one in offered]), chosen)

    def _copy(self, one: Copyable) -> None:
        from hermes_tui.clipboard import copy

        try:
            said = copy(self.app, one.text)
        except OSError as error:
            self.notify(f"Cannot be copied: {error.strerror or error}", severity="error", markup=False)
        else:
            self.notify(said, markup=False)

    # Elsewhere ---------------------------------------------------------------------------------------------

    def action_pager(self) -> None:
        """Read it in the user's pager."""
        from hermes_tui.external import pager

        self._elsewhere(pager)

    def action_editor(self) -> None:
        """Open it in the user's editor."""
        from hermes_tui.external import editor

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
            self.notify(str(error), severity="error", markup=False)
            return

        def prepare() -> str:
            from hermes_tui.sessions.export import export

            session = self._program.manager.get(subject.agent, subject.session_id)
            handle, name = tempfile.mkstemp(prefix="hermes-tui-", suffix=".md")
            with open(handle, "wb") as file:  # noqa: PTH123  (a descriptor)
                file.writelines(export(session, "markdown"))
            self.app.call_from_thread(self._hand_over, argv, name)
            return ""

        self._in_thread(prepare)

    def _hand_over(self, argv: Sequence[str], name: str) -> None:
        from hermes_tui.external import run_outside

        try:
            if self.is_attached:
                code = run_outside(self.app, [*argv, name])
                if code:
                    self.notify(f"{argv[0]} ended with code {code}.", severity="warning", markup=False)
        except HermesTuiError as error:
            self.notify(str(error), severity="error", markup=False)
        finally:
            os.unlink(name)  # noqa: PTH108
