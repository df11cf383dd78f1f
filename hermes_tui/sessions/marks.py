"""A person's own marks on sessions, and how a session is shown with them.

They are kept by `hermes_tui.sessions.mark_store`; nothing is ever written into a store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar
from unicodedata import category, normalize

import msgspec
from msgspec.structs import replace

from hermes_tui.errors import ValidationError
from session_adapters.model import SessionSummary
from session_adapters.text import scrub

__all__ = [
    "MAX_NAME",
    "MAX_NOTE",
    "MAX_TAG",
    "MAX_TAGS",
    "NO_MARKS",
    "NO_ONE_MARKED",
    "MarkChange",
    "OwnMarks",
    "as_tag",
    "own_tag",
    "with_marks",
]

Summary = TypeVar("Summary", bound=SessionSummary)

MAX_NAME, MAX_TAG, MAX_NOTE = 100, 40, 10_000
"""Characters at most."""
MAX_TAGS = 32
"""On one session."""
_APART = re.compile(r"[\s,;:()\"]+")
"""What a tag is not written with: in a query it ends there."""


class OwnMarks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's marks on one session."""

    pinned: bool = False
    tags: tuple[str, ...] = ()
    """As `as_tag` writes them, in order."""
    note: str = ""
    name: str = ""
    """On one line; it stands in the place of the title."""


NO_MARKS = OwnMarks()
NO_ONE_MARKED: Mapping[str, OwnMarks] = {}


class MarkChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a session's marks; None leaves one as it is, an empty text takes it away. Raises
    `ValidationError` for what is too long, and for a tag without a letter."""

    pinned: bool | None = None
    tag: tuple[str, ...] = ()
    """Tags to add."""
    untag: tuple[str, ...] = ()
    """Tags to take away; these first."""
    clear: bool = False
    """All marks are taken away before anything else."""
    note: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        for field in ("tag", "untag"):
            msgspec.structs.force_setattr(self, field, tuple(dict.fromkeys(map(as_tag, getattr(self, field)))))
        for field, most in (("note", MAX_NOTE), ("name", MAX_NAME)):
            text = getattr(self, field)
            if text is not None:
                text = _clean(text).strip() if field == "note" else " ".join(_clean(text).split())
                msgspec.structs.force_setattr(self, field, _bounded(f"a {field}", text, most))

    def of(self, marks: OwnMarks) -> OwnMarks:
        """What the marks become. Raises `ValidationError` where there would be too many tags."""
        marks = NO_MARKS if self.clear else marks
        tags = tuple(sorted((set(marks.tags) - set(self.untag)) | set(self.tag)))
        # Where another program wrote more than that, a change that leaves no more of them is allowed.
        if len(tags) > MAX_TAGS and len(tags) > len(marks.tags):
            raise ValidationError(f"a session has at most {MAX_TAGS} tags, not {len(tags)}; take some away first")
        return OwnMarks(
            pinned=marks.pinned if self.pinned is None else self.pinned,
            tags=tags,
            note=marks.note if self.note is None else self.note,
            name=marks.name if self.name is None else self.name,
        )


def as_tag(text: str) -> str:
    """A tag as it is kept: lower case, one word (`Needs review` is `needs-review`). Raises `ValidationError`."""
    tag = _APART.sub("-", _clean(text).strip().removeprefix("#").lower()).strip("-")
    if not tag:
        raise ValidationError(f"{text!r} is no tag; a tag is a short word such as 'review'")
    return _bounded("a tag", tag, MAX_TAG)


@lru_cache(maxsize=256)
def own_tag(text: str) -> str:
    """How the user's own tag is written that was asked for so; empty where it can be none."""
    try:
        return as_tag(text)
    except ValidationError:  # agent-mux writes tags by its own rules, and may be asked for one of those
        return ""


def with_marks(session: Summary, marks: OwnMarks | None) -> Summary:
    """The session as it is shown with these marks."""
    if marks is None:
        return session
    return replace(
        session,
        title=marks.name or session.title,
        agent_title=session.title if marks.name else None,
        tags=tuple(dict.fromkeys((*session.tags, *marks.tags))),
        pinned=marks.pinned,
        own_note=marks.note,
    )


def _clean(text: str) -> str:
    """Composed, and without what a terminal would act on or nobody sees."""
    text = normalize("NFC", scrub(text)).replace("\r\n", "\n")
    return "".join(char for char in text if char in "\n\t" or category(char) != "Cc")


def _bounded(what: str, text: str, most: int) -> str:
    if len(text) > most:
        raise ValidationError(f"{what} has at most {most:,} characters, not {len(text):,}")
    return text
