"""Qdrant on a server, over its REST interface.

Format: Qdrant's OpenAPI description. `qdrant-client` brings 100 MB and takes 0.6 s to import for these six requests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hermes_tui.memory.longterm.http_json import HttpFailure, JsonClient
from hermes_tui.memory.longterm.protocols import MemoryPoint, RecalledMemory, Vector, VectorStoreUnavailable
from hermes_tui.memory.longterm.qdrant_points import COLLECTION, INDEXED, MOST, newest_first, payload_of, point_of

__all__ = ["QdrantServer"]

_PAGE = 1000
_PAYLOAD = {"with_payload": True, "with_vector": False}


class QdrantServer:
    """One collection on a server."""

    def __init__(
        self,
        url: str = "http://localhost:6333",
        collection: str = COLLECTION,
        api_key: str = "",
        *,
        seconds: float = 30.0,
    ) -> None:
        """Raises `ValueError` for what is no address."""
        self._client = JsonClient(url, {"api-key": api_key} if api_key else {}, seconds=seconds)
        self._collection = collection
        self.label = f"{self._client.label}, collection {collection}"
        """See `VectorStore.label`."""
        self._lock = threading.Lock()
        self._is_there = False

    def upsert(self, points: Sequence[tuple[MemoryPoint, Vector]]) -> None:
        """See `VectorStore.upsert`."""
        if not points:
            return
        with self._told("kept"):
            self._create(len(points[0][1]))
            made = [{"id": one.id, "vector": list(vector), "payload": payload_of(one)} for one, vector in points]
            self._call("PUT", "points", body={"points": made}, query="?wait=true")

    def search(self, agent_id: str, session_id: str, vector: Vector, k: int) -> list[RecalledMemory]:
        """See `VectorStore.search`."""
        body = {"query": {"nearest": list(vector)}, "filter": _own(agent_id, session_id), "limit": k, **_PAYLOAD}
        with self._told("searched"):
            found = self._read("points", "query", body=body)
            return [
                RecalledMemory(point_of(one["id"], one.get("payload")), float(one["score"]))
                for one in (found["points"] if found else ())
            ]

    def points(self, agent_id: str, session_id: str, limit: int = 100) -> list[MemoryPoint]:
        """See `VectorStore.points`."""
        body: dict[str, Any] = {"filter": _own(agent_id, session_id), "limit": _PAGE, **_PAYLOAD}
        points: list[MemoryPoint] = []
        with self._told("read"):
            while len(points) < MOST:
                found = self._read("points", "scroll", body=body)
                points += [point_of(one["id"], one.get("payload")) for one in (found["points"] if found else ())]
                if not found or found.get("next_page_offset") is None:
                    break
                body["offset"] = found["next_page_offset"]
        return newest_first(points, limit)

    def count(self, agent_id: str, session_id: str | None = None) -> int:
        """See `VectorStore.count`."""
        with self._told("counted"):
            found = self._read("points", "count", body={"filter": _own(agent_id, session_id), "exact": True})
            return int(found["count"]) if found else 0

    def delete(self, agent_id: str, session_id: str) -> None:
        """See `VectorStore.delete`."""
        with self._told("removed"):
            self._read("points", "delete", body={"filter": _own(agent_id, session_id)}, query="?wait=true")

    def close(self) -> None:
        """See `VectorStore.close`: there is nothing to give back."""

    def _create(self, size: int) -> None:
        """Make the collection and its indexes where there is none; another process may do so at the same moment."""
        with self._lock:
            if self._is_there:
                return
            if not self._call("GET", "exists")["exists"]:
                try:
                    self._call("PUT", body={"vectors": {"size": size, "distance": "Cosine"}})
                except HttpFailure as error:
                    if error.status != 409:  # it is there by now
                        raise
            for name in INDEXED:
                self._call("PUT", "index", body={"field_name": name, "field_schema": "keyword"}, query="?wait=true")
            self._is_there = True

    def _call(self, method: str, *path: str, body: object = None, query: str = "") -> Any:
        answer = self._client.call(method, "collections", self._collection, *path, body=body, query=query)
        return answer["result"]

    def _read(self, *path: str, body: object, query: str = "") -> Any:
        """The result; None where the collection was never made."""
        try:
            return self._call("POST", *path, body=body, query=query)
        except HttpFailure as error:
            if error.status == 404:
                return None
            raise

    @contextmanager
    def _told(self, done: str) -> Iterator[None]:
        try:
            yield
        except HttpFailure as error:
            raise VectorStoreUnavailable(f"The points in {self.label} were not {done}: {error}.") from None
        except (KeyError, TypeError, ValueError):
            raise VectorStoreUnavailable(
                f"The points in {self.label} were not {done}: it answers as no Qdrant does."
            ) from None


def _own(agent_id: str, session_id: str | None) -> dict[str, Any]:
    """The filter that everything goes through: both ids must match."""
    wanted = {"agent_id": agent_id, "session_id": session_id}
    return {"must": [{"key": name, "match": {"value": value}} for name, value in wanted.items() if value is not None]}
