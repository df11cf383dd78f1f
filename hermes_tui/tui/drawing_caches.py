"""Clears what Rich, Textual and our own drawing cache of texts and styles.

Each function remembers thousands of answers by itself, texts among them that are long out of sight: over weeks that
comes to tens of megabytes, scattered among what is needed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import _lru_cache_wrapper
from typing import Any

import textual.strip
from textual._styles_cache import StylesCache
from textual.cache import FIFOCache

from hermes_tui.platform.memory_tuning import give_back

__all__ = ["clear_up", "keep_no_pieces", "let_go_of_widgets"]

_KEPT = {"hermes_tui": 256, "rich": 0, "textual": 0}
"""How many answers a function may keep, by its package. Where nothing is kept of what was drawn, the next key takes a
millisecond more. Each answer would hold the page of memory where it was made while a screen came and went, 2 MB in
all after nine busy minutes."""


def clear_up(look: Callable[[], object] = gc.collect) -> None:
    """Let go of what was drawn and what was read; called now and then after something has changed. Any thread may.
    `look` finds what is garbage in circles."""
    # Copies are gone through: another thread may import something meanwhile.
    for name, module in list(sys.modules.items()):
        kept = _KEPT.get(name.partition(".")[0])
        if kept is None:
            continue
        for value in list(vars(module).values()):
            members = list(vars(value).values()) if isinstance(value, type) else [value]
            for member in members:
                one = getattr(member, "__func__", member)  # of a class method
                if (
                    isinstance(one, _lru_cache_wrapper)
                    and one.cache_parameters()["maxsize"] is not None
                    and one.cache_info().currsize > kept
                ):
                    one.cache_clear()
    look()
    give_back()


def let_go_of_widgets() -> None:
    """Have Textual remember two colours of a widget by these colours alone: it names the widget among them, for what
    it wrote as a method of the class is none, and keeps the last picture of a thousand widgets that are gone."""
    colours: Any = vars(StylesCache)["get_inner_outer"]
    if not isinstance(colours, classmethod):
        setattr(StylesCache, "get_inner_outer", classmethod(colours))  # noqa: B010 - no method may be assigned to


class _KeepsNothing(FIFOCache[Any, Any]):
    """For an answer that is worked out as fast as it is found."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Nothing is kept."""


def keep_no_pieces() -> None:
    """Have no drawn line keep what was cut out of it, in seven caches for each of some thousand lines: a third of the
    room that a screen takes while it is drawn, and no time is saved by it."""
    nothing = _KeepsNothing(0)
    setattr(textual.strip, "FIFOCache", lambda maxsize: nothing)  # noqa: B010 - no class may be assigned to
