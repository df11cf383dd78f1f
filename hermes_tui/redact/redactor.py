"""Masks secrets in texts, values and sessions.

Each kind of secret is looked for only in text that holds one of its marks, so that a text without secrets costs a few
passes of `str.find`. Colours and characters without width inside a secret do not hide it, nor does a line that was
broken in the middle of a key.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from hermes_tui.redact.key_formats import KEY_BLOCKS, KEYS
from hermes_tui.redact.named_secrets import CONTEXTS
from hermes_tui.redact.pattern import Pattern, is_placeholder, secret_of
from hermes_tui.redact.secret_names import is_secret_name

__all__ = ["Redactor", "patterns"]

R = TypeVar("R", bound=msgspec.Struct)

_PATTERNS: tuple[Pattern, ...] = (*KEY_BLOCKS, *KEYS, *CONTEXTS)
_ALONE = re.compile(r"(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})|(?<=[\[0-9;][mK])")
"""Where a key can begin: not in the middle of a longer word. A letter before it may belong to an escape, though: of
JSON (`\\n`), of an address (`%3D`), or of a terminal (`ESC[32m`)."""
_INVISIBLE = re.compile(
    r"(?:\x1b\[[0-9;:]{0,40}+[A-Za-z]|\x1b\][^\x07\x1b]{0,2000}+(?:\x07|\x1b\\)|[\u200b-\u200d\u2060\ufeff\u00ad])++"
)
_REST = r"(?=(?=[A-Za-z_.+/=-]{0,80}\d)[A-Za-z0-9_.+/=-]{8,250}+[\"'`]?[ \t]{0,8}\\?(?:\r?\n|\Z))"
_BROKEN = re.compile(rf"(?<=[A-Za-z0-9_.+/=-])(?:[\"']?[ \t]{{0,8}}[\\+]?\r?\n[ \t]{{0,16}}[\"']?){_REST}")
"""The end of a line in the middle of a key: the next line is nothing but its rest."""
_RESTS = re.compile(rf"\n[ \t]{{0,16}}[\"']?{_REST}")
"""A line that may be such a rest: few texts have one, and whether one does is told by its line ends alone."""
_CONTINUED = re.compile(rf"(?<=[A-Za-z0-9_.+/=-])\\\r?\n[ \t]{{0,16}}{_REST}")
"""The same where a backslash says so: there, a secret may also be told by its name."""
_LEAST = 8
"""Characters of the shortest text that can hold a secret: `ab://:x@`."""
_BEHIND, _FAR_BEHIND = 400, 2_000
"""Characters behind the beginning of a text that are looked at with it: a phrase of 24 words ends within the first,
a key of one word or one that goes on in further lines within the second."""
_SPACED = re.compile(r"(?<=\S)[ \t]{1,8}(?=[^\s\\+])")
"""A blank between two words of a line, which no key goes on behind."""
_TOLD_FROM_AFAR = ("-----begin", '"kty"', "kind: secret")
"""Where one of these stands, much that follows or goes before is a secret."""


def patterns() -> tuple[Pattern, ...]:
    """Every kind of secret that is known, in the order in which they are looked for."""
    return _PATTERNS


class Redactor:
    """Masks secrets and counts them. One per export; not for several threads at once."""

    def __init__(self) -> None:
        self.places: Counter[str] = Counter()
        """Kind → how many times something was masked."""
        self._seen: set[bytes] = set()

    @property
    def secrets(self) -> int:
        """How many different secrets were masked; the same one in two places is one."""
        return len(self._seen)

    @property
    def report(self) -> str:
        """What was masked, for people: `3 secrets masked in 5 places: 4 GitHub token, 1 private key`."""
        total = self.places.total()
        if not total:
            return "no secrets found to mask"
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.places.most_common())
        secrets = f"{self.secrets} secret{'' if self.secrets == 1 else 's'}"
        return f"{secrets} masked in {total} place{'' if total == 1 else 's'}: {kinds}"

    def text(self, text: str) -> str:
        """`text` with every secret in it replaced by `[masked: its kind]`."""
        if len(text) < _LEAST:
            return text
        if "\x1b" in text or not text.isascii():
            text = self._through(text, _INVISIBLE, _PATTERNS)
        if "\n" in text and _RESTS.search(text) is not None:
            text = self._through(text, _CONTINUED, _PATTERNS, across=True)
            text = self._through(text, _BROKEN, KEYS, across=True)
        for kind in _possible(text, _PATTERNS):
            text = self._replaced(text, list(_matches(text, kind)))
        return text

    def beginning(self, text: str, length: int) -> str:
        """The first `length` characters of `text` with every secret in them masked, those too that go on behind
        them; all of it, masked, where there is hardly more."""
        farthest = length + _FAR_BEHIND
        end = length + _BEHIND
        if end < len(text):
            head = text[:farthest].lower()
            gap = None if any(mark in head for mark in _TOLD_FROM_AFAR) else _SPACED.search(text, end, farthest)
            end = farthest if gap is None else gap.start()
        masked = self.text(text[:end])
        # What was looked at behind them goes, counted from the end: a mask has another length than its secret.
        return masked if end >= len(text) else masked[: length - end]

    def value(self, value: Any) -> Any:
        """A decoded JSON value with `text` applied to every string in it, keys included; itself where nothing is
        masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            named = value.get("name")
            changed = dict(
                self._entry(key, one, named if key == "value" and isinstance(named, str) else key)
                for key, one in value.items()
            )
            return changed if changed != value else value
        if isinstance(value, list | tuple):
            items = [self.value(one) for one in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, msgspec.Struct):
            return self.record(value)
        return value

    def _entry(self, key: Any, value: Any, name: Any) -> tuple[Any, Any]:
        """Key and value of a dictionary, masked. `name` says what the value is: the key, or the `name` beside it."""
        key = self.value(key)
        if not (isinstance(name, str) and isinstance(value, str) and is_secret_name(name)):
            return key, self.value(value)
        quote = "" if '"' in value or "\n" in value else '"'
        lead = f"{name}={quote}"
        return key, self.text(f"{lead}{value}{quote}").removeprefix(lead).removesuffix(quote)

    def record(self, record: R) -> R:
        """A record of ours with every text in it masked, ids, titles and paths included; itself where there was
        nothing to mask, so that a whole session takes little more memory than before."""
        changes: dict[str, Any] = {}
        for name in record.__struct_fields__:
            before = getattr(record, name)
            if (after := self.value(before)) is not before and after != before:
                changes[name] = after
        return msgspec.structs.replace(record, **changes) if changes else record

    def _through(self, text: str, cuts: re.Pattern[str], kinds: tuple[Pattern, ...], *, across: bool = False) -> str:
        """Mask the secrets that show when what `cuts` matches is taken out of `text`; those alone that such a cut
        runs through, if `across`."""
        gaps = [found.span() for found in cuts.finditer(text)]
        if not gaps:
            return text
        kept: list[str] = []
        starts: list[int] = []
        lost: list[int] = []
        at = removed = 0
        for begin, end in gaps:
            kept.append(text[at:begin])
            removed += end - begin
            starts.append(end - removed)
            lost.append(removed)
            at = end
        kept.append(text[at:])
        joined = "".join(kept)
        spans = []
        for kind, begin, end in (span for one in _possible(joined, kinds) for span in _matches(joined, one)):
            first = bisect_right(starts, begin)
            last = bisect_right(starts, end - 1)
            if first != last or not across:
                left = begin + (lost[first - 1] if first else 0)
                spans.append((kind, left, end + lost[last - 1]))
        return self._replaced(text, spans)

    def _replaced(self, text: str, spans: list[tuple[str, int, int]]) -> str:
        if not spans:
            return text
        parts: list[str] = []
        at = 0
        for kind, begin, end in sorted(spans, key=lambda span: span[1:]):
            if begin < at:  # a part of it is masked already
                continue
            self.places[kind] += 1
            self._seen.add(sha256(_INVISIBLE.sub("", text[begin:end]).encode("utf-8", "replace")).digest())
            parts += (text[at:begin], f"[masked: {kind}]")
            at = end
        return "".join((*parts, text[at:]))


def _pairs(text: str) -> set[int]:
    """Every two characters that stand beside each other, as numbers."""
    data = text.encode("ascii", "replace")
    even = len(data) // 2 * 2
    # Those that begin at even places, then those that begin at odd ones.
    return {*memoryview(data[:even]).cast("H"), *memoryview(data[1 : 1 + (len(data) - 1) // 2 * 2]).cast("H")}


_MARKS = [
    (mark, set[int]().union(*(_pairs(mark[at : at + 2]) for at in range(len(mark) - 1))))
    for mark in sorted({mark for kind in _PATTERNS for mark in kind.marks})
]
"""With the pairs in it: those of a text rule most marks out, sooner than looking for each does."""
_MARKED = {mark: [number for number, kind in enumerate(_PATTERNS) if mark in kind.marks] for mark, _ in _MARKS}
"""Numbers of the kinds that have a mark."""


def _possible(text: str, kinds: tuple[Pattern, ...]) -> list[Pattern]:
    """The kinds of which the text holds a mark."""
    lowered = text.lower()
    pairs = _pairs(lowered)
    there = [mark for mark, wanted in _MARKS if wanted <= pairs and mark in lowered]
    numbers = {number for mark in there for number in _MARKED[mark]}
    found = [_PATTERNS[number] for number in sorted(numbers)]
    return found if kinds is _PATTERNS else [kind for kind in found if kind in kinds]


def _matches(text: str, kind: Pattern) -> list[tuple[str, int, int]]:
    """(kind, begin, end) of every secret of that kind."""
    spans = []
    for found in kind.expression.finditer(text):
        if found.lastgroup is None and kind.expression.groups:  # it was in vain: see `Pattern`
            continue
        if kind.alone and (_ALONE.match(text, found.start()) is None or is_placeholder(secret_of(found))):
            continue
        if kind.accepts is not None and not kind.accepts(found):
            continue
        begin, end = found.span(found.lastgroup or 0)
        if not text.startswith("[masked:", begin):  # else a kind before it has masked this
            spans.append((kind.kind, begin, end))
    return spans
