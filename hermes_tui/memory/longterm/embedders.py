"""Embedders over HTTP: Ollama, and whatever speaks as OpenAI does.

Format: Ollama's API, POST /api/embed; OpenAI's, POST /v1/embeddings.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from hermes_tui.memory.longterm.http_json import HttpFailure, JsonClient
from hermes_tui.memory.longterm.protocols import EmbedderRefused, EmbedderUnavailable

__all__ = ["OllamaEmbedder", "OpenAIEmbedder"]

_LONGEST = 24_000
"""Characters of a text: models take some 8,000 tokens and refuse more. What is said at the beginning counts."""


class _HttpEmbedder(ABC):
    """A server that embeds several texts in one request."""

    def __init__(self, client: JsonClient, model: str) -> None:
        self._client = client
        self._model = model
        self.name = f"{model} at {client.label}"
        """See `Embedder.name`."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder.embed`. Of a long text the beginning."""
        if not texts:
            return []
        try:
            vectors = self._ask([text[:_LONGEST] for text in texts])
        except HttpFailure as error:
            # These say that the texts are at fault: asked again, they would be refused again.
            kind = EmbedderRefused if error.status in (400, 413, 422) else EmbedderUnavailable
            raise kind(f"The embedder {self.name} gives no vectors: {error}.") from None
        except (KeyError, TypeError, ValueError, IndexError):
            raise EmbedderUnavailable(f"The embedder {self.name} answers something else than vectors.") from None
        if len(vectors) != len(texts) or len({len(one) for one in vectors}) != 1 or not vectors[0]:
            raise EmbedderUnavailable(f"The embedder {self.name} answers with vectors that do not fit the texts.")
        return vectors

    @abstractmethod
    def _ask(self, texts: list[str]) -> list[list[float]]:
        """The vectors as the server gives them. Raises `HttpFailure`, and what comes of another answer."""


class OllamaEmbedder(_HttpEmbedder):
    """A model that Ollama serves."""

    def __init__(
        self, model: str = "nomic-embed-text", url: str = "http://localhost:11434", *, seconds: float = 30.0
    ) -> None:
        """Raises `ValueError` for what is no address."""
        super().__init__(JsonClient(url, seconds=seconds), model)

    def _ask(self, texts: list[str]) -> list[list[float]]:
        answer = self._client.call("POST", "api", "embed", body={"model": self._model, "input": texts})
        return [_vector(one) for one in answer["embeddings"]]


class OpenAIEmbedder(_HttpEmbedder):
    """A model behind an endpoint as OpenAI's."""

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        url: str = "https://api.openai.com/v1",
        api_key: str = "",
        *,
        seconds: float = 30.0,
    ) -> None:
        """`url` up to the version. Raises `ValueError` for what is no address."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        super().__init__(JsonClient(url, headers, seconds=seconds), model)

    def _ask(self, texts: list[str]) -> list[list[float]]:
        answer = self._client.call("POST", "embeddings", body={"model": self._model, "input": texts})
        return [_vector(one["embedding"]) for one in sorted(answer["data"], key=lambda one: int(one["index"]))]


def _vector(value: Any) -> list[float]:
    """Raises `TypeError` and `ValueError` for what is none."""
    vector = [float(one) for one in value]
    if not all(map(math.isfinite, vector)):
        raise ValueError("not a number")
    return vector
