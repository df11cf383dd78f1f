"""`d`: two sessions side by side."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult

from hermes_tui.cells import width_of
from hermes_tui.display import compact, duration, safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.helper_call import in_helper
from hermes_tui.sessions.diff.shown import ShownDiff, shown_diff
from hermes_tui.sessions.diff.text import side_facts
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.diff.view import DiffView
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.workers.coroutines import run_beside

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["DiffScreen"]


class DiffScreen(FullScreen[None]):
    """Compares beside the screen; shows which two, what each cost, and what is different."""

    AUTO_FOCUS = "DiffView"

    def __init__(self, a: ListedPart, b: ListedPart, manager: SessionManager) -> None:
        super().__init__()
        self._a, self._b = a, b
        self._manager = manager
        self.diff: ShownDiff | None = None
        """The comparison, once it is there."""

    def body(self) -> ComposeResult:
        """What is compared, the comparison."""
        yield Line(id="side-a")
        yield Line(id="side-b")
        yield DiffView()

    def on_mount(self) -> None:
        """Begin to compare."""
        self.show_title([(" Comparison", "bright")])
        for name, one in (("a", self._a), ("b", self._b)):
            self.query_one(f"#side-{name}", Line).show([self._whose(name, one, one.summary.title)])
        self.query_one(DiffView).say("Comparing …")
        run_beside(self, self._run, "diff")

    async def _run(self) -> None:
        a, b = ((one.summary.agent, one.summary.session_id) for one in (self._a, self._b))
        try:
            found = await in_helper(shown_diff, self._manager, a, b)
        except HermesTuiError as error:
            self._fail(str(error))
        except Exception as error:  # a bug of one adapter must not leave the screen waiting for ever
            self._fail(f"the comparison failed ({type(error).__name__}: {error})")
        else:
            self.diff = found
            self.query_one(DiffView).show(found)
            self._label()

    def _fail(self, reason: str) -> None:
        self.query_one(DiffView).say(f"Cannot be compared: {safe(reason)}")

    def _label(self) -> None:
        found = self.diff
        if found is None:
            return
        view = self.query_one(DiffView)
        at, total = view.place
        right: list[tuple[str, str]] = [] if view.shows_uses or not total else [(f"change {at} of {total} ", "faint")]
        left: list[tuple[str, str]] = [(" Comparison", "bright"), ("  ", "")]
        room = self.size.width - sum(width_of(text) for text, _ in (*left, *right)) - 1
        self.show_title([*left, (_counts(found, room), "")], right)
        for name, part, side in (("a", self._a, found.diff.a), ("b", self._b, found.diff.b)):
            whose = self._whose(name, part, side.title)
            # However long the title is, half of the line is for the facts.
            room = self.size.width - min(width_of(whose[0]), self.size.width // 2) - 2
            facts = side_facts(side)
            if side.seconds:
                facts["time"] = duration(timedelta(seconds=side.seconds))
            # As many as there is room for: what it cost stays longest, how many calls it made goes first.
            for fact in ("calls", "model", "time", "messages", "tokens"):
                if width_of(" · ".join(facts.values())) <= room:
                    break
                facts.pop(fact, None)
            self.query_one(f"#side-{name}", Line).show([whose], [(f"{' · '.join(facts.values())} ", "faint")])

    @staticmethod
    def _whose(side: str, part: ListedPart, title: str) -> tuple[str, str]:
        mark = "−" if side == "a" else "+"
        said = " · ".join(one for one in (safe(part.summary.agent), str(part)) if one)
        return f" {mark} {compact(title, 100) or 'untitled'}  {said}", ""

    def on_resize(self) -> None:
        """Say as much as there is room for."""
        self._label()

    @on(DiffView.Moved)
    def _moved(self) -> None:
        self._label()


def _counts(found: ShownDiff, room: int) -> str:
    """How many messages differ, and how; kinds without any are left out where there is little room."""
    stats = found.diff.stats
    counts = {
        "changed": stats.modifications,
        "act otherwise": found.other_calls,
        "removed": stats.removals,
        "added": stats.additions,
        "the same": stats.unchanged - found.other_calls,
    }
    if not found.other_calls:
        del counts["act otherwise"]
    said = ", ".join(f"{number} {what}" for what, number in counts.items())
    if width_of(said) > room:
        said = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    return said
