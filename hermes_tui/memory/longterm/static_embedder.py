"""The embedder that needs no network: static vectors of words, averaged.

Weights and tokenizer come with the wheel of wordllama 0.3.9; later ones lack the tokenizer and would fetch it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hermes_tui.memory.longterm.protocols import EmbedderUnavailable
from session_adapters.registry import install_command

__all__ = ["StaticEmbedder"]

_LONGEST = 24_000
"""Characters of a text that are looked at."""


class StaticEmbedder:
    """256 numbers for a text. Loaded with its first: about a second, and 60 MB."""

    name = "wordllama l2_supercat 256"
    """See `Embedder.name`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder.embed`. A text without a known token is all zeros."""
        if not texts:
            return []
        with self._lock:
            if not self._model:
                try:
                    import wordllama
                except ImportError as error:
                    raise EmbedderUnavailable(
                        f"The embedded model is not installed: {install_command('memory')}, or name an embedder."
                    ) from error
                folder = Path(wordllama.__file__).parent
                try:
                    self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
                except (OSError, ValueError, RuntimeError) as error:
                    raise EmbedderUnavailable(f"The embedded model in {folder} cannot be loaded: {error}.") from error
            import numpy

            vectors = self._model.embed([text[:_LONGEST] for text in texts], norm=False)
        # A text without a known token has no mean, and would be divided by a length of 0.
        vectors = numpy.nan_to_num(vectors)
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        found: list[list[float]] = (vectors / numpy.where(lengths > 0, lengths, 1)).tolist()
        return found
