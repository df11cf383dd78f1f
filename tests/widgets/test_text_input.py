"""A line to type in gives the terminal nothing but text, whatever is pasted into it (law 5)."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.events import Paste

from hermes_tui.display import safe
from hermes_tui.tui.widgets.search_box import LONGEST, QueryBox, TextInput

HOSTILE = {
    "C1": "a\x9b31mb\x85c",
    "bidi": "ab\u202edc\u202c\u2066x",
    "escape": "a\x1b]0;tb",
    "invisible": "a\u200b\ufeffb",
    "wide": "日本語 テキスト",
}


class Line(App[None]):
    def __init__(self, kind: type[TextInput]) -> None:
        super().__init__()
        self._kind = kind

    def compose(self) -> ComposeResult:
        yield self._kind()


@pytest.mark.parametrize("kind", [TextInput, QueryBox])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_what_is_pasted_is_drawn_as_text(kind: type[TextInput], text: str) -> None:
    async with Line(kind).run_test(size=(40, 5)) as pilot:
        line = pilot.app.query_one(kind)
        line.post_message(Paste(text))
        await pilot.pause()
        lines = text.splitlines()
        assert line.value == (" ".join(lines) if kind is QueryBox else lines[0])
        strip = line.render_line(0)
        assert strip.text == safe(strip.text) and strip.text.startswith(safe(line.value))
        assert strip.cell_length == line.scrollable_content_region.width + 1


async def test_lines_that_are_pasted_are_looked_for_together() -> None:
    async with Line(QueryBox).run_test(size=(40, 5)) as pilot:
        line = pilot.app.query_one(QueryBox)
        for text, value in (
            ("\nTraceback:\r\n  KeyError\n\n", "Traceback:   KeyError"),
            ("\n\n", ""),
            ("one", "one"),
            ("x" * 700 + "\n" + "y" * 700, ("x" * 700 + " " + "y" * 700)[:LONGEST]),
        ):
            line.value = ""
            line.post_message(Paste(text))
            await pilot.pause()
            assert line.value.rstrip() == value.rstrip()


async def test_it_says_at_which_end_there_is_more() -> None:
    async with Line(QueryBox).run_test(size=(12, 5)) as pilot:
        line = pilot.app.query_one(QueryBox)
        line.fill("one two three four")
        await pilot.pause()
        assert line.render_line(0).text.strip() == "…three four"
        line.cursor_position = 0
        await pilot.pause()
        assert line.render_line(0).text.strip() == "one two thr…"
        line.value = "one two"
        await pilot.pause()
        assert line.render_line(0).text.strip() == "one two"
