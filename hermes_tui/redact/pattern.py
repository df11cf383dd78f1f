"""What a kind of secret is: its marks, its expression, and what is not taken for one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Pattern", "is_placeholder", "key", "pattern"]


class Pattern(NamedTuple):
    """One kind of secret."""

    kind: str
    """What it is, for people; stands in the mask."""
    marks: tuple[str, ...]
    """Lower case. One of them stands in every text that holds such a secret."""
    expression: re.Pattern[str]
    """The group `secret` is masked; without such a group, all of it."""
    alone: bool = False
    """A key with a form of its own: only where no longer word goes before it."""
    accepts: Callable[[re.Match[str]], bool] | None = None
    """A last look at what was found: whether it is a secret."""


_PLACEHOLDER = re.compile(
    r"\A(?:[$%<{&*•.#?!-]|\[)|\$[({]|\{\{|[Xx*•]{5}|\.\.\.\Z|…|(?i:example|placeholder|changeme|change[_-]me|redacted"
    r"|dummy|insert[_-]|<[a-z]|(?:\A|[_-])(?:your|my)[_-])|\A\[masked:"
)
"""Variables, templates, stars, and the words of documentation."""
_WORDS = frozenset(
    {
        "pass",
        "passwd",
        "password",
        "pwd",
        "secret",
        "token",
        "key",
        "user",
        "username",
        "guest",
        "root",
        "admin",
        "test",
        "none",
        "nil",
        "null",
        "true",
        "false",
        "required",
        "optional",
        "undefined",
        "string",
        "str",
        "bool",
        "int",
        "bytes",
        "yes",
        "no",
        "hidden",
        "postgres",
        "mysql",
        "default",
        "empty",
        "missing",
        "invalid",
    }
)


def is_placeholder(text: str) -> bool:
    """Whether `text` stands for a secret and is none: `${TOKEN}`, `<your key>`, `****`, `password`."""
    return _PLACEHOLDER.search(text) is not None or text.lower() in _WORDS


def pattern(
    kind: str, marks: str, expression: str, flags: int = 0, accepts: Callable[[re.Match[str]], bool] | None = None
) -> Pattern:
    """A kind of secret that is told by what stands around it."""
    return Pattern(kind, tuple(marks.split()), re.compile(expression, flags | re.ASCII), accepts=accepts)


def key(kind: str, marks: str, expression: str, accepts: Callable[[re.Match[str]], bool] | None = None) -> Pattern:
    """A kind of secret that is told by its own form."""
    return Pattern(kind, tuple(marks.split()), re.compile(expression, re.ASCII), alone=True, accepts=accepts)
