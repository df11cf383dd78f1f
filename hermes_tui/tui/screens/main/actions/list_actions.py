"""What keys change about the list as a whole: order, columns, filters."""

from __future__ import annotations

from typing import get_args

from hermes_tui.config import Column
from hermes_tui.display import safe
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.screens.main.search import SearchController
from hermes_tui.tui.widgets.session_list.conversation import Conversation
from hermes_tui.tui.widgets.session_list.order import FIELDS, GROUPINGS, Field, Grouping, Order

__all__ = ["ListActions"]

_SORT_KEYS: dict[str, Field] = dict(zip("tckupaz", FIELDS, strict=True))
_GROUP_KEYS: dict[str, Grouping] = dict(zip("DPASN", GROUPINGS, strict=True))


_DIGITS = "1234567890"
"""Keys of the columns."""


class ListActions:
    """Each changes what the list shows, and has it remembered."""

    def __init__(self, parts: MainParts, search: SearchController) -> None:
        self._parts = parts
        self._search = search

    def order(self) -> None:
        """Choose the order and the groups."""
        now = self._parts.sessions.order
        choices: list[MenuChoice] = []
        for key, field in _SORT_KEYS.items():
            # What choosing the field makes of the list; of the current one, what it is now as well.
            new = now.by(field).words
            said = new if field != now.field else f"now {now.words}; again: {new}"
            choices.append(MenuChoice(key, f"Sort by {field}", said))
        choices += [
            MenuChoice(key, f"Group by {group}" if group != "none" else "No groups", "now" * (group == now.group))
            for key, group in _GROUP_KEYS.items()
        ]

        def chosen(key: str | None) -> None:
            if key in _SORT_KEYS:
                self._set(now.by(_SORT_KEYS[key]))
            elif key is not None:
                self._set(now.under(_GROUP_KEYS[key]))

        menu = MenuScreen("Order of the list", choices, at=FIELDS.index(now.field))
        self._parts.program.push_screen(menu, chosen)

    def turn(self) -> None:
        """The opposite direction: oldest first, cheapest first."""
        now = self._parts.sessions.order
        self._set(now.by(now.field))

    def columns(self, at: int = 0) -> None:
        """Choose the columns, one after the other. `at`: the line that the cursor is on at first."""
        program = self._parts.program
        usual, shown = program.config.columns, program.view.columns_of(program.config)
        names = get_args(Column)
        choices = [
            MenuChoice(key, name, "shown" if name in shown else "") for key, name in zip(_DIGITS, names, strict=True)
        ]

        def chosen(key: str | None) -> None:
            if key is None:
                return
            turned = names[_DIGITS.index(key)]
            new = tuple(name for name in names if (name in shown) is not (name == turned))
            self._parts.sessions.set_columns(new)
            program.remember(columns=None if set(new) == set(usual) else new)
            self.columns(_DIGITS.index(key))

        program.push_screen(MenuScreen("Columns, as far as there is room", choices, at=at), chosen)

    def only_agent(self) -> None:
        """Only sessions of the agent of this one; again: all."""
        if (conversation := self._here()) is not None:
            self._only("agent", conversation.tip.agent)

    def only_project(self) -> None:
        """Only sessions of the project of this one; again: all."""
        conversation = self._here()
        if conversation is not None and conversation.tip.cwd:
            self._only("cwd", conversation.tip.cwd)
        elif conversation is not None:
            self._parts.screen.notify("This session has no project.")

    def only_live(self) -> None:
        """Only sessions that a process has open; again: all."""
        self._only("is", "live")

    def only_unread(self) -> None:
        """Only sessions with something new in them; again: all."""
        self._only("is", "unread")

    def _here(self) -> Conversation | None:
        conversation = self._parts.sessions.highlighted
        if conversation is None:
            self._parts.screen.notify("There is no session here.")
        return conversation

    def _only(self, field: str, value: str) -> None:
        """Add a filter to what is in the box, or take it away; the list keeps the keys."""
        from hermes_tui.sessions.query.completion import as_typed  # not for the first frame

        wanted = f"{field}:{as_typed(safe(value))}"
        padded = f" {self._parts.box.value} "
        there = f" {wanted} " in padded
        left = padded.replace(f" {wanted} ", " ", 1) if there else f"{padded} {wanted}"
        self._parts.box.value = " ".join(left.split()) if '"' not in left else left.strip()
        self._search.filter()

    def _set(self, order: Order) -> None:
        self._parts.sessions.set_order(order)
        self._search.results.order_changed()
        self._parts.program.remember(order=order)
