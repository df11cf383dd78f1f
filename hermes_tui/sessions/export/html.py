"""Exports sessions as one self-contained HTML page without a script.

The page's own policy forbids everything but its one style sheet and the images that stand in it, so that even a
mistake in what follows could fetch and run nothing. Unfolding and colours are done by the style sheet
(`styles/export.css`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain

from hermes_tui.display import compact, counted
from hermes_tui.errors import ValidationError
from hermes_tui.platform.paths import styles_dir
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.export.elements import Html, element
from hermes_tui.sessions.export.facts import facts_of, spent
from hermes_tui.sessions.export.images import InlineImages
from hermes_tui.sessions.export.messages import article, is_shown_elsewhere
from hermes_tui.sessions.export.plain import line
from session_adapters.model import Message, Session

__all__ = ["to_html"]

_MOST_CONTENTS = 2_000


def to_html(
    sessions: Iterable[Session], redactor: Redactor | None = None, images: InlineImages | None = None
) -> Iterator[str]:
    """The page in parts. `images` of the sessions are in it, unless secrets are masked: those in an image would not
    be. Raises `ValidationError` where there is no session at all."""
    if images is not None:
        images.withheld = redactor is not None
    waiting = iter(sessions)
    first = next(waiting, None)
    if first is None:
        raise ValidationError("there is no session to export")
    yield from _head(first)
    for number, session in enumerate(chain((first,), waiting), 1):
        yield from _chapter(session, "" if number == 1 else f"s{number}-", images)
    yield "</main>\n"
    said = f" {redactor.report.capitalize()}." if redactor is not None else ""
    if images is not None and images.left_out:
        said += f" {counted(images.left_out, 'image')} left out."
    yield element("footer", element("p", f"Exported by hermes-tui.{said}"), class_="foot")
    yield "\n</body>\n</html>\n"


def _head(session: Session) -> Iterator[str]:
    style = styles_dir().joinpath("export.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; form-action 'none'; base-uri 'none'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield element("meta", http_equiv="Content-Security-Policy", content=policy) + "\n"
    yield element("meta", name="viewport", content="width=device-width, initial-scale=1") + "\n"
    yield element("meta", name="referrer", content="no-referrer") + "\n"
    yield element("meta", name="generator", content="hermes-tui") + "\n"
    yield element("title", line(session.title) or "Untitled session") + "\n"
    yield f"<style>{style}</style>\n</head>\n<body>\n"
    yield element(
        "div",
        _choice("unfold", "checkbox", "unfold everything"),
        _choice("system", "radio", "as the system", checked=True),
        _choice("light", "radio", "light"),
        _choice("dark", "radio", "dark"),
        class_="bar",
    )
    yield "\n<main>\n"


def _choice(name: str, kind: str, label: str, *, checked: bool = False) -> Html:
    group = "colours" if kind == "radio" else None
    return element("label", element("input", type=kind, name=group, id=name, checked=checked), " ", label)


def _chapter(session: Session, prefix: str, images: InlineImages | None) -> Iterator[str]:
    """One session. Anchors: `m12` is its twelfth message; those of later chapters begin with `s2-`, `s3-` …"""
    yield f'<section class="chapter" id="{prefix or "s1-"}top">\n'
    yield element("h1", line(session.title) or "Untitled session") + "\n"
    pairs = [element("dt", name) + element("dd", value) for name, value in facts_of(session)]
    yield element("dl", *map(Html, pairs), class_="facts") + "\n"
    # The prompts, each a link to its place; a single one needs no list.
    entries: list[Html] = []
    for number, message in enumerate(session.messages, 1):
        if message.is_prompt and len(entries) < _MOST_CONTENTS:
            link = element("a", compact(message.content, 100) or "(no text)", href=f"#{prefix}m{number}")
            entries.append(element("li", link))
    contents = Html("")
    if len(entries) > 1:
        heading = element("summary", f"{len(entries)} prompts")
        contents = element("details", heading, element("ol", *entries), class_="contents")
    yield contents + "\n"
    if images is not None:
        images.begin(session)
    before: Message | None = None
    for number, message in enumerate(session.messages, 1):
        yield article(message, before, session.agent, number, f"{prefix}m{number}", images) + "\n"
        if not is_shown_elsewhere(message):
            before = message
    pairs = [element("dt", name) + element("dd", value) for name, value in spent(session)]
    yield element("h2", "Cost") + element("dl", *map(Html, pairs), class_="facts") + "\n</section>\n"
