"""A Hector conversation opened for reading: newest rows first, then new ones.

Rows are only ever added. Marks of the loaded ones (who, how long, when) are kept all the same and compared whenever
the database has changed; if one is different, or went, the loaded part is read anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from session_adapters.activity import Activity, activity_of
from session_adapters.hector.counts import is_prompt, is_waiting, shown
from session_adapters.hector.detect import visit
from session_adapters.hector.ids import Parts
from session_adapters.hector.layout import HectorFacts, HectorLayout, HectorRow
from session_adapters.hector.messages import HectorConversation
from session_adapters.hector.reader import Database
from session_adapters.hector.records import HectorMark
from session_adapters.hector.server import Server
from session_adapters.model import Message
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, SessionGone, reading_stored
from session_adapters.reading.sqlite_limits import NEW_ROWS
from session_adapters.text import one_line
from session_adapters.transcript import Change, Transcript, first_difference, part_of

__all__ = ["PAGE_ROWS", "HectorTranscript"]

PAGE_ROWS = 200
_AWAITING = "Awaiting approval"
"""What version 2 gives as the result of a call that waits for leave (2.0.2)."""


class _Page(NamedTuple):
    marks: list[HectorMark]
    rows: list[HectorRow]
    complete: bool
    facts: HectorFacts
    lost: Damage
    is_cut: bool = False
    begins: float = 0.0
    fits: bool = True
    """It belongs to what is loaded: nothing there has changed."""


class HectorTranscript(Transcript):
    """See the module. `parts` are the parts of the session's id within the database."""

    def __init__(
        self, database: Database, session_id: str, parts: Parts, *, page: int = PAGE_ROWS, last: int = 0
    ) -> None:
        """`last`: so many rows alone are wanted, for looking at where it stands; 0 for all."""
        super().__init__("hector", session_id, database.path)
        self._database = database
        self._parts = parts
        self.is_remote = isinstance(database, Server)
        self._page_rows = page
        self._last = last
        self._stamp: tuple[int, ...] = ()
        self._listed: Sequence[HectorMark] | None = None
        """The marks of all rows, for who goes through the session part by part; None for who does not."""
        with reading_stored(self.agent, session_id, self.path):
            self._stamp = database.stamp()
            self._show(visit(database, parts, self._last_page))

    # Loading -----------------------------------------------------------------------------------------------

    def _last_page(self, layout: HectorLayout, facts: HectorFacts) -> _Page:
        marks = layout.marks([facts.owner], self._last or self._page_rows + 1)[facts.owner]
        page = self._page(layout, facts, marks, self._cut(marks, len(marks)), len(marks))
        return page._replace(complete=page.complete and not 0 < self._last <= len(marks))

    def _cut(self, marks: Sequence[HectorMark], stop: int, page: int = 0) -> int:
        """Where the page that ends before `stop` begins: at a prompt, if one is in it."""
        start = max(0, stop - max(page, self._page_rows))
        if not start:
            return 0
        return next((at for at in range(start, stop) if is_prompt(marks[at])), start)

    def _page(
        self, layout: HectorLayout, facts: HectorFacts, marks: Sequence[HectorMark], start: int, stop: int
    ) -> _Page:
        wanted = list(marks[start:stop])
        rows = layout.newest(facts.owner, wanted)
        for row in rows:
            if row.lost:
                layout.lost.add(f"message {row.mark.id}", row.lost)
        return _Page(wanted, rows, start == 0, facts, layout.lost)

    def _show(self, page: _Page) -> None:
        """Let a page be all that is loaded."""
        conversation = HectorConversation()
        for row in page.rows:
            conversation.take(shown(row.messages, page.facts))
        conversation.take_change()  # or the next refresh would report it
        self._conversation = conversation
        self._marks = [mark.kept for mark in page.marks]
        self._facts = page.facts
        self._lost = page.lost
        self.complete, self.is_cut, self.begins = page.complete, page.is_cut, page.begins
        self._publish()

    def _publish(self, *more: str) -> None:
        self.messages = self._conversation.messages
        of_row = [self._facts.damaged] if self._facts.damaged else []
        found = self._lost.problems(self.agent, self.path, self.session_id)
        self.problems = [*map(self.problem, of_row), *found, *map(self.problem, more)]

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        self._listed = None
        before = len(self.messages)

        def from_above(layout: HectorLayout, facts: HectorFacts) -> _Page:
            # What is loaded, and as much again before it: the last rows do where that is among them.
            more = max(self._page_rows, len(self._marks))
            most = len(self._marks) + NEW_ROWS + more + 1
            marks: Sequence[HectorMark] = () if self.is_cut else layout.marks([facts.owner], most)[facts.owner]
            start = _index(marks, self._marks[0]) if self._marks else len(marks)
            if self.is_cut or (len(marks) >= most and (start is None or start <= more)):
                marks = layout.marks([facts.owner])[facts.owner]
                start = _index(marks, self._marks[0]) if self._marks else len(marks)
            if start is None:
                return _Page([], [], False, facts, layout.lost, fits=False)
            stop = start + len(self._marks)
            page = self._page(layout, facts, marks, self._cut(marks, start, len(self._marks)), stop)
            return page._replace(is_cut=self.is_cut)

        while not self.complete and len(self.messages) <= before:
            try:
                page = visit(self._database, self._parts, from_above)
            except (SessionGone, DatabaseUnreadable, OSError):
                return 0  # `refresh` says what is the matter
            if not page.fits:
                return 0
            self._show(page)
        return max(0, len(self.messages) - before)

    def let_go(self) -> None:
        """See `Transcript.let_go`."""
        super().let_go()
        self._conversation = HectorConversation()
        self._listed = self._listed or ()

    def load_part(self, step: int) -> bool:
        """See `Transcript.load_part`."""
        if self.complete if step < 0 else step > 0 and not self.is_cut:
            return False

        def read(layout: HectorLayout, facts: HectorFacts) -> _Page | None:
            marks = self._listed or layout.marks([facts.owner])[facts.owner]
            if self._listed is not None:
                self._listed = marks
            at = _index(marks, self._marks[0 if step < 0 else -1]) if step and self._marks else 0
            found = None if at is None else _part(marks, at + (step > 0), step or 1)
            if not found:
                return None
            page = self._page(layout, facts, marks, found.start, found.stop)
            return page._replace(is_cut=found.stop < len(marks), begins=found.start / len(marks))

        try:
            stamp = self._database.stamp()
            if self._listed and not (stamp and stamp == self._stamp):
                self._listed = ()
            self._stamp = stamp
            page = visit(self._database, self._parts, read)
        except (SessionGone, DatabaseUnreadable, OSError):
            return False  # `refresh` says what is the matter
        if page is not None:
            self._show(page)
        return page is not None

    @property
    def activity(self) -> Activity:
        """See `Transcript.activity`. Hector writes down that it waits, and goes on whenever it is answered."""
        last = self.messages[-1] if self.messages else None
        if last is not None and is_waiting(last):
            tool = _asked_for(self.messages)
            return Activity(
                step="approval" if tool else "question",
                since=last.timestamp,
                tool=one_line(tool),
                text=one_line(last.content.partition(": ")[2]),
                record="it waits for input",
                kept=True,
            )
        found = activity_of(self.messages)
        waiting = self._facts.raw.get("waitsForApproval")
        if not waiting or found.step != "working":  # what an answer came after is not taken away before its task ends
            return found
        tools = ", ".join(filter(None, dict.fromkeys(waiting.values())))
        return Activity(
            step="approval",
            since=found.since or self._facts.updated,
            tool=one_line(tools),
            text=found.text if found.tool and found.tool == tools else "",
            record="the session's metadata name what waits for leave",
            kept=True,
        )

    # Following ---------------------------------------------------------------------------------------------

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        self._listed = None
        try:
            stamp = self._database.stamp()
            if stamp == self._stamp and not self.is_cut:
                return Change()
            if self._database.replaced(self._stamp, stamp):
                self._show(visit(self._database, self._parts, self._last_page))
                self._stamp = stamp
                return Change(first=0, rewritten=True)
            page = visit(self._database, self._parts, self._after)
        except (DatabaseMissing, FileNotFoundError, SessionGone):
            self._stamp = ()
            return Change(gone=True)
        except (DatabaseUnreadable, OSError) as error:
            self._stamp = ()
            self._publish(f"cannot be read now: {error}")
            return Change()
        self._stamp = stamp
        if not page.fits:
            return self._replace(page)
        for row in page.rows:
            self._conversation.take(shown(row.messages, page.facts))
        self._marks += [mark.kept for mark in page.marks]
        self._lost.extend(page.lost)
        self._facts, self.is_cut = page.facts, page.is_cut
        self._publish()
        return Change(first=self._conversation.take_change())

    def _after(self, layout: HectorLayout, facts: HectorFacts) -> _Page:
        """What came after the loaded rows; all of them anew when one of them is not what it was."""
        marks: Sequence[HectorMark] = ()
        start: int | None = None
        # The last rows are enough where the loaded ones are among them, and others before those.
        if not self.complete and not self.is_cut:
            marks = layout.marks([facts.owner], len(self._marks) + NEW_ROWS)[facts.owner]
            start = _index(marks, self._marks[0])
        if not start:
            marks = layout.marks([facts.owner])[facts.owner]
            start = 0 if self.complete else _index(marks, self._marks[0])
        if start is None:
            return self._page(layout, facts, marks, self._cut(marks, len(marks)), len(marks))._replace(fits=False)
        stop = start + len(self._marks)
        end = _part(marks, stop, 1).stop if self.is_cut and stop < len(marks) else len(marks)
        same = [mark.kept for mark in marks[start:stop]] == self._marks
        if same and facts.counted_elsewhere == self._facts.counted_elsewhere:
            page = self._page(layout, facts, marks, stop, end)
        else:
            page = self._page(layout, facts, marks, start, end)._replace(fits=False)
        return page._replace(is_cut=end < len(marks))

    def _replace(self, page: _Page) -> Change:
        """Loaded rows changed: say from where on, or that rows are gone."""
        before = self.messages
        kept = {mark.id for mark in page.marks}
        removed = any(mark.id not in kept for mark in self._marks)
        self._show(page)
        if removed:
            return Change(first=0, rewritten=True)
        return Change(first=first_difference(before, self.messages))


def _part(marks: Sequence[HectorMark], at: int, step: int) -> range:
    return part_of(len(marks), at, step, lambda row: marks[row].size, lambda row: is_prompt(marks[row]))


def _index(marks: Sequence[HectorMark], wanted: HectorMark) -> int | None:
    return next((at for at, mark in enumerate(marks) if mark.id == wanted.id), None)


def _asked_for(messages: Sequence[Message]) -> str:
    """The tool that waits for leave where Hector waits: its call has no result, or one that says just that."""
    for message in reversed(messages):
        if message.is_prompt:
            return ""
        if message.tool_calls:
            call = message.tool_calls[-1]
            waits = call.output is None or str(call.output).startswith(_AWAITING)
            return call.tool_name if waits else ""
    return ""
