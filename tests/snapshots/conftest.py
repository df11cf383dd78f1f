"""Pictures: the plugin's settings, a terminal of known colours, the static demo."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import environment_of, write_home
from hermes_tui.sessions.manager import SessionManager


@pytest.fixture(scope="session")
def plugin_settings() -> Mapping[str, str]:
    """Where the plugin keeps what it compares; taken before the first test's environment is emptied. It is not yet
    known when this module is imported."""
    return {name: value for name, value in os.environ.items() if name.startswith("TEXTUAL_SNAPSHOT_")}


@pytest.fixture(autouse=True)
def plugin_variables(
    plugin_settings: Mapping[str, str], isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin's own settings, and a terminal of known colours."""
    for name, value in plugin_settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(scope="module")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The static demo's home, written once."""
    home = tmp_path_factory.mktemp("demo")
    write_home(home, STATIC_NOW)
    return home


@pytest.fixture
def demo_manager(demo_home: Path, tmp_path: Path) -> SessionManager:
    """Reads the static demo."""
    return SessionManager(environment_of(demo_home), cache_dir=tmp_path / "cache")


@pytest.fixture(autouse=True)
def whole_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a part of an answer would be shown first, and what was looked at for that would stay."""
    monkeypatch.setattr("hermes_tui.tui.screens.main.search.GATHERING", 3600.0)
    monkeypatch.setattr("hermes_tui.tui.screens.main.search.PATIENCE", 3600.0)
