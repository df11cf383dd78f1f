"""Queue, notes and names of our gateway are those of the real one, where the two are to be the same."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.context_prompt import inline_text
from hermes_tui.lifecycle.runtime.events import MessageEvent
from hermes_tui.lifecycle.runtime.message_queue import MessageQueue
from hermes_tui.lifecycle.runtime.notes import resume_note
from hermes_tui.lifecycle.source import SessionSource
from oracle.hermes import Oracle

SOURCE = SessionSource(platform="telegram", chat_id="1")
_keys = st.sampled_from("ab")


def ours(queue: MessageQueue, op: str, key: str, text: str) -> tuple[str | None, int]:
    """One step of ours, as the oracle tells of its own."""
    taken = None
    event = MessageEvent(source=SOURCE, text=text, queued=op == "queue")
    if op == "queue":
        queue.enqueue_fifo(key, event)
    elif op == "drain":
        found = queue.drain(key)
        taken = found.text if found is not None else None
    else:
        queue.follow_up(key, event)
    return taken, queue.depth(key)


def compared(hermes: Oracle, steps: list[tuple[str, str]], mode: Literal["merge", "replace"]) -> None:
    numbered = [(op, key, str(number)) for number, (op, key) in enumerate(steps)]
    theirs = [tuple(one) for one in hermes.ask("queue", {"steps": numbered})]
    queue = MessageQueue(mode)
    assert [ours(queue, *step) for step in numbered] == theirs


@examples(100)
@given(steps=st.lists(st.tuples(st.sampled_from(("queue", "queue", "drain")), _keys), max_size=30))
def test_queued_messages(hermes: Oracle, steps: list[tuple[str, str]]) -> None:
    compared(hermes, steps, "merge")


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_burst_of_follow_ups(hermes: Oracle, mode: Literal["merge", "replace"]) -> None:
    """As long as nothing came by /queue: what then has the slot is overwritten there, and kept here."""
    compared(hermes, [(mode, "a"), (mode, "b"), (mode, "a"), ("drain", "a"), (mode, "a"), ("drain", "a")], mode)
    lost = [("queue", "a", "queued"), (mode, "a", "follow-up"), ("drain", "a", ""), ("drain", "a", "")]
    theirs = [taken for taken, _ in hermes.ask("queue", {"steps": lost})]
    queue = MessageQueue(mode)
    kept = [ours(queue, *step)[0] for step in lost]
    assert "queued" not in theirs
    assert kept == [None, None, "queued", "follow-up"]


@examples(200)
@given(name=st.text(min_size=1, max_size=300) | st.sampled_from(("Ana\r\n## x", "\t\x1b[2J \n", "x" * 241)))
def test_names_on_one_line(hermes: Oracle, name: str) -> None:
    assert inline_text(name) == hermes.ask("inline", {"text": name})


@pytest.mark.parametrize("reason", ["restart_timeout", "shutdown_timeout", "restart_interrupted"])
@pytest.mark.parametrize("message", ["", "hello"])
@pytest.mark.parametrize("interactive", [True, False])
def test_what_an_interrupted_turn_is_told(hermes: Oracle, reason: str, message: str, interactive: bool) -> None:
    theirs = hermes.ask("resume_note", {"reason": reason, "message": message, "interactive": interactive})
    assert resume_note(reason, message, interactive=interactive) == theirs
