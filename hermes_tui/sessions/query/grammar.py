"""The search box's grammar: from what somebody typed to a tree, whatever it is.

    query   = either { "OR" either }
    either  = unit { ["AND"] unit }            binds tighter than OR
    unit    = { "NOT" | "-" } ( "(" query ")" | filter | inside | regex | phrase ["*"] | word ["*"] )
    inside  = "~" ( phrase | word )            of two characters or more, anywhere in a text, in words too
    regex   = "/" pattern "/"                  a slash in it with a backslash before it; a blank or nothing behind it
    filter  = name ":" value { "," value }     with a name of `FILTERS`; any one of the values will do
    value   = phrase | anything without blanks and commas
    phrase  = '"' anything '"'                 a missing end is the end of the text

Operators are upper case; `or` is a word. Punctuation inside a word (`can't`, `a@b.com`, `/usr/bin`) leaves a
phrase of its parts. An operator without an operand, a filter without a value and a bracket without its
partner are passed over, because the rest is still to be typed, and so is what would negate them. A known filter with
a senseless value is searched as the text that it is, and so is a pattern that is none; `/usr/bin` is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from hermes_tui.sessions.query.filters import FILTERS, MESSAGE_FILTERS, ROLES, NowIn, no_states, session_filter
from hermes_tui.sessions.query.regex import PatternRefused, compiled
from hermes_tui.sessions.query.tree import (
    TRUE,
    Inside,
    Literally,
    MessageFilter,
    Regex,
    Tree,
    Word,
    all_of,
    any_of,
    opposite,
)
from hermes_tui.sessions.words import tokens

__all__ = ["PartKind", "QueryToken", "read", "split"]

PartKind = Literal["word", "phrase", "filter", "operator", "bracket", "odd", "idle"]
"""`odd`: looks like a filter, is none, and is searched as text. `idle`: has no effect as it stands."""

_LENGTH = 4096
"""Characters. Nobody types more; what is pasted beyond is passed over."""
_MOST = 100
"""Conditions in one query."""
_DEEPEST = 20
"""Brackets in brackets."""
_LEAST_INSIDE = 2
"""Characters: one is in every text."""
_FILTER = re.compile(r"([A-Za-z]{2,10}):")
_PATTERN = re.compile(r"/((?:\\.|[^\\/\x00])+)/(?=[\s)]|\Z)")
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_NO_TERM = frozenset("->=)\x00")
"""What a dash stands before in `--flag`, `->call` and `-=`, where it negates nothing."""


class QueryToken(NamedTuple):
    """A piece of the query as it was typed, for the face to colour."""

    start: int
    end: int
    kind: PartKind


class Lexeme(NamedTuple):
    """A piece and what it is to the parser."""

    kind: Literal["word", "phrase", "inside", "regex", "filter", "operator", "minus", "open", "close"]
    start: int
    end: int
    text: str
    """The word or phrase without quotes; all that stands behind the filter's colon, a single value without its
    quotes."""
    name: str = ""
    """The filter's name, in lower case."""
    values: tuple[str, ...] = ()
    """The filter's values, without quotes."""
    prefix: bool = False


def split(text: str) -> list[Lexeme]:
    """The pieces of a query, in order."""
    text = text[:_LENGTH]
    found: list[Lexeme] = []
    at = 0
    opened = 0
    while at < len(text):
        char = text[at]
        if char.isspace() or char == "\x00":
            at += 1
        elif char == "(":
            opened += 1
            found.append(Lexeme("open", at, at + 1, "("))
            at += 1
        elif char == ")":
            opened = max(0, opened - 1)
            found.append(Lexeme("close", at, at + 1, ")"))
            at += 1
        elif char == "-" and at + 1 < len(text) and not text[at + 1].isspace() and text[at + 1] not in _NO_TERM:
            found.append(Lexeme("minus", at, at + 1, "-"))
            at += 1
        else:
            piece = _piece(text, at, opened)
            found.append(piece)
            at = piece.end
    return found


def _piece(text: str, at: int, opened: int) -> Lexeme:
    if text[at] == '"':
        value, end = _quoted(text, at)
        starred = text[end : end + 1] == "*"
        return Lexeme("phrase", at, end + starred, value, prefix=starred)
    if text[at] == "~" and at + 1 < len(text) and not text[at + 1].isspace() and text[at + 1] not in "~)":
        if text[at + 1] == '"':
            value, end = _quoted(text, at + 1)
        else:
            end = _word_end(text, at + 1, opened)
            value = text[at + 1 : end]
        return Lexeme("inside", at, end, value)
    if pattern := _PATTERN.match(text, at):
        return Lexeme("regex", at, pattern.end(), pattern[1])
    named = _FILTER.match(text, at)
    if named and named[1].lower() in FILTERS:
        values, end = _values(text, named.end(), opened)
        single = len(values) == 1
        return Lexeme("filter", at, end, values[0] if single else text[named.end() : end], named[1].lower(), values)
    end = _word_end(text, at, opened)
    word = text[at:end]
    if word in _OPERATORS:
        return Lexeme("operator", at, end, word)
    return Lexeme("word", at, end, word, prefix=word.endswith("*"))


def _values(text: str, at: int, opened: int) -> tuple[tuple[str, ...], int]:
    """What is parted by commas, and where it ends; what is in quotes may hold blanks and commas."""
    found: list[str] = []
    while True:
        if text[at : at + 1] == '"':
            value, at = _quoted(text, at)
            found.append(value)
            if text[at : at + 1] != ",":
                return tuple(found), at
            at += 1
        else:
            end = _word_end(text, at, opened)
            found += text[at:end].split(",")
            if text[end : end + 1] != '"' or found[-1] or end == at:
                return tuple(found), end
            found.pop()
            at = end


def _quoted(text: str, at: int) -> tuple[str, int]:
    end = text.find('"', at + 1)
    return (text[at + 1 :], len(text)) if end < 0 else (text[at + 1 : end], end + 1)


def _word_end(text: str, at: int, opened: int) -> int:
    end = at
    while end < len(text) and not text[end].isspace() and text[end] not in '"\x00':
        end += 1
    # A bracket that was opened before the word is closed after it; one of the word's own stays with it.
    while opened and end > at and text[end - 1] == ")" and text.count(")", at, end) > text.count("(", at, end):
        end -= 1
        opened -= 1
    return end if end > at else at


class Parser:
    """One pass over the pieces. Never raises."""

    def __init__(self, text: str, now: datetime, typing: bool, now_in: NowIn) -> None:
        self._now = now
        self._now_in = now_in
        self._lexemes = split(text)
        self._text = text
        self._open_end = len(text) if typing else -1
        self._partners = _partners(self._lexemes)
        self._at = 0
        self._leaves = 0
        self.refused = ""
        """Why a pattern is searched as text."""
        self.parts: list[QueryToken] = [QueryToken(_LENGTH, len(text), "idle")] if len(text) > _LENGTH else []

    def tree(self) -> Tree:
        """What the whole text means."""
        found = self._either(len(self._lexemes))
        self.parts.sort()
        return found

    def _either(self, stop: int) -> Tree:
        alternatives: list[list[Tree]] = [[]]
        pending: Lexeme | None = None
        negated: list[Lexeme] = []
        while self._at < stop:
            piece = self._lexemes[self._at]
            if piece.kind == "operator" and piece.text != "NOT":
                self._note_all(negated, "idle")
                negated = []
                self._note(pending, "idle")
                pending = piece
                self._at += 1
                continue
            if piece.kind in ("operator", "minus"):
                negated.append(piece)
                self._at += 1
                continue
            unit = self._unit(piece, len(negated) % 2 == 1)
            if unit is None:
                self._note_all(negated, "idle")
                negated = []
                continue
            self._note_all(negated, "operator")
            if pending is not None:
                useful = bool(alternatives[-1])
                self._note(pending, "operator" if useful else "idle")
                if pending.text == "OR" and useful:
                    alternatives.append([])
                pending = None
            alternatives[-1].append(opposite(unit) if len(negated) % 2 else unit)
            negated = []
        self._note_all(negated, "idle")
        self._note(pending, "idle")
        return any_of(all_of(parts) for parts in alternatives)

    def _unit(self, piece: Lexeme, negated: bool) -> Tree | None:
        """The unit that begins here; None where it has no meaning yet."""
        at = self._at
        self._at += 1
        if piece.kind in ("open", "close"):
            partner = self._partners.get(at)
            if piece.kind == "close" or partner is None:
                self._note(piece, "idle")
                return None
            self._note(piece, "bracket")
            before = self._leaves
            inner = self._either(partner)
            self._note(self._lexemes[partner], "bracket")
            self._at = partner + 1
            return inner if self._leaves > before else None
        if self._leaves >= _MOST:
            self._note(piece, "idle")
            return None
        leaf, kind = self._leaf(piece, negated)
        self._note(piece, kind)
        self._leaves += leaf is not None
        return leaf

    def _leaf(self, piece: Lexeme, negated: bool) -> tuple[Tree | None, PartKind]:
        if piece.kind == "inside":
            enough = len(piece.text) >= _LEAST_INSIDE
            return (Inside(piece.text), "phrase") if enough else (None, "idle")
        if piece.kind == "regex":
            try:
                compiled(piece.text)
            except PatternRefused as error:
                self.refused = str(error)
                return self._word(piece, negated), "odd"
            return Regex(piece.text), "phrase"
        if piece.kind != "filter":
            kind: PartKind = "phrase" if piece.kind == "phrase" else "word"
            leaf = self._word(piece, negated)
            return leaf, kind if leaf is not None else "idle"
        values = tuple(value for value in (one.strip().lower() for one in piece.values) if value)
        found: Tree | None
        try:
            if piece.name in MESSAGE_FILTERS:
                found = _message_filter(piece.name, values)
            else:
                found = session_filter(piece.name, piece.text, values, self._now, self._now_in)
        except ValueError:
            return self._word(piece._replace(text=f"{piece.name} {piece.text}"), negated), "odd"
        return (found, "filter") if found is not None else (None, "idle")

    def _word(self, piece: Lexeme, negated: bool) -> Tree | None:
        words = tuple(tokens(piece.text))
        if words:
            # The last word counts as begun from its second letter on. What is to be left out is left out once it is
            # typed.
            typed = not negated and piece.kind == "word" and piece.end == self._open_end and len(words[-1]) > 1
            goes_on = piece.prefix or (typed and self._text[-1].isalnum())
            return Word(words, prefix=goes_on)
        if any(unicodedata.category(char) in ("So", "Sc", "Mn", "Lo", "No") for char in piece.text):
            return Literally(piece.text.strip())
        return None

    def _note(self, piece: Lexeme | None, kind: PartKind) -> None:
        if piece is not None:
            self.parts.append(QueryToken(piece.start, piece.end, kind))

    def _note_all(self, pieces: list[Lexeme], kind: PartKind) -> None:
        for piece in pieces:
            self._note(piece, kind)


def _message_filter(name: str, values: Sequence[str]) -> Tree | None:
    """The condition on messages; None without a value. Raises `ValueError` for what makes no sense."""
    unknown = name == "role" and not all(any(role.startswith(value) for role in ROLES) for value in values)
    if len(values) > _MOST or unknown:
        raise ValueError(f"{', '.join(values[:_MOST])!r} is no {name}")
    return any_of(MessageFilter(name, value) for value in values) if values else None  # type: ignore[arg-type]


def _partners(lexemes: list[Lexeme]) -> dict[int, int]:
    """Index of each opening bracket that is closed → that of its partner."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for index, piece in enumerate(lexemes):
        if piece.kind == "open":
            waiting.append(index)
        elif piece.kind == "close" and waiting:
            start = waiting.pop()
            if len(waiting) < _DEEPEST:
                found[start] = index
    return found


def read(
    text: str, now: datetime, typing: bool, now_in: NowIn = no_states
) -> tuple[Tree, tuple[QueryToken, ...], str]:
    """The tree and the pieces of a query, and why a pattern in it is searched as text."""
    parser = Parser(text, now, typing, now_in)
    tree = parser.tree()
    return (tree, tuple(parser.parts), parser.refused) if parser.parts else (TRUE, (), "")
