"""Dims what the agent no longer sees in the transcript pane.

It is worked out in a thread and by the messages' ids, so that it holds while messages come in above and below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.platform.daemon_call import aside
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from session_adapters.model import Message, SessionSummary
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.context import ContextView, WindowChoice

__all__ = ["SeeingPane"]


class SeeingPane(TranscriptPane):
    """A transcript that can show what the agent still sees of it."""

    choice: WindowChoice | None = None
    """The window that is shown; None where nothing is dimmed."""
    seen: ContextView | None = None
    """What came of it."""
    _unseen: frozenset[str] = frozenset()
    _worked_out: tuple[object, ...] = ()

    def show(self, summary: SessionSummary, transcript: Transcript) -> None:
        """See `TranscriptPane.show`. Another session is seen through another window, which is not known yet."""
        if self.summary is None or self.summary.unified_id != summary.unified_id:
            self._forget_context()
        super().show(summary, transcript)

    def see(self, choice: WindowChoice | None) -> None:
        """Dim what the agent of the session that is shown no longer sees through this window; None: nothing."""
        self._forget_context()
        self.choice = choice
        self._settle()

    def _forget_context(self) -> None:
        self.choice = self.seen = None
        self._unseen = frozenset()
        self._worked_out = ()

    def _is_unseen(self, entry: int) -> bool:
        return bool(self._unseen) and self.view.column.entries[entry].message.id in self._unseen

    def _subtitle(self) -> str:
        said = super()._subtitle()
        return f"{self.seen.sentence} · {said}" if self.seen is not None and said else said

    def _settled(self) -> None:
        super()._settled()
        self._follow_context()

    def _follow_context(self) -> None:
        """Work it out again where there are other messages than before."""
        summary, choice = self.summary, self.choice
        if choice is None or summary is None:
            return
        entries = self.view.column.entries
        key = (len(entries), id(entries[-1].message) if entries else 0, self.view.complete, choice)
        if key != self._worked_out:
            self._worked_out = key
            messages = [entry.message for entry in entries]
            work: Callable[[], object] = partial(self._work_out, summary.agent, messages, choice, self.view.complete)
            self.run_worker(work, group="transcript.context", exclusive=True)

    async def _work_out(self, agent: str, messages: Sequence[Message], choice: WindowChoice, complete: bool) -> None:
        from hermes_tui.sessions.context import context_view

        view = await aside(context_view, agent, messages, choice, complete=complete)
        if choice is not self.choice:
            return
        self.seen = view
        seen = {one.id for one, is_seen in zip(messages, view.seen, strict=True) if is_seen}
        self._unseen = frozenset(one.id for one in messages) - seen
        self._settle()
