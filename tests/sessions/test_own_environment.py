"""The environment that is read when no other is named: this process's own, and Hector's servers in the settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_tui.errors import ValidationError
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.own_environment import this_machine
from session_adapters.base import Environment

NAME = "HERMES_TUI_HECTOR_DSN"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file, not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    file = tmp_path / "settings" / "hermes-tui" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def test_without_settings_it_is_this_process(settings: Path) -> None:
    assert this_machine() == Environment.current()
    assert NAME not in this_machine().variables


def test_the_settings_name_servers(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens there: that it is asked for is said, without the password."""
    monkeypatch.setattr("session_adapters.hector.server.PATIENCE", 60.0)  # to import psycopg alone may take longer
    one, other = "postgresql://reader:s3cret@127.0.0.1:1/one", "postgresql://reader:s3cret@127.0.0.1:1/other"
    settings.write_text(f'[hector]\ndsn = ["{one}", "{other}"]\n')
    machine = this_machine()
    assert machine.variables[NAME].split() == [one, other]
    assert machine.home == Environment.current().home
    assert NAME not in os.environ, "or every agent that is started would have it"
    manager = SessionManager(cache_dir=settings.parent, agents=["hector"])
    assert manager.list("hector") == []
    problems = manager.catalogue.snapshot.problems
    assert [one.path for one in problems] == [f"postgresql:reader@127.0.0.1:1/{name}" for name in ("one", "other")]
    assert all(one.reason == "nothing answers there" for one in problems)
    assert "s3cret" not in repr((manager, problems))

    monkeypatch.setenv(NAME, "postgresql://localhost/mine")
    assert this_machine() == Environment.current()


def test_a_mistake_in_the_settings_is_said(settings: Path) -> None:
    settings.write_text('[hector]\ndsn = "postgresql://reader:s3cret@db/one"\n')
    with pytest.raises(ValidationError, match="dsn") as caught:
        this_machine()
    assert "s3cret" not in str(caught.value)
