"""`O`: the outline of the open session, to jump from."""

from __future__ import annotations

from textual.widgets import Input

from hermes_tui.cells import fit
from hermes_tui.clock import Clock
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.sessions.outline import Outline, OutlineEntry
from hermes_tui.tui.screens.dialogs.picker import FoundRows, Picker
from hermes_tui.tui.widgets.styled import Parts
from hermes_tui.tui.widgets.transcript.whole_session import WholeSession
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import Message

__all__ = ["OutlineScreen"]

_SIGNS = {"prompt": ("you ", "accent"), "file": ("file", "faint"), "error": ("✗   ", "error")}


class _Places(FoundRows[OutlineEntry], inherit_bindings=False):
    NOTHING = "No place has all these words."

    def __init__(self, outline: Outline, clock: Clock) -> None:
        super().__init__(outline)
        self._clock = clock

    def haystack(self, place: int) -> str:
        item = self.items[place]
        return f"{item.kind} {item.text}".lower()

    def parts(self, at: int) -> Parts:
        one = self.item(at)
        sign, look = _SIGNS[one.kind]
        time = self._clock.local(one.time) if one.time is not None else None
        said = "" if time is None else f"{time:%H:%M}"
        if time is not None and time.date() != self._clock.local(self._clock.now()).date():
            said = f"{time:%b %d %H:%M}"
        indent = "" if one.kind == "prompt" else "  "
        text = fit(indent + one.text, max(1, self.size.width - 21))
        return [(f" {said:>12} ", "faint"), (f" {sign} ", look), (text, "" if one.kind == "prompt" else "faint")]


class OutlineScreen(Picker[OutlineEntry]):
    """Gives the place that was chosen. Grows while the session is read; the cursor begins where the view is."""

    def __init__(self, session: WholeSession, here: Message | None, clock: Clock) -> None:
        """`here`: the message that the view is at."""
        self._outline = Outline()
        self._places = _Places(self._outline, clock)
        super().__init__("Outline", "words, or: prompt, file, error", self._places)
        self._session = session
        self._here = here

    def on_mount(self) -> None:
        """Begin to read."""
        super().on_mount()
        run_beside(self, self._read, "outline")

    async def _read(self) -> None:
        async for share, messages in self._session.parts():
            if self.is_left:
                return
            await in_thread(self._outline.take, messages)
            self._places.take_more()
            del messages  # before the next are read
            self._head(share)
        self._head(1.0)
        time = self._here.timestamp if self._here is not None else None
        if time is not None and not self.query_one(Input).value and self._places.cursor == 0:
            times = (self._places.item(at).time for at in range(self._places.count))
            self._places.go(max((at for at, one in enumerate(times) if one is not None and one <= time), default=0))

    def _head(self, share: float) -> None:
        """Say how far it is."""
        count = f"{self._places.count:,}"
        self.heading = f"Outline · {count}" if share >= 1 else f"Outline · {count} so far, {share:.0%} read"
        self.head()
