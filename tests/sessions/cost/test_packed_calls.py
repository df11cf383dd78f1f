"""What long sessions used is packed, added up and summed without ever being in memory as a whole."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.cost.aggregate import Accounts
from hermes_tui.sessions.cost.prices import Prices
from session_adapters.model import SessionSummary
from session_adapters.usage import Usage, in_packs, packed, summed, unpacked

MANY = 6_000
START = datetime(2026, 11, 1, tzinfo=UTC)
NAMES = st.sampled_from(("s", "t", "ü"))
NUMBERS = st.one_of(st.integers(0, 10_000), st.integers(1 << 63, 1 << 70))
CALLS = st.builds(Usage, NAMES, st.text(max_size=3), st.none() | st.floats(0, 1e9), input_tokens=NUMBERS)


@examples(60)
@given(st.lists(CALLS, max_size=5), st.sampled_from((0, 120, 260)))
def test_any_calls_come_back_in_their_order(some: list[Usage], before: int) -> None:
    calls = [*spent(before), *some]
    packs = packed(in_packs(iter(calls)))
    assert list(unpacked(packs)) == list(unpacked(packs)) == calls
    for name in ("s", "t", "ü"):
        mine = [one for one in packs if one.session_id == name]
        assert list(unpacked(mine)) == [call for call in calls if call.session_id == name]


def test_few_of_very_many_are_in_memory_at_a_time() -> None:
    """Each time that a long session grew all its calls were in memory, in two threads: 2 MB at 6,000, and more while
    they were added up. A program that was left open kept the room for them."""
    whole = peak_of(lambda: list(spent(MANY)))
    packs = packed(in_packs(spent(MANY)))
    session = SessionSummary(agent="pi", session_id="s", created_at=START)
    assert peak_of(lambda: packed(in_packs(spent(MANY)))) < whole / 4
    assert peak_of(lambda: summed(unpacked(packs))) < whole / 8
    # which calls were met is told by a set of numbers, and no more than that
    assert peak_of(lambda: Accounts(Prices({}), {}).add(session, packs)) < whole * 2 / 3


def spent(count: int) -> Iterator[Usage]:
    """What a long session used, for which its agent recorded what it paid."""
    for number in range(count):
        moment = START.timestamp() + 30 * number
        yield Usage(
            "s", f"msg_{number:032}", moment, "claude-sonnet-4-5", number, 300, 70_000 + number, 900, usd=0.01
        )


def peak_of(work: Callable[[], object]) -> int:
    """Bytes that it needs at most, and what it gives."""
    work()  # what it imports
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
