"""Threads that ask a new manager at the same time get the same objects."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("member", ["catalogue", "index", "costs", "searches"])
def test_four_threads_get_one_object(member: str, tmp_path: Path, switching: None) -> None:
    getattr(SessionManager(Environment(home=tmp_path), cache_dir=tmp_path), member)  # imports are done
    for _ in range(60):
        manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path)
        start, found = threading.Barrier(4), list[object]()

        def ask(manager: SessionManager = manager, start: threading.Barrier = start) -> None:
            start.wait()
            found.append(getattr(manager, member))  # noqa: B023 - the threads end within the round

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(one) for one in found}) == 1
