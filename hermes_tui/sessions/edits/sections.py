"""Parts of a diff of one file: lines with their numbers, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from hermes_tui.sessions.calls.edits import Hunk
from hermes_tui.sessions.calls.patches import Row

__all__ = ["PlacedHunk", "Section", "compared_texts", "loose_hunk"]

_CONTEXT = 3  # lines, as `diff -u` and `git` have it, so that every tool takes the patch
_MOST_COMPARED = 20_000
"""Lines of both texts, without those that they begin and end with alike; comparing more takes too long."""
_NO_NEWLINE = "\\ No newline at end of file"


class PlacedHunk(NamedTuple):
    """Lines of one place in a file."""

    rows: Sequence[Row]
    old: int
    """The number of the first line in the old file; 0 where it is not known."""
    new: int

    @property
    def applies(self) -> bool:
        """Whether `git apply` can find the place: by its number, or by lines above and below that stay."""
        return bool(self.old or self.new) or (len(self.rows) > 2 and self.rows[0][0] == self.rows[-1][0] == " ")

    @property
    def heading(self) -> str:
        """`@@ -3,7 +3,8 @@`; where no number is known, only that."""
        if not (self.old or self.new):
            return "@@ place not known @@"
        return f"@@ -{self.old},{self._count('-')} +{self.new},{self._count('+')} @@"

    def _count(self, mark: str) -> int:
        return sum(one in (mark, " ") for one, _ in self.rows)


class Section(NamedTuple):
    """A change of a file that can be applied by itself, after those before it."""

    kind: Literal["change", "add", "delete"]
    hunks: Sequence[PlacedHunk]
    moved: str = ""
    """Its new path, where it gets one."""
    note: str = ""
    """What cannot be told of it; a sentence without a full stop."""

    @property
    def applies(self) -> bool:
        """Whether `git apply` takes it where the file is as it was."""
        return all(hunk.applies for hunk in self.hunks) and bool(self.hunks or self.moved or self.kind == "add")


def compared_texts(before: str, after: str, first: int = 1) -> Sequence[PlacedHunk]:
    """How `after` comes from `before`, whose first line has the number `first`: three lines around each change."""
    old, new = _lines(before), _lines(after)
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    below = 0
    while below < min(len(old), len(new)) - same and old[-1 - below] == new[-1 - below]:
        below += 1
    skipped = max(0, same - _CONTEXT)
    end_old, end_new = (len(one) - max(0, below - _CONTEXT) for one in (old, new))
    a, b = old[skipped:end_old], new[skipped:end_new]
    number = first + skipped
    if len(a) + len(b) > _MOST_COMPARED:
        top, end = same - skipped, min(below, _CONTEXT)
        groups: list[list[_Opcode]] = [
            [
                ("equal", 0, top, 0, top),
                ("replace", top, len(a) - end, top, len(b) - end),
                ("equal", len(a) - end, len(a), len(b) - end, len(b)),
            ]
        ]
    else:
        groups = [[*group] for group in SequenceMatcher(None, a, b).get_grouped_opcodes(_CONTEXT)]
    return [
        PlacedHunk(
            [row for code in group for row in _rows(a, b, *code)],
            number + group[0][1] if before else 0,
            number + group[0][3] if after else 0,
        )
        for group in groups
    ]


_Opcode = tuple[str, int, int, int, int]


def _rows(a: Sequence[str], b: Sequence[str], tag: str, a1: int, a2: int, b1: int, b2: int) -> Iterator[Row]:
    if tag == "equal":
        yield from _marked(" ", a[a1:a2])
    else:
        yield from _marked("-", a[a1:a2])
        yield from _marked("+", b[b1:b2])


def _marked(mark: Literal["+", "-", " "], lines: Sequence[str]) -> Iterator[Row]:
    for line in lines:
        yield mark, line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "@", _NO_NEWLINE


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends one."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def loose_hunk(hunk: Hunk) -> PlacedHunk:
    """An edit whose file is not known: its own lines, with a number only where it says one."""
    return PlacedHunk(hunk.rows, hunk.start, hunk.start)
