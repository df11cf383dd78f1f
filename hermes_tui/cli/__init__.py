"""The command line: `run` is the entry, one module per command group.

A module is imported only when its command runs.

Data goes to standard output (`stdout`), everything else to standard error (`stderr`).
"""

from __future__ import annotations

import os
import sys
from atexit import _run_exitfuncs as tidy_up
from collections.abc import Sequence
from typing import NoReturn

from hermes_tui.platform import memory_tuning

__all__ = ["run"]


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with `arguments` (those of the process if None). Never returns."""
    memory_tuning.hurry()
    # Imported only now: the collector of garbage is off by then.
    from hermes_tui.cli.execute import execute

    code = execute(sys.argv[1:] if arguments is None else list(arguments))
    memory_tuning.leave()
    if _only_daemons():
        # One that imports or calls into a library while the interpreter is taken down under it may crash that.
        tidy_up()  # what is registered for the end
        os._exit(code)
    sys.exit(code)


def _only_daemons() -> bool:
    """Other threads are there still, and none that has to be waited for."""
    threading = sys.modules.get("threading")
    if threading is None:
        return False
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    return bool(others) and all(thread.daemon for thread in others)
