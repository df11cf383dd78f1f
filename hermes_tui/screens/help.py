"""`?`: the keys that work where one is, as they are set now."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_tui.keymap import CONTEXTS, all_keys, key_label
from hermes_tui.screens.page import PageScreen
from hermes_tui.widgets.page import Block

__all__ = ["HelpScreen", "help_blocks"]

_COLUMN = 18


def help_blocks(contexts: tuple[str, ...], keymap: Mapping[str, str]) -> list[Block]:
    """The keys of `contexts`, innermost first; `keymap` has the user's own."""
    blocks: list[Block] = []
    keys = all_keys()
    for context in contexts:
        here = [key for key in keys if key.context == context]
        if not here:
            continue
        blocks += [Block(), Block(CONTEXTS[context], style="heading")]
        blocks += [
            Block(key.description, label=key_label(keymap.get(key.id, key.keys)), indent=1, column=_COLUMN)
            for key in here
        ]
    return blocks


class HelpScreen(PageScreen):
    """The keys of the place that it was called from."""

    def __init__(self, contexts: tuple[str, ...], keymap: Mapping[str, str]) -> None:
        super().__init__("Keys", help_blocks(contexts, keymap))
