"""An image in the transcript: seen with its size, saved by `w`, shown by ↵ in the user's viewer."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from claude_lines import ClaudeHome
from hermes_tui.errors import ValidationError
from hermes_tui.platform.external_programs import viewer
from hermes_tui.platform.opened_files import file_to_show
from hermes_tui.tui.screens import attachments
from hermes_tui.tui.screens.dialogs.export import ARMED_AFTER
from hermes_tui.tui.screens.dialogs.save_file import SaveFile
from images import IMAGES, image_bytes
from pilots import main_of, toasts, until
from transcripts import rows_of

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture
def pictured(claude_home: ClaudeHome) -> Path:
    """The home of a session whose newest prompt has a picture, and something that only says it is one."""
    path = claude_home.session("See the picture")
    claude_home.say(path, "user", "PICTURES")
    svg = "PHN2Zy8+"
    blocks = [{"type": "text", "text": "look"}] + [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        for data in (IMAGES["png"], svg)
    ]
    path.write_text(path.read_text().replace('"PICTURES"', json.dumps(blocks)))
    return claude_home.home


async def _to_the_image(pilot: Pilot[None], *keys: str) -> None:
    pane = main_of(pilot).pane
    await pilot.press("enter")
    await until(pilot, lambda: pane.message is not None and pane.message.attachments)
    await pilot.press("g", "right_square_bracket", "i", *keys)
    await until(pilot, lambda: (piece := pane.view.piece()) is not None and piece.block.startswith("attachment"))


async def test_size_and_pixels_are_seen(program: Program, pictured: Path) -> None:
    async with program(pictured) as pilot:
        await _to_the_image(pilot)
        rows = rows_of(main_of(pilot).pane)
        known = f"[image/png, 37 × 21, {len(image_bytes('png'))} B]"
        assert any(known in row for row in rows)
        assert any("[image/png, 6 B]" in row for row in rows)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_it_is_saved_where_nothing_was(
    program: Program, pictured: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    there = tmp_path / "there.png"
    there.write_bytes(b"old")
    new = tmp_path / "new.png"
    async with program(pictured, size=size) as pilot:
        await _to_the_image(pilot, "w")
        await until(pilot, lambda: isinstance(pilot.app.screen, SaveFile))
        box = pilot.app.screen.query_one(Input)
        assert box.value.startswith("~/claude-see-the-picture-00000000-") and box.value.endswith("-1.png")
        box.value = str(there)
        await pilot.pause(ARMED_AFTER)
        await pilot.press("enter")
        await until(pilot, lambda: any("such a file already" in one for one in toasts(pilot)))
        box.value = str(new)
        await pilot.press("enter")
        await until(pilot, lambda: any(one.startswith("Wrote ") for one in toasts(pilot)))
    assert there.read_bytes() == b"old"
    assert new.read_bytes() == image_bytes("png")
    assert stat.S_IMODE(new.stat().st_mode) == 0o600


async def test_it_is_shown_in_the_viewer_of_the_user(
    program: Program, pictured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[list[str], bytes, int]] = []

    def run(app: object, argv: list[str]) -> int:
        path = Path(argv[-1])
        ran.append((argv[:-1], path.read_bytes(), stat.S_IMODE(path.stat().st_mode)))
        assert path.suffix == ".png" and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        return 0

    monkeypatch.setattr(attachments, "run_outside", run)
    monkeypatch.setenv("HERMES_TUI_VIEWER", f"{sys.executable} -I")
    async with program(pictured) as pilot:
        await _to_the_image(pilot, "enter")
        await until(pilot, lambda: ran)
        await pilot.press("j", "enter")  # on what is no picture at all
        await until(pilot, lambda: any("w saves what this is" in one for one in toasts(pilot)))
    assert ran == [([sys.executable, "-I"], image_bytes("png"), 0o600)]
    assert not list((tmp_path / "isolated-home").rglob("image-*"))


async def test_the_program_of_the_desktop_is_not_waited_for(
    program: Program, pictured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    opener, copy = tools / "xdg-open", tmp_path / "copy"
    opener.write_text(f'#!/bin/sh\ncat "$1" > {copy}.part && mv {copy}.part {copy}\n')
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setattr(sys, "platform", "linux")
    async with program(pictured) as pilot:
        await _to_the_image(pilot, "enter")
        await until(pilot, copy.exists)
        await until(pilot, lambda: any("Opened with xdg-open." in one for one in toasts(pilot)))
    assert copy.read_bytes() == image_bytes("png")


async def test_without_a_display_it_is_said(
    program: Program, pictured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text("#!/bin/sh\n")
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "linux")
    async with program(pictured) as pilot:
        await _to_the_image(pilot, "enter")
        await until(pilot, lambda: any("no display here; set $HERMES_TUI_VIEWER" in one for one in toasts(pilot)))


async def test_a_line_without_one_says_so(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("No picture")
    async with program(claude_home.home) as pilot:
        pane = main_of(pilot).pane
        await pilot.press("enter")
        await until(pilot, lambda: pane.message is not None)
        await pilot.press("w")
        await until(pilot, lambda: any("no image on this line" in one for one in toasts(pilot)))


def test_which_viewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ValidationError, match="xdg-open is not installed"):
        viewer({"DISPLAY": ":0"})
    (tmp_path / "xdg-open").write_text("#!/bin/sh\n")
    (tmp_path / "xdg-open").chmod(0o700)
    assert viewer({"WAYLAND_DISPLAY": "w"}) == (["xdg-open"], False)
    assert viewer({"HERMES_TUI_VIEWER": "xdg-open -x 'a b'"}) == (["xdg-open", "-x", "a b"], True)
    with pytest.raises(ValidationError, match="HERMES_TUI_VIEWER names 'nothing-of-that-name'"):
        viewer({"HERMES_TUI_VIEWER": "nothing-of-that-name"})
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ValidationError, match="open is not installed"):
        viewer({})


def test_files_to_show_are_swept_after_a_day(isolated_home: Path) -> None:
    import os

    old = file_to_show(b"a", ".png")
    os.utime(old, (0, 0))
    new = file_to_show(b"b", ".gif")
    assert not old.exists() and new.read_bytes() == b"b" and new.suffix == ".gif"
    assert stat.S_IMODE(new.stat().st_mode) == 0o600 and new.is_relative_to(isolated_home)
