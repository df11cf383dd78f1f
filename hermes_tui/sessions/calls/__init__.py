"""Tool calls as people read them: target, arguments, change of files, outcome."""

from __future__ import annotations

from hermes_tui.sessions.calls.arguments import PROSE, arguments, label, target
from hermes_tui.sessions.calls.edits import Edit, FileEdit, Hunk, edits, path_of
from hermes_tui.sessions.calls.outcome import duration, exit_code, facts, failed, output_text

__all__ = [
    "PROSE",
    "Edit",
    "FileEdit",
    "Hunk",
    "arguments",
    "duration",
    "edits",
    "exit_code",
    "facts",
    "failed",
    "label",
    "output_text",
    "path_of",
    "target",
]
