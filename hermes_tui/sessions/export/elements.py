"""Builds HTML so that nothing can be left unescaped.

Text becomes HTML only through here.
"""

from __future__ import annotations

from html import escape

from hermes_tui.sessions.export.plain import plain

__all__ = ["Html", "element", "join", "text"]

_VOID = frozenset({"br", "hr", "img", "input", "meta"})


class Html(str):
    """HTML that is safe as it stands. Everything else is text, and is escaped."""

    __slots__ = ()


def text(value: str) -> Html:
    """Text of a store as HTML."""
    return value if isinstance(value, Html) else Html(escape(plain(value)))


def join(*children: str) -> Html:
    """Texts and elements one after the other."""
    return Html("".join(map(text, children)))


def element(name: str, /, *children: str, **attributes: str | bool | None) -> Html:
    """An element. Attribute names lose a trailing `_` and write `_` as `-`; False and None leave one out, True gives
    it without a value. `name` and attribute names are ours, never of a store."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    # A newline right after <pre> would be swallowed by the parser.
    lead = "\n" if name == "pre" else ""
    return Html(f"<{name}{written}>{lead}{join(*children)}</{name}>")
