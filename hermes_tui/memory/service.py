"""The memory of one agent: saves its turns, and gives back what it needs of them.

Format: spec 001 «Memory Service», «Graceful Degradation» and «Shutdown Sequence».
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hermes_tui.errors import StoreError
from hermes_tui.memory.longterm.batches import MemoryBatches
from hermes_tui.memory.longterm.memory import RECALL_LIMIT, LongTermMemory
from hermes_tui.memory.longterm.protocols import RecalledMemory
from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import SessionService
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategy import WorkingMemoryStrategy

__all__ = ["DEFAULT_SESSION", "MemoryService", "SavedTurn", "SummaryNotSaved", "worth_saving"]

DEFAULT_SESSION = "default"
"""What a session is called that has no id."""
_LOCKS = 64  # not one for each session: those could never be let go of

_log = logging.getLogger(__name__)


class SummaryNotSaved(StoreError):
    """The messages of a turn are saved; the summary that was made after them is not."""

    code = "SUMMARY_NOT_SAVED"


class SavedTurn(Struct, frozen=True, kw_only=True):
    """What became of a turn."""

    message_ids: tuple[str, ...]
    """Under which its messages are saved, in order."""
    summarized: bool = False
    """A summary was made and saved after them."""
    trouble: str = ""
    """Why it could not be looked whether one is due, or none could be made; the messages are saved all the same."""


def worth_saving(messages: Iterable[HectorMessage]) -> list[HectorMessage]:
    """What Hector's agent saves of a turn: every message that has text, calls a tool or carries a result, whatever
    its role."""
    return [one for one in messages if not one.is_empty]


class MemoryService:
    """The three layers of one agent together. Safe to use from many threads."""

    def __init__(
        self,
        sessions: SessionService,
        working: WorkingMemoryStrategy,
        long_term: LongTermMemory | None = None,
        batches: MemoryBatches | None = None,
        *,
        recall_limit: int = RECALL_LIMIT,
    ) -> None:
        """`batches` are those on their way to `long_term`; without any, they are of the document's size. Where
        nobody says how much is to be recalled, it is `recall_limit`."""
        self._sessions = sessions
        self._working = working
        self._long_term = long_term
        if batches is None and long_term is not None:
            batches = MemoryBatches(long_term, sessions.agent_id)
        self._batches = batches
        self._recall_limit = recall_limit
        self._saving = [threading.Lock() for _ in range(_LOCKS)]
        self._lock = threading.Lock()
        self._summarizing: set[str] = set()
        """Sessions that some thread looks at."""

    @property
    def batches(self) -> MemoryBatches | None:
        """What is on its way to long-term memory; None without one."""
        return self._batches

    def add_batch_to_history(self, session_id: str, messages: Sequence[HectorMessage]) -> SavedTurn:
        """Save the messages of a turn: all of them or none. Then they are on their way to long-term memory, and it
        is looked once whether a summary is due; what goes wrong there is said and costs no message.

        Raises `StoreError` where nothing was saved, and `SummaryNotSaved`.
        """
        session_id = session_id or DEFAULT_SESSION
        with self._saving[hash(session_id) % _LOCKS]:  # so that both layers have the same order
            ids = tuple(self._sessions.append_messages(session_id, messages))
            if self._batches is not None:
                named = [one.identified_as(name) for one, name in zip(messages, ids, strict=True)]
                self._batches.add(session_id, named)
        with self._lock:
            is_looked_at = session_id in self._summarizing
            self._summarizing.add(session_id)
        if is_looked_at:  # a model may take its time over it; the next turn looks again
            return SavedTurn(message_ids=ids)
        try:
            return self._summarized(session_id, ids)
        finally:
            with self._lock:
                self._summarizing.remove(session_id)

    def _summarized(self, session_id: str, ids: tuple[str, ...]) -> SavedTurn:
        """A turn that is saved, and the summary that is due after it. Raises `SummaryNotSaved`."""
        try:
            history = self._working.load_state(session_id, self._sessions)
            made = self._working.check_and_summarize(history)
        except Exception as error:  # the summarizer is the caller's own
            _log.warning("session %r was not summarised: %s", session_id, error)
            return SavedTurn(message_ids=ids, trouble=f"the session was not summarised: {error}")
        if made:
            try:
                self._sessions.append_messages(session_id, made)
            except StoreError as error:
                raise SummaryNotSaved(
                    f"The messages of session {session_id} are saved, their summary is not. {error}"
                ) from error
        return SavedTurn(message_ids=ids, summarized=bool(made))

    def load_state(self, session_id: str) -> ConversationHistory:
        """What the agent has before it in its next call. Raises `StoreError`."""
        return self._working.load_state(session_id or DEFAULT_SESSION, self._sessions)

    def recall(
        self, session_id: str, query: str = "", k: int | None = None
    ) -> ConversationHistory | list[RecalledMemory]:
        """What long-term memory has of this session that is nearest to `query`, the nearest first; without a query,
        `load_state`. Raises `StoreError`, `EmbedderUnavailable` and `VectorStoreUnavailable`."""
        if not query.strip():
            return self.load_state(session_id)
        if self._long_term is None:
            return []
        count = self._recall_limit if k is None else k
        return self._long_term.recall(self._sessions.agent_id, session_id or DEFAULT_SESSION, query, count)

    def remember(self, session_id: str) -> int:
        """Send all messages of a session to long-term memory; how many. Those that are there already stay there
        once: this makes good what a process lost that was killed with a batch half full. Raises `StoreError`."""
        if self._batches is None:
            return 0
        found = self._sessions.get_messages_with_options(session_id).messages
        self._batches.add(session_id, found)
        return len(found)

    def shutdown(self) -> bool:
        """Write what is on its way to long-term memory, and take no more; whether all of it was written. Session
        store and long-term memory belong to whoever opened them."""
        return self._batches is None or self._batches.shutdown()
