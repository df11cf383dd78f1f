"""The keys `]` and `[`, which wait for a second one that says where to go."""

from __future__ import annotations

from textual import events

from hermes_tui.clock import Clock
from hermes_tui.sessions.landmarks import LandmarkKind
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.widgets.key_count import KeyCount
from hermes_tui.tui.widgets.transcript.renderer import TranscriptRenderer

__all__ = ["JumpKeys"]


class JumpKeys(TranscriptRenderer):
    """While it waits, no key does anything else; the line of hints shows what may follow."""

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(clock, id=id)
        self._jumps = 0
        """In which direction the next key goes; 0 where it is a key like any other."""
        self.key_count = KeyCount()
        """Digits before a motion."""

    async def on_key(self, event: events.Key) -> None:
        """What is typed behind `]` says where to jump, and does nothing else, also in one read with it. Digits before
        a motion say how often: `5j`, `5]e`."""
        if not self._jumps and self.key_count.typed(event, self.screen):
            return
        own = self.screen.active_bindings.get(event.key)
        if own is not None and own.node is self and own.binding.action.startswith("jump"):
            event.stop()
            await self.run_action(own.binding.action)
        elif self._jumps:
            event.stop()
            self.action_jump(0)

    def on_blur(self) -> None:
        """The keys go elsewhere."""
        self.key_count.forget()
        self.action_jump(0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Behind `]` only what it takes; else none of that."""
        return bool(self._jumps) == (action == "jump_to")

    def action_jump(self, step: int) -> None:
        """Have the next key say what to go to, below (1) or above (-1)."""
        if step != self._jumps:
            self._jumps = step
            for hints in self.screen.query(Hints):
                hints.renew()

    def action_jump_to(self, kind: LandmarkKind) -> None:
        """Go there."""
        step = self._jumps
        self.action_jump(0)
        self.jump_to(kind, step, self.key_count.take() or 1)

    def action_prompt(self, step: int) -> None:
        """Go to the next or the previous prompt."""
        self.jump_to("prompt", step, self.key_count.take() or 1)

    def jump_to(self, kind: LandmarkKind, step: int, times: int) -> None:
        """Called to go to the next (1) or the previous (-1) one, so many times."""
        raise NotImplementedError
