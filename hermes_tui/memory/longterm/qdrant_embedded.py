"""Qdrant in this process, on a folder of its own.

This is Qdrant's own engine (`qdrant-edge-py`). The local mode of `qdrant-client`, which is another program, brings
Python's SQLite and unpickles what lies in the folder; this one does neither.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_tui.memory.longterm.folder_copy import copied_folder
from hermes_tui.memory.longterm.protocols import MemoryPoint, RecalledMemory, Vector, VectorStoreUnavailable
from hermes_tui.memory.longterm.qdrant_points import COLLECTION, INDEXED, MOST, newest_first, payload_of, point_of
from hermes_tui.platform.paths import private_dir
from session_adapters.registry import install_command

__all__ = ["EmbeddedQdrant"]

_SETTINGS = "edge_config.json"
"""The file by which a folder of the engine's is known."""


class EmbeddedQdrant:
    """One collection below a folder. One process has it open at a time; a reader leaves it as it is, and works on a
    copy."""

    def __init__(self, folder: Path | str, collection: str = COLLECTION, *, read_only: bool = False) -> None:
        self._folder = Path(folder) / collection.replace("/", "%2F")
        self._copy: Path | None = None
        """Where it is read, for a reader that has opened it."""
        self._is_read_only = read_only
        self.label = str(self._folder)
        """See `VectorStore.label`."""
        self._lock = threading.Lock()
        self._shard: Any = None

    def upsert(self, points: Sequence[tuple[MemoryPoint, Vector]]) -> None:
        """See `VectorStore.upsert`."""
        if not points:
            return
        with self._told("kept"), self._lock:
            self._refuse_reader()
            import qdrant_edge as engine

            shard = self._opened(len(points[0][1]))
            made = [engine.Point(one.id, list(vector), payload_of(one)) for one, vector in points]
            shard.update(engine.UpdateOperation.upsert_points(made))

    def search(self, agent_id: str, session_id: str, vector: Vector, k: int) -> list[RecalledMemory]:
        """See `VectorStore.search`."""
        with self._told("searched"):
            import qdrant_edge as engine

            shard = self._there()
            if shard is None:
                return []
            query = engine.QueryRequest(
                limit=k,
                query=engine.Query.Nearest(list(vector)),
                filter=_own(agent_id, session_id),
                with_payload=True,
            )
            return [RecalledMemory(point_of(one.id, one.payload), one.score) for one in shard.query(query)]

    def points(self, agent_id: str, session_id: str, limit: int = 100) -> list[MemoryPoint]:
        """See `VectorStore.points`."""
        with self._told("read"):
            import qdrant_edge as engine

            shard = self._there()
            if shard is None:
                return []
            request = engine.ScrollRequest(limit=MOST, filter=_own(agent_id, session_id), with_payload=True)
            found, _ = shard.scroll(request)
            return newest_first([point_of(one.id, one.payload) for one in found], limit)

    def count(self, agent_id: str, session_id: str | None = None) -> int:
        """See `VectorStore.count`."""
        with self._told("counted"):
            import qdrant_edge as engine

            shard = self._there()
            request = engine.CountRequest(filter=_own(agent_id, session_id), exact=True)
            return int(shard.count(request)) if shard is not None else 0

    def delete(self, agent_id: str, session_id: str) -> None:
        """See `VectorStore.delete`."""
        with self._told("removed"), self._lock:
            self._refuse_reader()
            import qdrant_edge as engine

            shard = self._opened(0)
            if shard is not None:
                shard.update(engine.UpdateOperation.delete_points_by_filter(_own(agent_id, session_id)))

    def close(self) -> None:
        """See `VectorStore.close`."""
        with self._told("written"), self._lock:
            shard, self._shard = self._shard, None
            if shard is not None:
                shard.flush()
                shard.close()
            if self._copy is not None:
                shutil.rmtree(self._copy, ignore_errors=True)
                self._copy = None

    def _there(self) -> Any:
        """The collection; None where nothing was ever kept."""
        with self._lock:
            return self._opened(0)

    def _opened(self, size: int) -> Any:
        """The collection; one that is not there is made for vectors of this size, or with 0 not at all."""
        if self._shard is not None:
            return self._shard
        import qdrant_edge as engine

        if self._is_read_only:
            if (self._folder / _SETTINGS).exists():
                self._copy = copied_folder(self._folder)
                self._shard = engine.EdgeShard.load(str(self._copy))
        elif (self._folder / _SETTINGS).exists():
            self._shard = engine.EdgeShard.load(str(self._folder))
        elif size:
            private_dir(self._folder)
            vectors = engine.EdgeVectorParams(size=size, distance=engine.Distance.Cosine)
            self._shard = engine.EdgeShard.create(str(self._folder), engine.EdgeConfig(vectors=vectors))
            for name in INDEXED:
                self._shard.update(engine.UpdateOperation.create_field_index(name, engine.PayloadSchemaType.Keyword))
        return self._shard

    def _refuse_reader(self) -> None:
        if self._is_read_only:
            raise PermissionError("it was opened for reading alone")

    @contextmanager
    def _told(self, done: str) -> Iterator[None]:
        try:
            yield
        except ImportError as error:
            raise VectorStoreUnavailable(
                f"The embedded vector store is not installed: {install_command('memory')}, or name another."
            ) from error
        except Exception as error:  # the engine raises nothing more precise
            said = " ".join(str(error).split())
            if "WouldBlock" in said:
                said = "another process has it open"
            raise VectorStoreUnavailable(f"The points in {self.label} were not {done}: {said}.") from error


def _own(agent_id: str, session_id: str | None) -> Any:
    """The filter that everything goes through: both ids must match."""
    import qdrant_edge as engine

    wanted = {"agent_id": agent_id, "session_id": session_id}
    return engine.Filter(
        must=[
            engine.FieldCondition(name, engine.MatchValue(value))
            for name, value in wanted.items()
            if value is not None
        ]
    )
