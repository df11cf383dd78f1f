"""The facade over all sessions, used by CLI, TUI and other programs.

Format: spec 004 §2.

Read-only. Every method may be called from any thread. Errors are those of `hermes_tui.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_tui import config
from hermes_tui.errors import ValidationError
from hermes_tui.platform import paths
from hermes_tui.sessions.adapters import Adapters, Label, NativeId, no_session
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.exact import Row, exact, with_relations
from hermes_tui.sessions.catalogue.options import ListOptions, changed, select
from hermes_tui.sessions.latest import Latest
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.sessions.marks import with_marks
from hermes_tui.sessions.own_environment import file_name, this_machine
from session_adapters.base import Adapter, Environment, Source
from session_adapters.model import Session, SessionSummary, unified_id
from session_adapters.registry import LABELS
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.config import Price
    from hermes_tui.redact.redactor import Redactor
    from hermes_tui.sessions.context.view import ContextView
    from hermes_tui.sessions.context.window_choice import WindowChoice
    from hermes_tui.sessions.cost.report import CostOptions, CostSummary
    from hermes_tui.sessions.cost.service import CostDesk
    from hermes_tui.sessions.diff.model import SessionDiff
    from hermes_tui.sessions.doctor import DoctorReport
    from hermes_tui.sessions.index.service import IndexService
    from hermes_tui.sessions.native.plan import Start, Verb
    from hermes_tui.sessions.query.filters import NowIn
    from hermes_tui.sessions.search.model import MessageWindow, Outcome, Result, SearchOptions
    from hermes_tui.sessions.search.service import SearchDesk

__all__ = ["NativeId", "SessionManager"]

At = tuple[str, int]


class SessionManager:
    """Lists, opens and reads the sessions of every agent."""

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        cache_dir: Path | None = None,
        agents: Sequence[str] | None = None,
        prices: Mapping[str, Price] | None = None,
        indexed: bool = True,
    ) -> None:
        """`environment` None: this process's own, looked at anew on each call. `cache_dir` None: the user's.
        `agents` restricts what is read; raises `AgentNotFound` for a name that no adapter has. `prices` None: those
        in the user's settings. `indexed` False: no search index is made or asked."""
        self._alike = partial(SessionManager, environment, cache_dir=cache_dir, agents=agents, prices=prices)
        self._adapters = Adapters(lambda: environment or this_machine(), agents)
        self.read = self._adapters.read
        """Finds a session and reads it: see `Adapters.read`."""
        self._cache_dir = cache_dir
        self._catalogue = Latest[str, Catalogue]()
        self.marks = MarkStore(paths.state_dir() / "marks.db")
        """The user's own marks on sessions: pins, tags, notes, names, and what was seen."""
        self._prices = prices
        self._indexed = indexed
        self._index = Latest[Path, "IndexService"]()
        self._costs = Latest[Catalogue, "CostDesk"]()
        self._searches = Latest[Catalogue, "SearchDesk"]()
        self.states: Callable[[], NowIn] | None = None
        """Tells how sessions are, where somebody watches that; None: a search for states looks itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(self._alike, indexed=False), ()  # another process has one that reads the same, anew

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of all agents that are read."""
        return self._adapters.names

    @property
    def labels(self) -> Mapping[str, Label]:
        """How each agent is shown."""
        return {name: self._adapters.label(name) for name in self.agents}

    @property
    def saved_labels(self) -> Mapping[str, Label]:
        """How agents are shown, as far as it is known without importing anything: the built-in ones, and those
        that there were when the program last ran."""
        return {name: Label(*label) for name, label in {**LABELS, **self.catalogue.labels}.items()}

    @property
    def environment(self) -> Environment:
        """The machine whose stores are read."""
        return self._adapters.environment

    @property
    def catalogue(self) -> Catalogue:
        """The list behind `list`, for faces that follow it."""
        name = file_name(self._adapters.environment, "catalogue", ".msgpack")
        directory = self._cache_dir or paths.cache_dir()
        return self._catalogue.get(name, lambda: Catalogue(self._adapters, directory / name, self.marks.all))

    @property
    def index(self) -> IndexService:
        """The search index, and what keeps it up to date; there is none until its first `poke`."""
        from hermes_tui.sessions.index.service import IndexService, index_file

        environment = self._adapters.environment
        path = index_file(environment, self._cache_dir or paths.cache_dir())
        return self._index.get(path, lambda: IndexService(path, environment, on=self._indexed, sources=self._sources))

    def _sources(self) -> list[Source]:
        return [entry.source for entry in self.catalogue.entries() if not entry.stale]

    # Lists ---------------------------------------------------------------------------------------------------

    def list(
        self, agent: str | None = None, options: ListOptions | None = None, **changes: Any
    ) -> list[SessionSummary]:
        """The sessions of `agent` (None: all), filtered, sorted and cut as `options` and the keywords say (spec 004
        §6.1). Only their metadata is read, so that `cost` is what was recorded or added up before; in the order of
        costs or turns, or of one model, every session is read in full. Raises `AgentNotFound`, `ValidationError`."""
        options = changed(options, changes, ListOptions)
        agents = None if agent is None else (agent,)
        catalogue = self.catalogue
        snapshot = catalogue.refresh(agents)
        if options.needs_all and snapshot.partial:
            snapshot = catalogue.complete(lambda: False, agents)
        there = [one for one in snapshot.sessions if not one.gone and agent in (None, one.agent)]
        costs = self._costs_if_readable()
        if costs is None:
            return select(there, options, str(self.environment.home))
        return costs.select(there, options, str(self.environment.home))

    def exact(self, sessions: Sequence[Row]) -> Sequence[Row]:
        """The same rows as they are after reading those sessions in full, each with what it cost. Raises nothing."""
        return exact(self.catalogue, self._costs_if_readable(), sessions)

    def summary(self, agent: str, session_id: str) -> SessionSummary:
        """One row of the list. Raises `AgentNotFound`, `SessionNotFound`."""
        self._adapters.check(agent)
        found = self.catalogue.summary(agent, session_id)
        if found is None:
            self.catalogue.refresh((agent,))
            found = self.catalogue.summary(agent, session_id)
        if found is None:
            raise no_session(agent, session_id)
        return found

    def matches(self, agent: str, name: str) -> Sequence[SessionSummary]:
        """The sessions that `name` may mean, newest first: the one whose native id it is, else those that their
        agent knows by it too, else those whose id starts with it. Raises `AgentNotFound`."""
        snapshot = self.catalogue.refresh((agent,))
        there = [one for one in (*snapshot.sessions, *snapshot.memories) if one.agent == agent and not one.gone]
        named = self._adapters.get(agent).other_names
        return (
            [one for one in there if one.session_id == name]
            or [one for one in there if name in named(one)]
            or [one for one in there if one.session_id.startswith(name)]
        )

    # One session ---------------------------------------------------------------------------------------------

    def get(self, agent: str, session_id: str, known: SessionSummary | None = None) -> Session:
        """Everything in one session; no other is read (spec 004 §6.2). `known`: its row of another manager's list.
        Raises `AgentNotFound`, `SessionNotFound`, `ParseError`."""
        costs = self._costs_if_readable()

        def read(adapter: Adapter, source: Source) -> Session:
            session = adapter.session(source, session_id)
            return costs.session(session, partial(adapter.session_calls, source, session)) if costs else session

        session = self.read(agent, session_id, read)
        listed = self._catalogue.current
        if known or (listed and (known := listed.summary(agent, session_id))):
            session = with_relations(session, known)
        return with_marks(session, self.catalogue.marks.get(session.unified_id))

    def open(self, agent: str, session_id: str, source: Source | None = None, at: At = ("", 0)) -> Transcript:
        """The conversation for reading and following, newest part first, in `source` if given, or what is around the
        message `at`: see `Adapter.open_at`. Raises as `get`."""
        listed = self.catalogue.listed_in(agent, session_id)
        return self.read(agent, session_id, lambda one, found: one.open_at(found, session_id, *at), source, listed)

    # Costs ---------------------------------------------------------------------------------------------------

    @property
    def costs(self) -> CostDesk:
        """What sessions cost, for faces that follow it. Raises `ValidationError` where the prices are to come from
        settings that are wrong."""
        catalogue = self.catalogue

        def make() -> CostDesk:
            from hermes_tui.sessions.cost.service import CostDesk

            prices = config.load().prices if self._prices is None else self._prices
            return CostDesk(catalogue, self._adapters, prices)

        return self._costs.get(catalogue, make)

    def total_cost(self, options: CostOptions | None = None, **changes: Any) -> CostSummary:
        """What the sessions that match cost in all and by group (spec 004 §6.4); zeros where there are none. Raises
        `ValidationError`."""
        from hermes_tui.sessions.cost.report import CostOptions

        return self.costs.total(changed(options, changes, CostOptions))

    def pending_costs(self, sessions: Sequence[SessionSummary]) -> frozenset[str]:
        """Unified ids of those that `list` gave without a cost because it is not added up yet."""
        costs = self._costs_if_readable()
        return frozenset() if costs is None else costs.pending(sessions)

    def lineage(self, agent: str, session_id: str) -> tuple[SessionSummary, ...]:
        """The parts of the same conversation, oldest first; the session itself is one. Raises as `summary` does."""
        from hermes_tui.sessions.lineage import lineage_of

        sessions = self.catalogue.refresh((agent,)).sessions
        return lineage_of(self.summary(agent, session_id), (one for one in sessions if not one.gone))

    def export(self, agent: str, session_id: str, form: str, *, redactor: Redactor | None = None) -> str:
        """The session as `json`, `jsonl`, `markdown` or `html` (spec 004 §6.5), secrets masked by `redactor`. A large
        one is better written in parts: `hermes_tui.sessions.export`. Raises as `get` does, and `ValidationError`."""
        from hermes_tui.sessions.export import check_format, export, images

        check_format(form)
        shown = images.inline_images(self.open)
        return b"".join(export(self.get(agent, session_id), form, redactor=redactor, images=shown)).decode()

    def diff(self, a: tuple[str, str], b: tuple[str, str]) -> SessionDiff:
        """How session `b` differs from session `a`, each as (agent, native id); spec 004 §6.6. Raises as `get` does,
        and `ValidationError` where they are too long and too repetitive to be compared."""
        from hermes_tui.sessions.diff.compare import diff

        return diff(self.get(*a), self.get(*b))

    # What the agent still sees -------------------------------------------------------------------------------

    def context_window(self, summary: SessionSummary, window: config.ContextWindow | None = None) -> WindowChoice:
        """The window that the session's agent has on it: `window` where it is chosen by hand, else as the agent's own
        configuration or the user's settings say. Raises `ValidationError` for settings that are wrong."""
        from hermes_tui.sessions.context.window_choice import choice_of

        return choice_of(self._adapters, summary, config.load().context, window)

    def context(self, agent: str, session_id: str, *, window: config.ContextWindow | None = None) -> ContextView:
        """What the agent still sees of the session (spec 001). Raises as `get` does, and as `context_window`."""
        from hermes_tui.sessions.context.view import context_view, gauged

        session = self.get(agent, session_id)
        return gauged(context_view(agent, session.messages, self.context_window(session, window)))

    # The agent's own program ---------------------------------------------------------------------------------

    def resume(self, agent: str, session_id: str, *, cwd: Path | str | None = None) -> Start:
        """How the agent itself goes on with the session, in `cwd` if not in its own directory, and what speaks
        against it (spec 004 §7.1). Nothing is started. Raises as `summary` does, and `CapabilityError`."""
        from hermes_tui.sessions.native.plan import plan

        return plan(self._adapters, self.summary(agent, session_id), "resume", cwd)

    def fork(self, agent: str, session_id: str, *, cwd: Path | str | None = None) -> Start:
        """The same for a new session that begins with what was said in this one."""
        from hermes_tui.sessions.native.plan import plan

        return plan(self._adapters, self.summary(agent, session_id), "fork", cwd)

    def offers(self, summary: SessionSummary, verb: Verb) -> bool:
        """Whether the agent has a command of its own to resume or fork the session."""
        from hermes_tui.sessions.native.plan import offers

        return offers(self._adapters, summary, verb)

    # Searching -----------------------------------------------------------------------------------------------

    @property
    def searches(self) -> SearchDesk:
        """Every way of searching, for faces that follow it."""
        catalogue = self.catalogue

        def make() -> SearchDesk:
            from hermes_tui.sessions.search.service import SearchDesk

            home = str(self.environment.home)
            states = lambda: (self.states or self._look_at_states)()  # noqa: E731
            index = lambda: self.index.index if self.index.on else None  # noqa: E731
            return SearchDesk(catalogue, self._adapters, home, index, self._costs_if_readable, states)

        return self._searches.get(catalogue, make)

    def search(self, text: str, options: SearchOptions | None = None, **changes: Any) -> Sequence[Result]:
        """The conversations that a query finds, the best first (spec 004 §6.3); none for an unknown agent or an empty
        query. Raises `ValidationError`. How complete the answer is: `discover`."""
        return self.discover(text, options, **changes).results

    def discover(self, text: str, options: SearchOptions | None = None, **changes: Any) -> Outcome:
        """The same with what was covered and what could not be read. Raises `ValidationError`."""
        from hermes_tui.sessions.search.model import SearchOptions

        return self.searches.discover(text, changed(options, changes, SearchOptions))

    def scroll(self, agent: str, session_id: str, message_id: str, *, window: int = 10) -> MessageWindow:
        """The messages around one of a session (spec 003). Raises as `get` does, and `ValidationError`."""
        return self.searches.scroll(self.open(agent, session_id), message_id, window)

    def browse(self, agent: str | None = None, *, limit: int | None = 20) -> Sequence[SessionSummary]:
        """The conversations that were active last (spec 003), none for an unknown agent."""
        return self.searches.browse(agent, limit)

    # Identifiers ---------------------------------------------------------------------------------------------

    def resolve_unified_id(self, agent: str, session_id: str) -> str:
        """`agent:session_id`. Pure: nothing is checked (spec 004 §5.2)."""
        return unified_id(agent, session_id)

    def resolve_native_id(self, unified: str) -> NativeId | None:
        """The parts of a unified id, split at the first colon; None without one, for an empty part or an unknown
        agent (spec 004 §5.3). Reads nothing."""
        return self._adapters.native_id(unified)

    # Health --------------------------------------------------------------------------------------------------

    def doctor(self) -> DoctorReport:
        """Where was looked, what is there, what cannot be read and why."""
        from hermes_tui.sessions.doctor import examine

        return examine(self.catalogue, self._adapters)

    # Inside --------------------------------------------------------------------------------------------------

    def _look_at_states(self) -> NowIn:
        from hermes_tui.attention.monitor import Monitor

        return Monitor(self, self.marks).look(self.catalogue.refresh()).among

    def _costs_if_readable(self) -> CostDesk | None:
        """None with wrong settings: a list does without estimates then, and `cost report` says what is wrong."""
        try:
            return self.costs
        except ValidationError:
            return None
