"""A gateway of ours: turns in order, commands, resets, restarts, stuck lanes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.policy import SessionResetPolicy
from hermes_tui.lifecycle.recovery import restart_counts
from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
from hermes_tui.lifecycle.runtime.events import Agent, AgentTurn, MessageEvent
from hermes_tui.lifecycle.runtime.runner import GatewayRunner
from hermes_tui.lifecycle.runtime.turn_runner import LOST, NOT_KEPT
from hermes_tui.lifecycle.source import SessionContext, SessionSource
from hermes_tui.lifecycle.store import SessionStore

ANA = SessionSource(platform="telegram", chat_id="1", user_id="1", user_name="Ana")
BOB = SessionSource(platform="telegram", chat_id="2", user_id="2", user_name="Bob")
KEY = "agent:main:telegram:dm:1"


class House:
    """A gateway's surroundings: home, clock, an agent that answers when it is let, what was sent and handled."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.moment = datetime(2026, 7, 21, 12)
        self.config = GatewayConfig(default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=30))
        self.turns: list[AgentTurn] = []
        self.sent: list[tuple[str, str]] = []
        self.handled: list[str | None] = []
        self.closed: list[str] = []
        self.made = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()
        self.answers: Callable[[AgentTurn], Awaitable[str | None]] = self._echo
        self.stores: list[SessionStore] = []

    async def _echo(self, turn: AgentTurn) -> str:
        await self.gate.wait()
        return f"re: {turn.text}"

    def gateway(self, **options: Any) -> GatewayRunner:
        """A new process of it, on the same home."""
        store = SessionStore(self.home / "sessions", self.config, clock=lambda: self.moment)
        self.stores.append(store)

        async def answer(turn: AgentTurn) -> str | None:
            self.turns.append(turn)
            self.begun.set()
            return await self.answers(turn)

        def new_agent(context: SessionContext) -> Agent:
            self.made += 1

            async def agent(turn: AgentTurn) -> str | None:
                return await answer(turn)

            return agent

        async def send(source: SessionSource, text: str) -> None:
            self.sent.append((source.chat_id, text))

        async def handled(event: MessageEvent) -> None:
            self.handled.append(event.message_id)

        cache = AgentCache[Agent](close=lambda key, agent: self.closed.append(key))
        return GatewayRunner(
            self.home,
            store,
            new_agent,
            send=send,
            handled=handled,
            cache=cache,
            clock=lambda: self.moment,
            **options,
        )

    def said(self, chat: str = "1") -> list[str]:
        return [text for at, text in self.sent if at == chat]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    for store in made.stores:
        store.close()


def message(text: str, source: SessionSource = ANA, **more: Any) -> MessageEvent:
    return MessageEvent(source=source, text=text, **{"message_id": text, **more})


async def test_a_platform_is_served_and_lanes_run_side_by_side(house: House) -> None:
    async def platform() -> AsyncIterator[MessageEvent]:
        for text in ("one", "/queue two", "/queue three"):
            yield message(text)
        yield message("hello", BOB)

    house.gate.clear()
    async with house.gateway() as gateway:
        await gateway.serve(platform())
        await house.begun.wait()
        assert gateway.queue.depth(KEY) == 2
        assert set(gateway.running) == {KEY, "agent:main:telegram:dm:2"}
        house.gate.set()
        await gateway.idle()
        assert house.said() == ["re: one", "re: two", "re: three"]
        assert house.said("2") == ["re: hello"]
        assert sorted(map(str, house.handled)) == ["/queue three", "/queue two", "hello", "one"]
        entry = gateway.store.peek(KEY)
        assert entry is not None
        said = [(one["role"], one["content"]) for one in gateway.store.load_transcript(entry.session_id)]
    assert said == [
        *(("user", "one"), ("assistant", "re: one"), ("user", "two"), ("assistant", "re: two")),
        *(("user", "three"), ("assistant", "re: three")),
    ]
    assert house.made == 2, "one agent for each lane"


@pytest.mark.parametrize(
    ("follow_ups", "said"),
    [("merge", ["re: b\nc"]), ("replace", ["re: c"]), ("queue", ["re: b", "re: c"])],
)
async def test_follow_ups(house: House, follow_ups: str, said: list[str]) -> None:
    house.gate.clear()
    async with house.gateway(follow_ups=follow_ups) as gateway:
        for text in "abc":
            gateway.handle(message(text))
            await house.begun.wait()
        house.gate.set()
        await gateway.idle()
    assert house.said() == ["re: a", *said]
    assert sorted(map(str, house.handled)) == ["a", "b", "c"], "nothing is delivered again"


async def test_new_cuts_the_turn_and_clears_the_queue(house: House) -> None:
    async with house.gateway() as gateway:
        gateway.handle(message("a"))
        await gateway.idle()
        first = gateway.store.peek_session_id(KEY)
        gateway.overrides[KEY] = "a model"
        house.gate.clear()
        house.begun.clear()
        gateway.handle(message("long"))
        await house.begun.wait()
        gateway.handle(message("/queue never"))
        gateway.handle(message("/new"))
        gateway.handle(message("after"))
        house.gate.set()
        await gateway.idle()
        entry = gateway.store.peek(KEY)
        assert entry is not None and entry.session_id != first
        assert not entry.is_fresh_reset, "consumed by the first message"
        assert (gateway.overrides, house.closed) == ({}, [KEY])
    assert house.said() == ["re: a", "New session.", "re: after"]
    assert sorted(map(str, house.handled)) == ["/new", "/queue never", "a", "after", "long"]


@pytest.mark.parametrize("documented", [False, True])
async def test_stop(house: House, documented: bool) -> None:
    """By the document it suspends the lane; since 0.13 Hermes' own keeps the session."""
    house.config = replace(house.config, documented=documented)
    async with house.gateway() as gateway:
        house.gate.clear()
        gateway.handle(message("long"))
        await house.begun.wait()
        first = gateway.store.peek_session_id(KEY)
        gateway.handle(message("/stop"))
        house.gate.set()
        await gateway.idle()
        gateway.handle(message("on"))
        await gateway.idle()
        assert (gateway.store.peek_session_id(KEY) != first) is documented
    assert "Stopped." in house.said()
    assert ("previous session was stopped" in " ".join(house.said())) is documented


async def test_a_reset_is_told_to_the_model_and_to_the_person(house: House) -> None:
    async with house.gateway() as gateway:
        gateway.handle(message("a"))
        await gateway.idle()
        gateway.store.update_session(KEY, last_prompt_tokens=10)
        house.moment += timedelta(minutes=31)
        for text in ("b", "c"):
            gateway.handle(message(text))
            await gateway.idle()
    assert house.turns[1].text.startswith("[System note: The user's previous session expired due to inactivity.")
    assert house.turns[1].text.endswith("\n\nb")
    assert house.turns[2].text == "c"
    assert house.said()[1].startswith("◐ Session automatically reset (inactive for 30m).")
    assert len(house.said()) == 4
    assert house.made == 2, "what the old agent knows is not for the new conversation"


async def test_senders_are_named_where_several_share_a_session(house: House) -> None:
    source = SessionSource(platform="telegram", chat_id="-5", chat_type="group", thread_id="9", user_name="Ana\n## x")
    async with house.gateway() as gateway:
        gateway.handle(message("hello", source))
        await gateway.idle()
        assert gateway.store.load_transcript(house.turns[0].entry.session_id)[0]["content"] == "hello"
    assert house.turns[0].text == "[Ana ## x] hello"
    assert "Multi-user thread" in house.turns[0].context_prompt


async def test_one_chat_has_one_lane_whatever_the_platform_calls_it(house: House) -> None:
    async with house.gateway(chat_id_keys={"telegram": lambda chat: chat.removeprefix("+")}) as gateway:
        gateway.handle(message("a"))
        await gateway.idle()
        gateway.handle(message("b", replace(ANA, chat_id="+1")))
        await gateway.idle()
        assert [one.session_key for one in gateway.store.list_sessions()] == [KEY]


async def test_a_turn_has_a_limit(house: House) -> None:
    house.config = replace(house.config, gateway_timeout=0.05)
    house.gate.clear()
    async with house.gateway() as gateway:
        gateway.handle(message("a"))
        await gateway.idle()
        house.gate.set()
        gateway.handle(message("b"))
        await gateway.idle()
    assert house.said()[0].startswith("The agent was stopped after")
    assert house.said()[1] == "re: b"


async def test_an_agent_that_fails_leaves_its_lane_working(house: House) -> None:
    async def fails(turn: AgentTurn) -> str:
        raise TimeoutError("its own, not ours")

    works, house.answers = house.answers, fails
    async with house.gateway() as gateway:
        gateway.handle(message("a"))
        await gateway.idle()
        house.answers = works
        gateway.handle(message("b"))
        await gateway.idle()
    assert [text.partition(";")[0] for text in house.said()] == ["The agent failed", "re: b"]
    assert house.handled == ["a", "b"]


async def test_what_is_delivered_again_gets_no_second_turn(house: House) -> None:
    async with house.gateway() as gateway:
        for text in ("a", "b", "a"):
            gateway.handle(message(text))
            await gateway.idle()
        gateway.handle(message("/new"))
        await gateway.idle()
    assert [turn.text for turn in house.turns] == ["a", "b"]
    assert house.said() == ["re: a", "re: b", "re: a", "New session."]


async def test_a_clean_stop_leaves_no_marks(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.gate.clear()
    gateway = house.gateway()
    await gateway.start()
    gateway.handle(message("a"))
    await house.begun.wait()
    gateway.handle(message("/queue b"))
    mark, loop, marked = gateway.store.mark_resume_pending, asyncio.get_running_loop(), asyncio.Event()

    def told(key: str, reason: str = "") -> bool:
        try:
            return mark(key, reason)
        finally:
            loop.call_soon_threadsafe(marked.set)

    monkeypatch.setattr(gateway.store, "mark_resume_pending", told)
    stopping = asyncio.create_task(gateway.stop())
    await marked.wait()
    entry = gateway.store.peek(KEY)
    assert entry is not None and entry.resume_reason == "shutdown_timeout", "before it waits: it may be killed then"
    gateway.handle(message("c"))
    house.gate.set()
    assert [event.text for event in await stopping] == ["b", "c"]
    entry = gateway.store.peek(KEY)
    assert entry is not None and not entry.resume_pending
    assert (house.home / ".clean_shutdown").exists()
    assert house.said() == ["re: a"]
    started = await (again := house.gateway()).start()
    assert (started.clean, started.marked, again.running) == (True, 0, ())
    await again.stop()


async def test_what_a_drain_cuts_is_gone_on_with(house: House) -> None:
    house.gate.clear()
    gateway = house.gateway()
    await gateway.start()
    gateway.handle(message("a"))
    await house.begun.wait()
    gateway.handle(message("/queue b"))
    unhandled = await gateway.stop(0, restart=True)
    assert [event.message_id for event in unhandled] == ["a", "/queue b"]
    assert not (house.home / ".clean_shutdown").exists()
    house.gate.set()
    again = house.gateway()
    await again.start()
    for event in unhandled:
        again.handle(event)  # held until the turn that was cut has ended
    assert again.running == (KEY,)
    await again.idle()
    assert [turn.event.internal for turn in house.turns] == [False, True, False]
    assert "interrupted by a gateway restart" in house.turns[1].text
    entry = again.store.peek(KEY)
    assert entry is not None and not entry.resume_pending
    roles = [one["role"] for one in again.store.load_transcript(entry.session_id)]
    assert roles == ["user", "assistant", "user", "assistant"], "the turn that goes on is the answer to the message"
    assert house.said()[-1] == "re: b"
    await again.stop()


async def test_a_lane_that_three_restarts_cut_is_suspended(house: House) -> None:
    """In Hermes 0.19 each start forgets the counts, so that none reaches three."""
    house.gate.clear()
    for number in range(3):
        house.begun.clear()
        gateway = house.gateway()
        await gateway.start()
        if number == 0:
            gateway.handle(message("it hangs"))
        await house.begun.wait()
        await gateway.stop(0)
        assert restart_counts(house.home)[0].get(KEY, 0) == number
    first = house.gateway().store.peek_session_id(KEY)
    gateway = house.gateway()
    started = await gateway.start()
    assert started.suspended == (KEY,)
    house.gate.set()
    gateway.handle(message("fresh"))
    await gateway.idle()
    assert gateway.store.peek_session_id(KEY) != first
    assert house.turns[-1].text.startswith("[System note: The user's previous session was stopped and suspended.")
    await gateway.stop()


async def test_a_turn_that_ends_well_breaks_the_loop(house: House) -> None:
    house.gate.clear()
    gateway = house.gateway()
    await gateway.start()
    gateway.handle(message("a"))
    await house.begun.wait()
    await gateway.stop(0)
    house.gate.set()
    gateway = house.gateway()
    await gateway.start()
    assert restart_counts(house.home)[0] == {KEY: 1}
    await gateway.idle()
    assert restart_counts(house.home) == ({}, "")
    await gateway.stop()


class FullDisk:
    """A store that does not take what is asked for a while."""

    def __init__(
        self, house: House, monkeypatch: pytest.MonkeyPatch, times: int, method: str = "append_asked"
    ) -> None:
        self.left = times
        self.pauses: list[float] = []
        real = getattr(SessionStore, method)

        def refused(store: SessionStore, *arguments: Any, **options: Any) -> Any:
            if self.left:
                self.left -= 1
                raise StoreError("database or disk is full")
            return real(store, *arguments, **options)

        monkeypatch.setattr(SessionStore, method, refused)

    async def sleep(self, seconds: float) -> None:
        """The watcher's first look, and the pauses between tries."""
        if seconds >= 60:
            await asyncio.Event().wait()
        self.pauses.append(seconds)
        await asyncio.sleep(0)


async def test_a_lane_whose_session_was_named_and_not_made_goes_on(house: House) -> None:
    """Its gateway was killed in between: the index has the lane, and the database nothing of it."""
    async with house.gateway() as gateway:
        entry = gateway.store.get_or_create_session(message("one").source)
        with gateway.store.db.transaction():
            gateway.store.db.execute("DELETE FROM sessions WHERE id = ?", (entry.session_id,))
    async with house.gateway() as gateway:
        for _ in range(2):  # and once more, for nobody knows whether the answer arrived
            gateway.handle(message("one"))
            await gateway.idle()
        assert house.said() == ["re: one", "re: one"]
        assert [turn.text for turn in house.turns] == ["one"]
        assert house.handled == ["one", "one"]
        assert gateway.store.db.get_session(entry.session_id) is not None
        kept = [(one["role"], one["content"]) for one in gateway.store.load_transcript(entry.session_id)]
        assert kept == [("user", "one"), ("assistant", "re: one")]


@pytest.mark.parametrize("method", ["append_asked", "get_or_create_session"])
async def test_a_message_that_cannot_be_kept_is_tried_again_and_keeps_its_place(
    house: House, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    disk = FullDisk(house, monkeypatch, 2, method)
    async with house.gateway(sleep=disk.sleep) as gateway:
        for text in ("one", "/queue two"):
            gateway.handle(message(text))
        await gateway.idle()
        assert house.said() == [NOT_KEPT, "re: one", "re: two"], "it is said once, and the order stays"
        assert [turn.text for turn in house.turns] == ["one", "two"], "the agent has each once"
        assert (disk.pauses, house.handled) == ([1.0, 5.0], ["one", "/queue two"])
        entry = gateway.store.peek(KEY)
        assert entry is not None
        kept = [one["content"] for one in gateway.store.load_transcript(entry.session_id) if one["role"] == "user"]
        assert kept == ["one", "two"]


async def test_a_message_that_is_never_kept_is_said_to_be_lost_and_stays_undelivered(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(house, monkeypatch, 4)
    async with house.gateway(sleep=disk.sleep) as gateway:
        for text in ("one", "/queue two"):
            gateway.handle(message(text))
        await gateway.idle()
        assert house.said() == [NOT_KEPT, LOST, "re: two"], "what comes after it has its turn"
        assert (disk.pauses, house.handled) == ([1.0, 5.0, 30.0], ["/queue two"])
        gateway.handle(message("one"))  # delivered again, for nobody said that it was handled
        await gateway.idle()
        assert house.said()[-1] == "re: one"


async def test_an_answer_is_said_though_the_lane_cannot_be_written(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    FullDisk(house, monkeypatch, 1, "update_session")
    async with house.gateway() as gateway:
        gateway.handle(message("one"))
        await gateway.idle()
        assert (house.said(), house.handled) == (["re: one"], ["one"])


async def test_stop_ends_the_tries(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, waits = FullDisk(house, monkeypatch, 1000), asyncio.Event()

    async def sleep(seconds: float) -> None:
        if seconds < 60:  # not the watcher's
            waits.set()
        await asyncio.Event().wait()

    async with house.gateway(sleep=sleep) as gateway:
        gateway.handle(message("one"))
        await waits.wait()
        gateway.handle(message("/stop"))
        await gateway.idle()
        assert house.said() == [NOT_KEPT, "Stopped."]
    assert disk.left == 999
