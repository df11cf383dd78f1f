"""Actions on several marked sessions together: comparison, export, tags."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from hermes_tui.display import counted
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.helper_call import in_helper
from hermes_tui.sessions.marks import MarkChange
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from session_adapters.model import SessionSummary, unified_id

__all__ = ["MarkedActions"]


class MarkedActions:
    """Export and tags are for all marked sessions, where the list has the keys and two or more are marked."""

    def __init__(
        self, parts: MainParts, run: Callable[[Callable[[], Awaitable[None]]], None], tell: Callable[[str], None]
    ) -> None:
        """`run` does something beside the screen, `tell` says how it went."""
        self._parts = parts
        self._program = parts.program
        self._run = run
        self._tell = tell

    def _several(self) -> Sequence[SessionSummary]:
        """The marked ones, by the part with which each goes on; none where one session is meant."""
        marked = [one.tip for one in self._parts.sessions.marked]
        return marked if len(marked) > 1 and not self._parts.is_reading else ()

    def compare(self) -> None:
        """Show two sessions side by side: the marked ones, else this one and a marked one, or its origin."""
        from hermes_tui.tui.screens.diff import DiffScreen

        part, marked = self._parts.sessions.forest.part, self._parts.sessions.marked
        found = [one for one in (part(each.tip.unified_id) for each in marked) if one is not None]
        subject = self._parts.subject
        if len(found) < 2 and subject is not None:
            found = [one for one in found if one.summary.unified_id != subject.unified_id]
            if not found and subject.kind == "fork" and subject.parent_id:
                found = [one for one in [part(unified_id(subject.agent, subject.parent_id))] if one is not None]
            found.append(part(subject.unified_id) or ListedPart(subject))
        if len(marked) > 2:
            self._parts.screen.notify(f"{len(marked)} sessions are marked; a comparison takes two.")
        elif len(found) != 2:
            self._parts.screen.notify(
                "Mark two sessions with space, then press d; a fork is compared with its origin."
            )
        else:
            self._program.push_screen(DiffScreen(found[0], found[1], self._program.manager))

    def export(self) -> bool:
        """Ask how, and into which folder, and write a file for each; False where one session is meant."""
        sessions = self._several()
        if not sessions:
            return False
        from hermes_tui.sessions.export.files import ExportChoice, write_exports
        from hermes_tui.tui.screens.dialogs.export import ExportScreen

        async def work(wish: ExportChoice) -> None:
            self._tell(await in_helper(write_exports, self._program.manager, sessions, wish))

        def wished(wish: ExportChoice | None) -> None:
            if wish is not None:
                self._run(partial(work, wish))

        screen = ExportScreen(sessions[0], 1, Path("~"), self._program.named_home, others=sessions[1:])
        self._program.push_screen(screen, wished)
        return True

    def tag(self) -> bool:
        """Ask for tags to add and to take away; False where one session is meant."""
        sessions = self._several()
        if not sessions:
            return False
        from hermes_tui.tui.screens.dialogs.tags import TagsScreen

        async def keep(change: MarkChange) -> None:
            await in_thread(self._program.manager.marks.change, [one.unified_id for one in sessions], change)
            self._program.look_at_marks()
            self._tell(f"Changed the tags of {counted(len(sessions), 'session')}.")

        self._program.push_screen(TagsScreen(sessions, keep))
        return True
