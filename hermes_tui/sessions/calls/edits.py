"""The change of files that a tool call asked for, told by its arguments.

Old and new text, several of them, a whole new file, or a patch: in an argument, alone, or inside a shell command.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from hermes_tui.sessions.calls.patches import FileEdit, Hunk, Row, patched_files
from session_adapters.model import ToolCall

__all__ = ["PATHS", "Edit", "FileEdit", "Hunk", "Row", "edits", "is_untold_edit", "patch_in", "path_of"]

PATHS = (
    *("file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path"),
    *("relativeWorkspacePath", "relative_workspace_path"),
)
"""Arguments that name the file that a tool reads or writes."""
_OLD = ("old_string", "oldString", "old_str", "old_text", "oldText", "old")
_NEW = ("new_string", "newString", "new_str", "new_text", "newText", "new")
_EVERYWHERE = ("replace_all", "replaceAll", "allow_multiple")
_PATCHES = ("patch", "diff", "patchText", "input")
_COMMANDS = ("command", "cmd")
_WRITTEN = ("content", "contents", "file_text")
_EDITORS = re.compile(r"edit|write|patch|replace", re.IGNORECASE)
"""In the name of a tool that changes the file that it is given."""
_MOST_COMPARED = 2_000


class Edit(NamedTuple):
    """A change of files, as a call asked for it."""

    files: Sequence[FileEdit]
    tells: frozenset[str]
    """The arguments that stand in it, so that they need not be shown, too."""
    is_patch: bool = False
    """The arguments are a patch, which names its files itself."""

    @property
    def lines(self) -> list[Row]:
        """All of it, with a row (`@`) for each file of a patch and between places in one file."""
        rows: list[Row] = []
        for file in self.files:
            if self.is_patch and (file.path or len(self.files) > 1):
                rows.append(("@", file.heading))
            for number, hunk in enumerate(file.hunks):
                if number or hunk.near:
                    rows.append(("@", f"⋯ {hunk.near}".rstrip()))
                rows += hunk.rows
        return rows

    @property
    def added(self) -> int:
        """Lines put in."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """Lines taken out."""
        return sum(file.removed for file in self.files)


def path_of(given: Any) -> str:
    """The file that the arguments of a call name; empty where they name none."""
    if not isinstance(given, Mapping):
        return ""
    return next((given[key] for key in PATHS if isinstance(given.get(key), str) and given[key]), "")


def edits(call: ToolCall) -> Edit | None:
    """The change that the call asked for, where its arguments are one."""
    if (found := patch_in(call)) is not None or not isinstance(given := call.input, Mapping):
        return found
    several = given.get("edits")
    if isinstance(several, list) and several:
        # Changes in one call, of one file or each with a file of its own.
        by_path: dict[str, list[Hunk]] = {}
        for part in several:
            if isinstance(part, Mapping) and (hunk := _replacement(part)) is not None:
                by_path.setdefault(path_of(part) or path_of(given), []).append(hunk)
        files = [FileEdit(path, "change", tuple(hunks)) for path, hunks in by_path.items()]
        return Edit(files, frozenset(("edits", *PATHS)), is_patch=len(files) > 1) if files else None
    if (hunk := _replacement(given)) is not None:
        return Edit((FileEdit(path_of(given), "change", (hunk,)),), frozenset((*PATHS, *_OLD, *_NEW)))
    # All of a file, where nothing says what it replaces.
    key = next((key for key in _WRITTEN if isinstance(given.get(key), str)), None)
    path = path_of(given)
    if key is None or not path:
        return None
    text: str = given[key]
    written = Hunk([("+", line) for line in text.splitlines()], new=text)
    return Edit((FileEdit(path, "write", (written,)),), frozenset((key, *PATHS)))


def is_untold_edit(call: ToolCall) -> bool:
    """Whether it changed a file in a way that the store does not hold, as Cursor's `edit_file_v2` does."""
    return bool(not call.is_error and _EDITORS.search(call.tool_name) and path_of(call.input)) and edits(call) is None


def patch_in(call: ToolCall) -> Edit | None:
    """The patch in the arguments, which names its files; nothing is compared for it."""
    given = call.input
    if isinstance(given, str):
        return _of_patch(given, "")
    if not isinstance(given, Mapping):
        return None
    for key in _PATCHES:
        if isinstance(given.get(key), str) and (found := _of_patch(given[key], key)) is not None:
            return found
    # What a shell command carries: `apply_patch <<EOF`.
    for key in _COMMANDS:
        value = given.get(key)
        parts = value if isinstance(value, list) else [value]
        text = next((one for one in parts if isinstance(one, str) and "*** Begin Patch" in one), "")
        if "apply_patch" in chain.from_iterable(one.split() for one in parts if isinstance(one, str)):
            files = patched_files(text[text.find("*** Begin Patch") :]) if text else ()
            # No argument is left out for it: the command may say more than the patch.
            return Edit(files, frozenset(), is_patch=True) if files else None
    return None


def _of_patch(text: str, key: str) -> Edit | None:
    files = patched_files(text)
    return Edit(files, frozenset((key,)), is_patch=True) if files else None


def _replacement(given: Mapping[str, Any]) -> Hunk | None:
    old = next((given[key] for key in _OLD if isinstance(given.get(key), str)), None)
    new = next((given[key] for key in _NEW if isinstance(given.get(key), str)), None)
    if old is None or new is None:
        return None
    everywhere = any(given.get(key) is True for key in _EVERYWHERE)
    return Hunk(list(compared(old.splitlines(), new.splitlines())), old=old, new=new, everywhere=everywhere)


def compared(before: Sequence[str], after: Sequence[str]) -> Iterator[Row]:
    """The rows that make the one text from the other."""
    if len(before) + len(after) > _MOST_COMPARED:  # comparing takes quadratic time
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)
        return
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in before[a:b])
        else:
            yield from (("-", line) for line in before[a:b])
            yield from (("+", line) for line in after[c:d])
