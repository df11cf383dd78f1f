"""The process that adds up costs for `refresh`.

It is told on standard input what to read, leaves the result in the file that costs are kept in, and ends.
"""

from __future__ import annotations

import os
import sys

import msgspec

from hermes_tui.sessions.cost.refresh import Task
from hermes_tui.sessions.manager import SessionManager

__all__ = ["main"]


def main() -> int:
    """Read a task from standard input and do it."""
    os.nice(10)
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task, dec_hook=lambda kind, text: kind(text))
    manager = SessionManager(task.environment, cache_dir=task.cache_dir, agents=task.agents, prices=task.prices)
    manager.catalogue.refresh()
    manager.costs.sheet()
    return 0


if __name__ == "__main__":
    sys.exit(main())
