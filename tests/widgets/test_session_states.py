"""How a session is stands in its row and in the line below the list, also without any colour."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import pytest
from textual.app import App, ComposeResult

from hermes_tui.attention.report import Attended
from hermes_tui.attention.states import SessionState, StateName
from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.detail import detail_parts
from hermes_tui.tui.widgets.session_list.conversation import Conversation
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.states import MEANINGS, State, attention_state, state_of
from hermes_tui.tui.widgets.styled import LOOKS
from made import NOW, session
from pilots import screen_text
from session_adapters.model import Cost, SessionSummary


def attended(one: SessionSummary, state: StateName, **facts: object) -> dict[str, Attended]:
    judged = SessionState(state=state, **facts)  # type: ignore[arg-type]
    return {one.unified_id: Attended(session=one, state=judged, unread=False)}


class ListApp(App[None]):
    COMPONENT_CLASSES = LOOKS
    CSS = "SessionList { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }"

    def __init__(self, *, words: bool) -> None:
        super().__init__()
        self.list = SessionList(Clock(NOW), {"claude": "cc", "hermes": "hm"})
        self.list.state_words = words

    def compose(self) -> ComposeResult:
        yield self.list


async def rows(width: int, sessions: list[SessionSummary], states: ShownStates, *, words: bool = False) -> list[str]:
    app = ListApp(words=words)
    async with app.run_test(size=(width, 6)) as pilot:
        app.list.set_forest(Forest(sessions))
        app.list.set_states(states)
        await pilot.pause()
        return screen_text(pilot).splitlines()[1 : 1 + len(sessions)]


@pytest.mark.parametrize("width", [64, 72, 80, 100])
async def test_each_state_has_its_own_word_where_there_is_room(width: int) -> None:
    one = session("a", 3, title="Fix it", live=True)
    said = {name: (await rows(width, [one], ShownStates({}, attended(one, name)), words=True))[0] for name in STATES}
    for name, row in said.items():
        assert name in row
    assert len({row.split("Fix it")[1] for row in said.values()}) == len(STATES)


STATES: tuple[StateName, ...] = get_args(StateName)


async def test_who_waits_is_said_in_words_beside_the_transcript_too() -> None:
    one = session("a", 3, title="Remove the build", cwd="/x/shop", live=True, cost=Cost(total_usd=0.5))
    two = session("b", 4, title="Draw totals", cwd="/x/shop", live=True, cost=Cost(total_usd=0.5))
    states = ShownStates({}, {**attended(one, "approval"), **attended(two, "working")}, {two.unified_id: 0.0})
    assert await rows(64, [one, two], states) == [
        "  cc⚑ Remove the build             shop       3m     ⚑ approval",
        " ┃cc  Draw totals                  shop       4m     1   0.50 ●",
    ]


async def test_a_folded_fork_that_needs_somebody_is_said_in_the_row_above() -> None:
    one = session("a", 3, title="Draw totals", cwd="/x/shop")
    fork = session("b", 4, title="Remove the build", cwd="/x/shop", kind="fork", parent_id="a", forked_from="a")
    lower = session("c", 5, title="Below", cwd="/x/shop", kind="subagent", parent_id="b")
    for waiting in (fork, lower):
        states = ShownStates({}, attended(waiting, "approval"), {waiting.unified_id: 0.0})
        (row,) = (await rows(64, [one, fork, lower], states))[:1]
        assert "┃cc⚑ Draw totals" in row and row.endswith("⚑ approval")
    done = ShownStates({}, {**attended(one, "working"), **attended(fork, "done")}, {fork.unified_id: 0.0})
    assert "✓ done" in (await rows(100, [one, fork], done, words=True))[0]
    quiet = ShownStates({}, {**attended(one, "approval"), **attended(fork, "working")})
    assert "┃" not in (row := (await rows(64, [one, fork], quiet))[0]) and row.endswith("⚑ approval")


def test_a_conversation_stands_under_the_heading_of_what_is_folded_below_it() -> None:
    one, other = session("a", 3, title="Draw totals"), session("z", 1, title="Other")
    fork = session("b", 4, title="Remove the build", kind="fork", parent_id="a", forked_from="a")
    states = ShownStates({}, attended(fork, "approval"))
    found = Forest([one, other, fork]).rows(Clock(NOW), order=Order(group="state"), states=states)
    assert [row.heading or row.key for row in found] == ["need you", "claude:a", "at rest", "claude:z"]


@pytest.mark.parametrize("width", [50, 60, 62])
async def test_columns_stay_under_their_names_where_who_waits_is_said(width: int) -> None:
    one = session("a", 3, title="Remove the build", cwd="/x/shop", live=True, cost=Cost(total_usd=0.5))
    two = session("b", 4, title="Draw totals", cwd="/x/shop", live=True, cost=Cost(total_usd=0.5))
    said, other = await rows(width, [one, two], ShownStates({}, attended(one, "approval")))
    title, _, behind = said.partition("⚑ approval")
    assert "Remove the build" in title
    assert behind == other[-len(behind) :].replace("4m", "3m").replace("●", "⚑")


@pytest.mark.parametrize("name", STATES)
def test_every_sign_is_explained(name: StateName) -> None:
    one = session("a", live=True)
    found = state_of(one, SessionState(state=name))
    assert found is not None
    assert [meaning for sign, meaning in MEANINGS if sign == found.glyph and name in meaning] or name == "working"


def test_each_state_has_its_own_sign_word_and_colour() -> None:
    found = [attention_state(SessionState(state=name)) for name in STATES]
    assert all(len(set(column)) == len(STATES) for column in zip(*found, strict=True))


def test_a_state_that_needs_a_person_goes_before_what_its_lane_is() -> None:
    one = session("a", agent="hermes", live=True)
    lane = State("↻", "resume pending", "accent")
    assert state_of(one, SessionState(state="idle"), lane) == lane
    assert state_of(one, SessionState(state="approval"), lane) == State("⚑", "approval", "needs")


def test_what_is_not_known_of_is_as_before() -> None:
    assert state_of(session("a")) is None
    assert state_of(session("a"), SessionState(state="idle")) is None, "nobody has it open"
    assert state_of(session("a", live=True, status="waiting")) == State("○", "waiting", "idle")
    assert state_of(session("a", live=True), SessionState(state="working", sure=False)) == State(
        "◐", "working?", "live"
    )


def test_the_line_below_says_what_for_and_since_when() -> None:
    one = session("a", 3, live=True)
    since = NOW - timedelta(minutes=2)
    states = ShownStates({}, attended(one, "approval", tool="Bash", text="rm -rf \x1b[31mbuild", since=since))
    _, right = detail_parts(Conversation([one]), Clock(NOW), 120, states)
    assert "".join(text for text, _ in right) == "⚑ approval · Bash rm -rf build · 2m "
    _, right = detail_parts(Conversation([one]), Clock(NOW), 120, ShownStates({}, attended(one, "idle", since=since)))
    assert "".join(text for text, _ in right) == "○ idle "


async def test_the_same_states_draw_nothing_again() -> None:
    one = session("a", 3, live=True)
    app = ListApp(words=False)
    async with app.run_test(size=(64, 6)) as pilot:
        app.list.set_forest(Forest([one, session("b", 4)]))
        app.list.set_states(ShownStates({}, attended(one, "working")))
        await pilot.pause()
        drawn: list[int] = []
        kept = app.list.refresh_line
        app.list.refresh_line = lambda y: (drawn.append(y), kept(y))[1]  # type: ignore[method-assign,func-returns-value]
        app.list.set_states(ShownStates({}, attended(one, "working", tool="Bash")))
        assert drawn == []
        app.list.set_states(ShownStates({}, attended(one, "question")))
        assert drawn == [1]
