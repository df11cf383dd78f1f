"""What the header says of an answer: how many were found, and how much was searched for that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.sessions.catalogue import catalogue
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.index.service import IndexService
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.model import SourceMatch
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.main.screen import MainScreen
from indexing import build
from pilots import screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def main_of(pilot: Pilot[None]) -> MainScreen:
    return cast(HermesApp, pilot.app).main


def top(pilot: Pilot[None]) -> str:
    return screen_text(pilot).splitlines()[0].rstrip()


async def test_a_count_of_the_newest_alone_is_no_total(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(IndexService, "poke", lambda service, *, follow=True: None)  # there is no indexer
    for number in range(130):
        claude_home.say(claude_home.session(f"Walk {number}"), "assistant", "A heron stood there.")
    # Time stands still: no costs come in, for which the same would be asked again.
    async with program(claude_home.home, size=(140, 30), now=datetime.now(UTC)) as pilot:
        main = main_of(pilot)
        main.status.say_indexing("indexing 5 %")
        main.search_for("heron stood")
        await until(pilot, lambda: "+ of 130 sessions · " in top(pilot) and top(pilot).endswith(" % searched"))
        await until(pilot, lambda: main.search.results.snapshot is not None and main.search.results.snapshot.done)
        manager = cast(HermesApp, pilot.app).manager
        build(manager.environment, manager.index.path)
        before = main.search.results.snapshot
        main.status.say_indexing("indexing 6 %")  # only a figure
        await pilot.pause(0.2)
        assert main.search.results.snapshot is before
        main.status.say_indexing("indexing tools 5 %")
        await until(pilot, lambda: top(pilot).endswith("+ of 130 sessions · indexed 100 %"))
        before = main.search.results.snapshot
        main.status.say_indexing("")
        await pilot.pause(0.2)
        assert main.search.results.snapshot is before  # there was nothing left
        main.search_for("Answer Walk 7")
        await until(pilot, lambda: " 1 of 130 sessions · indexed 100 %" in top(pilot))
        main.search_for("heron agent:claude")
        await until(pilot, lambda: "+ of 130 sessions" in top(pilot))


async def test_an_answer_of_the_beginning_of_the_list_is_none_of_all(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        claude_home.say(claude_home.session(f"Walk {number}"), "assistant", "A heron stood there.")
    refresh, run, listed, answered = Catalogue.refresh, Hunt.run, threading.Event(), threading.Event()

    def late(catalogue: Catalogue, *agents: Iterable[str] | None, **asked: Any) -> Snapshot:
        assert listed.wait(60)
        return refresh(catalogue, *agents, **asked)

    def later(hunt: Hunt) -> Iterator[SourceMatch]:
        assert not listed.is_set() or answered.wait(60)
        yield from run(hunt)

    monkeypatch.setattr(Catalogue, "refresh", late)
    monkeypatch.setattr(Hunt, "run", later)
    monkeypatch.setattr(catalogue, "READ_FIRST", 1)
    async with program(claude_home.home, size=(140, 30), wait=False) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "1 session" in top(pilot))
        main.search_for("heron")
        await until(pilot, lambda: "1 of 1 session · searching …" in top(pilot))
        listed.set()
        await until(pilot, lambda: "of 3 sessions" in top(pilot))
        await pilot.pause(0.2)
        assert "1 of 3 sessions · searching …" in top(pilot)
        answered.set()
        await until(pilot, lambda: "3 of 3 sessions · all scanned" in top(pilot))
