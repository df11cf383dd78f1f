"""The queue of a gateway is a plain list for each lane, whose last follow-up takes in the next one."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chances import examples
from hermes_tui.lifecycle.runtime.events import MessageEvent
from hermes_tui.lifecycle.runtime.message_queue import FollowUps, MessageQueue
from hermes_tui.lifecycle.source import SessionSource

SOURCE = SessionSource(platform="telegram", chat_id="1")
keys = st.sampled_from(("a", "b", "c"))


class Queues(RuleBasedStateMachine):
    """The model keeps, for each turn that waits, the numbers of its messages and whether it came by /queue."""

    follow_ups: ClassVar[FollowUps] = "merge"

    def __init__(self) -> None:
        super().__init__()
        self.queue = MessageQueue(self.follow_ups)
        self.model: dict[str, list[tuple[list[int], bool, bool]]] = defaultdict(list)
        self.sent = 0
        self.gone: set[int] = set()

    def _event(self, *, queued: bool = False, picture: bool = False) -> MessageEvent:
        self.sent += 1
        media = (f"{self.sent}.png",) if picture else ()
        return MessageEvent(
            source=SOURCE, text=str(self.sent), message_id=str(self.sent), queued=queued, media_urls=media
        )

    @rule(key=keys)
    def queued(self, key: str) -> None:
        self.queue.enqueue_fifo(key, self._event(queued=True))
        self.model[key].append(([self.sent], True, False))

    @rule(key=keys)
    def command(self, key: str) -> None:
        self.queue.put_first(key, self._event(queued=True))
        self.model[key].insert(0, ([self.sent], True, False))

    @rule(key=keys, picture=st.sampled_from((False, False, True)))
    def follow_up(self, key: str, picture: bool) -> None:
        replaced = self.queue.follow_up(key, self._event(picture=picture))
        waiting = self.model[key]
        album = bool(waiting) and (picture or waiting[-1][2])
        if not waiting or waiting[-1][1] or (self.follow_ups == "queue" and not album):
            assert replaced is None
            waiting.append(([self.sent], False, picture))
        elif album or self.follow_ups == "merge":
            assert replaced is None
            numbers, _, pictures = waiting[-1]
            waiting[-1] = ([*numbers, self.sent], False, pictures or picture)
        else:
            numbers, _, _ = waiting[-1]
            assert replaced is not None and [int(one.text) for one in replaced.messages] == numbers
            self.gone.update(numbers)
            waiting[-1] = ([self.sent], False, picture)

    @rule(key=keys)
    def drain(self, key: str) -> None:
        event = self.queue.drain(key)
        if not self.model[key]:
            assert event is None
            return
        numbers, queued, _ = self.model[key].pop(0)
        assert event is not None
        assert [int(one.text) for one in event.messages] == numbers
        assert event.text == "\n".join(map(str, numbers))
        assert event.message_id == str(numbers[-1])
        assert event.queued is queued
        self.gone.update(numbers)

    @rule(key=keys)
    def new_session(self, key: str) -> None:
        cleared = [int(one.text) for event in self.queue.clear(key) for one in event.messages]
        assert cleared == [number for numbers, _, _ in self.model.pop(key, []) for number in numbers]
        self.gone.update(cleared)

    @invariant()
    def nothing_is_lost(self) -> None:
        waiting = {key: turns for key, turns in self.model.items() if turns}
        assert self.queue.waiting == {key: len(turns) for key, turns in waiting.items()}
        assert all(self.queue.depth(key) == len(self.model[key]) for key in ("a", "b", "c"))
        there = [number for turns in waiting.values() for numbers, _, _ in turns for number in numbers]
        assert len(there) == len(set(there))
        assert set(there) | self.gone == set(range(1, self.sent + 1))
        assert not set(there) & self.gone


@pytest.mark.parametrize("follow_ups", ["replace", "merge", "queue"])
def test_it_is_a_list(follow_ups: FollowUps) -> None:
    machine = type("Machine", (Queues,), {"follow_ups": follow_ups})
    run_state_machine_as_test(machine, settings=examples(30))


def test_promotion_at_the_drain_site() -> None:
    """The document's cases: the slot was empty, and it was not."""
    queue = MessageQueue()
    one, two, three = (MessageEvent(source=SOURCE, text=text, queued=True) for text in "123")
    for event in (one, two, three):
        queue.enqueue_fifo("k", event)
    assert queue.depth("k") == 3
    assert queue.promote_queued_event("k", None) is two, "the head of the overflow, where nothing was pending"
    assert queue.drain("k") is one
    assert queue.promote_queued_event("k", two) is two, "nothing is left to promote"
    assert [queue.drain("k"), queue.drain("k")] == [three, None]


def test_a_follow_up_takes_no_queued_messages_place() -> None:
    """In Hermes 0.19 it does: what was sent by /queue is lost then."""
    queue = MessageQueue("replace")
    queue.enqueue_fifo("k", MessageEvent(source=SOURCE, text="queued", queued=True))
    assert queue.follow_up("k", MessageEvent(source=SOURCE, text="first")) is None
    replaced = queue.follow_up("k", MessageEvent(source=SOURCE, text="second"))
    assert replaced is not None and replaced.text == "first"
    queue.enqueue_fifo("k", MessageEvent(source=SOURCE, text="queued too", queued=True))
    turns = [event.text for event in iter(lambda: queue.drain("k"), None)]
    assert turns == ["queued", "second", "queued too"]
