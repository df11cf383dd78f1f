"""The first letters of the words of a text: what is looked for while somebody types the first keys of a word."""

from __future__ import annotations

from hermes_tui.sessions.words import tokens

__all__ = ["LONGEST", "beginnings", "beginnings_of"]

LONGEST = 3
"""Characters of a beginning. A longer one stands before so few words that FTS5 may look at all of them."""

# Bytes, because they are cut into words in a fraction of the time that a regular expression takes.
_PARTS = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256)).lower()


def beginnings(text: str) -> str:
    """The first `LONGEST` characters of every word of `text`, folded, each once: words themselves to FTS5."""
    words = text.encode("utf-8", "replace").translate(_PARTS).split()
    if text.isascii():
        return b" ".join({word[:LONGEST] for word in words}).decode()
    found = {word[:LONGEST] for word in words if word.isascii()}
    # Which characters are letters, and how they are folded, the tokenizer knows.
    strange = b" ".join({word for word in words if not word.isascii()}).decode()
    return " ".join({*b" ".join(found).decode().split(), *(word[:LONGEST] for word in tokens(strange))})


def beginnings_of(starts: list[str]) -> str:
    """What to ask a table of `beginnings` for the rows in which words begin with all of `starts`."""
    # Shorter ones have an index of their own in the table; those of full length are its words.
    return " AND ".join(f'"{start}"' if len(start) == LONGEST else f'"{start}"*' for start in starts)
