"""Counts calls of functions while a test runs, without replacing them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any

__all__ = ["calls_in", "calls_of"]


@contextmanager
def calls_of(*functions: Callable[..., object]) -> Iterator[list[dict[str, Any]]]:
    """The arguments of each call of these functions, which are written in Python, by this thread."""
    codes: set[CodeType] = {function.__code__ for function in functions}
    with _profiled(lambda code: code in codes) as found:
        yield found


@contextmanager
def calls_in(module: ModuleType) -> Iterator[list[dict[str, Any]]]:
    """The arguments of each call of what this module defines, by this thread."""
    with _profiled(lambda code: code.co_filename == module.__file__) as found:
        yield found


@contextmanager
def _profiled(counts: Callable[[CodeType], bool]) -> Iterator[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and counts(frame.f_code):
            found.append(dict(frame.f_locals))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)
