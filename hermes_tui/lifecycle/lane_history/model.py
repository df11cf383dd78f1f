"""The history of a lane as data. Times are aware, in UTC."""

from __future__ import annotations

from datetime import date, datetime

from session_adapters.model import JsonRecord

__all__ = ["DaySpent", "LaneHistory", "PastSession", "PersonSpent", "Spent", "SumSpent", "Waited"]


class Waited(JsonRecord, frozen=True):
    """A message that was not answered for long."""

    at: datetime
    seconds: float | None = None
    """Until anything came; None: nothing ever did in that session."""


class Spent(JsonRecord, frozen=True):
    """What a session, or several, took. Tokens and cost are those that Hermes itself has written to the rows."""

    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """US dollars; None where no session has a cost."""
    estimated: bool = False
    """Some of it is Hermes' estimate, not what was billed."""


class SumSpent(Spent, frozen=True, kw_only=True):
    """The same of several sessions."""

    sessions: int = 0


class PersonSpent(SumSpent, frozen=True, kw_only=True):
    """The same of the sessions in which one person wrote last."""

    person: str
    """By name or identifier; `shared` where several write in one session."""


class DaySpent(SumSpent, frozen=True, kw_only=True):
    """The same of the sessions that were begun on one day."""

    day: date
    """In the reader's zone."""


class PastSession(Spent, frozen=True, kw_only=True):
    """A session that the lane was in; the lane's present one is among them."""

    session_id: str
    title: str = ""
    model: str = ""
    person: str = ""
    """Who wrote last in it, by name or identifier."""
    started_at: datetime | None = None
    last_message_at: datetime | None = None
    ended_at: datetime | None = None
    end_reason: str | None = None
    """Hermes' own word; None: it has no end."""
    present: bool = False
    """The lane's next message is looked for here first."""
    restored: bool = False
    """Others were begun after it, and the lane has come back to it."""
    ending: str = ""
    """Why it ended, or that it goes on; a clause without a full stop."""
    carried: str = ""
    """What the session after it knew of it; a clause. Empty where nothing came after."""
    operation: str = ""
    """The operation of ours that ended it, as in `lanes log`."""
    waited: tuple[Waited, ...] = ()
    """Messages that nothing followed for five minutes, the oldest first."""


class LaneHistory(JsonRecord, frozen=True):
    """All that the store and our own log tell of a lane."""

    profile: str
    key: str
    answer: str
    """Why it no longer knows what was said before, or that it does; sentences."""
    sessions: tuple[PastSession, ...] = ()
    """The present one first, then the one that the lane was in last."""
    total: SumSpent = SumSpent()
    people: tuple[PersonSpent, ...] = ()
    """The dearest first."""
    days: tuple[DaySpent, ...] = ()
    """Newest first."""
    notes: tuple[str, ...] = ()
    """What could not be told; clauses without a full stop."""
