"""Servers on loopback for long-term memory: embedders, and Qdrant's REST interface over its own engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import qdrant_edge

__all__ = ["Loopback", "QdrantRest", "loopback"]

Answer = tuple[int, Any]
"""The status, and what is sent: JSON, or bytes as they are."""


class Loopback:
    """A server that answers by a function and remembers what it was asked."""

    def __init__(self, answer: Callable[[str, str, Any], Answer]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@contextmanager
def loopback(answer: Callable[[str, str, Any], Answer]) -> Iterator[Loopback]:
    """`answer(method, path, body)` for each request."""
    server = Loopback(answer)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(data) if data else None
            asked = {"method": self.command, "path": self.path, **({"body": body} if data else {})}
            server.asked.append(asked)
            server.headers.append(dict(self.headers))
            status, found = server.answer(self.command, self.path, body)
            sent = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", server.url + "/elsewhere")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PUT = do_POST = _serve  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            """Nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


class QdrantRest:
    """Answers as Qdrant's REST interface does, from a collection of its own engine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shard: Any = None
        self._lock = threading.Lock()

    def __call__(self, method: str, path: str, body: Any) -> Answer:
        """See `loopback`."""
        with self._lock:
            _, _, _, *rest = path.partition("?")[0].split("/")
            if not rest and method == "PUT":
                return self._create(body)
            if rest == ["exists"]:
                return 200, {"result": {"exists": self._shard is not None}, "status": "ok"}
            if self._shard is None:
                return 404, {"status": {"error": "Not found: Collection doesn't exist!"}}
            return 200, {"result": self._do(method, rest, body), "status": "ok", "time": 0.001}

    def close(self) -> None:
        """Give the collection back."""
        if self._shard is not None:
            self._shard.close()

    def _create(self, body: Any) -> Answer:
        if self._shard is not None:
            return 409, {"status": {"error": "Collection already exists!"}}
        assert body["vectors"]["distance"] == "Cosine"
        self._folder.mkdir()
        vectors = qdrant_edge.EdgeVectorParams(size=body["vectors"]["size"], distance=qdrant_edge.Distance.Cosine)
        self._shard = qdrant_edge.EdgeShard.create(str(self._folder), qdrant_edge.EdgeConfig(vectors=vectors))
        return 200, {"result": True, "status": "ok"}

    def _do(self, method: str, rest: list[str], body: Any) -> Any:
        operation = qdrant_edge.UpdateOperation
        if rest == ["index"]:
            kind = qdrant_edge.PayloadSchemaType.Keyword
            self._shard.update(operation.create_field_index(body["field_name"], kind))
        elif rest == ["points"] and method == "PUT":
            points = [qdrant_edge.Point(one["id"], one["vector"], one["payload"]) for one in body["points"]]
            self._shard.update(operation.upsert_points(points))
        elif rest == ["points", "delete"]:
            self._shard.update(operation.delete_points_by_filter(_filter(body)))
        elif rest == ["points", "count"]:
            return {"count": self._shard.count(qdrant_edge.CountRequest(filter=_filter(body), exact=True))}
        elif rest == ["points", "scroll"]:
            request = qdrant_edge.ScrollRequest(
                offset=body.get("offset"), limit=min(body["limit"], 7), filter=_filter(body), with_payload=True
            )
            found, following = self._shard.scroll(request)
            read = [{"id": str(one.id), "payload": one.payload} for one in found]
            return {"points": read, "next_page_offset": None if following is None else str(following)}
        else:
            assert rest == ["points", "query"], rest
            query = qdrant_edge.QueryRequest(
                limit=body["limit"],
                query=qdrant_edge.Query.Nearest(body["query"]["nearest"]),
                filter=_filter(body),
                with_payload=True,
            )
            found = self._shard.query(query)
            return {"points": [{"id": str(one.id), "score": one.score, "payload": one.payload} for one in found]}
        return {"operation_id": 1, "status": "completed"}


def _filter(body: Any) -> Any:
    conditions: Any = [
        qdrant_edge.FieldCondition(one["key"], qdrant_edge.MatchValue(one["match"]["value"]))
        for one in body["filter"]["must"]
    ]
    return qdrant_edge.Filter(must=conditions)
