"""Comparison of two sessions (spec 004 §6.6; checklist D-*)."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import tracemalloc
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.errors import AgentNotFound, SessionNotFound, ValidationError
from hermes_tui.sessions.diff.align import common
from hermes_tui.sessions.diff.compare import diff
from hermes_tui.sessions.diff.model import SessionDiff
from hermes_tui.sessions.diff.shown import ComparedSessions
from hermes_tui.sessions.diff.text import diff_lines
from hermes_tui.sessions.diff.wording import changed, wording
from hermes_tui.sessions.manager import SessionManager
from session_adapters.model import Message, Role, Session, ToolCall, ToolResult
from tiny_home import TinyHome

Said = tuple[Role, str]
ROLES: tuple[Role, ...] = ("user", "assistant", "tool")
SAID = st.tuples(st.sampled_from(ROLES), st.sampled_from(["", "a", "b", "c", "d"]))
CONVERSATION = st.lists(SAID, max_size=14)
REPETITIVE = st.lists(st.tuples(st.sampled_from(ROLES[:1]), st.sampled_from("abc")), min_size=6, max_size=10)
"""Where there are many ways to align, and a hasty one is too short."""
TEXT = st.lists(st.sampled_from(["the", "cat", "sat", " ", " ", "\n", ".", ",", "é", "猫", "x1"]), max_size=20).map(
    "".join
)


def session(said: Sequence[Said], agent: str = "tiny", name: str = "s") -> Session:
    messages = tuple(Message(role=role, content=content) for role, content in said)
    return Session(agent=agent, session_id=name, messages=messages)


def naive_length(a: Sequence[object], b: Sequence[object]) -> int:
    """The length of a longest common subsequence, by the table of every textbook."""
    row = [0] * (len(b) + 1)
    for one in a:
        before = row[:]
        for at, other in enumerate(b):
            row[at + 1] = before[at] + 1 if one == other else max(row[at], before[at + 1])
    return row[-1]


def replayed(found: SessionDiff) -> tuple[list[Said], list[Said]]:
    """Both sides as the operations tell them, in their order."""
    a = [(one.message_a.role, one.message_a.content) for one in found.operations if one.message_a is not None]
    b = [(one.message_b.role, one.message_b.content) for one in found.operations if one.message_b is not None]
    return a, b


def test_d_1_unknown_agent_and_missing_session(manager: SessionManager, tiny_home: TinyHome) -> None:
    tiny_home.add("one")
    with pytest.raises(AgentNotFound):
        manager.diff(("nobody", "one"), ("tiny", "one"))
    with pytest.raises(SessionNotFound):
        manager.diff(("tiny", "one"), ("tiny", "two"))
    assert manager.diff(("tiny", "one"), ("tiny", "one")).stats.unchanged == 2
    tiny_home.add("more", turns=3)
    found = manager.diff(("tiny", "one"), ("tiny", "more"))
    assert (found.a.session_id, found.b.session_id) == ("one", "more")
    assert (found.stats.additions, found.stats.removals) == (4, 0)


def test_d_2_types_statistics_and_absent_indices() -> None:
    a = session([("user", "hello"), ("assistant", "good day"), ("user", "gone")], name="a")
    b = session([("user", "hello"), ("assistant", "good evening"), ("assistant", "new")], agent="other", name="b")
    document = json.loads(msgspec.json.encode(diff(a, b)))
    assert document["a"] | {"agent": "tiny", "sessionId": "a", "unifiedId": "tiny:a"} == document["a"]
    assert document["b"]["unifiedId"] == "other:b"
    assert document["stats"] == {"removals": 1, "additions": 1, "modifications": 1, "unchanged": 1}
    kinds = [(one["type"], one.get("indexA"), one.get("indexB")) for one in document["operations"]]
    assert kinds == [("unchanged", 0, 0), ("modification", 1, 1), ("removal", 2, None), ("addition", None, 2)]
    removal, addition = document["operations"][2:]
    assert "messageB" not in removal
    assert "indexB" not in removal
    assert removal["messageA"]["content"] == "gone"
    assert {"indexA", "messageA"}.isdisjoint(addition)
    assert document["operations"][1]["messageB"]["content"] == "good evening"


@examples(200)
@given(st.one_of(CONVERSATION, REPETITIVE), REPETITIVE)
def test_d_3_what_is_unchanged_is_a_longest_common_subsequence(a: list[Said], b: list[Said]) -> None:
    found = diff(session(a), session(b))
    assert found.stats.unchanged == naive_length(a, b)
    for one in found.operations:
        if one.type == "unchanged":
            assert one.index_a is not None
            assert one.index_b is not None
            assert a[one.index_a] == b[one.index_b]


@examples(50)
@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 5), max_size=30))
def test_d_3_the_way_that_needs_little_memory_is_as_exact(a: list[int], b: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hermes_tui.sessions.diff.align.MOST_CELLS", -1)
        found = common(a, b)
    assert len(found) == naive_length(a, b)
    assert found == sorted(found)
    assert all(a[i] == b[j] for i, j in found)


def test_d_3_too_much_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.sessions.diff.align.MOST_CELLS", 10)
    monkeypatch.setattr("hermes_tui.sessions.diff.align.MOST_MATCHES", 10)
    a, b = [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]
    assert len(common(a, b)) == 1
    with pytest.raises(ValidationError, match="too long and too repetitive"):
        common([1, 2] * 9, [2, 2, 1] * 9)


def test_d_4_the_kth_of_a_role_stands_for_the_kth_of_that_role() -> None:
    a = session([("user", "same"), ("user", "1"), ("assistant", "2"), ("user", "3"), ("user", "end")])
    b = session([("user", "same"), ("user", "one"), ("assistant", "two"), ("assistant", "more"), ("user", "end")])
    kinds = [(one.type, one.index_a, one.index_b) for one in diff(a, b).operations]
    assert kinds == [
        ("unchanged", 0, 0),
        ("modification", 1, 1),
        ("modification", 2, 2),
        ("removal", 3, None),
        ("addition", None, 3),
        ("unchanged", 4, 4),
    ]


def test_d_4_where_pairs_would_cross_as_many_of_a_role_as_keep_the_order() -> None:
    """The first reply for the first and the first result for the first would cross; none is given up for that."""
    a = session([("assistant", "1"), ("tool", "2"), ("assistant", "3")])
    b = session([("tool", "two"), ("assistant", "three")])
    kinds = [(one.type, one.index_a, one.index_b) for one in diff(a, b).operations]
    assert kinds == [("removal", 0, None), ("modification", 1, 0), ("modification", 2, 1)]
    back = [(one.type, one.index_a, one.index_b) for one in diff(b, a).operations]
    assert back == [("addition", None, 0), ("modification", 0, 1), ("modification", 1, 2)]


def test_d_4_what_can_only_cross_is_given_up() -> None:
    a = session([("user", "1"), ("assistant", "2"), ("assistant", "3")])
    b = session([("assistant", "two"), ("assistant", "three"), ("user", "one")])
    assert diff(a, b).stats.modifications == 2
    assert replayed(diff(a, b))[1] == [("assistant", "two"), ("assistant", "three"), ("user", "one")]


@examples(50)
@given(st.lists(st.sampled_from(ROLES), max_size=12), st.lists(st.sampled_from(ROLES), max_size=12))
def test_d_4_nothing_in_common_pairs_by_role_alone(a: list[Role], b: list[Role]) -> None:
    """As many as keep the order, by the textbook; and those that the line names, where these do not cross."""
    steps = diff(session([(role, f"a{at}") for at, role in enumerate(a)]),
                 session([(role, f"b{at}") for at, role in enumerate(b)])).operations  # fmt: skip
    found = [(one.index_a, one.index_b) for one in steps if one.type == "modification"]
    assert len(found) == naive_length(a, b)
    wanted = sorted(
        pair
        for role in ROLES
        for pair in zip(
            [at for at, one in enumerate(a) if one == role], [at for at, one in enumerate(b) if one == role],
            strict=False,
        )
    )  # fmt: skip
    if all(one[1] < other[1] for one, other in itertools.pairwise(wanted)):
        assert found == wanted


@examples(50)
@given(CONVERSATION, CONVERSATION)
def test_d_5_the_operations_tell_both_sides_in_their_order(a: list[Said], b: list[Said]) -> None:
    found = diff(session(a), session(b))
    stats = found.stats
    assert stats.removals + stats.modifications + stats.unchanged == len(a)
    assert stats.additions + stats.modifications + stats.unchanged == len(b)
    assert replayed(found) == (a, b)
    assert [one.index_a for one in found.operations if one.index_a is not None] == list(range(len(a)))
    assert [one.index_b for one in found.operations if one.index_b is not None] == list(range(len(b)))
    for one in found.operations:
        if one.type == "modification":
            assert one.message_a is not None
            assert one.message_b is not None
            assert one.message_a.role == one.message_b.role
            assert one.message_a.content != one.message_b.content


@examples(200)
@given(st.one_of(CONVERSATION, REPETITIVE), REPETITIVE)
def test_d_6_identity_is_empty_and_the_other_way_round_is_the_mirror(a: list[Said], b: list[Said]) -> None:
    same = diff(session(a), session(a))
    assert {one.type for one in same.operations} <= {"unchanged"}
    assert same.stats.unchanged == len(a)
    there, back = diff(session(a), session(b)), diff(session(b), session(a))
    assert (there.stats.removals, there.stats.additions) == (back.stats.additions, back.stats.removals)
    mirrored = {"removal": "addition", "addition": "removal"}
    assert {(mirrored.get(one.type, one.type), one.index_b, one.index_a) for one in there.operations} == {
        (one.type, one.index_a, one.index_b) for one in back.operations
    }


@given(CONVERSATION)
def test_d_7_one_message_at_the_front_is_one_addition(a: list[Said]) -> None:
    stats = diff(session(a), session([("user", "quite new"), *a])).stats
    assert (stats.additions, stats.removals, stats.modifications, stats.unchanged) == (1, 0, 0, len(a))


def test_d_8_across_agents() -> None:
    a = session([("user", "Why?"), ("assistant", "Because.")], agent="claude")
    b = session([("user", "Why?"), ("assistant", "No reason.")], agent="codex")
    found = diff(a, b)
    assert [one.type for one in found.operations] == ["unchanged", "modification"]
    assert (found.a.agent, found.b.agent) == ("claude", "codex")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("user", "Why?"), ("assistant", "Why?")),
        (("user", "Why?"), ("user", "Why? ")),
        (("user", "Why?"), ("user", "why?")),
        (("user", "é"), ("user", "e\u0301")),
        (("user", ""), ("user", "\n")),
    ],
)
def test_d_8_the_same_is_what_is_the_same_to_the_letter(one: Said, other: Said) -> None:
    """Whoever compares two agents' answers wants to see also a blank or a capital."""
    for a, b in ((one, other), (other, one)):
        found = diff(session([a], agent="claude"), session([b], agent="codex"))
        assert found.stats.unchanged == 0
        assert found.stats.modifications == (a[0] == b[0])


def test_d_9_empty_sessions() -> None:
    one = session([("user", "hello")])
    assert diff(session([]), session([])).operations == ()
    assert diff(session([]), one).stats.additions == 1
    assert diff(one, session([])).stats.removals == 1


def test_d_3_as_difflib_would_not_have_it() -> None:
    """The matcher of the standard library takes the longest block first and so finds less."""
    a, b = "babbbaa", "abcbacc"
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    assert sum(block.size for block in blocks) == 2
    found = diff(session([("user", one) for one in a]), session([("user", one) for one in b]))
    assert found.stats.unchanged == naive_length(a, b) == 4


def test_five_thousand_messages_against_as_many() -> None:
    """The counts, not the time: that is measured by the benchmarks."""
    chance = random.Random(7)
    a: list[Said] = [(ROLES[at % 2], f"message {chance.randrange(9000)}") for at in range(5000)]
    b = list(a)
    for _ in range(800):
        b[chance.randrange(5000)] = ("user", f"changed {chance.random()}")
    stats = diff(session(a), session(b)).stats
    assert stats.unchanged >= 4200
    assert replayed(diff(session(a), session(b))) == (a, b)


# What was done ------------------------------------------------------------------------------------------------


def acting(*calls: ToolCall, agent: str = "tiny") -> Session:
    return Session(
        agent=agent,
        session_id="s",
        cwd="/home/dev/shop",
        messages=(
            Message(role="user", content="Go"),
            Message(role="assistant", content="", tool_calls=calls),
        ),
    )


def call(name: str, output: str = "ok", **given_: str) -> ToolCall:
    return ToolCall(tool_call_id=name, tool_name=name, input=given_, output=output)


def test_tool_calls_and_files_are_compared() -> None:
    a = acting(
        call("Read", file_path="/home/dev/shop/src/a.py"),
        call("Bash", command="pytest"),
        call("Edit", file_path="/home/dev/shop/src/a.py", old_string="1", new_string="2"),
    )
    patch = "*** Begin Patch\n*** Update File: src/b.py\n@@\n-1\n+2\n*** End Patch"
    b = acting(call("Read", file_path="src/a.py"), call("Bash", command="pytest"), call("apply_patch", patch=patch))
    found = diff(a, b)
    assert [(use.name, use.in_a, use.in_b) for use in found.tools] == [
        ("Read", True, True),
        ("Bash", True, True),
        ("Edit", True, False),
        ("apply_patch", False, True),
    ]
    assert [(use.path, use.a, use.b) for use in found.files] == [
        ("src/a.py", "edited", "read"),
        ("src/b.py", None, "edited"),
    ]


def test_equal_words_with_other_calls_are_told_apart() -> None:
    same, other = acting(call("Bash", command="ls")), acting(call("Bash", command="ls", output="no"))
    assert not any(one.other_calls for one in diff(same, acting(call("Bash", command="ls"))).operations)
    assert [one.other_calls for one in diff(same, other).operations] == [False, True]
    assert diff(same, other).stats.unchanged == 2  # the document compares role and content alone
    assert diff(same, other).other_calls == 1
    lines = list(diff_lines(diff(same, other)))
    assert "~ 2 → 2  assistant (other tool calls)" in lines
    assert "0 changed, 0 removed, 0 added, 2 unchanged (1 with other calls or results)" in lines


def test_ids_alone_make_no_other_calls_but_arguments_outputs_and_failures_do() -> None:
    def acts(name: str = "Bash", tool_call_id: str = "c1", **more: Any) -> bool:
        """Whether a call made so is another one than the plainest."""
        one, other = (
            acting(ToolCall(tool_call_id=by_id, tool_name=tool, input={"command": "ls"}, **fields))
            for by_id, tool, fields in (("c1", "Bash", {}), (tool_call_id, name, more))
        )
        return diff(one, other).operations[1].other_calls

    assert not acts()
    assert not acts(tool_call_id="c2")
    assert not acts(duration_ms=7)
    assert acts(name="Shell")
    assert acts(output="x")
    assert acts(is_error=True)


@pytest.mark.parametrize(
    ("output", "is_error", "other"), [("x", False, False), ("y", False, True), ("x", True, True)]
)
def test_another_result_is_something_else_done(output: str, is_error: bool, other: bool) -> None:
    def printed(**result: Any) -> Session:
        return Session(agent="a", session_id="s", messages=(Message(role="tool", tool_result=ToolResult(**result)),))

    a = printed(tool_call_id="1", tool_name="Bash", output="x")
    b = printed(tool_call_id="2", tool_name="Bash", output=output, is_error=is_error)
    (operation,) = diff(a, b).operations
    assert (operation.type, operation.other_calls) == ("unchanged", other)


def test_a_side_says_how_much_and_how_long_it_was() -> None:
    """Messages may stand in another order than they were written in."""
    times = [datetime(2026, 3, 1, 12, minute, tzinfo=UTC) for minute in (5, 0, 9)]
    calls = (call("Read", file_path="a"), call("Bash", command="ls"))
    messages = [Message(role="user", content="Go", timestamp=at) for at in times]
    one = Session(
        agent="a",
        session_id="s",
        turn_count=3,
        messages=(*messages, Message(role="assistant", content="", tool_calls=calls)),
    )
    side = diff(one, Session(agent="b", session_id="t")).a
    assert (side.message_count, side.turn_count, side.tool_call_count, side.seconds) == (4, 3, 2, 540.0)
    assert diff(one, Session(agent="b", session_id="t")).b.seconds is None


def test_the_text_tells_what_is_done_where_nothing_is_said() -> None:
    """On either side of a message that was changed, and where only a result is another."""
    silent = Message(role="assistant", tool_calls=(call("Bash", command="ls"),))
    printed = [Message(role="tool", tool_result=ToolResult(tool_call_id="x", tool_name="Bash", output=out))
               for out in ("one", "two")]  # fmt: skip
    a = Session(agent="tiny", session_id="a", messages=(silent, printed[0]))
    b = Session(agent="tiny", session_id="b", messages=(Message(role="assistant", content="Done."), printed[1]))
    for one, other, gone in ((a, b, "-"), (b, a, "+")):
        lines = list(diff_lines(diff(one, other)))
        assert lines[2] == "~ 1 → 1  assistant"
        assert "[Bash] ls" in lines[3] and f"{gone}[Bash] ls{gone}" in lines[3] and "Done." in lines[3]
        assert lines[4] == "~ 2 → 2  tool (another result)"
        assert {line.strip() for line in lines[5:7]} == (
            {"- [result of Bash] one", "+ [result of Bash] two"}
            if gone == "-"
            else {"- [result of Bash] two", "+ [result of Bash] one"}
        )


@examples(50)
@given(TEXT, TEXT)
def test_words_tell_both_texts(a: str, b: str) -> None:
    spans = wording(a, b)
    assert "".join(span.text for span in spans if span.mark != "+") == a
    assert "".join(span.text for span in spans if span.mark != "-") == b
    assert all(one.mark != two.mark for one, two in itertools.pairwise(spans))
    for side, text in (("-", a), ("+", b)):
        told = [span.text for span in spans if span.mark == side]
        assert [text[start:end] for start, end in changed(spans, side)] == told  # type: ignore[arg-type]
    if a == b:
        assert {span.mark for span in spans} <= {" "}


def test_words_that_changed() -> None:
    spans = wording("I'll run it until it fails.", "I'll run it forty times.")
    assert spans == [(" ", "I'll run it "), ("-", "until it fails"), ("+", "forty times"), (" ", ".")]


def test_the_text_of_a_comparison_is_safe() -> None:
    evil = "\x1b]52;c;eA==\x07 \u202e [bold]"
    a, b = session([("user", f"{evil} one")]), session([("user", f"{evil} two"), ("assistant", evil)])
    lines = list(diff_lines(diff(msgspec.structs.replace(a, title=evil, model=evil), b)))
    assert any("[-one-]{+two+}" in line for line in lines)
    assert "1 changed, 0 removed, 1 added, 0 unchanged" in lines
    assert not {char for line in lines for char in line if ord(char) < 0x20 or char == "\u202e"}


@given(CONVERSATION, CONVERSATION)
@examples(100)
def test_what_is_shown_is_what_the_operations_say(a: list[Said], b: list[Said]) -> None:
    """In columns, which another process sends."""
    operations = diff(session(a), session(b, name="other")).operations
    shown = pickle.loads(pickle.dumps(ComparedSessions(operations)))
    assert len(shown) == len(operations) and list(shown) == [shown[at] for at in range(len(shown))]
    for at, (one, operation) in enumerate(zip(shown, operations, strict=True)):
        sides = ((operation.index_a, operation.message_a), (operation.index_b, operation.message_b))
        assert one.type == operation.type and shown.is_equal(at) == (operation.type == "unchanged") and not one.note
        assert one.texts == tuple(message.content if message is not None else None for _, message in sides)
        assert one.heads == tuple(
            f"{(index or 0) + 1} {message.role}" if message is not None else "" for index, message in sides
        )


def test_what_is_shown_holds_no_object_for_each_operation() -> None:
    """Of two long sessions it was 55,000, which came with the screen and went with it."""
    a, b = ([(ROLES[0], f"{name} {number}") for number in range(2_000)] for name in ("one", "other"))
    operations = diff(session(a), session(b, name="other")).operations
    sent = pickle.dumps(ComparedSessions(operations))
    tracemalloc.start()
    try:
        shown = pickle.loads(sent)
        held = len(tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()
    assert len(shown) == len(operations) >= 2_000 and held < 200
