"""The real program tells a person of what changes: the bytes on its terminal, and those that tmux hands on."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from terminal import Terminal
from tmuxes import Client, Tmux, until

pytestmark = [pytest.mark.e2e]

SOON = 2.0
"""Seconds in which a person is told, where as many processes want to run as there are processors."""
BLUR, FOCUS = b"\x1b[O", b"\x1b[I"
PROGRAM = [sys.executable, "-m", "hermes_tui"]


def soon() -> float:
    """The same on this machine now."""
    return SOON * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def settings(folder: Path, form: str) -> dict[str, str]:
    file = folder / "config.toml"
    file.write_text(f'[attention]\nnotify = "{form}"\n')
    return {"HERMES_TUI_CONFIG": str(file)}


def without_titles(terminal: Terminal) -> bytes:
    """What the terminal received, but for its title and the like, which a bell ends."""
    return re.sub(rb"\x1b\][^\x07\x1b]*\x07", b"", terminal.received)


@pytest.fixture
def works(claude_home: ClaudeHome) -> str:
    """A session that works, in this very process."""
    session = claude_home.session("Clear the build").stem
    claude_home.process(session, "busy")
    return session


@pytest.fixture
def running(claude_home: ClaudeHome) -> Iterator[list[Terminal]]:
    found: list[Terminal] = []
    yield found
    for one in found:
        one.close()


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("bell", b"\x07"),
        ("osc9", "\x1b]9;approval · shop · Clear the build\x1b\\".encode()),
        ("osc777", "\x1b]777;notify;approval · shop;Clear the build\x1b\\".encode()),
        ("osc99", b":d=1:p=body;Clear the build\x1b\\"),
    ],
)
def test_a_change_is_told_on_the_terminal(
    claude_home: ClaudeHome, works: str, running: list[Terminal], tmp_path: Path, form: str, expected: bytes
) -> None:
    terminal = Terminal(PROGRAM, home=claude_home.home, variables=settings(tmp_path, form))
    running.append(terminal)
    terminal.until("41 sessions")
    os.write(terminal.master, b"A")
    terminal.until("● working")
    os.write(terminal.master, BLUR)
    terminal.quiet()
    assert expected not in without_titles(terminal), "what was so at the first look is not told"
    began = time.monotonic()
    claude_home.process(works, "waiting", waitingFor="permission prompt")
    terminal.until(lambda: expected in without_titles(terminal))
    assert time.monotonic() - began < soon()
    terminal.until("⚑ approval")
    assert without_titles(terminal).count(expected) == 1
    # While a person looks at it, there is the sign alone.
    os.write(terminal.master, FOCUS)
    claude_home.process(works, "waiting", waitingFor="input needed")
    terminal.until("? question")
    terminal.quiet()
    assert without_titles(terminal).count(expected) == 1
    assert b"question \xc2\xb7 shop" not in terminal.received


def test_a_person_is_told_while_an_editor_has_the_terminal(
    claude_home: ClaudeHome, works: str, running: list[Terminal], tmp_path: Path
) -> None:
    """The terminal had told of its keys, and tells of nothing while the editor has it."""
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho EDITOR READY\nread line\n")
    editor.chmod(0o700)
    variables = {**settings(tmp_path, "osc9"), "EDITOR": str(editor)}
    terminal = Terminal(PROGRAM, home=claude_home.home, variables=variables)
    running.append(terminal)
    terminal.until("41 sessions")
    os.write(terminal.master, b"A")
    terminal.until("● working")
    os.write(terminal.master, FOCUS + b"\x1b")
    terminal.until("41 sessions")
    os.write(terminal.master, b"v")
    terminal.until("EDITOR READY")
    claude_home.process(works, "waiting", waitingFor="permission prompt")
    terminal.until(lambda: b"\x1b]9;approval" in terminal.received)
    claude_home.process(works, "busy")
    assert "EDITOR READY" in terminal.text
    os.write(terminal.master, b"\n")
    terminal.until("41 sessions")
    os.write(terminal.master, b"A")
    terminal.until("● working")
    assert terminal.received.count(b"\x1b]9;approval") == 1


@pytest.mark.needs("tmux")
def test_tmux_hands_it_on(claude_home: ClaudeHome, works: str, tmp_path: Path) -> None:
    variables = {"HOME": str(claude_home.home), "LC_ALL": "C.UTF-8", **settings(tmp_path, "osc9")}
    told = "\x1b]9;approval · shop · Clear the build\x1b\\".encode()
    with Tmux((80, 24), PROGRAM, variables) as tmux:
        tmux.run("set-option", "-g", "allow-passthrough", "on")
        tmux.run("set-option", "-g", "focus-events", "on")
        tmux.until("41 sessions")
        client = Client(tmux, "0")
        client.press("A")
        until(lambda: "● working" in client.seen())
        tmux.run("split-window", "-t", "0:0.0", "sleep", "600")  # beside it: seen, and without the keys
        began = time.monotonic()
        claude_home.process(works, "waiting", waitingFor="permission prompt")
        until(lambda: told in client.shows)
        assert time.monotonic() - began < soon()
        assert client.shows.count(told) == 1
        client.close()
