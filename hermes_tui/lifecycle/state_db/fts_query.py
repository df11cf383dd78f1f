"""Turns what a user types into a query for FTS5.

Format: spec 000, "FTS5 Query Syntax"; facts on Hermes, section 6.

Hermes cleans the text and then asks; where FTS5 still takes an apostrophe or an "@" for a mistake, it finds nothing.
Here the cleaned text is asked too, so that the same is found; and where that is refused, each word on its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Term", "Words", "cjk_letters", "parse_words", "quote_words", "sanitize_query", "trigram_query"]

MAX_QUERY = 2048
"""Characters of a search; the rest is not looked at."""

_PHRASE = re.compile(r'"[^"]*"')
_SPECIAL = re.compile(r'[+{}():"^]')
_STARS = re.compile(r"\*+")
_LEADING_STAR = re.compile(r"(^|\s)\*")
_FIRST_OPERATOR = re.compile(r"(?:AND|OR|NOT)\b\s*", re.IGNORECASE)
_LAST_OPERATOR = re.compile(r"\s+(?:AND|OR|NOT)\s*\Z", re.IGNORECASE)
_COMPOUND = re.compile(r"\b\w+(?:[._-]\w+)+\b")
_TOKEN = re.compile(r'"([^"]*)"?|([^\s"]+)')
_CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0002a6df]")
"""Han, Kana, Hangul and CJK punctuation: scripts without spaces, of which FTS5 makes one long word."""


def sanitize_query(query: str) -> str:
    """The search as Hermes itself puts it to FTS5, but for NUL, which is a space here; empty when nothing is left.

    Phrases in quotes stay; characters that mean something to FTS5 are dropped, also operators at the ends; words
    with dots, hyphens or underscores become phrases.
    """
    text = query[:MAX_QUERY].replace("\0", " ")
    phrases = _PHRASE.findall(text)
    # NUL stands for a phrase meanwhile: the text has none of its own any more.
    text = _SPECIAL.sub(" ", _PHRASE.sub("\0", text))
    text = _LEADING_STAR.sub(r"\1", _STARS.sub("*", text)).strip()
    first = _FIRST_OPERATOR.match(text)
    text = text[first.end() if first else 0 :].strip()
    text = _LAST_OPERATOR.sub("", text).strip()
    text = _COMPOUND.sub(r'"\g<0>"', text)
    for phrase in phrases:
        text = text.replace("\0", phrase, 1)
    return text.strip()


class Term(NamedTuple):
    """A word or phrase; with `prefix` only its beginning."""

    text: str
    prefix: bool = False


class TermGroup(NamedTuple):
    """Terms that must all be there, or with `negated` must not all be there."""

    terms: tuple[Term, ...]
    negated: bool = False


Words = list[list[TermGroup]]
"""Alternatives, of each of which all parts must hold."""


def parse_words(query: str) -> Words:
    """A search read leniently: nothing in it is a mistake. NOT binds tighter than AND, AND tighter than OR, words
    beside one another tightest, as in FTS5."""
    words: Words = [[]]
    terms: list[Term] = []
    negated = False

    def close() -> None:
        nonlocal terms, negated
        if terms:
            # FTS5 knows NOT only between two parts: at the beginning it is passed over.
            words[-1].append(TermGroup(tuple(terms), negated and bool(words[-1])))
        terms, negated = [], False

    for found in _TOKEN.finditer(query[:MAX_QUERY].replace("\0", " ")):
        phrase, word = found.groups()
        if word in ("AND", "OR", "NOT"):
            close()
            negated = word == "NOT"
            if word == "OR" and words[-1]:
                words.append([])
            continue
        text = phrase if word is None else word.strip("*")
        if any(letter.isalnum() for letter in text):
            terms.append(Term(text, word is not None and word.endswith("*")))
    close()
    return [parts for parts in words if parts]


def quote_words(words: Words) -> str:
    """The same for FTS5, every term in quotes; empty for nothing."""
    alternatives: list[str] = []
    for parts in words:
        text = ""
        for part in parts:
            terms = " ".join(f'"{term.text}"{" *" if term.prefix else ""}' for term in part.terms)
            text += (" NOT " if part.negated else " AND ") * bool(text)
            text += f"({terms})" if len(part.terms) > 1 else terms
        alternatives.append(f"({text})")
    return " OR ".join(alternatives)


def cjk_letters(text: str) -> int:
    """How many letters of scripts without spaces there are."""
    return len(_CJK.findall(text))


def trigram_query(query: str) -> str | None:
    """A sanitised search for the index of three letters each, in which a run of Han letters is found anywhere in a
    text; None when one of its words is too short for that."""
    tokens = query.strip('"').strip().split()
    words = [token for token in tokens if token.upper() not in ("AND", "OR", "NOT")]
    counts = [cjk_letters(word) for word in words if cjk_letters(word)]
    if not counts or min(counts) < 3:
        return None
    kept = set(words)
    quoted = ['"' + token.replace('"', '""') + '"' if token in kept else token for token in tokens]
    return " ".join(quoted)
