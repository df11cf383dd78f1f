"""Actions on a whole session, from list and transcript: diff, export, copy.

Everything that reads a store or writes a file happens beside the screen, what takes all of a session in a process of
its own; the screen is told how it went.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.helper_call import in_helper
from hermes_tui.sessions.marks import NO_MARKS, MarkChange
from hermes_tui.tui.screens.main.actions.marked_actions import MarkedActions
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.sessions.export.files import ExportChoice
    from hermes_tui.sessions.native.plan import Start, Verb
    from hermes_tui.tui.screens.dialogs.start_agent import Agreed

__all__ = ["SessionActions"]


class SessionActions:
    """Each acts on the session that is read, else on the one under the cursor."""

    def __init__(self, parts: MainParts) -> None:
        self._parts = parts
        self._screen = parts.screen
        self._program = parts.program
        self._marked = MarkedActions(parts, self._run, self._tell)

    def _subject(self) -> SessionSummary | None:
        """The session to act on; where there is none, that is said."""
        subject = self._parts.subject
        if subject is None:
            self._screen.notify("There is no session here.")
        return subject

    def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do this beside the screen. What goes wrong is said; a bug of one adapter too, and the program goes on."""

        async def told() -> None:
            try:
                await work()
            except Exception as error:
                self._failed(error)

        run_beside(self._screen, told, "session")

    def _failed(self, error: Exception) -> None:
        known = isinstance(error, HermesTuiError)
        self._tell(str(error) if known else f"It did not work ({type(error).__name__}: {error})", bad=True)

    def diff(self) -> None:
        """Show two sessions side by side."""
        self._marked.compare()

    # Own marks ---------------------------------------------------------------------------------------------

    def pin(self) -> None:
        """Pin the conversation by this session; unpin every part of it."""
        subject = self._subject()
        if subject is None:
            return
        pinned = [part.unified_id for part in self._whole(subject) if part.pinned]
        change = MarkChange(pinned=not pinned)
        self._run(partial(self._mark, pinned or [subject.unified_id], change))

    def marks(self) -> None:
        """Ask for name, tags and note of the session, or of the newest part of its conversation that has any."""
        from hermes_tui.tui.screens.dialogs.marks import MarksScreen

        if self._marked.tag():
            return
        subject = self._subject()
        if subject is None:
            return
        try:
            known = self._program.manager.marks.all()
        except HermesTuiError as error:
            self._failed(error)
            return
        parts = [subject, *reversed(self._whole(subject))]
        marked = next((part for part in parts if part.unified_id in known), subject)
        tags = sorted({tag for marks in known.values() for tag in marks.tags})
        marks = known.get(marked.unified_id, NO_MARKS)
        keep = partial(self._mark, [marked.unified_id])
        self._program.push_screen(MarksScreen(marked, marks, tags, keep, self._program.named_home))

    def _whole(self, subject: SessionSummary) -> Sequence[SessionSummary]:
        """The parts of its conversation, oldest first."""
        home = self._parts.sessions.forest.by_session.get(subject.unified_id)
        return home.parts if home is not None else (subject,)

    async def _mark(self, unified_ids: Sequence[str], change: MarkChange) -> None:
        await in_thread(self._program.manager.marks.change, unified_ids, change)
        self._program.look_at_marks()

    # Export ------------------------------------------------------------------------------------------------

    def edits(self) -> None:
        """Show all its edits as one diff, by file."""
        from hermes_tui.tui.screens.edits import EditsScreen

        if (subject := self._subject()) is not None:
            as_patch = partial(self.export, subject, "patch")
            self._program.push_screen(EditsScreen(subject, self._program.manager, as_patch))

    def export(
        self, subject: SessionSummary | None = None, form: str = "markdown", then: Callable[[str], None] | None = None
    ) -> None:
        """Ask how and where, and write it; `then` is told what was written, in the place of the user."""
        from hermes_tui.sessions.export.files import write_export
        from hermes_tui.tui.screens.dialogs.export import ExportScreen

        if subject is None and self._marked.export():
            return
        if (subject := subject or self._subject()) is None:
            return
        parts = self._whole(subject)

        async def written(wish: ExportChoice) -> None:
            (then or self._tell)(await in_helper(write_export, self._program.manager, subject, parts, wish))

        def wished(wish: ExportChoice | None) -> None:
            if wish is not None:
                self._run(partial(written, wish))

        screen = ExportScreen(subject, len(parts), Path("~"), self._program.named_home, form)
        self._program.push_screen(screen, wished)

    # Copy --------------------------------------------------------------------------------------------------

    def copy(self) -> None:
        """Ask what to copy."""
        from hermes_tui.tui.screens.dialogs.copy import CopyMenu, copyables, native_commands

        subject = self._subject()
        if subject is None:
            return
        shown = self._parts.pane.summary
        message = self._parts.pane.message if shown is not None and shown.unified_id == subject.unified_id else None
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
                work = partial(self._copy_command, subject, verb, masked=menu.masks)
            elif key is not None:
                text = next(one.text for one in offered if one.choice.key == key)
                work = partial(self._copy, text, masked=menu.masks)
            else:
                return
            self._run(work)

        self._program.push_screen(menu, chosen)

    async def _copy_command(self, subject: SessionSummary, verb: Verb, *, masked: bool) -> None:
        """Looking for the program, and whether the session is open elsewhere, may take a moment."""
        manager = self._program.manager
        make = manager.resume if verb == "resume" else manager.fork
        start = await in_thread(make, subject.agent, subject.session_id)
        await self._copy(start.line, masked=masked)
        told = [f"As it is the command would fail: {one.text}." for one in start.obstacles]
        for text in (*told, *(f"{warning}." for warning in start.warnings)):
            self._screen.notify(safe(text), severity="warning", timeout=10)

    async def _copy(self, text: str, *, masked: bool) -> None:
        """Copy it, and say how much went where, and how many secrets were `masked`."""
        from hermes_tui.platform.clipboard import copy as write
        from hermes_tui.redact.redactor import Redactor

        report = ""
        if masked:
            redactor = Redactor()
            text = await in_thread(redactor.text, text)
            report = f" {redactor.report[0].upper()}{redactor.report[1:]}."
        try:
            said = write(self._program, text)
        except OSError as error:
            self._screen.notify(f"Cannot be copied: {error.strerror or error}", severity="error")
        else:
            self._screen.notify(said + report)

    # Elsewhere ---------------------------------------------------------------------------------------------

    def pager(self) -> None:
        """Read it in the user's pager."""
        from hermes_tui.platform.external_programs import pager

        self._elsewhere(pager)

    def editor(self) -> None:
        """Open it in the user's editor."""
        from hermes_tui.platform.external_programs import editor

        self._elsewhere(editor)

    def _elsewhere(self, program: Callable[[], list[str]]) -> None:
        """Write the session as Markdown into a private file, and hand the terminal to `program` with it."""
        subject = self._subject()
        if subject is None:
            return
        try:
            argv = program()
        except HermesTuiError as error:
            self._failed(error)
            return

        async def read() -> None:
            from hermes_tui.platform.external_programs import run_outside
            from hermes_tui.sessions.export.files import file_for_reading, write_for_reading

            with file_for_reading() as path:
                await in_helper(write_for_reading, self._program.manager, subject, path)
                code = run_outside(self._program, [*argv, str(path)]) if self._screen.is_attached else 0
                if code:
                    self._screen.notify(f"{safe(Path(argv[0]).name)} ended with code {code}.", severity="warning")

        self._run(read)

    def lane(self) -> None:
        """Show what became of the conversations of the lane that the session was in."""
        from hermes_tui.tui.screens.lanes.history import history_of_session

        subject = self._subject()
        if subject is None:
            return
        screen = history_of_session(self._program, subject)
        if screen is None:
            self._screen.notify("This session is in no lane of Hermes' gateway.")
        else:
            self._program.push_screen(screen)

    # The pane in which it runs ------------------------------------------------------------------------

    def jump(self) -> None:
        """Bring the terminal to the tmux pane in which the session runs."""
        subject = self._subject()
        if subject is not None:
            self.jump_to(subject)

    def jump_to(self, subject: SessionSummary) -> None:
        """The same, to any session."""

        async def go() -> None:
            from hermes_tui.attention.jump import CannotJump, jump

            manager = self._program.manager
            live = manager.catalogue.processes.get(subject.unified_id)
            try:
                pane = await in_thread(jump, live.pid if live is not None else None, proc=manager.environment.proc)
            except CannotJump as error:
                self._tell(f"Cannot jump: {error}.", bad=True)
                if not error.is_open:
                    self._propose("resume", subject)
            else:
                self._tell(f"Jumped to pane {pane.name}.")

        self._run(go)

    # The agent's own CLI ------------------------------------------------------------------------------

    def resume(self) -> None:
        """Resume the session in the agent's own CLI."""
        self._propose("resume")

    def fork(self) -> None:
        """A new session that starts with the messages of this one."""
        self._propose("fork")

    def _propose(self, verb: Literal["resume", "fork"], subject: SessionSummary | None = None) -> None:
        """Show what would be started. At once: what is typed next must not reach the list any more."""
        from hermes_tui.tui.screens.dialogs.start_agent import StartScreen

        subject = subject or self._subject()
        if subject is None:
            return
        manager = self._program.manager
        plan = manager.resume if verb == "resume" else manager.fork

        def make(directory: str | None) -> Start:
            return plan(subject.agent, subject.session_id, cwd=directory)

        home = self._program.named_home
        screen = StartScreen(verb, make, tmux=bool(os.environ.get("TMUX")), home=home)
        self._program.push_screen(screen, self._agreed)

    def _agreed(self, agreed: Agreed | None) -> None:
        if agreed is None:
            return
        start = agreed.start

        async def open_it() -> None:
            from hermes_tui.sessions.native.start import open_window

            try:
                await in_thread(open_window, start)
            except HermesTuiError as error:
                self._tell(str(error), bad=True)
            else:
                self._tell(f"{start.label} runs in a new window of tmux.")

        if agreed.where == "window":
            run_beside(self._program, open_it, "native")
        else:
            # Not before the question is off the screen: afterwards the screen looks as before.
            self._program.call_after_refresh(self._run_here, start)

    def _run_here(self, start: Start) -> None:
        from hermes_tui.platform.external_programs import run_start

        try:
            start.check()
            code = run_start(self._program, start)
        except HermesTuiError as error:
            self._tell(str(error), bad=True)
            return
        if code:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self._tell(f"{start.label} {how}.", bad=True)
        elif start.verb == "resume":
            self._run(partial(self._seen_there, start))
        self._program.action_refresh()

    async def _seen_there(self, start: Start) -> None:
        for one in await in_thread(self._program.manager.matches, start.agent, start.session_id):
            if one.session_id == start.session_id:
                self._program.see(one)

    def _tell(self, text: str, *, bad: bool = False) -> None:
        self._program.notify(safe(text), severity="error" if bad else "information", timeout=10)
