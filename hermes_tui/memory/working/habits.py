"""How each generation of Hector finds its summaries, and how much it loads.

Format: spec 001 «Summary Buffer Strategy»; facts agentmux_hector.md 2.2 and 2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from hermes_tui.memory.message import HectorMessage, NativeRole
from hermes_tui.memory.session_service import SUMMARY_ROLES

__all__ = ["HABITS", "MARK", "Habits"]

MARK = "Summary:"
"""How the document says that a summary begins, and how ours do."""
_SPOKEN = ("Previous conversation summary:", "Conversation summary:")
"""What Hector's code looks for; it writes the first."""


class Habits(Struct, frozen=True, kw_only=True):
    """What of a session `summary_buffer` loads."""

    begins: tuple[str, ...] = ()
    """A summary begins with one of these,"""
    holds: tuple[str, ...] = ()
    """or has one of these anywhere,"""
    roles: tuple[NativeRole, ...] = SUMMARY_ROLES
    """and is of one of these roles; none: of any."""
    recent: int = 100
    """Messages that are loaded where there is no summary; 0 for all."""
    most: int = 0
    """Messages that are held at most; 0 for any number."""
    within_budget: bool = False
    """Only as many are loaded as fit the target of the budget."""

    def is_summary(self, message: HectorMessage) -> bool:
        """Whether the agent's view begins with this message, if it is the last such."""
        if self.roles and message.role not in self.roles:
            return False
        return message.text.startswith(self.begins) or any(mark in message.text for mark in self.holds)


_V1 = Habits(holds=_SPOKEN, most=1000)
HABITS: Mapping[str, Habits] = MappingProxyType(
    {
        "doc": Habits(begins=(MARK,)),
        "isolated": Habits(begins=(MARK,), holds=_SPOKEN),
        "v0": _V1,
        "v1": _V1,
        "v2": Habits(begins=_SPOKEN, roles=(), recent=0, within_budget=True),
    }
)
"""By the generation of the tables: the guide's, those of `hermes_tui.memory`, and Hector's own three."""
