"""Pictures of the screens on the static demo. After a wanted change: `pytest tests/snapshots --snapshot-update`, and
look at every picture that differs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.demo import STATIC_NOW, begin_marks
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.marks import MarkChange
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.attention import AttentionScreen
from hermes_tui.tui.screens.cost import CostScreen
from hermes_tui.tui.screens.dialogs.outline import OutlineScreen
from hermes_tui.tui.screens.edits import EditsScreen
from hermes_tui.tui.themes import PLAIN_THEME
from lane_homes import DISCORD, HermesDemo
from pilots import screen_text, until
from session_adapters.base import Environment

Compare = Callable[..., bool]
Steps = Callable[[Pilot[None]], Awaitable[None]]


@pytest.fixture
def app(demo_manager: SessionManager) -> HermesApp:
    """The program on the static demo."""
    return HermesApp(demo_manager, clock=Clock(STATIC_NOW))


def steps(*keys: str, reading: bool = False) -> Steps:
    """Wait for the list (and the transcript beside it), then press keys."""

    async def run(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, HermesApp)
        await until(
            pilot, lambda: app.main.snapshot.places and app.main.parts.lanes and not app.main.snapshot.partial
        )
        if app.main.parts.is_wide:
            await until(pilot, lambda: app.main.pane.summary)
        await pilot.press(*keys)
        if reading:
            await until(pilot, lambda: app.main.parts.is_reading and app.main.pane.summary)
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (40, 15)], ids=["80x24", "160x48", "40x15"])
def test_list(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app, terminal_size=size, run_before=steps())


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
@pytest.mark.parametrize("keys", [(), ("t",)], ids=["list", "dialog"])
def test_own_marks(app: HermesApp, snap_compare: Compare, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    for session in app.manager.list("codex", limit=2):
        change = MarkChange(pinned=True, name="Checkout, all of it", tag=("review",), note="ask Ada\nbefore Friday")
        app.manager.marks.change([session.unified_id], change)
    assert snap_compare(app, terminal_size=size, run_before=steps(*keys))


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_edits(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def compared(pilot: Pilot[None]) -> None:
        await steps("D")(pilot)
        await until(pilot, lambda: isinstance(pilot.app.screen, EditsScreen) and pilot.app.screen.edits)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=compared)


def test_unfolded_light(app: HermesApp, snap_compare: Compare) -> None:
    app.theme = "hermes-light"
    assert snap_compare(app, terminal_size=(160, 48), run_before=steps("Z", "down"))


def test_reading(app: HermesApp, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(80, 24), run_before=steps("enter", reading=True))


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_finding(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await steps("enter", "slash", *"login")(pilot)  # typed before the session is open
        await until(pilot, lambda: "of 4" in str(app.main.pane.border_subtitle))

    assert snap_compare(app, terminal_size=size, run_before=run)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_outline(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await steps("enter", reading=True)(pilot)
        await until(pilot, lambda: app.main.pane.message)
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, OutlineScreen) and "so far" not in app.screen.heading)
        await until(pilot, lambda: isinstance(app.screen, OutlineScreen) and app.screen.rows.cursor)

    assert snap_compare(app, terminal_size=size, run_before=run)


def searched(text: str) -> Steps:
    """Paste it into the search box (each key would begin a search), and wait until everything is there that there is
    to see of the answer."""

    async def run(pilot: Pilot[None]) -> None:
        await steps("slash")(pilot)
        app = pilot.app
        app.post_message(events.Paste(text))
        assert isinstance(app, HermesApp)
        main = app.main
        await until(pilot, lambda: main.search.results.query is not None and main.search.results.query.text == text)
        await until(pilot, lambda: main.sessions.answer is not None and "scanned" in main.search.note)
        await until(pilot, lambda: all(row.snippet.text for row in main.sessions.rows if row.snippet is not None))
        await until(pilot, lambda: not main.parts.is_wide or "Resolution" in main.preview.text)
        await until(pilot, lambda: not main.preview.text.startswith(" Reading"))
        await pilot.pause()

    return run


def test_search(app: HermesApp, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(160, 48), run_before=searched("clock agent:claude"))


def test_nothing_found(app: HermesApp, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(80, 24), run_before=searched("fake clock agent:claude cost:x"))


def test_lanes(app: HermesApp, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(130, 30), run_before=steps("L", "j"))


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_lanes_filtered_and_sorted(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app, terminal_size=size, run_before=steps("L", "o", "2", "slash", *"dm", "enter"))


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_lanes_in_a_turn(tmp_path: Path, snap_compare: Compare, size: tuple[int, int]) -> None:
    demo = HermesDemo(tmp_path / "home")
    demo.begin_turn(DISCORD, queued={DISCORD: 2})
    manager = SessionManager(demo.environment, cache_dir=tmp_path / "cache", indexed=False)
    app = HermesApp(manager, clock=Clock(STATIC_NOW), attention=True)

    async def run(pilot: Pilot[None]) -> None:
        await steps("L", "o", "4", "home")(pilot)
        await until(pilot, lambda: app.attention is not None and "hermes:" in str(list(app.attention.by_session)))
        await until(pilot, lambda: "● working" in screen_text(pilot) and "behind the turn" in screen_text(pilot))
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)


def test_help(app: HermesApp, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(80, 24), run_before=steps("question_mark"))


def test_empty(snap_compare: Compare, tmp_path: Path) -> None:
    manager = SessionManager(
        Environment(home=Path("/nonexistent/home")), cache_dir=tmp_path / "cache", agents=["claude", "hermes"]
    )
    app = HermesApp(manager, clock=Clock(STATIC_NOW))
    assert snap_compare(app, terminal_size=(80, 24), run_before=steps())


def costs() -> Steps:
    """Open the screen of costs, and wait until they are added up."""

    async def run(pilot: Pilot[None]) -> None:
        await steps("C")(pilot)
        app = pilot.app
        await until(pilot, lambda: isinstance(app.screen, CostScreen) and app.screen.overview)
        await pilot.pause()

    return run


def test_costs(app: HermesApp, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(100, 40), run_before=costs())


@pytest.mark.parametrize(
    ("size", "theme", "no_colour"),
    [((80, 24), None, False), ((160, 48), None, False), ((160, 48), PLAIN_THEME, False), ((80, 24), None, True)],
    ids=["80x24", "160x48", "16 colours", "NO_COLOR"],
)
def test_attention(
    demo_manager: SessionManager,
    monkeypatch: pytest.MonkeyPatch,
    snap_compare: Compare,
    size: tuple[int, int],
    theme: str | None,
    no_colour: bool,
) -> None:
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    begin_marks(STATIC_NOW)
    app = HermesApp(demo_manager, Config(theme=theme), clock=Clock(STATIC_NOW), attention=True)

    async def run(pilot: Pilot[None]) -> None:
        await steps()(pilot)
        await until(pilot, lambda: app.attention is not None)
        app.action_attention()  # no key: whoever presses one also reads the session beside the list
        await until(pilot, lambda: app.screen is not app.main and app.screen.is_mounted)
        await pilot.press("down")
        await until(pilot, lambda: isinstance(app.screen, AttentionScreen) and app.screen.attended is not None)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)
