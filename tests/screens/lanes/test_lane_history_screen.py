"""`w` on a lane and `W` on a session: why it forgot."""

from __future__ import annotations

from hermes_tui.tui.screens.lanes.history import LaneHistoryScreen
from lane_homes import HermesDemo, app_of, go
from pilots import screen_text, until


async def test_from_a_lane_and_back(demo: HermesDemo) -> None:
    async with demo.program((120, 40)) as pilot:
        await go(pilot, "agent:main:telegram:group:-1001234567:700001")
        await pilot.press("w")
        await until(pilot, lambda: "It knows a summary of" in screen_text(pilot))
        text = screen_text(pilot)
        assert "history of the lane" in text and "had grown too long and was compressed" in text
        assert "in all" in text and "3 sessions" in text
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app_of(pilot).screen, LaneHistoryScreen))


async def test_of_a_session(demo: HermesDemo) -> None:
    async with demo.program((120, 40)) as pilot:
        app = app_of(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)

        def lane() -> str:
            subject = app.main.parts.subject
            return str(subject.raw.get("session_key") or "") if subject is not None else ""

        for _ in range(40):
            if lane():
                break
            await pilot.press("j")
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, LaneHistoryScreen))
        await until(pilot, lambda: lane() in screen_text(pilot) and "in all" in screen_text(pilot))
