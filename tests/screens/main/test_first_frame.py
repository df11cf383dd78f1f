"""The first frame: with the list of the last run in it, and without any adapter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.color import Color
from textual.css.stylesheet import Stylesheet

from claude_lines import ClaudeHome
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.themes import THEMES
from pilots import screen_text, until
from session_adapters.base import Environment
from support import REPOSITORY

PROGRAM = """
import json, sys
from pathlib import Path
from hermes_tui.platform.memory_tuning import import_without
import_without("hashlib", "_hashlib", "_md5")
import_without("asyncio", "ssl")
from hermes_tui.tui.app import HermesApp
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.themes import THEMES
from session_adapters.base import Environment
manager = SessionManager(Environment(home=Path(sys.argv[1])), cache_dir=Path(sys.argv[2]))
app = HermesApp(manager)
found = {}
def painted():
    found["modules"] = sorted(sys.modules)
    found["titles"] = [row.conversation.title for row in app.main.sessions.rows if row.conversation]
    app.exit()
app._painted = painted
app.run(headless=True, size=(160, 45))
print(json.dumps(found), file=sys.stderr)
"""


def test_it_needs_no_adapter_no_entry_points_no_markdown_and_no_tls(claude_home: ClaudeHome, tmp_path: Path) -> None:
    claude_home.session("Mend the build")
    SessionManager(Environment(home=claude_home.home), cache_dir=tmp_path / "cache").catalogue.refresh()
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(claude_home.home), str(tmp_path / "cache")],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    found = json.loads(ran.stderr.splitlines()[-1])
    assert found["titles"] == ["Mend the build"]
    readers = {
        f"session_adapters.{name}"
        for name in ("activity", "base", "model", "registry", "stores", "text", "times", "usage")
    }
    reading = ("", ".bounds", ".damaged_places", ".decoding", ".files", ".lines")
    readers |= {f"session_adapters.reading{name}" for name in reading}
    loaded = {name for name in found["modules"] if name.startswith("session_adapters.")}
    assert loaded <= {*readers, "session_adapters.transcript"}
    unwanted = {"apsw", "watchfiles", "markdown_it", "importlib.metadata", "ssl", "_hashlib", "sqlite3"}
    assert unwanted.isdisjoint(found["modules"])


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_it_has_the_list_and_what_is_read_then_changes_nothing(
    claude_home: ClaudeHome,
    tmp_path: Path,
    program: Any,
    written: list[str],
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
) -> None:
    for number in range(30):
        claude_home.session(f"Session number {number}")
    SessionManager(Environment(home=claude_home.home), cache_dir=tmp_path / "cache").catalogue.refresh()
    drawn: list[int] = []
    async with program(claude_home.home, size=size) as pilot:
        full = [text for text in written if text.count("\n") == size[1] - 1]
        assert "Session number 29" in full[0]
        assert "30 sessions" in full[0]
        await until(pilot, lambda: pilot.app.query_one("#sessions").has_focus)
        sessions = pilot.app.query_one("#sessions")
        monkeypatch.setattr(sessions, "refresh_line", drawn.append)
        pilot.app.main.apply(pilot.app.main.snapshot, pilot.app.main.sessions.forest)
        assert drawn == []
        assert "Session number 29" in screen_text(pilot)


async def test_the_style_sheet_is_read_once_and_again_for_another_theme(
    claude_home: ClaudeHome, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    reparse = Stylesheet.reparse

    def count(sheet: Stylesheet) -> None:
        read.append("again")
        reparse(sheet)

    monkeypatch.setattr(Stylesheet, "reparse", count)
    async with program(claude_home.home, theme="hermes-light") as pilot:
        app = pilot.app
        light = next(one for one in THEMES if one.name == "hermes-light")
        assert light.background is not None
        assert app.screen.styles.background == Color.parse(light.background)
        assert read == []
        app.theme = "hermes-dark"
        dark = next(one for one in THEMES if one.name == "hermes-dark")
        assert dark.background is not None
        await until(pilot, lambda: app.screen.styles.background == Color.parse(dark.background or ""))
        assert read == ["again"]
