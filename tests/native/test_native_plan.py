"""What resuming and forking would start (spec 004 §7.1; checklist R-6), for every agent's own store."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from chances import examples
from claude_lines import ClaudeHome
from hermes_tui.errors import AgentNotInstalled, CapabilityError, ParseError, SessionNotFound, ValidationError
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.native.plan import STORE_VARIABLES, Start, plan
from hermes_tui.sessions.native.shell_line import command_line, quote
from session_adapters.base import Capabilities, Environment, Liveness, NativeCommand
from session_adapters.model import SessionSummary
from standins import StandIns
from support import REPOSITORY
from tiny_adapter import TinyAdapter

Store = Callable[..., Path]
Manager = Callable[..., SessionManager]

# What the agents' own programs take, as their FACTS.md have it: (agent, verb) → words of which one is the id or path.
NATIVE = {
    ("claude", "resume"): ["claude", "--resume", "{id}"],
    ("claude", "fork"): ["claude", "--resume", "{id}", "--fork-session"],
    ("codex", "resume"): ["codex", "resume", "{id}"],
    ("codex", "fork"): ["codex", "fork", "{id}"],
    ("cursor", "resume"): ["cursor-agent", "--resume", "{id}"],
    ("copilot", "resume"): ["copilot", "--resume={id}"],
    ("gemini", "resume"): ["gemini", "--resume", "{id}"],
    ("hermes", "resume"): ["hermes", "--resume", "{id}"],
    ("omp", "resume"): ["omp", "--resume", "{path}"],
    ("omp", "fork"): ["omp", "--fork", "{id}"],
    ("opencode", "resume"): ["opencode", "-s", "{id}"],
    ("opencode", "fork"): ["opencode", "-s", "{id}", "--fork"],
    ("pi", "resume"): ["pi", "--session", "{path}"],
    ("pi", "fork"): ["pi", "--fork", "{path}"],
}


def _plain(manager: SessionManager, agent: str) -> SessionSummary:
    """An ordinary session of a store: not a helper's, and with a directory."""
    found = [one for one in manager.list(agent) if one.kind == "session" and one.cwd and not one.archived]
    found = [one for one in found if one.raw.get("layout") != "document"]
    return next(one for one in found if agent != "cursor" or one.raw.get("layout") == "chat")


@pytest.mark.parametrize(("agent", "verb"), NATIVE)
def test_every_agent_is_asked_for_this_very_session(
    agent: str, verb: str, store: Store, manager_for: Manager, stand_ins: StandIns
) -> None:
    """A capability without the id in the command is worth nothing (facts 1.4)."""
    manager = manager_for(store(agent, "home"))
    one = _plain(manager, agent)
    start = (manager.resume if verb == "resume" else manager.fork)(agent, one.session_id)
    target = str(one.raw.get("tip") or one.session_id)
    wanted = [word.format(id=target, path=one.path) for word in NATIVE[agent, verb]]
    assert list(start.argv) == wanted
    assert [one.kind for one in start.obstacles if one.kind == "program"] == ["program"]
    stand_ins.add(wanted[0])
    found = (manager.resume if verb == "resume" else manager.fork)(agent, one.session_id)
    assert found.program == str(stand_ins.bin / wanted[0])


@pytest.mark.parametrize(
    ("agent", "verb"),
    [("copilot", "fork"), ("gemini", "fork"), ("hermes", "fork"), ("hector", "resume"), ("hector", "fork")],
)
def test_r_6_an_agent_that_cannot_says_so(agent: str, verb: str, store: Store, manager_for: Manager) -> None:
    manager = manager_for(store(agent, "home"))
    one = manager.list(agent)[0]
    with pytest.raises(CapabilityError) as caught:
        (manager.resume if verb == "resume" else manager.fork)(agent, one.session_id)
    assert (caught.value.code, caught.value.exit_code) == ("CAPABILITY_ERROR", 6)
    assert verb in str(caught.value)


def test_a_helper_is_not_resumed_but_the_reason_is_given(store: Store, manager_for: Manager) -> None:
    manager = manager_for(store("claude", "home"))
    helper = next(one for one in manager.list("claude") if one.kind == "subagent")
    with pytest.raises(CapabilityError, match="helper"):
        manager.resume("claude", helper.session_id)


def test_a_program_that_is_missing(claude: Any, manager_for: Manager, stand_ins: StandIns) -> None:
    home, one = claude
    start = manager_for(home).resume("claude", one)
    assert start.program is None
    with pytest.raises(AgentNotInstalled, match=r"claude is not on PATH; install Claude Code") as caught:
        start.check()
    assert caught.value.exit_code == 4
    # A file that may not be run is no program.
    (stand_ins.bin / "claude").write_text("")
    assert manager_for(home).resume("claude", one).program is None


@pytest.fixture
def claude(tmp_path: Path) -> tuple[Path, str]:
    """A home with one session, held in a directory that is there; the session's id."""
    home = ClaudeHome(tmp_path / "home")
    path = home.session("Fix it")
    work = tmp_path / "work"
    work.mkdir()
    path.write_text(path.read_text().replace("/home/dev/shop", str(work)))
    return home.home, path.stem


def test_a_directory_that_is_gone_and_another(
    claude: Any, manager_for: Manager, stand_ins: StandIns, tmp_path: Path
) -> None:
    home, one = claude
    stand_ins.add("claude")
    manager = manager_for(home)
    work = tmp_path / "work"
    assert manager.resume("claude", one).cwd == str(work)
    assert manager.resume("claude", one).obstacles == ()
    # A link to it is the same directory.
    (tmp_path / "link").symlink_to(work)
    assert manager.resume("claude", one, cwd=tmp_path / "link").warnings == ()
    work.rmdir()
    start = manager.resume("claude", one)
    assert [obstacle.kind for obstacle in start.obstacles] == ["directory"]
    with pytest.raises(ValidationError, match=f"its directory {work} is gone; choose another"):
        start.check()
    other = manager.resume("claude", one, cwd=tmp_path)
    assert (other.cwd, other.obstacles) == (str(tmp_path), ())
    assert str(work) in other.warnings[0] and str(tmp_path) in other.warnings[0]
    other.check()
    assert start.ours == ("sessions", "resume", "claude", one)
    assert other.ours == (*start.ours, "--cwd", str(tmp_path))
    wrong = manager.resume("claude", one, cwd=tmp_path / "nowhere")
    with pytest.raises(ValidationError, match="nowhere is not a directory"):
        wrong.check()


class Abled(TinyAdapter):
    """An agent that can do everything."""

    capabilities = Capabilities(session_persistence="file", can_resume=True, can_fork=True)
    command = NativeCommand(argv=("tiny", "--resume", "one"))

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        assert not summary.live, "what is open is said by `plan`, not by the adapter"
        return self.command

    fork_command = resume_command


class Shelf:
    """Stands for `Adapters` with one adapter."""

    def __init__(self, adapter: TinyAdapter) -> None:
        self.adapter = adapter

    def get(self, name: str) -> TinyAdapter:
        return self.adapter


def planned(tmp_path: Path, command: NativeCommand, verb: Any = "resume", cwd: str | Path | None = None) -> Start:
    adapter = Abled(Environment(home=tmp_path))
    adapter.command = command
    summary = SessionSummary(agent="tiny", session_id="one", live=True)
    return plan(Shelf(adapter), summary, verb, cwd)  # type: ignore[arg-type]


def test_a_session_that_is_open_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked anew, whatever the list knew; for a fork it is no hazard but worth knowing."""
    command = NativeCommand(argv=("tiny", "one"), cwd=str(tmp_path))
    assert planned(tmp_path, command).warnings == ()
    monkeypatch.setattr(TinyAdapter, "live", lambda self: {"one": Liveness(pid=4711, status="busy")})
    (said,) = planned(tmp_path, command).warnings
    assert "open elsewhere (process 4711, busy)" in said and "two programs" in said
    (said,) = planned(tmp_path, command, "fork").warnings
    assert "written so far" in said
    hazard = replace(command, warning="It eats sessions")
    assert planned(tmp_path, hazard).warnings[1] == "It eats sessions"


def test_where_it_runs_when_the_session_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start = planned(tmp_path, NativeCommand(argv=("tiny", "one")))
    assert start.cwd == str(tmp_path)
    assert "does not say where it was held" in start.warnings[0]


@pytest.mark.parametrize("chosen", [None, "below"])
def test_a_working_directory_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None
) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    start = planned(tmp_path, NativeCommand(argv=("tiny", "one")), cwd=chosen)
    (said,) = [one.text for one in start.obstacles if one.kind == "directory"]
    assert "the working directory is gone" in said and said.endswith("; choose another")
    assert start.line.startswith("cd -- ")
    own = planned(tmp_path, NativeCommand(argv=("tiny", "one"), cwd=str(tmp_path)))
    assert (own.cwd, [one for one in own.obstacles if one.kind == "directory"]) == (str(tmp_path), [])
    # A path that is not absolute means nothing to us.
    (tmp_path / "here").mkdir()
    relative = planned(tmp_path, NativeCommand(argv=("tiny", "one"), cwd="here"))
    assert [one.kind for one in relative.obstacles] == ["program", "directory"]


def test_an_agent_that_looks_in_one_directory_only(store: Store, manager_for: Manager, tmp_path: Path) -> None:
    manager = manager_for(store("gemini", "home"))
    one = _plain(manager, "gemini")
    start = manager.resume("gemini", one.session_id, cwd=tmp_path)
    assert start.warnings[0].startswith(f"Gemini CLI finds the session only in {one.cwd}")
    assert any("27368" in warning for warning in start.warnings), "the known hazard"


def test_what_cannot_be_said_to_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError):
        planned(tmp_path, NativeCommand(argv=("tiny", "o\0ne"), cwd=str(tmp_path)))
    with pytest.raises(CapabilityError):
        planned(tmp_path, NativeCommand(argv=(), cwd=str(tmp_path)))
    nul = planned(tmp_path, NativeCommand(argv=("tiny",), cwd="/a\0b"))
    assert [one.kind for one in nul.obstacles if one.kind == "directory"] == ["directory"]


def test_an_adapter_that_fails_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(TinyAdapter, "live", fail)
    with pytest.raises(ParseError, match="boom"):
        planned(tmp_path, NativeCommand(argv=("tiny",), cwd=str(tmp_path)))


def test_an_unknown_session(claude: Any, manager_for: Manager) -> None:
    with pytest.raises(SessionNotFound):
        manager_for(claude[0]).resume("claude", "nope")


# The environment ---------------------------------------------------------------------------------------------


def test_the_program_looks_into_the_stores_that_were_read(
    claude: Any, manager_for: Manager, stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home, one = claude
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    monkeypatch.setenv("SECRET", "kept")
    start = manager_for(home, XDG_DATA_HOME="/data").resume("claude", one)
    assert start.env == {"HOME": str(home), "XDG_DATA_HOME": "/data"}
    assert start.unset == ("CODEX_HOME",)
    environment = start.environment()
    assert (environment["HOME"], environment["XDG_DATA_HOME"], environment["SECRET"]) == (str(home), "/data", "kept")
    assert "CODEX_HOME" not in environment
    assert environment["PWD"] == str(tmp_path / "work")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CODEX_HOME")
    assert manager_for(home).resume("claude", one).env == {}


def test_what_the_command_itself_wants_is_set_and_not_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    start = planned(tmp_path, NativeCommand(argv=("tiny",), cwd=str(tmp_path), env={"CODEX_HOME": "/c", "A": "1"}))
    assert {name: start.env[name] for name in ("CODEX_HOME", "A")} == {"CODEX_HOME": "/c", "A": "1"}
    assert start.unset == ()
    assert start.environment()["CODEX_HOME"] == "/c"


def test_places_are_absolute_whatever_they_are_named_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is the home that is read, and a program that a relative PATH finds is found after `cd` too."""
    (tmp_path / "work").mkdir()
    (tmp_path / "tiny").write_text("#!/bin/sh\n")
    (tmp_path / "tiny").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    start = planned(tmp_path, NativeCommand(argv=("tiny",)), cwd=Path("~/work"))
    assert (start.cwd, start.program, start.obstacles) == (str(tmp_path / "work"), str(tmp_path / "tiny"), ())


def test_every_variable_that_leads_to_a_store_is_known() -> None:
    """Those that the adapters ask for, out of their source; the rest say where we are, not where a store is."""
    source = "\n".join(path.read_text() for path in (REPOSITORY / "adapters").rglob("*.py"))
    asked = set(re.findall(r'(?:variables\.get\(|\.path\()"([A-Z_]+)"', source))
    asked |= {
        name for found in re.findall(r"_VARIABLES = \(([^)]*)\)", source) for name in re.findall("[A-Z_]+", found)
    }
    assert len(asked) > 10
    assert asked - set(STORE_VARIABLES) <= {"PWD", "TZ", "LC_ALL", "LANG"}


# The line for a shell ----------------------------------------------------------------------------------------

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@examples(30)
@given(st.lists(WORDS, min_size=1, max_size=4))
@example(["\x017", "\x1b[0m", "\x7f7"])
def test_a_shell_reads_back_what_was_quoted(words: list[str]) -> None:
    """And nothing in the line can do anything to a terminal."""
    line = " ".join(quote(word) for word in words)
    assert line.isprintable()
    script = f"printf '%s\\0' {line}"
    ran = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert ran.stdout.decode().split("\0")[:-1] == words


def test_bytes_that_are_no_text_come_back_too() -> None:
    word = os.fsdecode(b"caf\xe9 \x1b[31m7")
    ran = subprocess.run(["/bin/bash", "-c", f"printf %s {quote(word)}"], capture_output=True, check=True)
    assert ran.stdout == b"caf\xe9 \x1b[31m7"


def test_the_whole_line() -> None:
    line = command_line(("claude", "--resume", "a b"), cwd="/srv/my app", env={"HOME": "/x y"}, unset=("CODEX_HOME",))
    assert line == "cd -- '/srv/my app' && env -u CODEX_HOME HOME='/x y' claude --resume 'a b'"
    assert (
        command_line(("pi", "--fork", "/s.jsonl"), cwd="/w", env={"A": "1"}) == "cd -- /w && A=1 pi --fork /s.jsonl"
    )
