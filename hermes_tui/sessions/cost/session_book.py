"""What the calls of one session come to by themselves, gone on with where it grew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from hermes_tui.sessions.cost.aggregate import SessionAccount, origin_of
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import Run
from hermes_tui.sessions.cost.summary import SpendRow
from session_adapters.growing.hashes import Hashes
from session_adapters.model import Cost, SessionSummary
from session_adapters.usage import CallPack, Packed

__all__ = ["SessionBook", "book_of"]


class SessionBook(NamedTuple):
    """What they come to, and what it was worked out of."""

    facts: tuple[object, ...]
    packs: Packed
    cost: Cost | None
    rows: Sequence[SpendRow]
    marks: Hashes
    """One for each call that another session may have, too."""
    settled: tuple[int, SessionAccount] | None
    """How many of the session's own packs do not change any more, as far as that can be told, and what they come to:
    of a session that grows for weeks all else is little."""


def book_of(
    session: SessionSummary, packs: Packed, runs: Sequence[Run], prices: Prices, before: SessionBook | None
) -> SessionBook:
    """What a session's calls come to; `before` is what they did the last time."""
    related = (session.forked_from, session.parent_id)
    facts = (session.created_at, session.model, related, runs, prices.edition, time.tzname)
    if before is not None and before.facts != facts:
        before = None
    if before is not None and before.packs == packs:
        return before
    own = [one for one in packs if not one.inherited]
    settled, whole = _own(session, own, runs, prices, before)
    rows, marks = whole.rows(session.unified_id), whole.met
    if copies := [one for one in packs if one.inherited]:
        account = SessionAccount(session, copies, runs, prices, whole.met)
        account.take(copies)
        rows += account.rows(session.unified_id, origin_of(session))
        marks = Hashes((*marks, *account.met))
    return SessionBook(facts, packs, whole.cost, tuple(rows), marks.copy(), settled)


def _own(
    session: SessionSummary,
    own: Sequence[CallPack],
    runs: Sequence[Run],
    prices: Prices,
    before: SessionBook | None,
) -> tuple[tuple[int, SessionAccount] | None, SessionAccount]:
    """What of the session's own calls is settled, and what all of them come to."""
    same, at, account = 0, 0, None
    if before is not None:
        old = (one for one in before.packs if not one.inherited)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, own, strict=False)))
        if before.settled is not None and before.settled[0] <= same:
            at, account = before.settled
    if account is None or not account.goes_on(own[at:]):
        at, account = 0, SessionAccount(session, own, runs, prices)
    if same > at:
        account = account.copy()
        account.take(own[at:same])
    whole = account.copy()
    whole.take(own[same:])
    return (same, account) if same else None, whole
