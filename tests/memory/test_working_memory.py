"""Spec 001, sections 3 and 8 (Working Memory Strategies, Strategy-Managed Loading), rule by rule: the document's
strategies, and what Hector's code does instead (facts: agentmux_hector.md 2.2 and 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.memory.message import HectorMessage, NativeRole
from hermes_tui.memory.session_service import InMemorySessionService, SessionService
from hermes_tui.memory.sql.database import SqlDatabase
from hermes_tui.memory.sql.service import SQLSessionService
from hermes_tui.memory.working.buffer_window import BufferWindow
from hermes_tui.memory.working.habits import HABITS
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategies import STRATEGIES, StrategySettings, strategy_of
from hermes_tui.memory.working.strategy import WorkingMemoryStrategy, message_tokens
from hermes_tui.memory.working.summary_buffer import SummaryBuffer
from hermes_tui.memory.working.token_window import TokenWindow

ROLES: tuple[NativeRole, ...] = ("ROLE_USER", "ROLE_AGENT")
MARK = "Previous conversation summary: x"


def said(text: str, role: NativeRole = "ROLE_USER", message_id: str = "m", **more: Any) -> HectorMessage:
    return HectorMessage(role=role, text=text, message_id=message_id, **more)


def talk(count: int, summaries: Sequence[int] = (), mark: str = "Summary: so far") -> list[HectorMessage]:
    """User and agent by turns, with summaries at these places."""
    return [
        said(mark, "ROLE_UNSPECIFIED", f"m{index:04}", author="system")
        if index in summaries
        else said(f"text {index}", ROLES[index % 2], f"m{index:04}", author="user")
        for index in range(count)
    ]


def loaded(rows: Sequence[HectorMessage], strategy: WorkingMemoryStrategy) -> list[HectorMessage]:
    return strategy.load_state("s1", InMemorySessionService("a", {"s1": rows})).messages


def by_generation(generation: str, strategy: str = "summary_buffer", **more: Any) -> WorkingMemoryStrategy:
    return strategy_of(StrategySettings(strategy=strategy, **more), None, generation)


# The document's strategies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", ["doc", "isolated"])
def test_08_the_guides_example_of_a_thousand_messages(generation: str) -> None:
    """1,000 messages, the last summary at 800: 200 are loaded."""
    rows = talk(1000, summaries=(300, 800))
    found = loaded(rows, by_generation(generation))
    assert len(found) == 200
    assert found == rows[800:]


def test_08_the_example_in_sql_reads_what_follows_the_checkpoint_alone(database: SqlDatabase) -> None:
    service = SQLSessionService(database, "assistant")
    rows = talk(1000, summaries=(300, 800))
    service.append_messages("s1", rows)
    before = database.rows_read
    found = SummaryBuffer().load_state("s1", service)
    assert [one.message_id for one in found.messages] == [one.message_id for one in rows[800:]]
    # What is loaded, and the candidates for the summary: here both that there are.
    assert database.rows_read - before == 200 + 2
    before = database.rows_read
    assert len(BufferWindow(10).load_state("s1", service).messages) == 10
    assert database.rows_read - before == 10, "99 % fewer: the window's own"


def test_08_without_a_checkpoint_the_last_hundred_are_loaded() -> None:
    rows = talk(250)
    assert loaded(rows, SummaryBuffer()) == rows[150:]
    assert loaded(rows[:30], SummaryBuffer()) == rows[:30]


def test_08_a_checkpoint_needs_both_the_role_and_the_beginning() -> None:
    document = HABITS["doc"]
    assert document.is_summary(said("Summary: yes", "ROLE_UNSPECIFIED"))
    assert not document.is_summary(said("Summary: no", "ROLE_AGENT"))
    assert not document.is_summary(said("The Summary: no", "ROLE_UNSPECIFIED"))
    assert not document.is_summary(said(MARK, "ROLE_UNSPECIFIED"))
    assert HABITS["isolated"].is_summary(said(MARK, "ROLE_UNSPECIFIED")), "of a store that was migrated"


def test_08_buffer_window_loads_the_last_n() -> None:
    rows = talk(1000, summaries=(998,))
    assert loaded(rows, BufferWindow(10)) == rows[990:]
    assert len(loaded(rows, BufferWindow())) == 20
    assert loaded(rows, BufferWindow(0)) == []


def test_03_strategies_are_known_by_name_and_others_can_be_plugged_in() -> None:
    assert [type(strategy_of(StrategySettings(strategy=name))).__name__ for name in STRATEGIES] == [
        "SummaryBuffer",
        "BufferWindow",
        "TokenWindow",
    ]
    own = BufferWindow(3)
    assert strategy_of(StrategySettings(strategy="mine"), more={"mine": own}) is own
    with pytest.raises(ValueError, match="no strategy 'nope'; known are summary_buffer"):
        strategy_of(StrategySettings(strategy="nope"))


# The history in memory ---------------------------------------------------------------------------------------


def test_04_a_history_is_kept_and_cleared() -> None:
    history = ConversationHistory("s1", talk(3))
    SummaryBuffer().add_message(history, said("more"))
    assert [one.text for one in SummaryBuffer().get_messages(history)] == ["text 0", "text 1", "text 2", "more"]
    SummaryBuffer().clear(history)
    assert history.messages == []


def test_04_windows_drop_what_no_longer_fits() -> None:
    history = ConversationHistory("s1", talk(3))
    BufferWindow(3).add_message(history, said("more"))
    assert [one.text for one in history.messages] == ["text 1", "text 2", "more"]
    TokenWindow(1, preserved=2).add_message(history, said("last"))
    assert [one.text for one in history.messages] == ["more", "last"]


@pytest.mark.parametrize("name", [*STRATEGIES, ""])
@examples(25)
@given(count=st.integers(0, 70), size=st.integers(1, 30), budget=st.integers(1, 300))
def test_08_what_is_added_is_what_is_loaded(name: str, count: int, size: int, budget: int) -> None:
    """A history that grew in memory holds what a restart would load."""
    strategy = strategy_of(StrategySettings(strategy=name, window_size=size, budget=budget))
    history = ConversationHistory("s1")
    for message in talk(count):
        strategy.add_message(history, message)
    assert list(strategy.get_messages(history)) == loaded(talk(count), strategy)


# Summaries ---------------------------------------------------------------------------------------------------


def counted(messages: Sequence[HectorMessage]) -> str:
    return f"of {len(messages)}, from {messages[0].message_id} to {messages[-1].message_id}"


def test_03_old_messages_are_summarised_and_recent_ones_kept() -> None:
    rows = talk(40)
    each = message_tokens(rows[20])
    strategy = SummaryBuffer(summarize=counted, budget=each * 30, threshold=0.85, target=0.7)
    history = ConversationHistory("s1", rows)
    (summary,) = strategy.check_and_summarize(history)
    kept = int(each * 30 * 0.7 * 0.8) // each
    assert summary.role == "ROLE_UNSPECIFIED"
    assert summary.text == f"Summary: of {40 - kept}, from m0000 to m{39 - kept:04}"
    assert history.messages == [summary, *rows[40 - kept :]]
    assert strategy.check_and_summarize(history) == [], "once is enough"


def test_03_nothing_is_summarised_below_the_threshold() -> None:
    rows = talk(40)
    total = 3 + sum(map(message_tokens, rows))
    assert (
        SummaryBuffer(summarize=counted, budget=total, threshold=1.0).check_and_summarize(
            ConversationHistory("s1", rows)
        )
        == []
    )
    assert SummaryBuffer(summarize=counted, budget=total - 1, threshold=1.0).check_and_summarize(
        ConversationHistory("s1", rows)
    )
    few = ConversationHistory("s1", talk(19))
    assert SummaryBuffer(summarize=counted, budget=1).check_and_summarize(few) == [], "fewer than twenty never are"
    assert SummaryBuffer(budget=1).check_and_summarize(ConversationHistory("s1", rows)) == [], "nobody to write it"
    silent = SummaryBuffer(summarize=lambda messages: " \n", budget=1)
    assert silent.check_and_summarize(ConversationHistory("s1", rows)) == []


def test_10_max_messages_summarises_by_number() -> None:
    rows = talk(51)
    strategy = SummaryBuffer(summarize=counted, max_messages=50)
    assert strategy.check_and_summarize(ConversationHistory("s1", rows[:50])) == []
    history = ConversationHistory("s1", rows)
    assert len(strategy.check_and_summarize(history)) == 1
    assert len(history.messages) == 1 + 35


def test_16_a_summary_that_is_saved_is_the_next_checkpoint(database: SqlDatabase) -> None:
    """With the messages that it keeps, which stand before it in the table; and a second summary stands for the
    first."""
    service: SessionService = SQLSessionService(database, "assistant")
    strategy = SummaryBuffer(summarize=counted, max_messages=20)
    expected: list[str] = []
    for turn in range(30):
        messages = [said(f"{turn} {role}", role, f"t{turn}{role}") for role in ROLES]
        service.append_messages("s1", messages)
        history = strategy.load_state("s1", service)
        assert [one.message_id for one in history.messages] == [*expected, *(one.message_id for one in messages)]
        service.append_messages("s1", strategy.check_and_summarize(history))
        expected = [one.message_id for one in history.messages]
    query = "SELECT count(*) FROM session_messages WHERE role = 'ROLE_UNSPECIFIED'"
    ((summaries,),) = database.read(lambda statements: statements.run(query))
    assert summaries == 7, "with 22 messages, and then with every third turn: 1 + 14 + 3 * 2"
    assert service.count_messages("s1") == 60 + summaries


def test_16_an_error_of_the_summarizer_leaves_the_history_as_it_was() -> None:
    def fails(messages: Sequence[HectorMessage]) -> str:
        raise OSError("no model")

    history = ConversationHistory("s1", talk(40))
    with pytest.raises(OSError, match="no model"):
        SummaryBuffer(summarize=fails, budget=1).check_and_summarize(history)
    assert history.messages == talk(40)


# What Hector's code does -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [MARK, "So: Conversation summary: x"])
def test_v1_finds_its_marker_anywhere_in_a_message_without_a_role(mark: str) -> None:
    rows = talk(9, (2, 5), mark)
    assert loaded(rows, by_generation("v1")) == rows[5:]
    assert not HABITS["v1"].is_summary(said(mark, "ROLE_AGENT"))
    assert not HABITS["v1"].is_summary(said("Summary: x", "ROLE_UNSPECIFIED")), "the document's is not looked for"


def test_v2_takes_whatever_begins_with_the_marker_whoever_wrote_it() -> None:
    assert HABITS["v2"].is_summary(said(MARK, "ROLE_USER"))
    assert not HABITS["v2"].is_summary(said("My Conversation summary: x"))
    rows = [*talk(30), said(MARK, "ROLE_USER", "mine"), said("hi")]
    assert loaded(rows, by_generation("v2")) == rows[30:]


def test_v1_summary_buffer_and_its_cap_of_a_thousand() -> None:
    rows = talk(300, (40, 181), MARK)
    assert loaded(rows, by_generation("v1")) == rows[181:]
    assert loaded(talk(128), by_generation("v0")) == talk(128)[28:]
    long = talk(2500, (100,), MARK)
    assert loaded(long, by_generation("v1")) == long[1500:]


def test_v2_without_a_strategy_takes_everything() -> None:
    assert loaded(talk(3000), by_generation("v2", "")) == talk(3000)


def test_v2_summary_buffer_takes_what_fits_since_the_checkpoint_and_at_least_ten() -> None:
    short = talk(60, (30,), MARK)
    assert loaded(short, by_generation("v2")) == short[30:]
    each = message_tokens(short[31])
    assert loaded(short, by_generation("v2", budget=each * 20, target=0.75)) == short[-15:]
    assert loaded(short, by_generation("v2", budget=1)) == short[-10:]
    assert loaded(short[26:], by_generation("v2", budget=1)) == short[-10:]


def test_v2_token_window_counts_messages_and_cuts_events() -> None:
    """What does not fit is counted over events with a message, and then that many of all events are cut."""
    from msgspec.structs import replace

    rows = talk(40)
    silent = [replace(row, has_message=index % 4 != 3) for index, row in enumerate(rows)]
    each = max(message_tokens(row) for row in rows)
    assert sum(row.has_message for row in silent) == 30
    assert loaded(silent, by_generation("v2", "token_window", budget=each * 8)) == silent[30 - 8 :]
    assert loaded(rows, by_generation("v2", "token_window", budget=1)) == rows[-5:]
    many = talk(1000)
    fits = sum(map(message_tokens, many[-300:]))
    assert loaded(many, TokenWindow(fits)) == many[-300:]


def test_v2_estimates_tokens_by_bytes() -> None:
    assert message_tokens(said("x" * 9, author="user")) == 9 // 4 + 1 + 3
    assert message_tokens(said("ä" * 4)) == 8 // 4 + 3
    assert message_tokens(said("xyz", author="bob")) == 3, "each is rounded down by itself"


def test_sizes_where_none_are_given_are_hectors_own() -> None:
    buffer = SummaryBuffer()
    assert (buffer.budget, buffer.threshold, buffer.target) == (8000, 0.85, 0.7)
    assert (BufferWindow().window_size, TokenWindow().budget, TokenWindow().preserved) == (20, 8000, 5)


@examples(50)
@given(
    count=st.integers(0, 60),
    places=st.sets(st.integers(0, 59)),
    strategy=st.sampled_from([*STRATEGIES, ""]),
    generation=st.sampled_from(list(HABITS)),
    size=st.integers(0, 70),
    budget=st.integers(1, 400),
)
def test_08_what_is_loaded_is_always_an_end_of_the_conversation(
    count: int, places: set[int], strategy: str, generation: str, size: int, budget: int
) -> None:
    rows = talk(count, sorted(places), MARK)
    found = loaded(rows, by_generation(generation, strategy, window_size=size, budget=budget))
    assert found == rows[len(rows) - len(found) :]
