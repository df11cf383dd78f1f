"""The state of a session by its signs: a table of cases, and what holds for all of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.attention.states import STATES, Sign, judge
from session_adapters.activity import Activity, Step, activity_of
from session_adapters.base import Environment, Liveness
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.model import Message, ToolCall

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
RESTS: frozenset[Step] = frozenset(("done", "idle", "failed", "limited"))
ASKS: frozenset[Step] = frozenset(("approval", "question"))
WORKS: frozenset[Step] = frozenset(("working",))


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def process(*steps: Step, at: float | None = None, status: str = "busy") -> Liveness:
    return Liveness(pid=7, status=status, steps=frozenset(steps), since=ago(at) if at is not None else None)


def title(steps: frozenset[Step], at: float = 1) -> Sign:
    return Sign(source="title", steps=steps, at=ago(at), words="the title says so")


CASES: list[tuple[str, Step, Liveness | None, Sign | None, bool, str]] = [
    # what happened, the record's step 30 s ago, process, title, unread, what is said
    ("a tool runs, or waits for leave", "working", process(), None, True, "working?"),
    ("the process says so, too", "working", process("working", at=40), None, True, "working"),
    ("Claude waits for leave", "working", process("approval", at=20), None, True, "approval"),
    (
        "its title rests while it waits",
        "working",
        process("approval", at=20),
        title(RESTS | ASKS),
        True,
        "approval",
    ),
    ("the record is newer than the process' word", "working", process(*RESTS, at=60), None, True, "working?"),
    (
        "the title rests, and the record waits for a result",
        "working",
        process(),
        title(RESTS | ASKS),
        True,
        "approval",
    ),
    ("a dialog of the agent's, and nothing was asked", "done", process(*ASKS, at=5), None, True, "approval?"),
    ("Codex asks: only its title says so", "working", process(), title(ASKS), True, "approval"),
    ("a question stays one where the title allows it", "question", process(), title(ASKS), True, "question"),
    ("it goes on, and only the title says so yet", "done", process(), title(WORKS), True, "working"),
    ("finished, nobody has seen it", "done", process(), title(RESTS), True, "done"),
    ("finished and seen", "done", process(), None, False, "idle"),
    ("finished after its process ended", "done", None, None, True, "done"),
    ("killed in the middle", "working", None, None, True, "gone"),
    ("killed while it asked", "approval", None, None, True, "gone"),
    ("failed, and the process is there", "failed", process(), None, True, "failed"),
    ("a limit", "limited", process(*RESTS, at=5), None, True, "limited"),
    ("a title that is left behind by a dead process", "done", None, title(WORKS), True, "done"),
]


@pytest.mark.parametrize(("what", "step", "live", "sign", "unread", "said"), CASES, ids=[case[0] for case in CASES])
def test_states(what: str, step: Step, live: Liveness | None, sign: Sign | None, unread: bool, said: str) -> None:
    activity = Activity(step=step, since=ago(30), tool="Bash", text="make", record="a record")
    found = judge(activity, live, title=sign, changed=ago(30), now=NOW, unread=unread, may_wait=True)
    assert found.word == said
    assert all(one.contradicts == (found.state != said) for one in found.evidence if one.source == "nobody")


@pytest.mark.parametrize("may_wait", [True, False])
def test_what_may_wait_for_leave_unseen_is_not_called_work(may_wait: bool) -> None:
    activity = Activity(step="working", since=ago(30), tool="Bash", record="a record")
    found = judge(activity, process(), changed=ago(30), now=NOW, may_wait=may_wait)
    assert found.word == ("working?" if may_wait else "working")
    told = judge(activity, process("working", at=20), changed=ago(30), now=NOW, may_wait=may_wait)
    assert told.word == "working", "the process says so"


def test_what_a_store_keeps_waiting_needs_no_process() -> None:
    activity = Activity(step="approval", since=ago(4000), tool="deploy", record="the metadata", kept=True)
    found = judge(activity, None, changed=ago(4000), now=NOW, can_tell=False)
    assert (found.word, found.tool, len(found.evidence)) == ("approval", "deploy", 1)


def test_work_that_is_silent_for_long_is_stuck() -> None:
    activity = Activity(step="working", since=ago(400), record="a call")
    assert judge(activity, process(), changed=ago(400), now=NOW).state == "stuck"
    assert judge(activity, process(), changed=ago(200), now=NOW).state == "working"
    later = timedelta(minutes=20)
    assert judge(activity, process(), changed=ago(400), now=NOW, stuck_after=later).state == "working"
    asked = Activity(step="approval", since=ago(4000), record="a question")
    assert judge(asked, process(), changed=ago(4000), now=NOW).state == "approval", (
        "who waits for a person is not stuck"
    )


def test_work_that_was_given_leave_late_is_silent_since_then() -> None:
    activity = Activity(step="working", since=ago(4000), tool="Bash", record="a call of Bash without a result")
    said = process("working", at=20, status="busy")
    assert judge(activity, said, changed=ago(4000), now=NOW).word == "working"
    said = process("working", at=400, status="busy")
    assert judge(activity, said, changed=ago(4000), now=NOW).word == "stuck"
    assert judge(activity, process(), title=title(WORKS, at=20), changed=ago(4000), now=NOW).word == "working"


def test_a_process_is_not_at_what_was_asked_before_it_began() -> None:
    activity = Activity(step="working", since=ago(30), record="a prompt without an answer")
    resumed = judge(activity, process(), started=ago(10), changed=ago(30), now=NOW)
    assert resumed.word == "idle"
    assert "was started after that" in resumed.evidence[1].words and resumed.evidence[0].contradicts
    assert judge(activity, process(), started=ago(40), changed=ago(30), now=NOW).word == "working"
    told = judge(activity, process("working", at=5), started=ago(10), changed=ago(30), now=NOW)
    assert told.word == "working", "what the process says itself counts"


def test_where_nobody_can_tell_nothing_is_claimed() -> None:
    activity = Activity(step="working", since=ago(30), record="a prompt without an answer")
    assert judge(activity, None, changed=ago(30), now=NOW, can_tell=False).word == "working?"
    old = Activity(step="working", since=ago(900), record="a prompt without an answer")
    assert judge(old, None, changed=ago(900), now=NOW, can_tell=False).word == "gone?"


def test_a_process_of_another_container_is_not_named_by_a_number() -> None:
    activity = Activity(step="working", since=ago(30), record="a prompt without an answer")
    found = judge(activity, Liveness(pid=0), changed=ago(30), now=NOW)
    assert (found.word, found.pid) == ("working", None)
    assert found.evidence[1].words == "a process that is not listed here has it open"


def test_evidence_that_contradicts_is_shown() -> None:
    activity = Activity(step="working", since=ago(30), tool="Bash", text="make", record="a call of Bash")
    found = judge(activity, process("approval", at=20, status="waiting"), changed=ago(30), now=NOW)
    assert [(one.source, one.contradicts) for one in found.evidence] == [("record", True), ("process", False)]
    assert (found.tool, found.text, found.since) == ("Bash", "make", ago(20))
    gone = judge(activity, None, changed=ago(30), now=NOW)
    assert "no process has the session open" in [one.words for one in gone.evidence]


steps = st.sampled_from(["working", "approval", "question", "done", "idle", "limited", "failed"])
moments = st.one_of(st.none(), st.floats(0, 5000).map(ago))


@given(
    step=steps,
    since=moments,
    says=st.frozensets(steps),
    at=moments,
    shown=st.frozensets(steps),
    runs=st.booleans(),
    unread=st.booleans(),
    can_tell=st.booleans(),
    changed=moments,
)
def test_any_signs_make_one_state_with_its_evidence(
    step: Step,
    since: datetime | None,
    says: frozenset[Step],
    at: datetime | None,
    shown: frozenset[Step],
    runs: bool,
    unread: bool,
    can_tell: bool,
    changed: datetime | None,
) -> None:
    live = Liveness(pid=7, status="busy", steps=says, since=at) if runs else None
    sign = Sign(source="title", steps=shown, at=NOW, words="a title") if shown else None
    activity = Activity(step=step, since=since, record="a record")
    found = judge(activity, live, title=sign, changed=changed, now=NOW, unread=unread, can_tell=can_tell)
    assert found.state in STATES
    assert found.evidence
    if not runs:
        assert found.state not in ("approval", "question", "stuck")
        assert found.state != "working" or not found.sure
    if found.state == "done":
        assert unread
    if runs and not says and not shown and step not in ("done", "working"):
        assert found.state == step


@pytest.mark.parametrize("tools", [("terminal", "web_search"), ("web_search", "terminal")])
def test_of_several_calls_any_may_wait_for_leave(tmp_path: Path, tools: tuple[str, str]) -> None:
    calls = tuple(ToolCall(tool_call_id=tool, tool_name=tool, input={}) for tool in tools)
    activity = activity_of([Message(role="assistant", content="", timestamp=ago(30), tool_calls=calls)])
    assert activity.tools == tools
    assert any(map(HermesAdapter(Environment(home=tmp_path)).may_wait_unseen, activity.tools))
