"""Another program in our place in the terminal, and back to the same screen: pager, editor, an agent's own program.

The program is looked for before the screen is given up; while it runs Ctrl-C and Ctrl-\\ are its own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from hermes_tui.errors import ValidationError

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["editor", "pager", "run_outside"]

_OURS = (signal.SIGINT, signal.SIGQUIT)


def pager(variables: Mapping[str, str] | None = None) -> list[str]:
    """The user's pager: `$PAGER`, else less, else more. Raises `ValidationError` where there is none."""
    return _wanted(("PAGER",), ("less -R", "more"), variables)


def editor(variables: Mapping[str, str] | None = None) -> list[str]:
    """The user's editor: `$VISUAL`, `$EDITOR`, else the first that is there. Raises `ValidationError`."""
    return _wanted(("VISUAL", "EDITOR"), ("sensible-editor", "nano", "vim", "vi"), variables)


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
    if shutil.which(argv[0]) is None:
        raise ValidationError(f"{argv[0]} is not installed")
    environment = {**os.environ, **(variables or {})}
    failure: OSError | None = None
    code = 0
    try:
        with app.suspend():
            before = {number: signal.signal(number, signal.SIG_IGN) for number in _OURS}
            try:
                code = subprocess.run(  # noqa: S603  (what the user's own settings name)
                    list(argv), cwd=cwd, env=environment, preexec_fn=_usual_signals, check=False
                ).returncode
            except OSError as error:  # told once the screen is back
                failure = error
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
    except SuspendNotSupported as error:
        command = shlex.join(argv)
        raise ValidationError(f"there is no terminal to hand over here; run it yourself: {command}") from error
    if failure is not None:
        raise ValidationError(f"{argv[0]} cannot be started: {failure.strerror or failure}") from failure
    return code


def _usual_signals() -> None:
    for number in _OURS:
        signal.signal(number, signal.SIG_DFL)
