"""Turns every end of a command into an exit code and at most one message."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from errno import EFBIG, EIO, ENOSPC, EPIPE
from typing import TYPE_CHECKING

from hermes_tui.cli import exit_codes, stderr, stdout
from hermes_tui.errors import HermesTuiError

if TYPE_CHECKING:
    import click

__all__ = ["execute"]

_PROGRAM = "hermes-tui"
_COMPLETION = "_HERMES_TUI_COMPLETE"
_FULL = (EFBIG, EIO, ENOSPC, EPIPE)
"""What an output may have that cannot be written."""


def execute(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code. Raises nothing."""
    stdout.begin()
    try:
        code = _guarded(arguments)
        stdout.finish()
    except stdout.PipeClosed:
        stdout.abandon(sys.stdout)
        return exit_codes.CLOSED_PIPE
    except stdout.OutputFailed as error:
        stdout.abandon(sys.stdout)
        stderr.say(f"hermes-tui: {error}")
        return exit_codes.FAILURE
    except KeyboardInterrupt:
        stdout.abandon(sys.stdout)
        return exit_codes.INTERRUPTED
    return code


def _guarded(arguments: Sequence[str]) -> int:
    # Whether errors belong on standard output as JSON: known before the arguments are understood.
    pairs = list(zip(arguments, [*arguments[1:], ""], strict=False))
    wants_json = any(
        one == "--json"
        or one in ("--format=json", "--format=jsonl")
        or (one == "--format" and after in ("json", "jsonl"))
        for one, after in pairs
    )
    try:
        if not arguments and not os.environ.get(_COMPLETION):
            # Nothing to take apart: the program opens without the library that would do that (20 ms, 1 MB).
            from hermes_tui.cli.settings import Settings
            from hermes_tui.cli.tui import open_tui

            return open_tui(Settings.plain())
        return _invoke(arguments, wants_json)
    except HermesTuiError as error:
        _tell(error.code, str(error), wants_json)
        return error.exit_code
    except (stdout.PipeClosed, stdout.OutputFailed):
        raise  # no fault of ours: `execute` knows what to do
    except Exception as error:
        from hermes_tui.platform.log import write_failure

        path = write_failure(error)
        where = f"details are in {path}" if path else "the log cannot be written"
        _tell("INTERNAL_ERROR", f"unexpected error ({type(error).__name__}); {where}", wants_json)
        return exit_codes.FAILURE


def _invoke(arguments: Sequence[str], wants_json: bool) -> int:
    import click

    from hermes_tui.cli.root import root

    instruction = os.environ.get(_COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, _PROGRAM, _COMPLETION, instruction)
    try:
        # Not `root.main()`: that has its own ideas of closed pipes and Ctrl-C.
        with root.make_context(_PROGRAM, list(arguments)) as context:
            result = root.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        return exit_codes.INTERRUPTED
    except click.ClickException as error:
        return _usage(error, wants_json)
    except OSError as error:
        if error.errno in _FULL and error.filename is None and not stdout.has_begun():
            raise stdout.trouble(error) from error  # click's own writing: a help, the version
        raise
    return result if isinstance(result, int) else exit_codes.OK


def _usage(error: click.ClickException, wants_json: bool) -> int:
    from click import UsageError
    from click.exceptions import NoArgsIsHelpError

    text = error.format_message()
    if isinstance(error, NoArgsIsHelpError) and not wants_json:
        stderr.say(text)  # it is the whole help, and no sentence to add a hint to
        return exit_codes.USAGE
    if wants_json:
        stdout.json_error("VALIDATION_ERROR", text)
        return exit_codes.USAGE
    context = error.ctx if isinstance(error, UsageError) else None
    asks = text.endswith("?")  # what was likely meant
    hint = f"{' See' if asks else '; see'} `{context.command_path} --help`" if context is not None else ""
    stderr.say(f"hermes-tui: {text.rstrip('.')}{hint}")
    return exit_codes.USAGE


def _tell(code: str, text: str, wants_json: bool) -> None:
    """An error where the reader looks for it. A second document after the half of one would make both unreadable."""
    if wants_json and not stdout.has_begun():
        stdout.json_error(code, text)
    else:
        stderr.say(f"hermes-tui: {text}")
