"""Reads patches: those of `apply_patch`, and unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

__all__ = ["FileEdit", "Hunk", "Mark", "Row", "patched_files"]

Mark = Literal["+", "-", " ", "@"]
Row = tuple[Mark, str]
"""A line of a change; `@` is none of the file's: a heading."""

_APPLIED = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_PLACE = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)")
_NOTHING = "/dev/null"


class Hunk(NamedTuple):
    """A change in one place of a file."""

    rows: Sequence[Row]
    start: int = 0
    """The line of the old file with which it begins, counted from 1; 0 where nothing says it."""
    near: str = ""
    """What the patch says of the place."""
    old: str = ""
    """The replaced text as it was given, with its line ends; empty in a patch."""
    new: str = ""
    """The text in its place, in the same way."""
    everywhere: bool = False
    """Wherever the old text stands, not only once."""


class FileEdit(NamedTuple):
    """What becomes of one file."""

    path: str
    """As the call names it; empty where it does not."""
    kind: Literal["change", "write", "add", "delete"]
    """`write`: all of its new contents, whether it was there or not."""
    hunks: Sequence[Hunk]
    moved: str = ""
    """Its new path, where it gets one."""

    @property
    def heading(self) -> str:
        """The file and what becomes of it, in one line."""
        said = {"change": "", "write": "", "add": " (new)", "delete": " (deleted)"}[self.kind]
        return f"{self.path or 'file'}{f' → {self.moved}' if self.moved else ''}{said}"

    @property
    def added(self) -> int:
        """Lines put in."""
        return sum(mark == "+" for hunk in self.hunks for mark, _ in hunk.rows)

    @property
    def removed(self) -> int:
        """Lines taken out."""
        return sum(mark == "-" for hunk in self.hunks for mark, _ in hunk.rows)


def patched_files(text: str) -> Sequence[FileEdit]:
    """The files of a patch; none where the text is no patch."""
    text = text.lstrip()
    # Not `splitlines`: what else it takes for a line's end stands inside of lines.
    if text.startswith("*** Begin Patch"):
        return list(_applied(text.removesuffix("\n").split("\n")[1:]))
    if text.startswith(("--- ", "diff --git ", "@@ ")):
        return list(_unified(text.removesuffix("\n").split("\n")))
    return ()


def _applied(lines: Sequence[str]) -> Iterator[FileEdit]:
    """The files of a patch for `apply_patch`."""
    file: FileEdit | None = None
    rows: list[Row] = []
    hunks: list[Hunk] = []
    near = ""

    def whole(one: FileEdit) -> FileEdit:
        return one._replace(hunks=(*hunks, Hunk(rows, near=near)) if rows else tuple(hunks))

    for line in lines:
        if line.startswith("*** End Patch"):
            break
        if head := _APPLIED.match(line):
            if file is not None:
                yield whole(file)
            kind: Literal["add", "change", "delete"] = "change"
            kind = "add" if head[1] == "Add" else "delete" if head[1] == "Delete" else kind
            file, rows, hunks, near = FileEdit(head[2].strip(), kind, ()), [], [], ""
        elif file is not None and line.startswith("*** Move to: "):
            file = file._replace(moved=line[13:].strip())
        elif file is not None and line.startswith("@@"):
            if rows:
                hunks.append(Hunk(rows, near=near))
                rows = []
            near = line[2:].strip()
        elif not line.startswith("*** "):
            rows.append(_row(line))
    if file is not None:
        yield whole(file)


def _unified(lines: Sequence[str]) -> Iterator[FileEdit]:
    """The files of a unified diff, with or without the headings of git."""
    file = FileEdit("", "change", ())
    hunks: list[Hunk] = []
    rows: list[Row] | None = None
    for number, line in enumerate(lines):
        # Inside a hunk `--- a` takes out `-- a`, unless the next line names the new file.
        heads = line.startswith("--- ") and "".join(lines[number + 1 : number + 2]).startswith("+++ ")
        if heads or line.startswith("diff --git "):
            if hunks:
                yield file._replace(hunks=tuple(hunks))
            file, hunks, rows = FileEdit("", "change", ()), [], None
            if heads:
                old, new = _name(line), _name(lines[number + 1])
                if old == _NOTHING:
                    file = FileEdit(new, "add", ())
                else:
                    moved = "" if new in (old, _NOTHING) else new
                    file = FileEdit(old, "delete" if new == _NOTHING else "change", (), moved)
        elif line.startswith("@@"):
            place, rows = _PLACE.match(line), []
            hunks.append(Hunk(rows, int(place[1]) if place else 0, place[2] if place else line[2:].strip(" @")))
        elif rows is not None and not line.startswith("\\"):
            rows.append(_row(line))
    if hunks:
        yield file._replace(hunks=tuple(hunks))


def _name(line: str) -> str:
    path = line[4:].split("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def _row(line: str) -> Row:
    mark = line[:1]
    if mark == "+":
        return "+", line[1:]
    if mark == "-":
        return "-", line[1:]
    return " ", line[1:] if mark == " " else line
