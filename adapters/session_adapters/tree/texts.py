"""What can be searched in a conversation tree: the shown branch, and the others."""

from __future__ import annotations

from collections.abc import Iterator

from session_adapters.model import SessionUnreadable
from session_adapters.reading.bounds import excess, unread
from session_adapters.reading.searchable import Text, texts_of
from session_adapters.tool_names import of_call
from session_adapters.tree.transcript import TreeTranscript

__all__ = ["branched_texts", "texts_of_branches"]


def branched_texts(session_id: str, transcript: TreeTranscript, left: int = 0) -> Iterator[Text]:
    """What can be searched in a transcript that is loaded whole: the shown branch, and behind it the others. Raises
    `SessionUnreadable` after the last where `left` messages are left out, or records are damaged."""
    yield from texts_of_branches(session_id, transcript)
    lost = sum(map(len, transcript.file.damaged))
    if left or lost:
        raise SessionUnreadable(excess(left) if left else unread(lost))


def texts_of_branches(session_id: str, transcript: TreeTranscript) -> Iterator[Text]:
    """The same, and nothing of what is left out or damaged."""
    messages = transcript.messages
    yield from texts_of(session_id, messages)
    called = {call.tool_call_id: of_call(call) for message in messages for call in message.tool_calls}
    for text in texts_of(session_id, transcript.aside(), before=called):
        yield text._replace(visibility="branch")
