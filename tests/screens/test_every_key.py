"""Every key that `?` lists on a screen does something to be seen there, or says why not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from textual.pilot import Pilot

from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import environment_of, write_home
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.keymap import KEYS, key_label
from hermes_tui.tui.screens.attention import AttentionScreen
from hermes_tui.tui.screens.cost import CostScreen
from hermes_tui.tui.screens.diff import DiffScreen
from hermes_tui.tui.screens.edits import EditsScreen
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from hermes_tui.tui.screens.lanes.transcript import LaneTranscript
from hermes_tui.tui.screens.problems import ProblemsScreen
from hermes_tui.tui.widgets.cost_list import CostList
from hermes_tui.tui.widgets.diff.view import DiffView
from hermes_tui.tui.widgets.hints import keys_here
from hermes_tui.tui.widgets.page import Page
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from indexing import build
from pilots import drawn, toasts, until
from session_adapters.model import Problem

Go = Callable[[Pilot[None]], Awaitable[None]]


class Program(HermesApp):
    """Notes what cannot be seen on the screen."""

    done: int = 0
    may_end: bool = False

    def action_refresh(self) -> None:
        self.done += 1
        super().action_refresh()

    def exit(self, result: None = None, return_code: int = 0, message: object = None) -> None:
        if self.may_end:
            super().exit(result, return_code, message)
        self.done += 1


class Seen(NamedTuple):
    """All that a key may change."""

    screens: Sequence[int]
    lines: Sequence[str]
    toasts: Sequence[str]
    focus: int
    done: int


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The static demo's home, written once."""
    path = tmp_path_factory.mktemp("demo")
    write_home(path, STATIC_NOW)
    return path


def app_of(pilot: Pilot[None]) -> Program:
    return cast(Program, pilot.app)


def seen(pilot: Pilot[None]) -> Seen:
    app = app_of(pilot)
    lines = ["".join(f"{part.text}\0{part.style}" for part in strip) for strip in drawn(app)]
    return Seen([id(one) for one in app.screen_stack], lines, toasts(pilot), id(app.focused), app.done)


async def back(pilot: Pilot[None]) -> None:
    """To the list as it is at first, with the cursor on a session that has a fork."""
    app = app_of(pilot)
    app.clear_notifications()
    while app.screen is not app.main:
        app.screen.dismiss(None)
    app.main.box.value = ""
    app.main.search.filter()
    app.main.go_to_list()
    app.theme = "hermes-dark"
    app.main.sessions.unfold([])
    app.main.sessions.mark([])
    app.main.sessions.set_forest(app.main.sessions.forest)
    rows = [at for at, row in enumerate(app.main.sessions.rows) if row.unfolded is not None]
    app.main.sessions.go(rows[1])
    await until(pilot, lambda: app.screen is app.main and not toasts(pilot))


async def to_list(pilot: Pilot[None]) -> None:
    await back(pilot)


async def to_transcript(pilot: Pilot[None]) -> None:
    await back(pilot)
    main = app_of(pilot).main
    main.sessions.action_first()
    await pilot.press("enter")
    await until(
        pilot, lambda: main.parts.is_reading and "clock" in str(main.pane.messages) and main.pane.view.is_ready
    )
    middle(main.pane)


def middle(pane: TranscriptPane) -> None:
    """The cursor is on a tool call, with prompts above and below."""
    entries = pane.view.column.entries
    calls = [at for at, entry in enumerate(entries) if entry.message.tool_calls]
    at = calls[len(calls) // 2] if calls else len(entries) // 2
    pane.view.go(Position(at, pane.view.rendered(at).height - 1), at_top=True)
    pane.settle()


async def to_search(pilot: Pilot[None]) -> None:
    await back(pilot)
    main = app_of(pilot).main
    main.history.recent.add("an older search")
    main.search_for("test")
    await until(
        pilot, lambda: (now := main.search.results.snapshot) is not None and now.done and main.sessions.is_filtered
    )
    main.sessions.action_move(4)


async def to_diff(pilot: Pilot[None]) -> None:
    await back(pilot)
    app = app_of(pilot)
    app.main.sessions.action_first()
    app.main.sessions.action_toggle_fold()
    rows = [row.conversation.parts[0].kind for row in app.main.sessions.rows if row.conversation is not None]
    app.main.sessions.go(1 + rows.index("fork"))
    await pilot.press("d")
    await until(pilot, lambda: isinstance(app.screen, DiffScreen) and app.screen.diff)
    view = app.screen.query_one(DiffView)
    view.action_edge(-1)
    view.action_move(len(view.rows) // 2)


async def to_edits(pilot: Pilot[None]) -> None:
    await back(pilot)
    app = app_of(pilot)
    app.main.sessions.action_first()
    await pilot.press("D")
    await until(pilot, lambda: isinstance(app.screen, EditsScreen) and app.screen.edits)
    await pilot.press("end", "up")


async def to_cost(pilot: Pilot[None]) -> None:
    await back(pilot)
    app = app_of(pilot)
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.screen, CostScreen) and app.screen.overview)
    app.screen.query_one(CostList).action_edge(-1)
    app.screen.query_one(CostList).action_move(20)


async def to_attention(pilot: Pilot[None]) -> None:
    await back(pilot)
    app = app_of(pilot)
    await until(pilot, lambda: app.attention is not None and app.attention.by_session)
    await pilot.press("A")
    await until(pilot, lambda: isinstance(app.screen, AttentionScreen) and app.screen.attended is not None)
    await pilot.press("home", "down")


async def to_lanes(pilot: Pilot[None]) -> None:
    await back(pilot)
    app = app_of(pilot)
    await pilot.press("L")
    await until(pilot, lambda: isinstance(app.screen, LanesScreen) and app.screen.lane is not None)
    await pilot.press("down", "down")


async def to_lane(pilot: Pilot[None]) -> None:
    await to_lanes(pilot)
    await pilot.press("home", "down", "enter")
    app = app_of(pilot)
    await until(pilot, lambda: isinstance(app.screen, LaneTranscript) and app.screen.pane.messages)
    middle(app.screen.query_one(TranscriptPane))


async def to_help(pilot: Pilot[None]) -> None:
    await back(pilot)
    app = app_of(pilot)
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen))
    app.screen.query_one(Page).scroll_to(y=20, animate=False, force=True, immediate=True)


async def to_results(pilot: Pilot[None]) -> None:
    await to_search(pilot)
    await pilot.press("enter")
    main = app_of(pilot).main
    await until(pilot, lambda: main.focused is main.sessions)


async def to_problems(pilot: Pilot[None]) -> None:
    await to_lanes(pilot)
    app = app_of(pilot)
    app.push_screen(ProblemsScreen([Problem(agent="claude", path="/one", reason="it is torn")] * 40, {}))
    await until(pilot, lambda: isinstance(app.screen, ProblemsScreen))
    app.screen.query_one(Page).scroll_to(y=20, animate=False, force=True, immediate=True)


async def listed(pilot: Pilot[None]) -> list[str]:
    """The first key of each line of the help that is called here, by the name that Textual has for it."""
    app = app_of(pilot)
    if isinstance(app.screen, HelpScreen):  # it is not called for itself
        return [key.keys.partition(",")[0] for key in keys_here(app.screen)]
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen) and app.screen.query(Page))
    lines = [one for one in app.screen.query_one(Page).blocks if one.label]
    return [
        name
        for line in lines
        for key in KEYS
        if key.description == line.text
        for name in key.keys.split(",")
        if key_label(name) == line.label.split()[0]
    ]


@pytest.mark.parametrize(
    ("go", "read_only"),
    [
        (to_list, False),
        (to_transcript, False),
        (to_search, False),
        (to_results, False),
        (to_diff, False),
        (to_edits, False),
        (to_cost, False),
        (to_attention, False),
        (to_lanes, False),
        (to_lanes, True),
        (to_lane, False),
        (to_help, False),
        (to_problems, False),
    ],
)
async def test_every_key_does_something_or_says_why_not(
    home: Path, tmp_path: Path, go: Go, read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no pager, no editor, no agent
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    manager = SessionManager(environment_of(home), cache_dir=tmp_path / "cache")
    if go in (to_search, to_results):  # which is looked up for each key
        build(manager.environment, manager.index.path)
    app = Program(manager, Config(read_only=read_only), clock=Clock(STATIC_NOW), attention=go is to_attention)
    silent: list[str] = []
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(
            pilot, lambda: app.main.snapshot.places and app.main.parts.lanes and not app.main.snapshot.partial
        )
        await go(pilot)
        await pilot.pause()
        keys = await listed(pilot)
        if read_only:  # which it does not list, and people press
            keys += [one.keys for one in KEYS if one.context == "operations"]
        assert go is to_search or {"C", "L", "T"} <= {*keys}
        for key in dict.fromkeys(keys):
            await go(pilot)
            await pilot.pause()
            before = seen(pilot)
            await pilot.press(key)
            for _ in range(100):
                if seen(pilot) != before:
                    break
                await pilot.pause(0.01)
            else:
                silent.append(key)
        app.may_end = True
    assert silent == []
