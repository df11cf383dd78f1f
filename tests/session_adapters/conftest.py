"""Servers that the adapters' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, started for the first test that asks for it."""
    with postgres_server() as server:
        yield server
