"""Finds the words that differ inside one message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from hermes_tui.sessions.diff.align import common

__all__ = ["ChangedSpan", "changed", "wording"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MOST = 20_000
"""Words of one side; longer messages are compared line by line."""

_LEAST_SHARED = 0.3
"""Part of the shorter text that must be in both; with less, words in common are chance and marks noise."""


class ChangedSpan(NamedTuple):
    """A stretch of text."""

    mark: Literal[" ", "-", "+"]
    """In both, only in the first, only in the second."""
    text: str


def wording(a: str, b: str) -> list[ChangedSpan]:
    """Both texts as one: without the `+` spans it is `a`, without the `-` spans `b`. Where something changed, what
    went stands before what came. Two texts that have little in common are told as one gone and one come."""
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    if max(len(words_a), len(words_b)) > _MOST:
        words_a, words_b = a.splitlines(keepends=True), b.splitlines(keepends=True)
    spans: list[ChangedSpan] = []
    done_a = done_b = 0
    for i, j, length in (*_anchors(words_a, words_b), (len(words_a), len(words_b), 0)):
        spans.append(ChangedSpan("-", "".join(words_a[done_a:i])))
        spans.append(ChangedSpan("+", "".join(words_b[done_b:j])))
        spans.append(ChangedSpan(" ", "".join(words_a[i : i + length])))
        done_a, done_b = i + length, j + length
    shared = sum(len(span.text) for span in spans if span.mark == " ")
    if shared < _LEAST_SHARED * min(len(a), len(b)):
        spans = [ChangedSpan("-", a), ChangedSpan("+", b)]
    return [span for span in spans if span.text]


def _anchors(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """The words in common as (place in `a`, in `b`, how many), without blanks and signs that stand alone between
    changes: two sentences that share nothing else are not torn to pieces by them."""
    pairs = common(a, b)
    start = 0
    for at in range(1, len(pairs) + 1):
        i, j = pairs[start]
        length = at - start
        # Pairs that follow each other on both sides are one.
        if at < len(pairs) and pairs[at] == (i + length, j + length):
            continue
        start = at
        edge = (i == 0 and j == 0) or (i + length == len(a) and j + length == len(b))
        if length > 1 or edge or any(map(str.isalnum, a[i])):
            yield i, j, length


def changed(spans: Sequence[ChangedSpan], side: Literal["-", "+"]) -> list[tuple[int, int]]:
    """Where in the text of one side its changes are: (start, end) in characters."""
    found: list[tuple[int, int]] = []
    at = 0
    for span in spans:
        if span.mark == side:
            found.append((at, at + len(span.text)))
        if span.mark in (" ", side):
            at += len(span.text)
    return found
