"""The screen of costs: what it says, where its lines lead, and that it is quiet."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.sessions.cost.overview import Figure, Overview, Rank, Span
from hermes_tui.sessions.cost.service import CostDesk
from hermes_tui.sessions.cost.summary import SpendSummary
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.cost import CostScreen, cost_rows, filter_text, title_parts
from hermes_tui.tui.widgets.cost_chart import CostChart
from hermes_tui.tui.widgets.cost_list import CostList, CostRow, bar
from pilots import drawn, screen_text, until
from session_adapters.base import Environment
from spending import Spender
from support import PATIENCE

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
MILLION = 1_000_000


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    """Haiku: a dollar per million tokens. 1 today, 4 five days ago, 3 in October, 10 long ago, and some unpriced."""
    spender = Spender(tmp_path / "home")
    spender.session("today", {"input": MILLION}, at=NOW - timedelta(hours=2), cwd="/srv/shop")
    spender.session("week", {"input": 4 * MILLION}, at=NOW - timedelta(days=5), cwd="/srv/blog")
    sonnet = {"input": MILLION // 10, "model": "claude-sonnet-4-6"}
    spender.session("october", *[sonnet] * 10, at=NOW - timedelta(days=26), cwd="/srv/shop")
    spender.session("old", {"input": 10 * MILLION}, at=NOW - timedelta(days=200), cwd="/srv/attic")
    spender.session("odd", {"input": 700, "model": "of-nobody"}, at=NOW - timedelta(days=1), cwd="/srv/shop")
    return spender


class Passing(Clock):
    """Shows one moment, and lets screens look again as with a clock that goes on."""

    @property
    def is_fixed(self) -> bool:
        return False


def program(spender: Spender, clock: Clock | None = None, span: str = "all time", **config: Any) -> HermesApp:
    manager = SessionManager(Environment(home=spender.home), cache_dir=spender.home.parent / "cache", prices={})
    app = HermesApp(manager, Config(**config), clock=clock or Clock(NOW))
    app.view = replace(app.view, span=span)
    return app


async def open_costs(pilot: Pilot[None]) -> CostScreen:
    app = pilot.app
    assert isinstance(app, HermesApp)
    await until(pilot, lambda: app.main.snapshot.places)
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.screen, CostScreen) and app.screen.overview)
    await pilot.pause()
    assert isinstance(app.screen, CostScreen)
    return app.screen


async def test_figures_rankings_and_what_has_no_price(spender: Spender) -> None:
    app = program(spender)
    async with app.run_test(size=(80, 50)) as pilot:
        screen = await open_costs(pilot)
        text = screen_text(pilot)
        assert "this month ~5.00+ · last ~3.00 · all ~18.00+" in text
        for heading in ("By agent", "By model", "By project", "Dearest conversations"):
            assert heading in text
        lines = [line.split() for line in text.splitlines()]
        assert ["/srv/attic", "████████████████████████", "~10.00"] in lines
        assert any(line[:1] == ["of-nobody"] and line[-1] == "?" for line in lines)
        assert "No known price: of-nobody · 700 tokens" in text
        assert "estimated from a list of prices" in text
        assert screen.overview is not None
        await pilot.press("r", "r")  # from all time to 7 days, and to 30
        await until(pilot, lambda: screen.overview is not None and screen.overview.span == "30 days")
        days = dict(screen.overview.days)
        assert len(days) == 30 and list(days)[-1] == date(2026, 11, 21)
        spent = {day: usd for day, usd in days.items() if usd}
        assert {str(day): round(usd, 6) for day, usd in spent.items()} == {
            "2026-10-26": 3.0,
            "2026-11-16": 4.0,
            "2026-11-21": 1.0,
        }
        chart = screen.query_one(CostChart).render().plain
        assert "4.00" in chart and "21 Nov" in chart and "█" in chart


async def test_a_line_leads_to_its_sessions_and_back(spender: Spender) -> None:
    app = program(spender)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await open_costs(pilot)
        listing = screen.query_one(CostList)

        def place() -> tuple[str, str]:
            rank = listing.highlighted
            return (rank.kind, rank.key) if rank is not None else ("", "")

        assert place() == ("agent", "claude")
        await pilot.press("tab", "tab")
        assert place() == ("project", "/srv/attic")
        await pilot.press("j", "j")
        kind, key = place()
        assert kind == "project" and listing.highlighted is not None
        wanted = {one.rpartition(":")[2] for one in listing.highlighted.sessions}
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main)
        shown = {row.conversation.tip.session_id for row in app.main.sessions.rows if row.conversation is not None}
        assert shown == wanted
        assert app.main.box.value == f"cwd:{key}"
        await pilot.press("escape")
        assert app.main.box.value == ""
        assert len([row for row in app.main.sessions.rows if row.conversation is not None]) == 5
        # To the line that one came from; from there to where one was before.
        await until(pilot, lambda: isinstance(app.screen, CostScreen) and app.screen.overview)
        listing = app.screen.query_one(CostList)
        assert place() == (kind, key)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("escape", "escape")
        assert app.screen is app.main


async def test_what_was_added_up_before_is_there_at_once(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    async with program(spender).run_test(size=(80, 24)) as pilot:
        await open_costs(pilot)
    spender.session("later", {"input": 30 * MILLION}, at=NOW - timedelta(minutes=1), cwd="/srv/new")
    book, go_on = CostDesk.book, threading.Event()

    def late(desk: CostDesk) -> SpendSummary:
        assert go_on.wait(60)
        return book(desk)

    monkeypatch.setattr(CostDesk, "book", late)
    app = program(spender)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.main.snapshot.places)
        await pilot.press("C")
        await until(pilot, lambda: "all ~18.00+ · adding up …" in screen_text(pilot))
        await pilot.press("down", "down")
        listing = app.screen.query_one(CostList)
        before = listing.highlighted
        assert before is not None and before.kind == "model"
        go_on.set()
        await until(pilot, lambda: "all ~48.00+" in screen_text(pilot) and "adding up" not in screen_text(pilot))
        assert listing.highlighted is not None and listing.highlighted.key == before.key
        await pilot.press("escape")
        monkeypatch.setattr(CostDesk, "book", None)  # nothing has changed: nothing is added up
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, CostScreen) and app.screen.overview)


async def test_what_is_added_up_while_its_screen_is_left_ends_nothing(
    spender: Spender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The widgets are gone before Textual ends the screen's workers."""
    app = program(spender)
    async with app.run_test(size=(80, 50)) as pilot:
        screen = await open_costs(pilot)
        found = screen.overview
        assert found is not None
        await pilot.press("escape")
        began, go_on, done = threading.Event(), threading.Event(), threading.Event()

        def compute(today: date, span: object) -> Overview:
            began.set()
            assert go_on.wait(PATIENCE)
            done.set()
            return found

        screen = CostScreen(app.clock, compute, lambda today, span: (found, False), {}, lambda: 1)
        await app.push_screen(screen)
        await until(pilot, began.is_set)
        [worker] = [one for one in app.workers if one.node is screen]
        async with screen.lock:  # what removes a screen's widgets holds it
            screen.dismiss(None)
            await screen.query("*").remove()
            go_on.set()
            done.wait(PATIENCE)  # nobody else has a turn until what was computed is on its way
            threading.Event().wait(0.2)
            await pilot.pause()
        assert worker.is_finished
        assert app.return_code is None


async def test_typing_after_it_filters_by_words(spender: Spender) -> None:
    app = program(spender)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_costs(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("slash")
        app.main.box.value = "attic"
        await until(pilot, lambda: sum(row.conversation is not None for row in app.main.sessions.rows) == 1)
        await pilot.press("escape")
        assert app.screen is app.main


@pytest.mark.parametrize("size", [(80, 24), (40, 15), (20, 6), (200, 60)])
async def test_every_line_can_be_reached_at_every_size(spender: Spender, size: tuple[int, int]) -> None:
    app = program(spender)
    async with app.run_test(size=size) as pilot:
        screen = await open_costs(pilot)
        listing = screen.query_one(CostList)
        ranks = [row.rank for row in listing.rows if row.rank is not None]
        assert len(ranks) == 1 + 3 + 3 + 5
        seen = [listing.highlighted]
        for _ in range(len(ranks) + 2):
            await pilot.press("down")
            if listing.highlighted is not seen[-1]:
                seen.append(listing.highlighted)
            assert 0 <= listing.cursor - listing.scroll_offset.y < listing.size.height
        assert seen == ranks
        await pilot.press("home")
        assert listing.highlighted is ranks[0] and listing.scroll_offset.y == 0
        await pilot.press("end")
        assert listing.highlighted is ranks[-1]
        await pilot.press("K", "K", "K", "K")
        assert listing.highlighted is ranks[0]
        for line in screen_text(pilot).splitlines():
            assert len(line) <= size[0]


async def test_a_ranking_that_is_gone_to_is_seen_from_its_heading_on(spender: Spender) -> None:
    app = program(spender)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await open_costs(pilot)
        listing = screen.query_one(CostList)
        for key, heading in (("tab", "By model"), ("tab", "By project"), ("shift+tab", "By model")):
            await pilot.press(key)
            assert heading in listing.render_line(0).text and listing.cursor - listing.scroll_offset.y == 1


async def test_of_a_long_path_or_lane_the_end_is_kept(spender: Spender) -> None:
    app = program(spender)
    async with app.run_test(size=(80, 24)) as pilot:
        listing = (await open_costs(pilot)).query_one(CostList)
        path, lane = f"/srv/{'x' * 90}/attic", f"agent:main:{'y' * 90}:alice"
        listing.show(
            [
                CostRow(rank=Rank("project", path, path, Figure(1.0), ())),
                CostRow(rank=Rank("lane", lane, lane, Figure(1.0), ())),
            ]
        )
        assert [listing.parts(at)[0][0].strip()[-6:] for at in range(2)] == ["/attic", ":alice"]


async def test_nothing_is_drawn_when_nothing_is_new(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.screens.cost.LOOK_AGAIN", 0.05)
    app = program(spender)
    versions = [1]
    async with app.run_test(size=(80, 24)) as pilot:
        await open_costs(pilot)
        await pilot.press("escape")

        def so_far(today: date, span: Span) -> tuple[Overview, bool]:
            return app.manager.costs.overview(today, span), True

        screen = CostScreen(Passing(NOW), app.manager.costs.overview, so_far, {}, lambda: versions[-1])
        await app.push_screen(screen)
        await until(pilot, lambda: screen.overview)
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(CostList, "refresh", lambda *_, **__: drawn.append("list"))
        monkeypatch.setattr(CostChart, "refresh", lambda *_, **__: drawn.append("chart"))
        before = screen.overview
        versions.append(2)
        await until(pilot, lambda: screen.overview is not before)
        assert screen.overview == before and drawn == []


async def test_what_is_new_is_shown(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.screens.cost.LOOK_AGAIN", 0.05)
    app = program(spender, clock=Passing(NOW))
    async with app.run_test(size=(80, 24)) as pilot:
        await open_costs(pilot)
        spender.session("later", {"input": 30 * MILLION}, at=NOW - timedelta(minutes=1), cwd="/srv/new")
        before = app.main.snapshot.version
        app.action_refresh()
        await until(pilot, lambda: app.main.snapshot.version > before)
        await until(pilot, lambda: "~35.00+" in screen_text(pilot))


async def test_wrong_settings_are_said(
    spender: Spender, isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("colour = 1\n")
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(settings))
    manager = SessionManager(Environment(home=spender.home), cache_dir=tmp_path / "cache")
    app = HermesApp(manager, clock=Clock(NOW))
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, lambda: app.main.snapshot.places)
        await pilot.press("C")
        await until(pilot, lambda: "settings" in screen_text(pilot))
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.main)


def says_that_nothing_was_used(pilot: Pilot[None], when: str) -> bool:
    return f"No session here has used anything{when}." in screen_text(pilot)


async def test_nothing_spent(tmp_path: Path) -> None:
    app = program(Spender(tmp_path / "home"))
    async with app.run_test(size=(80, 24)) as pilot:
        await open_costs(pilot)
        assert "No session here has used anything." in screen_text(pilot)
        for when in (" in the last 7 days", " in the last 30 days", " in the last 90 days", " this month", ""):
            await pilot.press("r")
            await until(pilot, partial(says_that_nothing_was_used, pilot, when))
        await pilot.press("enter", "down", "tab", "pagedown", "escape")
        await until(pilot, lambda: app.screen is app.main)


async def test_the_help_has_its_keys(spender: Spender) -> None:
    app = program(spender)
    async with app.run_test(size=(80, 40)) as pilot:
        await open_costs(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: "List the sessions of this line" in screen_text(pilot))


async def test_no_colour_is_no_colour(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = program(spender)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_costs(pilot)
        strips = drawn(app)
        styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
        assert styles
        for style in styles:
            for colour in (style.color, style.bgcolor):
                assert colour is None or colour.is_default, style


def test_hostile_names_reach_nothing() -> None:
    rank = Rank("model", "evil\x1b[2J\u202e x", "evil\x1b[2J\u202e x", Figure(1.0, False, True), ("claude:a",))
    found = Overview(ranks={"model": (rank,)}, unpriced=("\x1b]0;x\x07",), unpriced_tokens=3, whole=Figure(1.0, True))
    text = "\n".join(row.text for row in cost_rows(found, {})) + filter_text(rank)
    assert "\x1b" not in text and "\u202e" not in text and "\x07" not in text
    assert filter_text(rank).startswith('model:"') and "since" not in filter_text(rank)
    assert filter_text(rank, date(2026, 11, 1)) == f"{filter_text(rank)} since:2026-11-01"
    assert title_parts(found)[0][-1][0] == "~1.00"


def test_bars_are_in_proportion() -> None:
    assert bar(0.0, 10) == ""
    assert bar(1.0, 10) == "█" * 10
    assert bar(0.5, 10) == "█" * 5
    assert bar(1e-9, 10) == "▏"
    widths = [len(bar(share / 100, 20)) for share in range(101)]
    assert widths == sorted(widths)


def test_the_program_starts_without_the_library_of_charts() -> None:
    code = (
        "import sys, hermes_tui.tui.app; "
        "wrong = {'plotext', 'textual_plotext', 'genai_prices', 'pydantic'} & set(sys.modules); "
        "sys.exit(str(wrong) if wrong else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_costs_of_a_growing_session_are_right_everywhere_within_seconds(tmp_path: Path) -> None:
    """Haiku: a dollar per million tokens of input."""
    now = datetime.now(UTC)
    spender = Spender(tmp_path / "home")
    path = spender.session("growing", {"input": 2 * MILLION}, at=now - timedelta(hours=1))
    spender.session("still", {"input": 7 * MILLION}, at=now - timedelta(hours=3))
    manager = SessionManager(Environment(home=spender.home), cache_dir=tmp_path / "cache", prices={})
    app = HermesApp(manager, Config())

    def line() -> str:
        return next((line for line in screen_text(pilot).splitlines() if "question 0" in line), "")

    def costs() -> set[str]:
        """Of the session, in the list and in the title beside it."""
        return set(re.findall(r"~\$?([0-9.]+)", line()))

    async with app.run_test(size=(160, 40), notifications=True) as pilot:
        await until(pilot, lambda: app.main.sessions.highlighted is not None)
        await until(pilot, lambda: costs() == {"2.00"})
        for total in (5, 8, 11):
            last = [json.loads(text) for text in path.read_text().splitlines()][-1]
            last["message"].update(id=f"more{total}", usage={"input_tokens": 3 * MILLION})
            with path.open("a") as file:
                file.write(json.dumps({**last, "uuid": f"more{total}"}) + "\n")
            await until(pilot, lambda: costs() == {f"{total}.00"})  # noqa: B023
        assert app.main.pane.summary is not None and app.main.pane.summary.session_id == "growing"
        app.main.search_for("question")
        await until(pilot, lambda: "Goal" in app.main.preview.text and costs() == {"11.00"})
        await pilot.press("escape", "C")
        await until(pilot, lambda: "all ~18.00" in screen_text(pilot))
        with path.open("a") as file:
            last["message"].update(id="last")
            file.write(json.dumps({**last, "uuid": "last"}) + "\n")
        await until(pilot, lambda: "all ~21.00" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: costs() == {"14.00"})


async def test_what_was_spent_when_is_labelled(spender: Spender) -> None:
    app = program(spender, span="30 days")
    async with app.run_test(size=(80, 60)) as pilot:
        await open_costs(pilot)
        text = screen_text(pilot)
        assert (
            text.index("Last 30 days")
            < text.index("By agent, last 30 days")
            < text.index("Dearest conversations, helpers included, last 30 days")
        )


@pytest.mark.parametrize(
    ("span", "days", "usd", "projects"),
    [
        ("7 days", 7, 5.0, {"/srv/shop": 1.0, "/srv/blog": 4.0}),
        ("30 days", 30, 8.0, {"/srv/shop": 4.0, "/srv/blog": 4.0}),
        ("90 days", 90, 8.0, {"/srv/shop": 4.0, "/srv/blog": 4.0}),
        ("this month", 21, 5.0, {"/srv/shop": 1.0, "/srv/blog": 4.0}),
        ("all time", 67, 18.0, {"/srv/shop": 4.0, "/srv/blog": 4.0, "/srv/attic": 10.0}),
    ],
)
async def test_the_days_that_were_chosen_hold_for_chart_and_rankings_and_are_kept(
    spender: Spender, span: str, days: int, usd: float, projects: dict[str, float]
) -> None:
    app = program(spender, span="30 days")
    async with app.run_test(size=(80, 60)) as pilot:
        screen = await open_costs(pilot)
        for _ in range(5):
            if screen.span == span:
                break
            await pilot.press("r")
        await until(pilot, lambda: screen.overview is not None and screen.overview.span == span)
        found = screen.overview
        assert found is not None
        assert len(found.days) == days  # 201 days, three to a bar
        assert sum(dollars for _, dollars in found.days) == pytest.approx(usd)
        assert found.spent.usd == pytest.approx(usd) and found.whole.usd == pytest.approx(18.0)
        ranked = {rank.key: rank.figure.usd for rank in found.ranks["project"] if rank.figure.usd}
        assert ranked == pytest.approx(projects)
        for kind in ("agent", "model", "session"):
            assert sum(rank.figure.usd for rank in found.ranks[kind]) == pytest.approx(usd), kind
        assert app.view.span == span
        # What the list is narrowed to says so, also when it is typed on.
        wanted = {one.rpartition(":")[2] for one in found.ranks["project"][0].sessions}
        key, first = found.ranks["project"][0].key, "" if span == "all time" else f" since:{found.days[0][0]}"
        await pilot.press("tab", "tab", "enter")
        await until(pilot, lambda: app.screen is app.main)

        def shown() -> set[str]:
            return {row.conversation.tip.session_id for row in app.main.sessions.rows if row.conversation is not None}

        assert (app.main.box.value, shown()) == (f"cwd:{key}{first}", wanted)
        await pilot.press("slash", "end", "space")
        await until(pilot, lambda: app.main.box.value.endswith(" ") and shown() == wanted)
