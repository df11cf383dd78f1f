"""The widget of all edits of a session: files that open, their lines below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile
from typing import NamedTuple

from textual.geometry import Size

from hermes_tui.cells import fit, width_of
from hermes_tui.display import counted, safe
from hermes_tui.sessions.edits.collect import FileDiff
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.styled import FoldedRows, Part
from hermes_tui.tui.widgets.transcript.layout.cut_text import excerpt, fold

__all__ = ["EditsView"]

_OPEN_AT_FIRST = 1000
"""Lines; where there are more, every file is closed at first."""
_MOST_LINES = 4000
"""Lines of one file, and of all that are opened at once: laying out more would hold up the keys."""
_PURPOSES = {"+": "added", "-": "removed", "@": "faint"}


class _EditsRow(NamedTuple):
    file: int
    """Index of its file."""
    mark: str
    """`+`, `-`, a blank or `@`; empty for the line of the file itself."""
    text: str = ""


class EditsView(FoldedRows, can_focus=True, inherit_bindings=False):
    """`show` it the files; only rows in view are drawn."""

    BINDINGS = bindings("edits")
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._files: Sequence[FileDiff] = ()
        self._rows: list[_EditsRow] = []
        self._open: set[int] = set()
        self._laid: dict[int, list[_EditsRow]] = {}
        """The rows of files that were opened, for the width there is."""
        self._width = 0

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @property
    def file(self) -> int:
        """Index of the file that the cursor is on; -1 for none."""
        return self._rows[self.cursor].file if 0 <= self.cursor < len(self._rows) else -1

    def show(self, files: Sequence[FileDiff]) -> None:
        """Show these, the cursor on the first."""
        self._files = files
        self._open = set(range(len(files))) if sum(file.rows for file in files) <= _OPEN_AT_FIRST else set()
        self._lay()
        self.go(0)
        self.post_message(self.Moved())

    def _lay(self) -> None:
        """Work out the rows for the width it has; the cursor stays on its file."""
        here = self.file
        within = self.cursor - self._head_of(here) if here >= 0 else 0
        if self.scrollable_content_region.width != self._width:
            self._laid.clear()
        self._width = self.scrollable_content_region.width
        rows: list[_EditsRow] = []
        for number, file in enumerate(self._files):
            rows.append(_EditsRow(number, ""))
            if number in self._open:
                if number not in self._laid:
                    self._laid[number] = list(islice(self._lines(number, file), _MOST_LINES))
                    if len(self._laid[number]) == _MOST_LINES:
                        self._laid[number].append(_EditsRow(number, "@", "… there is more: e writes all of it"))
                rows.extend(self._laid[number])
        self._rows = rows
        self.virtual_size = Size(self._width, len(rows))
        if here >= 0:
            size = sum(row.file == here for row in rows)
            self.cursor = self._head_of(here) + min(within, size - 1)
        self.refresh()

    def _lines(self, number: int, file: FileDiff) -> Iterator[_EditsRow]:
        for section in file.sections:
            if section.moved:
                yield _EditsRow(number, "@", f"renamed to {safe(section.moved)}")
            if section.note:
                yield _EditsRow(number, "@", safe(section.note))
            for hunk in section.hunks:
                yield _EditsRow(number, "@", hunk.heading)
                for mark, text in hunk.rows:
                    shown = excerpt(text, 1).lines or [""]
                    for at, row in enumerate(fold(shown, max(8, self._width - 4))):
                        # A row that goes on with a line has its colour, but no sign: the mark is doubled.
                        yield _EditsRow(number, mark if at == 0 or mark == "@" else f"{mark}{mark}", row)

    def _head_of(self, file: int) -> int:
        return next((at for at, row in enumerate(self._rows) if row.file == file), 0)

    # Moving and folding --------------------------------------------------------------------------------------

    def action_file(self, step: int) -> None:
        """To the next (1) file, or to the beginning of this or the one before (-1)."""
        heads = [at for at, row in enumerate(self._rows) if not row.mark]
        ahead = [at for at in heads if (at > self.cursor if step > 0 else at < self.cursor)]
        if not ahead:
            self.notify(f"There is no file {'after' if step > 0 else 'before'} this one.")
            return
        self.go(ahead[0] if step > 0 else ahead[-1])
        self.jump(max(0, self.cursor - 1))

    def action_fold(self) -> None:
        """Open or close the file under the cursor."""
        if self.file < 0:
            self.notify("There is nothing to open here.")
            return
        here = self.file
        self._open ^= {here}
        self._lay()
        self.go(self._head_of(here))
        self.show_cursor()

    def action_fold_all(self) -> None:
        """Open every file, or close all."""
        if not self._files:
            self.notify("There is nothing to open here.")
            return
        if self._open:
            self._open = set()
        else:
            # As many as are opened at once, one at least.
            lengths = accumulate(file.rows for file in self._files)
            first = takewhile(lambda number: next(lengths) <= _MOST_LINES, range(len(self._files)))
            self._open = {0, *first}
        if self._open and len(self._open) < len(self._files):
            self.notify(f"The first {counted(len(self._open), 'file')} are open: there are too many lines for all.")
        self._lay()
        self.show_cursor()

    # Drawing -------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Fold to the new width."""
        if self.scrollable_content_region.width != self._width:
            self._lay()
            self.show_cursor()

    def parts(self, at: int) -> list[Part]:
        """A file with what became of it, or a line with its mark."""
        row = self._rows[at]
        if row.mark:
            sign = row.mark if len(row.mark) == 1 and row.mark != "@" else " "
            purpose = _PURPOSES.get(row.mark[0], "")
            return [(f"  {sign} " if row.mark != "@" else "  ", purpose), (fit(row.text, self._width - 4), purpose)]
        file = self._files[row.file]
        said = f"  +{file.added:,} −{file.removed:,} · {counted(file.calls, 'edit')}"
        name = fit(safe(file.path) or "file without a name", max(4, self._width - width_of(said) - 3))
        return [(f"{'▾' if row.file in self._open else '▸'} {name}", "heading"), (said, "faint")]
