"""How many tokens a model takes, by the price list's package.

That package costs a fifth of a second and 25 MB: a process of its own asks it, once for each model.
"""

from __future__ import annotations

from functools import lru_cache

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.helper_call import HelperCall
from hermes_tui.sessions.cost.prices import listed_models

__all__ = ["window_of"]

_PATIENCE = 20.0
_LONGEST = 300
"""Characters of the name of a model."""


@lru_cache(maxsize=256)
def window_of(model: str) -> int | None:
    """The window of a model; None where the list has none. Waits for a process."""
    if not model or len(model) > _LONGEST:
        return None
    try:
        return HelperCall(_look_up, model).result(_PATIENCE)
    except (OSError, HermesTuiError):  # tokens are shown without their share of the window
        return None


def _look_up(model: str) -> int | None:
    return next((one.context_window for one in listed_models(model, None) if one.context_window), None)
