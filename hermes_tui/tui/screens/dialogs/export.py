"""`e`: what to export, how and where."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from hermes_tui.display import compact, counted
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.export import SUFFIXES
from hermes_tui.sessions.export.files import ExportChoice
from hermes_tui.sessions.export.target import suggested_name
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.cli_equivalent import own_command
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.widgets.search_box import TextInput
from hermes_tui.tui.widgets.styled import Part, Styled
from session_adapters.model import SessionSummary

__all__ = ["ARMED_AFTER", "ExportScreen"]

_FORMS = ("markdown", "html", "json", "jsonl", "patch")
ARMED_AFTER = 0.4
"""Seconds in which Enter writes nothing: it may have been typed before the dialog was there."""
_LABEL = 11


class _Field(NamedTuple):
    label: str
    values: tuple[str, ...]


class _Fields(Styled, can_focus=True, inherit_bindings=False):
    """A line for each choice, its values side by side."""

    BINDINGS = bindings("export")

    class Changed(Message):
        """Another value was chosen."""

    class Left(Message):
        """The cursor went below the last line."""

    def __init__(self, parts: int, form: str) -> None:
        super().__init__()
        self._fields = (
            _Field("format", _FORMS),
            _Field("secrets", ("keep", "mask")),
            _Field("sessions", ("this one", f"all {parts} of the conversation") if parts > 1 else ("this one",)),
            _Field("old file", ("keep", "replace")),
        )
        self.chosen = [_FORMS.index(form), *[0] * (len(self._fields) - 1)]
        self.cursor = 0

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """A line for each."""
        return len(self._fields)

    def render_line(self, y: int) -> Strip:
        """One field."""
        if y >= len(self._fields):
            return self.strip(())
        here = y == self.cursor and self.has_focus
        parts: list[Part] = [
            (f" {'›' if here else ' '} {self._fields[y].label:{_LABEL - 3}}", "" if here else "faint")
        ]
        values = list(enumerate(self._fields[y].values))
        if sum(len(value) + 3 for _, value in values) > self.size.width - _LABEL:
            values = [values[self.chosen[y]]]  # then the one that is chosen has to do
        for number, value in values:
            parts.append((f" [{value}]", "key") if number == self.chosen[y] else (f"  {value} ", "faint"))
        return self.strip(parts, "cursor" if here else "")

    def action_move(self, step: int) -> None:
        """A line up (-1) or down (1); below the last is the name of the file."""
        if self.cursor + step >= len(self._fields):
            self.post_message(self.Left())
            return
        self.cursor = max(0, self.cursor + step)
        self.refresh()

    def action_change(self, step: int) -> None:
        """The next (1) or previous (-1) value."""
        self.chosen[self.cursor] = (self.chosen[self.cursor] + step) % len(self._fields[self.cursor].values)
        self.refresh()
        self.post_message(self.Changed())

    def on_focus(self) -> None:
        """The cursor shows where the keys go."""
        self.refresh()

    def on_blur(self) -> None:
        """See `on_focus`."""
        self.refresh()


class ExportScreen(Dialog[ExportChoice]):
    """Gives a `ExportChoice`; None when it was left."""

    AUTO_FOCUS = "_Fields"
    BINDINGS = [one for one in bindings("export") if isinstance(one, Binding) and one.id == "export.leave"]  # noqa: RUF012

    def __init__(
        self,
        session: SessionSummary,
        parts: int,
        folder: Path,
        home: Path | None = None,
        form: str = _FORMS[0],
        others: Sequence[SessionSummary] = (),
    ) -> None:
        """`parts`: of how many sessions the conversation consists. `folder`: where the file is suggested. `home`: as
        in `own_command`. `form` is chosen at first. `others`: more sessions, for each of which a file is written; the
        path is a folder then."""
        title = compact(session.title, 60) or "untitled"
        super().__init__(f"Export: {title}" if not others else f"Export {len(others) + 1} sessions", "↵ write")
        self._others = others
        self._session = session
        self._home = home
        self._parts = parts
        self._folder = folder
        self._form = form
        self._suggested = self._suggest(form, redact=False)
        self._shown_at = time.monotonic()

    def body(self) -> ComposeResult:
        """Fields, the name of the file, the command that does the same."""
        yield _Fields(self._parts, self._form)
        name = TextInput(self._suggested, id="file", select_on_focus=False)
        name.cursor_blink = False
        yield name
        yield Static(id="command", markup=False)

    def on_mount(self) -> None:
        """Show the command."""
        self._shown_at = time.monotonic()
        self._show_command()

    @property
    def wish(self) -> ExportChoice:
        """What is chosen now."""
        form, redact, lineage, replace = self.query_one(_Fields).chosen
        path = Path(self.query_one("#file", Input).value.strip())
        return ExportChoice(_FORMS[form], path, bool(redact), bool(lineage), bool(replace))

    @on(_Fields.Changed)
    def _changed(self) -> None:
        """A name that was suggested is suggested anew; of another the ending follows the format."""
        wish = self.wish
        box = self.query_one("#file", Input)
        before, self._suggested = self._suggested, self._suggest(wish.form, redact=wish.redact)
        if box.value == before:
            box.value = self._suggested
        elif not self._others and wish.form != self._form and box.value.endswith(SUFFIXES[self._form]):
            box.value = box.value.removesuffix(SUFFIXES[self._form]) + SUFFIXES[wish.form]
        box.cursor_position = len(box.value)  # before a longer ending ctrl+u would leave the rest of it
        self._form = wish.form
        self._show_command()

    def _suggest(self, form: str, *, redact: bool) -> str:
        if self._others:
            return str(self._folder / "hermes-tui-export")
        # A title may hold a secret, too.
        session = Redactor().record(self._session) if redact else self._session
        return str(self._folder / suggested_name(session, form))

    @on(Input.Changed, "#file")
    def _show_command(self) -> None:
        """The command line that does the same, safe to show."""
        if not self.is_mounted:
            return
        more = f"\nand so for {counted(len(self._others), 'more session')}" if self._others else ""
        wish = self.wish
        if self._others:
            wish = wish._replace(path=wish.path / suggested_name(self._session, wish.form))
        options = (("--redact", wish.redact), ("--lineage", wish.lineage), ("--force", wish.replace))
        words = ["sessions", "export", self._session.unified_id, "--format", wish.form]
        words += [option for option, wanted in options if wanted]
        line = own_command([*words, "-o", str(wish.path)], self._home)
        self.query_one("#command", Static).update(f"{line}{more}")

    @on(_Fields.Left)
    def _to_file(self) -> None:
        self.set_focus(self.query_one("#file", Input))

    def on_key(self, event: events.Key) -> None:
        """From the name of the file back up to the fields."""
        if event.key == "up" and self.focused is self.query_one("#file", Input):
            event.stop()
            self.set_focus(self.query_one(_Fields))

    @on(Input.Submitted, "#file")
    def _submitted(self) -> None:
        self.action_write()

    def action_write(self) -> None:
        """Take it as it stands."""
        if time.monotonic() - self._shown_at < ARMED_AFTER:
            return
        wish = self.wish
        if not wish.path.name:
            self.notify("Give the name of a file.", severity="warning", markup=False)
            return
        self.dismiss(wish)
