"""What the command palette offers: our own commands, and none of Textual's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.command import CommandPalette

from hermes_tui.display import safe
from hermes_tui.tui.keymap import KEYS, key_label
from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce
from hermes_tui.tui.widgets.hints import keys_here

if TYPE_CHECKING:
    from textual.screen import Screen

    from hermes_tui.tui.app_actions import AppActions

__all__ = ["Palette", "commands_of"]


class Palette(CommandPalette, DismissOnce[Any]):
    """Textual's command palette, left once."""


_TITLES = {
    "main.filter": "Search",
    "list.unfold_all": "Unfold or fold everything",
    "main.diff": "Compare",
    "main.edits": "Edits",
    "main.export": "Export",
    "main.copy": "Copy",
    "main.resume": "Resume",
    "main.fork": "Fork",
    "main.context": "What the agent sees",
    "main.memory": "Memory of a session of Hector's",
    "main.lane": "History of its lane",
    "main.system_prompt": "System prompt",
    "main.manage": "Manage sessions of Hermes",
    "lanes.history": "History of the lane",
    "main.pager": "Read in the pager",
    "main.editor": "Open in the editor",
    "main.refresh": "Refresh",
    "app.attention": "Attention",
    "app.cost": "Costs",
    "app.lanes": "Lanes",
    "app.problems": "Problems",
    "app.help": "Keys",
    "app.theme": "Next theme",
    "app.quit": "Quit",
    "operations.reset": "Reset the lane",
    "operations.suspend": "Suspend the lane",
    "operations.resume": "Resume the lane into a session",
    "operations.mark": "Mark the lane as interrupted",
    "operations.clear": "Clear the lane's resume mark",
    "operations.undo": "Undo the latest change of the lane",
    "operations.prune": "Prune old lanes",
}
"""By id of its key, what a command is called where its description is long."""
_LEFT_OUT = ("up", "down", "page_up", "page_down", "half_up", "half_down", "first", "last", "back", "close")
"""Keys that move: nobody looks for these by name."""
_LANES = next(key_label(key.keys) for key in KEYS if key.id == "app.lanes")
_OF_ITSELF = ("app.palette", "app.interrupt", "app.quit_always")


def commands_of(app: AppActions, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """What every key does that works on `screen`, each with its key, what can be done to a lane, and there the
    searches that have a name."""
    active = {one.binding.id: one for one in screen.active_bindings.values()}
    contexts = {(name or "").partition(".")[0] for name in active}
    for key in keys_here(screen):
        if key.id in _OF_ITSELF or key.id.partition(".")[2] in _LEFT_OUT:
            continue
        found = active.get(key.id)
        if found is not None and found.enabled:
            run = partial(app.call_later, app.run_action, found.binding.action, found.node)
            title, keys = _TITLES.get(key.id, key.description), key_label(key.keys)
            yield SystemCommand(title, keys if title == key.description else f"{keys}   {key.description}", run)
    if "operations" not in contexts and app.can_change_lanes:
        for key in (key for key in KEYS if key.context == "operations"):
            run = partial(app.call_later, app.change_lane, key.action.split("'")[1])
            yield SystemCommand(_TITLES[key.id], f"{_LANES} {key_label(key.keys)}   {key.description}", run)
    if screen is app.main:
        for name, query in app.main.history.named():
            yield SystemCommand(f"Search: {safe(name)}", safe(query), partial(app.main.search_for, query))
