"""The dialog that asks whether everything counts as seen: no key takes that back."""

from __future__ import annotations

from hermes_tui.display import counted
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.confirm import ConfirmScreen
from hermes_tui.tui.widgets.buttons import Buttons
from hermes_tui.tui.widgets.page import Paragraph

__all__ = ["AllSeenScreen"]


class AllSeenScreen(ConfirmScreen[bool]):
    """Gives True where it was agreed to."""

    BINDINGS = bindings("plan")

    def __init__(self, count: int) -> None:
        """`count`: of the sessions with something new in them."""
        super().__init__(f"Count {counted(count, 'session')} as seen?")

    def on_mount(self) -> None:
        """Ask."""
        text = "Everything with something new in it, in this list or not. Approvals and questions go on waiting."
        self.ask(self.heading, [Paragraph(text)], "Count as seen (y)")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is to be planned by another rule."""
        return action != "force"

    def action_confirm(self) -> None:
        """Yes; ignored where it may have been typed before this was to be seen."""
        if self.agreed():
            self.dismiss(True)

    def action_choose(self) -> None:
        """What the chosen button says."""
        if self.query_one(Buttons).chosen == 0:
            self.dismiss(None)
        else:
            self.action_confirm()
