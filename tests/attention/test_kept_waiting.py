"""Hector waits in its store for its user, whether its server runs or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from hector_store import V2_SCHEMA, Store
from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.report import Attended
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from session_adapters.activity import Activity

ASKED = datetime.fromisoformat("2025-11-03T10:00:00.5+02:00")


CALL = {"data": {"data": {"id": "c1", "name": "rm", "arguments": {"path": "build"}}}}
ASKS = {"t1": {"pending_tool_call": {"id": "c1", "name": "rm"}}}


class Waiting(NamedTuple):
    """A session of Hector 1 whose agent has just called `rm`."""

    store: Store
    look: Callable[..., dict[str, Attended]]
    """What is found so long after the call, which a person then has seen."""


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    store = Store(tmp_path / "home")
    with closing(store.connection):
        store.session("s", metadata=json.dumps({"pending_executions": ASKS}))
        store.say("s", "USER", "tidy up")
        store.say("s", "AGENT", [{"text": "I will."}, {**CALL, "metadata": {"part_type": "tool_call"}}])
        now = [0.0]
        environment = store.adapter.environment
        manager = SessionManager(environment, cache_dir=tmp_path / "cache", agents=("hector",), indexed=False)
        marks = MarkStore(tmp_path / "marks.db", now=lambda: 1.0)
        monitor = Monitor(manager, marks, panes=lambda: (), now=lambda: now[0])

        def look(after: timedelta, path: str = "", *, sees: bool = True) -> dict[str, Attended]:
            now[0] = (ASKED + after).timestamp()
            found = manager.catalogue.refresh()
            if path:
                found = replace(found, sessions=tuple(replace(one, path=path) for one in found.sessions))
            report = monitor.look(found)
            for name in report.by_session if sees else ():
                marks.see(name, ASKED + after)
            return dict(report.by_session)

        yield Waiting(store, look)


def test_it_waits_until_it_is_answered(waiting: Waiting) -> None:
    for after, unread in ((timedelta(minutes=1), True), (timedelta(hours=20), False)):
        (one,) = waiting.look(after).values()
        assert (one.state.word, one.state.tool, one.state.text, one.unread) == ("approval", "rm", "build", unread)
        assert one.state.needs_person and one.state.since == ASKED
    assert waiting.look(timedelta(days=3)) == {}, "who let it lie for days knows of it"


@pytest.mark.parametrize("path", ["", "postgresql:host:5432/hector"], ids=["file", "server"])
def test_what_its_metadata_say_counts_at_every_look(waiting: Waiting, path: str) -> None:
    (asked,) = waiting.look(timedelta(minutes=1), path, sees=False).values()
    waiting.store.connection.execute("UPDATE sessions SET metadata = '{}'")
    (gone_on,) = waiting.look(timedelta(minutes=2), path, sees=False).values()
    assert (asked.state.word, gone_on.state.word) == ("approval", "working?")
    waiting.store.connection.execute("UPDATE sessions SET metadata = ?", (json.dumps({"pending_executions": ASKS}),))
    (again,) = waiting.look(timedelta(minutes=3), path, sees=False).values()
    assert again.state.word == "approval"


def test_work_that_is_noted_in_the_same_place_does_not_wait(waiting: Waiting) -> None:
    """As Hector 1.7.8 notes it at the end of an iteration."""
    noted = {"t1": {"pending_tool_call": None, "phase": "iteration_end", "checkpoint_type": "interval"}}
    waiting.store.connection.execute("UPDATE sessions SET metadata = ?", (json.dumps({"pending_executions": noted}),))
    assert [one.state.word for one in waiting.look(timedelta(minutes=1)).values()] == ["working?"]


def test_what_came_to_an_end_does_not_wait_though_its_task_is_still_noted(waiting: Waiting) -> None:
    result = {"data": {"data": {"tool_call_id": "c1", "content": "removed"}}}
    waiting.store.say("s", "AGENT", [{**result, "metadata": {"part_type": "tool_result"}}])
    waiting.store.say("s", "AGENT", "All is tidy.")
    assert [one.state.word for one in waiting.look(timedelta(minutes=1)).values()] == ["done"]


class Asking(NamedTuple):
    """A session of Hector 2."""

    store: Store

    def event(self, **columns: object) -> None:
        """Its next event."""
        count = self.store.connection.execute("SELECT count(*) FROM session_events").fetchone()[0]
        key = {"app_name": "app", "user_id": "me", "session_id": "s", "created_at": "2025-12-13 11:00:00+01:00"}
        self.store.insert("session_events", {**key, "id": f"e{count}", "sequence_num": count, **columns})

    @property
    def activity(self) -> Activity:
        """Where it stands."""
        source = self.store.adapter.find("app/me/s")
        assert source is not None
        return self.store.adapter.open_end(source, "app/me/s").activity


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    store = Store(tmp_path / "home", ".hector/hector.db", V2_SCHEMA)
    with closing(store.connection):
        times = {"created_at": "2025-12-13 11:00:00+01:00", "updated_at": "2025-12-13 11:00:00+01:00"}
        store.insert("sessions", {"app_name": "app", "user_id": "me", "id": "s", "state_json": "{}", **times})
        yield Asking(store)


def test_a_question_of_version_2(asking: Asking) -> None:
    asking.event(author="user", role="user", content_json=json.dumps([{"kind": "text", "text": "go"}]))
    asking.event(author="bot", role="agent", require_input=True, input_prompt="Which of the aborted builds?")
    found = asking.activity
    assert (found.step, found.tool, found.text, found.kept) == ("question", "", "Which of the aborted builds?", True)


@pytest.mark.parametrize("has_result", [True, False])
def test_an_approval_of_version_2(asking: Asking, has_result: bool) -> None:
    """As 2.0.2 writes it: the call, then an event with a result that says that it waits. Or the call alone."""
    call = {"kind": "data", "data": {"type": "tool_use", "id": "c", "name": "rm", "arguments": {"path": "build"}}}
    asking.event(author="bot", role="agent", content_json=json.dumps([call]))
    said = {"tool_call_id": "c", "content": "Awaiting approval for tool: rm"}
    result = {"type": "tool_result", "tool_name": "rm", "is_error": False, "requires_approval": True, **said}
    results = {
        "content_json": json.dumps([{"kind": "data", "data": result}]),
        "tool_results_json": json.dumps([{**said, "status": "pending_approval", "is_error": False}]),
    }
    prompt = "Tool 'rm' requires approval."
    asking.event(
        author="bot", role="user", require_input=True, input_prompt=prompt, **(results if has_result else {})
    )
    found = asking.activity
    assert (found.step, found.tool, found.text, found.kept) == ("approval", "rm", prompt, True)
