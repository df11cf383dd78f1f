"""Regular expressions in queries, by RE2, whose time grows with the text alone.

A pattern comes from a user or an agent, and a text from anybody: with Python's own engine a pattern of ten characters
can take longer than anybody lives, and all other threads wait meanwhile. RE2 (the package google-re2, an extra) has
no look-around and no references back, which is the price.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from hermes_tui.sessions.words import Span
from session_adapters.registry import install_command

__all__ = ["PatternRefused", "compiled", "literals", "places"]

_MEMORY = 4 << 20
"""Bytes for a pattern and what RE2 makes of it while it reads."""
_MOST_PLACES = 10_000
_TOKEN = re.compile(
    r"""\\[pP](?:\{[^}]*\}|.) | \\x\{[^}]*\} | \\x.. | \\[0-7]{1,3} | \\.      # an escape
    | \[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]                        # a class
    | \{[0-9]+(?:,[0-9]*)?\}\?? | [*+?]\??                              # how often
    | .""",
    re.VERBOSE | re.DOTALL,
)
_BLANKS = frozenset(("^", "$", r"\A", r"\z", r"\s", r"\t", r"\n", r"\r", r"\f", r"\v"))
"""The edge of a line, or what stands in no word."""


class PatternRefused(Exception):
    """There is no searching for a pattern. The text is one sentence without a full stop: why, and what to do."""


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Any:
    """The pattern, without regard to case, `^` and `$` at the edges of lines. Raises `PatternRefused`."""
    try:
        import re2
    except ImportError:
        raise PatternRefused(
            f"regular expressions need google-re2, which is not installed: {install_command('regex')}"
        ) from None
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, _MEMORY
    try:
        re2.compile(pattern, options)  # alone: it may close no bracket of ours
        found = re2.compile(f"(?m){pattern}", options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise PatternRefused(f"/{pattern}/ is no regular expression of RE2 ({said})") from None
    if found.search("") is not None:
        raise PatternRefused(f"/{pattern}/ fits every text: it must ask for one character at least")
    return found


def places(pattern: str, text: str) -> Iterator[Span]:
    """Where the pattern stands in a text, empty places left out. Raises `PatternRefused`."""
    if "\r\n" in text and r"\r" not in pattern:
        text = text.replace("\r\n", "\n\n")  # `$` stands before a line feed alone; as long as it was
    for found in islice(_each(compiled(pattern), text), _MOST_PLACES):
        start, end = found.span()
        if start < end:
            yield Span(start, end)


def _each(pattern: Any, text: str) -> Iterator[Any]:
    try:
        yield from pattern.finditer(text)
    except UnicodeEncodeError:  # half a character, in the place of which another one stands
        yield from pattern.finditer(text.encode("utf-8", "replace").decode())


def literals(pattern: str) -> list[str]:
    """Texts of which each stands in every match, but for case; a blank in one is some character of no word, or the
    edge of a line. Few where that is hard to tell: groups are passed over, and of alternatives nothing is known."""
    runs: list[str] = []
    run, depth = "", 0
    pieces = _TOKEN.findall(pattern)
    if r"\Q" in pieces:
        return []
    for piece, after in zip(pieces, [*pieces[1:], ""], strict=True):
        if _is_quantifier(piece):
            continue
        repeated = _is_quantifier(after)
        optional = repeated and after[0] != "+" and not re.match(r"\{0*[1-9]", after)
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
        elif depth:
            continue
        elif piece == "|":
            return []
        is_sign = len(piece) == 2 and piece[0] == "\\" and not piece[1].isalnum()
        said = " " if piece in _BLANKS else piece[1] if is_sign else piece
        known = len(said) == 1 and piece not in (".", "(", ")")
        if known and not optional:
            run += said
        if not known or repeated:
            runs.append(run)
            run = said if known and not optional and said == " " else ""
    return [one for one in (*runs, run) if one.strip()]


def _is_quantifier(piece: str) -> bool:
    return piece[:1] in ("*", "+", "?") or (piece[:1] == "{" and len(piece) > 1)
