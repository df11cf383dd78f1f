"""`D`: all edits of a session as one diff, by file."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult

from hermes_tui.display import compact, counted, safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.sessions.edits.collect import FileDiff, SessionEdits
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.diff.edits_view import EditsView
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["EditsScreen"]

_SAID_EVERY = 0.1
"""Seconds between two words on how far it is."""


class EditsScreen(FullScreen[None]):
    """Reads the session beside the screen, all of it, and says how far it is."""

    AUTO_FOCUS = "EditsView"

    def __init__(self, summary: SessionSummary, manager: SessionManager, export: Callable[[], None]) -> None:
        """`export` asks where the patch is to be written."""
        super().__init__()
        self._summary = summary
        self._manager = manager
        self._export = export
        self._far = ""  # written by the thread, shown by a timer
        self._not_read = 0
        self.edits: tuple[SessionEdits, tuple[FileDiff, ...]] | None = None
        """What was found, once all is read, and the diffs of its files."""

    def body(self) -> ComposeResult:
        """The files."""
        yield EditsView()

    def on_mount(self) -> None:
        """Begin to read."""
        self._label()
        self.query_one(EditsView).say("Reading …")
        self._timer = self.set_interval(_SAID_EVERY, self._say_how_far)
        run_beside(self, self._run, "edits")

    async def _run(self) -> None:
        view, over = self.query_one(EditsView), Event()
        try:
            self.edits = await in_thread(self._collect, over)
        except HermesTuiError as error:
            view.say(f"Cannot be read: {safe(str(error))}")
        except Exception as error:  # a bug of one adapter must not leave the screen waiting for ever
            view.say(f"Cannot be read: the reading failed ({type(error).__name__}: {safe(str(error))})")
        else:
            view.say("" if self.edits[1] else "No call of this session edited a file.")
            view.show(self.edits[1])
            self._label()
        finally:
            over.set()
            self._timer.stop()

    def _collect(self, over: Event) -> tuple[SessionEdits, tuple[FileDiff, ...]]:
        """In a thread, until `over`: nobody waits for it any more."""
        transcript = self._manager.open(self._summary.agent, self._summary.session_id)
        found = SessionEdits(self._summary.cwd)
        for share, messages in transcript.whole():
            far = f"{share:.0%}".replace("%", " %") if share else counted(len(transcript.messages), "message")
            self._far = f"Reading … {far}"
            for message in messages:
                found.take(message)
            del messages  # before the next are read
            if over.is_set():
                break
        found.end()
        self._not_read = len(transcript.problems)
        return found, tuple(FileDiff.of(file) for file in found.files if not over.is_set())

    def _say_how_far(self) -> None:
        if self._far and self.edits is None:
            self.query_one(EditsView).say(self._far)

    def _label(self) -> None:
        left = [(" Edits", "bright"), (f"  {compact(self._summary.title, 100) or 'untitled'}", "")]
        if self.edits is None:
            self.show_title(left)
            return
        found, files = self.edits
        added, removed = sum(one.added for one in files), sum(one.removed for one in files)
        failed = f" · {found.failed} failed" if found.failed else ""
        failed += f" · {found.unanswered} without a result" if found.unanswered else ""
        failed += " · not all could be read" if self._not_read else ""
        at = self.query_one(EditsView).file + 1
        where = f"{at} of {counted(len(files), 'file')}" if files else "no files"
        self.show_title(left, [(f"{where} · +{added:,} −{removed:,}{failed} ", "faint")])

    @on(EditsView.Moved)
    def _moved(self) -> None:
        self._label()

    def action_export(self) -> None:
        """Write them as a patch."""
        if self.edits is not None and not self.edits[1]:
            self.notify("There is nothing to export: no call of this session edited a file.")
        else:
            self._export()
