"""Servers and witnesses that the adapters' tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, started for the first test that asks for it."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def statements() -> Iterator[list[tuple[str, list[str]]]]:
    """Every statement that any connection runs, with what it goes through."""
    ran: list[tuple[str, list[str]]] = []

    def hook(connection: apsw.Connection) -> None:
        def trace(cursor: object, sql: str, bindings: Any) -> bool:
            if sql.startswith("SELECT"):
                plan: Any = connection.execute("EXPLAIN QUERY PLAN " + sql, bindings)
                ran.append((sql, [row[3] for row in plan]))
            return True

        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    yield ran
    apsw.connection_hooks.remove(hook)
