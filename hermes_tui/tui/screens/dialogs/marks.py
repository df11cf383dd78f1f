"""`t`: a name, tags and a note of one's own for a session."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from hermes_tui.display import compact, safe
from hermes_tui.errors import HermesTuiError, ValidationError
from hermes_tui.sessions.marks import MAX_NAME, MAX_NOTE, MAX_TAG, MAX_TAGS, MarkChange, OwnMarks
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.cli_equivalent import own_command
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.screens.dialogs.export import ARMED_AFTER
from hermes_tui.tui.widgets.search_box import TextInput
from session_adapters.model import SessionSummary

__all__ = ["KeepingDialog", "MarksScreen"]

_TAGS_SHOWN = 200
"""Characters of the tags that there are."""


class _Note(TextArea):
    """What is pasted is text, and no more of it than a note may hold."""

    def watch(self, obj: DOMNode, attribute_name: str, callback: Callable[..., Any], init: bool = True) -> None:
        """Of the program nothing is watched: no theme is chosen while one types, and Textual keeps who watches it
        for ever."""
        if obj is not self.app:
            super().watch(obj, attribute_name, callback, init)

    def on_paste(self, event: events.Paste) -> None:
        """Before the text is taken in."""
        event.text = safe(event.text[:MAX_NOTE], keep_newlines=True)


class KeepingDialog(Dialog[None]):
    """Has what was typed kept, and stays with it where that fails: the disk may be full, and a note long."""

    BINDINGS = bindings("marks")

    class Meant(Message):
        """It is to be kept as it stands."""

    def __init__(self, heading: str, hint: str, keep: Callable[[MarkChange], Awaitable[object]]) -> None:
        """`heading` and `hint`: as in `Dialog`. `keep` may raise `HermesTuiError`."""
        super().__init__(heading, hint)
        self._keep = keep
        self._shown_at = time.monotonic()

    @property
    def change(self) -> MarkChange:
        """What is changed by now. Raises `ValidationError`."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Count from when it is there."""
        super().on_mount()
        self._shown_at = time.monotonic()

    def action_save(self) -> None:
        """Take it as it stands."""
        self.post_message(self.Meant())

    @on(Input.Submitted)
    @on(Meant)
    async def _save(self) -> None:
        """In the turn of this screen: what is typed behind it waits, and is for what lies below; in a field that is
        kept already it would be lost."""
        if time.monotonic() - self._shown_at < ARMED_AFTER:
            return
        try:
            if (change := self.change) != MarkChange():
                await self._keep(change)
        except HermesTuiError as error:
            self._refuse(error)
        else:
            self.dismiss()

    def _refuse(self, error: HermesTuiError) -> None:
        self.notify(f"{safe(str(error))}.", severity="warning", markup=False)


class MarksScreen(KeepingDialog):
    """Name, tags and note of one session."""

    AUTO_FOCUS = "#name"

    def __init__(
        self,
        session: SessionSummary,
        marks: OwnMarks,
        tags: Sequence[str],
        keep: Callable[[MarkChange], Awaitable[object]],
        home: Path | None = None,
    ) -> None:
        """`marks`: as they are. `tags`: all that are in use. `keep`: as in `KeepingDialog`. `home`: as in
        `own_command`."""
        title = session.title if session.agent_title is None else session.agent_title
        super().__init__(f"Own marks: {compact(title, 50) or 'untitled'}", "^s save", keep)
        self._session = session
        self._marks = marks
        self._tags = tags
        self._home = home
        self._before = (safe(marks.name), " ".join(map(safe, marks.tags)), safe(marks.note, keep_newlines=True))
        """What the fields held at first."""

    def body(self) -> ComposeResult:
        """A line for the name, one for the tags, several for the note, and the command that does the same."""
        name, tags, note = self._before
        yield from _labelled("name, in the place of its title", TextInput(name, id="name", max_length=MAX_NAME))
        about = compact(f"tags; in use: {' '.join(self._tags)}", _TAGS_SHOWN) if self._tags else "tags"
        yield from _labelled(about, TextInput(tags, id="tags", max_length=MAX_TAGS * (MAX_TAG + 1)))
        yield from _labelled("note", _Note(note, id="note", show_line_numbers=False))
        yield Static(id="command", classes="faint", markup=False)

    def on_mount(self) -> None:
        """Show the command."""
        super().on_mount()
        for field in self.query(TextInput):
            field.cursor_blink = field.select_on_focus = False
        self.query_one(TextArea).cursor_blink = False
        self._show_command()

    @property
    def change(self) -> MarkChange:
        """What is changed by now. Raises `ValidationError`."""
        fields = (self.query_one("#name", Input).value, self.query_one("#tags", Input).value)
        before = dict(zip(("name", "tags", "note"), self._before, strict=True))
        now = dict(zip(before, (*fields, self.query_one("#note", TextArea).text), strict=True))
        changed = {field: text for field, text in now.items() if text != before[field]}
        tags = MarkChange(tag=tuple(now["tags"].replace(",", " ").split())).tag if "tags" in changed else ()
        return MarkChange(
            name=changed.get("name"),
            note=changed.get("note"),
            tag=tuple(tag for tag in tags if tag not in self._marks.tags),
            untag=tuple(tag for tag in self._marks.tags if tag not in tags) if "tags" in changed else (),
        )

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _show_command(self) -> None:
        if not self.is_mounted:
            return
        try:
            change = self.change
            texts = (("--name", change.name), ("--note", change.note))
            tags = (("--untag", change.untag), ("--tag", change.tag))
            words = ["sessions", "mark", self._session.unified_id]
            words += [word for option, text in texts if text is not None for word in (option, text)]
            words += [word for option, some in tags for tag in some for word in (option, tag)]
            said = own_command(words, self._home)
        except ValidationError as error:
            said = f"{safe(str(error))}."
        self.query_one("#command", Static).update(compact(said, 300))


def _labelled(label: str, field: Widget) -> Iterator[Widget]:
    yield Static(label, classes="faint", markup=False)
    yield field
