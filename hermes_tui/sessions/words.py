"""Words of a text as the search index sees them, and where they stand.

The tokenizer is SQLite's own `unicode61` with `remove_diacritics 2`: a word is a run of letters and digits, without
regard to case and accents. A run of Han, Kana or Hangul has no blanks to tell its words apart, so there each
character is a word of its own, and what is looked for is a phrase of them: any part of such a run is found.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple, cast

__all__ = [
    "TOKENIZER",
    "Passage",
    "Span",
    "Token",
    "count_words",
    "is_dense",
    "is_han",
    "located",
    "spaced",
    "spaced_bytes",
    "tokens",
]

TOKENIZER = ("unicode61", "remove_diacritics", "2")
"""As FTS5 is told."""

_CJK = (
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3040-\u30ff\u3100-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
_OTHERS = bytes({*range(256)} - {0xE1, 0xE2, *range(0xE3, 0xEE), 0xEF, 0xF0})
"""Bytes with which none of those begins in UTF-8."""
_ASCII = bytes(range(128))
_FOREIGN = re.compile(rb"[\xe1-\xf0][\x80-\xff]*")
"""Characters of which one may be one of those, and others that are not ASCII behind it."""
_ACCENTED = re.compile("[\u00c0-\u0233\u0300-\u0331\u1e00-\u1ef9\u212a\u212b]")
"""Every character that the tokenizer makes plain ASCII letters of, or leaves out, is one of these."""
_ASCII_WORD = re.compile("[a-z0-9]+")
_LETTERS = bytes(ord("a") if chr(byte).isalnum() and byte < 128 else ord(" ") for byte in range(256))

_local = threading.local()


class Span(NamedTuple):
    """Characters `start` up to, not including, `end`."""

    start: int
    end: int


class Token(NamedTuple):
    """One word."""

    word: str
    """Folded."""
    start: int
    end: int


@cache
def _cjk() -> re.Pattern[str]:
    """Made when the first text needs it: to compile a set of so many characters takes longer than a search does."""
    return re.compile(_CJK)


@cache
def _dense() -> re.Pattern[str]:
    return re.compile(f"{_CJK}+")


def is_han(text: str) -> bool:
    """Whether it is nothing but Chinese characters of the usual block, which no folding touches."""
    return bool(text) and all("\u4e00" <= char <= "\u9fff" for char in text)


def is_dense(words: Sequence[str]) -> bool:
    """Whether they are single Han, Kana or Hangul characters: of a run that has no blanks to tell its words apart."""
    return all(len(word) == 1 and _cjk().fullmatch(word) for word in words)


def spaced(text: str) -> str:
    """`text` with blanks around each Han, Kana and Hangul character: what FTS5 is given, and asked with."""
    return text if text.isascii() else _cjk().sub(r" \g<0> ", text)


def spaced_bytes(text: bytes) -> bytes:
    """The same of UTF-8, which is quick to tell whether there may be any, and where."""
    if text.isascii() or not text.translate(None, _OTHERS):
        return text
    if not _cjk().search(text.translate(None, _ASCII).decode()):
        return text
    return _FOREIGN.sub(_spaced_run, text)


def _spaced_run(found: re.Match[bytes]) -> bytes:
    run = found[0].decode()
    spaced_out = f" {'  '.join(run)} " if _dense().fullmatch(run) else _cjk().sub(r" \g<0> ", run)
    return spaced_out.encode()


def tokens(text: str) -> list[str]:
    """The folded words of `text`, in order."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return [word for _, _, word in _tokenize(spaced(text).encode("utf-8", "replace"))]


def count_words(text: str) -> int:
    """How many words `tokens` gives."""
    if not text.isascii():
        return len(tokens(text))
    letters = text.encode().translate(_LETTERS)
    return letters.count(b" a") + letters.startswith(b"a")


def located(text: str) -> list[Token]:
    """The words of `text` and where they stand in it."""
    if text.isascii():
        return [Token(found[0], *found.span()) for found in _ASCII_WORD.finditer(text.lower())]
    wide = spaced(text)
    added = [cjk.start() + 2 * number + 1 for number, cjk in enumerate(_cjk().finditer(text))]
    data = wide.encode("utf-8", "replace")
    found: list[Token] = []
    byte = place = passed = 0
    for start, end, word in _tokenize(data):
        place += len(data[byte:start].decode())
        while passed < len(added) and added[passed] < place:
            passed += 1
        # Each of these characters has a blank of ours on both sides; the one that stands here only that before it.
        shift = 2 * passed + (passed < len(added) and added[passed] == place)
        length = len(data[start:end].decode())
        found.append(Token(word, place - shift, place - shift + length))
        place += length
        byte = end
    return found


def _tokenize(data: bytes) -> Sequence[tuple[int, int, str]]:
    ask: Callable[[bytes], Any] | None = getattr(_local, "ask", None)
    if ask is None:
        import apsw

        # A connection for each thread: one is used by one thread at a time.
        connection = apsw.Connection(":memory:")
        tokenizer = connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
        flags = apsw.FTS5_TOKENIZE_DOCUMENT

        def ask(text: bytes) -> Any:
            return tokenizer(text, flags, None, include_colocated=False)

        _local.connection, _local.ask = connection, ask
    return cast(Sequence[tuple[int, int, str]], ask(data))


class Passage:
    """A text that words are looked for in; what has to be worked out for it is worked out once.

    Most texts hold none of the words, so they are turned away by a search for the plain characters, and cut into
    words only where that cannot tell.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lower(self) -> str:
        """As `str.lower`; of the same length, save where `plain` is false."""
        return self.text.lower()

    @cached_property
    def plain(self) -> bool:
        """No character of it becomes an ASCII letter by folding."""
        return self.text.isascii() or not _ACCENTED.search(self.text)

    @cached_property
    def tokens(self) -> list[Token]:
        """All words and their places."""
        return located(self.text)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Word → where in `tokens` it is."""
        places: dict[str, list[int]] = {}
        for index, token in enumerate(self.tokens):
            places.setdefault(token.word, []).append(index)
        return places

    def find(self, words: Sequence[str], prefix: bool = False) -> Iterator[Span]:
        """Where `words` stand one after the other, the last one only begun where `prefix`."""
        if not words:
            return
        ascii_only = all(map(str.isascii, words))
        if self.text.isascii():
            if ascii_only:
                yield from self._simple(words, prefix)
            return
        if any(is_han(word) and word not in self.text for word in words):
            return
        if ascii_only and self.plain:
            if any(word not in self.lower for word in words):
                return
            try:
                yield from list(self._simple(words, prefix))
                return
            except _Unclear:  # a letter that is not ASCII may stand beside a word: the slow way tells
                pass
        yield from self._by_tokens(words, prefix)

    def holds(self, words: Sequence[str], prefix: bool = False) -> bool:
        """Whether `find` finds anything."""
        if not self.text.isascii() and is_han("".join(words)) and "".join(words) in self.text:
            return True
        return next(self.find(words, prefix), None) is not None

    def count(self, words: Sequence[str], prefix: bool, most: int) -> int:
        """How often `find` finds something, at most `most`, and at least once where it does; of Chinese only what
        stands without blanks is counted."""
        if is_han("".join(words)) and (number := self.text.count("".join(words))):
            return min(most, number)
        return sum(1 for _ in zip(range(most), self.find(words, prefix), strict=False))

    def _simple(self, words: Sequence[str], prefix: bool) -> Iterator[Span]:
        """By looking for ASCII characters. Raises `_Unclear` beside others, which may be letters."""
        lower = self.lower
        pattern: re.Pattern[str] | None = None
        at = lower.find(words[0])
        while at >= 0:
            before = lower[at - 1] if at else " "
            if not before.isascii():
                raise _Unclear
            if not before.isalnum():
                if pattern is None:
                    last = "[a-z0-9]*" if prefix else "(?![a-z0-9])"
                    pattern = re.compile("[^a-z0-9]+".join(words) + last)
                found = pattern.match(lower, at)
                if found:
                    end = found.end()
                    if not lower[at : end + 1].isascii():  # the character behind it, too
                        raise _Unclear
                    yield Span(at, end)
                    at = end - 1  # the next one begins behind it
            at = lower.find(words[0], at + 1)

    def _by_tokens(self, words: Sequence[str], prefix: bool) -> Iterator[Span]:
        last = len(words) - 1
        if last or not prefix:
            starts = self.places.get(words[0], [])
        else:
            begun = (found for word, found in self.places.items() if word.startswith(words[0]))
            starts = sorted(place for found in begun for place in found)
        beyond = len(self.tokens) - last
        for start in starts:
            if start >= beyond:
                break
            run = self.tokens[start : start + len(words)]
            tail = run[-1].word
            if (tail == words[-1] or (prefix and tail.startswith(words[-1]))) and all(
                token.word == word for token, word in zip(run[:-1], words, strict=False)
            ):
                yield Span(run[0].start, run[-1].end)


class _Unclear(Exception):
    """Whether a word begins, ends or stands in between here depends on a character that is not ASCII."""
