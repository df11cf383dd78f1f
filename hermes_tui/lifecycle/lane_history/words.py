"""The history of a lane in words.

For a terminal and for a screen; none of it is safe to print yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from hermes_tui.display import counted, duration, priced
from hermes_tui.lifecycle.lane_history.model import LaneHistory, PastSession, Spent, SumSpent
from session_adapters.model import Cost

__all__ = ["session_facts", "spent_words", "sums"]

_MOST_WAITED = 3
"""Messages that had to wait, which are told one by one."""


def session_facts(one: PastSession, local: Callable[[datetime], datetime]) -> Iterator[tuple[str, str]]:
    """What is to be said of a session, each with its name; `local` puts a time into the reader's zone."""

    def moment(at: datetime) -> str:
        return f"{local(at):%Y-%m-%d %H:%M}"

    times = (("began", one.started_at), ("last message", one.last_message_at), ("ended", one.ended_at))
    told = ", ".join(f"{name} {moment(at)}" for name, at in times if at is not None)
    waits = [
        f"{moment(wait.at)} "
        + ("never answered" if wait.seconds is None else f"for {duration(timedelta(seconds=wait.seconds))}")
        for wait in one.waited[:_MOST_WAITED]
    ]
    more = len(one.waited) - len(waits)
    back = "; the lane was brought back to it" if one.restored else ""
    by_us = f" ({one.operation})" if one.operation else ""
    facts = {
        "when": told,
        "ending": f"{one.ending}{by_us}{back}",
        "known after": one.carried,
        "with": one.person,
        "waited": "; ".join(waits) + (f"; {counted(more, 'more message')}" if more > 0 else ""),
        "spent": spent_words(one),
        "model": one.model,
    }
    yield from ((name, value) for name, value in facts.items() if value)


def spent_words(spent: Spent) -> str:
    """`3 sessions, 18 messages, 69,116 tokens in, 4,170 out, ~$0.31`."""
    words = [counted(spent.sessions, "session")] if isinstance(spent, SumSpent) else []
    words.append(counted(spent.messages, "message"))
    if spent.input_tokens or spent.output_tokens:
        words.append(f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out")
    if spent.cost_usd is not None:
        words.append(priced(Cost(total_usd=spent.cost_usd, estimated=spent.estimated)))
    return ", ".join(words)


def sums(history: LaneHistory) -> Iterator[tuple[str, str]]:
    """In all, by person and by day, where that is more than one."""
    if len(history.sessions) > 1:
        yield "in all", spent_words(history.total)
    for one in history.people if len(history.people) > 1 else ():
        yield one.person, spent_words(one)
    for day in history.days if len(history.days) > 1 else ():
        yield f"{day.day}", spent_words(day)
