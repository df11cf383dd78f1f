"""What somebody might type into a search, and what nobody would."""

from __future__ import annotations

import random

from hermes_tui.sessions.query.filters import FILTERS

__all__ = ["PIECES", "made"]

PIECES = (
    *(
        "docker",
        "error",
        "the",
        "needlezq3",
        "can't",
        "a@b.com",
        "/usr/bin",
        "C:\\x",
        "100%",
        "#tag",
        "hello?",
        "数据库",
    ),
    *("café", "😀", "-", "--", "NOT", "AND", "OR", "(", ")", '"', '"a b"', "*", "dep*", ":", "'", "\x00", "\x1b[31m"),
    *("\ud800", "\u202e", "é\u0301", "is:live", "since:7d", "since:2026-1", "cost:>", "cost:>1", "-agent:codex"),
    *("tool:bash", "tool:e", "file:src/", "file:.py", "-file:test", "role:user", "-role:tool", "-the", "NEAR(a b)"),
    *(
        "{a b}",
        "a^b",
        "prose: x",
        "^the",
        ".*",
        "[a-z]+",
        "(?i)x",
        "a|b",
        "\\\\",
        "%s",
        "{0}",
        "$",
        "$$",
        "€",
        "1",
        "漢字",
    ),
    *("~nvo", '~"the f', "~", "~~", "-~oc", "~/src"),
    *("ひらがな", "한국어", "İ", "ß", "ﬁ", "e" * 300, "a b " * 60, "( " * 60, "x OR " * 40),
    *(f"{name}:" for name in FILTERS),
)


def made(dice: random.Random) -> str:
    """One query: pieces with or without blanks, or any characters."""
    if dice.random() < 0.2:
        return "".join(
            chr(dice.choice((dice.randrange(128), dice.randrange(0x3000)))) for _ in range(dice.randrange(12))
        )
    return dice.choice((" ", " ", "")).join(dice.choices(PIECES, k=dice.randrange(1, 5)))
