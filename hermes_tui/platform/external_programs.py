"""Runs a pager, an editor or an agent in the terminal, then restores the screen.

The program is looked for before the screen is given up; while it runs Ctrl-C and Ctrl-\\ are its own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from hermes_tui.errors import ValidationError
from hermes_tui.platform.terminal_handoff import run_here

if TYPE_CHECKING:
    from textual.app import App

    from hermes_tui.sessions.native.plan import Start

__all__ = ["editor", "editor_at", "pager", "run_outside", "run_start", "start_beside", "viewer"]

# fmt: off
_PLUS = frozenset({
    "vi", "vim", "nvim", "view", "gvim", "vis", "nano", "pico", "emacs", "emacsclient", "jed", "joe", "kak", "mg",
    "micro", "ne", "mcedit", "sensible-editor",
})
# fmt: on
"""Editors that take `+88 FILE`."""
_GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Those that take `--goto FILE:88`."""
_COLON = frozenset({"hx", "helix", "subl", "zed"})
"""Those that take `FILE:88`."""
_VIEWER = "HERMES_TUI_VIEWER"
_AT_ONCE = 5.0
"""Seconds; a program that fails sooner has said why, and nobody has read it yet."""


def pager(variables: Mapping[str, str] | None = None) -> list[str]:
    """The user's pager: `$PAGER`, else less, else more. Raises `ValidationError` where there is none."""
    return _wanted(("PAGER",), ("less -R", "more"), variables)


def editor(variables: Mapping[str, str] | None = None) -> list[str]:
    """The user's editor: `$VISUAL`, `$EDITOR`, else the first that is there. Raises `ValidationError`."""
    return _wanted(("VISUAL", "EDITOR"), ("sensible-editor", "nano", "vim", "vi"), variables)


def editor_at(path: str, line: int, variables: Mapping[str, str] | None = None) -> list[str]:
    """The user's editor with a file (an absolute path), at a line where it is known how that editor is told; 0 for
    none. Raises `ValidationError`."""
    argv = editor(variables)
    name = Path(argv[0]).name
    if line and name in _PLUS:
        return [*argv, f"+{line}", path]
    if line and name in _GOTO:
        return [*argv, "--goto", f"{path}:{line}"]
    return [*argv, f"{path}:{line}" if line and name in _COLON else path]


def viewer(variables: Mapping[str, str] | None = None) -> tuple[list[str], bool]:
    """The user's program for pictures, and whether it needs the terminal: `$HERMES_TUI_VIEWER`, which is given it,
    else what the desktop opens them with. Raises `ValidationError` where there is none, or no display to show it on.
    """
    variables = os.environ if variables is None else variables
    if variables.get(_VIEWER, "").strip():
        return _wanted((_VIEWER,), (), variables), True
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    if shutil.which(opener) is None:
        raise ValidationError(f"{opener} is not installed; set ${_VIEWER} to a program that shows pictures")
    if opener == "xdg-open" and not (variables.get("DISPLAY") or variables.get("WAYLAND_DISPLAY")):
        raise ValidationError(
            f"there is no display here; set ${_VIEWER} to a program that shows pictures in a terminal"
        )
    return [opener], False


def start_beside(argv: Sequence[str]) -> None:
    """Start `argv` without the terminal, and wait for nothing. Raises `ValidationError` where it cannot start."""
    try:
        child = subprocess.Popen(  # noqa: S603  (argv, no shell)
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise ValidationError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    threading.Thread(target=child.wait, name="viewer", daemon=True).start()  # or it would stay as a zombie


def _wanted(names: Sequence[str], usual: Sequence[str], variables: Mapping[str, str] | None) -> list[str]:
    variables = os.environ if variables is None else variables
    for name in names:
        value = variables.get(name, "").strip()
        if not value:
            continue
        try:
            argv = shlex.split(value)
        except ValueError as error:
            raise ValidationError(f"${name} cannot be understood: {error}") from error
        if not argv or shutil.which(argv[0]) is None:
            raise ValidationError(f"${name} names {argv[0] if argv else value!r}, which is not installed")
        return argv
    for value in usual:
        argv = value.split()
        if shutil.which(argv[0]) is not None:
            return argv
    raise ValidationError(f"no program to show it with; set ${names[-1]}")


def run_outside(
    app: App[Any], argv: Sequence[str], *, cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> int:
    """Run `argv` (never a shell's line) in the terminal until it ends; its exit code, negative for a signal.

    Nothing is awaited meanwhile: the screen has no terminal to write to. Raises `ValidationError` where the program
    is missing or cannot start, or where there is no terminal to hand over.
    """
    program = shutil.which(argv[0])
    if program is None:
        raise ValidationError(f"{argv[0]} is not installed")
    return _hand_over(app, argv, program, cwd, {**os.environ, **(variables or {})}, shlex.join(argv))


def run_start(app: App[Any], start: Start) -> int:
    """Run an agent's program as `start` says, in the same way. One that fails at once is left to be read before the
    screen comes back. Raises as `run_outside` does, and as `Start.check`."""
    start.check()
    assert start.program is not None  # noqa: S101  (`check` has seen to it)
    return _hand_over(
        app, start.argv, start.program, Path(start.cwd), start.environment(), start.line, patience=_AT_ONCE
    )


def _hand_over(
    app: App[Any],
    argv: Sequence[str],
    program: str,
    cwd: Path | None,
    variables: Mapping[str, str],
    line: str,
    *,
    patience: float = 0.0,
) -> int:
    failure: OSError | ValueError | None = None
    code = 0
    try:
        with app.suspend():
            try:
                code = run_here(
                    argv, program, cwd=cwd, variables=variables, patience=patience, afterwards="returns to hermes-tui"
                )
            except (OSError, ValueError) as error:  # told once the screen is back
                failure = error
    except SuspendNotSupported as error:
        raise ValidationError(f"there is no terminal to hand over here; run it yourself: {line}") from error
    if failure is not None:
        reason = failure.strerror if isinstance(failure, OSError) else None
        raise ValidationError(f"{argv[0]} cannot be started: {reason or failure}") from failure
    return code
