"""Tool calls as people read them: target, arguments, change of files, outcome."""

from __future__ import annotations

from hermes_tui.sessions.calls.arguments import PROSE, arguments, label, target
from hermes_tui.sessions.calls.edits import Edit, FileEdit, Hunk, edits, is_untold_edit, path_of
from hermes_tui.sessions.calls.files import FileTouch, files_touched, relative_path
from hermes_tui.sessions.calls.outcome import duration, exit_code, facts, failed, is_open, output_text

__all__ = [
    "PROSE",
    "Edit",
    "FileEdit",
    "FileTouch",
    "Hunk",
    "arguments",
    "duration",
    "edits",
    "exit_code",
    "facts",
    "failed",
    "files_touched",
    "is_open",
    "is_untold_edit",
    "label",
    "output_text",
    "path_of",
    "relative_path",
    "target",
]
