"""Which messages of a transcript its agent no longer sees, to be dimmed.

It is worked out in a thread and by the messages' ids, so that it holds while messages come in above and below.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.open_transcript import TranscriptHost
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import Message

if TYPE_CHECKING:
    from hermes_tui.sessions.context.view import ContextView
    from hermes_tui.sessions.context.window_choice import WindowChoice

__all__ = ["SeenContext"]


class SeenContext:
    """The window through which a pane's session is seen."""

    def __init__(self, pane: TranscriptHost) -> None:
        self._pane = pane
        self.choice: WindowChoice | None = None
        """The window that is shown; None where nothing is dimmed."""
        self.seen: ContextView | None = None
        """What came of it."""
        self._unseen: frozenset[str] = frozenset()
        self._worked_out: tuple[object, ...] = ()

    def see(self, choice: WindowChoice | None) -> None:
        """Dim what the agent of the session that is shown no longer sees through this window; None: nothing."""
        self.forget()
        self.choice = choice
        self._pane.settle()

    def forget(self) -> None:
        """Another session is shown, whose window is not known yet."""
        self.choice = self.seen = None
        self._unseen = frozenset()
        self._worked_out = ()

    def is_unseen(self, message: Message) -> bool:
        """Whether the agent no longer sees it, as far as that is worked out."""
        return message.id in self._unseen

    def update(self) -> None:
        """Work it out again where there are other messages than before."""
        opened, choice = self._pane.opened, self.choice
        if choice is None or opened.summary is None or opened.is_cut:
            return  # of a part far above its end nobody can tell
        entries = opened.view.column.entries
        # By identity: the last message may be another version of itself.
        key = (len(entries), id(entries[-1].message) if entries else 0, opened.view.complete, choice)
        if key != self._worked_out:
            self._worked_out = key
            work = partial(self._work_out, opened.summary.agent, opened.messages, choice, opened.view.complete)
            run_beside(self._pane, work, "transcript.context", exclusive=True)

    async def _work_out(self, agent: str, messages: Sequence[Message], choice: WindowChoice, complete: bool) -> None:
        from hermes_tui.sessions.context.view import context_view, gauged

        view = await in_thread(context_view, agent, messages, choice, complete=complete)
        if choice is not self.choice:
            return  # another one is chosen by now, or another session is shown
        self.seen = view
        seen = {one.id for one, is_seen in zip(messages, view.seen, strict=True) if is_seen}
        self._unseen = frozenset(one.id for one in messages) - seen
        self._pane.settle()
        # It is shown already: the size of the model's window may have to be asked of a process.
        view = await in_thread(gauged, view)
        if choice is self.choice and view != self.seen:
            self.seen = view
            self._pane.settle()
