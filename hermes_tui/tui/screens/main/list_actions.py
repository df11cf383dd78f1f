"""What keys change about the list as a whole: its order, its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from hermes_tui.config import Column
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.widgets.session_list.order import FIELDS, GROUPINGS, Field, Grouping, Order

__all__ = ["ListActions"]

_SORT_KEYS: dict[str, Field] = dict(zip("tckupaz", FIELDS, strict=True))
_GROUP_KEYS: dict[str, Grouping] = dict(zip("DPASN", GROUPINGS, strict=True))


class ListActions:
    """Each changes what the list shows, and has it remembered."""

    def __init__(self, parts: MainParts, show_again: Callable[[], None]) -> None:
        """`show_again` lays the answer of a search out anew."""
        self._parts = parts
        self._show_again = show_again

    def order(self) -> None:
        """Choose the order and the groups."""
        now = self._parts.sessions.order
        choices = [MenuChoice(key, f"Sort by {field}", _said(now, field)) for key, field in _SORT_KEYS.items()]
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
            MenuChoice(str(number), name, "shown" if name in shown else "") for number, name in enumerate(names, 1)
        ]

        def chosen(key: str | None) -> None:
            if key is None:
                return
            turned = names[int(key) - 1]
            new = tuple(name for name in names if (name in shown) is not (name == turned))
            self._parts.sessions.set_columns(new)
            program.remember(columns=None if set(new) == set(usual) else new)
            self.columns(int(key) - 1)

        program.push_screen(MenuScreen("Columns, as far as there is room", choices, at=at), chosen)

    def _set(self, order: Order) -> None:
        self._parts.sessions.set_order(order)
        self._show_again()
        self._parts.program.remember(order=order)


def _said(now: Order, field: Field) -> str:
    """What choosing a field makes of the list; of the current one, what it is now."""
    new = now.by(field)
    return new.words if field != now.field else f"now {now.words}; again: {new.words}"
