"""Copies text to the user's clipboard, through ssh, tmux or a desktop tool.

A bare terminal takes the sequence OSC 52. tmux drops it unless told otherwise, but takes text into its own buffer and
hands it on. What is too long for a terminal goes into a file of ours.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from hermes_tui.display import size
from hermes_tui.platform import paths
from hermes_tui.platform.atomic_write import replacing

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["copy"]

_MOST = 74_000
"""Bytes that terminals take in one OSC 52 (xterm's limit; base64 makes 100 kB of it)."""
_PATIENCE = 5.0  # seconds; the server of tmux may hang


def copy(app: App[Any], text: str) -> str:
    """Copy `text`; a sentence that says where it went. The text should be free of control characters already: it may
    be pasted into a shell. Raises `OSError` where not even a file can be written."""
    data = text.encode("utf-8", "replace")
    if os.environ.get("TMUX") and _to_tmux(data):
        return f"Copied {size(len(data))}, to tmux's buffer."
    if len(data) <= _MOST:
        app.copy_to_clipboard(text)
        return f"Copied {size(len(data))}."
    path = paths.private_dir(paths.state_dir()) / "copied.txt"
    with replacing(path) as file:
        file.write(data)
    return f"{size(len(data))} are too much for a terminal's clipboard; they are in {path}"


def _to_tmux(data: bytes) -> bool:
    """Whether tmux took it; `-w` (since 3.2) has it pass the text on to the terminal's own clipboard."""
    program = shutil.which("tmux")
    if program is None:
        return False
    for options in (("-w",), ()):  # an older one refuses an option that it does not know
        command = [program, "load-buffer", *options, "-"]
        try:
            ran = subprocess.run(  # noqa: S603  (our own words and a program found by name)
                command, input=data, capture_output=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        if ran.returncode == 0:
            return True
    return False
