"""The keys of the transcript, in the form of the other contexts."""

from __future__ import annotations

from textual.binding import Binding, BindingType

__all__ = ["BINDINGS"]

# (id, keys, action, what it does, a word for the line at the bottom)
_KEYS: tuple[tuple[str, str, str, str, str], ...] = (
    ("toggle", "enter,space", "fold", "Open or close the block under the cursor", "open/close"),
    ("all", "o", "see_all", "Open the block, and show all of it", "all of it"),
    ("follow", "f", "follow", "Go to the end and follow what comes", "follow"),
    ("tools", "z", "toggle_tools", "Open or close all tool calls", "tools"),
    ("thinking", "Z", "toggle_thinking", "Open or close all thinking", "thinking"),
    ("raw", "m", "toggle_raw", "Show prose as it was written, or as Markdown", ""),
    ("branch", "b", "branch(1)", "Next branch, where the conversation has several", ""),
    ("previous_branch", "B", "branch(-1)", "Previous branch", ""),
    ("down", "down,j,ctrl+e", "move(1)", "A line down", ""),
    ("up", "up,k,ctrl+y", "move(-1)", "A line up", ""),
    ("page_down", "pagedown,ctrl+f", "page(1)", "A page down", ""),
    ("page_up", "pageup,ctrl+b", "page(-1)", "A page up", ""),
    ("half_down", "ctrl+d", "half_page(1)", "Half a page down", ""),
    ("half_up", "ctrl+u", "half_page(-1)", "Half a page up", ""),
    ("next_prompt", "right_square_bracket,J", "prompt(1)", "Next prompt", "prompt"),
    ("previous_prompt", "left_square_bracket,K", "prompt(-1)", "Previous prompt", ""),
    ("next_match", "n", "match(1)", "Next match of the search, here or in the next session that was found", "match"),
    ("previous_match", "N", "match(-1)", "Previous match of the search", ""),
    ("first", "home,g", "first", "First message", ""),
    ("last", "end,G", "follow", "The end, and follow what comes", ""),
)

BINDINGS: list[BindingType] = [
    Binding(keys, action, hint or description, show=bool(hint), id=f"transcript.{name}", tooltip=description)
    for name, keys, action, description, hint in _KEYS
]
