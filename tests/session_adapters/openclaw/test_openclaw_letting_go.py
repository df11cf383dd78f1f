"""Events of a long session are let go of while it is counted, and it comes to the same."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path

import pytest

from openclaw_store import Database
from sample_homes import HOMES, quiet
from session_adapters.base import Adapter, Environment
from session_adapters.openclaw.database import counting
from session_adapters.registry import adapter_class
from support import STORES


def everything(adapter: Adapter) -> list[object]:
    """What is listed of all databases, and every call."""
    found: list[object] = []
    for source in adapter.sources(quiet):
        found += [adapter.summaries(source, quiet, exact=True), list(adapter.usage(source, quiet))]
    return found


def alike(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether events are kept or not."""
    kept = everything(adapter)
    monkeypatch.setattr(counting, "CHUNK", 2)
    for most in (1, 3):
        monkeypatch.setattr(counting, "KEPT", most)
        assert everything(adapter) == kept


@pytest.mark.parametrize("name", [name for name in HOMES if name.startswith("openclaw/")])
def test_real_sessions_come_to_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / name, home, symlinks=True)
    alike(adapter_class("openclaw")(Environment(home=home, variables={}, proc=tmp_path / "proc")), monkeypatch)


HEADER = {"type": "session", "id": "s", "version": 3, "timestamp": "2026-01-01T10:00:00Z", "cwd": "/srv"}


def message(number: int, parent: int | None, role: str = "user") -> dict[str, object]:
    said = {"role": role, "content": [{"type": "text", "text": f"words {number}"}], "timestamp": number}
    above = None if parent is None else f"e{parent}"
    return {
        "type": "message",
        "id": f"e{number}",
        "parentId": above,
        "timestamp": f"2026-01-01T10:{number % 60:02}:00Z",
    } | {"message": said}


@pytest.mark.parametrize(
    "parents",
    [
        [None, 0, 1, 2, 3, 4, 5],
        [None, 0, 1, 2, 0, 4, 5],
        [None, 0, 1, 0, 1, 2, 5],
        [None, 0, 1, 2, 3, 2, 5],
        [None, None, 1, 2, None, 4, 5],
    ],
)
@pytest.mark.parametrize("leaf", [None, "e1", "e5", "e6"])
def test_branches_and_leaves_come_to_the_same(
    parents: list[int | None], leaf: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Database(tmp_path)
    store.key("k", "s")
    store.write("s", HEADER)
    for number, parent in enumerate(parents):
        store.write("s", message(number, parent, "assistant" if number % 2 else "user"))
        if number == 4 and leaf:
            store.write("s", {"type": "leaf", "id": f"l{number}", "parentId": "e4", "targetId": leaf})
    alike(store.adapter, monkeypatch)


def test_a_long_session_is_not_held(tmp_path: Path) -> None:
    store = Database(tmp_path)
    store.key("k", "s")
    store.connection.execute("BEGIN")
    store.write("s", HEADER, *(message(number, number - 1 if number else None) for number in range(6000)))
    store.connection.execute("COMMIT")
    (source,) = store.adapter.sources(quiet)
    (before,) = store.adapter.summaries(source, quiet, exact=True)
    tracemalloc.start()
    (after,) = store.adapter.summaries(source, quiet, exact=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert before == after
    assert after.message_count == 6000
    assert peak < 1_200_000
