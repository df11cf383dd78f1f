"""Markdown that somebody else wrote, as HTML that can do nothing.

markdown-it-py does the work (Textual and Rich need it anyway); HTML in the text stays text, links lead only to the
web or to a mailbox, pictures become links, because an export fetches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from hermes_tui.sessions.export.elements import Html, element
from hermes_tui.sessions.export.plain import plain

__all__ = ["rich_text"]

_MOST = 200_000
"""Characters. Longer prose is shown as it was written: to read it as Markdown takes long and helps nobody."""
_SCHEMES = ("http://", "https://", "mailto:")


def rich_text(text: str) -> Html:
    """The prose of a message."""
    text = plain(text)
    if len(text) <= _MOST:
        try:
            return Html(_PARSER.render(text))
        except RecursionError:
            pass  # nested beyond all reason; then it is shown as it was written
    return element("div", text, class_="verbatim")


def _is_allowed(url: str) -> bool:
    return url.strip().lower().startswith(_SCHEMES)


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, index, options, env)


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    alt = self.renderInlineAsText(token.children, options, env)
    address = str(token.attrGet("src") or "")
    return element("a", f"[picture: {alt or address}]", href=address, rel="noopener noreferrer nofollow")


_ALLOWED: Any = _is_allowed
_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
_PARSER.validateLink = _ALLOWED  # type: ignore[method-assign]
_PARSER.add_render_rule("link_open", _link)
_PARSER.add_render_rule("image", _image)
