"""A list with costs that is gone on with says what a new one says, and keeps what did not change."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.cost.priced_sessions import PricedSessions, priced
from hermes_tui.sessions.cost.session_sources import WatchedSources
from session_adapters.base import Source
from session_adapters.model import Cost, Problem, SessionSummary

SESSION = st.builds(
    lambda name, second, partial, cost: SessionSummary(
        agent="claude",
        session_id=name,
        updated_at=datetime(2026, 1, 1, second=second, tzinfo=UTC),
        partial=partial,
        cost=Cost(total_usd=cost) if cost else None,
    ),
    st.sampled_from("abcdef"),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from((0, 0, 1)),
)
SESSIONS = st.lists(SESSION, max_size=6, unique_by=lambda one: one.session_id)
OWN = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from((None, 2, 3)), max_size=6)


@given(steps=st.lists(st.tuples(SESSIONS, st.one_of(st.none(), OWN)), min_size=1, max_size=6))
@examples(150)
def test_it_says_what_a_new_one_says(steps: list[tuple[list[SessionSummary], dict[str, int | None] | None]]) -> None:
    kept, own = PricedSessions(), dict[str, Cost | None]()
    sessions: tuple[SessionSummary, ...] = ()
    for new, costs in steps:
        of_before = {one.session_id: one for one in sessions}
        sessions = tuple(of_before[one.session_id] if one == of_before.get(one.session_id) else one for one in new)
        if costs is not None:
            own = {f"claude:{name}": Cost(total_usd=usd) if usd else None for name, usd in costs.items()}
        found = kept.take(sessions, own)
        assert list(found) == priced(sessions, own)
        again = kept.take(tuple(reversed(sessions)), dict(own))
        assert {id(one) for one in again} == {id(one) for one in found}


def test_an_equal_source_that_was_read_again_is_told_of_still() -> None:
    """What could not be read and still cannot is another object, and no other trouble."""
    source = Source(agent="claude", path="/a.jsonl", stamp=(1, 2, 3), size=3, modified=1.0)
    first, again = (
        CachedSource(source=source, problems=(Problem(agent="claude", path="/a.jsonl", reason="is damaged"),))
        for _ in range(2)
    )
    watched = WatchedSources()
    before = watched.look((first,))
    now = watched.look((again,))
    assert first == again and now.troubled[0] is again and now.digest == before.digest
