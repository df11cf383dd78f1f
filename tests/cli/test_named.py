"""Names of sessions on the command line: every command takes the same ones, and refuses what may mean several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.cli.execute import execute
from hermes_tui.cli.sessions.session_argument import get_named, summary_named
from hermes_tui.errors import SessionNotFound
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.registry import BUILT_IN
from support import STORES

HOMES = sorted(
    (agent, *path.relative_to(STORES / agent).parts)
    for agent in BUILT_IN
    for path in (*(STORES / agent).glob("home*"), *(STORES / agent).glob("*/home"))
)


@pytest.mark.parametrize("parts", HOMES, ids="/".join)
def test_every_command_means_the_same_session(
    parts: tuple[str, ...], store: Callable[..., Path], tmp_path: Path
) -> None:
    agent = parts[0]
    manager = SessionManager(Environment(home=store(*parts)), cache_dir=tmp_path / "cache", agents=[agent])
    listed = manager.list(agent, limit=None)
    names = {text for one in listed for text in (one.session_id, one.session_id[:5], Path(one.path).stem)}
    names |= {str(one.raw[key]) for one in listed for key in ("sessionId", "headerId") if key in one.raw}
    ids = {one.session_id for one in listed}
    for name in sorted(names):
        try:
            meant = summary_named(manager, agent, name).session_id
        except SessionNotFound as refused:
            with pytest.raises(SessionNotFound) as error:
                get_named(manager, agent, name)
            assert str(error.value) == str(refused)
        else:
            assert meant in ids
            assert get_named(manager, agent, name).session_id == meant


@pytest.mark.parametrize("command", ["show", "export", "resume", "fork", "diff"])
def test_a_name_that_two_sessions_share_is_refused(
    command: str, store: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    """Two channels of OpenClaw's have a document of one name."""
    home = store("openclaw", "home-spec")
    shared = list(home.rglob("shared-thread-7.json"))
    assert len(shared) == 2
    named = ["openclaw:shared-thread-7"] * (1 + (command == "diff"))
    assert execute(["--home", str(home), "sessions", command, *named]) == SessionNotFound.exit_code
    said = capfd.readouterr()
    assert said.out == ""
    for path in shared:
        assert f"{path.parent.name}/shared-thread-7" in said.err


def test_the_beginning_of_a_session_means_it_and_not_its_helper(
    store: Callable[..., Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = store("copilot", "home")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=["copilot"])
    (helper,) = (one.session_id for one in manager.list("copilot", limit=None) if ":" in one.session_id)
    session, _, own = helper.partition(":")
    for name, meant in ((session[:8], session), (session, session), (f"{session}:{own[:4]}", helper)):
        assert summary_named(manager, "copilot", name).session_id == meant
    assert execute(["--home", str(home), "sessions", "show", f"copilot:{session[:8]}"]) == 0
    assert f"`{session}`" in capfd.readouterr().out
