"""The files that tool calls changed or read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hermes_tui.sessions.calls.edits import edits, is_untold_edit, path_of
from hermes_tui.sessions.calls.outcome import failed, is_open
from session_adapters.model import ToolCall

__all__ = ["FileTouch", "files_touched", "relative_path"]

FileTouch = Literal["edited", "read"]
_LONGEST = 4096  # PATH_MAX of Linux, so what is longer is no path


def files_touched(calls: Iterable[ToolCall], cwd: str | None) -> dict[str, FileTouch]:
    """Each file that the calls named, in the order in which they first did, and whether one of them changed it. A
    call that failed did neither, nor did one without a result where others have one."""
    found: dict[str, FileTouch] = {}
    calls = list(calls)
    answered = not all(map(is_open, calls))
    for call in calls:
        if failed(call) or (answered and is_open(call)):
            continue
        change = edits(call)
        edited = change is not None or is_untold_edit(call)
        # A patch names its files itself; of other calls, and of one that names none, the arguments do.
        named: Iterable[str] = ()
        if change is not None and change.is_patch:
            named = dict.fromkeys(file.path for file in change.files if file.path)
        if not named and 0 < len(path := path_of(call.input)) < _LONGEST and "\n" not in path:
            named = (path,)
        for path in named:
            path = relative_path(path, cwd)
            if edited or path not in found:
                found[path] = "edited" if edited else "read"
    return found


def relative_path(path: str, directory: str | None) -> str:
    """`path` as seen from the session's directory, where it is inside."""
    inside = f"{directory.rstrip('/')}/" if directory else ""
    return path.removeprefix(inside).removeprefix("./") if inside else path
