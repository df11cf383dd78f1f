"""The help screen (`?`): active keys, search filters, what marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from hermes_tui.tui.key_contexts import CONTEXTS
from hermes_tui.tui.keymap import Key, key_label
from hermes_tui.tui.screens.dialogs.page import PageScreen
from hermes_tui.tui.widgets.page import Paragraph
from hermes_tui.tui.widgets.states import MEANINGS

__all__ = ["HelpScreen", "help_blocks", "legend", "search_language"]

_COLUMN = 18
_WORDS = (
    ("one two", "both, in one message or in the title"),
    ('"one two"', "one after the other"),
    ("one OR two", "at least one of them"),
    ("-one  NOT one", "not together with the rest; alone: nowhere in the session"),
    ("begin*", "words that begin so, as does the last one while you type"),
    ("~part", "characters anywhere, inside of words too"),
    ("/regex/", "what fits a regular expression"),
    ("( )", "what belongs together"),
)
"""How a query is written, and what that asks for."""


def help_blocks(keys: Sequence[Key]) -> list[Paragraph]:
    """The keys of `keys_here`, under the names of their contexts, with the ids that a keymap names them by."""
    blocks: list[Paragraph] = []
    for context, here in groupby(keys, key=lambda key: key.context):
        blocks += [Paragraph(), Paragraph(CONTEXTS[context], style="heading")]
        blocks += [
            Paragraph(key.description, label=key_label(key.keys), indent=1, column=_COLUMN, note=key.id)
            for key in here
        ]
        if context == "search":
            blocks += search_language()
    return blocks


def search_language() -> list[Paragraph]:
    """What can be typed into the search box."""
    from hermes_tui.sessions.query.filters import FILTERS

    blocks = [Paragraph(), Paragraph("What can be searched for", style="heading")]
    blocks += [Paragraph(meaning, label=written, indent=1, column=_COLUMN) for written, meaning in _WORDS]
    blocks += [Paragraph(meaning, label=f"{name}:", indent=1, column=_COLUMN) for name, meaning in FILTERS.items()]
    return [*blocks, Paragraph("the opposite of any of these", label="-agent:claude", indent=1, column=_COLUMN)]


def legend(agents: Iterable[tuple[str, str]]) -> list[Paragraph]:
    """What stands in the list; `agents` are badges and names, safe for a terminal."""
    blocks = [Paragraph(), Paragraph("Marks in the list", style="heading")]
    blocks += [Paragraph(meaning, label=mark, indent=1, column=_COLUMN) for mark, meaning in MEANINGS]
    blocks += [Paragraph(name, label=badge, indent=1, column=_COLUMN) for badge, name in agents]
    return blocks


class HelpScreen(PageScreen):
    """The keys of the place that it was called from, and the marks of the list."""

    without = ("app.help",)

    def __init__(self, keys: Sequence[Key], agents: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__("Keys", [*help_blocks(keys), *legend(agents)])
