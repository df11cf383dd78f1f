"""From the option `--home` to a manager."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_tui.cli import stderr
from hermes_tui.errors import ValidationError
from session_adapters.base import Environment

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = [
    "environment_of",
    "hurry",
    "is_known",
    "manager_of",
    "mention_problems",
    "mention_the_unread",
    "mention_wrong_settings",
]

READING = 2.5
"""Seconds of the processor's time."""
_SHARE = 0.6
"""Of them, where what was read is read once more."""


def environment_of(home: Path | None) -> Environment | None:
    """The machine with another home, where no variable points back to the real stores; None for this one.
    Raises `ValidationError` when there is no such directory."""
    if home is None:
        return None
    if not home.is_dir():
        raise ValidationError(f"--home: there is no directory {str(home)!r}")
    return Environment(home=home.resolve())


def manager_of(home: Path | None, *, indexed: bool = True) -> SessionManager:
    """The manager for `--home`; `indexed` as there."""
    from hermes_tui.sessions.manager import SessionManager

    return SessionManager(environment_of(home), indexed=indexed)


def hurry(manager: SessionManager, *, reads_again: bool = False) -> None:
    """Have the command read files that nothing is known of for a few seconds: up to 25,000 of them, each run; fewer
    with `reads_again`, where each is read once more for what the command tells, in as much time."""
    manager.catalogue.seconds = READING * (_SHARE if reads_again else 1.0)
    manager.catalogue.shares = False  # it ends soon


def mention_the_unread(manager: SessionManager) -> None:
    """Say on standard error how many there was no time for."""
    if unread := manager.catalogue.snapshot.unread:
        what = f"{unread:,} older files are not read yet and their sessions are missing here"
        stderr.say(f"hermes-tui: {what}; the same command goes on")


def mention_problems(manager: SessionManager, agent: str | None = None) -> None:
    """Say on standard error how much of `agent` (None: of all) could not be read, our own marks among it."""
    problems = manager.catalogue.snapshot.problems
    if unread := sum(agent is None or one.agent in (agent, "hermes-tui") for one in problems):
        stderr.say(f"hermes-tui: {unread} could not be read or only in part; `hermes-tui doctor` says why")


def mention_wrong_settings(manager: SessionManager) -> None:
    """Say on standard error why no cost is estimated: what is shown without looks as if there were none."""
    try:
        _ = manager.costs
    except ValidationError as error:
        stderr.say(f"hermes-tui: no cost is estimated: {error}")


def is_known(agent: str, agents: Sequence[str]) -> bool:
    """Whether an agent is one of those that there are; says on standard error when it is not: of a mistyped name
    nothing is found, and nothing else would tell why."""
    if agent in agents:
        return True
    stderr.say(f"hermes-tui: no agent is called {agent!r}; known are {', '.join(agents)}")
    return False
