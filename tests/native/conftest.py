"""Sessions that can be resumed, and programs to resume them with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from standins import StandIns

Manager = Callable[..., SessionManager]


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    """Alone on PATH."""
    programs = StandIns(tmp_path / "programs")
    monkeypatch.setenv("PATH", str(programs.bin))
    return programs


@pytest.fixture
def manager_for(tmp_path: Path) -> Manager:
    """`manager_for(home, NAME="value")`: a manager of that home, with these variables."""

    def make(home: Path, **variables: str) -> SessionManager:
        return SessionManager(
            Environment(home=home, variables=variables), cache_dir=tmp_path / "cache", indexed=False
        )

    return make
