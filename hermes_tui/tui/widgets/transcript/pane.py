"""The transcript pane: newest messages first, earlier ones by scrolling up.

Only what is in view is ever laid out. `hermes_tui.tui.widgets.transcript.loading` has how messages come into it,
`hermes_tui.tui.widgets.transcript.finding` how one is looked for; here is what keys and mouse do.
"""

from __future__ import annotations

from textual import events
from textual.message import Message as Event

from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.transcript.finding import TranscriptFinding
from hermes_tui.tui.widgets.transcript.keys import BINDINGS
from hermes_tui.tui.widgets.transcript.layout.blocks import SHUT
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position

__all__ = ["TranscriptPane"]


class TranscriptPane(TranscriptFinding, can_focus=True, inherit_bindings=False):
    """One session's messages. `show` it a transcript, `poll` it when the store may have changed.

    At the end it follows what comes; any key that leaves the end stops that. The line under the cursor is what the
    keys act on; the block it belongs to is marked at the left edge.
    """

    BINDINGS = BINDINGS

    class Refused(Event):
        """An action could not run; `reason` is one sentence."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class NoMore(Event):
        """There is no further match in this conversation, in the direction of `step`."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, clock: Clock | None = None, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(clock or Clock(), id=id)

    def _refuse(self, reason: str) -> None:
        self.post_message(self.Refused(reason))

    def _no_more(self, step: int) -> None:
        self.post_message(self.NoMore(step))

    def _arrived(self, read_all: bool, added: int) -> None:
        if self._wanted != "prompt":
            super()._arrived(read_all, added)
        elif self._go_to_prompt(-1) or read_all:
            self._wanted = ""

    # Events

    def _taken(self) -> None:
        """Who takes the scrollbar or the wheel no longer waits for the beginning."""
        self._wanted = ""

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the line; a second click opens or closes what is there."""
        offset = event.get_content_offset(self)
        rows = self._view.rows()
        if offset is None or not 0 <= offset.y < len(rows):
            return
        again = rows[offset.y].position == self._view.cursor
        self._view.go(rows[offset.y].position)
        self._settle()
        if again:
            self.action_fold()

    # Actions

    def _moved(self) -> None:
        self._wanted = ""
        self._settle()

    def action_move(self, lines: int) -> None:
        """Move the cursor."""
        self._view.move(lines)
        self._moved()

    def action_page(self, pages: int) -> None:
        """Move the view by a page, one line kept."""
        self._view.scroll(pages * max(self._view.height - 1, 1))
        self._moved()

    def action_half_page(self, pages: int) -> None:
        """Move the view by half a page."""
        self._view.scroll(pages * max(self._view.height // 2, 1))
        self._moved()

    def action_first(self) -> None:
        """Go to the very first message, reading all that is before."""
        self._view.go(self._view.first)
        self._wanted = "" if self._view.complete else "first"
        self._settle()

    def action_follow(self) -> None:
        """Go to the end and follow."""
        self._view.follow()
        self._moved()

    def action_prompt(self, step: int) -> None:
        """Go to the next or the previous prompt, reading what is before where it has to be."""
        self._wanted = ""
        if not self._go_to_prompt(step):
            if step < 0 and not self._view.complete and self._view.is_ready:
                self._view.go(self._view.first)
                self._wanted = "prompt"
            else:
                self.post_message(self.Refused("There is no further prompt " + ("below" if step > 0 else "above")))
        self._settle()

    def _go_to_prompt(self, step: int) -> bool:
        view = self._view
        if not view.is_ready:
            return False
        entries = view.column.entries
        here = view.cursor
        index = here.entry
        if step < 0 and entries and entries[index].message.is_prompt:
            head = Position(index, view.rendered(index).head("prose"))
            if head < here:
                view.go(head, at_top=True)
                return True
        index += step
        while 0 <= index < len(entries):
            if entries[index].message.is_prompt and entries[index].height:
                view.go(Position(index, view.rendered(index).head("prose")), at_top=True)
                return True
            index += step
        return False

    def action_fold(self) -> None:
        """Open or close the block under the cursor."""
        self._toggle(everything=False)

    def action_see_all(self) -> None:
        """Open the block under the cursor, and show what was cut of it."""
        self._toggle(everything=True)

    def _toggle(self, *, everything: bool) -> None:
        if not self._view.toggle(everything=everything):
            self.post_message(self.Refused("There is nothing to open or close on this line"))
        self._settle()

    def action_toggle_tools(self) -> None:
        """Open or close all tool calls."""
        self._toggle_kind(tools=True)

    def action_toggle_thinking(self) -> None:
        """Open or close all thinking."""
        self._toggle_kind(tools=False)

    def _toggle_kind(self, *, tools: bool) -> None:
        messages = self.messages
        if not any(
            message.tool_calls or message.role == "tool" if tools else message.thinking for message in messages
        ):
            what = "tool calls" if tools else "thinking"
            self.post_message(self.Refused(f"There is nothing to open: the messages that are loaded have no {what}"))
        else:
            self._view.following = False
            before = self._strips
            level = self._view.toggle_kind(tools=tools)
            self._settle()
            if self._strips == before:
                what, are = ("Tool calls", "are") if tools else ("Thinking", "is")
                self.post_message(
                    self.Refused(f"{what} {are} {'shut' if level == SHUT else 'open'} now; none is in view")
                )

    def action_branch(self, step: int) -> None:
        """Go where the conversation went another way."""
        if self._transcript is not None:
            self._wanted = ""
            self.run_worker(self._go_to_branch(self._transcript, step), group="transcript.switch")

    def action_match(self, step: int) -> None:
        """Go to the next or the previous match of the search."""
        self.find_next(step)

    def action_toggle_raw(self) -> None:
        """Show prose as it was written, or as Markdown."""
        self._raw = not self._raw
        self._settle()
