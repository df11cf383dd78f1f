"""Transcripts in memory and an app with nothing but the pane, for tests of what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from hermes_tui.clock import Clock
from hermes_tui.platform.paths import styles_dir
from hermes_tui.tui.themes import THEMES
from hermes_tui.tui.widgets.styled import LOOKS
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from pilots import drawn
from session_adapters.model import Message, Role, SessionSummary
from session_adapters.transcript import Change, Transcript

__all__ = ["NOON", "GrowingTranscript", "PaneApp", "rows_of", "said", "screen_of", "settle", "summary", "talk"]

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class GrowingTranscript(Transcript):
    """Messages in memory, loaded `page` at a time from the end; `grow` and `rewrite` stand for the writer."""

    def __init__(self, messages: Sequence[Message], page: int = 10**9) -> None:
        super().__init__("claude", "session", "memory")
        self.written = list(messages)
        self.page = page
        self.messages = self.written[-page:]
        self.complete = len(self.messages) == len(self.written)
        self.exists = True
        self.reads = 0
        self._rewritten = False
        self._first: int | None = None

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        self.reads += 1
        left = len(self.written) - len(self.messages)
        added = self.written[max(0, left - self.page) : left]
        self.messages = [*added, *self.messages]
        self.complete = len(self.messages) == len(self.written)
        return len(added)

    def grow(self, *messages: Message) -> None:
        """The writer appends."""
        first = len(self.messages)
        self._first = first if self._first is None else min(self._first, first)
        self.written = [*self.written, *messages]
        self.messages = [*self.messages, *messages]

    def replace_last(self, message: Message) -> None:
        """The writer goes on with its last message."""
        self._first = len(self.messages) - 1
        self.written = [*self.written[:-1], message]
        self.messages = [*self.messages[:-1], message]

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        first, self._first = self._first, None
        return Change(first=first) if self.exists else Change(gone=True)


def said(role: Role, content: str = "", minute: float = 0, **more: Any) -> Message:
    """A message at some minutes after noon."""
    return Message(role=role, content=content, timestamp=NOON + timedelta(minutes=minute), **more)


def talk(count: int) -> list[Message]:
    """That many messages, prompts and replies in turn, each with a line of text found nowhere else."""
    return [
        said("user", f"question {number:05}", number / 10, id=f"m{number}")
        if number % 2 == 0
        else said("assistant", f"answer {number:05}\n\n- one\n- two\n\nand `code`", number / 10, id=f"m{number}")
        for number in range(count)
    ]


def summary(**more: Any) -> SessionSummary:
    """A session to be shown."""
    return SessionSummary(**{"agent": "claude", "session_id": "session", "title": "Fix the login test", **more})


class PaneApp(App[None]):
    """The transcript pane and nothing else."""

    COMPONENT_CLASSES = LOOKS
    CSS_PATH = styles_dir() / "transcript.tcss"

    def __init__(self, transcript: Transcript | None = None, theme: str = "hermes-dark", **more: Any) -> None:
        super().__init__(**more)
        self.animation_level = "none"
        for one in THEMES:
            self.register_theme(one)
        self.theme = theme
        self.pane = TranscriptPane(Clock(NOON))
        self.transcript = transcript
        self.refused: list[str] = []

    def compose(self) -> ComposeResult:
        """The pane."""
        yield self.pane

    def on_mount(self) -> None:
        """Show the transcript."""
        self.pane.focus()
        if self.transcript is not None:
            self.pane.show(summary(), self.transcript)

    def notify(self, message: str, **_: Any) -> None:
        """Keep what the pane says."""
        self.refused.append(message)


async def settle(pilot: Pilot[None]) -> None:
    """Wait until all that was asked to be read is read and shown."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def screen_of(app: App[None]) -> list[str]:
    """The text on the screen, row by row, without the border and the scrollbar: what was really drawn again."""
    strips = drawn(app)
    return [strip.text[2:-2].rstrip() for strip in strips[1:-1]]


def rows_of(pane: TranscriptPane) -> list[str]:
    """The text in the pane, row by row, without the column for the mark."""
    height = pane.scrollable_content_region.height
    return [pane.render_line(y).text[1:].rstrip() for y in range(height)]
