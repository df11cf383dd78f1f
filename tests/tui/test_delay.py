"""A call that comes later: it comes, whatever the clock does meanwhile, and not when it was stopped."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual.app import App

from hermes_tui.tui.delay import Delay
from pilots import until


@pytest.mark.parametrize("seconds", [0.0, 1e-7, 1e-6])
async def test_no_call_is_lost_however_short_the_time(seconds: float) -> None:
    called: list[int] = []
    async with App[None]().run_test() as pilot:
        delays = [Delay(pilot.app, lambda: called.append(1), seconds) for _ in range(300)]
        for delay in delays:
            delay.start()
        await until(pilot, lambda: len(called) == 300)
        assert not any(delay.is_waiting for delay in delays)


async def test_no_call_is_lost_where_the_processor_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two looks at the clock more time passes than there was to wait."""
    called: list[int] = []
    async with App[None]().run_test() as pilot:

        def slow() -> float:
            time.sleep(0.005)
            return time.monotonic()

        monkeypatch.setattr("textual._time.get_time", slow)
        Delay(pilot.app, lambda: called.append(1), 0.002).start()
        await until(pilot, lambda: called)


async def test_what_was_stopped_does_not_call() -> None:
    """Not even where the call was about to come: it waits for the turn of its screen."""
    called: list[str] = []
    async with App[None]().run_test() as pilot:
        delays = [Delay(pilot.app, lambda: called.append("late"), 0.01 * number) for number in range(10)]

        async def busy() -> None:
            for delay in delays:
                delay.start()
            await asyncio.sleep(0.5)
            for delay in delays:
                delay.stop()
            called.append("stopped")

        pilot.app.call_later(busy)
        await until(pilot, lambda: called)
        await pilot.pause(0.2)
        assert called == ["stopped"]
