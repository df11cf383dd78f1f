"""Search texts of a session that is a tree, and of what is added to it.

What is added to the branch that the agent goes on with is read alone; anything else has all of it read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from session_adapters.growing.hashes import Hashes
from session_adapters.model import Message, SessionUnreadable
from session_adapters.reading.bounds import excess, unread
from session_adapters.reading.damaged_places import reading_session
from session_adapters.reading.searchable import Rewritten, Text, TextReader, texts_of
from session_adapters.tool_names import ToolNames, of_call
from session_adapters.tree.builder import TreeBuilder
from session_adapters.tree.file import TreeStore
from session_adapters.tree.transcript import TreeTranscript

__all__ = ["SWEEP", "BranchFollower", "BranchReader", "branched_texts", "goes_on"]

SWEEP = 64 << 10
"""Bytes that are read together: nothing of them is kept."""
_ASKING = 16
"""Messages with calls without a result that are kept: results are linked to them when they come."""


class BranchFollower:
    """Reads what is added to the last branch of a store that was read. Keeps of what is there hashes of the ids, the
    node that the next one hangs on, and the messages that are not answered yet."""

    def __init__(self, store: TreeStore, messages: Sequence[Message]) -> None:
        """`messages` are the last of the branch, those that are not answered yet among them."""
        self._store = store
        self._goes_on = goes_on(store, len(store.tree))
        self._ids = Hashes(map(hash, store.tree.nodes.ids))
        self._builder = TreeBuilder()
        for message in _asking(messages):
            self._builder.add(message)
        store.keep_last()

    def added(self) -> tuple[list[Message], int]:
        """The messages that are not answered yet, behind them the new ones, and how many are the former. Raises
        `Rewritten` where anything else is different, and `OSError`."""
        store, builder = self._store, self._builder
        first = len(builder.messages)
        if not self._goes_on or not store.unchanged_so_far():
            raise Rewritten("it is not what was read with more behind it")
        at = len(store.tree)
        store.read()
        fresh = [store.tree.nodes.ids[index] for index in range(at, len(store.tree))]
        ids = set(map(hash, fresh))
        if len(ids) < len(fresh) or any(one in self._ids for one in ids) or not goes_on(store, at):
            raise Rewritten("it goes on from another place")
        for one in ids:
            self._ids.add(one)
        with store.reading() as shown:
            for index in range(at, at + len(fresh)):
                builder.take(*shown(index))
        return builder.messages, first

    @property
    def lost(self) -> int:
        """Records that cannot be read."""
        return sum(map(len, self._store.damaged))

    def keep(self) -> None:
        """Forget what `added` gave, as far as nothing can come to it."""
        _let_go(self._builder)
        self._store.keep_last()


def goes_on(store: TreeStore, at: int) -> bool:
    """Whether each node from index `at` on hangs on the one before it, and the agent is at the last of them."""
    tree = store.tree
    linked = all(tree.parent(index) == (index - 1 if index else None) for index in range(at, len(tree)))
    return linked and not store.led_away and store.leaf() == tree.last()


def _asking(messages: Sequence[Message]) -> list[Message]:
    """The last message with calls, and of those before it the last ones that wait for a result."""
    calling = [message for message in messages if message.tool_calls]
    waiting = [one for one in calling[:-1] if any(call.output is None for call in one.tool_calls)]
    return [*waiting[-_ASKING:], *calling[-1:]]


def _let_go(builder: TreeBuilder) -> None:
    """Forget messages that somebody has now, but those that are `_asking`."""
    kept = {id(message) for message in _asking(builder.messages)}
    done = {index for index, message in enumerate(builder.messages) if id(message) not in kept}
    builder.drop(done, handed_over=True)


class BranchReader(TextReader):
    """See the module."""

    def __init__(self, session_id: str, open_session: Callable[[], TreeTranscript]) -> None:
        """`open_session` opens it, at its end."""
        self._session_id = session_id
        self._open_session = open_session
        self._follower: BranchFollower | None = None

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`. Ids of what hangs on each other are different."""
        follower = self._follower
        if follower is None:
            transcript = self._open_session()
            builder = transcript.new_builder()
            for text in _texts_of_branches(self._session_id, transcript, builder):
                yield 0, text
            self._follower = BranchFollower(transcript.file, builder.messages)
            return
        messages, first = follower.added()
        for text in texts_of(self._session_id, messages, first):
            yield 0, text
        follower.keep()

    @property
    def unsettled(self) -> Collection[str]:
        """See `TextReader.unsettled`. A result changes no text of its call."""
        return ()

    @property
    def lost(self) -> int:
        """See `TextReader.lost`."""
        return self._follower.lost if self._follower is not None else 0


def branched_texts(session_id: str, transcript: TreeTranscript, left: int = 0) -> Iterator[Text]:
    """What can be searched in a session: the shown branch, and behind it the others. Raises `SessionUnreadable` after
    the last where `left` messages are left out, or records are damaged, and where it is not to be read any more."""
    with reading_session(transcript.agent, session_id, transcript.path):
        yield from _texts_of_branches(session_id, transcript, transcript.new_builder())
    lost = sum(map(len, transcript.file.damaged))
    if left or lost:
        raise SessionUnreadable(excess(left) if left else unread(lost))


def _texts_of_branches(session_id: str, transcript: TreeTranscript, builder: TreeBuilder) -> Iterator[Text]:
    """The same, and nothing of what is left out or damaged. `builder` holds a page of the branch at a time, and in
    the end the messages that are not answered yet. Raises `OSError`."""
    called: dict[str, ToolNames] = {}
    builder.called = called
    at, end = -1, 0
    while at != end:  # `read_on` ends where it began when nothing is left
        first, at = len(builder.messages), end
        end = transcript.read_on(builder, at, SWEEP)
        yield from texts_of(session_id, builder.messages, first, before=called)
        fresh = builder.messages[first:]
        called.update((call.tool_call_id, of_call(call)) for one in fresh for call in one.tool_calls)
        _let_go(builder)
    for text in texts_of(session_id, transcript.aside(builder.text), before=called):
        yield text._replace(visibility="branch")
