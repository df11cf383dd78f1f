"""Clears what Rich, Textual and our own drawing cache of texts and styles.

Each function remembers thousands of answers by itself, texts among them that are long out of sight: over weeks that
comes to tens of megabytes, scattered among what is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from typing import Any

from textual._styles_cache import StylesCache

__all__ = ["forget_drawn", "let_go_of_widgets"]

_PACKAGES = ("hermes_tui", "rich", "textual")
_FEW = 256
"""Answers that a function may keep: what is on the screen is drawn again without working them out anew."""


def forget_drawn() -> None:
    """Have every function that remembers many answers forget them. Any thread may call it."""
    for one in _remembering():
        if one.cache_parameters()["maxsize"] is not None and one.cache_info().currsize > _FEW:
            one.cache_clear()


def let_go_of_widgets() -> None:
    """Have Textual remember two colours of a widget by these colours alone: it names the widget among them, for what
    it wrote as a method of the class is none, and keeps the last picture of a thousand widgets that are gone."""
    colours: Any = vars(StylesCache)["get_inner_outer"]
    if not isinstance(colours, classmethod):
        setattr(StylesCache, "get_inner_outer", classmethod(colours))  # noqa: B010 - no method may be assigned to


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
