"""What tests of lanes get: the real Hermes to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifecycle.sample_home import Home
from oracle.hermes import Oracle


@pytest.fixture(scope="session")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """One real Hermes for all tests of a worker, in UTC, on a home that is empty at first."""
    home: Path = tmp_path_factory.mktemp("oracle") / "hermes"
    with Oracle(home) as oracle:
        yield oracle


@pytest.fixture
def home(store: Callable[..., Path], tmp_path: Path) -> Home:
    """Seventeen lanes of a stopped 0.19.0."""
    return Home(store("hermes", "home"), tmp_path)


@pytest.fixture
def old(store: Callable[..., Path], tmp_path: Path) -> Home:
    """Two lanes of a stopped 0.17.0, in sessions.json alone."""
    return Home(store("hermes", "old_versions", "0.17.0"), tmp_path)
