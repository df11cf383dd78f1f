"""The adapters in use: imported when needed, broken ones kept apart.

Made anew when the environment changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hermes_tui.errors import AgentNotFound
from session_adapters.base import Adapter, Environment
from session_adapters.registry import LABELS, adapter_class, agent_names

__all__ = ["AdapterBroken", "Adapters", "Label", "unknown_agent"]


class Label(NamedTuple):
    """How an agent is shown."""

    label: str
    """For people: `Claude Code`."""
    badge: str
    """Two letters for narrow columns: `cc`."""


class AdapterBroken(Exception):
    """An adapter that cannot be imported or made. The text is one sentence without a full stop."""


class Adapters:
    """The adapters by name, for one environment at a time. Safe for several threads."""

    def __init__(self, environment: Callable[[], Environment], agents: Sequence[str] | None = None) -> None:
        """`environment` is asked on every use (checklist R-3). `agents` restricts and orders the names; an unknown
        one among them raises `AgentNotFound`."""
        self._environment = environment
        self._names: tuple[str, ...] | None = None
        self.asked = None if agents is None else frozenset(agents)
        """The agents that were asked for; None for all there are."""
        if agents is not None:
            known = agent_names()
            for name in agents:
                if name not in known:
                    raise unknown_agent(name, known)
            self._names = tuple(dict.fromkeys(agents))
        self._made: dict[str, tuple[Environment, Adapter]] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The agents that are read. Looked up on first use: third parties' need a search of what is installed."""
        if self._names is None:
            self._names = agent_names()
        return self._names

    @property
    def environment(self) -> Environment:
        """The machine as it is now."""
        return self._environment()

    def check(self, name: str) -> None:
        """Raise `AgentNotFound` unless there is an adapter called `name`. Imports nothing."""
        if name not in self.names:
            raise unknown_agent(name, self.names)

    def get(self, name: str) -> Adapter:
        """The adapter for `name`. Raises `AgentNotFound`, and `AdapterBroken` for one that cannot be used."""
        self.check(name)
        environment = self.environment
        with self._lock:
            made = self._made.get(name)
            if made is not None and (made[0] is environment or made[0] == environment):
                return made[1]
            try:
                adapter = adapter_class(name)(environment)
            except Exception as error:
                raise AdapterBroken(f"the adapter cannot be used ({type(error).__name__}: {error})") from error
            self._made[name] = (environment, adapter)
            return adapter

    def label(self, name: str) -> Label:
        """How to show `name`; made from the name itself when the adapter is broken. Imports no built-in one."""
        if name in LABELS:
            return Label(*LABELS[name])
        try:
            adapter = self.get(name)
        except AdapterBroken:
            return Label(name, name[:2])
        return Label(adapter.label, adapter.badge)


def unknown_agent(name: str, known: Sequence[str]) -> AgentNotFound:
    """The error for a name that no adapter has."""
    return AgentNotFound(f"unknown agent {name!r}; known are {', '.join(sorted(known)) or 'none'}")
