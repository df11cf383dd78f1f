"""What an adapter is: the one class to subclass to add an agent.

Reading goes in steps, each asked for only when needed:

    roots → sources (stat only) → summaries (ends of a file, or one query) → transcript or session (everything)

An adapter keeps no state between calls and may be called from several threads at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from session_adapters.model import Problem, Session, SessionMissing, SessionSummary, SessionUnreadable
from session_adapters.reading.bounds import Stint, excess, is_cut, unread, unsearched
from session_adapters.stores import (
    Capabilities,
    Environment,
    Liveness,
    Memory,
    NativeCommand,
    Root,
    Source,
    option,
    unique,
)

if TYPE_CHECKING:
    from session_adapters.reading.prefilter import Verbatim
    from session_adapters.reading.searchable import SessionTexts, Text, TextReader
    from session_adapters.session_counts import SessionFold
    from session_adapters.transcript import Transcript
    from session_adapters.usage import Counted, Usage

__all__ = [
    "GROWS",
    "Adapter",
    "Capabilities",
    "Environment",
    "Liveness",
    "Memory",
    "NativeCommand",
    "Report",
    "Root",
    "SessionMissing",
    "SessionUnreadable",
    "Source",
    "option",
    "unique",
]

GROWS = frozenset(
    (
        *("updated_at", "size", "message_count", "turn_count", "tool_call_count", "tokens", "model", "models"),
        *("cost", "error", "partial", "warnings", "title", "preview"),
    )
)
"""Fields of a summary that change as a session grows."""

Report = Callable[[Problem], None]
"""Where an adapter says what it could not read."""


class Adapter(ABC):
    """Reads one agent's stores. Subclass, set the class variables, implement the abstract methods."""

    name: ClassVar[str]
    """Agent name in unified ids and on the command line, e.g. `claude`."""
    label: ClassVar[str]
    """Name for people, e.g. `Claude Code`."""
    badge: ClassVar[str]
    """Two letters for narrow columns, e.g. `cc`."""
    capabilities: ClassVar[Capabilities]
    verbatim: ClassVar[Verbatim | None] = None
    """What a search without an index may conclude from the raw bytes of a source; None: nothing."""

    sums_at_once: ClassVar[bool] = False
    """`usage` of all sessions in a source takes no longer than a list of them; else they are best asked for singly
    where there are too many."""

    grows_alone: ClassVar[bool] = False
    """`relate` looks at nothing that `GROWS` names, but to choose between copies of a session: the relations of one
    that grows stay as they are."""

    tells_processes: ClassVar[bool] = False
    """A session that `live` does not give is certainly open in no process."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    # Finding -----------------------------------------------------------------------------------------------

    @abstractmethod
    def roots(self) -> Sequence[Root]:
        """Every place that is looked at, whether it exists or not. Opens nothing."""

    @abstractmethod
    def sources(self, report: Report) -> Iterator[Source]:
        """Everything under the roots that holds sessions; directory reading and `stat` only. Each once, also
        when two roots are the same directory. An unreadable directory is reported, its neighbours are listed."""

    @abstractmethod
    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """The sessions in `source`; empty when it holds none or nothing of it can be read (reported).

        Without `exact` only the ends of a large file are read, and the lines between them that hold one of a few
        words (`ends`); such a summary is marked `partial`: names, times and relations are right, counts, models and
        tokens may lack something. With it the whole file is read once, in bounded memory, and all is true.
        """

    def session_ids(self, source: Source, report: Report) -> Sequence[str]:
        """The native ids of the sessions in `source`. For a database without counting what is in them."""
        return [summary.session_id for summary in self.summaries(source, report)]

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """Fill in what only the comparison of sessions shows: forks by shared history, parents, lineage.
        Gets all of this agent's summaries; reads no file. Drops copies that are the same session."""
        return summaries

    def live(self) -> Mapping[str, Liveness]:
        """Native ids of the sessions open in a running process now. Never takes a lock."""
        return {}

    def may_wait_unseen(self, tool: str) -> bool:
        """Whether leave may be waited for without a word of that in the record, while that says that `tool` runs;
        empty: that the model is at it."""
        return bool(tool)

    def find(self, session_id: str) -> Source | None:
        """The source that holds `session_id`, without reading any other session. `session_id` is untrusted:
        it is compared with names that were listed, never made into a path."""
        for source in self.sources(lambda problem: None):
            if source.session_id == session_id:
                return source
        return None

    def other_names(self, summary: SessionSummary) -> Collection[str]:
        """By what else its agent knows the session; several sessions may share such a name."""
        return ()

    # Reading -----------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, source: Source, session_id: str) -> Transcript:
        """The conversation, newest part first, ready to follow. Raises `SessionMissing`, `SessionUnreadable`."""

    def open_at(self, source: Source, session_id: str, message_id: str, size: int) -> Transcript:
        """The conversation for looking at a message of the shown branch: with as many as `size` before and after it
        where there are so many, and no more of the rest than that takes. Where nobody can tell, as `open`."""
        return self.open(source, session_id)

    def open_end(self, source: Source, session_id: str) -> Transcript:
        """The conversation for its `activity` alone: by its last messages where they tell it."""
        return self.open(source, session_id)

    @abstractmethod
    def session(self, source: Source, session_id: str) -> Session:
        """Everything. Raises `SessionMissing` or `SessionUnreadable`; some damaged records among good ones are
        no error but counted in `warnings`."""

    # Searching ---------------------------------------------------------------------------------------------

    def texts(self, source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
        """What can be searched in every message of `source` (of one session in it, where one is named), each
        session in one run: in conversation order exactly the texts of what `session` gives, and behind them, marked,
        those of other branches. Reads everything, a session at a time; what cannot be read is reported and passed
        over.
        """
        said: set[str] = set()

        def note(problem: Problem) -> None:
            said.add(problem.session_id)
            report(problem)

        for one in self.searched(source, note) if session_id is None else [session_id]:
            try:
                yield from self.session_texts(source, one)
            except SessionMissing:  # deleted since it was listed
                continue
            except SessionUnreadable as error:
                if not said.isdisjoint((one, source.session_id or one)):  # the list may call it by another name
                    continue
                from session_adapters.reading.sqlite_limits import refusal_in

                refused = refusal_in(error)
                reason, of = (str(error), one) if refused is None else (str(refused), "")
                report(Problem(agent=self.name, path=source.path, reason=reason, session_id=of))
                if refused is not None:
                    return

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """The texts of one session. Raises as `session` does, and after the last where some are left out."""
        from session_adapters.reading.searchable import texts_of

        session = self.session(source, session_id)
        yield from texts_of(session.session_id, session.messages)
        if left := session.raw.get("leftOut"):
            raise SessionUnreadable(excess(left))
        if session.warnings:
            raise SessionUnreadable(unread(session.warnings))

    def text_reader(self, source: Source) -> TextReader | None:
        """A reader that can go on where it stopped; None where nothing is better than to read everything again."""
        return None

    def new_texts(self, source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        """For a source that holds many sessions: each of them, with what is new in it since it had the mark in
        `marks` (native id → mark; all of it where there is none). None where a source cannot be read so."""
        return None

    def full_text(
        self,
        source: Source,
        expression: str,
        runs: Sequence[str] = (),
        *,
        thorough: bool = True,
        session_ids: Collection[str] | None = None,
    ) -> Sequence[Text] | None:
        """The messages (those of `session_ids` alone, where given) that the store's own FTS5 indexes find for an
        expression (empty: any), newest first and without their texts, and which hold each of `runs`: texts of Han,
        Kana or Hangul, without blanks. None where there is no such index or it cannot be read, and, unless
        `thorough`, where messages would have to be read for a run. What the store does not index is not found."""
        return None

    @property
    def has_index(self) -> bool:
        """Whether there is any store that `full_text` can ask."""
        return type(self).full_text is not Adapter.full_text

    def searched(self, source: Source, report: Report) -> Iterator[str]:
        """The sessions of a source that are searched: all, or where the list was cut as many as there is time for."""
        problems: list[Problem] = []
        found = self.session_ids(source, problems.append)
        for problem in problems:
            report(problem)
        stint = Stint() if is_cut(problems) else None
        for number, one in enumerate(found):
            if stint is not None and stint.over:
                report(Problem(agent=self.name, path=source.path, reason=unsearched(number, len(found))))
                return
            yield one

    # Costs -------------------------------------------------------------------------------------------------

    def usage(self, source: Source, report: Report, session_ids: Collection[str] | None = None) -> Iterator[Usage]:
        """What each model call in `source` used (those of `session_ids` alone, where given), in any order. Calls that
        are only repeated from another session are left out or marked. What is damaged is not reported: `summaries`
        does that. What cannot be read now is: a sum without it is not to be kept."""
        from session_adapters.session_counts import added_up_usage

        listing: list[Problem] = []
        found = self.session_ids(source, listing.append) if session_ids is None else session_ids
        for problem in () if found else listing:
            report(problem)

        def note(session_id: str, reason: str) -> None:
            report(Problem(agent=self.name, path=source.path, reason=reason, session_id=session_id))

        return added_up_usage(found, partial(self.added_up, source), note)

    def added_up(self, source: Source, session_id: str) -> tuple[SessionSummary, SessionFold, int]:
        """A session, what its messages come to, and how many of them are left out. Raises as `session` does."""
        from session_adapters.session_counts import SessionFold

        session = self.session(source, session_id)
        fold = SessionFold()
        fold.add(session.messages)
        return session, fold, session.raw.get("leftOut", 0)

    def counter(self, source: Source) -> Callable[[Source, Report], Counted] | None:
        """What gives exact summaries and `usage` in one pass, and again later; None where each takes its own."""
        return None

    def session_calls(self, source: Source, session: Session) -> Iterator[Usage]:
        """The calls of a session that was read out of `source`, those that no message of it tells among them."""
        from session_adapters.session_counts import messages_usage

        if type(self).usage is Adapter.usage:
            return messages_usage(session)
        return self.usage(source, lambda problem: None, (session.session_id,))

    # Memory ------------------------------------------------------------------------------------------------

    def memory(self, summary: SessionSummary) -> Memory | None:
        """How much of the session the agent takes into its next call. None: everything since it was last
        summarised."""
        return None

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """How the agent itself resumes the session, or None where it cannot."""
        return None

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """How the agent itself forks the session, or None where it cannot."""
        return None
