"""The preview of a session that a search found by its name alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.workers.previewer import PreviewWish, look
from long_talks import TALKS
from session_adapters.base import Environment

TURNS = 3_000


@pytest.mark.parametrize("agent", ["claude", "hermes", "pi"])
def test_it_tells_beginning_and_end_without_reading_all(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = TALKS[agent](tmp_path / "home", filler=2_000)
    talk.add(TURNS)
    manager = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "cache")
    session = next(one for one in manager.list() if one.session_id == talk.session_id)
    live: Any = SimpleNamespace(
        snapshot=SimpleNamespace(query=SimpleNamespace(text="name"), done=False), preview=lambda unified_id: None
    )
    wish = PreviewWish(session.unified_id, session.path, first=True)
    # A search that goes on, asked again because sessions have changed for one: there may be a match yet.
    assert look(manager, live, "name", wish) is None
    live.snapshot.done = True

    def refuse(*_: object) -> None:
        raise AssertionError("all of it was read")

    monkeypatch.setattr(type(talk.adapter), "session", refuse)
    found = look(manager, live, "name", wish)
    assert found is not None and found.session_id == talk.session_id
    assert [line.text.split(" word")[0] for line in found.end] == [
        f"Answer {TURNS - 2}", f"Prompt {TURNS - 1}", f"Answer {TURNS - 1}",
    ]  # fmt: skip
    first = [line.text.split(" word")[0] for line in found.start]
    assert len(first) == 3 and "Prompt 0" in first[:2]
    manager.catalogue.close()
