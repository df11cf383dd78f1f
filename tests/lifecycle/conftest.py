"""What tests of lanes get: the real Hermes to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle.oracle import Oracle


@pytest.fixture(scope="session")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """One real Hermes for all tests of a worker, in UTC, on a home that is empty at first."""
    home: Path = tmp_path_factory.mktemp("oracle") / "hermes"
    with Oracle(home) as oracle:
        yield oracle
