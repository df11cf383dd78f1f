"""The command line: `run` is the entry, one module per command group.

A module is imported only when its command runs.

Data goes to standard output (`stdout`), everything else to standard error (`stderr`).
"""

from __future__ import annotations

import sys
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
    sys.exit(code)
