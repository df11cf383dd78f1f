"""From match to match with `n` and `N`: through all parts of a conversation, to the next, and back the same way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.config import Config
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from pilots import main_of, toasts, until
from session_adapters.base import Environment
from tiny_home import START, TinyHome

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]
Stop = tuple[str, str]
"""A session's native id, and what its message under the cursor says."""


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[[Path], AbstractAsyncContextManager[Pilot[None]]]:
    """The program on a `TinyHome`."""

    @asynccontextmanager
    async def run(home: Path) -> AsyncIterator[Pilot[None]]:
        manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=("tiny",))
        app = HermesApp(manager, Config())
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await until(pilot, lambda: app.main.snapshot.places)
            yield pilot

    return run


async def search(pilot: Pilot[None], text: str) -> None:
    """Type it, wait for the complete answer, and open the first of it."""
    main = main_of(pilot)
    main.action_filter()
    main.search_for(text)

    def answered() -> bool:
        shown = main.search.results.snapshot
        return shown is not None and shown.done and shown.query.text == text

    await until(pilot, answered)
    main.action_keep()
    await pilot.press("g", "enter")
    await until(pilot, lambda: here(pilot) is not None)


def here(pilot: Pilot[None]) -> Stop | None:
    """Where one is; None on the way."""
    main = main_of(pilot)
    pane = main.pane
    if not main.transcript.is_settled or pane.summary is None or pane.message is None:
        return None
    return pane.summary.session_id, pane.message.content


async def walk(pilot: Pilot[None], key: str) -> list[Stop]:
    """All places from here to the last one, this one first."""
    found = [here(pilot)]
    pilot.app.clear_notifications()
    while True:
        await pilot.press(key)
        await until(pilot, lambda: here(pilot) not in (None, found[-1]) or toasts(pilot))
        if any("again goes to" in said for said in toasts(pilot)):
            assert here(pilot) == found[-1]
            pilot.app.clear_notifications()
            await pilot.press(key)
            await until(pilot, lambda: here(pilot) not in (None, found[-1]) or toasts(pilot))
        if toasts(pilot):
            return [one for one in found if one is not None]
        found.append(here(pilot))


def long_walk(home: ClaudeHome) -> Path:
    """A session of which only the end is read at first, with a heron at either end of it."""
    long = home.session("Long walk")
    home.say(long, "assistant", "The first heron.")
    for number in range(400):
        home.say(long, "assistant", f"We went on past {number}, " + "and on, " * 600)
    home.say(long, "assistant", "The last heron.")
    return long


def prompts(path: Path) -> list[Stop]:
    """What was asked in a session, from its file."""
    records = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [(path.stem, record["text"]) for record in records if record["role"] == "user"]


async def test_through_all_parts_and_the_same_way_back(
    tiny_home: TinyHome, tiny: Callable[[Path], AbstractAsyncContextManager[Pilot[None]]]
) -> None:
    """The row's own part, the others newest first, then the next row; a part without a match is no stop."""
    tiny_home.add("original", turns=2)
    for number, turns in enumerate((6, 1, 3), 1):
        tiny_home.add(f"fork-{number}", turns=turns, at=START + timedelta(days=number), parent="original")
    quiet = tiny_home.add("quiet", turns=0, at=START + timedelta(days=9), parent="original")
    with quiet.open("a") as file:
        file.write(json.dumps({"role": "user", "text": "silence", "at": START.isoformat()}) + "\n")
    tiny_home.add("other", turns=2, at=START - timedelta(days=5))
    async with tiny(tiny_home.home) as pilot:
        await search(pilot, "question")
        rows = [one.summary.session_id for one in main_of(pilot).search.results.snapshot.results]  # type: ignore[union-attr]
        assert len(rows) == 2 and "other" in rows
        first = next(one for one in rows if one != "other")
        parts = [first, *(one for one in ("fork-3", "fork-2", "fork-1", "original") if one != first)]
        order = [*parts, "other"] if rows[-1] == "other" else ["other", *parts]
        expected = [stop for name in order for stop in prompts(tiny_home.store / f"{name}.jsonl")]
        await walk(pilot, "N")
        assert await walk(pilot, "n") == expected
        assert await walk(pilot, "N") == expected[::-1]


async def test_into_a_long_session_at_its_first_match(program: Program, claude_home: ClaudeHome) -> None:
    """Also where its beginning was not read yet, and whichever of its matches fits best."""
    long = long_walk(claude_home)
    claude_home.say(long, "assistant", "The end.")
    short = claude_home.session("Short walk")
    herons = ["A heron.", "Another heron.", "One more heron."]
    for said in herons:
        claude_home.say(short, "assistant", said)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        await search(pilot, "role:assistant heron")  # the one with more of them comes first
        await walk(pilot, "N")
        expected = [(short.stem, said) for said in herons]
        expected += [(long.stem, "The first heron."), (long.stem, "The last heron.")]
        assert await walk(pilot, "n") == expected
        assert await walk(pilot, "N") == expected[::-1]


async def test_keys_on_the_way_to_a_match_do_not_lead_past_it(program: Program, claude_home: ClaudeHome) -> None:
    long = long_walk(claude_home)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        await search(pilot, "role:assistant heron")
        pane = main_of(pilot).pane
        await until(pilot, lambda: here(pilot) == (long.stem, "The last heron."))
        assert not pane.view.complete
        pane.finder.enter(1)
        assert here(pilot) is None
        for _ in range(3):
            pane.finder.find_next(1)
        await until(pilot, lambda: here(pilot) is not None)
        assert here(pilot) == (long.stem, "The first heron.") and not toasts(pilot)
        pane.finder.enter(-1)
        pane.finder.find_next(-1)
        await until(pilot, lambda: here(pilot) == (long.stem, "The last heron."))
        assert not toasts(pilot)


async def test_no_more_is_read_than_the_first_match_takes(program: Program, claude_home: ClaudeHome) -> None:
    long = claude_home.session("Long walk")
    for number in range(900):
        claude_home.say(long, "assistant", f"We went on past {number}, " + "and on, " * 600)
        if number in (300, 600):
            claude_home.say(long, "assistant", f"Heron {number}.")
    ids = {
        record["message"]["content"][0]["text"]: record["message"]["id"]
        for record in map(json.loads, long.read_text().splitlines())
        if record["type"] == "assistant"
    }
    async with program(claude_home.home, size=(80, 24)) as pilot:
        await search(pilot, "heron")
        pane, main = main_of(pilot).pane, main_of(pilot)
        await until(pilot, lambda: here(pilot) == (long.stem, "Heron 600."))
        assert main.search.results.query is not None and pane.summary is not None
        (part,) = main.search.engine.parts(main.search.results.query, pane.summary.unified_id)
        assert part.messages == {ids["Heron 300."], ids["Heron 600."]}
        pane.finder.enter(1, part.messages)
        await until(pilot, lambda: here(pilot) == (long.stem, "Heron 300."))
        assert not pane.view.complete
