"""Agents that have nothing on a machine: their adapters are not imported for a list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from session_adapters.base import Environment
from session_adapters.presence import may_have_sessions
from session_adapters.registry import BUILT_IN
from spending import Spender

MILLION = 1_000_000
_LIST = """
import sys
from pathlib import Path
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
manager = SessionManager(Environment(home=Path(sys.argv[1])), cache_dir=Path(sys.argv[2]))
print(*(one.unified_id for one in manager.list()))
manager.catalogue.refresh_processes()
agents = "claude", "cursor", "gemini", "hector", "opencode"
print(*(name for name in agents if f"session_adapters.{name}.adapter" in sys.modules))
"""


def listed(home: Path, cache: Path) -> list[str]:
    """What a new process lists, and whose adapters it imported."""
    argv = [sys.executable, "-c", _LIST, str(home), str(cache)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_list_imports_the_adapters_of_agents_that_may_have_sessions(tmp_path: Path) -> None:
    made = Spender(tmp_path / "home")
    made.session("one", {"input": MILLION})
    assert listed(made.home, tmp_path / "cache") == ["claude:one", "claude"]
    (made.home / ".gemini").mkdir()
    assert listed(made.home, tmp_path / "cache") == ["claude:one", "claude gemini"]


def test_an_agent_that_comes_later_is_listed(tmp_path: Path) -> None:
    made = Spender(tmp_path / "home")
    made.session("one", {"input": MILLION})
    catalogue = Catalogue(Adapters(lambda: Environment(home=made.home)), None)
    before = catalogue.refresh()
    chats = made.home / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    chats.joinpath("session-2026-11-01T10-00-two.json").write_text(
        '{"sessionId": "two", "startTime": "2026-11-01T10:00:00.000Z", "lastUpdated": "2026-11-01T10:00:00.000Z",'
        ' "messages": [{"id": "1", "timestamp": "2026-11-01T10:00:00.000Z", "type": "user", "content": "hello"}]}'
    )
    after = catalogue.refresh()
    assert [one.unified_id for one in before.sessions] == ["claude:one"]
    assert {one.unified_id for one in after.sessions} == {"claude:one", "gemini:two"}


def test_where_it_was_looked_is_told_on_request_and_where_there_is_no_session(tmp_path: Path) -> None:
    made = Spender(tmp_path / "home")
    empty = Catalogue(Adapters(lambda: Environment(home=tmp_path)), None).refresh()
    made.session("one", {"input": MILLION})
    catalogue = Catalogue(Adapters(lambda: Environment(home=made.home)), None)
    some, every = catalogue.refresh(), catalogue.refresh(everywhere=True)
    assert {place.agent for place in some.places} == {place.agent for place in every.places} == set(BUILT_IN)
    assert {place.agent for place in some.places if not place.roots} >= {"cursor", "gemini", "opencode"}
    assert all(place.roots for place in every.places)
    assert [place.agent for place in empty.places if not place.roots] == []


@pytest.mark.parametrize("place", ["data/sessions.db", ".hector/hector.db", "config.yaml", ".hector/config.yaml"])
def test_hector_may_be_at_home_where_it_is_started_and_where_a_variable_says(place: str, tmp_path: Path) -> None:
    home, working = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    working.mkdir()
    here = Environment(home=home, variables={"PWD": str(working)})
    assert not may_have_sessions("hector", here)
    for folder in (home, working):
        made = folder / place
        made.parent.mkdir(exist_ok=True)
        made.touch()
        assert may_have_sessions("hector", here)
        made.unlink()
        if made.parent != folder:
            made.parent.rmdir()
    for name in ("HERMES_TUI_HECTOR_PATH", "HERMES_TUI_HECTOR_DSN"):
        assert may_have_sessions("hector", Environment(home=home, variables={name: "elsewhere"}))
