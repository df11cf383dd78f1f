"""Makes a store's text and figures valid; cuts text between characters.

Making it safe for a terminal is the faces' business (`hermes_tui.display`); here control characters stay, so
that an export keeps what was said.
"""

from __future__ import annotations

import json
import re
import unicodedata
from operator import attrgetter
from typing import Any

import msgspec

__all__ = [
    "TITLE_LENGTH",
    "cut",
    "drop_impossible",
    "from_json",
    "if_json",
    "one_line",
    "scrub",
    "scrub_field",
    "scrub_json",
]

TITLE_LENGTH = 100
"""Characters (checklist L-14)."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def scrub(text: str) -> str:
    """`text` with lone surrogates replaced by U+FFFD, so that it can be encoded."""
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() else text


def scrub_json(value: Any) -> Any:
    """`scrub` for every string in a decoded JSON value, keys included."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list | tuple):
        return [scrub_json(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub_json(item) for key, item in value.items()}
    return value


def from_json(text: str, *, strict: bool = True) -> Any:
    """The value that a JSON text stands for, with valid texts in it. Raises `ValueError`. Unless `strict`, control
    characters may stand in it as they are."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass  # lone surrogates and NaN, which models and their programs write, are taken by the slower decoder alone
    try:
        return scrub_json(json.loads(text, strict=strict))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def if_json(value: Any) -> Any:
    """What a JSON text stands for; any other value as it is, and so what a model garbled."""
    try:
        return from_json(value) if isinstance(value, str) else value
    except ValueError:
        return value


def one_line(text: str, length: int = TITLE_LENGTH) -> str:
    """`text` on one line, white space and control characters collapsed, at most `length` characters."""
    blank = _BLANKS.match(text)
    start = blank.end() if blank else 0
    head = ""
    for part in (2, 20):  # much is blank at most: only so much of a long prompt can reach its first characters
        head = " ".join(_CONTROL.sub(" ", text[start : start + length * part]).split())
        if len(head) > length:
            break
    return cut(scrub(head), length)


def cut(text: str, length: int) -> str:
    """The first `length` characters of `text`, never ending inside a character made of several (emoji with
    joiners, flags, combining marks)."""
    if len(text) <= length:
        return text
    end = length
    while end > 0 and _continues(text, end):
        end -= 1
    return text[:end].rstrip() if end else text[:length]


def _continues(text: str, at: int) -> bool:
    """Whether `text[at]` belongs to the same visible character as the one before it."""
    char = text[at]
    # Categories M*: combining marks, variation selectors, the keycap's enclosing square.
    if char == "\u200d" or text[at - 1] == "\u200d" or unicodedata.category(char).startswith("M"):
        return True
    if "\u1160" <= char <= "\u11ff":  # the later parts of a Hangul syllable
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":  # skin tone, tag
        return True
    if _regional(char):
        before = 0
        while at - before > 0 and _regional(text[at - before - 1]):
            before += 1
        return before % 2 == 1
    return False


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def scrub_field(record: msgspec.Struct, name: str) -> bool:
    """Scrub a field of text in place: names of files may be no UTF-8, and nobody could write them. Whether that
    changed it."""
    value = getattr(record, name)
    text = scrub(value)
    if text == value:
        return False
    msgspec.structs.force_setattr(record, name, text)
    return True


_MOST_TOKENS = 10**15
"""A figure above that was used by nobody: it is damaged, as one below zero is, and no sum could be told with it."""
_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "thinking_tokens",
    "cache_write_hour_tokens",
)
_FIGURES = attrgetter(*_TOKENS)


def drop_impossible(usage: msgspec.Struct) -> None:
    """Set each of the six figures of a new `usage` to 0 that cannot be."""
    figures = _FIGURES(usage)
    if min(figures) < 0 or max(figures) > _MOST_TOKENS:
        for name, number in zip(_TOKENS, figures, strict=True):
            if not 0 <= number <= _MOST_TOKENS:
                msgspec.structs.force_setattr(usage, name, 0)
