"""Databases of both engines, made anew for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_tui.memory.sql.database import SqlDatabase
from hermes_tui.memory.sql.sqlite import SqliteDatabase
from postgres_server import PostgresServer, postgres_server
from session_adapters.hector.configuration.dsn import Dsn, parse_dsns

_OWNER = "owner"


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server."""
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return str(request.param)


@pytest.fixture
def make_database(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., SqlDatabase]]:
    """`make_database(*scripts, **options)`: an open database of the engine, filled by these scripts. A second call
    without scripts opens the same one again."""
    opened: list[SqlDatabase] = []
    dsns: list[Dsn] = []

    def make(*scripts: str, **options: object) -> SqlDatabase:
        if engine == "sqlite":
            path = tmp_path / "data" / "sessions.db"
            if scripts:
                import apsw

                path.parent.mkdir()
                connection = apsw.Connection(str(path))
                for script in scripts:
                    connection.execute(script)
                connection.close()
            opened.append(SqliteDatabase(path, **options))  # type: ignore[arg-type]
            return opened[-1]
        from hermes_tui.memory.sql.postgres import PostgresDatabase

        running: PostgresServer = request.getfixturevalue("server")
        if not dsns or scripts:
            running.create("memory", *scripts)
            dsns[:] = parse_dsns(running.dsn("memory", _OWNER), lambda place, reason: None)
        opened.append(PostgresDatabase(dsns[0], **options))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def database(make_database: Callable[..., SqlDatabase]) -> SqlDatabase:
    """An empty one."""
    return make_database()
