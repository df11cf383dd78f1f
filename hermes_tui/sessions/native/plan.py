"""Plans a resume or fork: what would be started, and what speaks against it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from hermes_tui.errors import AgentNotInstalled, CapabilityError, ValidationError
from hermes_tui.sessions.adapters import Adapters, adapter_asked
from hermes_tui.sessions.native.shell_line import command_line, names_nothing
from session_adapters.base import Adapter, Environment, Liveness, NativeCommand
from session_adapters.model import SessionSummary

__all__ = ["STORE_VARIABLES", "Obstacle", "Start", "Verb", "offers", "plan"]

Verb = Literal["resume", "fork"]

STORE_VARIABLES = (
    "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CODEX_SQLITE_HOME", "COPILOT_HOME", "CURSOR_CONFIG_DIR",
    "CURSOR_DATA_DIR", "GEMINI_CLI_HOME", "HERMES_HOME", "OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME", "OPENCLAW_PROFILE",
    "OPENCLAW_STATE_DIR", "OPENCODE_DB", "OPENCODE_DISABLE_CHANNEL_DB", "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR", "PI_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
)  # fmt: skip
"""Variables that tell agents where their stores are. A session that was found in another home is of no use to a
program that looks into this one."""

_GONE = "the working directory is gone"


class Obstacle(NamedTuple):
    """Why it cannot be started as it is."""

    kind: Literal["program", "directory"]
    text: str
    """One sentence without a full stop: what, and what to do."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A command that goes on with a session. Made by `plan`; nothing is started by it."""

    verb: Verb
    agent: str
    label: str
    """The agent's name for people."""
    session_id: str
    title: str
    argv: tuple[str, ...]
    program: str | None
    """Where the program is; None where it is not on PATH."""
    cwd: str
    """Where it runs; absolute."""
    elsewhere: bool = False
    """`cwd` was chosen, and is not taken from the session."""
    env: Mapping[str, str] = {}
    """Variables to set."""
    unset: tuple[str, ...] = ()
    """Variables to take out."""
    obstacles: tuple[Obstacle, ...] = ()
    warnings: tuple[str, ...] = ()
    """Hazards, one sentence each without a full stop."""

    @property
    def line(self) -> str:
        """The command for a shell, safe to show."""
        return command_line(self.argv, cwd=self.cwd, env=self.env, unset=self.unset)

    @property
    def ours(self) -> tuple[str, ...]:
        """What is written after `hermes-tui` and its own options to have the same done."""
        where = ("--cwd", self.cwd) if self.elsewhere else ()
        return ("sessions", self.verb, self.agent, self.session_id, *where)

    def check(self, told: Callable[[Obstacle], str] = lambda obstacle: obstacle.text) -> None:
        """Raise `AgentNotInstalled` or `ValidationError` where something keeps it from being started. `told`: the
        words for it, where a face has a way to help."""
        for obstacle in self.obstacles:
            error = AgentNotInstalled if obstacle.kind == "program" else ValidationError
            raise error(f"cannot {self.verb} {self.agent}:{self.session_id}: {told(obstacle)}")

    def environment(self) -> dict[str, str]:
        """All variables of the program."""
        kept = {name: value for name, value in os.environ.items() if name not in self.unset}
        return {**kept, "PWD": self.cwd, **self.env}


def plan(adapters: Adapters, summary: SessionSummary, verb: Verb, cwd: str | Path | None = None) -> Start:
    """How `summary` is resumed or forked, in `cwd` where one is chosen. Looks at PATH, the directory and the running
    processes. Raises `CapabilityError` where the agent has no way to, `ParseError` where its adapter fails."""
    with adapter_asked(f"cannot {verb} {summary.unified_id}"):
        adapter = adapters.get(summary.agent)
        live = adapter.live().get(summary.session_id)
        command = _command(adapter, summary, verb)
    if command is None:
        able = adapter.capabilities.can_resume if verb == "resume" else adapter.capabilities.can_fork
        if not able:
            reason = f"{adapter.label} cannot {verb} a session"
        elif summary.kind == "subagent":
            helper = f"it is a helper's, {verb} the one that started it"
            reason = f"{adapter.label} cannot {verb} {summary.unified_id}: {helper}"
        else:
            reason = (
                f"{adapter.label} has no command to {verb} {summary.unified_id}; if it can at all, it does so from "
                "inside a session"
            )
        raise CapabilityError(reason)
    if lost := next(filter(names_nothing, (*command.argv, *command.env.values())), None):
        reason = f"its name is no UTF-8 text, and the command would name another file ({lost})"
        raise CapabilityError(f"cannot {verb} {summary.unified_id}: {reason}; rename the file or the directory")
    return _start(adapter, summary, verb, command, live, cwd)


def offers(adapters: Adapters, summary: SessionSummary, verb: Verb) -> bool:
    """Whether the agent has a command for it, as its adapter says; also where the adapter fails: whoever asks for the
    command is told why."""
    try:
        return _command(adapters.get(summary.agent), summary, verb) is not None
    except Exception:
        return True


def _command(adapter: Adapter, summary: SessionSummary, verb: Verb) -> NativeCommand | None:
    # Whether it is open is asked anew and said by `plan`; an adapter would say what the list knew.
    plain = replace(summary, live=False, status=None)
    command = adapter.resume_command(plain) if verb == "resume" else adapter.fork_command(plain)
    usable = command is not None and command.argv and not any("\0" in word for word in command.argv)
    return command if usable else None


def _start(
    adapter: Adapter,
    summary: SessionSummary,
    verb: Verb,
    command: NativeCommand,
    live: Liveness | None,
    chosen: str | Path | None,
) -> Start:
    env, unset = _variables(adapter.environment, command)
    directory, obstacle, warnings = _directory(adapter, command, chosen)
    obstacles = [obstacle] if obstacle else []
    found = shutil.which(command.argv[0])
    if found is None:
        text = f"{command.argv[0]} is not on PATH; install {adapter.label} or add its directory to PATH"
        obstacles.insert(0, Obstacle("program", text))
    if live is not None:
        who = f"process {live.pid}" + (f", {live.status}" if live.status else "")
        what = "the fork has what was written so far" if verb == "fork" else "two programs would write to it at once"
        warnings.insert(0, f"The session is open elsewhere ({who}): {what}")
    if command.warning:
        warnings.append(command.warning)
    return Start(
        verb=verb,
        agent=summary.agent,
        label=adapter.label,
        session_id=summary.session_id,
        title=summary.title,
        argv=command.argv,
        program=os.path.abspath(found) if found else None,  # noqa: PTH100  (PATH may have relative directories)
        cwd=directory,
        elsewhere=chosen is not None,
        env=env,
        unset=unset,
        obstacles=tuple(obstacles),
        warnings=tuple(warnings),
    )


def _directory(
    adapter: Adapter, command: NativeCommand, chosen: str | Path | None
) -> tuple[str, Obstacle | None, list[str]]:
    """Where to run, what is wrong with it, and what to know about it."""
    own = command.cwd
    if chosen is not None:
        directory = str(adapter.environment.expand(str(chosen)))
        try:
            directory = os.path.abspath(directory)  # noqa: PTH100  (links stay)
        except OSError:
            return directory, Obstacle("directory", f"{_GONE}, and {directory} with it; choose another"), []
        if not Path(directory).is_dir():
            return directory, Obstacle("directory", f"{directory} is not a directory; choose another"), []
        if own is None or os.path.realpath(own) == os.path.realpath(directory):
            return directory, None, []
        warning = f"The session was held in {own}: its tools will now run in {directory}"
        if command.bound:
            warning = (
                f"{adapter.label} finds the session only in {own}, not in {directory}: this will most likely fail"
            )
        return directory, None, [warning]
    if own is None:
        try:
            directory = str(Path.cwd())
        except OSError:
            unsaid = "the session does not say where it was held"
            return ".", Obstacle("directory", f"{unsaid}, and {_GONE}; choose another"), []
        return directory, None, [f"The session does not say where it was held: it goes on in {directory}"]
    if not Path(own).is_absolute() or not Path(own).is_dir():
        return own, Obstacle("directory", f"its directory {own} is gone; choose another"), []
    return own, None, []


def _variables(environment: Environment, command: NativeCommand) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variables to set and to take out, so that the program looks into the stores that were read."""
    wanted: dict[str, str] = {}
    unset: list[str] = []
    if environment.home != Path(os.environ.get("HOME", "")):
        wanted["HOME"] = str(environment.home)
    for name in STORE_VARIABLES:
        value, ours = environment.variables.get(name), os.environ.get(name)
        if value is None and ours is not None:
            unset.append(name)
        elif value is not None and value != ours:
            wanted[name] = value
    wanted.update(command.env)
    return wanted, tuple(name for name in unset if name not in wanted)
