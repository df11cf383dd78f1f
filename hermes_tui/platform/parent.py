"""Ends a helper process with its parent: killed, interrupted or hung up.

`python -m hermes_tui.platform.parent PID MODULE ARG…` runs a module that way, from before its first import.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import sys
import time
from pathlib import Path

import hermes_tui
import session_adapters
from hermes_tui.platform.memory_tuning import import_without

__all__ = ["end_with_parent", "helper_command", "helper_variables"]

_LOOK = 0.2
"""Seconds between two looks at whether the parent is still there."""
_GRACE = 0.3
"""Seconds that a module has for ending in order, once the parent is gone."""


def helper_command(module: str, *arguments: str) -> list[str]:
    """The command line of a helper of this process."""
    # -P: nothing that lies in the directory we were started in is taken for our code.
    return [sys.executable, "-P", "-m", "hermes_tui.platform.parent", str(os.getpid()), module, *arguments]


def helper_variables() -> dict[str, str]:
    """Its environment: it finds the same program, wherever that was started."""
    ours = {str(Path(module.__path__[0]).parent) for module in (hermes_tui, session_adapters)}
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join((*sorted(ours), *filter(None, [known])))}


def end_with_parent(parent: int, grace: float = 0.0) -> None:
    """From now on this process ends, whatever it is doing, once `parent` is no longer its parent; not before `grace`
    seconds have gone by in which it may end in order. For a process of ours alone: it takes the alarm clock.

    The kernel's own signal for it (`PR_SET_PDEATHSIG`) comes when the thread ends that started the process, too.
    """
    until: float | None = None

    def look(number: int, frame: object) -> None:
        nonlocal until
        if os.getppid() != parent:
            until = until or time.monotonic() + grace
            if time.monotonic() >= until:
                os._exit(1)  # nothing is cleaned up: it may be killed at any moment

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)
    # An interpreter that ends takes its handlers away, and an alarm without one kills.
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]), _GRACE)
    import_without("hashlib", "_hashlib", "_md5")
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
