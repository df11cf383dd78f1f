"""An OpenCode conversation opened for reading: newest units first."""

from __future__ import annotations

from session_adapters.activity import Activity
from session_adapters.opencode.asking import with_asking
from session_adapters.opencode.units import OpenCodeStore, OpenCodeUnit
from session_adapters.reading.units import PAGE_UNITS, UnitTranscript

__all__ = ["PAGE_UNITS", "OpenCodeTranscript"]


class OpenCodeTranscript(UnitTranscript[OpenCodeUnit]):
    """The units of one session; OpenCode writes them again while an answer comes in."""

    def __init__(self, shelf: OpenCodeStore, session_id: str, *, page: int = PAGE_UNITS) -> None:
        super().__init__("opencode", shelf, session_id, page=page)

    @property
    def activity(self) -> Activity:
        """See `Transcript.activity`."""
        return with_asking(super().activity, self.path, self.session_id)
