"""How Hector 1 goes on with a session: what its own command line takes (`hector chat`, October to December 2025)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hector_store import Store, listed, sample_adapter
from hermes_tui.errors import CapabilityError
from hermes_tui.sessions.manager import SessionManager

Stored = Callable[..., Path]
Manager = Callable[..., SessionManager]


def test_it_is_chatted_on_with_where_its_paths_begin(store: Stored, manager_for: Manager) -> None:
    home = store("hector", "home")
    manager = manager_for(home)
    for name, agent, session in (
        ("assistant/s1", "assistant", "s1"),
        ("math_bot/s1", "math_bot", "s1"),
        ("assistant/team%3Aalpha%2F42%20x", "assistant", "team:alpha/42 x"),
    ):
        start = manager.resume("hector", name)
        file = str(home / "config.yaml")
        assert start.argv == ("hector", "chat", "--config", file, f"--agent={agent}", f"--session={session}")
        assert start.cwd == str(home)
        assert any("Only Hector 1 has this command" in warning for warning in start.warnings)
        assert [obstacle.kind for obstacle in start.obstacles] == ["program"], "it can be copied all the same"
    assert "'--session=team:alpha/42 x'" in manager.resume("hector", "assistant/team%3Aalpha%2F42%20x").line


@pytest.mark.parametrize("name", ["Zero%20Config%20Mode/alice/multi", "@deleted/orphan-1"])
def test_what_no_command_goes_on_with_says_so(name: str, store: Stored, manager_for: Manager) -> None:
    with pytest.raises(CapabilityError, match="Hector has no command to resume"):
        manager_for(store("hector", "home")).resume("hector", name)


def test_what_is_typed_into_an_id_stays_a_value(tmp_path: Path) -> None:
    made = Store(tmp_path)
    with closing(made.connection):
        made.session("--config=/tmp/evil", agent="--url=http://evil")
        (one,) = listed(made.adapter).values()
    command = made.adapter.resume_command(one)
    assert command is not None
    assert command.argv == ("hector", "chat", "--agent=--url=http://evil", "--session=--config=/tmp/evil")
    assert command.cwd == str(tmp_path)


def test_sessions_without_an_agent_have_no_command(store: Stored) -> None:
    adapter = sample_adapter(store("hector", "home"))
    able = {name: adapter.resume_command(one) is not None for name, one in listed(adapter).items()}
    assert able == {
        name: one.raw["layout"] != "v2" and not name.startswith("@") for name, one in listed(adapter).items()
    }
    assert set(able.values()) == {True, False}
