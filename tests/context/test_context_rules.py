"""The rules behind the context view, one by one, on conversations made for them; the stores are in
`test_context_stores`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import pytest

from hermes_tui.config import ContextWindow
from hermes_tui.sessions.context.view import ContextView, context_view
from hermes_tui.sessions.context.window_choice import WindowChoice, window_for
from session_adapters.base import Memory
from session_adapters.model import Message, Role, ToolCall, ToolResult

MARK = "Previous conversation summary: so far"


def said(number: object, text: str = "text", role: Role | None = None, **more: Any) -> Message:
    """User and assistant by turns."""
    by_turns: Role = "user" if str(number).isdigit() and int(str(number)) % 2 == 0 else "assistant"
    return Message(id=str(number), role=role or by_turns, content=text, **more)


def talk(count: int, text: str = "text") -> list[Message]:
    return [said(number, text) for number in range(count)]


def hector(messages: Sequence[Message], generation: str, strategy: Any = None, **sizes: Any) -> ContextView:
    return context_view("hector", messages, WindowChoice(strategy=strategy, generation=generation, **sizes))


def ids(messages: Sequence[Message], view: ContextView) -> list[str]:
    return [message.id for message in compress(messages, view.seen)]


# Hector: messages and rows ------------------------------------------------------------------------------------


def test_what_one_row_shows_as_several_messages_is_loaded_as_one() -> None:
    """A row that carries calls, a result and an error has the ids `3`, `3.1` and `3.2`; other dots mean nothing."""
    messages = [said(1), said("2.1"), said(3), said("3.1", role="tool"), said("3.2", role="tool"), said(4)]
    assert ids(messages, hector(messages, "v2", "buffer_window", size=2)) == ["3", "3.1", "3.2", "4"]
    assert ids(messages, hector(messages, "v2", "buffer_window", size=3)) == ["2.1", "3", "3.1", "3.2", "4"]


def test_checkpoints_are_counted_in_rows_and_shown_at_messages() -> None:
    """What stands before the first summary are three rows, but five messages."""
    head = [said(1), said(2), said("2.1", role="tool"), said("2.2", role="tool"), said(3)]
    tail = [said(4, MARK, "system"), said(5), said(6, MARK, "system"), said(7)]
    for generation in ("v1", "v2"):
        view = hector([*head, *tail], generation, "summary_buffer")
        assert view.seen == (False,) * 7 + (True, True)
        assert view.sentence.endswith("checkpoint 2 of 2")
    everything = hector([*head, *tail], "v2")
    assert everything.count == 9
    assert everything.sentence.endswith("checkpoint 2 of 2"), "the later of those that it has"
    last = hector([*head, *tail], "v2", "buffer_window", size=1)
    assert last.sentence == "sees 1 of 9 messages, ≈ 4 tokens, checkpoint – of 2"
    between = hector([*head, *tail[:2]], "v2", "buffer_window", size=2)
    assert between.sentence.endswith("checkpoint 1 of 1")


def test_only_a_message_without_a_role_is_a_checkpoint_of_v1() -> None:
    messages = [said(1), said(2, MARK, "assistant"), said(3)]
    assert hector(messages, "v1").checkpoints == 0
    assert hector(messages, "v2").checkpoints == 1
    messages[1] = said(2, f"So: {MARK}", "system")
    assert hector(messages, "v1").checkpoints == 1
    assert hector(messages, "v2").checkpoints == 0


def test_an_event_without_a_message_is_cut_but_not_counted() -> None:
    """v2's `token_window`: eight messages of which seven fit, so that one of all events is cut."""
    messages = talk(8, "x" * 40)
    messages[2:2] = [said("a", kind="notice"), said("b", kind="notice")]
    each = 40 // 4 + len("user") // 4 + 3
    each_answer = 40 // 4 + len("assistant") // 4 + 3
    view = hector(messages, "v2", "token_window", tokens=3 * each + 4 * each_answer)
    assert view.count == len(messages) - 1
    assert hector(messages, "v2", "token_window", tokens=1).count == len(messages) - (8 - 5)


@pytest.mark.parametrize(("role", "name"), [("user", "user"), ("system", "system"), ("assistant", "assistant")])
def test_v2_counts_the_name_of_who_speaks(role: Role, name: str) -> None:
    messages = [said(number, "x" * 40, role) for number in range(30)]
    each = 40 // 4 + len(name) // 4 + 3
    assert hector(messages, "v2", "token_window", tokens=each * 20).count == 20
    assert hector(messages, "v2", "token_window", tokens=each * 20 - 1).count == 19


def test_tools_speak_as_the_agent() -> None:
    """There is no role for tools: what they say is the agent's, under its name."""
    messages = [said(number, "x" * 40, "tool") for number in range(30)]
    each = 40 // 4 + len("assistant") // 4 + 3
    assert hector(messages, "v2", "token_window", tokens=each * 20).count == 20


# Hector: generations ------------------------------------------------------------------------------------------


def test_v0_loads_as_v1_does() -> None:
    messages = talk(150)
    for generation in ("v0", "v1", "doc"):
        assert hector(messages, generation, "summary_buffer").count == 100
    assert hector(messages, "v2", "summary_buffer").count == 150


def test_v1_shows_what_is_documented_of_a_window_and_says_what_really_happens() -> None:
    view = hector(talk(30), "v1", "buffer_window", size=7)
    assert (view.count, "no valid SQL" in view.note) == (7, True)
    assert hector(talk(30), "v1", "buffer_window").count == 20
    assert hector(talk(30), "v2", "buffer_window", size=7).note == ""
    assert hector(talk(30), "doc", "buffer_window", size=7).note == ""


@pytest.mark.parametrize("generation", ["v0", "v1", "doc"])
def test_a_token_window_where_there_is_none_is_counted_as_v2_would(generation: str) -> None:
    messages = talk(150, "x" * 40)
    view = hector(messages, generation, "token_window", tokens=1)
    assert view.seen == hector(messages, "v2", "token_window", tokens=1).seen
    assert view.count == 5
    assert "no token_window" in view.note


def test_the_documents_mark_counts_in_its_own_generation_only() -> None:
    messages = [said(1), said(2, "Summary: so far", "system"), said(3)]
    assert hector(messages, "doc", "summary_buffer").seen == (False, True, True)
    assert hector(messages, "doc", "summary_buffer").checkpoints == 1
    assert hector(messages, "v1", "summary_buffer").seen == (True, True, True)
    messages[1] = said(2, MARK, "system")
    assert hector(messages, "doc", "summary_buffer").checkpoints == 0


def test_the_part_of_the_budget_is_that_of_the_configuration() -> None:
    """40 messages of 15 tokens; a budget of 300."""
    messages = [said(number, "x" * 40, "assistant") for number in range(40)]
    assert hector(messages, "v2", "summary_buffer", tokens=300).count == 14
    assert hector(messages, "v2", "summary_buffer", tokens=300, target=1.0).count == 20
    assert hector(messages, "v2", "summary_buffer", tokens=300, target=0.1).count == 10
    long = [said(number, "x" * 400, "assistant") for number in range(200)]
    assert hector(long, "v2", "summary_buffer").count == 5600 // 105
    assert hector(long, "v2", "token_window").count == 8000 // 105


# The others ---------------------------------------------------------------------------------------------------


def compacted(kept: str = "") -> Message:
    return Message(id="c", role="system", kind="compaction", kept_from=kept)


def test_what_a_compaction_kept_is_seen_but_for_what_was_undone() -> None:
    messages = [said(1), said(2), said(3, visibility="rewound"), said(4), compacted("2"), said(5)]
    assert context_view("pi", messages).seen == (False, True, False, True, True, True)
    messages[4] = compacted("gone")
    assert context_view("pi", messages).seen == (False,) * 4 + (True, True)


def test_only_the_last_compaction_counts() -> None:
    messages = [said(1), compacted(), said(2), compacted("2"), said(3)]
    view = context_view("pi", messages)
    assert view.seen == (False, False, True, True, True)
    assert (view.checkpoint, view.checkpoints) == (2, 2)


def test_codex_stops_where_twenty_thousand_tokens_are_full() -> None:
    prompts = [said(number, "x" * 20_000, "user") for number in range(6)]
    messages = [*prompts, compacted(), said("a")]
    assert context_view("codex", messages).seen == (False, False) + (True,) * 6
    messages[5] = said(5, "x" * 20_000, "user", visibility="rewound")
    assert context_view("codex", messages).seen == (False, True, True, True, True, False, True, True)
    messages[4] = said(4, "x" * 20_000, "user", kind="summary")
    assert context_view("codex", messages).seen == (True, True, True, True, False, False, True, True)


def test_windows_by_hand_without_a_size_are_hectors_own() -> None:
    """Messages of 100 tokens and three for each."""
    messages = talk(200, "x" * 400)
    assert context_view("x", messages, WindowChoice(strategy="buffer_window")).count == 20
    assert context_view("x", messages, WindowChoice(strategy="token_window")).count == 8000 // 103
    assert context_view("x", messages, WindowChoice(strategy="summary_buffer")).count == 5600 // 103
    half = WindowChoice(strategy="summary_buffer", tokens=8000, target=0.5)
    assert context_view("x", messages, half).count == 4000 // 103
    assert context_view("x", messages, WindowChoice(strategy="token_window", tokens=103 * 8)).count == 8


def test_a_window_that_leaves_the_summary_out_says_so() -> None:
    messages = [*talk(5), compacted(), *talk(5)]
    view = context_view("x", messages, WindowChoice(strategy="buffer_window", size=3))
    assert view.sentence.endswith("checkpoint – of 1")


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(999, "999"), (1000, "1.0 k"), (9949, "9.9 k"), (9951, "10 k"), (999_499, "999 k"), (999_500, "1.0 M")],
)
def test_tokens_are_rounded(tokens: int, shown: str) -> None:
    messages = [Message(role="user", content="x" * 4 * (tokens - 3))]
    assert context_view("x", messages).sentence == f"sees the only message, ≈ {shown} tokens"


def test_the_reason_names_the_window_and_who_says_so() -> None:
    for choice, reason in (
        (WindowChoice(), ""),
        (WindowChoice(strategy="summary_buffer", source="default"), "summary_buffer (default)"),
        (WindowChoice(strategy="summary_buffer", tokens=3000, source="/c.yaml"), "summary_buffer 3,000 (/c.yaml)"),
        (WindowChoice(strategy="buffer_window", size=7, tokens=9, source="chosen"), "buffer_window 7 (chosen)"),
        (
            WindowChoice(strategy="token_window", size=7, tokens=9000, source="settings"),
            "token_window 9,000 (settings)",
        ),
    ):
        assert context_view("x", talk(2), choice).reason == reason


# Which window counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "strategy"),
    [("v0", "summary_buffer"), ("v1", "summary_buffer"), ("doc", "summary_buffer"), ("v2", None), ("", None)],
)
def test_where_nobody_says_anything_each_generation_has_its_own(generation: str, strategy: str | None) -> None:
    choice = window_for(Memory(generation=generation))
    assert (choice.strategy, choice.generation) == (strategy, generation)
    assert choice.source == ("default" if strategy else "")


def test_every_size_of_the_configuration_is_kept_and_what_is_wrong_with_it_is_told_always() -> None:
    own = Memory(
        strategy="summary_buffer", tokens=3000, target=0.5, generation="v2", source="/c.yaml", trouble="torn"
    )
    assert window_for(own) == WindowChoice(
        strategy="summary_buffer", tokens=3000, target=0.5, generation="v2", source="/c.yaml", trouble="torn"
    )
    window = ContextWindow(strategy="token_window", tokens=5)
    for source, choice in (
        ("chosen", window_for(own, None, window)),
        ("settings", window_for(Memory(generation="v2", trouble="torn"), window)),
    ):
        assert choice == WindowChoice(
            strategy="token_window", tokens=5, generation="v2", source=source, trouble="torn"
        )
    assert window_for(Memory(generation="v1", trouble="torn")).trouble == "torn"
    assert context_view("hector", talk(2), window_for(own)).note == "torn"
    both = window_for(Memory(generation="v1", trouble="torn"), None, ContextWindow(strategy="buffer_window"))
    assert context_view("hector", talk(2), both).note.endswith("no valid SQL; torn")


# Tokens -------------------------------------------------------------------------------------------------------


def test_what_is_sent_is_counted_once_and_thinking_is_not() -> None:
    def tokens(*messages: Message) -> int:
        return context_view("x", messages).tokens

    assert tokens(Message(role="assistant", content="x" * 40, thinking="y" * 400)) == 10 + 3
    assert tokens(Message(role="user", content="ä" * 20)) == 10 + 3
    assert tokens(Message(role="user", content="\ud800" * 4)) == 3 + 3
    call = ToolCall(tool_call_id="c", tool_name="x" * 8, input={"k": "v" * 31}, output="z" * 80)
    asked = Message(role="assistant", tool_calls=(call,))
    assert tokens(asked) == 3 + 2 + len('{"k":"' + "v" * 31 + '"}') // 4 + 20
    answer = Message(role="tool", tool_result=ToolResult(tool_call_id="c", output="z" * 80))
    assert tokens(asked, answer) == tokens(asked) + 3, "the output is that of the call"
    assert tokens(answer) == 3 + 20
    assert tokens(Message(role="tool", tool_result=ToolResult(tool_call_id="c", output=["z" * 16]))) == 3 + 5
    odd = object()
    assert (
        tokens(Message(role="tool", tool_result=ToolResult(tool_call_id="c", output=odd))) == 3 + len(str(odd)) // 4
    )
