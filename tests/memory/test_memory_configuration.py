"""Spec 001, sections 6 (Configuration, Component Manager), 10 (Configuration Modes) and 12: by Hector's YAML."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_tui.errors import ValidationError
from hermes_tui.memory.components import MemoryComponents
from hermes_tui.memory.configuration import (
    AgentMemory,
    MemoryConfiguration,
    parse_configuration,
    read_configuration,
    zero_configuration,
)
from hermes_tui.memory.longterm.memory import LongTermMemory
from hermes_tui.memory.longterm.protocols import RecalledMemory
from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import InMemorySessionService
from hermes_tui.memory.working.buffer_window import BufferWindow
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategies import StrategySettings
from memory_servers import loopback
from postgres_server import PASSWORD, PostgresServer
from support import STORES

EXPLICIT = """
session_stores:
  prod-sessions:
    backend: sql
    sql:
      driver: postgres
      host: db.example.com
      port: 5432
      database: hector_prod
      username: ${DB_USER}
      password: ${DB_PASSWORD}
      max_conns: 100
      max_idle: 20
      ssl_mode: require

agents:
  customer-support:
    llm: gpt
    session_store: prod-sessions
    memory:
      working:
        strategy: summary_buffer
        max_messages: 50
      longterm:
        backend: qdrant
        qdrant:
          url: https://qdrant.example.com
          collection: customer_memories

  math-assistant:
    llm: claude
    session_store: prod-sessions  # Shared DB, isolated by agent_id
    memory:
      working:
        strategy: buffer_window
        window_size: 10
"""
"""The guide's «Explicit Config (Production)», as it stands there."""


def parsed(text: str, **variables: str) -> MemoryConfiguration:
    return parse_configuration(text.encode(), variables)


def said(text: str) -> list[HectorMessage]:
    return [HectorMessage(role="ROLE_USER", text=text)]


def test_10_the_guides_production_configuration() -> None:
    found = parsed(EXPLICIT, DB_USER="hector", DB_PASSWORD="pa:ss/w@rd")
    store = found.stores["prod-sessions"]
    assert store is not None
    assert (store.driver, store.host, store.port, store.database) == (
        "postgres",
        "db.example.com",
        5432,
        "hector_prod",
    )
    assert (store.username, store.password, store.ssl_mode) == ("hector", "pa:ss/w@rd", "require")
    assert (store.max_conns, store.max_idle) == (100, 20)
    support, maths = found.agent("customer-support"), found.agent("math-assistant")
    assert support.session_store == maths.session_store == "prod-sessions"
    assert support.working == StrategySettings(strategy="summary_buffer", max_messages=50)
    assert support.long_term is not None
    assert (support.long_term.backend, support.long_term.url, support.long_term.collection) == (
        "qdrant", "https://qdrant.example.com", "customer_memories",
    )  # fmt: skip
    assert (support.long_term.batch_size, support.long_term.recall_limit) == (5, 5)
    assert maths.working == StrategySettings(strategy="buffer_window", window_size=10)
    assert maths.long_term is None
    assert "pa:ss" not in repr(found), "what is logged shows no password"


def test_10_the_sample_of_hector_itself() -> None:
    """Its strategy stands below `memory`, without `working`."""
    found = read_configuration(STORES / "hector" / "home" / "config.yaml", {})
    assert found.stores["scratch"] is None
    assert found.agent("coder").working == StrategySettings(strategy="buffer_window", window_size=10)
    assistant = found.agent("assistant")
    assert assistant.working == StrategySettings(budget=2000, threshold=0.8, target=0.6)
    assert assistant.long_term is not None
    assert assistant.long_term.collection == "hector_session_memory"
    assert found.agent("math_bot").working == StrategySettings()


def test_10_variables_and_what_stands_in_for_them() -> None:
    text = "session_stores: {s: {backend: sql, sql: {driver: '${D:-sqlite}', database: '${DIR}/x.db', max_conns: 7}}}"
    found = parsed(text, DIR="/srv").stores["s"]
    assert found is not None
    assert (found.driver, found.database, found.max_conns) == ("sqlite", "/srv/x.db", 7)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("agents: [a]", "agents is no mapping"),
        ("agents: {a: 1}", "agents.a is no mapping"),
        ("agents: {a: {session_store: nope}}", "there is no nope"),
        ("session_stores: {s: {backend: redis}}", "session_stores.s is no store"),
        ("agents: {a: {memory: {working: {window_size: many}}}}", "agents.a.memory: Expected `int"),
        ("agents: {a: {memory: {longterm: {backend: chroma}}}}", "longterm: Invalid enum value 'chroma'"),
        ("agents: {a: {memory: {longterm: {embedder: nope}}}}", "there is no nope"),
        ("agents: {a: {memory: {longterm: {embedder: {type: x}}}}}", "Invalid enum value 'x'"),
        ("a: [", "cannot be read"),
        ("a: &a [*a]", "cannot be read"),
    ],
)
def test_10_what_is_wrong_is_named_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parsed(text)
    assert reason in str(caught.value)


def test_10_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="cannot be read: No such file"):
        read_configuration(tmp_path / "config.yaml", {})


# 6 and 12: what agents share ---------------------------------------------------------------------------------


def test_10_zero_configuration_keeps_sessions_in_data(tmp_path: Path) -> None:
    components = MemoryComponents(zero_configuration(tmp_path))
    service = components.memory_service("assistant")
    service.add_batch_to_history("s1", said("hello"))
    assert components.shutdown() is True
    assert (tmp_path / "data" / "sessions.db").is_file()
    again = MemoryComponents(zero_configuration(tmp_path))
    history = again.memory_service("assistant").recall("s1")
    assert isinstance(history, ConversationHistory)
    assert [one.text for one in history.messages] == ["hello"]
    again.shutdown()


def test_06_agents_of_one_store_share_its_pool(server: PostgresServer) -> None:
    """The guide's ten agents on one server: never more connections than the pool may have."""
    server.create("shared")
    text = f"""
session_stores:
  shared:
    backend: sql
    sql: {{driver: postgres, host: 127.0.0.1, port: {server.port}, database: shared, username: owner,
          password: "{PASSWORD}", max_conns: 3, max_idle: 1, ssl_mode: disable}}
agents: {{{", ".join(f"agent{number}: {{session_store: shared}}" for number in range(10))}}}
"""
    components = MemoryComponents(parsed(text))
    most: list[int] = []

    def work(agent: str) -> None:
        service = components.memory_service(agent)
        for number in range(5):
            service.add_batch_to_history("s1", said(f"{agent} {number}"))
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hermes-tui' AND datname = 'shared'"
        with server.connect("postgres") as connection:
            row = connection.execute(query.encode()).fetchone()
            most.append(row[0] if row else 0)

    threads = [threading.Thread(target=work, args=(f"agent{number}",)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 10
    assert 1 <= max(most) <= 3
    for number in range(10):
        history = components.memory_service(f"agent{number}").recall("s1")
        assert isinstance(history, ConversationHistory)
        assert [one.text for one in history.messages] == [f"agent{number} {at}" for at in range(5)]
    components.shutdown()
    with server.connect("postgres") as connection:
        left = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'shared'").fetchone()
    assert left == (0,), "a shutdown closes the pool"


def test_06_a_store_in_memory_ends_with_the_process(tmp_path: Path) -> None:
    text = "session_stores: {scratch: {backend: memory}}\nagents: {a: {session_store: scratch}}"
    components = MemoryComponents(parsed(text))
    assert isinstance(components.session_service("a"), InMemorySessionService)
    components.session_service("a").append_messages("s", said("x"))
    assert components.session_service("a").count_messages("s") == 1
    assert components.session_service("a") is components.session_service("a")


def test_12_long_term_memory_by_configuration_is_embedded_or_a_server(tmp_path: Path) -> None:
    text = """
embedders: {local: {type: ollama, model: m, host: "${OLLAMA}"}}
agents:
  alone: {memory: {longterm: {batch_size: 1, recall_limit: 2}}}
  served: {memory: {longterm: {batch_size: 1, embedder: local, collection: other}}}
"""

    def numbers(method: str, path: str, body: dict[str, list[str]]) -> tuple[int, object]:
        return 200, {"embeddings": [[float(len(one)), 1.0] for one in body["input"]]}

    with loopback(numbers) as server:
        components = MemoryComponents(parse_configuration(text.encode(), {"OLLAMA": server.url}, folder=tmp_path))
        for agent in ("alone", "served"):
            service = components.memory_service(agent)
            service.add_batch_to_history("s1", said(f"of {agent}"))
            assert service.shutdown() is True
            found = service.recall("s1", "of whom?")
            assert isinstance(found, list)
            assert [one.point.content for one in found] == [f"of {agent}"]
            assert isinstance(found[0], RecalledMemory)
        assert len(server.asked) == 2, "one text, one question"
        alone = components.memory_service("alone")
        alone.add_batch_to_history("s1", [*said("one"), *said("two"), *said("three")])
        alone.shutdown()
        found = alone.recall("s1", "which?")
        assert isinstance(found, list)
        assert len(found) == 2, "as many as the configuration says"
        components.shutdown()
    assert {one.name for one in (tmp_path / "data" / "vectors").iterdir()} == {"hector_session_memory", "other"}


def test_12_pgvector_in_the_agents_own_store(server: PostgresServer) -> None:
    server.create("both")
    text = f"""
session_stores:
  db: {{backend: sql, sql: {{driver: postgres, host: 127.0.0.1, port: {server.port}, database: both,
        username: owner, password: "{PASSWORD}"}}}}
agents: {{a: {{session_store: db, memory: {{longterm: {{backend: pgvector, pgvector: {{collection: mine}}}}}}}}}}
"""
    components = MemoryComponents(parsed(text))
    service = components.memory_service("a")
    service.add_batch_to_history("s1", said("My name is Alice"))
    service.shutdown()
    long_term = components.long_term("a")
    assert isinstance(long_term, LongTermMemory)
    assert long_term.stats("a").store == f"postgresql:owner@127.0.0.1:{server.port}/both, table mine"
    assert long_term.stats("a").points == 1
    components.shutdown()


NOT_MADE: Mapping[str, str] = {
    "session_stores: {s: {backend: sql, sql: {driver: mysql}}}\nagents: {a: {session_store: s}}": "'mysql'",
    "agents: {a: {memory: {working: {strategy: nope}}}}": "no strategy 'nope'",
    "agents: {a: {memory: {longterm: {url: 'ftp://x'}}}}": "address",
    "agents: {a: {memory: {longterm: {backend: pgvector}}}}": "PostgreSQL",
    "agents: {a: {memory: {longterm: {embedder: {type: ollama, host: 'file:///x'}}}}}": "address",
}


@pytest.mark.parametrize("text", NOT_MADE)
def test_12_what_cannot_be_made_is_said(text: str, tmp_path: Path) -> None:
    components = MemoryComponents(parse_configuration(text.encode(), {}, folder=tmp_path))
    with pytest.raises(ValidationError) as caught:
        components.memory_service("a")
    assert NOT_MADE[text] in str(caught.value)
    components.shutdown()


def test_12_strategies_of_ones_own() -> None:
    configuration = parsed("agents: {a: {session_store: m, memory: {working: {strategy: mine}}}}\n"
                           "session_stores: {m: {backend: memory}}")  # fmt: skip
    service = MemoryComponents(configuration).memory_service("a", strategies={"mine": BufferWindow(1)})
    service.add_batch_to_history("s", [*said("one"), *said("two")])
    assert [one.text for one in service.load_state("s").messages] == ["two"]
    assert configuration.agent("unnamed") == AgentMemory()
