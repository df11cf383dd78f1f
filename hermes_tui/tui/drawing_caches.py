"""Clears what Rich, Textual and our own drawing cache of texts and styles.

Each function remembers thousands of answers by itself, texts among them that are long out of sight: over weeks that
comes to tens of megabytes, scattered among what is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from typing import Any

__all__ = ["forget_drawn"]

_PACKAGES = ("hermes_tui", "rich", "textual")
_FEW = 256
"""Answers that a function may keep: what is on the screen is drawn again without working them out anew."""


def forget_drawn() -> None:
    """Have every function that remembers many answers forget them. Any thread may call it."""
    for one in _remembering():
        if one.cache_parameters()["maxsize"] is not None and one.cache_info().currsize > _FEW:
            one.cache_clear()


def _remembering() -> Iterator[_lru_cache_wrapper[Any]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in _PACKAGES:
            continue
        for value in list(vars(module).values()):
            members = list(vars(value).values()) if isinstance(value, type) else [value]
            for member in members:
                function = getattr(member, "__func__", member)  # of a class method
                if isinstance(function, _lru_cache_wrapper):
                    yield function
