"""What a conversation of several parts cost: one sum in the list and on the screen of costs, and the title says of
which part it speaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_store import Store
from hermes_tui.tui.screens.cost import CostScreen
from hermes_tui.tui.screens.diff import DiffScreen
from hermes_tui.tui.widgets.cost_list import CostList
from lane_homes import NOW, HermesDemo
from pilots import main_of, screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A conversation of three parts, compressed twice, and another one."""
    store = Store(tmp_path / "home")
    for at, (name, before, usd) in enumerate(
        [("one", None, 0.25), ("two", "one", 0.125), ("three", "two", 0.03125), ("other", None, 0.3125)]
    ):
        start = 1_780_000_000 + 100 * at
        ended = name in ("one", "two")
        store.session(
            name,
            source="cli",
            title=f"The {name}",
            model="some-model",
            parent_session_id=before,
            started_at=start,
            ended_at=start + 90 if ended else None,
            end_reason="compression" if ended else None,
            actual_cost_usd=usd,
            cost_status="final",
        )
        store.say(name, "user", f"what of {name}?", timestamp=start + 10)
        store.say(name, "assistant", f"this of {name}, a pangolin", timestamp=start + 20)
    return store


def title_of(pilot: Pilot[None]) -> str:
    return re.sub(r" +", " ", str(main_of(pilot).pane.border_title))


async def test_list_title_and_cost_screen_agree(store: Store, program: Program) -> None:
    (parts,) = store.connection.execute("SELECT SUM(actual_cost_usd) FROM sessions WHERE id != 'other'").fetchone()
    (own,) = store.connection.execute("SELECT actual_cost_usd FROM sessions WHERE id = 'two'").fetchone()
    whole = f"{parts:.2f}"
    async with program(store.path.parents[1], size=(160, 48)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: len(main.sessions.rows) == 3 and main.pane.messages)
        other, conversation = (row.conversation for row in main.sessions.rows if row.conversation is not None)
        assert other is not None and conversation is not None
        listed = next(line for line in screen_text(pilot).splitlines() if "The three" in line)
        assert whole in listed.split()
        main.sessions.action_last()
        await until(pilot, lambda: f"part 3 of 3 · $0.03 of ${whole}" in title_of(pilot))
        main.search_for("what of two")
        await until(pilot, lambda: f"part 2 of 3 · ${own:.2f} of ${whole}" in str(main.preview.border_title))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: f"part 2 of 3 · ${own:.2f} of ${whole}" in title_of(pilot))
        await pilot.press("C")
        await until(pilot, lambda: isinstance(pilot.app.screen, CostScreen) and pilot.app.screen.overview)
        await pilot.press("r", "r", "r")  # of all time
        await until(pilot, lambda: "Dearest conversations" in screen_text(pilot))
        text = screen_text(pilot)
        dearest = [line.split() for line in text[text.index("Dearest conversations") :].splitlines()[1:3]]
        assert [(line[1], line[-1]) for line in dearest] == [("three", whole), ("other", "0.31")]
        await pilot.press("end", "enter")
        await until(pilot, lambda: pilot.app.screen is main)


async def test_a_comparison_says_which_parts_it_compares(store: Store, program: Program) -> None:
    async with program(store.path.parents[1], size=(160, 48)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: len(main.sessions.rows) == 3)
        await pilot.press("space", "down", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen) and pilot.app.screen.diff)
        sides = screen_text(pilot).splitlines()[1:3]
        assert "part" not in sides[0] and "part 3 of 3" in sides[1]


async def test_lanes_and_branches_have_rankings_of_their_own(demo: HermesDemo, program: Program) -> None:
    async with program(demo.home, now=NOW) as pilot:
        await pilot.press("C")
        await until(pilot, lambda: isinstance(pilot.app.screen, CostScreen) and "By agent" in screen_text(pilot))
        headings = []
        for _ in range(6):
            await pilot.press("tab")
            headings.append(pilot.app.screen.query_one(CostList).render_line(0).text.strip().partition(",")[0])
        assert {"By model", "By lane"} <= {*headings}
        lane = headings.index("By lane")
        for _ in range(len(dict.fromkeys(headings)) - 1 - lane):
            await pilot.press("shift+tab")
        rank = pilot.app.screen.query_one(CostList).highlighted
        assert rank is not None and rank.kind == "lane" and rank.key.startswith("agent:main:")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot) and main_of(pilot).box.value != "")
