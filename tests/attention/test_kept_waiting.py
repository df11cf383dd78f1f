"""Hector waits in its store for its user, whether its server runs or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hector_store import V2_SCHEMA, Store
from hermes_tui.attention.monitor import Attended, Monitor
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore

ASKED = datetime.fromisoformat("2025-11-03T10:00:00.5+02:00")


@pytest.fixture
def look(tmp_path: Path) -> Iterator[Callable[[timedelta], dict[str, Attended]]]:
    """What is found so long after the last word of a session in which an agent waits for leave to `rm`."""
    store = Store(tmp_path / "home")
    with closing(store.connection):
        pending = {"t1": {"pending_tool_call": {"id": "c1", "name": "rm"}}}
        store.session("s", metadata=json.dumps({"pending_executions": pending}))
        call = {"data": {"data": {"id": "c1", "name": "rm", "arguments": {"path": "build"}}}}
        store.say("s", "USER", "tidy up")
        store.say("s", "AGENT", [{"text": "I will."}, {**call, "metadata": {"part_type": "tool_call"}}])
        now = [0.0]
        environment = store.adapter.environment
        manager = SessionManager(environment, cache_dir=tmp_path / "cache", agents=("hector",), indexed=False)
        marks = MarkStore(tmp_path / "marks.db", now=lambda: 1.0)
        monitor = Monitor(manager, marks, panes=lambda: (), now=lambda: now[0])

        def at(after: timedelta) -> dict[str, Attended]:
            now[0] = (ASKED + after).timestamp()

            found = monitor.look(manager.catalogue.refresh())
            for name in found.by_session:
                marks.see(name, ASKED + after)
            return dict(found.by_session)

        yield at


def test_it_waits_until_it_is_answered(look: Callable[[timedelta], dict[str, Attended]]) -> None:
    for after, unread in ((timedelta(minutes=1), True), (timedelta(hours=20), False)):
        (one,) = look(after).values()
        assert (one.state.word, one.state.tool, one.state.text, one.unread) == ("approval", "rm", "build", unread)
        assert one.state.needs_person and one.state.since == ASKED
    assert look(timedelta(days=3)) == {}, "who let it lie for days knows of it"


def test_what_version_2_asks_is_said(tmp_path: Path) -> None:
    store = Store(tmp_path / "home", ".hector/hector.db", V2_SCHEMA)
    with closing(store.connection):
        key = {"app_name": "app", "user_id": "me", "session_id": "s"}
        times = {"created_at": "2025-12-13 11:00:00+01:00", "updated_at": "2025-12-13 11:00:00+01:00"}
        store.insert("sessions", {"app_name": "app", "user_id": "me", "id": "s", "state_json": "{}", **times})
        asks = {"author": "bot", "role": "agent", "require_input": True, "created_at": times["created_at"]}
        store.insert("session_events", {**key, **asks, "id": "e1", "sequence_num": 1, "input_prompt": "Which one?"})
        source = store.adapter.find("app/me/s")
        assert source is not None
        found = store.adapter.open_end(source, "app/me/s").activity
        assert (found.step, found.text, found.kept) == ("question", "Which one?", True)
        call = json.dumps([{"kind": "data", "data": {"type": "tool_use", "id": "c", "name": "rm", "arguments": {}}}])
        more = {"id": "e2", "sequence_num": 2, "input_prompt": "Approve rm?", "content_json": call}
        store.insert("session_events", {**key, **asks, **more})
        found = store.adapter.open_end(source, "app/me/s").activity
        assert (found.step, found.tool, found.text) == ("approval", "rm", "Approve rm?")
