"""Which rows of a transcript are visible, and the anchor when anything changes.

Knows no terminal.

The place of the view is a row of a message, not a number of rows from the top, because heights are estimates until a
message is laid out: what is in view never moves when an estimate turns out wrong or messages come in above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from hermes_tui.tui.widgets.transcript.layout.block_writer import ALL, OPEN, SHUT
from hermes_tui.tui.widgets.transcript.layout.blocks import MessageLayout
from hermes_tui.tui.widgets.transcript.layout.heights import MessageHeight, first_new
from hermes_tui.tui.widgets.transcript.layout.layout_cache import LayoutCache, Position, is_tool
from hermes_tui.tui.widgets.transcript.layout.segments import MORE, NOTE, Piece, Rendered, RowPlace
from session_adapters.model import Message

__all__ = ["Bookmark", "View", "VisibleRow"]


class VisibleRow(NamedTuple):
    """A row in view."""

    position: Position
    rendered: Rendered


class Bookmark(NamedTuple):
    """A place to come back to, whatever comes in above it."""

    cursor: tuple[MessageHeight, int]
    top: tuple[MessageHeight, int]
    following: bool


class _Held(NamedTuple):
    entry: int
    place: RowPlace
    screen: int


class View(LayoutCache):
    """A window of `height` rows on the column of messages, with a cursor on one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.height = 1
        self.top = Position(0, 0)
        self.cursor = Position(0, 0)
        self.following = True
        """The end is in view and stays in view."""
        self.is_cut = False
        """The end is not that of the session."""

    # Moving

    def rows(self) -> list[VisibleRow]:
        """The rows in view. Moves the top up where the view would reach below the end."""
        if not self.is_ready:
            return []
        self.top = self.near(*self.top)
        found = self._rows_from(self.top)
        if len(found) < self.height:
            self.top = self.step(self.last, 1 - self.height)
            found = self._rows_from(self.top)
        return found

    def _rows_from(self, position: Position) -> list[VisibleRow]:
        found: list[VisibleRow] = []
        index: int | None = position.entry
        line = position.line
        while index is not None and len(found) < self.height:
            rendered = self.rendered(index)
            stop = min(rendered.height, line + self.height - len(found))
            found.extend(VisibleRow(Position(index, row), rendered) for row in range(line, stop))
            index, line = self.column.shown(index + 1, 1), 0
        return found

    def scroll(self, rows: int) -> None:
        """Move the view; the cursor stays on its row of the screen, and goes on to the end where the view cannot."""
        if not self.is_ready or not rows:
            return
        screen = self.screen_row(self.cursor)
        before = self.top
        self.top = self.step(self.top, rows)
        # Moves the top up again where the view would reach below the end.
        self.rows()
        if self.top == before:
            self.cursor = self.first if rows < 0 else self.last
        else:
            self.cursor = self.step(self.top, screen)
        self._follow_at_end()

    def move(self, rows: int) -> None:
        """Move the cursor, and the view no more than needed."""
        if not self.is_ready:
            return
        self.cursor = self.step(self.cursor, rows)
        self.show_cursor()
        self._follow_at_end()

    def go(self, position: Position, *, at_top: bool = False) -> None:
        """Put the cursor on a row."""
        if not self.is_ready:
            return
        self.cursor = self.near(*position)
        if at_top:
            self.top = self.cursor
            self.rows()
        self.show_cursor()
        self._follow_at_end()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following = not self.is_cut
        if self.is_ready:
            self.cursor = self.last
            self.top = self.step(self.cursor, 1 - self.height)

    def _follow_at_end(self) -> None:
        self.following = self.cursor == self.last and not self.is_cut

    def show_cursor(self) -> None:
        """Scroll so that the cursor is in view."""
        positions = [row.position for row in self.rows()]
        if self.cursor in positions:
            return
        if self.cursor < self.top:
            self.top = self.cursor
        else:
            self.top = self.step(self.cursor, 1 - self.height)

    def screen_row(self, position: Position) -> int:
        """Where in the window a row is; 0 when it is not there."""
        return next((at for at, row in enumerate(self.rows()) if row.position == position), 0)

    # Keeping the place

    def hold(self, *, by_cursor: bool) -> tuple[_Held | None, _Held | None]:
        """Remember what is where, before a change: (what stays where it is on the screen, the cursor)."""
        rows = self.rows()
        held: list[_Held] = []
        cursor: _Held | None = None
        for screen, row in enumerate(rows):
            place = row.rendered.place(row.position.line)
            # It is gone once earlier messages are there.
            if place.name == NOTE:
                continue
            held.append(_Held(row.position.entry, place, screen))
            if row.position == self.cursor:
                cursor = held[-1]
        return (cursor if by_cursor and cursor else next(iter(held), None)), cursor

    def restore(self, held: tuple[_Held | None, _Held | None], shift: int = 0) -> None:
        """Bring back what `hold` remembered; entries have moved down by `shift` since. At the end, follow."""
        if not self.is_ready:
            return
        if self.following:
            self.follow()
            return
        anchor, cursor = held
        if anchor is None:
            self.top = self.near(*self.top)
        else:
            self.top = self.step(self._found(anchor, shift), -anchor.screen)
        rows = self.rows()
        self.cursor = self._found(cursor, shift) if cursor is not None else self.near(self.top.entry, self.top.line)
        if self.cursor not in [row.position for row in rows]:
            self.cursor = min(max(self.cursor, rows[0].position), rows[-1].position)

    def _found(self, held: _Held, shift: int) -> Position:
        entries, index = self.column.entries, min(held.entry + shift, len(self.column) - 1)
        if entries[index].height:
            return Position(index, self.rendered(index).find(held.place))
        result = entries[index].message.tool_result
        # Its call has come in above, and shows it.
        for at in range(index - 1, -1, -1) if result is not None and result.linked else ():
            for number, call in enumerate(entries[at].message.tool_calls):
                if result is not None and call.tool_call_id == result.tool_call_id:
                    return self.near(at, self.rendered(at).head(f"tool{number}"))
        return self.near(index, 0)

    def bookmark(self) -> Bookmark | None:
        """The place of the view now; None where there is nothing to show."""
        if not self.is_ready:
            return None
        cursor, top = ((self.column.entries[one.entry], one.line) for one in (self.cursor, self.top))
        return Bookmark(cursor, top, self.following)

    def come_back(self, place: Bookmark) -> None:
        """Go back there, as far as those messages are loaded still."""
        places = {id(entry): at for at, entry in enumerate(self.column.entries)}
        cursor, top = (places.get(id(entry)) for entry, _ in place[:2])
        if place.following:
            self.follow()
        elif cursor is not None and top is not None:
            self.cursor, self.top = self.near(cursor, place.cursor[1]), self.near(top, place.top[1])
            self.show_cursor()
            self.following = False

    # Changing

    def load(self, messages: Sequence[Message], *, complete: bool) -> None:
        """Show other messages, from their end."""
        self.forget()
        self._partings = {}
        self.complete = complete
        self.column.entries = []
        self.column.replace_from(0, messages)
        self.follow()

    def put_in_front(self, messages: Sequence[Message], added: int, *, complete: bool) -> None:
        """`messages` is what there is now, the first `added` are new. Those after may have changed, too: results find
        their calls across the seam."""
        held = self.hold(by_cursor=True)
        self.complete = complete
        self.column.prepend(messages[:added])
        entries = self.column.entries
        for index, message in enumerate(messages[added:], added):
            if entries[index].message is not message:
                self.drop(entries[index])
                self.column.set_message(index, message)
        seam = self.column.shown(added, 1)
        if seam is not None:
            self.drop(self.column.entries[seam])  # it has something above it now
        if complete:
            self.forget()  # how many messages a compaction hides is known now
        self.restore(held, added)

    def change(self, first: int, messages: Sequence[Message], *, complete: bool) -> None:
        """`messages` is what there is now, different from entry `first` on."""
        held = self.hold(by_cursor=False)
        self.complete = complete
        self.forget(first)
        self.column.replace_from(first, messages[first:])
        self.restore(held)

    def part(self, partings: Mapping[int, int]) -> None:
        """Say where other branches part: index of an entry → how many part before it."""
        changed = {
            index for index in {*partings, *self._partings} if partings.get(index) != self._partings.get(index)
        }
        if not changed:
            return
        held = self.hold(by_cursor=True)
        self._partings = dict(partings)
        for index in changed:
            if index < len(self.column):
                self.drop(self.column.entries[index])
        self.restore(held)

    def mark_new(self, since: datetime | None) -> None:
        """Draw a line above the first message that came after `since`, and look for it again when others are
        loaded."""
        self.since = since
        found = first_new(self.column, since) if since is not None else None
        if found is self._first_new:
            return
        held = self.hold(by_cursor=True)
        for entry in (self._first_new, found):
            if entry is not None:
                self.drop(entry)
        self._first_new = found
        self.restore(held)

    def resize(self, height: int, layout: MessageLayout, *, anew: bool) -> None:
        """Show it in another size, or (`anew`) laid out otherwise."""
        held = self.hold(by_cursor=False) if self.is_ready else (None, None)
        self.height = max(height, 1)
        self.layout = layout
        if anew:
            self.forget()
            self.column.estimate_all(layout.width)
        self.restore(held)

    # Blocks

    def piece(self) -> Piece | None:
        """The piece under the cursor."""
        if not self.is_ready:
            return None
        rendered = self.rendered(self.cursor.entry)
        return rendered.at(self.cursor.line)[0] if self.cursor.line < rendered.height else None

    def toggle(self, *, everything: bool) -> bool:
        """Open or close the block under the cursor; with `everything` show what was cut, too. False where there is
        nothing to open or close."""
        piece = self.piece()
        if piece is None:
            return False
        index = self.cursor.entry
        entry, rendered, block = self.column.entries[index], self.rendered(index), piece.block
        level = self.level(entry, block)
        if block in rendered.cuts and (everything or piece.name.endswith(MORE)):
            wanted = ALL
        elif block in rendered.folds:
            wanted = SHUT if level != SHUT else ALL if everything else OPEN
        elif level == ALL:
            wanted = OPEN
        else:
            return False
        # The row that the cursor is on may go with what is closed.
        if wanted < level:
            self.cursor = Position(index, rendered.head(block))
            self.show_cursor()
        # While it follows, `restore` would go to the end of what is opened.
        self.following = False
        held = self.hold(by_cursor=True)
        entry.levels = {**(entry.levels or {}), block: wanted}
        self.drop(entry)
        self.restore(held)
        return True

    def toggle_kind(self, *, tools: bool) -> int:
        """Open or close all tool calls, or all thinking; the new level."""
        held = self.hold(by_cursor=True)
        level = OPEN if (self.tools if tools else self.thinking) == SHUT else SHUT
        if tools:
            self.tools = level
        else:
            self.thinking = level
        for entry in self.column.entries:
            # What was opened or closed by itself goes with all of its kind.
            if entry.levels:
                entry.levels = {
                    block: value
                    for block, value in entry.levels.items()
                    if not (is_tool(block) if tools else block == "think")
                }
        self.forget()
        self.restore(held)
        return level
