"""Starts what `plan` made, in our place or in a tmux window; never by a shell."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from hermes_tui.errors import HermesTuiError
from hermes_tui.sessions.native.plan import Start

__all__ = ["become", "child_argv", "open_window", "tmux_argv"]

_PATIENCE = 10.0
"""Seconds that tmux may take to open a window."""
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def become(start: Start) -> NoReturn:
    """Run the program in this process's place: the terminal, Ctrl-C and the exit code are its own from here on.
    Raises as `Start.check` does, and `HermesTuiError` where the system refuses."""
    start.check()
    assert start.program is not None  # noqa: S101  (`check` has seen to it)
    directory = os.open(".", os.O_RDONLY | os.O_CLOEXEC)  # to come back to if the program cannot be run
    try:
        os.chdir(start.cwd)
        # What a process ignores the program that takes its place ignores, too.
        for number in _IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        os.execve(start.program, start.argv, start.environment())  # noqa: S606  (that is what is wanted)
    except (OSError, ValueError) as error:
        for number in _IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_IGN)
        os.fchdir(directory)
        raise _failed(start, error) from error
    finally:
        os.close(directory)


def child_argv(start: Start) -> list[str]:
    """The command as one that sets its own variables, for whoever starts it with the wrong ones, and that stays when
    the program fails. `-P`: nothing that lies in the session's directory is taken for our code."""
    settings = [f"{name}={value}" for name, value in {**start.env, "PWD": start.cwd}.items()]
    removed = [word for name in start.unset for word in ("-u", name)]
    stay = [sys.executable, "-P", "-m", "hermes_tui.platform.terminal_handoff"]
    return ["env", *removed, *settings, *stay, start.program or start.argv[0], *start.argv[1:]]


def tmux_argv(start: Start) -> list[str]:
    """The command that opens a window, to be run in the directory that the program is to run in: what `-c` is given,
    tmux takes for a format, in which `#(…)` runs a shell."""
    path = f"PATH={os.environ.get('PATH', os.defpath)}"
    command = [_argument(word) for word in ("-e", path, "--", *child_argv(start))]
    name = f"{start.verb} {start.agent}".replace("#", "##")
    return ["tmux", "new-window", "-P", "-F", "#{window_id}", "-n", _argument(name), *command]


def _argument(word: str) -> str:
    """A word that ends in a semicolon would end tmux's command and begin the next."""
    return f"{word[:-1]}\\;" if word.endswith(";") else word


def open_window(start: Start, variables: Mapping[str, str] | None = None) -> str:
    """Start it in a new window of the tmux that we run in; the window's id. The window stays when the program fails,
    so that its last words can be read. Raises as `Start.check` does, and `HermesTuiError` where tmux refuses."""
    start.check()
    argv: Sequence[str] = tmux_argv(start)
    program = shutil.which("tmux")
    if program is None:
        raise HermesTuiError("cannot open a window: tmux is not on PATH")
    try:
        ran = subprocess.run(  # noqa: S603  (argv, no shell)
            argv,
            executable=program,
            cwd=start.cwd,
            env={**(os.environ if variables is None else variables), "PWD": start.cwd},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise _failed(start, error) from error
    window = ran.stdout.decode("utf-8", "replace").strip()
    if not window:
        reason = ran.stderr.decode("utf-8", "replace").strip() or f"it ended with exit code {ran.returncode}"
        raise HermesTuiError(f"tmux opened no window: {reason}")
    return window


def _failed(start: Start, error: Exception) -> HermesTuiError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return HermesTuiError(f"{start.argv[0]} cannot be started in {start.cwd}: {reason}")
