"""What is different inside one message: words, not lines, and no more of them than there are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from hermes_tui.sessions.diff.align import common

__all__ = ["Span", "changed", "wording"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MOST = 20_000
"""Words of one side; longer messages are compared line by line."""

_LEAST_SHARED = 0.3
"""Part of the shorter text that must be in both; with less, words in common are chance and marks noise."""


class Span(NamedTuple):
    """A stretch of text."""

    mark: Literal[" ", "-", "+"]
    """In both, only in the first, only in the second."""
    text: str


def wording(a: str, b: str) -> list[Span]:
    """Both texts as one: without the `+` spans it is `a`, without the `-` spans `b`. Where something changed, what
    went stands before what came. Two texts that have little in common are told as one gone and one come."""
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    if max(len(words_a), len(words_b)) > _MOST:
        words_a, words_b = a.splitlines(keepends=True), b.splitlines(keepends=True)
    spans: list[Span] = []
    done_a = done_b = 0
    for i, j in (*_anchors(words_a, words_b), (len(words_a), len(words_b))):
        spans.append(Span("-", "".join(words_a[done_a:i])))
        spans.append(Span("+", "".join(words_b[done_b:j])))
        if i < len(words_a):
            spans.append(Span(" ", words_a[i]))
        done_a, done_b = i + 1, j + 1
    found = _joined([span for span in spans if span.text])
    shared = sum(len(span.text) for span in found if span.mark == " ")
    if shared < _LEAST_SHARED * min(len(a), len(b)):
        return [span for span in (Span("-", a), Span("+", b)) if span.text]
    return found


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The words in common, without blanks and signs that stand alone between changes: two sentences that share
    nothing else are not torn to pieces by them."""
    pairs = common(a, b)
    kept: list[tuple[int, int]] = []
    for at, (i, j) in enumerate(pairs):
        before = at > 0 and pairs[at - 1] == (i - 1, j - 1)
        after = at + 1 < len(pairs) and pairs[at + 1] == (i + 1, j + 1)
        edge = (i == 0 and j == 0) or (i == len(a) - 1 and j == len(b) - 1)
        if any(map(str.isalnum, a[i])) or before or after or edge:
            kept.append((i, j))
    return kept


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Neighbours of one mark as one; within a change, what went before what came."""
    found: list[Span] = []
    for same, group in groupby(spans, key=lambda span: span.mark == " "):
        held = list(group)
        if same:
            found.append(Span(" ", "".join(span.text for span in held)))
            continue
        gone = "".join(span.text for span in held if span.mark == "-")
        come = "".join(span.text for span in held if span.mark == "+")
        found += [Span("-", gone)] if gone else []
        found += [Span("+", come)] if come else []
    return found


def changed(spans: Sequence[Span], side: Literal["-", "+"]) -> list[tuple[int, int]]:
    """Where in the text of one side its changes are: (start, end) in characters."""
    found: list[tuple[int, int]] = []
    at = 0
    for span in spans:
        if span.mark == side:
            found.append((at, at + len(span.text)))
        if span.mark in (" ", side):
            at += len(span.text)
    return found
