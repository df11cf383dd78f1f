"""What people are shown of a session's long-term memory, on each vector store, and that looking changes nothing."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from databases import tree
from hermes_tui.errors import HermesTuiError, ValidationError
from hermes_tui.memory import components as components_module
from hermes_tui.memory.configuration import own_configuration, parse_configuration
from hermes_tui.memory.longterm.http_json import HttpFailure, JsonClient
from hermes_tui.memory.longterm.pgvector import PgVectorStore
from hermes_tui.memory.longterm.protocols import VectorStoreUnavailable
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
from hermes_tui.memory.longterm.qdrant_server import QdrantServer
from hermes_tui.memory.longterm.session_points import session_points
from hermes_tui.memory.sql.postgres import PostgresDatabase
from memory_home import KEPT, fill, with_long_term_memory
from memory_servers import QdrantRest, loopback
from postgres_server import PASSWORD, PostgresServer
from session_adapters.base import Environment
from session_adapters.hector.configuration.dsn import parse_dsns
from session_adapters.hector.configuration.places import PATH_VARIABLE

Stored = Callable[..., Path]
OTHERS = [("math_bot", "s1"), ("assistant", "deploy-review"), ("assistant", "s1"), ("nobody", "s1")]


@pytest.fixture(params=["embedded", "qdrant", "pgvector"])
def home(request: pytest.FixtureRequest, store: Stored) -> Iterator[Path]:
    """A home whose agents keep their points in each kind of store in turn."""
    made = store("hector", "home")
    if request.param == "embedded":
        yield with_long_term_memory(made)
    elif request.param == "qdrant":
        rest = QdrantRest(made / "shard")
        with loopback(rest) as server:
            fill(QdrantServer(server.url, api_key="k3y"))
            port = server.url.rpartition(":")[2]
            with_long_term_memory(made, "{storage_scope: all}")
            text = (made / "config.yaml").read_text().replace("memory:", "vector_store: main, memory:")
            named = f"{{type: qdrant, host: 127.0.0.1, port: {port}, api_key: '${{QDRANT_KEY}}'}}"
            (made / "config.yaml").write_text(f"{text}\nvector_stores:\n  main: {named}\n")
            yield made
            keys = [{name.lower(): value for name, value in one.items()}.get("api-key") for one in server.headers]
            assert keys and set(keys) == {"k3y"}
        rest.close()
    else:
        running: PostgresServer = request.getfixturevalue("server")
        running.create("points")
        (dsn,) = parse_dsns(running.dsn("points", "owner"), lambda place, reason: None)
        with closing(PgVectorStore(PostgresDatabase(dsn))) as vectors:
            fill(vectors)
        with running.connect("points") as connection:
            connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        with_long_term_memory(made, "{backend: pgvector, pgvector: {session_store: prod}}")
        sql = f"driver: postgres, host: 127.0.0.1, port: {running.port}, database: points, ssl_mode: disable"
        sql += ", username: reader, password: '${PG_SECRET}'"
        text = (made / "config.yaml").read_text()
        (made / "config.yaml").write_text(
            text.replace("session_stores:", f"session_stores:\n  prod: {{backend: sql, sql: {{{sql}}}}}")
        )
        yield made


def machine(home: Path) -> Environment:
    return Environment(home=home, variables={"PG_SECRET": PASSWORD, "QDRANT_KEY": "k3y"})


def test_the_newest_and_what_would_be_recalled(home: Path) -> None:
    found = own_configuration(machine(home), "assistant")
    assert found is not None and found[0] == home / "config.yaml"
    listed = session_points(found[1], "assistant", "s1", others=OTHERS)
    assert [one.content for one in listed.points] == list(reversed(KEPT["assistant", "s1"]))
    assert (listed.total, listed.recalled, listed.left_out) == (3, (), ())
    assert listed.others == ((("math_bot", "s1"), 2), (("assistant", "deploy-review"), 1))
    asked = session_points(found[1], "assistant", "s1", "Which database is on staging?", OTHERS)
    assert asked.recalled[0].point.content == "The staging database runs PostgreSQL 15."
    assert {(one.point.agent_id, one.point.session_id) for one in asked.recalled} == {("assistant", "s1")}
    apart = [one.point.content for one in asked.left_out]
    assert apart[0] == "The production database is MySQL 8." and set(apart) == {
        "The production database is MySQL 8.",
        *KEPT["math_bot", "s1"],
    }
    scores = [one.score for one in asked.left_out]
    assert scores == sorted(scores, reverse=True)
    assert PASSWORD not in repr((found, listed, asked)) and "k3y" not in repr((found, listed, asked))


def test_an_agent_without_long_term_memory_is_told(home: Path) -> None:
    found = own_configuration(machine(home), "researcher")
    assert found is not None
    with pytest.raises(ValidationError, match="'researcher' has no long-term memory"):
        session_points(found[1], "researcher", "long-haul")


# What is read is left as it is ---------------------------------------------------------------------------------


def test_looking_changes_nothing_and_leaves_nothing(store: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    home = with_long_term_memory(store("hector", "home"))
    temporary = home.parent / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = tree(home)
    found = own_configuration(machine(home))
    assert found is not None
    for question in ("", "staging"):
        assert session_points(found[1], "assistant", "s1", question).total == 3
    assert tree(home) == before
    assert list(temporary.iterdir()) == []


def test_a_store_that_its_agent_has_open_is_left_alone(tmp_path: Path) -> None:
    owner = EmbeddedQdrant(tmp_path)
    fill(owner)
    reader = EmbeddedQdrant(tmp_path, read_only=True)
    with pytest.raises(VectorStoreUnavailable, match="another process has it open"):
        reader.count("assistant")
    owner.close()
    assert reader.count("assistant") == 4
    again = EmbeddedQdrant(tmp_path)
    assert again.count("assistant") == 4, "a reader keeps nobody out"
    again.close()
    with pytest.raises(VectorStoreUnavailable, match="opened for reading alone"):
        reader.delete("assistant", "s1")
    with pytest.raises(VectorStoreUnavailable, match="opened for reading alone"):
        fill(reader)
    reader.close()
    assert EmbeddedQdrant(tmp_path / "absent", read_only=True).count("assistant") == 0
    assert not (tmp_path / "absent").exists()


def test_a_store_that_changes_while_it_is_copied_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = EmbeddedQdrant(tmp_path)
    fill(owner)
    owner.close()
    write = os.pwrite
    changed = next(path for path in sorted(tmp_path.rglob("*")) if path.is_file())

    def written(fd: int, data: bytes, at: int) -> int:
        os.utime(changed, ns=(1, time.time_ns()))
        return write(fd, data, at)

    monkeypatch.setattr(os, "pwrite", written)
    with pytest.raises(VectorStoreUnavailable, match="another process writes to it now"):
        EmbeddedQdrant(tmp_path, read_only=True).count("assistant")


# Servers that do not answer ------------------------------------------------------------------------------------


def test_a_silent_qdrant_is_waited_for_for_seconds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(components_module, "READING_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        text = f"agents: {{a: {{memory: {{longterm: {{qdrant: {{url: 'http://127.0.0.1:{port}'}}}}}}}}}}"
        configuration = parse_configuration(text.encode(), {}, folder=tmp_path)
        began = time.monotonic()
        with pytest.raises(HermesTuiError, match=r"does not answer within 0\.3 s"):
            session_points(configuration, "a", "s")
        assert time.monotonic() - began < 3


def test_an_answer_that_drips_is_broken_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                try:
                    for _ in range(100):
                        client.sendall(b" ")
                        time.sleep(0.05)
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        began = time.monotonic()
        client = JsonClient(f"http://127.0.0.1:{listening.getsockname()[1]}", seconds=0.5)
        with pytest.raises(HttpFailure, match=r"does not answer within 0\.5 s"):
            client.call("GET", "x")
        assert time.monotonic() - began < 2
        thread.join(10)


# Hector's own configuration ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "stores", "url"),
    [
        ("vector_store: v", "vector_stores: {v: {type: qdrant, host: q.example.com}}", "http://q.example.com:6333"),
        ("vector_store: v", "vector_stores: {v: {host: q, port: 7000, enable_tls: true}}", "https://q:7000"),
        ("database: v", "databases: {v: {type: qdrant, host: q, port: '6334', use_tls: false}}", "http://q:6333"),
        ("database: v", "databases: {v: {driver: sqlite, database: x.db}}", ""),
        ("vector_store: v", "vector_stores: {v: {type: pinecone, host: q}}", ""),
        ("vector_store_config: {type: qdrant, host: inline}", "", "http://inline:6333"),
        ("llm: x", "vector_stores: {v: {type: qdrant, host: q}}", ""),
    ],
)
def test_qdrant_is_found_as_hector_itself_names_it(agent: str, stores: str, url: str) -> None:
    text = f"agents: {{a: {{{agent}, memory: {{long_term: {{storage_scope: all, collection: c}}}}}}}}\n{stores}\n"
    settings = parse_configuration(text.encode(), {}).agent("a").long_term
    assert settings is not None
    assert (settings.url, settings.collection) == (url, "c")


def test_a_vector_store_that_is_not_there_is_named() -> None:
    text = b"agents: {a: {vector_store: v, memory: {long_term: {batch_size: 2}}}}"
    with pytest.raises(ValidationError, match=r"vector_store: there is no v\."):
        parse_configuration(text, {})


def test_an_address_of_its_own_goes_before_hectors() -> None:
    text = "agents: {a: {vector_store: v, memory: {longterm: {qdrant: {url: 'http://own:1'}}}}}\n"
    text += "vector_stores: {v: {type: qdrant, host: q, api_key: other}}\n"
    settings = parse_configuration(text.encode(), {}).agent("a").long_term
    assert settings is not None and (settings.url, settings.api_key) == ("http://own:1", "")


def test_whose_configuration_is_believed(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home / ".hector", other):
        folder.mkdir(parents=True)
    (home / "config.yaml").write_text("theme: dark\n")
    (home / ".hector" / "config.yaml").write_text("agents: {a: {memory: {longterm: {}}}}\n")
    (other / "config.yaml").write_text("agents: {b: {memory: {longterm: {}}}}\n")
    plain = Environment(home=home, variables={"PWD": str(other)})
    found = own_configuration(plain)
    assert found is not None, "one of another program stands before it"
    assert (found[0], found[1].folder) == (home / ".hector" / "config.yaml", home)
    assert own_configuration(plain, "b") is None, "the working directory is not believed"
    named = Environment(home=home, variables={PATH_VARIABLE: str(other)})
    found = own_configuration(named, "b")
    assert found is not None and (found[0], found[1].folder) == (other / "config.yaml", other)
    (home / ".hector" / "config.yaml").chmod(0o666)
    assert own_configuration(plain) is None, "others may write it"
