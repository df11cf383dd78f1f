"""How many tokens a model takes, by the price list's package.

That package costs a fifth of a second and 25 MB: a process of its own asks it, once for each model.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

from hermes_tui.platform.parent import helper_command
from hermes_tui.sessions.cost.prices import listed_models

__all__ = ["window_of"]

_PATIENCE = 20.0
_LONGEST = 300
"""Characters of the name of a model."""


@lru_cache(maxsize=256)
def window_of(model: str) -> int | None:
    """The window of a model; None where the list has none. Waits for a process."""
    if not model or len(model) > _LONGEST or "\0" in model:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            helper_command(__name__, model),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is meant for the screen
            timeout=_PATIENCE,
            check=True,
        )
        return int(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def main(model: str) -> None:
    """Print the window of a model, or nothing."""
    found = next((one.context_window for one in listed_models(model, None) if one.context_window), None)
    print(found or "")


if __name__ == "__main__":
    main(sys.argv[1])
