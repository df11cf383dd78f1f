"""What `hermes_tui.memory` offers, and what a process loads for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hermes_tui.memory


@pytest.mark.parametrize("name", hermes_tui.memory.__all__)
def test_everything_that_is_listed_is_there(name: str) -> None:
    assert getattr(hermes_tui.memory, name).__name__ == name


def test_nothing_else_is() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = hermes_tui.memory.no_such_name


@pytest.mark.parametrize(
    "code",
    [
        "import hermes_tui.memory",
        "import hermes_tui.memory.working.strategies",
        "from hermes_tui.memory import LongTermMemory, MemoryService, OllamaEmbedder, QdrantServer, StaticEmbedder",
    ],
)
def test_what_is_not_used_is_not_loaded(code: str) -> None:
    heavy = {"apsw", "psycopg", "qdrant_edge", "wordllama", "numpy", "yaml", "sqlite3"}
    script = f"{code}\nimport sys\nprint(sorted({heavy!r} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
