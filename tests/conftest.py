"""What every test gets: a home of its own, and copies of the stores that the real programs wrote."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session_adapters.base import Environment
from session_adapters.model import Problem
from support import STORES

_KEPT = {"PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "HERMES_TUI_SHARED", "PYTHONPATH", "VIRTUAL_ENV", "CI"}


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No test sees the developer's own home, agents or settings."""
    home = tmp_path / "isolated-home"
    home.mkdir()
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith("PYTEST"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    yield home


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., Path]:
    """`store("claude", "home")` copies that sample store to a temporary directory and returns the copy."""

    def copy(agent: str, *parts: str) -> Path:
        target = tmp_path / "-".join((agent, *parts))
        shutil.copytree(STORES.joinpath(agent, *parts), target, symlinks=True)
        for path in (target, *target.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o200)
        return target

    return copy


@pytest.fixture
def environment() -> Callable[..., Environment]:
    """`environment(home, HERMES_HOME="…")` is a machine with only that home and those variables."""

    def make(home: Path, **variables: str) -> Environment:
        return Environment(home=home, variables=variables)

    return make


@pytest.fixture
def problems() -> list[Problem]:
    """A list whose `append` serves as an adapter's `report`."""
    return []
