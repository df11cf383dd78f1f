"""Servers that Hector's own configuration names: found without an address, and never waited for for long."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from hector_store import Store, adapter_for, everything, listed
from postgres_server import PASSWORD, READER, PostgresServer
from session_adapters.hector import postgres as postgres_module
from session_adapters.hector import server as server_module
from session_adapters.hector.configuration import places as places_module
from session_adapters.hector.configuration.dsn import parse_dsns
from session_adapters.hector.configuration.places import StoreSettings, dsn_of
from session_adapters.hector.postgres import read_server
from session_adapters.hector.reader import HectorReader
from session_adapters.model import Problem
from session_adapters.reading.sqlite import DatabaseUnreadable
from support import STORES

SCRIPT = STORES / "hector" / "pg" / "hector_v1.sql"


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    postgres.create("configured", SCRIPT.read_text())
    return "configured"


def configured(home: Path, port: int, database: str, more: str = "", top: str = "session_stores") -> Path:
    """A configuration at `home` that names a server; its file."""
    home.mkdir(exist_ok=True)
    sql = f"driver: postgres, host: 127.0.0.1, port: {port}, database: {database}, username: '${{PG_USER}}'"
    sql += f", password: '${{PG_SECRET}}', ssl_mode: disable{more}"
    file = home / "config.yaml"
    inner = f"{{backend: sql, sql: {{{sql}}}}}" if top == "session_stores" else f"{{{sql}}}"
    file.write_text(f"{top}:\n  prod: {inner}\n")
    return file


VARIABLES = {"PG_USER": READER, "PG_SECRET": PASSWORD}


@pytest.mark.parametrize("top", ["session_stores", "databases"])
def test_a_server_is_found_by_the_configuration_alone(
    top: str,
    postgres: PostgresServer,
    database: str,
    tmp_path: Path,
    problems: list[Problem],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    configured(tmp_path, postgres.port, database, top=top)
    adapter = adapter_for(tmp_path, **VARIABLES)
    found = everything(adapter, problems.append)
    label = f"postgresql:{READER}@127.0.0.1:{postgres.port}/{database}"
    assert (len(found), problems) == (16, [])
    assert {source.path for source, _ in found} == {label}
    (root,) = [root for root in adapter.roots() if str(root.path) == label]
    assert root.layout == f"PostgreSQL, {top}.prod in config.yaml"
    source = adapter.find("assistant/s1")
    assert source is not None and adapter.session(source, "assistant/s1").message_count == 6
    assert PASSWORD not in repr((found, problems, adapter.roots(), caplog.text))


def test_an_address_that_the_user_gave_goes_before_it(
    postgres: PostgresServer, database: str, tmp_path: Path, problems: list[Problem]
) -> None:
    configured(tmp_path, postgres.port, database)
    adapter = adapter_for(tmp_path, dsn=postgres.dsn(database))
    assert len(everything(adapter, problems.append)) == 16
    assert problems == []


def test_in_the_working_directory_it_is_only_told_of(
    postgres: PostgresServer, database: str, tmp_path: Path, problems: list[Problem]
) -> None:
    file = configured(tmp_path / "work", postgres.port, database)
    adapter = adapter_for(tmp_path / "home", PWD=str(tmp_path / "work"), **VARIABLES)
    assert everything(adapter, problems.append) == []
    (problem,) = problems
    assert (problem.path, problem.place) == (str(file), "session_stores.prod")
    assert "neither at home nor named by you; give the address in HERMES_TUI_HECTOR_DSN" in problem.reason
    named = adapter_for(tmp_path / "home", tmp_path / "work", PWD=str(tmp_path / "work"), **VARIABLES)
    assert len(listed_of(named)) == 16, "a directory that the user names is trusted"


def listed_of(adapter: object) -> list[object]:
    """Without a look at what is reported."""
    found = everything(adapter, lambda problem: None)  # type: ignore[arg-type]
    return list(found)


def test_a_file_that_others_may_write_is_not_believed(
    postgres: PostgresServer, database: str, tmp_path: Path, problems: list[Problem]
) -> None:
    configured(tmp_path, postgres.port, database).chmod(0o666)
    assert everything(adapter_for(tmp_path, **VARIABLES), problems.append) == []
    assert [problem.place for problem in problems] == ["session_stores.prod"]
    assert "others may write the file" in problems[0].reason


def test_variables_that_are_not_set_are_named(
    postgres: PostgresServer, database: str, tmp_path: Path, problems: list[Problem]
) -> None:
    configured(tmp_path, postgres.port, database)
    assert everything(adapter_for(tmp_path, PG_USER=READER), problems.append) == []
    assert [problem.place for problem in problems] == ["session_stores.prod"]
    assert "PG_SECRET is not set" in problems[0].reason


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"host": "db", "username": "u", "password": "p:a/s?s#@%"},
            "postgresql://u:p%3Aa%2Fs%3Fs%23%40%25@db:5432/sessions",
        ),
        ({"host": "", "port": 77, "ssl_mode": "require"}, "postgresql://localhost:77/sessions?sslmode=require"),
        ({"password": "only"}, "postgresql://:only@localhost:5432/sessions"),
        ({"host": "evil/../x"}, None),
        ({"host": "a b"}, None),
        ({"host": "a?host=b"}, None),
        ({"host": "a@b"}, None),
        ({"host": "a,b"}, None),
        ({"host": "::1"}, "postgresql://[::1]:5432/sessions"),
        ({"host": "/run/postgresql"}, None),
        ({"port": "5432/x?y=1"}, None),
        ({"database": ""}, None),
        ({"database": "a?host=evil"}, "postgresql://localhost:5432/a%3Fhost%3Devil"),
        ({"ssl_mode": "disable&host=evil"}, "postgresql://localhost:5432/sessions?sslmode=disable%26host%3Devil"),
    ],
)
def test_no_setting_becomes_another_part_of_the_address(settings: dict[str, str], text: str | None) -> None:
    made = dsn_of(StoreSettings(**{"driver": "postgres", "database": "sessions", **settings}))  # type: ignore[arg-type]
    assert (made.text if made else None) == text


def test_a_password_of_digits_is_one(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "databases: {a: {driver: postgres, host: db, database: 7, username: 12, password: 34}}\n"
    )
    ((name, store),) = places_module.stores_of((tmp_path / "config.yaml").read_bytes())
    assert (name, store.database, store.username, store.password) == ("databases.a", "7", "12", "34")
    assert "34" not in repr(store)


def test_no_more_servers_are_asked_than_a_few(tmp_path: Path, problems: list[Problem]) -> None:
    names = "".join(
        f"  s{number}: {{driver: postgres, host: 127.0.0.1, port: 1, database: d{number}}}\n" for number in range(30)
    )
    (tmp_path / "config.yaml").write_text(f"databases:\n{names}")
    before = threading.active_count()
    assert everything(adapter_for(tmp_path), problems.append) == []
    assert threading.active_count() - before <= 8
    reasons = [problem.reason for problem in problems]
    assert reasons.count("configurations name more than 8 servers: it is not asked") == 22
    assert reasons.count("nothing answers there") == 8


# Servers that do not answer ------------------------------------------------------------------------------------


@contextmanager
def silent() -> Iterator[int]:
    """A port where connections are taken and nothing is said."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(64)
        yield int(one.getsockname()[1])


def test_a_silent_server_holds_no_list_up(
    tmp_path: Path, problems: list[Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "PATIENCE", 0.5)
    monkeypatch.setattr(postgres_module, "CONNECT_TIMEOUT", 2)
    own = Store(tmp_path)
    with closing(own.connection):
        own.session("s")
    with silent() as port:
        configured(tmp_path, port, "x")
        adapter = adapter_for(tmp_path, **VARIABLES)
        began = time.monotonic()
        assert [one.session_id for _, one in everything(adapter, problems.append)] == ["assistant/s"]
        took = time.monotonic() - began
        assert 0.4 < took < 1.5, took
        (problem,) = problems
        assert problem.path == f"postgresql:{READER}@127.0.0.1:{port}/x"
        assert "the server has not answered within" in problem.reason
        began = time.monotonic()
        for _ in range(5):
            everything(adapter, lambda problem: None)
        assert time.monotonic() - began < 0.4, "it is waited for once"
        assert [thread.name for thread in threading.enumerate()].count("hector-server") == 1
        until = time.monotonic() + 10
        while "hector-server" in [thread.name for thread in threading.enumerate()] and time.monotonic() < until:
            time.sleep(0.05)
        later: list[Problem] = []
        everything(adapter, later.append)
        assert [problem.reason for problem in later] == ["the server does not answer"]


def test_a_server_that_answers_again_is_listed_again(
    postgres: PostgresServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(tmp_path, postgres.port, database)
    with Proxy(postgres.port) as proxy:
        configured(tmp_path, proxy.port, database)
        adapter = adapter_for(tmp_path, **VARIABLES)
        assert len(listed(adapter)) == 16
        proxy.refuse = True
        problems: list[Problem] = []
        assert everything(adapter, problems.append) == [] and len(problems) == 1
        proxy.refuse = False
        assert everything(adapter, lambda problem: None) == [], "it is not asked all the time"
        monkeypatch.setattr(server_module, "AGAIN", 0.0)
        monkeypatch.setattr(server_module, "BRIEF", 5.0)
        assert len(listed(adapter)) == 16


def test_a_server_that_falls_silent_is_hung_up_on(
    postgres: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "READ_TIMEOUT", 0.5)
    with Proxy(postgres.port) as proxy:
        (dsn,) = parse_dsns(postgres.dsn(database).replace(str(postgres.port), str(proxy.port)), _unexpected)
        assert read_server(dsn, None, lambda reader: list(reader.run("SELECT 1"))) == [(1,)]

        def stall(reader: HectorReader) -> object:
            proxy.stall = True
            return list(reader.run("SELECT 2"))

        began = time.monotonic()
        with pytest.raises(DatabaseUnreadable, match="reading it took too long"):
            read_server(dsn, None, stall)
        assert time.monotonic() - began < 5


def _unexpected(*words: str) -> None:
    raise AssertionError(words)


class Proxy:
    """Stands before a server; may refuse, or stop passing on what is said."""

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.refuse = self.stall = False
        self._over = False
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Proxy:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def _start(self, run: object, *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.refuse:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._behind))
                self._start(self._pass_on, client, server)
                self._start(self._pass_on, server, client)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        source.settimeout(0.05)
        while not self._over:
            try:
                data = source.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                break
            if not data:
                break
            if not self.stall:
                with suppress(OSError):
                    target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
