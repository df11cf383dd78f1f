"""Writes the edits of a session as a patch that `git apply` takes.

What cannot be applied stands in it as a comment, which git skips, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_tui.display import counted
from hermes_tui.sessions.edits.collect import EditedFile, SessionEdits
from hermes_tui.sessions.edits.sections import Section
from hermes_tui.sessions.export.plain import line as plain_line
from session_adapters.model import Session

__all__ = ["to_patch"]

_QUOTED = re.compile(r'[\x00-\x1f"\\\x7f]')
_SOMEWHERE = 2
"""The line that a hunk without a number names: git looks everywhere, but for line 1 only at the beginning."""


def to_patch(session: Session) -> Iterator[str]:
    """The patch, line by line, each with its newline. The text of files stands in it as it is."""
    found = SessionEdits(session.cwd)
    for message in session.messages:
        found.take(message)
    found.end()
    where = f", in {plain_line(session.cwd)}" if session.cwd else ""
    yield f"# Edits of {plain_line(session.unified_id)}, {counted(len(found.files), 'file')}: git apply{where}\n"
    if found.failed:
        yield f"# {counted(found.failed, 'edit')} failed and left out\n"
    if found.unanswered:
        yield f"# {counted(found.unanswered, 'edit')} without a result and left out\n"
    for file in found.files:
        for section in file.sections:
            yield from _section(file, section)


def _section(file: EditedFile, section: Section) -> Iterator[str]:
    path = file.path.lstrip("/")
    if section.note:
        yield f"# {plain_line(file.path) or 'a file without a name'}: {section.note}\n"
    if path != file.path:
        yield f"# {plain_line(file.path) or 'a file without a name'}: outside of the session's directory\n"
    if not section.applies or not path:
        for hunk in section.hunks:
            yield from (f"# {mark if mark != '@' else ''}{plain_line(text)}\n" for mark, text in hunk.rows)
        return
    new = section.moved.lstrip("/") or path
    yield f"diff --git {_quoted(f'a/{path}')} {_quoted(f'b/{new}')}\n"
    if section.kind == "add":
        yield "new file mode 100644\n"
    elif section.kind == "delete":
        yield "deleted file mode 100644\n"
    elif section.moved:
        yield f"rename from {_quoted(path)}\nrename to {_quoted(new)}\n"
    if section.hunks:
        yield f"--- {_quoted(f'a/{path}') if section.kind != 'add' else '/dev/null'}\n"
        yield f"+++ {_quoted(f'b/{new}') if section.kind != 'delete' else '/dev/null'}\n"
    for hunk in section.hunks:
        placed = hunk if hunk.old or hunk.new else hunk._replace(old=_SOMEWHERE, new=_SOMEWHERE)
        yield f"{placed.heading}\n"
        yield from (f"{'' if mark == '@' else mark}{text}\n" for mark, text in hunk.rows)


def _quoted(path: str) -> str:
    """As git writes names with characters that end a line or a name."""
    if not _QUOTED.search(path):
        return path
    return '"' + _QUOTED.sub(lambda found: f"\\{ord(found[0]):03o}", path) + '"'
