"""Hector's configuration: store, strategy and long-term memory of each agent.

Format: spec 001 «Configuration» and «Configuration Modes»; facts agentmux_hector.md 2.7.

    session_stores.<name>   backend (sql, memory), sql.{driver, database, host, port, username, password, ssl_mode,
                            max_conns, max_idle}
    agents.<name>           session_store, memory.working.{strategy, window_size, max_messages, budget, …} (in Hector
                            itself without `working`), memory.longterm.{backend, batch_size, recall_limit, embedder,
                            qdrant.{url, collection, api_key}, pgvector.{session_store, collection}}; in Hector itself
                            memory.long_term.{…}, and vector_store or database beside memory
    vector_stores.<name>    type (qdrant), host, port, api_key, enable_tls; until 1.8 databases.<name>, use_tls
    embedders.<name>        type (ollama, openai, embedded), model, host or url, api_key

A text may name variables: `${DB_PASSWORD}`, `${HOST:-localhost}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from hermes_tui.errors import ValidationError
from hermes_tui.memory.longterm.batches import BATCH_SIZE, FLUSH_SECONDS
from hermes_tui.memory.longterm.memory import RECALL_LIMIT
from hermes_tui.memory.longterm.qdrant_points import COLLECTION
from hermes_tui.memory.working.strategies import StrategySettings
from session_adapters.base import Environment
from session_adapters.hector.configuration.memory_settings import agents_of, working_of
from session_adapters.hector.configuration.places import (
    StoreSettings,
    expanded,
    filled,
    own_configurations,
    stores_of,
)
from session_adapters.reading.files import read_small
from session_adapters.reading.yaml_settings import read_yaml

__all__ = [
    "DEFAULT_STORE",
    "AgentMemory",
    "EmbedderSettings",
    "LongTermSettings",
    "MemoryConfiguration",
    "own_configuration",
    "parse_configuration",
    "read_configuration",
    "zero_configuration",
]

T = TypeVar("T")
DEFAULT_STORE = "default-session-store"
DEFAULT_AGENT = "assistant"
_LIMIT = 1 << 20
_REST_PORT = 6333


class EmbedderSettings(Struct, frozen=True, kw_only=True):
    """Which model turns texts into vectors."""

    type: Literal["embedded", "ollama", "openai"] = "embedded"
    model: str = ""
    """Empty for the usual one of its kind."""
    url: str = ""
    host: str = ""
    """Hector's own word for `url`."""
    api_key: str = ""

    def __repr__(self) -> str:
        """Without the key."""
        return f"EmbedderSettings({self.type} {self.model} {self.url or self.host})"


class _Place(Struct, frozen=True, kw_only=True):
    """`longterm.qdrant` and `longterm.pgvector`."""

    url: str = ""
    collection: str = COLLECTION
    api_key: str = ""
    path: str = ""
    session_store: str = ""


class LongTermSettings(Struct, frozen=True, kw_only=True):
    """`memory.longterm` of an agent."""

    backend: Literal["qdrant", "pgvector"] = "qdrant"
    """Qdrant without a `url` is embedded."""
    url: str = ""
    path: str = ""
    """The folder of the embedded one; empty for `data/vectors` where Hector runs."""
    collection: str = COLLECTION
    api_key: str = ""
    session_store: str = ""
    """The PostgreSQL store that `pgvector` uses; empty for the agent's own."""
    batch_size: int = BATCH_SIZE
    flush_seconds: float = FLUSH_SECONDS
    recall_limit: int = RECALL_LIMIT
    embedder: EmbedderSettings = EmbedderSettings()

    def __repr__(self) -> str:
        """Without the key."""
        return f"LongTermSettings({self.backend} {self.url or self.path} {self.collection})"


class AgentMemory(Struct, frozen=True, kw_only=True):
    """What one agent has."""

    session_store: str = DEFAULT_STORE
    working: StrategySettings = StrategySettings()
    long_term: LongTermSettings | None = None
    """None for an agent without."""


class MemoryConfiguration(Struct, frozen=True, kw_only=True):
    """Hector's configuration, as far as memory goes. Without a file it is that of its zero-config mode."""

    folder: Path = Path()
    """Where Hector runs: relative paths begin there."""
    stores: Mapping[str, StoreSettings | None]
    """None for one in memory."""
    agents: Mapping[str, AgentMemory]

    def agent(self, name: str) -> AgentMemory:
        """What an agent has, also one that the configuration does not name."""
        return self.agents.get(name, AgentMemory())


def zero_configuration(folder: Path = Path()) -> MemoryConfiguration:
    """Hector's own without a file: one agent, in `data/sessions.db`."""
    return MemoryConfiguration(
        folder=folder,
        stores={DEFAULT_STORE: StoreSettings(driver="sqlite", database="data/sessions.db")},
        agents={DEFAULT_AGENT: AgentMemory()},
    )


def read_configuration(path: Path, variables: Mapping[str, str]) -> MemoryConfiguration:
    """The configuration in a file; relative paths in it begin beside it. Raises `ValidationError`."""
    try:
        data = read_small(path, _LIMIT)
    except OSError as error:
        raise ValidationError(f"The configuration {path} cannot be read: {error.strerror or error}.") from error
    return parse_configuration(data, variables, folder=path.parent, name=str(path))


def own_configuration(environment: Environment, agent: str = "") -> tuple[Path, MemoryConfiguration] | None:
    """The first of the user's own configurations that describes agents, with `agent` among them where one is named,
    and where it is. One that lies in the working directory is none: it could name a server, and any variable as the
    key for it. Raises `ValidationError`."""
    for path, folder in own_configurations(environment):
        try:
            data = read_small(path, _LIMIT)
            agents = agents_of(data)
        except (OSError, ValueError) as error:
            reason = error.strerror or error if isinstance(error, OSError) else error
            raise ValidationError(f"The configuration {path} cannot be read: {reason}.") from error
        if agents and (not agent or agent in agents):
            return path, parse_configuration(data, environment.variables, folder=folder, name=str(path))
    return None


def parse_configuration(
    data: bytes, variables: Mapping[str, str], *, folder: Path = Path(), name: str = "configuration"
) -> MemoryConfiguration:
    """The configuration in a text. Raises `ValidationError`, which names the place in it."""
    try:
        value = read_yaml(data)
        sql = {place.partition(".")[2]: one for place, one in stores_of(data) if place.startswith("session_stores.")}
    except ValueError as error:
        raise ValidationError(f"The configuration {name} cannot be read: {error}.") from error
    value = _with_variables(value, variables) if isinstance(value, dict) else {}
    plain = zero_configuration(folder)
    stores: dict[str, StoreSettings | None] = dict(plain.stores)
    for store, entry in _mapping(value, "session_stores", name).items():
        if isinstance(entry, dict) and entry.get("backend") == "memory":
            stores[str(store)] = None
        elif str(store) in sql:
            stores[str(store)] = filled(sql[str(store)], variables)
        else:
            raise ValidationError(f"{name}: session_stores.{store} is no store in sql or memory.")
    agents: dict[str, AgentMemory] = {}
    embedders = _mapping(value, "embedders", name)
    # Until 1.8 Hector called them `databases`; of one that stands under both names the newer counts.
    vectors = {**_mapping(value, "databases", name), **_mapping(value, "vector_stores", name)}
    for agent, entry in _mapping(value, "agents", name).items():
        if not isinstance(entry, dict):
            raise ValidationError(f"{name}: agents.{agent} is no mapping.")
        made = agents[str(agent)] = _agent(entry, embedders, vectors, f"{name}: agents.{agent}")
        if made.session_store not in stores:
            raise ValidationError(f"{name}: agents.{agent}.session_store: there is no {made.session_store}.")
    return MemoryConfiguration(folder=folder, stores=stores, agents=agents or plain.agents)


def _agent(
    entry: Mapping[str, Any], embedders: Mapping[str, Any], vectors: Mapping[str, Any], place: str
) -> AgentMemory:
    memory = entry.get("memory")
    memory = memory if isinstance(memory, dict) else {}
    store = str(entry.get("session_store") or DEFAULT_STORE)
    working = _converted(working_of(memory), StrategySettings, f"{place}.memory")
    found = memory.get("longterm", memory.get("long_term"))
    if not isinstance(found, dict):
        return AgentMemory(session_store=store, working=working)
    named = _vector_store(entry, vectors, place)
    inside = f"{place}.memory.longterm"
    backend = found.get("backend", "qdrant")
    inner = _converted(found.get(str(backend)) or {}, _Place, f"{inside}.{backend}")
    below = {name: text for name in inner.__struct_fields__ if (text := getattr(inner, name))}
    # What stands within `qdrant` goes before what the agent names in Hector's own way.
    if backend == "qdrant" and not (inner.url or inner.path):
        below |= named
    embedder = found.get("embedder", entry.get("embedder"))
    if isinstance(embedder, str):
        if embedder not in embedders:
            raise ValidationError(f"{inside}.embedder: there is no {embedder}.")
        embedder = embedders[embedder]
    long_term = _converted({**below, **found, "embedder": embedder or {}}, LongTermSettings, inside)
    return AgentMemory(session_store=store, working=working, long_term=long_term)


class _VectorStore(Struct, frozen=True, kw_only=True):
    """`vector_stores.<name>`, and what it was before."""

    type: str = "qdrant"
    host: str = "localhost"
    port: int = 6334
    api_key: str = ""
    enable_tls: bool = False
    use_tls: bool = False


def _vector_store(entry: Mapping[str, Any], vectors: Mapping[str, Any], place: str) -> dict[str, str]:
    """Address and key of the Qdrant that an agent names in Hector's own way; nothing for one that names none."""
    name = entry.get("vector_store") or entry.get("database")
    found = vectors.get(name) if isinstance(name, str) else entry.get("vector_store_config")
    if isinstance(name, str) and found is None:
        raise ValidationError(f"{place}.vector_store: there is no {name}.")
    if not isinstance(found, dict) or "driver" in found:  # `databases` may hold those of SQL
        return {}
    store = _converted(found, _VectorStore, f"{place}.vector_store")
    if store.type != "qdrant":
        return {}
    # Hector speaks gRPC; REST is one port below.
    port = _REST_PORT if store.port == _REST_PORT + 1 else store.port
    url = f"http{'s' * (store.enable_tls or store.use_tls)}://{store.host}:{port}"
    return {"url": url, "api_key": store.api_key}


def _converted(value: Any, kind: type[T], place: str) -> T:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ValidationError(f"{place}: {error}.") from None


def _mapping(value: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    found = value.get(key) or {}
    if not isinstance(found, dict):
        raise ValidationError(f"{name}: {key} is no mapping.")
    return found


def _with_variables(value: Any, variables: Mapping[str, str]) -> Any:
    """The same with every text in it expanded."""
    if isinstance(value, str):
        return expanded(value, variables)
    if isinstance(value, dict):
        return {name: _with_variables(one, variables) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_variables(one, variables) for one in value]
    return value
