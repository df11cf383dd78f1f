"""The command palette: what can be done here, each with its key."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_tui.cells import fit, pad, width_of
from hermes_tui.display import safe
from hermes_tui.tui.keymap import KEYS, Key, key_label
from hermes_tui.tui.screens.dialogs.picker import FoundRows, Picker
from hermes_tui.tui.widgets.hints import keys_here
from hermes_tui.tui.widgets.styled import Parts

if TYPE_CHECKING:
    from textual.screen import Screen

__all__ = ["Command", "Palette", "commands_of"]


class Command(NamedTuple):
    """One line of the palette."""

    title: str
    keys: str
    """What does the same without the palette; empty where nothing does."""
    help: str
    run: Callable[[], object]


class _FoundCommands(FoundRows[Command], inherit_bindings=False):
    NOTHING = "No command has all these words."

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__(commands)
        self._keys = max((width_of(one.keys) for one in commands), default=0)
        self._titles = max((width_of(one.title) for one in commands if one.help), default=0)

    def haystack(self, place: int) -> str:
        item = self.items[place]
        return f"{item.title}\n{item.help}".lower()

    def search(self, text: str) -> None:
        """First those that are called so."""
        super().search(text)
        words = text.lower().split()
        titles = [one.title.lower() for one in self.items]
        self.places = array("I", sorted(self.places, key=lambda at: not all(word in titles[at] for word in words)))

    def parts(self, at: int) -> Parts:
        one = self.item(at)
        keys = f" {pad(one.keys, self._keys)}  "
        room = self.size.width - width_of(keys) - 1
        title = fit(pad(one.title, self._titles) if one.help else one.title, max(0, room))
        return [(keys, "accent"), (title, ""), (fit(f"  {one.help}", max(0, room - width_of(title))), "faint")]


class Palette(Picker[Command]):
    """Gives the command that was chosen."""

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__("Commands", "words of what is to be done", _FoundCommands(commands))


_TITLES = {
    "main.filter": "Search",
    "list.fold": "Fold",
    "list.unfold_all": "Unfold or fold everything",
    "main.diff": "Compare",
    "main.edits": "Edits",
    "main.export": "Export",
    "main.copy": "Copy",
    "main.resume": "Resume",
    "main.fork": "Fork",
    "main.marks": "Name, tags and note",
    "main.zoom": "Zoom this pane",
    "main.unzoom": "Show both panes",
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
_OF_ITSELF = ("app.palette", "app.interrupt", "app.quit_always")


def _key(key: Key) -> str:
    """The first of them: there is a column for it."""
    return key_label(key.keys.partition(",")[0])


_LANES = next(_key(key) for key in KEYS if key.id == "app.lanes")


def commands_of(
    screen: Screen[Any],
    change_lane: Callable[[str], None] | None,
    searches: Mapping[tuple[str, str], Callable[[], None]],
) -> Iterator[Command]:
    """What every key does that works on `screen`, each with its key; what `change_lane` can do to a lane, None where
    there is none; and the searches that have a name, by their names and queries."""
    app = screen.app
    active = {one.binding.id: one for one in screen.active_bindings.values()}
    contexts = {(name or "").partition(".")[0] for name in active}
    for key in keys_here(screen):
        if key.id in _OF_ITSELF or key.id.partition(".")[2] in _LEFT_OUT:
            continue
        found = active.get(key.id)
        if found is not None and found.enabled:
            run = partial(app.call_later, app.run_action, found.binding.action, found.node)
            title = _TITLES.get(key.id, key.description)
            yield Command(title, _key(key), "" if title == key.description else key.description, run)
    if "operations" not in contexts and change_lane is not None:
        for key in (key for key in KEYS if key.context == "operations"):
            run = partial(app.call_later, change_lane, key.action.split("'")[1])  # `operation('reset')`: `reset`
            yield Command(_TITLES[key.id], f"{_LANES} {_key(key)}", key.description, run)
    for (name, query), search in searches.items():
        yield Command(f"Search: {safe(name)}", "", safe(query), search)
