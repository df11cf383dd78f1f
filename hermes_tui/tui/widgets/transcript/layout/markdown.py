"""Markdown as rows of segments: Rich's renderer, made fit for hostile text.

Differences from Rich's own: HTML is shown rather than dropped, line breaks stay where they were typed, an image is
its text and address in place, long table cells fold instead of losing their ends, code has no box, and nothing
becomes a terminal hyperlink.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cache, lru_cache
from itertools import dropwhile

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box, markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.theme import Theme

from hermes_tui.display import safe

__all__ = ["LONGEST", "MarkdownRows"]

LONGEST = 20_000
"""Characters; rendering takes about 6 ms per thousand, so that longer texts are shown plain."""
_LONGEST_CODE = 10_000
_MOST_TOKENS = 3_000
"""Of the block parser; thousands of table rows or list items would take seconds."""
_DEEPEST = 17
"""Levels of nesting; the parser drops what is nested deeper than 20."""


class _Heading(markdown.Heading):
    # Rich would centre the first level.
    LEVEL_ALIGN = dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "left")


class _Code(markdown.CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        lexer = self.lexer_name if len(code) <= _LONGEST_CODE else "text"
        syntax = Syntax(code, lexer, theme=self.theme, word_wrap=True, background_color="default")
        room = options.update(width=max(options.max_width - 2, 1))
        for line in console.render_lines(syntax, room, pad=False):
            yield Segment("  ")
            yield from (Segment(text, _without_background(style)) for text, style, _ in line)
            yield Segment.line()


@lru_cache(maxsize=256)
def _without_background(style: Style | None) -> Style | None:
    """A code theme's own background would stand out from the pane's."""
    if style is None or style.bgcolor is None:
        return style
    return Style(color=style.color, bold=style.bold, italic=style.italic, underline=style.underline)


class _Line(markdown.HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr", characters="─")


class _Table(markdown.TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, style="markdown.table.border", show_edge=False)
        for cell in self.header.row.cells if self.header is not None and self.header.row is not None else ():
            heading = cell.content.copy()
            heading.stylize("markdown.table.header")
            table.add_column(heading, overflow="fold", justify=cell.justify)
        for row in self.body.rows if self.body is not None else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _Document(markdown.Markdown):
    elements = {  # noqa: RUF012  (Rich declares it so)
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Line,
        "table_open": _Table,
    }

    def __init__(self, code_theme: str) -> None:
        super().__init__("", code_theme=code_theme, hyperlinks=False)

    def of(self, tokens: list[Token]) -> _Document:
        """The document of these tokens. Rich's constructor makes a parser for each: twice the work of a message."""
        document = copy(self)
        document.parsed = tokens
        return document


@cache
def _document(code_theme: str) -> _Document:
    """One per theme: it takes 5 ms to make."""
    return _Document(code_theme)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


class MarkdownRows:
    """Renders Markdown with one set of styles.

    `styles` names Rich's `markdown.*` styles; `code_theme` is a Pygments style, or `ansi_dark` / `ansi_light`.
    `count` says how many texts were rendered so far.
    """

    def __init__(self, styles: Mapping[str, Style], code_theme: str) -> None:
        self._console = Console(
            theme=Theme({f"markdown.{name}": style for name, style in styles.items()}),
            color_system="truecolor",
            force_terminal=True,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            width=80,
        )
        self._document = _document(code_theme)
        self._parser = _parser()
        self.count = 0

    def render(self, text: str, width: int) -> list[list[Segment]] | None:
        """Rows of at most `width` cells, or None where plain text serves better: the text is too long, or nests too
        deeply or has too many columns for the width, or the renderer fails on it."""
        if len(text) > LONGEST:
            return None
        tokens = self._parser.parse(safe(text.expandtabs(4), keep_newlines=True))
        if len(tokens) > _MOST_TOKENS or not _fits(tokens, width):
            return None
        self.count += 1
        for child in (child for token in tokens for child in token.children or ()):
            # Images become their text, soft line breaks hard ones; all of it safe.
            if child.type == "softbreak":
                child.type = "hardbreak"
            elif child.type == "image":
                child.type, child.tag = "text", ""
                alt, address = child.content, child.attrs.get("src", "")
                child.content = f"[image: {alt}] ({address})" if alt else f"[image] ({address})"
                child.children = None
            # Character references are decoded by now (`&#x202e;`), and addresses were never looked at.
            child.content = safe(child.content)
            if "href" in child.attrs:
                child.attrs["href"] = safe(str(child.attrs["href"]))
        options = self._console.options.update(width=width, height=None)
        document = self._document.of(tokens)
        try:
            rows = [_safe_row(row) for row in self._console.render_lines(document, options, pad=False)]
        except Exception:  # whatever a highlighter trips over: shown plain, nothing is lost
            return None
        while rows and _is_blank(rows[-1]):
            rows.pop()
        return list(dropwhile(_is_blank, rows))


def _fits(tokens: list[Token], width: int) -> bool:
    deepest = columns = 0
    in_head = False
    for token in tokens:
        deepest = max(deepest, token.level)
        if token.type in ("thead_open", "thead_close"):
            in_head = token.type == "thead_open"
            heads = 0
        elif token.type == "th_open" and in_head:
            heads += 1
            columns = max(columns, heads)
    return deepest <= _DEEPEST and deepest * 3 + 8 <= width and columns * 6 <= width


def _is_blank(row: list[Segment]) -> bool:
    return not any(text.strip() for text, _, _ in row)


def _safe_row(row: list[Segment]) -> list[Segment]:
    """A row without controls and links, its text looked at once more: nothing else stands before the screen."""
    made: list[Segment] = []
    for text, style, control in row:
        if control:
            continue
        if style is not None and style.link:
            style = style.update_link(None)
        made.append(Segment(text if text.isascii() and text.isprintable() else safe(text), style))
    return made
