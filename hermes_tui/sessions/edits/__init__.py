"""All edits of a session as one diff by file."""

from __future__ import annotations

from hermes_tui.sessions.edits.collect import EditedFile, FileDiff, SessionEdits
from hermes_tui.sessions.edits.sections import PlacedHunk, Section

__all__ = ["EditedFile", "FileDiff", "PlacedHunk", "Section", "SessionEdits"]
