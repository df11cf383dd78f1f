"""What actions on a line of a transcript ask of its pane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from textual.app import App

from hermes_tui.tui.widgets.transcript.view import View
from session_adapters.model import Message, SessionSummary

__all__ = ["ReadingPane"]


class ReadingPane(Protocol):
    """What is asked of the transcript's pane."""

    @property
    def app(self) -> App[Any]: ...

    @property
    def is_attached(self) -> bool: ...

    @property
    def view(self) -> View: ...

    @property
    def message(self) -> Message | None: ...

    @property
    def summary(self) -> SessionSummary | None: ...

    def refuse(self, reason: str) -> None: ...

    def run_worker(self, work: Callable[[], object], *, group: str, exclusive: bool = False) -> Any: ...
