"""Keys that open, close or save what stands under the cursor of a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.message import Message as Event

from hermes_tui.tui.widgets.transcript.jump_keys import JumpKeys
from hermes_tui.tui.widgets.transcript.layout.block_writer import SHUT
from hermes_tui.tui.widgets.transcript.layout.blocks import attachment_number
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import Message, SessionSummary

__all__ = ["BlockKeys"]


class BlockKeys(JumpKeys):
    """A block is prose, thinking, a tool call, its result or an image."""

    class HelperWanted(Event):
        """The session of a sub-agent is to be read, and then this one again."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    @property
    def summary(self) -> SessionSummary | None:
        """The session that is shown."""
        raise NotImplementedError

    @property
    def messages(self) -> Sequence[Message]:
        """The loaded messages."""
        raise NotImplementedError

    @property
    def message(self) -> Message | None:
        """The message under the cursor."""
        entries = self.view.column.entries
        return entries[self.view.cursor.entry].message if self.strips and entries else None

    def refuse(self, reason: str) -> None:
        """Say why an action could not run; one sentence."""
        self.notify(reason)

    def action_open(self) -> None:
        """Read what the sub-agent did that this line calls, or show its image, or open or close the block."""
        piece, message = self.view.piece(), self.message
        calls = message.tool_calls if message is not None and piece is not None else ()
        for at, call in enumerate(calls):
            if piece is not None and piece.block == f"tool{at}" and call.subagent_id:
                self.post_message(self.HelperWanted(call.subagent_id))
                return
        if piece is not None and attachment_number(piece.block) is not None:
            self._with_attachment("show_attachment")
        else:
            self.action_fold()

    def action_save(self) -> None:
        """Save the image on this line, or the first of its message."""
        self._with_attachment("save_attachment")

    def _with_attachment(self, name: str) -> None:
        from hermes_tui.tui.screens import attachments

        run_beside(self, partial(getattr(attachments, name), self), "transcript.attachment", exclusive=True)

    def action_edit(self) -> None:
        """Open the file that is named on this line in the user's editor."""
        from hermes_tui.tui.screens.open_file import open_file

        run_beside(self, partial(open_file, self), "transcript.edit", exclusive=True)

    def action_fold(self) -> None:
        """Open or close the block under the cursor."""
        self._toggle(everything=False)

    def action_see_all(self) -> None:
        """Open the block under the cursor, and show what was cut of it."""
        self._toggle(everything=True)

    def _toggle(self, *, everything: bool) -> None:
        if not self.view.toggle(everything=everything):
            self.refuse("There is nothing to open or close on this line")
        self.settle()

    def action_toggle_tools(self) -> None:
        """Open or close all tool calls."""
        self._toggle_kind(tools=True)

    def action_toggle_thinking(self) -> None:
        """Open or close all thinking."""
        self._toggle_kind(tools=False)

    def _toggle_kind(self, *, tools: bool) -> None:
        has = (one.tool_calls or one.role == "tool" if tools else one.thinking for one in self.messages)
        if not any(has):
            what = "tool calls" if tools else "thinking"
            self.refuse(f"There is nothing to open: the messages that are loaded have no {what}")
        else:
            self.view.following = False
            before = self.strips
            level = self.view.toggle_kind(tools=tools)
            self.settle()
            if self.strips == before:
                what, are = ("Tool calls", "are") if tools else ("Thinking", "is")
                self.refuse(f"{what} {are} {'shut' if level == SHUT else 'open'} now; none is in view")
