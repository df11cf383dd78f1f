"""Searching on the main screen: what is found, shown, opened, and that one comes back to where one was."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from chances import chance
from claude_lines import ClaudeHome
from hermes_tui.platform import paths
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.query.filters import FILTERS
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.model import SearchCoverage, SourceMatch
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.screens.main.status import StatusBar
from hermes_tui.tui.state.query_file import SearchesUnreadable
from hermes_tui.tui.state.recent_searches import MOST, Recent
from hermes_tui.tui.widgets.page import Page
from hermes_tui.tui.widgets.search_box import SearchBox
from hermes_tui.tui.widgets.session_list.widget import SessionList
from indexing import build
from pilots import go_on, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def main_of(pilot: Pilot[None]) -> MainScreen:
    return cast(HermesApp, pilot.app).main


def titles(main: MainScreen) -> list[str]:
    return [row.conversation.title for row in main.sessions.rows if row.conversation is not None]


async def search(pilot: Pilot[None], text: str) -> None:
    """Type it into the box, and wait for the complete answer."""
    main = main_of(pilot)
    main.action_filter()
    main.search_for(text)
    await until(pilot, lambda: answered(main, text))


def answered(main: MainScreen, text: str) -> bool:
    shown = main.search.results.snapshot
    return shown is not None and shown.done and shown.query.text == text


def talk(home: ClaudeHome) -> list[Path]:
    """Three sessions; the first and the last speak of a heron, the last one twice and far apart."""
    first = home.session("Birds of the lake")
    home.say(first, "assistant", "There was a grey heron on the jetty.")
    home.say(first, "assistant", "It flew away.")
    home.session("Something else", project="heronry")
    last = home.session("A long walk", turns=60)
    home.say(last, "assistant", "One heron at the weir.")
    for number in range(60):
        home.say(last, "user", f"And then, at stop {number}?")
        home.say(last, "assistant", f"We went on past {number}.")
    home.say(last, "assistant", "The other heron stood in the reeds.")
    home.say(last, "assistant", "That was all of it.")
    return [first, last]


async def test_what_was_said_and_the_names_are_found(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(100, 30)) as pilot:
        main = main_of(pilot)
        await search(pilot, "heron")
        # A project's name counts, though nothing was said of it.
        assert sorted(titles(main)) == ["A long walk", "Birds of the lake", "Something else"]
        assert "3 of 3 sessions · all scanned" in screen_text(pilot)
        await until(pilot, lambda: "There was a grey heron on the jetty." in screen_text(pilot))
        await search(pilot, '"grey heron"')
        assert titles(main) == ["Birds of the lake"]
        await search(pilot, "heron -jetty role:assistant")
        assert "A long walk" in titles(main)
        await search(pilot, "id:00000000")
        assert len(titles(main)) == 3
        await search(pilot, "omething els")  # parts of words of a title, as ever
        assert titles(main) == ["Something else"]


async def test_an_answer_that_is_still_right_stays(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(100, 30)) as pilot:
        main = main_of(pilot)
        await search(pilot, "jetty")
        assert titles(main) == ["Birds of the lake"]
        before = [row.conversation and row.conversation.key for row in main.sessions.rows]
        for more in (" ", "AND", " ", "NOT", " ", '"', '"', " (", " -", ")", " *"):
            main.box.insert_text_at_cursor(more)
            await pilot.pause()
            assert titles(main) == ["Birds of the lake"]
        main.box.value = "jetty cost:abc"
        await until(pilot, lambda: "cost:abc makes no filter" in screen_text(pilot))
        main.box.value = "jetty agent:"
        await until(pilot, lambda: "which agent" in screen_text(pilot))
        await until(pilot, lambda: titles(main) == ["Birds of the lake"])
        assert [row.conversation and row.conversation.key for row in main.sessions.rows] == before


async def test_what_is_not_understood_is_marked(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(100, 30)) as pilot:
        main = main_of(pilot)
        main.search_for("agent:claude cost:abc heron")
        await pilot.pause()
        odd = main.box.own_look("odd")
        styles = {part.text: part.style for part in main.box.render_line(0)}
        assert odd.underline and odd.color is not None
        marked = [text for text, style in styles.items() if style and style.underline and style.color == odd.color]
        assert "".join(marked) == "cost:abc"


async def test_a_mistyped_filter_is_told_from_a_word(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(100, 30)) as pilot:
        main = main_of(pilot)
        main.search_for("agnet:claude")
        await until(pilot, lambda: "agnet: is no filter; there is agent:" in screen_text(pilot))
        for text in ("agent:claude", "cost:abc", "TODO:heron", "http://heron"):
            main.search_for(text)
            await until(pilot, partial(answered, main, text))
            assert "is no filter" not in screen_text(pilot), text


async def test_nothing_found_says_what_was_searched(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        main = main_of(pilot)
        await search(pilot, '"purple heron" since:7d')
        assert titles(main) == []
        text = " ".join(screen_text(pilot).replace("│", " ").split())
        assert 'Nothing found for "purple heron" since:7d' in text
        assert "0 of 3 sessions" in text
        assert "in 3 sessions of 1 agent" in text
        assert "without quotation marks" in text and "fewer filters" in text and "dock*" in text
        await pilot.press("enter", "enter", "n", "j", "tab")
        assert main.is_attached and not main.parts.is_reading


async def test_filters_alone_get_no_advice_about_words(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        await search(pilot, "is:error agent:claude")
        text = screen_text(pilot)
        assert "Nothing found for is:error agent:claude" in text
        assert "fewer filters" in text and "beginning of a word" not in text


async def test_help_in_the_box_tells_what_can_be_searched_for(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        await pilot.press("slash", "f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = pilot.app.screen.query_one(Page).text
        for name, meaning in FILTERS.items():
            assert f"{name}:" in text and meaning in text
        for written in ('"one two"', "OR", "NOT", "begin*"):
            assert written in text
        await pilot.press("escape", "escape", "f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "begin*" not in pilot.app.screen.query_one(Page).text


async def test_the_word_that_was_probably_meant_is_offered(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        main = main_of(pilot)
        build(main.parts.program.manager.environment, main.parts.program.manager.index.path)
        await search(pilot, "xyzzyq")
        await search(pilot, "grey heorn")
        await until(pilot, lambda: "Did you mean grey heron?" in screen_text(pilot))
        await pilot.press("tab")
        await until(pilot, partial(answered, main, "grey heron"))
        assert main.box.value == "grey heron" and main.focused is main.box
        assert titles(main)
        assert "Did you mean" not in screen_text(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: main.focused is main.sessions)


async def test_until_all_stores_were_looked_at_it_is_still_searched(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(claude_home)
    refresh, go_on = Catalogue.refresh, threading.Event()

    def late(catalogue: Catalogue, *agents: Iterable[str] | None, **asked: Any) -> Snapshot:
        assert go_on.wait(60)
        return refresh(catalogue, *agents, **asked)

    monkeypatch.setattr(Catalogue, "refresh", late)
    # Nothing is known of the stores meanwhile.
    monkeypatch.setattr(Catalogue, "glance", lambda catalogue: catalogue.snapshot)
    async with program(claude_home.home, size=(120, 30), wait=False) as pilot:
        main = main_of(pilot)
        await pilot.press("slash")
        main.search_for("jetty")
        await until(pilot, lambda: (now := main.search.engine.snapshot).done and now.query.text == "jetty")
        await pilot.pause()
        assert "searching …" in screen_text(pilot) and "Nothing found" not in screen_text(pilot)
        go_on.set()
        await until(pilot, lambda: titles(main) == ["Birds of the lake"])
        await until(pilot, lambda: "1 of 3 sessions · all scanned" in screen_text(pilot))
        await search(pilot, "cost:>900")
        said = " ".join(screen_text(pilot).replace("│", " ").split())
        assert "Searched: the list of 3 sessions of 1 agent." in said and "0 of 3 sessions" in said


async def test_what_is_typed_is_to_be_seen_beside_all_that_is_said(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(claude_home)
    monkeypatch.setattr(SearchCoverage, "__str__", lambda coverage: "indexed 27 %, 27 % searched")
    monkeypatch.setattr(StatusBar, "gateway", "⚕ no gateway · 6 lanes")
    for width, said in ((160, "indexed 27 %, 27 % searched"), (100, "indexed 27 %, 27 % searched"), (80, "")):
        async with program(claude_home.home, size=(width, 24)) as pilot:
            main = main_of(pilot)
            await search(pilot, "jetty")
            top = screen_text(pilot).splitlines()[0]
            assert main.box.region.width >= 20 and "jetty" in top and " 1 of 3" in top
            assert top.rstrip().endswith(said)


async def test_goal_match_and_resolution_then_open_at_the_match(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(160, 40)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "That was all of it." in screen_text(pilot))
        await search(pilot, "weir")
        await until(pilot, lambda: "One heron at the weir." in main.preview.text)
        said = main.preview.text
        places = [said.index(one) for one in ("Goal", "A long walk", "Match", "at the weir", "Resolution")]
        assert places == sorted(places)
        assert main.pane.styles.display == "none"
        await pilot.press("enter", "enter")
        await until(pilot, lambda: main.parts.is_reading and main.pane.message is not None)
        await until(pilot, lambda: main.pane.message and main.pane.message.content == "One heron at the weir.")
        row = next(line for line in screen_text(pilot).splitlines() if "One heron at the weir." in line)
        assert row
        lit = [
            part.text
            for y in range(main.pane.size.height)
            for part in main.pane.render_line(y)
            if part.style and part.style.underline and part.style.bold
        ]
        assert "weir" in lit


async def test_from_match_to_match_and_across_sessions(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        await search(pilot, "heron -quack")
        await search(pilot, "agent:claude heron")
        order = titles(main)
        assert set(order) >= {"A long walk", "Birds of the lake"}
        main.action_keep()
        await pilot.press("g", "enter")
        seen: list[str] = []

        def content() -> str:
            message = main.pane.message
            return message.content if message is not None and main.transcript.is_settled else ""

        await until(pilot, lambda: "heron" in content())
        for _ in range(2):
            seen.append(content())
            await go_on(pilot, "n", lambda: "heron" in content() and content() != seen[-1])
        seen.append(content())
        await go_on(pilot, "N", lambda: "heron" in content() and content() != seen[-1])
        wanted = {
            "One heron at the weir.",
            "The other heron stood in the reeds.",
            "There was a grey heron on the jetty.",
        }
        assert len(set(seen) & wanted) >= 2


async def test_escape_returns_to_exactly_where_one_was(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    for number in range(30):
        claude_home.session(f"Filler {number}", turns=30)
    async with program(claude_home.home, size=(160, 40), now=datetime.now(UTC)) as pilot:  # no costs come in
        main = main_of(pilot)
        for _ in range(12):
            await pilot.press("down")
        await until(pilot, lambda: main.pane.summary and main.pane.summary.title == "Filler 17")
        await pilot.press("tab", "pageup", "pageup", "up", "up")
        await pilot.pause()
        view = main.pane.view
        before = (main.sessions.cursor, main.sessions.scroll_y, view.top, view.cursor, view.following)
        assert " match" not in screen_text(pilot).splitlines()[-1]
        shown = screen_text(pilot).splitlines()[2:-2]
        await search(pilot, "weir")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: main.pane.message and main.pane.message.content == "One heron at the weir.")
        assert screen_text(pilot).splitlines()[-1].startswith(" esc back  n match ")
        await pilot.press("escape")
        assert main.sessions.answer is not None and main.focused is main.sessions
        await pilot.press("escape")
        await until(pilot, lambda: not main.sessions.is_filtered)
        view = main.pane.view
        assert (main.sessions.cursor, main.sessions.scroll_y, view.top, view.cursor, view.following) == before
        assert main.parts.is_reading and main.box.value == ""
        assert screen_text(pilot).splitlines()[2:-2] == shown
        assert main.pane.finder.within is None


async def test_tab_completes_a_filter(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(100, 30)) as pilot:
        main = main_of(pilot)
        await pilot.press("slash", *"heron ag", "tab")
        assert main.box.value == "heron agent:"
        await pilot.press(*"cl", "tab")
        assert main.box.value == "heron agent:claude"
        await pilot.press("space", *"cwd", "colon", *"heron", "tab")
        assert main.box.value.endswith("cwd:/home/dev/heronry")
        assert isinstance(pilot.app.focused, SearchBox)
        await pilot.press("space", "tab")
        assert isinstance(pilot.app.focused, SessionList)  # nothing to complete


async def test_recent_and_saved_searches(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(100, 30), searches={"wet feet": "weir OR reeds"}) as pilot:
        main = main_of(pilot)
        for text in ("jetty", "weir"):
            await search(pilot, text)
            main.action_keep()
            await pilot.press("escape")
        await pilot.press("slash", "up")
        assert main.box.value == "weir"
        await pilot.press("up", "up")
        assert main.box.value == "jetty"
        await pilot.press("down", "down")
        assert main.box.value == ""
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        assert "wet feet" in screen_text(pilot)
        await pilot.press("a")
        await until(pilot, lambda: answered(main, "weir OR reeds"))
        assert titles(main) == ["A long walk"]
    assert Recent().queries[:2] == ["weir", "jetty"]


def test_recent_searches_are_the_owners_alone(tmp_path: Path) -> None:
    recent = Recent(tmp_path / "state" / "searches")
    for number in range(MOST + 20):
        recent.add(f"query {number}")
    recent.add("query 50")
    again = Recent(recent.path)
    assert again.queries == recent.queries
    assert len(again.queries) == MOST and again.queries[:2] == ["query 50", "query 119"]
    assert stat.S_IMODE(recent.path.stat().st_mode) == 0o600
    assert list(recent.path.parent.iterdir()) == [recent.path]
    assert Recent().path == paths.state_dir() / "searches"


def test_recent_searches_that_cannot_be_read_are_left_as_they_are(tmp_path: Path) -> None:
    recent = Recent(tmp_path / "searches")
    assert recent.queries == []  # not there is not unreadable
    recent.path.mkdir()  # for root, too, nothing that can be read
    (recent.path / "kept").write_text("old\n")
    again = Recent(recent.path)
    reason = r"cannot be read from .*searches \(it is a directory\).*move it away\.$"
    with pytest.raises(SearchesUnreadable, match=reason):
        _ = again.queries
    with pytest.raises(SearchesUnreadable):
        again.add("docker")
    assert again.queries == ["docker"]  # for as long as the program runs
    assert (recent.path / "kept").read_text() == "old\n"


def test_recent_searches_of_two_programs_and_bytes_of_any_kind_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "searches"
    path.write_bytes(b"caf\xe9\nplain\n")
    one, other = Recent(path), Recent(path)
    assert one.queries[0] == other.queries[0] == "plain"
    one.add("first")
    other.add("second \ud800")
    assert path.read_bytes() == b"caf\xe9\nplain\nfirst\nsecond ?\n"


async def test_an_unreadable_history_is_said_once(program: Program, claude_home: ClaudeHome) -> None:
    talk(claude_home)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        main = main_of(pilot)
        main.history.recent.path.mkdir(parents=True)
        for text in ("jetty", "weir"):
            await search(pilot, text)
            main.action_keep()
            await pilot.press("escape")
        await pilot.press("slash", "ctrl+r")
        await pilot.pause()
        said = toasts(pilot)
        assert sum("cannot be read" in one for one in said) == 1
        assert main.history.recent.path.is_dir()


async def test_two_thousand_odd_strings(program: Program, claude_home: ClaudeHome) -> None:
    """Whatever is in the box: no exception anywhere, and the box keeps it."""
    talk(claude_home)
    dice = chance(5)
    pieces = [
        *('"', "(", ")", "-", "OR", "NOT", "AND", "agent:", "cost:>", "since:7d", "is:live", "heron", "*", " ", ":"),
        *("漢字", "😀", "e\u0301", "\x1b[31m", "\u202e", "\x00", "tool:b", "cwd:/", "\\", "'", "[bold]", "{0}", "\t"),
    ]
    failed: list[object] = []
    hook, threading.excepthook = threading.excepthook, failed.append
    try:
        async with program(claude_home.home, size=(80, 24)) as pilot:
            main = main_of(pilot)
            main.action_filter()
            for number in range(2_000):
                text = "".join(dice.choice(pieces) for _ in range(dice.randrange(1, 9)))
                main.box.fill(text)
                main.search.filter()
                main.status.show_detail()
                if number % 50 == 0:
                    await pilot.pause()
            await search(pilot, "weir")
            assert titles(main) == ["A long walk"]
    finally:
        threading.excepthook = hook
    assert not failed


async def test_a_search_that_breaks_off_says_so_and_the_next_one_works(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(claude_home)
    run = Hunt.run

    def broken(hunt: Hunt) -> Iterator[SourceMatch]:
        raise RuntimeError("a secret that was read")

    async with program(claude_home.home, size=(100, 30)) as pilot:
        main = main_of(pilot)
        monkeypatch.setattr(Hunt, "run", broken)
        await search(pilot, "jetty")
        assert "The search for jetty broke off" in screen_text(pilot) and "searching" not in screen_text(pilot)
        await search(pilot, "heron")  # a name has it; what was said was not searched
        assert titles(main) == ["Something else"] and "· broken off" in screen_text(pilot)
        (said,) = toasts(pilot)
        assert said.startswith("The search broke off: unexpected error (RuntimeError); details are in ")
        monkeypatch.setattr(Hunt, "run", run)
        await search(pilot, "jetty")
        assert titles(main) == ["Birds of the lake"] and "1 of 3 sessions · all scanned" in screen_text(pilot)
