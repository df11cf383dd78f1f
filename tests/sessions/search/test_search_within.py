"""What a query finds inside one conversation."""

from __future__ import annotations

from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.within import Within
from session_adapters.model import Message, SessionSummary, ToolCall, ToolResult

SUMMARY = SessionSummary(agent="hermes", session_id="s1", title="Birds")


def stops(text: str, messages: list[Message]) -> list[int]:
    """Where `n` leads from above the first message on; `N` leads the same way back."""
    within = Within(parse(text), SUMMARY)
    ways = {1: [-1], -1: [len(messages)]}
    for step, way in ways.items():
        while (at := within.next(messages, way[-1], step)) is not None:
            way.append(at)
    found, back = ways[1][1:], ways[-1][1:]
    assert back == found[::-1]
    return found


def test_every_message_with_a_match_in_order() -> None:
    messages = [Message(role="user", content="heron" if number % 7 == 3 else "weir") for number in range(200)]
    assert stops("heron", messages) == list(range(3, 200, 7))
    assert stops("weir -heron", messages) == [number for number in range(200) if number % 7 != 3]
    assert stops("kingfisher", messages) == []
    assert stops("-heron", messages) == []  # nothing to be led to
    assert stops("agent:hermes", messages) == []


def test_what_was_taken_back_is_passed_by() -> None:
    messages = [
        Message(role="user", content="a heron", visibility="rewound"),
        Message(role="user", content="a heron", visibility="compacted"),
        Message(role="assistant", content="the heron flew"),
    ]
    assert stops("heron", messages) == [1, 2]
    assert stops("role:assistant heron", messages) == [2]


def test_a_result_that_its_call_shows_is_the_call() -> None:
    call = ToolCall(tool_call_id="t", tool_name="bash", input={"command": "ls"})
    messages = [
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", tool_result=ToolResult(tool_call_id="t", output="a heron", linked=True)),
        Message(role="tool", tool_result=ToolResult(tool_call_id="u", output="another heron")),
    ]
    assert stops("heron", messages) == [0, 2]
