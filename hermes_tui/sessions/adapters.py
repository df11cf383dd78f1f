"""The adapters in use: imported when needed, broken ones kept apart.

Made anew when the environment changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeVar

from hermes_tui.errors import AgentNotFound, HermesTuiError, ParseError, SessionNotFound
from session_adapters.base import Adapter, Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.registry import LABELS, adapter_class, agent_names

__all__ = ["AdapterBroken", "Adapters", "Label", "NativeId", "adapter_asked", "no_session", "unknown_agent"]

T = TypeVar("T")


class Label(NamedTuple):
    """How an agent is shown."""

    label: str
    """For people: `Claude Code`."""
    badge: str
    """Two letters for narrow columns: `cc`."""


class NativeId(NamedTuple):
    """A unified id taken apart."""

    agent: str
    session_id: str


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

    def read(
        self,
        agent: str,
        session_id: str,
        how: Callable[[Adapter, Source], T],
        source: Source | None = None,
        listed: Source | None = None,
    ) -> T:
        """Find the session, unless it is in `source`, and read it with `how`; it is looked for where it was `listed`
        first, which spares going through all there are. Raises `AgentNotFound`, `SessionNotFound`, and `ParseError`
        for whatever else goes wrong."""
        with adapter_asked(f"cannot read {agent} session {session_id!r}"):
            adapter = self.get(agent)
            if source is None and listed is not None:
                with suppress(SessionMissing, SessionUnreadable):  # it may have been moved since
                    return how(adapter, listed)
            try:
                if (source := source or adapter.find(session_id)) is None:
                    raise no_session(agent, session_id)
                return how(adapter, source)
            except SessionMissing as error:
                raise no_session(agent, session_id) from error

    def native_id(self, unified: str) -> NativeId | None:
        """The parts of a unified id; None for what is none of an agent that is read. Reads nothing."""
        agent, colon, session_id = unified.partition(":")
        if not colon or not session_id or agent not in self.names:
            return None
        return NativeId(agent, session_id)

    def label(self, name: str) -> Label:
        """How to show `name`; made from the name itself when the adapter is broken. Imports no built-in one."""
        if name in LABELS:
            return Label(*LABELS[name])
        try:
            adapter = self.get(name)
        except AdapterBroken:
            return Label(name, name[:2])
        return Label(adapter.label, adapter.badge)


@contextmanager
def adapter_asked(failed: str) -> Iterator[None]:
    """Whatever goes wrong in an adapter is a `ParseError`, which begins with what `failed`; our own errors stay."""
    try:
        yield
    except (SessionUnreadable, AdapterBroken) as error:
        raise ParseError(f"{failed}: {error}") from error
    except HermesTuiError:
        raise
    except Exception as error:
        raise ParseError(f"{failed}: the adapter failed ({type(error).__name__}: {error})") from error


def unknown_agent(name: str, known: Sequence[str]) -> AgentNotFound:
    """The error for a name that no adapter has."""
    return AgentNotFound(f"unknown agent {name!r}; known are {', '.join(sorted(known)) or 'none'}")


def no_session(agent: str, session_id: str) -> SessionNotFound:
    """The error for an id that no session of the agent has."""
    return SessionNotFound(
        f"{agent} has no session {session_id!r}; `hermes-tui sessions list {agent}` shows what it has"
    )
