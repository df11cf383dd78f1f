"""Pictures of a list in which every state there is stands, in all colours, in sixteen and in none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import get_args

import pytest
from textual.pilot import Pilot

from hermes_tui.attention.report import Attended, AttentionReport
from hermes_tui.attention.states import SessionState, StateName
from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.demo import STATIC_NOW
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.themes import PLAIN_THEME
from pilots import main_of, screen_text, until

Compare = Callable[..., bool]
Made = Callable[..., HermesApp]
_STATES: tuple[StateName, ...] = get_args(StateName)


@pytest.fixture
def made(demo_manager: SessionManager) -> Made:
    return lambda **options: HermesApp(demo_manager, clock=Clock(STATIC_NOW), **options)


def attending() -> Callable[[Pilot[None]], Awaitable[None]]:
    """Say of the newest sessions that each is in another state, and that they are unread but for the last."""

    async def run(pilot: Pilot[None]) -> None:
        main = main_of(pilot)
        await until(pilot, lambda: main.snapshot.places and main.parts.lanes and not main.snapshot.partial)
        if main.parts.is_wide:
            await until(pilot, lambda: main.pane.summary)
        tips = [row.conversation.tip for row in main.sessions.rows if row.conversation is not None][: len(_STATES)]
        since = STATIC_NOW - timedelta(minutes=2)
        judged = {
            "approval": SessionState(state="approval", tool="Bash", text="rm -rf build", since=since),
            "limited": SessionState(state="limited", until=STATIC_NOW + timedelta(hours=3)),
        }
        report = AttentionReport(
            {
                one.unified_id: Attended(session=one, state=judged.get(name, SessionState(state=name)), unread=True)
                for one, name in zip(tips, _STATES, strict=True)
            },
            {one.unified_id: one.updated_at.timestamp() - 1 for one in tips[:-1]},
        )
        assert isinstance(pilot.app, HermesApp)
        pilot.app.attention = report
        main.show_attention(report)
        await pilot.press("j")
        if main.parts.is_wide:
            await until(pilot, lambda: "new since" in screen_text(pilot))
        await pilot.pause()

    return run


SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])


@SIZES
def test_states(made: Made, snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(made(), terminal_size=size, run_before=attending())


@SIZES
def test_states_in_sixteen_colours(made: Made, snap_compare: Compare, size: tuple[int, int]) -> None:
    app = made(config=Config(theme=PLAIN_THEME))
    assert snap_compare(app, terminal_size=size, run_before=attending())


@SIZES
def test_states_without_colours(
    made: Made, snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(made(), terminal_size=size, run_before=attending())


@SIZES
async def test_every_state_is_told_by_its_text_alone(made: Made, size: tuple[int, int]) -> None:
    async with made().run_test(size=size) as pilot:
        await attending()(pilot)
        rows = [line.split("│")[0].split("┌")[0].rstrip() for line in screen_text(pilot).splitlines()[1:]]
        rows = [row for row in rows if row.strip() and not row.endswith("cost")][: len(_STATES)]
        ends = [row.split()[-2:] if size[0] < 100 or row.split()[-1] in _STATES else row.split()[-1:] for row in rows]
        assert len({tuple(end) for end in ends}) == len(_STATES), ends
        assert sum("┃" in row for row in rows) == len(_STATES) - 1
