"""Export, copy, and reading elsewhere, in the whole program."""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from claude_lines import ClaudeHome
from hermes_tui.errors import ValidationError
from hermes_tui.platform import clipboard, external_programs
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs import export as export_screen
from hermes_tui.tui.screens.dialogs.copy import copyables
from hermes_tui.tui.screens.dialogs.export import ExportScreen
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from made import session
from pilots import screen_text, toasts, until
from session_adapters.model import Message, ToolCall
from tmuxes import Tmux

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]
KEY = "ghp_" + "a1B2" * 9


def app_of(pilot: Pilot[None]) -> HermesApp:
    return cast(HermesApp, pilot.app)


def content(path: str) -> tuple[str, int] | None:
    """Text and mode of a file; None where there is none."""
    file = Path(path)
    return (file.read_text(), stat.S_IMODE(file.stat().st_mode)) if file.exists() else None


def written_to(folder: Path) -> list[Path]:
    return list(folder.glob("*.md"))


def in_toasts(pilot: Pilot[None]) -> str:
    """What stands in toasts, without blanks and their left borders."""
    lines = [line.ljust(pilot.app.size.width) for line in screen_text(pilot).splitlines()]
    found = ""
    for toast in pilot.app.screen.query("Toast"):
        left, right = toast.region.x, toast.region.right
        found += "".join(line[left:right] for line in lines[toast.region.y : toast.region.bottom])
    return "".join(found.replace("▌", "").split())


def copied(pilot: Pilot[None], ending: str) -> bool:
    return pilot.app.clipboard.endswith(ending)


@pytest.fixture(autouse=True)
def no_multiplexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)


async def dialog(pilot: Pilot[None]) -> ExportScreen:
    await pilot.press("e")
    await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
    return cast(ExportScreen, pilot.app.screen)


async def test_export_as_chosen(
    program: Program, claude_home: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_screen, "ARMED_AFTER", 0.0)
    claude_home.session(f"Use {KEY} for it")
    async with program(claude_home.home) as pilot:
        screen = await dialog(pilot)
        box = screen.query_one("#file", Input)
        assert box.value.startswith("~/claude-use-ghp_") and box.value.endswith(".md")
        await pilot.press("right", "down", "right")
        assert box.value.endswith(".html")
        assert "ghp_" not in box.value
        assert "--format html --redact" in " ".join(screen_text(pilot).replace("│", " ").split())
        await pilot.press("down", "down", "down")
        assert pilot.app.focused is box
        target = tmp_path / "out.json"
        box.value = str(target)
        await pilot.press("up", "up", "up", "up", "right", "enter")
        await until(pilot, lambda: toasts(pilot))
        (said,) = toasts(pilot)
        assert str(target) in said and "1 secret masked" in said
        found = json.loads(target.read_text())
        assert KEY not in target.read_text()
        assert found["messages"][0]["content"] == "Use [masked: GitHub token] for it"
        assert stat.S_IMODE(target.stat().st_mode) == 0o600


async def test_export_keeps_an_old_file_unless_told(
    program: Program, claude_home: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_screen, "ARMED_AFTER", 0.0)
    claude_home.session("Alone")
    target = tmp_path / "old.md"
    target.write_text("old")
    async with program(claude_home.home) as pilot:
        screen = await dialog(pilot)
        screen.query_one("#file", Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: any("there already" in one for one in toasts(pilot)))
        assert target.read_text() == "old"
        screen = await dialog(pilot)
        screen.query_one("#file", Input).value = str(target)
        await pilot.press("down", "down", "down", "right", "enter")
        await until(pilot, lambda: any("Wrote" in one for one in toasts(pilot)))
        assert target.read_text().startswith("# Alone")


async def test_keys_typed_ahead_write_nothing(
    program: Program, claude_home: ClaudeHome, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_screen, "ARMED_AFTER", 3600.0)
    claude_home.session("Alone")
    async with program(claude_home.home) as pilot:
        await pilot.press("e", "enter", "enter")
        assert isinstance(pilot.app.screen, ExportScreen)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is app_of(pilot).main)
        assert written_to(isolated_home) == []


async def test_another_format_leaves_the_cursor_behind_the_name(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Alone")
    async with program(claude_home.home) as pilot:
        screen = await dialog(pilot)
        box = screen.query_one("#file", Input)
        await pilot.press("right", "down", "down", "down", "down")
        assert pilot.app.focused is box and box.value.endswith(".html")
        await pilot.press("ctrl+u", *"talk.html")
        assert box.value == "talk.html"


@pytest.mark.parametrize("size", [(80, 24), (40, 15)])
async def test_the_dialogs_fit(program: Program, claude_home: ClaudeHome, size: tuple[int, int]) -> None:
    claude_home.session("A rather long title of a session about many things " * 3)
    async with program(claude_home.home, size=size) as pilot:
        await dialog(pilot)
        text = screen_text(pilot)
        assert "[markdown]" in text and "hermes-tui sessions export" in text.replace("\n", " ")
        assert all(len(line) <= size[0] for line in text.splitlines())
        await pilot.press("right", "right", "right")
        assert "[jsonl]" in screen_text(pilot)
        await pilot.press("escape", "y")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        assert "session id" in screen_text(pilot)


async def test_what_went_wrong_can_be_read_on_a_small_screen(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_screen, "ARMED_AFTER", 0.0)
    path = claude_home.session("Alone")
    async with program(claude_home.home, size=(40, 15)) as pilot:
        await dialog(pilot)
        path.unlink()
        await pilot.press("enter")
        await until(pilot, lambda: toasts(pilot))
        (said,) = toasts(pilot)
        await until(pilot, lambda: "".join(said.split()) == in_toasts(pilot))


async def test_copying(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("Show me")
    claude_home.say(path, "assistant", "Run this:\n\n```sh\nmake all\n```\n\nThen \x1b[31mstop\x1b[0m\x07.")
    async with program(claude_home.home) as pilot:
        await pilot.press("y", "i")
        await until(pilot, lambda: pilot.app.clipboard == f"claude:{path.stem}")
        await pilot.press("enter")
        await until(pilot, lambda: "make all" in screen_text(pilot))
        await pilot.press("y", "1")
        await until(pilot, lambda: pilot.app.clipboard == "make all")
        await pilot.press("y", "m")
        await until(pilot, partial(copied, pilot, "Then stop␇."))
        await pilot.press("y", "down", "enter")
        await until(pilot, lambda: pilot.app.clipboard == "make all")
        await pilot.press("y", "escape")
        await until(pilot, lambda: pilot.app.screen is app_of(pilot).main)
        assert any("Copied" in one for one in toasts(pilot))


def test_a_directory_whose_name_was_made_text_is_said_to_be_another(tmp_path: Path) -> None:
    real = Path(os.fsdecode(os.fsencode(tmp_path / "caf") + b"\xe9"))
    real.mkdir()
    (honest := tmp_path / "odd \ufffd name").mkdir()
    for cwd, said in ((str(tmp_path / "caf\ufffd"), True), (str(honest), False)):
        (one,) = (one for one in copyables(session("abc", cwd=cwd), None) if one.choice.key == "d")
        assert one.text == cwd and one.choice.detail.startswith("not its real name") is said


async def test_how_long_a_text_is_can_be_read_at_80_columns(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("\n".join(["What is to be done about the heron in the pond?"] * 8))
    async with program(claude_home.home, size=(80, 24)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "heron" in screen_text(pilot))
        await pilot.press("y")
        await until(pilot, lambda: "session id" in screen_text(pilot))
        assert "… 8 lines" in screen_text(pilot)


def test_what_can_be_copied() -> None:
    calls = (
        ToolCall(tool_call_id="1", tool_name="Bash", input={"command": "ls -l"}, output="total 0\n\x1b[2Jx"),
        ToolCall(tool_call_id="2", tool_name="shell", input={"command": ["bash", "-lc", "echo 'a b'"]}),
    )
    message = Message(
        role="assistant", content="```py\nprint()\n```\n\n    indented\n", thinking="Hm", tool_calls=calls
    )
    found = copyables(session("abc", cwd="/srv/x y"), message)
    assert [(one.choice.key, one.choice.label, one.text) for one in found] == [
        ("m", "message", "```py\nprint()\n```\n\n    indented\n"),
        ("t", "thinking", "Hm"),
        ("1", "code py", "print()"),
        ("2", "code", "indented"),
        ("3", "ran", "ls -l"),
        ("4", "output", "total 0\n␛[2Jx"),
        ("5", "ran", "bash -lc 'echo '\"'\"'a b'\"'\"''"),
        ("i", "session id", "claude:abc"),
        ("n", "native id", "abc"),
        ("d", "directory", "/srv/x y"),
        ("s", "command", "hermes-tui sessions show claude:abc"),
    ]


async def test_what_is_copied_can_be_masked(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("Use it")
    claude_home.say(
        path, "assistant", f"Take this:\n\n```sh\nexport GH={KEY}\n```\n\nand postgres://u:hunter22@db/x."
    )
    async with program(claude_home.home, size=(80, 24)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "hunter22" in screen_text(pilot))
        await pilot.press("y")
        await until(pilot, lambda: "secrets: kept" in screen_text(pilot))
        assert "x mask secrets" in screen_text(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "secrets: 2 masked" in screen_text(pilot))
        shown = screen_text(pilot)
        assert "export GH=[masked: GitHub token]" in shown and KEY[:12] not in shown
        await pilot.press("1")
        await until(pilot, lambda: pilot.app.clipboard == "export GH=[masked: GitHub token]")
        assert toasts(pilot)[-1].endswith("1 secret masked in 1 place: 1 GitHub token.")
        await pilot.press("y", "x", "i")  # at once: what is not masked on the screen yet is masked when it is copied
        await until(pilot, lambda: pilot.app.clipboard == f"claude:{path.stem}")
        assert toasts(pilot)[-1].endswith("No secrets found to mask.")
        await pilot.press("y", "x", "x")
        await until(pilot, lambda: "secrets: kept" in screen_text(pilot))
        await pilot.press("1")
        await until(pilot, lambda: pilot.app.clipboard == f"export GH={KEY}")
        await pilot.press("y", "x", "m")
        await until(pilot, lambda: "2 secrets masked" in toasts(pilot)[-1])
        assert KEY not in pilot.app.clipboard and "hunter22" not in pilot.app.clipboard


async def test_the_agents_own_command_is_copied(
    program: Program, claude_home: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    claude = tmp_path / "claude"
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    path = claude_home.session("Go on")
    async with program(claude_home.home) as pilot:
        for key, last in (("r", path.stem), ("f", "--fork-session")):
            await pilot.press("y", key)
            await until(pilot, partial(copied, pilot, last))
            there, _, command = pilot.app.clipboard.partition(" && ")
            assert shlex.split(there) == ["cd", "--", "/home/dev/shop"]
            argv = [word for word in shlex.split(command) if "=" not in word]  # variables first: another home is read
            assert argv == ["claude", "--resume", path.stem, "--fork-session"][: 3 if key == "r" else 4]
        assert any("is gone" in one for one in toasts(pilot))


@pytest.mark.parametrize(
    ("agent", "home", "offered"),
    [
        ("claude", "home", "rf"),
        ("codex", "home", "rf"),
        ("copilot", "home", "r"),
        ("cursor", "home", "r"),
        ("gemini", "home", "r"),
        ("hector", "home", "r"),
        ("hermes", "home", "r"),
        ("omp", "home", "rf"),
        ("openclaw", "home", "rf"),
        ("opencode", "home", "rf"),
        ("pi", "home", "rf"),
    ],
)
async def test_only_commands_that_the_agent_has_are_offered(
    program: Program, store: Callable[..., Path], agent: str, home: str, offered: str
) -> None:
    """`offered`: what FACTS.md beside the store says of sessions that can be resumed or forked from a shell."""
    seen: set[str] = set()
    async with program(store(agent, home)) as pilot:
        app = app_of(pilot)
        await pilot.press("Z")
        rows = [at for at, row in enumerate(app.main.sessions.rows) if row.conversation is not None]
        for at in rows:
            app.main.sessions.go(at)
            summary = app.main.parts.subject
            assert summary is not None
            await pilot.press("y")
            menu = cast(MenuScreen, app.screen)
            keys = {one.key for one in menu.choices} & {"r", "f"}
            assert keys <= set(offered), summary
            # A chat of the editor cannot be resumed from a shell, nor can a helper.
            able = not (agent == "cursor" and summary.raw.get("layout") != "chat")
            if able and summary.kind is None and not summary.gone:
                assert keys == set(offered), summary
            seen |= keys
            await pilot.press("escape")
    assert seen == set(offered)


async def test_the_palette_has_them_too(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Alone")
    async with program(claude_home.home) as pilot:
        app = app_of(pilot)
        offered = {one.title: one.run for one in app.commands()}
        expected = {"Compare", "Copy", "Export", "Fork", "Open in the editor", "Read in the pager", "Resume"}
        assert expected <= offered.keys()
        offered["Export"]()
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        elsewhere = {one.title for one in app.commands()}
        assert not expected & elsewhere  # they act on the list or the transcript
        await pilot.press("escape")
        offered["Copy"]()
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))


async def test_too_much_for_a_clipboard_goes_into_a_file(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Alone")
    async with program(claude_home.home) as pilot:
        said = clipboard.copy(pilot.app, "x" * 80_000)
        assert content(said.rpartition(" ")[2]) == ("x" * 80_000, 0o600)
        assert pilot.app.clipboard == ""


@pytest.mark.needs("tmux")
async def test_inside_tmux_its_buffer_is_taken(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a real server of our own."""
    claude_home.session("Alone")
    with Tmux((80, 24), ["cat"], {}) as tmux:
        monkeypatch.setenv("TMUX", f"{tmux.socket},1,0")
        async with program(claude_home.home) as pilot:
            assert "tmux" in clipboard.copy(pilot.app, "für dich\n" * 20_000)
        assert tmux.run("show-buffer") == "für dich\n" * 20_000


async def test_no_terminal_to_hand_over_is_said(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_home.session("Alone")
    monkeypatch.setenv("PAGER", "cat")
    async with program(claude_home.home) as pilot:
        await pilot.press("p")
        await until(pilot, lambda: any("run it yourself: cat " in one for one in toasts(pilot)))
        assert content(toasts(pilot)[0].rpartition(" ")[2]) is None  # what was written for it is gone again
        monkeypatch.setenv("EDITOR", "no-such-editor -x")
        await pilot.press("v")
        await until(pilot, lambda: any("no-such-editor" in one for one in toasts(pilot)))


def test_which_pager_and_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cat", "head", "more"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert external_programs.pager({"PAGER": "cat -A 'x y'"}) == ["cat", "-A", "x y"]
    assert external_programs.editor({"EDITOR": "cat", "VISUAL": "head -1"}) == ["head", "-1"]
    for value in ("no-such-program", "'unclosed"):
        with pytest.raises(ValidationError, match=r"\$PAGER"):
            external_programs.pager({"PAGER": value})
    assert external_programs.pager({"PAGER": "  "}) == ["more"]
    (tmp_path / "more").unlink()
    with pytest.raises(ValidationError, match=r"set \$PAGER"):
        external_programs.pager({})
