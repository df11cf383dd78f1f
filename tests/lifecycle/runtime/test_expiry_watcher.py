"""The watcher finalises each expired conversation once, tries three times, sweeps agents and drops old lanes."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chances import examples
from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.policy import SessionResetPolicy
from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
from hermes_tui.lifecycle.runtime.expiry_watcher import FIRST_LOOK, INTERVAL, ExpiryWatcher
from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.store import SessionStore

IDLE = 30
"""Minutes."""
MOST_DAYS = 1
# Both platforms' lanes expire by what is idle; signal's never do.
LANES = [("telegram", "1"), ("telegram", "2"), ("signal", "3")]
NOON = datetime(2026, 7, 21, 12)
lanes = st.integers(0, len(LANES) - 1)


def config(*, documented: bool = False) -> GatewayConfig:
    return GatewayConfig(
        default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=IDLE),
        reset_by_platform={"signal": SessionResetPolicy(mode="none")},
        session_store_max_age_days=MOST_DAYS,
        documented=documented,
    )


class Lane:
    """What the model keeps of one."""

    def __init__(self, session_id: str, at: float) -> None:
        self.session_id = session_id
        self.active = at
        self.finalized = False
        self.tries = 0
        self.agent_used: float | None = None


class Watchers(RuleBasedStateMachine):
    """The model goes by minutes since noon and the rules of the document alone."""

    documented: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hermes-tui-watcher-"))
        self.minutes = 0.0
        self.store = SessionStore(
            self.folder / "sessions", config(documented=self.documented), clock=lambda: NOON + self._span
        )
        self.ended: list[str] = []
        self.cache: AgentCache[str] = AgentCache(
            release=lambda key, agent: self.ended.append(key),
            close=lambda key, agent: self.ended.append(key),
            clock=lambda: self.minutes * 60,
        )
        self.busy: set[str] = set()
        self.broken: set[str] = set()
        self.hooked: list[str] = []
        self.overrides: dict[str, object] = {}
        self.watcher = ExpiryWatcher(
            self.store,
            self.cache,
            on_session_finalize=[self._hook],
            overrides=self.overrides,
            is_busy=lambda key: key in self.busy,
            clock=lambda: self.minutes * 60,
        )
        self.model: dict[str, Lane] = {}
        self.pruned: float | None = None

    @property
    def _span(self) -> timedelta:
        return timedelta(minutes=self.minutes)

    async def _hook(self, entry: SessionEntry) -> None:
        self.hooked.append(entry.session_id)
        if entry.session_key in self.broken:
            raise OSError("a plugin fails")

    def _key(self, at: int) -> str:
        return f"agent:main:{LANES[at][0]}:dm:{LANES[at][1]}"

    @rule(at=lanes, override=st.booleans())
    def message(self, at: int, override: bool) -> None:
        key, known = self._key(at), self.model.get(self._key(at))
        entry = self.store.get_or_create_session(SessionSource(platform=LANES[at][0], chat_id=LANES[at][1]))
        due = known is not None and self._expired(key, known)
        if known is None or due:
            assert known is None or entry.session_id != known.session_id
            agent = known.agent_used if known is not None and key in self.cache.keys else None
            known = self.model[key] = Lane(entry.session_id, self.minutes)
            known.agent_used = agent
        assert entry.session_id == known.session_id
        known.active = self.minutes
        with self.cache.using(key, lambda: key):
            known.agent_used = self.minutes
        if override:
            self.overrides[key] = "a model"

    def _expired(self, key: str, lane: Lane) -> bool:
        return ":signal:" not in key and self.minutes - lane.active > IDLE

    @rule(at=lanes)
    def turn_begins_or_ends(self, at: int) -> None:
        self.busy ^= {self._key(at)}

    @rule(at=lanes)
    def hook_breaks_or_works(self, at: int) -> None:
        self.broken ^= {self._key(at)}

    @rule(minutes=st.sampled_from((1, 5, 31, 61, 26 * 60)))
    def time_goes_by(self, minutes: int) -> None:
        self.minutes += minutes

    @rule()
    def look(self) -> None:
        found = asyncio.run(self.watcher.look())
        wanted: dict[str, list[str]] = {"finalized": [], "failed": [], "forced": []}
        for key, lane in self.model.items():
            if lane.finalized or key in self.busy or not self._expired(key, lane):
                lane.tries = lane.tries if key in self.busy else 0
                continue
            lane.tries += key in self.broken
            how = "finalized" if key not in self.broken else "failed" if lane.tries < 3 else "forced"
            wanted[how].append(key)
            if how != "failed":
                lane.finalized, lane.agent_used = True, None
                assert key not in self.overrides
        assert {name: sorted(getattr(found, name)) for name in wanted} == {
            name: sorted(keys) for name, keys in wanted.items()
        }
        self._swept(found.swept)
        self._pruned(found.pruned)

    def _swept(self, count: int) -> None:
        """The document: whatever the policy; 0.19 leaves those for the end of their conversation that will expire."""
        old = [
            lane
            for key, lane in self.model.items()
            if lane.agent_used is not None
            and self.minutes - lane.agent_used > 60
            and (self.documented or ":signal:" in key or self._expired(key, lane))
        ]
        for lane in old:
            lane.agent_used = None
        assert count == len(old)

    def _pruned(self, count: int) -> None:
        if self.pruned is not None and self.minutes - self.pruned <= 60:
            assert count == 0
            return
        self.pruned = self.minutes
        old = [key for key, lane in self.model.items() if self.minutes - lane.active > MOST_DAYS * 24 * 60]
        assert count == len(old)
        for key in old:
            if self.model.pop(key).agent_used is not None:
                self.cache.evict(key)

    @invariant()
    def the_store_is_the_model(self) -> None:
        there = {one.session_key: (one.session_id, one.expiry_finalized) for one in self.store.list_sessions()}
        assert there == {key: (lane.session_id, lane.finalized) for key, lane in self.model.items()}
        assert set(self.cache.keys) == {key for key, lane in self.model.items() if lane.agent_used is not None}

    def teardown(self) -> None:
        self.store.close()
        with closing(sqlite3.connect(self.folder / "state.db")) as raw:
            ended = dict(raw.execute("SELECT id, end_reason FROM sessions"))
        assert all(ended[lane.session_id] == "session_reset" for lane in self.model.values() if lane.finalized)
        shutil.rmtree(self.folder)


@pytest.mark.parametrize("documented", [False, True])
def test_it_does_what_the_document_says(documented: bool) -> None:
    machine = type("Machine", (Watchers,), {"documented": documented})
    run_state_machine_as_test(machine, settings=examples(15))


async def test_a_message_during_the_hooks_keeps_its_new_session(tmp_path: Path) -> None:
    """In Hermes 0.19 too the row that is ended is the old conversation's."""
    moment = [NOON]
    source = SessionSource(platform="telegram", chat_id="1")
    with SessionStore(tmp_path / "sessions", config(), clock=lambda: moment[0]) as store:
        old = store.get_or_create_session(source)
        moment[0] += timedelta(minutes=IDLE + 1)

        async def speaks(entry: SessionEntry) -> None:
            store.get_or_create_session(source)

        found = await ExpiryWatcher(store, AgentCache[str](), on_session_finalize=[speaks]).look()
        entry = store.list_sessions()[0]
        assert found.finalized == (old.session_key,)
        assert (entry.session_id != old.session_id, entry.expiry_finalized) == (True, False)
        row = store.db.get_session(entry.session_id)
        assert row is not None and row["end_reason"] is None


async def test_it_looks_every_five_minutes(tmp_path: Path) -> None:
    """Also after a look that failed as a whole."""
    slept: list[float] = []
    looks = asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            store.close()  # every later look fails
        if len(slept) == 4:
            looks.set()
            await asyncio.Event().wait()

    store = SessionStore(tmp_path / "sessions", config())
    task = asyncio.create_task(ExpiryWatcher(store, AgentCache[str](), sleep=sleep).run())
    await looks.wait()
    task.cancel()
    assert slept == [FIRST_LOOK, INTERVAL, INTERVAL, INTERVAL] == [60, 300, 300, 300]
