"""Variables that name what is no directory: the program opens all the same, or says in a sentence what is wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from terminal import Terminal

pytestmark = pytest.mark.e2e

_SESSION = "The only session"
_SENTENCE = b"hermes-tui: "
_SITUATIONS: dict[str, str | bytes] = {
    "HOME=~": _SENTENCE,
    "HOME=relative": _SENTENCE,
    "XDG_CACHE_HOME={file}": _SESSION,
    "XDG_STATE_HOME=/proc/nowhere": _SESSION,
    "CLAUDE_CONFIG_DIR=/dev/zero": "No sessions",
    "HERMES_HOME={pipe}": _SESSION,
    "HERMES_HOME={home}/a/../b": _SESSION,
    "HERMES_HOME=a/../b": _SESSION,
}
"""Each with what comes of it: a sentence and no screen, or what the screen has."""


@pytest.mark.parametrize("situation", _SITUATIONS)
def test_it_opens_or_says_why_not(situation: str, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    home.session(_SESSION)
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    places = {"file": tmp_path / "file", "pipe": tmp_path / "pipe", "home": home.home}
    name, _, value = situation.format(**places).partition("=")
    expected = _SITUATIONS[situation]
    terminal = Terminal([sys.executable, "-m", "hermes_tui"], home=home.home, variables={name: value})
    try:
        if isinstance(expected, bytes):
            assert terminal.wait() in (1, 2)
            assert terminal.received.strip().count(b"\n") == 0, terminal.text
            assert terminal.received.startswith(expected)
            assert b"HOME" in terminal.received
        else:
            terminal.until(expected)
            terminal.quiet()
            terminal.send("q")
            assert terminal.wait() == 0
    finally:
        terminal.close()
    assert b"Traceback" not in terminal.received
    assert b"unexpected" not in terminal.received
    assert not list(home.home.rglob("*.log"))
