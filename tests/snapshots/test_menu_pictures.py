"""Pictures of menus, of a zoomed pane and of an image in a session, on the static demo."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from hermes_tui.clock import Clock
from hermes_tui.demo import STATIC_NOW
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.palette import Palette
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.screens.dialogs.rename import RenameScreen
from hermes_tui.tui.screens.dialogs.save_file import SaveFile
from hermes_tui.tui.screens.dialogs.tags import TagsScreen
from hermes_tui.tui.screens.lanes.plan import PlanScreen
from pilots import screen_text, until

Compare = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48)], ids=["80x24", "120x40", "160x48"])


@pytest.fixture
def app(demo_manager: SessionManager) -> HermesApp:
    """The program on the static demo."""
    return HermesApp(demo_manager, clock=Clock(STATIC_NOW))


async def _ready(pilot: Pilot[None]) -> HermesApp:
    app = pilot.app
    assert isinstance(app, HermesApp)
    await until(pilot, lambda: app.main.snapshot.places and app.main.parts.lanes and not app.main.snapshot.partial)
    if app.main.parts.is_wide:
        await until(pilot, lambda: app.main.pane.summary)
    return app


def _after(there: Callable[[HermesApp], object], *keys: str) -> Callable[[Pilot[None]], object]:
    async def run(pilot: Pilot[None]) -> None:
        app = await _ready(pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: there(app))
        for box in app.screen.query(Input):
            box.cursor_blink = False
        await pilot.pause()

    return run


@SIZES
@pytest.mark.parametrize("key", ["o", "c"], ids=["order", "columns"])
def test_menus_of_the_list(app: HermesApp, snap_compare: Compare, size: tuple[int, int], key: str) -> None:
    shown = _after(lambda app: isinstance(app.screen, MenuScreen), key)
    assert snap_compare(app, terminal_size=size, run_before=shown)


@SIZES
def test_tags_of_several(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    shown = _after(lambda app: isinstance(app.screen, TagsScreen), "space", "space", "t")
    assert snap_compare(app, terminal_size=size, run_before=shown)


@SIZES
@pytest.mark.parametrize("key", ["", "r", "d"], ids=["menu", "rename", "delete"])
def test_managing_a_session(app: HermesApp, snap_compare: Compare, size: tuple[int, int], key: str) -> None:
    async def run(pilot: Pilot[None]) -> None:
        app = await _ready(pilot)
        app.main.sessions.reveal(
            next(one.unified_id for one in app.main.snapshot.sessions if one.title == "Speed up the import")
        )
        await pilot.press("M", *key)
        kind = {"": MenuScreen, "r": RenameScreen, "d": PlanScreen}[key]
        await until(pilot, lambda: isinstance(app.screen, kind))
        if isinstance(plan := app.screen, PlanScreen):
            await until(pilot, lambda: plan.shown_at < float("inf"))
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)


@SIZES
def test_palette(app: HermesApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await _after(lambda app: isinstance(app.screen, Palette), "colon")(pilot)  # type: ignore[misc]
        await pilot.press(*"lane")
        await until(
            pilot, lambda: "History of its lane" in screen_text(pilot) and "Reset the lane" in screen_text(pilot)
        )
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)


def test_zoomed(app: HermesApp, snap_compare: Compare) -> None:
    shown = _after(lambda app: not app.main.pane.display and app.main.sessions.size.width > 150, "plus")
    assert snap_compare(app, terminal_size=(160, 48), run_before=shown)


@SIZES
@pytest.mark.parametrize("saved", [False, True], ids=["seen", "saved"])
def test_an_image(app: HermesApp, snap_compare: Compare, size: tuple[int, int], saved: bool) -> None:
    async def run(pilot: Pilot[None]) -> None:
        app = await _ready(pilot)
        session = next(one for one in app.main.snapshot.sessions if one.title.startswith("Was steht auf dem Schild"))
        app.main.sessions.reveal(session.unified_id)
        await pilot.press("enter")
        await until(pilot, lambda: app.main.pane.summary == session and app.main.pane.message)
        await pilot.press("g", "right_square_bracket", "i")
        await until(pilot, lambda: (piece := app.main.pane.view.piece()) and piece.block == "attachment0")
        if saved:
            await pilot.press("w")
            await until(pilot, lambda: isinstance(app.screen, SaveFile))
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)
