"""The health report: where was looked, what is there, what cannot be read.

Changes nothing in a store.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_tui import __version__
from hermes_tui.display import counted
from hermes_tui.lifecycle.gateway.home_state import survey
from hermes_tui.lifecycle.gateway.homes import hermes_homes
from hermes_tui.lifecycle.gateway.process import Gateway, gateway_of
from hermes_tui.lifecycle.whatsapp import WhatsAppAliases
from hermes_tui.platform import paths
from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from session_adapters.base import Environment
from session_adapters.model import Problem
from session_adapters.reading.folders import SmallFiles

if TYPE_CHECKING:
    from hermes_tui.sessions.catalogue.catalogue import Catalogue

__all__ = ["AgentHealth", "Directory", "DoctorReport", "LookedAt", "examine"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """JSON names as in the rest of the program."""


class LookedAt(_Part, frozen=True):
    """One place where sessions may be."""

    path: str
    layout: str
    exists: bool
    profile: str | None = None


class AgentHealth(_Part, frozen=True):
    """One agent's stores."""

    agent: str
    label: str
    places: tuple[LookedAt, ...]
    sessions: int
    messages: int
    incomplete: int
    """Sessions that were only read at their ends."""
    problems: tuple[Problem, ...]
    gateways: tuple[Gateway, ...] = ()
    """Hermes only: one for each profile that exists."""


class Directory(_Part, frozen=True):
    """A directory of ours."""

    purpose: str
    path: str
    exists: bool
    writable: bool
    """It, or what is there of its parents, can be written to."""


class DoctorReport(_Part, frozen=True):
    """All of it."""

    version: str
    agents: tuple[AgentHealth, ...]
    directories: tuple[Directory, ...]
    problems: tuple[Problem, ...]
    """Those that belong to no agent."""

    @property
    def problem_count(self) -> int:
        """Over all agents."""
        return len(self.problems) + sum(len(one.problems) for one in self.agents)


def examine(catalogue: Catalogue, adapters: Adapters) -> DoctorReport:
    """Read every session in full once and say how it went."""
    names = adapters.names
    snapshot = catalogue.refresh(everywhere=True)
    if snapshot.partial:
        snapshot = catalogue.complete(lambda: False)
    agents = tuple(_health(agent, snapshot, adapters) for agent in names)
    others = tuple(problem for problem in snapshot.problems if problem.agent not in names)
    return DoctorReport(version=__version__, agents=agents, directories=_directories(), problems=others)


def _health(agent: str, snapshot: Snapshot, adapters: Adapters) -> AgentHealth:
    sessions = [one for one in snapshot.sessions if one.agent == agent and not one.gone]
    roots = next((place.roots for place in snapshot.places if place.agent == agent), ())
    small_files: list[Problem] = []
    with suppress(AdapterBroken):  # which the list tells
        adapter = adapters.get(agent)
        if isinstance(adapter, SmallFiles):
            adapter.check_files(small_files.append)
    gateways: tuple[Gateway, ...] = ()
    if agent == "hermes":
        homes = [root.path if root.path.is_dir() else root.path.parent for root in roots if root.exists]
        proc = adapters.environment.proc
        gateways = tuple(gateway_of(home, proc) for home in dict.fromkeys(homes))
    return AgentHealth(
        agent=agent,
        label=next((place.label for place in snapshot.places if place.agent == agent), agent),
        places=tuple(
            LookedAt(path=str(root.path), layout=root.layout, exists=root.exists, profile=root.profile)
            for root in roots
        ),
        sessions=len(sessions),
        messages=sum(one.message_count for one in sessions),
        incomplete=sum(one.partial for one in sessions),
        problems=(
            *(problem for problem in snapshot.problems if problem.agent == agent),
            *small_files,
            *(_of_lanes(adapters.environment) if agent == "hermes" else ()),
        ),
        gateways=gateways,
    )


def _of_lanes(environment: Environment) -> Iterator[Problem]:
    """What is wrong with the files that decide over Hermes' lanes. Each names its file itself."""
    for home in hermes_homes(environment):
        seen = survey(home, environment.proc)
        if seen.lanes and not os.path.lexists(home.database):  # the place is found all the same
            lanes = counted(len(seen.lanes), "lane")
            reason = f"there is no database {home.database}; sessions.json has {lanes}, whose sessions were in it"
            yield Problem(agent="hermes", path="", reason=reason)
        for said in (*seen.problems, *WhatsAppAliases(home.path).faults()):
            if not said.startswith(f"{home.database}: "):  # the adapter has told of that
                yield Problem(agent="hermes", path="", reason=said.removesuffix("."))


def _directories() -> tuple[Directory, ...]:
    ours = (
        ("cache", paths.cache_dir()),
        ("settings", paths.config_dir()),
        ("state and log", paths.state_dir()),
        ("styles", paths.styles_dir()),
    )
    found: list[Directory] = []
    for purpose, path in ours:
        # Not the methods of Path, which raise where a directory may not be entered.
        exists = os.path.isdir(path)  # noqa: PTH112
        nearest = next((one for one in (path, *path.parents) if os.path.exists(one)), Path("/"))  # noqa: PTH110
        writable = os.access(nearest, os.W_OK | os.X_OK)
        found.append(Directory(purpose=purpose, path=str(path), exists=exists, writable=writable))
    return tuple(found)
