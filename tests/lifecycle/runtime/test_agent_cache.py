"""The cache of agents is an ordered dictionary from which no agent goes during its turn."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from contextlib import ExitStack

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chances import examples
from hermes_tui.lifecycle.runtime.agent_cache import IDLE_TTL, MAX_SIZE, AgentCache

SIZE = 3
keys = st.sampled_from("abcdef")


class Caches(RuleBasedStateMachine):
    """The model: key → number of its agent, in the order of use; when each was used last; which are in a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.ended: list[tuple[str, str, int]] = []
        self.cache: AgentCache[int] = AgentCache(
            release=lambda key, agent: self.ended.append(("released", key, agent)),
            close=lambda key, agent: self.ended.append(("closed", key, agent)),
            max_size=SIZE,
            idle_ttl=10,
            clock=lambda: self.now,
        )
        self.made = 0
        self.model: OrderedDict[str, int] = OrderedDict()
        self.used: dict[int, float] = {}
        self.turns: dict[str, tuple[int, ExitStack]] = {}
        self.later: dict[int, str] = {}
        self.expected: list[tuple[str, str, int]] = []

    def _make(self) -> int:
        self.made += 1
        return self.made

    def _in_turn(self) -> set[int]:
        return {agent for agent, _ in self.turns.values()}

    def _shrink(self) -> None:
        for key, agent in list(self.model.items()):
            if len(self.model) > SIZE and agent not in self._in_turn():
                del self.model[key]
                self.expected.append(("released", key, agent))

    @rule(key=keys)
    def begin_turn(self, key: str) -> None:
        if key in self.turns:
            return
        stack = ExitStack()
        agent = stack.enter_context(self.cache.using(key, self._make))
        assert agent == self.model.get(key, self.made)
        self.model[key] = agent
        self.model.move_to_end(key)
        self.used.setdefault(agent, self.now)
        self.turns[key] = (agent, stack)
        self._shrink()

    @rule(key=keys)
    def end_turn(self, key: str) -> None:
        if key not in self.turns:
            return
        agent, stack = self.turns.pop(key)
        stack.close()
        self.used[agent] = self.now
        if agent in self.later:
            self.expected.append((self.later.pop(agent), key, agent))
        self._shrink()

    @rule(key=keys, how=st.sampled_from(("released", "closed")))
    def drop(self, key: str, how: str) -> None:
        agent = self.model.pop(key, None)
        assert (self.cache.evict if how == "released" else self.cache.close)(key) is (agent is not None)
        if agent is not None and agent in self._in_turn():
            self.later[agent] = how
        elif agent is not None:
            self.expected.append((how, key, agent))

    @rule(seconds=st.sampled_from((1, 5, 11)))
    def time_goes_by(self, seconds: int) -> None:
        self.now += seconds

    @rule(kept=st.sets(keys, max_size=2))
    def sweep(self, kept: set[str]) -> None:
        old = [
            (key, agent)
            for key, agent in self.model.items()
            if agent not in self._in_turn() and self.now - self.used[agent] > 10 and key not in kept
        ]
        assert self.cache.sweep_idle(lambda key: key in kept) == len(old)
        for key, agent in old:
            del self.model[key]
            self.expected.append(("released", key, agent))

    @invariant()
    def it_is_the_model(self) -> None:
        assert self.cache.keys == tuple(self.model)
        assert len(self.cache) <= max(SIZE, len(self.turns))
        assert self.ended == self.expected

    def teardown(self) -> None:
        idle = sum(agent not in self._in_turn() for agent in self.model.values())
        assert self.cache.close_all() == idle
        for _, stack in self.turns.values():
            stack.close()
        assert Counter(agent for _, _, agent in self.ended) == Counter(range(1, self.made + 1)), "each ends once"


def test_it_is_an_ordered_dictionary() -> None:
    run_state_machine_as_test(Caches, settings=examples(60))


def test_the_documents_figures() -> None:
    now = 0.0
    released: list[str] = []
    cache: AgentCache[object] = AgentCache(release=lambda key, agent: released.append(key), clock=lambda: now)
    for number in range(MAX_SIZE + 1):
        with cache.using(str(number), object):
            pass
    assert (len(cache), released) == (128, ["0"])
    with cache.using("1", lambda: pytest.fail("it was there")):
        pass
    now = IDLE_TTL
    assert cache.sweep_idle() == 0
    now = 3600.1
    assert cache.sweep_idle() == 128


def test_what_cannot_be_closed_stays() -> None:
    def close(key: str, agent: object) -> None:
        raise OSError("its tools hang")

    cache: AgentCache[object] = AgentCache(close=close)
    with cache.using("k", object) as agent:
        pass
    with pytest.raises(OSError, match="hang"):
        cache.close("k")
    with cache.using("k", lambda: pytest.fail("it was there")) as again:
        assert again is agent
    assert cache.close_all() == 1, "who stops does not ask again"


def test_threads_share_it() -> None:
    """Eight threads, sixteen lanes, room for four: an agent is never released during a turn, and each once."""
    made: list[dict[str, int]] = []
    wrong: list[str] = []
    guard = threading.Lock()

    def make() -> dict[str, int]:
        agent = {"turns": 0, "ended": 0}
        with guard:
            made.append(agent)
        return agent

    def end(key: str, agent: dict[str, int]) -> None:
        with guard:
            agent["ended"] += 1
            if agent["turns"] or agent["ended"] > 1:
                wrong.append(key)

    cache = AgentCache(release=end, close=end, max_size=4, idle_ttl=0)

    def work(seed: int) -> None:
        for step in range(400):
            key = str((seed * 7 + step * 5) % 16)
            with cache.using(key, make) as agent:
                with guard:
                    agent["turns"] += 1
                    if agent["ended"]:
                        wrong.append(key)
                with guard:
                    agent["turns"] -= 1
            if step % 11 == 0:
                cache.evict(key)
            if step % 17 == 0:
                cache.close(key)
            if step % 23 == 0:
                cache.sweep_idle()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.close_all()
    assert wrong == []
    assert [agent["ended"] for agent in made] == [1] * len(made)
