"""A home with sample stores of several agents, and the server's tools on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from hermes_tui.mcp.scope import Scope
from hermes_tui.mcp.server import make_server
from hermes_tui.mcp.tools import AgentTools
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from support import STORES

AGENTS = ("claude", "codex", "gemini", "hermes")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home."""
    place = tmp_path / "home"
    for agent in AGENTS:
        shutil.copytree(STORES / agent / "home", place, symlinks=True, dirs_exist_ok=True)
    return place


@pytest.fixture
def sampled(home: Path, tmp_path: Path) -> SessionManager:
    """Reads that home alone."""
    return SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", indexed=False)


Connect = Callable[..., Client]


@pytest.fixture
def connect(sampled: SessionManager) -> Connect:
    """`connect()` is a client in memory; keywords restrict what is seen."""

    def make(**given: Any) -> Client:
        scope = Scope(sampled, **{"ancestors": (), **given})
        return Client(make_server(AgentTools(sampled, scope), scope))

    return make
