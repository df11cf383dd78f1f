"""A kind of secret: its marks, its expression, and what is no secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

__all__ = ["Pattern", "compiled", "is_placeholder", "key", "pattern", "secret_of"]


class Pattern(NamedTuple):
    """One kind of secret.

    An expression takes time that grows with the text alone: what it repeats is bounded or cannot be given back, and
    where it looks far ahead it also matches, without a group, what was in vain, so that nobody looks there again.
    """

    kind: str
    """What it is, for people; stands in the mask."""
    marks: tuple[str, ...]
    """Lower case. One of them stands in every text that holds such a secret."""
    source: str
    """Its expression as it is written."""
    flags: int = re.ASCII
    alone: bool = False
    """A key with a form of its own: only where no longer word goes before it."""
    accepts: Callable[[re.Match[str]], bool] | None = None
    """A last look at what was found: whether it is a secret."""

    @property
    def expression(self) -> re.Pattern[str]:
        """The last group that took part is masked; all of it, if the expression has no groups."""
        return compiled(self.source, self.flags)


@cache
def compiled(source: str, flags: int = re.ASCII) -> re.Pattern[str]:
    """An expression, compiled when the first text has one of its marks: of hundreds a session needs a few."""
    return re.compile(source, flags)


_PLACEHOLDER = re.compile(
    r"\A(?:[<\[{]|[$%&]?[({]|\$[A-Za-z_]|%\w+%\Z|[!@&*][A-Za-z_.]+\Z|[$%<{&*•.:#?!-]+\Z|--?[a-z][a-z-]*(?:=|\Z))"
    r"|\$[({]|\{\{|[Xx*•]{5}|\.\.\.\Z|…|(?i:example|placeholder|changeme|change[_-]me|redacted"
    r"|dummy|insert[_-]|<[a-z]|(?:\A|[_-])(?:your|my)[_-])"
)
"""Variables, templates, stars, tags, options, and the words of documentation."""
_WORD = re.compile(
    r"(?i:pass|passwd|password|pwd|secret|token|key|user|username|guest|root|admin|test|none|nil|null|true|false|required"
    r"|optional|undefined|string|str|bool|int|bytes|yes|no|hidden|postgres|mysql|default|empty|missing|invalid)\Z"
)


def is_placeholder(text: str) -> bool:
    """Whether `text` stands for a secret and is none: `${TOKEN}`, `<your key>`, `****`, `password`."""
    return _PLACEHOLDER.search(text) is not None or _WORD.match(text) is not None


def secret_of(found: re.Match[str]) -> str:
    """What of a match would be masked."""
    return found[found.lastgroup or 0]


def pattern(
    kind: str, marks: str, expression: str, flags: int = 0, accepts: Callable[[re.Match[str]], bool] | None = None
) -> Pattern:
    """A kind of secret that is told by what stands around it. `marks` are parted by blanks."""
    return Pattern(kind, tuple(marks.split()), expression, flags | re.ASCII, accepts=accepts)


def key(kind: str, marks: str, expression: str, accepts: Callable[[re.Match[str]], bool] | None = None) -> Pattern:
    """A kind of secret that is told by its own form."""
    return Pattern(kind, tuple(marks.split()), expression, alone=True, accepts=accepts)
