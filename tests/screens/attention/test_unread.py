"""What came since a person looked is marked in the list and in the transcript, until somebody looks."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import apsw
import pytest
from textual import events
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.attention import AttentionScreen
from hermes_tui.tui.screens.lanes.transcript import LaneTranscript
from hermes_tui.tui.screens.main.all_seen import AllSeenScreen
from lane_homes import DISCORD, NOW, HermesDemo, go
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def marks() -> Path:
    return Path(os.environ["HOME"]) / ".local" / "state" / "hermes-tui" / "marks.db"


def began(moment: datetime) -> None:
    """What is newer counts as unread."""
    store = MarkStore(marks(), now=moment.timestamp)
    assert store.began == moment.timestamp()
    store.close()


def seen() -> dict[str, float]:
    connection = apsw.Connection(str(marks()))
    connection.set_busy_timeout(5000)
    return dict(connection.execute("SELECT id, at FROM seen"))


def here(pilot: Pilot[None]) -> str:
    """The title under the cursor."""
    conversation = main_of(pilot).sessions.highlighted
    return conversation.title if conversation is not None else ""


def rows_with_bar(pilot: Pilot[None]) -> list[str]:
    return [line for line in screen_text(pilot).splitlines() if line.startswith(" ┃")]


def marked(pilot: Pilot[None]) -> list[str]:
    """What came while nobody was there, and the lines that tell what is new, from top to bottom."""
    return re.findall("Drawn while|new since|once more", screen_text(pilot))


def unread(pilot: Pilot[None]) -> Mapping[str, float]:
    """What the program takes for unread."""
    return main_of(pilot).sessions.states.unread


@pytest.fixture
def unread_home(claude_home: ClaudeHome) -> ClaudeHome:
    """Three sessions; the older half of the oldest was seen before marks were kept, the rest is new."""
    claude_home.session("draw totals", turns=2)
    began(claude_home.start + timedelta(seconds=25))
    claude_home.session("remove it")
    claude_home.session("mend it")
    return claude_home


@pytest.fixture
def agent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is at a session."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


async def test_looking_marks_it_read_and_the_line_stays(program: Program, unread_home: ClaudeHome) -> None:
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        await pilot.press("u", "u")
        await until(pilot, lambda: here(pilot) == "draw totals")
        assert len(rows_with_bar(pilot)) == 3, "nobody has seen a word of it yet"
        await pilot.press("enter")
        await until(pilot, lambda: "new since" in screen_text(pilot))
        text = screen_text(pilot)
        assert text.index("draw totals") < text.index("new since") < text.index("Question 1")
        await until(pilot, lambda: len(seen()) == 1)
        await until(pilot, lambda: len(main_of(pilot).sessions.states.unread) == 2)
        assert "new since" in screen_text(pilot), "it stays while the session is shown"
        await pilot.press("escape")
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 2)


async def test_the_next_unread_is_opened_where_one_reads(program: Program, unread_home: ClaudeHome) -> None:
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        await pilot.press("enter", "u")
        await until(pilot, lambda: "Answer 0 to remove it" in screen_text(pilot))
        assert main_of(pilot).parts.is_reading


async def test_the_only_session_with_something_new_is_said_to_be_that(
    program: Program, unread_home: ClaudeHome
) -> None:
    """The key did nothing, and said nothing."""
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        for left in (2, 1):
            await pilot.press("u", "U")
            await until(pilot, lambda left=left: len(rows_with_bar(pilot)) == left)  # type: ignore[misc]
        await pilot.press("u")
        assert "No other session here has anything new." not in toasts(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "No other session here has anything new." in toasts(pilot))


@pytest.mark.parametrize("first", [(), ("A",)], ids=["list", "attention"])
async def test_a_key_marks_everything_read_once_that_is_agreed_to(
    program: Program, unread_home: ClaudeHome, first: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AllSeenScreen, "QUIET", 3600.0)
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        await pilot.press(*first, "N")
        await until(pilot, lambda: "Count 3 sessions as seen?" in screen_text(pilot))
        await pilot.press("y")
        assert isinstance(pilot.app.screen, AllSeenScreen), "typed ahead, it agrees to nothing"
        await pilot.press("escape")
        assert seen() == {}
        monkeypatch.setattr(AllSeenScreen, "QUIET", 0.0)
        await pilot.press("N")
        await until(pilot, lambda: "Count 3 sessions as seen?" in screen_text(pilot))
        await pilot.press("y")
        await until(pilot, lambda: len(seen()) == 3)
        assert "3 sessions counted as seen." in toasts(pilot)
        await until(pilot, lambda: not main_of(pilot).sessions.states.unread)
        await pilot.press("N")
        await until(pilot, lambda: "No session has anything new." in toasts(pilot))


async def test_what_is_new_again_is_marked_read_again(program: Program, unread_home: ClaudeHome) -> None:
    """A session that died after it had been seen has no newer message than before."""
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        main = main_of(pilot)
        main.transcript.unread.mark_read()
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 2)
        (name,) = seen()
        store = MarkStore(marks())
        store.renew(name, next(one.updated_at for one in main.snapshot.sessions if one.unified_id == name))
        store.close()
        await pilot.press("f5")
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        main.transcript.unread.mark_read()
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 2)


async def test_what_dies_in_the_look_that_counts_it_as_seen_can_be_marked_read(
    program: Program, claude_home: ClaudeHome, agent: subprocess.Popen[bytes]
) -> None:
    path = claude_home.session("draw totals")
    claude_home.say(path, "user", "Go on")
    began(claude_home.start)
    claude_home.process(path.stem, "busy", pid=agent.pid)
    async with program(claude_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: "working" in screen_text(pilot) and len(rows_with_bar(pilot)) == 1)
        other = apsw.Connection(str(marks()))
        other.execute("BEGIN IMMEDIATE")  # that it was seen has to wait
        await pilot.press("U")
        agent.kill()
        agent.wait()
        await until(pilot, lambda: not cast(HermesApp, pilot.app).manager.catalogue.processes)
        other.execute("ROLLBACK")
        other.close()
        await until(pilot, lambda: "gone" in screen_text(pilot) and len(rows_with_bar(pilot)) == 1)
        await pilot.press("U")
        await until(pilot, lambda: not rows_with_bar(pilot))


async def test_a_key_marks_one_read_without_opening_it(program: Program, unread_home: ClaudeHome) -> None:
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        for left in (2, 1, 0):
            await pilot.press("u", "U")
            await until(pilot, lambda left=left: len(rows_with_bar(pilot)) == left)  # type: ignore[misc]
        await pilot.press("U", "u")
        await until(pilot, lambda: "No session here has anything new." in toasts(pilot))
        assert "There is nothing new in this session." in toasts(pilot)
        assert len(seen()) == 3


async def test_nobody_there_sees_nothing(program: Program, claude_home: ClaudeHome) -> None:
    """What comes while the session is shown and no key is pressed is new to whoever comes back."""
    path = claude_home.session("draw totals")
    began(claude_home.start + timedelta(hours=1))
    claude_home.session("remove it")
    async with program(claude_home.home, size=(160, 30), attention=True) as pilot:
        main = main_of(pilot)
        await pilot.press("j")
        await until(
            pilot,
            lambda: "Answer 0 to draw totals" in screen_text(pilot) and main.parts.program.attention is not None,
        )
        app = cast(HermesApp, pilot.app)
        app.touched = time.monotonic() - 31
        claude_home.start += timedelta(hours=1, minutes=30)
        claude_home.say(path, "assistant", "Drawn while you were away")
        await until(pilot, lambda: "Drawn while" in screen_text(pilot) and "new since" in screen_text(pilot))
        await pilot.pause(1.2)
        assert seen() == {}
        await pilot.press("ctrl+l")  # does nothing but show that somebody is there
        await until(pilot, lambda: list(seen()) != [] and main.sessions.states.unread == {})
        assert "new since" in screen_text(pilot)
        app.touched = time.monotonic() - 31
        claude_home.say(path, "assistant", "And once more")
        await until(pilot, lambda: marked(pilot)[:3] == ["Drawn while", "new since", "once more"])  # one was seen
        assert marked(pilot).count("new since") == 1


async def test_what_lies_behind_another_screen_is_not_seen(program: Program, unread_home: ClaudeHome) -> None:
    """Keys there show that somebody looks at something else than the session beside the list."""
    async with program(unread_home.home, size=(160, 30), attention=True) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3 and main.parts.pane.summary is not None)
        await pilot.app.run_action("attention")
        await until(pilot, lambda: isinstance(pilot.app.screen, AttentionScreen))
        await pilot.press("j", "k")
        await pilot.pause(1.2)
        assert seen() == {}
        await pilot.press("escape")
        await until(pilot, lambda: len(seen()) == 1)


async def test_what_was_seen_in_another_program_is_seen_here(program: Program, unread_home: ClaudeHome) -> None:
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        one = main_of(pilot).snapshot.sessions[0]
        other = MarkStore(marks())
        other.see(one.unified_id, one.updated_at)
        other.close()
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 2)


@pytest.mark.parametrize(
    ("width", "away", "back"),
    [
        (80, ("escape", "k"), ("u", "enter")),
        (80, ("escape", "backslash", *"remove"), ("escape", "u", "enter")),
        (160, ("escape", "plus", "k"), ("u", "underscore")),
        (160, ("backslash", *"remove"), ("escape",)),
        (160, ("A", "j"), ("escape",)),
        (160, ("y",), ("escape",)),
    ],
    ids=["list", "search", "zoomed list", "search beside", "attention", "dialog"],
)
async def test_what_grows_out_of_sight_is_new_to_whoever_comes_back(
    program: Program, claude_home: ClaudeHome, width: int, away: tuple[str, ...], back: tuple[str, ...]
) -> None:
    path = claude_home.session("draw totals")
    began(claude_home.start + timedelta(hours=1))
    claude_home.session("remove it")
    async with program(claude_home.home, size=(width, 30), attention=True) as pilot:
        await pilot.press("j", "enter")
        await until(pilot, lambda: "Answer 0 to draw totals" in screen_text(pilot))
        await pilot.press(*away)
        claude_home.start += timedelta(hours=1, minutes=30)
        claude_home.say(path, "assistant", "Drawn while you were away")
        await until(pilot, lambda: unread(pilot))
        await pilot.press("ctrl+l")
        await pilot.pause(1.2)
        assert seen() == {}
        await pilot.press(*back)
        await until(pilot, lambda: marked(pilot)[:2] == ["new since", "Drawn while"])
        await until(pilot, lambda: seen() and not unread(pilot))
        assert "new since" in screen_text(pilot)


async def test_whoever_looks_at_another_window_sees_nothing(program: Program, claude_home: ClaudeHome) -> None:
    """Where the terminal tells of it, and until it has the focus again."""
    path = claude_home.session("draw totals")
    began(claude_home.start + timedelta(hours=1))
    async with program(claude_home.home, size=(80, 24), attention=True) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "Answer 0 to draw totals" in screen_text(pilot))
        pilot.app.post_message(events.AppBlur())
        claude_home.start += timedelta(hours=1, minutes=30)
        claude_home.say(path, "assistant", "Drawn while you were away")
        await until(pilot, lambda: unread(pilot) and marked(pilot) == ["new since", "Drawn while"])
        await pilot.pause(1.2)
        assert seen() == {}
        pilot.app.post_message(events.AppFocus())
        await until(pilot, lambda: seen() and not unread(pilot))
        assert "new since" in screen_text(pilot)


async def test_nobody_sees_what_is_in_a_window_of_tmux_that_no_terminal_shows(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it does not tell of the focus, as it does only if it is told to."""
    shown = [False]
    monkeypatch.setattr("hermes_tui.attention.delivery.is_in_view", lambda variables: shown[0])
    path = claude_home.session("draw totals")
    began(claude_home.start + timedelta(hours=1))
    async with program(claude_home.home, size=(80, 24), attention=True) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "Answer 0 to draw totals" in screen_text(pilot))
        claude_home.start += timedelta(hours=1, minutes=30)
        claude_home.say(path, "assistant", "Drawn while you were away")
        await until(pilot, lambda: unread(pilot))
        await pilot.pause(1.5)
        assert seen() == {}
        shown[0] = True
        await pilot.press("k")
        await until(pilot, lambda: seen() and not unread(pilot))


async def test_a_session_is_looked_at_in_its_lane(demo: HermesDemo) -> None:
    began(NOW - timedelta(hours=2, minutes=14))  # before the second question there
    async with demo.program((80, 48), attention=True) as pilot:
        await until(pilot, lambda: unread(pilot))
        await go(pilot, DISCORD)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LaneTranscript))
        await until(pilot, lambda: "new since" in screen_text(pilot) and seen())
        text = screen_text(pilot)
        assert text.index("Nobody") < text.index("new since") < text.index("sorry") < text.index("No harm done")
        session = cast(LaneTranscript, pilot.app.screen).session_id
        assert list(seen()) == [f"hermes:{session}"]
        await until(pilot, lambda: f"hermes:{session}" not in unread(pilot))


async def test_a_file_of_marks_that_is_kept_by_another_stops_no_key(
    program: Program, unread_home: ClaudeHome
) -> None:
    async with program(unread_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 3)
        other = apsw.Connection(str(marks()))
        other.execute("BEGIN EXCLUSIVE")
        await pilot.press("U", "j")
        assert here(pilot) == "remove it"
        other.execute("ROLLBACK")
        other.close()
        await until(pilot, lambda: len(rows_with_bar(pilot)) == 2)
