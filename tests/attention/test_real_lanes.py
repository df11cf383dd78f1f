"""How lanes are, beside a whole, running gateway of Hermes'."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.report import Attended
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from oracle.gateway import RealGateway
from session_adapters.base import Environment

PATIENCE = 60.0
"""Seconds until what Hermes has written must be said; on an idle machine it is at once."""


def test_a_lane_is_said_to_be_what_it_is(tmp_path: Path) -> None:
    with RealGateway(tmp_path / "home") as gateway:
        environment = Environment(home=gateway.home)
        manager = SessionManager(environment, cache_dir=tmp_path / "cache", agents=("hermes",), indexed=False)
        monitor = Monitor(manager, MarkStore(tmp_path / "marks.db", now=lambda: 1.0), panes=lambda: ())

        def lanes() -> dict[str, Attended]:
            """By the end of the chat's number."""
            found = monitor.look(manager.catalogue.refresh()).by_session.values()
            return {one.lane.rpartition("+")[2][:4]: one for one in found if one.lane}

        def said() -> dict[str, str]:
            return {chat: one.state.word for chat, one in lanes().items()}

        def expect(**states: str) -> None:
            wanted = {chat.removeprefix("c"): state for chat, state in states.items()}
            until(lambda: said() == wanted, lambda: f"{wanted} is true, and said is {lanes()}")

        gateway.say("+1555", "W1")
        gateway.say("+1666", "W2")
        expect(c1555="idle", c1666="idle")
        first = gateway.begin_turn("+1555", "W3")
        expect(c1555="working", c1666="idle")
        busy = lanes()["1555"].state
        assert busy.pid == gateway.pid and busy.since is not None and time.time() - busy.since.timestamp() < 60
        assert "1 turn runs" in str(busy.evidence)
        gateway.begin_turn("+1666", "W4")
        expect(c1555="working", c1666="working")
        gateway.end_turns()
        expect(c1555="idle", c1666="idle")
        gateway.reply("+1555", first)  # what comes between the end of a turn and its answer, Hermes was seen to lose

        gateway.begin_turn("+1555", "W5")
        gateway.kill()
        expect(c1555="gone", c1666="idle")
        gateway.end_turns()
        gateway.start()  # it goes on by itself with what was cut off
        expect(c1555="idle", c1666="idle")


def until(condition: Callable[[], bool], what: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.1)
