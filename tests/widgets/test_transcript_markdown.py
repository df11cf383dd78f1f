"""Markdown: what is rendered, what is shown plain instead, what never happens."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.style import Style

from hermes_tui.tui.widgets.transcript.layout.markdown import LONGEST
from hermes_tui.tui.widgets.transcript.layout.style import LazyMarkdown, markdown_for


@pytest.fixture
def markdown() -> LazyMarkdown:
    return markdown_for(lambda name: Style(bold=name == "heading", dim=name == "meta"), dark=True, ansi=False)


def _text(markdown: LazyMarkdown, source: str, width: int = 60) -> list[str]:
    rows = markdown.render(source, width)
    assert rows is not None
    return ["".join(text for text, _, _ in row).rstrip() for row in rows]


def test_blocks(markdown: LazyMarkdown) -> None:
    assert _text(markdown, "# Title\n\n- one\n- two\n\n1. a\n2. b") == [
        "Title",
        "",
        " • one",
        " • two",
        "",
        " 1 a",
        " 2 b",
    ]
    assert _text(markdown, "```python\nx = 1\n\ny = 2\n```") == ["  x = 1", "", "  y = 2"]
    assert _text(markdown, "> quoted") == ["▌ quoted"]


def test_line_breaks_stay_where_they_were_typed(markdown: LazyMarkdown) -> None:
    assert _text(markdown, "first\nsecond") == ["first", "second"]


def test_links_and_images_are_text_in_place(markdown: LazyMarkdown) -> None:
    assert _text(markdown, "see [the docs](http://a.b) or ![a chart](http://c.d/e.png) here", 90) == [
        "see the docs (http://a.b) or [image: a chart] (http://c.d/e.png) here"
    ]


def test_html_is_shown(markdown: LazyMarkdown) -> None:
    assert _text(markdown, "<task-notification>\ndone\n</task-notification>") == [
        "<task-notification>",
        "done",
        "</task-notification>",
    ]


def test_long_words_in_tables_fold(markdown: LazyMarkdown) -> None:
    rows = _text(markdown, "| a | b |\n|---|---|\n| " + "x" * 70 + " | y |", 40)
    assert sum(row.count("x") for row in rows) == 70


def test_code_has_colours_and_no_background(markdown: LazyMarkdown) -> None:
    rows = markdown.render("```python\ndef f(): return 'x'\n```", 60)
    assert rows is not None
    styles = [style for row in rows for _, style, _ in row if style is not None]
    assert any(style.color is not None for style in styles)
    assert all(style.bgcolor is None for style in styles)


@pytest.mark.parametrize(
    "source",
    [
        "x" * (LONGEST + 1),
        ">" * 40 + " deep",
        "|" + "a|" * 30 + "\n|" + "-|" * 30 + "\n|" + "b|" * 30,
        "- item\n" * 2000,
    ],
)
def test_what_would_lose_or_cost_too_much_is_left_to_plain_text(markdown: LazyMarkdown, source: str) -> None:
    assert markdown.render(source, 60) is None
    assert markdown.count == 0


def test_a_renderer_that_fails_is_no_reason_to_fail(markdown: LazyMarkdown, monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*args: object, **more: object) -> None:
        raise AssertionError("a bug in a highlighter")

    monkeypatch.setattr(Console, "render_lines", trip)
    assert markdown.render("text", 60) is None
