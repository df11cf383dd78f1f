"""One line parts what a person has seen of a transcript from what came since, whatever is loaded."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from chances import examples
from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.transcript.layout.blocks import MessageLayout
from hermes_tui.tui.widgets.transcript.layout.segments import TranscriptStyles
from hermes_tui.tui.widgets.transcript.layout.style import markdown_for
from hermes_tui.tui.widgets.transcript.view import View
from session_adapters.model import Message
from transcripts import NOON, said

_LAYOUT = MessageLayout(
    TranscriptStyles(**{name: Style() for name in TranscriptStyles._fields}),
    markdown_for(lambda name: Style(), dark=True, ansi=False),
    Clock(NOON + timedelta(hours=2)),
    "claude",
    60,
    False,
)


def shown(view: View) -> list[str]:
    """What stands in the column, without blank rows and who said it."""
    found = []
    for index in range(len(view.column)):
        rendered = view.rendered(index)
        for row in range(rendered.height):
            piece, line = rendered.at(row)
            text = "".join(segment.text for segment in piece.segments(line)).strip()
            if text.startswith("text ") or "new since" in text:
                found.append(" ".join(text.strip("─ ").split()))
    return found


def messages(count: int) -> list[Message]:
    return [said("user" if at % 2 else "assistant", f"text {at}", minute=at) for at in range(count)]


def view_of(loaded: list[Message], *, complete: bool = True) -> View:
    view = View()
    view.resize(12, _LAYOUT, anew=True)
    view.load(loaded, complete=complete)
    return view


def test_a_line_stands_above_the_first_that_came_after() -> None:
    view = view_of(messages(4))
    view.mark_new(NOON + timedelta(minutes=1))
    assert shown(view) == ["text 0", "text 1", "new since 12:01", "text 2", "text 3"]
    view.change(4, messages(6), complete=True)
    view.mark_new(view.since)
    assert shown(view)[2:] == ["new since 12:01", "text 2", "text 3", "text 4", "text 5"]


def test_there_is_none_where_everything_or_nothing_is_new() -> None:
    view = view_of(messages(4))
    view.mark_new(NOON + timedelta(minutes=3))
    assert len(shown(view)) == 4
    view.mark_new(NOON - timedelta(minutes=1))
    assert len(shown(view)) == 4


@given(data=st.data(), count=st.integers(2, 30))
@examples(30)
def test_it_is_found_again_when_what_is_earlier_is_read(data: st.DataObject, count: int) -> None:
    every = messages(count)
    loaded = data.draw(st.integers(1, count))
    new = data.draw(st.integers(1, count - 1))
    view = view_of(every[-loaded:], complete=loaded == count)
    view.mark_new(NOON + timedelta(minutes=new - 1))
    assert ("new since" in " ".join(shown(view))) == (loaded > count - new)
    if loaded < count:
        view.put_in_front(every, count - loaded, complete=True)
        view.mark_new(view.since)
    texts = shown(view)
    assert [at for at, text in enumerate(texts) if text.startswith("new since")] == [new]
    assert [text for text in texts if text.startswith("text")] == [f"text {at}" for at in range(count)]
