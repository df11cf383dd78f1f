"""Another program in our place in the terminal, and back to the same screen: pager, editor, an agent's own program.

The program is looked for before the screen is given up; while it runs Ctrl-C and Ctrl-\\ are its own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from hermes_tui.errors import ValidationError

if TYPE_CHECKING:
    from textual.app import App

    from hermes_tui.sessions.native import Start

__all__ = ["editor", "pager", "run_outside", "run_start"]

_OURS = (signal.SIGINT, signal.SIGQUIT)
_AT_ONCE = 5.0
"""Seconds; a program that fails sooner has said why, and nobody has read it yet."""
_RESET = b"\x1b[?1000;1002;1003;1006;2004;1l\x1b>\x1b[0m\x1b[?25h"
"""Mouse, bracketed paste, application keys and colours off, cursor on: what a killed program leaves behind."""


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
                code = _run(argv, program, cwd, variables, patience)
            except (OSError, ValueError) as error:  # told once the screen is back
                failure = error
    except SuspendNotSupported as error:
        raise ValidationError(f"there is no terminal to hand over here; run it yourself: {line}") from error
    if failure is not None:
        reason = failure.strerror if isinstance(failure, OSError) else None
        raise ValidationError(f"{argv[0]} cannot be started: {reason or failure}") from failure
    return code


def _run(argv: Sequence[str], program: str, cwd: Path | None, variables: Mapping[str, str], patience: float) -> int:
    """Run it, and leave the terminal as it was found, whatever the program did to it."""
    # Caught and passed over, not ignored: what is ignored, the program would inherit.
    before = {number: signal.signal(number, _pass_over) for number in _OURS}
    mode = _mode()
    began = time.monotonic()
    try:
        code = subprocess.run(  # noqa: S603  (argv, no shell)
            list(argv), executable=program, cwd=cwd, env=variables, check=False
        ).returncode
        _restore(mode)
        if code and time.monotonic() - began < patience:
            _let_read(argv[0], code)
        return code
    finally:
        _restore(mode)
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_over(number: int, frame: FrameType | None) -> None:
    """Ctrl-C is the program's."""


def _mode() -> list[Any] | None:
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError):
        return None


def _restore(mode: list[Any] | None) -> None:
    """The terminal's mode as it was; keys that the program left unread are not ours, and could do harm here."""
    if mode is None:
        return
    try:
        termios.tcsetattr(0, termios.TCSAFLUSH, mode)
        os.write(1, _RESET)
    except (termios.error, OSError):
        pass  # a terminal that is gone: `Guard` ends the program


def _let_read(name: str, code: int) -> None:
    """Its last words are on the screen; wait for Enter before they are painted over."""
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    try:
        os.write(1, f"\r\n[{name} {how}; Enter returns to hermes-tui]".encode())
        while os.read(0, 1024)[-1:] not in (b"\n", b""):
            pass
    except OSError:
        pass  # nobody is there to press it
