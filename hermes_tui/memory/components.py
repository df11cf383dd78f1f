"""What agents share: a pool for each database, a store for each collection.

Format: spec 001 «Component Manager» and «Startup Sequence».
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hermes_tui.errors import StoreError, ValidationError
from hermes_tui.memory.configuration import EmbedderSettings, LongTermSettings, MemoryConfiguration
from hermes_tui.memory.longterm.batches import MemoryBatches
from hermes_tui.memory.longterm.memory import RECALL_LIMIT, LongTermMemory
from hermes_tui.memory.longterm.protocols import Embedder, VectorStore
from hermes_tui.memory.service import MemoryService
from hermes_tui.memory.session_service import InMemorySessionService, SessionService
from hermes_tui.memory.sql.database import SqlDatabase
from hermes_tui.memory.sql.service import SQLSessionService
from hermes_tui.memory.sql.sqlite import SqliteDatabase
from hermes_tui.memory.working.strategies import strategy_of
from hermes_tui.memory.working.strategy import WorkingMemoryStrategy
from hermes_tui.memory.working.summary_buffer import Summarizer
from session_adapters.hector.configuration.places import StoreSettings, dsn_of
from session_adapters.registry import install_command

__all__ = ["READING_SECONDS", "MemoryComponents"]

T = TypeVar("T")
READING_SECONDS = 5.0
"""That Qdrant may take for an answer where somebody looks at a screen,"""
_SECONDS = 30.0
"""and where an agent does."""
_NO_STRATEGIES: Mapping[str, WorkingMemoryStrategy] = {}


class MemoryComponents:
    """Everything that one configuration names, made when it is first asked for and once. Safe to use from many
    threads."""

    def __init__(self, configuration: MemoryConfiguration, *, read_only: bool = False) -> None:
        """With `read_only` no store is written or made, and none is waited for for long."""
        self._configuration = configuration
        self._read_only = read_only
        self._lock = threading.RLock()
        self._databases: dict[str, SqlDatabase] = {}
        self._in_memory: dict[tuple[str, str], InMemorySessionService] = {}
        self._vectors: dict[tuple[str, ...], VectorStore] = {}
        self._embedders: dict[EmbedderSettings, Embedder] = {}
        self._services: list[MemoryService] = []

    def session_service(self, agent_id: str) -> SessionService:
        """The sessions of an agent, in the store that it shares with others. Raises `StoreError` and
        `ValidationError`."""
        name = self._configuration.agent(agent_id).session_store
        if self._store(name) is None:
            with self._lock:
                return self._in_memory.setdefault((name, agent_id), InMemorySessionService(agent_id))
        return SQLSessionService(self._database(name), agent_id)

    def long_term(self, agent_id: str) -> LongTermMemory | None:
        """An agent's long-term memory; None for one without. Raises `ValidationError`."""
        settings = self._configuration.agent(agent_id).long_term
        if settings is None:
            return None
        name = settings.session_store or self._configuration.agent(agent_id).session_store
        key = (settings.backend, settings.url, settings.path, settings.collection, name)
        with self._lock:
            if key not in self._vectors:
                self._vectors[key] = self._vector_store(settings, name)
            if settings.embedder not in self._embedders:
                self._embedders[settings.embedder] = _embedder(settings.embedder)
            return LongTermMemory(self._embedders[settings.embedder], self._vectors[key])

    def memory_service(
        self,
        agent_id: str,
        summarize: Summarizer | None = None,
        strategies: Mapping[str, WorkingMemoryStrategy] = _NO_STRATEGIES,
    ) -> MemoryService:
        """The three layers of an agent. `strategies` are further ones, by the name that the configuration has. Raises
        `StoreError` and `ValidationError`."""
        settings = self._configuration.agent(agent_id)
        try:
            working = strategy_of(settings.working, summarize, more=strategies)
        except ValueError as error:
            raise ValidationError(f"The memory of agent {agent_id} cannot be made: {error}.") from error
        long_term = self.long_term(agent_id)
        batches, limit = None, RECALL_LIMIT
        if long_term is not None and settings.long_term is not None:
            limit = settings.long_term.recall_limit
            batches = MemoryBatches(
                long_term,
                agent_id,
                batch_size=settings.long_term.batch_size,
                flush_seconds=settings.long_term.flush_seconds,
            )
        sessions = self.session_service(agent_id)
        service = MemoryService(sessions, working, long_term, batches, recall_limit=limit)
        with self._lock:
            self._services.append(service)
        return service

    def shutdown(self) -> bool:
        """Flush all services, then close vector stores and databases; whether everything was written."""
        with self._lock:
            services, self._services = self._services, []
            vectors, self._vectors = self._vectors, {}
            databases, self._databases = self._databases, {}
        is_written = all([service.shutdown() for service in services])  # noqa: C419 - every one of them
        for store in vectors.values():
            store.close()
        for database in databases.values():
            database.close()
        return is_written

    def _store(self, name: str) -> StoreSettings | None:
        try:
            return self._configuration.stores[name]
        except KeyError:
            raise ValidationError(f"There is no session store {name} in the configuration.") from None

    def _database(self, name: str) -> SqlDatabase:
        with self._lock:
            if name not in self._databases:
                store = self._store(name)
                if store is None:
                    raise ValidationError(f"The session store {name} is in memory, and has no database.")
                self._databases[name] = self._opened(name, store)
            return self._databases[name]

    def _opened(self, name: str, store: StoreSettings) -> SqlDatabase:
        sizes = {"max_conns": store.max_conns, "max_idle": store.max_idle}
        driver = store.driver.lower()
        if driver in ("sqlite", "sqlite3"):
            path = self._configuration.folder / Path(store.database).expanduser()
            return SqliteDatabase(path, read_only=self._read_only, **sizes)
        if driver not in ("postgres", "postgresql"):
            raise ValidationError(
                f"The session store {name} has the driver {store.driver!r}: sqlite or postgres is kept."
            )
        try:
            from hermes_tui.memory.sql.postgres import PostgresDatabase
        except ImportError as error:
            raise StoreError(
                f"The session store {name} needs psycopg, which is not installed: {install_command('postgres')}"
            ) from error
        dsn = dsn_of(store)
        if dsn is None:
            raise ValidationError(
                f"The address of the session store {name} cannot be made: its host or port is none."
            )
        return PostgresDatabase(dsn, read_only=self._read_only, **sizes)

    def _vector_store(self, settings: LongTermSettings, store: str) -> VectorStore:
        def made(make: Callable[[], T]) -> T:
            try:
                return make()
            except ValueError as error:
                raise ValidationError(f"The long-term memory cannot be made: {error}.") from error

        if settings.backend == "pgvector":
            from hermes_tui.memory.longterm.pgvector import PgVectorStore

            described = self._store(store)
            if described is None or described.driver.lower() not in ("postgres", "postgresql"):
                raise ValidationError(f"Vectors in SQL need a store on PostgreSQL, which {store} is not.")
            # Of a pool of its own: the vector store closes it.
            return made(lambda: PgVectorStore(self._opened(store, described), settings.collection))
        if settings.url:
            from hermes_tui.memory.longterm.qdrant_server import QdrantServer

            seconds = READING_SECONDS if self._read_only else _SECONDS
            return made(lambda: QdrantServer(settings.url, settings.collection, settings.api_key, seconds=seconds))
        from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant

        folder = self._configuration.folder / (settings.path or "data/vectors")
        return EmbeddedQdrant(folder, settings.collection, read_only=self._read_only)


def _embedder(settings: EmbedderSettings) -> Embedder:
    url = settings.url or settings.host
    given: dict[str, Any] = {key: value for key, value in (("model", settings.model), ("url", url)) if value}
    try:
        if settings.type == "ollama":
            from hermes_tui.memory.longterm.embedders import OllamaEmbedder

            return OllamaEmbedder(**given)
        if settings.type == "openai":
            from hermes_tui.memory.longterm.embedders import OpenAIEmbedder

            return OpenAIEmbedder(api_key=settings.api_key, **given)
    except ValueError as error:
        raise ValidationError(f"The embedder cannot be made: {error}.") from error
    from hermes_tui.memory.longterm.static_embedder import StaticEmbedder

    return StaticEmbedder()
