"""Whole JSON values found in damaged text, with bounded effort.

Each `{"` may be the beginning of a value, and decoding from each takes time that grows with the square of the length.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

__all__ = ["Effort", "take_apart"]

_DECODE = json.JSONDecoder(strict=False).raw_decode  # raw control characters inside strings are no loss
_LEVEL = 200
"""As many characters count for a level of nesting, where values nest as deeply as Python lets them: how deeply that
is differs from process to process."""
_TIMES = 16
"""As often each character of a damaged line is looked at."""
_BLANK = re.compile("[\x00 \t\r]*")


class Effort:
    """Characters that may still be looked at."""

    def __init__(self, left: int) -> None:
        self.left = left

    def decode(self, text: str, at: int) -> tuple[Any, int] | None:
        """The value that begins there, and where it ends; None where none is whole. Either is charged for."""
        try:
            value, end = _DECODE(text, at)
        except RecursionError:
            self.left -= _LEVEL * sys.getrecursionlimit()
        except json.JSONDecodeError as error:
            self.left -= (len(text) if error.msg.startswith("Unterminated") else error.pos) - at
            self.left -= error.pos // 16  # it has counted the lines before it
        except ValueError:  # a number of thousands of digits
            self.left -= len(text) - at
        else:
            self.left -= end - at
            return value, end
        return None


def take_apart(text: str) -> tuple[list[object], bool]:
    """The JSON objects in a damaged line, whole ones glued together or a whole one after half of another; and whether
    something was lost."""
    values: list[object] = []
    lost = False
    at = 0
    effort = Effort(_TIMES * len(text))
    while 0 <= at < len(text):
        value, end = effort.decode(text, at) or (None, at)
        behind = _BLANK.match(text, end).end()  # type: ignore[union-attr]
        # After half a record an inner object decodes too. But then something is left behind it, or the half ends with
        # it, just before the next record.
        inner = text[max(0, at - 2) : at].rstrip().endswith((":", ",", "["))
        if isinstance(value, dict) and (behind == len(text) or (text.startswith("{", behind) and not inner)):
            values.append(value)
            at = behind
        else:
            lost = True
            at = text.find('{"', at + 1) if effort.left > 0 else -1
    return values, lost
