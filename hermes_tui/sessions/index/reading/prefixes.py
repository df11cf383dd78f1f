"""Indexes first letters of words, and signs that are in no word.

What is looked for while a user types the first keys of a word, or an emoji.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from hermes_tui.sessions.words import tokens

__all__ = ["LONGEST", "beginnings", "beginnings_of", "is_sign", "may_begin", "signs"]

LONGEST = 3
"""Characters of a beginning. A longer one stands before so few words that FTS5 may look at all of them."""

# Bytes, because they are cut into words in a fraction of the time that a regular expression takes.
_PARTS = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256)).lower()
_STRANGE = re.compile(r"[^\x00-\x7f]")
_MARK = "\U000ffffd"
"""Begins the name of a sign: for private use, and a letter to FTS5."""


def beginnings(text: bytes) -> bytes:
    """The first `LONGEST` characters of every word of `text`, folded, and its signs, each once: words themselves to
    FTS5."""
    words = set(text.translate(_PARTS).split())
    if text.isascii():
        plain = b" ".join({word[:LONGEST] for word in words})
        return b"%b %b" % (plain, _named("$").encode()) if b"$" in text else plain
    found = {word[:LONGEST].decode() for word in words if word.isascii()}
    # Which characters are letters, and how they are folded, the tokenizer knows.
    strange = b" ".join(word for word in words if not word.isascii()).decode()
    found.update(word[:LONGEST] for word in tokens(strange) if word[0] != _MARK)
    found.update(_named(sign) for sign in signs(text.decode()))
    return " ".join(found).encode()


def beginnings_of(starts: Iterable[str]) -> str:
    """What to ask a table of `beginnings` for the rows in which words begin with all of `starts`; signs among them
    stand for themselves."""
    # Shorter ones have an index of their own in the table; those of full length are its words.
    return " AND ".join(_asked(start) for start in starts)


def _asked(start: str) -> str:
    if is_sign(start):
        return f'"{_named(start)}"'
    return f'"{start}"' if len(start) == LONGEST else f'"{start}"*'


def signs(text: str) -> list[str]:
    """Signs in `text`, each once: characters such as an emoji that FTS5 takes for no part of a word."""
    found = {char for char in _STRANGE.findall(text) if is_sign(char)}
    return [*found, "$"] if "$" in text else list(found)


def may_begin(start: str) -> bool:
    """Whether a table of beginnings can be asked for words that begin so."""
    return 0 < len(start) <= LONGEST and start[0] != _MARK


@lru_cache(maxsize=4096)
def is_sign(char: str) -> bool:
    """Whether it is one sign."""
    return len(char) == 1 and unicodedata.category(char) in ("So", "Sc", "Mn")


def _named(sign: str) -> str:
    return f"{_MARK}{ord(sign):x}"
