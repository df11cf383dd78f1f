"""A Hermes conversation opened for reading: pages of rows, newest first."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from session_adapters.hermes.message_queries import (
    ALL,
    HermesMark,
    HermesRows,
    exists,
    model_of,
    next_ids,
    page_ids,
    read_marks,
    read_rows,
    share_before,
)
from session_adapters.hermes.messages import HermesConversation, role_of
from session_adapters.hermes.session_queries import HermesSchema
from session_adapters.model import Problem
from session_adapters.reading.sqlite import (
    DatabaseMissing,
    DatabaseUnreadable,
    SessionGone,
    read_database,
    reading_stored,
    stamp_or_empty,
)
from session_adapters.text import scrub
from session_adapters.transcript import PART_ITEMS, Change, Transcript, first_difference, part_of

__all__ = ["PAGE_ROWS", "HermesTranscript"]

PAGE_ROWS = 200


class _Page(NamedTuple):
    read: HermesRows
    marks: list[HermesMark]
    first: int
    """Smallest row id in it."""
    complete: bool
    model: str | None
    is_cut: bool = False
    begins: float = 0.0


class HermesTranscript(Transcript):
    """The rows of one session, in the order of their ids.

    A row that is loaded may still change: the user rewinds, Hermes compacts. Marks of all loaded rows (flags and
    lengths) are kept and compared whenever the database has changed.
    """

    is_listed_by_message = True

    def __init__(self, path: str, session_id: str, *, page: int = PAGE_ROWS) -> None:
        super().__init__("hermes", scrub(session_id), path)
        self._page_rows = page
        self._troubled = False
        with reading_stored(self.agent, session_id, path):
            self._stamp = stamp_or_empty(path)
            self._show(read_database(path, lambda connection: self._read_page(connection, ALL)))

    # Loading -----------------------------------------------------------------------------------------------

    def _read_page(self, connection: apsw.Connection, before: int) -> _Page:
        """The page that ends before a row id; it begins with a prompt if one is in it."""
        schema = self._schema(connection)
        ids = page_ids(connection, self.session_id, before, self._page_rows + 1)
        complete = len(ids) <= self._page_rows
        read = read_rows(connection, schema, ids if complete else ids[1:])
        if not complete:
            cut = next((row.id for row in read.rows if role_of(row.role) == "user"), ids[1])
            rows = [row for row in read.rows if row.id >= cut]
            read = HermesRows(rows, [(id_, reason) for id_, reason in read.lost if id_ >= cut], read.left)
            ids = [id_ for id_ in ids if id_ >= cut]
        first = ids[0] if ids else 0
        marks = read_marks(connection, schema, self.session_id, first, before)
        return _Page(read, marks, first, complete, model_of(connection, schema, self.session_id))

    def _read_rows(
        self, connection: apsw.Connection, schema: HermesSchema, marks: list[HermesMark], *, is_cut: bool
    ) -> _Page:
        """The rows of these marks, all that is loaded."""
        read = read_rows(connection, schema, [mark.id for mark in marks])
        model = model_of(connection, schema, self.session_id)
        return _Page(read, marks, self._first, self.complete, model, is_cut, self.begins)

    def _marks_beside(
        self, connection: apsw.Connection, schema: HermesSchema, step: int
    ) -> tuple[list[HermesMark], bool]:
        """The marks of the part before the loaded one (-1), after it (1), or of the first (0); and whether there are
        more in that direction."""
        if step < 0:
            ids = page_ids(connection, self.session_id, self._first, PART_ITEMS)
        else:
            ids = next_ids(connection, self.session_id, self._last if step else -ALL, PART_ITEMS)
        if not ids:
            return [], False
        marks = read_marks(connection, schema, self.session_id, ids[0], ids[-1] + 1)
        found = part_of(
            len(marks),
            len(marks) if step < 0 else 0,
            step or 1,
            lambda at: (marks[at].content or 0) + (marks[at].calls or 0),
            lambda at: bool(marks[at].asks),
        )
        return marks[found.start : found.stop], len(found) < len(marks)

    @property
    def _last(self) -> int:
        """Id of the last loaded row."""
        return self._marks[-1].id if self._marks else self._first

    def _schema(self, connection: apsw.Connection) -> HermesSchema:
        schema = HermesSchema.of(connection)
        if not exists(connection, self.session_id):
            raise SessionGone(self.session_id)
        if not schema.has_messages:
            raise DatabaseUnreadable("its table of messages is missing or has no columns for session and order")
        return schema

    def _show(self, page: _Page) -> None:
        """Let a page be all that is loaded."""
        self._conversation = self._converse(page)
        self._marks = page.marks
        self._first = page.first
        self._model = page.model
        self.complete, self.is_cut, self.begins = page.complete, page.is_cut, page.begins
        self._publish()

    def _converse(self, page: _Page) -> HermesConversation:
        conversation = HermesConversation(page.model)
        for row in page.read.rows:
            conversation.add(row)
        page.read.tell(conversation.damaged)
        return conversation

    def _publish(self, *more: Problem) -> None:
        self.messages = self._conversation.messages
        damaged = self._conversation.damaged
        self.problems = [*damaged.problems(self.agent, self.path, self.session_id), *more]

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        if self.complete:
            return 0
        try:
            page = read_database(self.path, lambda connection: self._read_page(connection, self._first))
        except (SessionGone, DatabaseUnreadable, OSError):
            return 0  # `refresh` says what is the matter
        front = self._converse(page)
        added = len(front.messages)
        self._conversation.prepend(front)
        self._marks[:0] = page.marks
        self._first = page.first or self._first
        self.complete = page.complete
        self._publish()
        return added

    def let_go(self) -> None:
        """See `Transcript.let_go`."""
        super().let_go()
        self._conversation = HermesConversation(self._model)

    def load_part(self, step: int) -> bool:
        """See `Transcript.load_part`."""
        if self.complete if step < 0 else step > 0 and not self.is_cut:
            return False

        def read(connection: apsw.Connection) -> _Page | None:
            schema = self._schema(connection)
            marks, more = self._marks_beside(connection, schema, step)
            if not marks:
                return None
            first = marks[0].id
            page = self._read_rows(connection, schema, marks, is_cut=step < 0 or more)
            complete = not step or (step < 0 and not more)
            return page._replace(
                first=first, complete=complete, begins=share_before(connection, self.session_id, first)
            )

        self._stamp = stamp_or_empty(self.path)
        try:
            page = read_database(self.path, read)
        except (SessionGone, DatabaseUnreadable, OSError):
            return False  # `refresh` says what is the matter
        if page is not None:
            self._show(page)
        return page is not None

    # Following ---------------------------------------------------------------------------------------------

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        stamp = stamp_or_empty(self.path)
        if stamp == self._stamp and not self._troubled and not self.is_cut:
            return Change()
        try:
            if stamp[:2] != self._stamp[:2]:  # another file under the same name
                self._show(read_database(self.path, lambda connection: self._read_page(connection, ALL)))
                change = Change(first=0, rewritten=True)
            else:
                change = self._follow()
        except (SessionGone, DatabaseMissing):
            return Change(gone=True)
        except (DatabaseUnreadable, OSError) as error:
            self._troubled = True
            self._publish(self.problem(f"cannot be read now: {error}"))
            return Change()
        self._stamp = stamp
        self._troubled = False
        return change

    def _follow(self) -> Change:
        """What came after the loaded rows; all of them anew when one of them is not what it was."""

        def read(connection: apsw.Connection) -> tuple[_Page, bool]:
            schema = self._schema(connection)
            before, is_cut = ALL, False
            if self.is_cut:
                more, is_cut = self._marks_beside(connection, schema, 1)
                before = more[-1].id + 1 if more else ALL
            marks = read_marks(connection, schema, self.session_id, self._first, before)
            if marks[: len(self._marks)] != self._marks:
                return self._read_rows(connection, schema, marks, is_cut=is_cut), True
            return self._read_rows(connection, schema, marks[len(self._marks) :], is_cut=is_cut), False

        page, whole = read_database(self.path, read)
        if whole:
            return self._replace(page)
        first = len(self._conversation.messages)
        for row in page.read.rows:
            first = min(first, self._conversation.add(row))
        page.read.tell(self._conversation.damaged)
        self._marks += page.marks
        self.is_cut = page.is_cut
        self._publish()
        return Change(first=first if page.read.rows else None)

    def _replace(self, page: _Page) -> Change:
        """Loaded rows changed: say from where on, or that rows are gone."""
        before = self.messages
        kept = {mark.id for mark in page.marks}
        removed = any(mark.id not in kept for mark in self._marks)
        self._show(page)
        if removed:
            return Change(first=0, rewritten=True)
        return Change(first=first_difference(before, self.messages))
