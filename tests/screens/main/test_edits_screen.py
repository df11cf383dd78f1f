"""All edits of a session, in the whole program."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.errors import ParseError
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.export import ExportScreen
from hermes_tui.tui.screens.edits import EditsScreen
from hermes_tui.tui.widgets.diff.edits_view import EditsView
from pilots import screen_text, toasts, until
from transcripts import GrowingTranscript, talk

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def view_of(pilot: Pilot[None]) -> EditsView:
    return pilot.app.screen.query_one(EditsView)


def act(claude_home: ClaudeHome, path: Path, **given: Any) -> None:
    """Append a call that edits a file, and its result."""
    claude_home.say(path, "assistant", "I change it.")
    *before, last = path.read_text().splitlines()
    record = json.loads(last)
    call = {"type": "tool_use", "id": f"toolu_{len(before)}", "name": "Edit", "input": given}
    record["message"]["content"].append(call)
    path.write_text("\n".join((*before, json.dumps(record))) + "\n")
    claude_home.say(path, "user", "placeholder")
    *before, last = path.read_text().splitlines()
    record = json.loads(last)
    record["message"]["content"] = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}]
    path.write_text("\n".join((*before, json.dumps(record))) + "\n")


@pytest.fixture
def home(claude_home: ClaudeHome) -> Path:
    """A session that edits two files, one of them twice."""
    path = claude_home.session("Mend the roof")
    act(claude_home, path, file_path="/home/dev/shop/roof.py", old_string="a\nslate\nb", new_string="a\ncopper\nb")
    act(claude_home, path, file_path="/home/dev/shop/cart.py", old_string="x", new_string="y\n\x1b[31mz")
    act(claude_home, path, file_path="/home/dev/shop/roof.py", old_string="c\nd\ne", new_string="c\ne")
    return claude_home.home


async def shown(pilot: Pilot[None]) -> EditsView:
    """The screen, once all is read."""
    await pilot.press("D")
    await until(pilot, lambda: isinstance(pilot.app.screen, EditsScreen) and pilot.app.screen.edits)
    return view_of(pilot)


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (30, 10)])
async def test_all_edits_stand_below_their_files(program: Program, home: Path, size: tuple[int, int]) -> None:
    async with program(home, size=size) as pilot:
        view = await shown(pilot)
        text = [row.rstrip() for row in screen_text(pilot).splitlines()]
        if size[0] < 80:
            return
        assert text[0].endswith("1 of 2 files · +3 −3") and "Mend the roof" in text[0]
        roof = next(at for at, row in enumerate(text) if row.startswith("▾ roof.py  +1 −2 · 2 edits"))
        assert text[roof + 1 : roof + 6] == ["  @@ place not known @@", "    a", "  - slate", "  + copper", "    b"]
        assert any("its place in the file is not known" in row for row in text)
        assert "  + ␛[31mz" not in text and "  + z" in text
        await pilot.press("n")
        await until(pilot, lambda: "2 of 2 files" in screen_text(pilot))
        await pilot.press("enter")
        assert "  - x" not in screen_text(pilot) and "▸ cart.py" in screen_text(pilot)
        await pilot.press("z")
        assert "slate" not in screen_text(pilot)
        await pilot.press("z", "n")
        assert "slate" in screen_text(pilot) and toasts(pilot) == ["There is no file after this one."]
        assert view.file == 1
        await pilot.press("N")
        assert view.file == 0
        await pilot.press("escape")
        await until(pilot, lambda: cast(HermesApp, pilot.app).main is pilot.app.screen)


async def test_e_writes_them_as_a_patch(program: Program, home: Path, tmp_path: Path) -> None:
    async with program(home) as pilot:
        await shown(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        assert "[patch]" in screen_text(pilot) and "--format patch" in screen_text(pilot)
        wish = cast(ExportScreen, pilot.app.screen).wish
        assert wish.path.suffix == ".patch"
        await pilot.press("escape", "escape")
        await until(pilot, lambda: cast(HermesApp, pilot.app).main is pilot.app.screen)


async def test_a_session_without_edits_says_so(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Only talk")
    async with program(claude_home.home) as pilot:
        await shown(pilot)
        assert "No call of this session edited a file." in screen_text(pilot)
        await pilot.press("e", "n", "enter", "z")
        assert len(toasts(pilot)) == 3 and isinstance(pilot.app.screen, EditsScreen)


async def test_no_key_lays_out_more_than_it_has_time_for(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("Rewrite everything")
    for number in range(6):
        old, new = ("".join(f"{word} {line}\n" for line in range(900)) for word in ("old", "new"))
        act(claude_home, path, file_path=f"f{number}.py", old_string=old, new_string=new)
    act(claude_home, path, file_path="g.py", old_string="a\n" * 5000, new_string="b\n" * 5000)
    async with program(claude_home.home, size=(80, 60)) as pilot:
        view = await shown(pilot)
        assert view.count == 7
        await pilot.press("z")
        assert toasts(pilot) == ["The first 2 files are open: there are too many lines for all."]
        assert view.count == 7 + 2 * (1 + 1 + 1800)
        await pilot.press("z", "end", "enter", "end")
        assert "… there is more" in screen_text(pilot) and view.count == 7 + 4001


async def test_what_cannot_be_read_is_said(program: Program, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ParseError("cannot read this")

    async with program(home) as pilot:
        monkeypatch.setattr(cast(HermesApp, pilot.app).manager, "open", refuse)
        await pilot.press("D")
        await until(pilot, lambda: "Cannot be read: cannot read this" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: cast(HermesApp, pilot.app).main is pilot.app.screen)


async def test_what_is_missing_of_the_session_is_said(
    program: Program, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Torn(GrowingTranscript):
        def earlier(self) -> int:
            return 0

    async with program(home) as pilot:
        monkeypatch.setattr(cast(HermesApp, pilot.app).manager, "open", lambda *_: Torn(talk(9), page=3))
        await shown(pilot)
        assert "not all could be read" in screen_text(pilot).splitlines()[0]


async def test_esc_ends_a_long_reading_that_says_how_far_it_is(
    program: Program, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = Event()
    pages: list[int] = []

    class Endless(GrowingTranscript):
        def earlier(self) -> int:
            pages.append(1)
            over.wait(0.01)
            return 1

    async with program(home) as pilot:
        monkeypatch.setattr(cast(HermesApp, pilot.app).manager, "open", lambda *_: Endless(talk(2400), page=1200))
        await pilot.press("D")
        await until(pilot, lambda: "Reading … 1,200 messages" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: cast(HermesApp, pilot.app).main is pilot.app.screen)
        await pilot.pause(0.1)
        read = len(pages)
        await pilot.pause(0.1)
        assert len(pages) == read
    over.set()
