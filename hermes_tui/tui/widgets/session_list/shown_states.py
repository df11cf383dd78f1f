"""What rows say besides the sessions themselves: states, and what is unread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.clock import Clock
from hermes_tui.display import age, safe, until
from hermes_tui.tui.widgets.states import State, state_of

if TYPE_CHECKING:
    from hermes_tui.attention.report import Attended
    from hermes_tui.tui.widgets.session_list.conversation import Conversation

__all__ = ["ShownStates"]

_LAST = (1_000, 0)
"""Behind every rank of those that were looked at."""


class ShownStates(NamedTuple):
    """Whoever learns of something shows the list another one."""

    lanes: Mapping[str, State] = {}
    """By unified id, of lanes of which there is something to be said."""
    attended: Mapping[str, Attended] = {}
    """By unified id, the sessions that were looked at."""
    unread: Mapping[str, float] = {}
    """By unified id, up to when a session was seen in which something came since: seconds since the epoch."""

    def of(self, conversation: Conversation) -> State | None:
        """What its row says; None for one that simply rests."""
        tip = conversation.tip
        attended = self.attended.get(tip.unified_id)
        lane = None
        if self.lanes and tip.agent == "hermes":
            found = (self.lanes.get(part.unified_id) for part in reversed(conversation.parts))
            lane = next((state for state in found if state is not None), None)
        return state_of(tip, attended.state if attended is not None else None, lane)

    def foremost(self, conversation: Conversation) -> Conversation:
        """What needs a person first: itself, or what grew out of it."""
        waiting = [one for one in conversation.below if self._needs_person(one)] if self.attended else []
        return min((conversation, *waiting), key=self.rank) if waiting else conversation

    def _needs_person(self, conversation: Conversation) -> bool:
        attended = self.attended.get(conversation.tip.unified_id)
        return attended is not None and attended.state.needs_person

    def is_urgent(self, conversation: Conversation) -> bool:
        """Whether it waits for a person or something went wrong: what is done can wait."""
        attended = self.attended.get(conversation.tip.unified_id)
        return attended is not None and attended.state.needs_person and attended.state.state != "done"

    def doing(self, conversation: Conversation) -> str:
        """What a judged state is about: `Bash rm -rf build`; safe for a terminal."""
        attended = self.attended.get(conversation.tip.unified_id)
        return (
            safe(" ".join(filter(None, (attended.state.tool, attended.state.text)))) if attended is not None else ""
        )

    def more(self, conversation: Conversation, clock: Clock) -> str:
        """The same, until when and since when: `Bash rm -rf build · 2m`. Of one at rest nothing that grows by itself:
        the list writes nothing while nothing happens."""
        attended = self.attended.get(conversation.tip.unified_id)
        if attended is None:
            return ""
        state = attended.state
        limit = until(clock.local(state.until), clock.now()) if state.until is not None else ""
        since = age(state.since, clock.now()).strip() if state.since and state.state != "idle" else ""
        return " · ".join(filter(None, (self.doing(conversation), limit, since)))

    def rank(self, conversation: Conversation) -> tuple[int, int, float]:
        """Sort key; see `Attended.rank`."""
        attended = self.attended.get(conversation.tip.unified_id)
        return attended.rank if attended is not None else (*_LAST, -conversation.tip.updated_at.timestamp())

    def group(self, conversation: Conversation) -> str:
        """The heading that it stands under in that order."""
        attended = self.attended.get(conversation.tip.unified_id)
        return attended.state.group if attended is not None else "at rest"

    def is_unread(self, conversation: Conversation) -> bool:
        """Whether something came in it since a person looked."""
        return bool(self.unread) and conversation.holds(self.unread)
