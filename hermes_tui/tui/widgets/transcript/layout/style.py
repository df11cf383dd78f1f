"""The styles of a transcript, from the colours of the style sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from hermes_tui.tui.widgets.transcript.layout.segments import TranscriptStyles

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.transcript.layout.markdown import MarkdownRows

__all__ = ["LazyMarkdown", "get_ready", "markdown_for", "palette_for"]

_DARK_CODE = "github-dark"


def palette_for(style: Callable[[str], Style], agent_colour: int) -> TranscriptStyles:
    """The palette; `style` gives the style of a component by the last part of its name."""
    named = {name: style(name) for name in TranscriptStyles._fields}
    named["agent"] = style("agent") + style(f"agent-{agent_colour}")
    return TranscriptStyles(**named)


class LazyMarkdown:
    """A Markdown renderer that is made when there is something to render: a parser and a highlighter come with it,
    40 ms and 3 MB that a first picture and a list do without."""

    def __init__(self, styles: Mapping[str, Style], code_theme: str) -> None:
        """As `MarkdownRows` takes them."""
        self._given = styles, code_theme
        self._rows: MarkdownRows | None = None

    @property
    def count(self) -> int:
        """How many texts were rendered so far."""
        return self._rows.count if self._rows is not None else 0

    def render(self, text: str, width: int) -> list[list[Segment]] | None:
        """See `MarkdownRows.render`."""
        if self._rows is None:
            from hermes_tui.tui.widgets.transcript.layout.markdown import MarkdownRows

            self._rows = MarkdownRows(*self._given)
        return self._rows.render(text, width)


def get_ready() -> None:
    """Import and make what the first Markdown needs, in a thread that has nothing better to do."""
    from hermes_tui.tui.widgets.transcript.layout.markdown import MarkdownRows

    MarkdownRows({}, _DARK_CODE).render("# Ready\n\n*So* is `this`:\n\n- a list\n", 40)


def markdown_for(style: Callable[[str], Style], *, dark: bool, ansi: bool) -> LazyMarkdown:
    """A Markdown renderer in the same colours. In a theme of the terminal's own colours, code has only those, too."""
    heading, code, link, meta = style("heading"), style("code"), style("link"), style("meta")
    bold = Style(bold=True)
    styles = {
        "paragraph": Style(),
        "text": Style(),
        "em": Style(italic=True),
        "emph": Style(italic=True),
        "strong": bold,
        "s": Style(strike=True),
        "code": code,
        "code_block": Style(),
        "block_quote": style("quote"),
        "list": Style(),
        "item": Style(),
        "item.bullet": meta,
        "item.number": meta,
        "hr": meta,
        "h1": heading + Style(underline=True),
        **{f"h{level}": heading for level in range(2, 7)},
        "h7": heading,
        "link": link,
        "link_url": meta,
        "table.border": meta,
        "table.header": bold,
    }
    theme = ("ansi_dark" if dark else "ansi_light") if ansi else (_DARK_CODE if dark else "friendly")
    return LazyMarkdown(styles, theme)
