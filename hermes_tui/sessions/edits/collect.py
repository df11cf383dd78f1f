"""Collects the edits of a session by file, with what is known of each file's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hermes_tui.sessions.calls.edits import FileEdit, Hunk, edits, is_untold_edit, path_of
from hermes_tui.sessions.calls.files import relative_path
from hermes_tui.sessions.calls.outcome import is_open, output_text
from hermes_tui.sessions.edits.known_text import KnownText, after_hunk, text_read
from hermes_tui.sessions.edits.sections import Section, compared_texts, loose_hunk
from session_adapters.model import Message, ToolCall

__all__ = ["EditedFile", "FileDiff", "SessionEdits"]

_CREATED = re.compile(r"\bcreated\b|\bwrote new\b|\bnew file\b", re.IGNORECASE)
_UNKNOWN_BEFORE = "whether it was there before is not known: it is taken for new"


class EditedFile:
    """The edits of one file, in order."""

    def __init__(self, path: str, known: KnownText | None = None) -> None:
        self.path = path
        """Relative to the session's directory where it is inside."""
        self.calls = 0
        """How many calls changed it."""
        self._known = known
        """What stood in it before the edits that are not settled; empty in a new file."""
        self._text = known.text if known is not None else ""
        """What became of that."""
        self._is_new = False
        self._note = ""
        self._settled: list[Section] = []

    @property
    def sections(self) -> Sequence[Section]:
        """The diff of the file: the fewer, the more is known of it."""
        return [*self._settled, *self._open()]

    def read(self, known: KnownText) -> None:
        """A call showed what is in it."""
        if self._known is None or known.text not in self._text:
            self._settle(known)

    def change(self, edit: FileEdit, output: str) -> KnownText | None:
        """A call changed it, and said `output`. What is known of its text then, here or where it was moved to."""
        if edit.kind in ("write", "add"):
            text = "".join(hunk.new or "".join(f"{line}\n" for _, line in hunk.rows) for hunk in edit.hunks)
            if self._known is not None and self._known.first == 1:
                self._text = text
            else:
                self._settle(KnownText(""))
                self._text, self._is_new = text, True
                self._note = "" if edit.kind == "add" or _CREATED.search(output[:300]) else _UNKNOWN_BEFORE
        elif edit.kind == "delete":
            if self._is_new:  # it came and went
                self._known = None
            before = self.known
            self._settle(None)
            if before is not None and before.first == 1:
                self._settled.append(Section("delete", compared_texts(before.text, "")))
            else:
                loose = [loose_hunk(hunk) for hunk in edit.hunks]
                self._settled.append(Section("delete", loose, note="" if loose else "what stood in it is not known"))
        else:
            for hunk in edit.hunks:
                self._change(hunk)
        known = self.known
        if edit.moved:
            # In one part with what was changed before: git takes a moved file as it was at the beginning.
            self._settle(None)
            hunks = [hunk for one in self._settled for hunk in one.hunks]
            note = "; ".join(dict.fromkeys(one.note for one in self._settled if one.note))
            self._settled = [Section("change", hunks, edit.moved, note)]
        return known

    @property
    def known(self) -> KnownText | None:
        """What stands in it now, as far as that is known."""
        return KnownText(self._text, self._known.first) if self._known is not None else None

    def untold(self) -> None:
        """A call changed it in a way that the store does not hold."""
        self._settle(None)
        note = "what was changed is not in the store"
        if not any(one.note == note for one in self._settled):
            self._settled.append(Section("change", (), note=note))

    def _open(self) -> Sequence[Section]:
        """The edits that are not settled, as one change."""
        if self._known is None or not (self._is_new or self._text != self._known.text):
            return ()
        hunks = compared_texts(self._known.text, self._text, self._known.first)
        return [Section("add" if self._is_new else "change", hunks, note=self._note)]

    def _settle(self, known: KnownText | None) -> None:
        """What follows cannot be put together with what was there; `known` is what it begins with."""
        self._settled += self._open()
        self._known, self._text = known, known.text if known is not None else ""
        self._is_new, self._note = False, ""

    def _change(self, hunk: Hunk) -> None:
        text = after_hunk(self._text, hunk) if self._known is not None else None
        if text is not None:
            self._text = text
            return
        self._settle(self.known)
        placed = loose_hunk(hunk)
        note = "" if placed.applies else "its place in the file is not known"
        self._settled.append(Section("change", (placed,), note=note))


class FileDiff(NamedTuple):
    """The diff of a file as it is shown, with figures that a key need not count."""

    path: str
    calls: int
    sections: Sequence[Section]
    added: int
    """Lines put in."""
    removed: int
    """Lines taken out."""
    rows: int
    """Lines of all hunks."""

    @classmethod
    def of(cls, file: EditedFile) -> FileDiff:
        """Compare the texts of the file, which takes time where they are long."""
        sections = file.sections
        marks = Counter(mark for section in sections for hunk in section.hunks for mark, _ in hunk.rows)
        return cls(file.path, file.calls, sections, marks["+"], marks["-"], marks.total())


class SessionEdits:
    """All edits of a session; give it the messages in order, and say where they end."""

    def __init__(self, cwd: str | None) -> None:
        self._cwd = cwd
        self._files: dict[str, EditedFile] = {}
        self.failed = 0
        """Calls that failed: what they asked for was not done."""
        self.unanswered = 0
        """Calls without a result where others have one: they wait for leave, or were broken off."""
        self._answered = False
        self._open: list[tuple[Message, ToolCall]] = []
        """Calls without a result, while none had one: some agents store none."""
        self._last: Message | None = None

    @property
    def files(self) -> Sequence[EditedFile]:
        """Those that were changed, in the order in which they were first seen."""
        return [file for file in self._files.values() if file.calls]

    def take(self, message: Message) -> None:
        """The calls of the next message. What was taken back, or done in the parent session, is left out."""
        if message.inherited or message.visibility in ("rewound", "branch"):
            return
        self._last = message
        for call in message.tool_calls:
            if not is_open(call):
                self._answered = True
                self._do(call)
            elif edits(call) is not None or is_untold_edit(call):
                self._open.append((message, call))
        if self._answered:
            self.unanswered += len(self._open)
            self._open.clear()

    def end(self) -> None:
        """That was the last message."""
        for message, call in self._open:
            if message is self._last:
                self.unanswered += 1
            else:
                self._do(call)
        self._open.clear()

    def _do(self, call: ToolCall) -> None:
        change = edits(call)
        if change is None:
            path = path_of(call.input)
            if path and is_untold_edit(call):
                file = self._file(path)
                file.calls += 1
                file.untold()
            elif path and (shown := text_read(call)) is not None:
                self._file(path).read(shown)
            return
        if call.is_error:
            self.failed += 1
            return
        output = output_text(call.output)
        for edit in change.files:
            file = self._file(edit.path)
            file.calls += 1
            known = file.change(edit, output)
            if edit.moved:
                moved = relative_path(edit.moved, self._cwd)
                self._files[moved] = EditedFile(moved, known)

    def _file(self, path: str) -> EditedFile:
        path = relative_path(path, self._cwd)
        return self._files.setdefault(path, EditedFile(path))
