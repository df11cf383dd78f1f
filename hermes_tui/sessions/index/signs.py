"""Signs that are no words to FTS5 (an emoji, `$`), as words of their own."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from hermes_tui.sessions.words import count_words, spaced_bytes

__all__ = ["count_indexed", "escaped", "indexable", "is_sign", "sign_word", "signs"]

_MARK = "\U000ffffd"
"""Begins the word of a sign: for private use, and a letter to FTS5."""
_ESCAPED = f"{_MARK}m"
"""Stands for it in words that somebody wrote: a sign goes on with a hexadecimal digit."""
_PLAIN = bytes(byte for byte in range(128) if byte != ord("$"))
"""ASCII that is no sign."""


def indexable(text: bytes) -> bytes:
    """What FTS5 is given of a text: `spaced`, with a word behind it for each of its signs."""
    if text.isascii() and b"$" not in text:  # as a rule; to look for signs takes ten times as long
        return spaced_bytes(text)
    there = signs(text.translate(None, _PLAIN).decode())
    if _MARK.encode() in text:
        text = escaped(text.decode()).encode()
    return (
        b" ".join((spaced_bytes(text), *(sign_word(sign).encode() for sign in there)))
        if there
        else spaced_bytes(text)
    )


def count_indexed(text: str) -> int:
    """Words of what `indexable` makes of a text."""
    plain = text.isascii() and "$" not in text
    return count_words(text) + (0 if plain else len(signs(text)))


def escaped(words: str) -> str:
    """Words that are told from those of signs."""
    return words.replace(_MARK, _ESCAPED)


def signs(text: str) -> list[str]:
    """Signs in `text`, each once: characters that FTS5 takes for no part of a word."""
    return sorted(filter(is_sign, set(text)))


@lru_cache(maxsize=4096)
def is_sign(char: str) -> bool:
    """Whether it is one sign."""
    return char == "$" or (len(char) == 1 and not char.isascii() and unicodedata.category(char) in ("So", "Sc", "Mn"))


def sign_word(sign: str) -> str:
    """The word that stands for a sign."""
    return f"{_MARK}{ord(sign):x}"
