"""Keys that come in one read: each is done before the next is looked at, and none waits for ever."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from hermes_tui.tui.state import typed_ahead
from hermes_tui.tui.state.typed_ahead import KeyPassed, TypedAhead


class Goes(Widget, can_focus=True):
    """Goes away at a key, with what has not come through it yet."""

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.remove()


class Loses(Input):
    """Loses so many of what comes behind keys."""

    def __init__(self, drops: int) -> None:
        super().__init__()
        self.drops = drops

    def post_message(self, message: Message) -> bool:
        if isinstance(message, KeyPassed) and self.drops:
            self.drops -= 1
            return True
        return super().post_message(message)


class Fields(App[None]):
    """Two fields, or one that goes."""

    def __init__(self, *fields: Widget) -> None:
        super().__init__()
        self.fields = fields
        self.typed = TypedAhead(self, super().on_event)

    def compose(self) -> ComposeResult:
        yield from self.fields

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self.typed.take(event)
        else:
            await super().on_event(event)

    async def on_key_passed(self, message: KeyPassed) -> None:
        await self.typed.passed(message)

    def type(self, *keys: str) -> None:
        """In one read."""
        for key in keys:
            self.post_message(events.Key(key, key if len(key) == 1 else None))


async def values(app: Fields, *wanted: str) -> None:
    for _ in range(6000):
        if [one.value for one in app.query(Input)] == list(wanted):
            return
        await asyncio.sleep(0.01)
    raise AssertionError([one.value for one in app.query(Input)])


async def test_text_behind_a_key_that_moves_the_focus() -> None:
    app = Fields(Input(), Input())
    async with app.run_test() as pilot:
        app.type(*"ab", "tab", *"cd", "shift+tab", "end", *"ef")
        app.post_message(events.Paste("gh"))
        app.type("tab", "end", "i")
        await values(app, "abefgh", "cdi")
        assert not len(app.typed)
        await pilot.press("j")
        await values(app, "abefgh", "cdij")


async def test_text_behind_a_key_of_which_the_field_tells_others() -> None:
    """As `Enter` in a dialog, which moves to what comes next when it hears that a field was submitted."""

    class Forms(Fields):
        def on_input_submitted(self) -> None:
            self.screen.focus_next()

    app = Forms(Input(), Input())
    async with app.run_test():
        app.type(*"ab", "enter", *"cd")
        await values(app, "ab", "cd")


async def test_a_key_whose_widget_is_gone_holds_nothing_up() -> None:
    app = Fields(Goes(), Input())
    async with app.run_test():
        app.type("x", *"abc")
        await values(app, "abc")


@pytest.mark.parametrize("lost", [1, 3])
async def test_what_never_arrives_is_not_waited_for(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_ahead, "LOST", 0.05)
    app = Fields(Loses(lost))
    async with app.run_test():
        app.type(*"abcdef")
        await values(app, "abcdef")
