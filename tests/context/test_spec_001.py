"""Spec 001, «Working Memory Strategies» and «Strategy-Managed Loading», rule by rule: as written, and as Hector does
it (facts: agentmux_hector.md 2.2 and 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.context.practice import (
    Generation,
    Limits,
    LoadFailed,
    checkpoints_in_practice,
    find_checkpoint_in_practice,
    get_messages_in_practice,
    load_state_in_practice,
    tokens_in_practice,
)
from hermes_tui.sessions.context.stored import (
    LoadOptions,
    NativeRole,
    Stored,
    find_checkpoint_as_written,
    get_messages_as_written,
    load_state_as_written,
)

ROLES: tuple[NativeRole, ...] = ("ROLE_USER", "ROLE_AGENT")


def talk(count: int, summaries: Sequence[int] = (), mark: str = "Summary: so far") -> list[Stored]:
    """User and agent by turns, with summaries at these places."""
    return [
        Stored(f"m{index:04}", "ROLE_UNSPECIFIED", mark, "system")
        if index in summaries
        else Stored(f"m{index:04}", ROLES[index % 2], f"text {index}", "user")
        for index in range(count)
    ]


def ids(rows: Sequence[Stored]) -> list[str]:
    return [row.message_id for row in rows]


# As written --------------------------------------------------------------------------------------------------


def test_limit_zero_is_all() -> None:
    rows = talk(7)
    assert list(get_messages_as_written(rows, LoadOptions())) == rows


def test_limit_n_is_the_last_n_oldest_first() -> None:
    assert ids(get_messages_as_written(talk(7), LoadOptions(limit=3))) == ["m0004", "m0005", "m0006"]
    assert len(get_messages_as_written(talk(2), LoadOptions(limit=3))) == 2


def test_from_message_id_starts_from_that_message() -> None:
    assert ids(get_messages_as_written(talk(5), LoadOptions(from_message_id="m0003"))) == ["m0003", "m0004"]
    assert ids(get_messages_as_written(talk(5), LoadOptions(from_message_id="nope"))) == []


def test_roles_filter_and_the_example_of_the_last_20_agent_responses() -> None:
    rows = talk(100)
    found = get_messages_as_written(rows, LoadOptions(limit=20, roles=("ROLE_AGENT",)))
    assert ids(found) == [f"m{index:04}" for index in range(61, 100, 2)]
    both = get_messages_as_written(rows, LoadOptions(roles=("ROLE_AGENT", "ROLE_USER")))
    assert list(both) == rows


def test_all_options_hold_together() -> None:
    found = get_messages_as_written(talk(10), LoadOptions(limit=2, from_message_id="m0002", roles=("ROLE_USER",)))
    assert ids(found) == ["m0006", "m0008"]


def test_the_checkpoint_is_the_last_summary_without_a_role() -> None:
    assert find_checkpoint_as_written(talk(20, summaries=(3, 12))) == 12
    assert find_checkpoint_as_written(talk(20)) is None
    assert find_checkpoint_as_written([]) is None


def test_a_checkpoint_needs_both_the_role_and_the_beginning() -> None:
    assert find_checkpoint_as_written([Stored("a", "ROLE_AGENT", "Summary: no")]) is None
    assert find_checkpoint_as_written([Stored("a", "ROLE_UNSPECIFIED", "The Summary: no")]) is None
    assert find_checkpoint_as_written([Stored("a", "ROLE_UNSPECIFIED", "Previous conversation summary: no")]) is None


def test_summary_buffer_loads_the_checkpoint_and_what_follows() -> None:
    """The document's own example: 1,000 messages, the summary at 800, 200 loaded."""
    rows = talk(1000, summaries=(300, 800))
    loaded = load_state_as_written(rows, "summary_buffer")
    assert len(loaded) == 200
    assert list(loaded) == rows[800:]


def test_summary_buffer_without_a_checkpoint_loads_the_last_hundred() -> None:
    rows = talk(250)
    assert list(load_state_as_written(rows, "summary_buffer")) == rows[150:]
    assert list(load_state_as_written(rows[:30], "summary_buffer")) == rows[:30]


def test_buffer_window_loads_the_last_n() -> None:
    rows = talk(1000, summaries=(998,))
    assert list(load_state_as_written(rows, "buffer_window", 10)) == rows[990:]
    assert len(load_state_as_written(rows, "buffer_window")) == 20
    assert list(load_state_as_written(rows, "buffer_window", 0)) == []


def test_there_are_no_other_strategies_in_the_document() -> None:
    with pytest.raises(ValueError, match="token_window"):
        load_state_as_written(talk(3), "token_window")


# In practice -------------------------------------------------------------------------------------------------


def test_v1_cannot_read_with_a_limit() -> None:
    with pytest.raises(LoadFailed):
        get_messages_in_practice(talk(5), LoadOptions(limit=1))


def test_v1_compares_message_ids_as_text_and_most_are_empty() -> None:
    rows = [Stored(name, "ROLE_USER", name) for name in ("b", "", "a", "c", "")]
    assert ids(get_messages_in_practice(rows, LoadOptions(from_message_id="a"))) == ["b", "c"]
    assert ids(get_messages_in_practice(rows, LoadOptions())) == ids(rows)
    assert get_messages_in_practice(talk(4), LoadOptions(roles=("ROLE_AGENT",))) == talk(4)[1::2]


@pytest.mark.parametrize("mark", ["Previous conversation summary: x", "So: Conversation summary: x"])
def test_v1_finds_its_marker_anywhere_in_a_message_without_a_role(mark: str) -> None:
    assert checkpoints_in_practice(talk(9, (2, 5), mark), "v1") == [2, 5]
    assert find_checkpoint_in_practice(talk(9, (2, 5), mark), "v1") == 5
    assert checkpoints_in_practice([Stored("a", "ROLE_AGENT", mark)], "v1") == []
    assert checkpoints_in_practice(talk(9, (2,), "Summary: x"), "v1") == [], (
        "what the document says is not looked for"
    )


def test_v2_takes_whatever_begins_with_the_marker_whoever_wrote_it() -> None:
    rows = [Stored("a", "ROLE_USER", "Previous conversation summary: mine"), Stored("b", "ROLE_AGENT", "hi")]
    assert checkpoints_in_practice(rows, "v2") == [0]
    assert checkpoints_in_practice([Stored("a", "ROLE_USER", "My Conversation summary: x")], "v2") == []


def test_v1_buffer_window_begins_with_nothing() -> None:
    assert list(load_state_in_practice(talk(50), "buffer_window", "v1", Limits(size=10))) == []


def test_v1_summary_buffer_and_its_cap_of_a_thousand() -> None:
    mark = "Previous conversation summary: x"
    rows = talk(300, (40, 181), mark)
    assert list(load_state_in_practice(rows, "summary_buffer", "v1")) == rows[181:]
    assert list(load_state_in_practice(talk(128), "", "v1")) == talk(128)[28:], "the usual strategy"
    long = talk(2500, (100,), mark)
    assert list(load_state_in_practice(long, "summary_buffer", "v1")) == long[1500:]


def test_v2_without_a_strategy_takes_everything() -> None:
    rows = talk(3000)
    assert list(load_state_in_practice(rows, "", "v2")) == rows


def test_v2_summary_buffer_takes_what_fits_since_the_checkpoint_and_at_least_ten() -> None:
    mark = "Previous conversation summary: x"
    short = talk(60, (30,), mark)
    assert list(load_state_in_practice(short, "summary_buffer", "v2")) == short[30:]
    each = tokens_in_practice(short[31])
    fits = Limits(budget=each * 20, target=0.75)
    assert list(load_state_in_practice(short, "summary_buffer", "v2", fits)) == short[-15:]
    assert list(load_state_in_practice(short, "summary_buffer", "v2", Limits(budget=1))) == short[-10:]
    assert list(load_state_in_practice(short[26:], "summary_buffer", "v2", Limits(budget=1))) == short[-10:]


def test_v2_token_window_counts_messages_and_cuts_events() -> None:
    """What does not fit is counted over events with a message, and then that many of all events are cut."""
    rows = talk(40)
    silent = [row._replace(has_message=index % 4 != 3) for index, row in enumerate(rows)]
    each = max(tokens_in_practice(row) for row in rows)
    loaded = load_state_in_practice(silent, "token_window", "v2", Limits(budget=each * 8))
    assert sum(row.has_message for row in silent) == 30
    assert list(loaded) == silent[30 - 8 :]
    assert list(load_state_in_practice(rows, "token_window", "v2", Limits(budget=1))) == rows[-5:]


def test_v2_estimates_tokens_by_bytes() -> None:
    assert tokens_in_practice(Stored("a", "ROLE_USER", "x" * 9, "user")) == 9 // 4 + 1 + 3
    assert tokens_in_practice(Stored("a", "ROLE_USER", "ä" * 4)) == 8 // 4 + 3
    assert tokens_in_practice(Stored("a", "ROLE_USER", "xyz", "bob")) == 3, "each is rounded down by itself"


def test_sizes_where_none_are_given_are_hectors_own() -> None:
    assert Limits() == Limits(size=20, budget=8000, target=0.7, preserved=5)


@examples(50)
@given(
    count=st.integers(0, 60),
    places=st.sets(st.integers(0, 59)),
    strategy=st.sampled_from(["summary_buffer", "buffer_window", "token_window", ""]),
    generation=st.sampled_from(["v1", "v2"]),
    size=st.integers(0, 70),
    budget=st.integers(0, 400),
)
def test_what_is_loaded_is_always_an_end_of_the_conversation(
    count: int, places: set[int], strategy: str, generation: Generation, size: int, budget: int
) -> None:
    rows = talk(count, sorted(places), "Previous conversation summary: x")
    loaded = list(load_state_in_practice(rows, strategy, generation, Limits(size, budget)))
    assert loaded == rows[len(rows) - len(loaded) :]
    if strategy in ("summary_buffer", "buffer_window"):
        written = list(load_state_as_written(rows, strategy, size))
        assert written == rows[len(rows) - len(written) :]
