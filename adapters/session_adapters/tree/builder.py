"""Makes messages of the entries of a conversation tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from session_adapters.attachments.outside import blob_measured
from session_adapters.model import Message
from session_adapters.reading.lines import Line
from session_adapters.transcript import Builder
from session_adapters.tree.messages import messages_of
from session_adapters.tree.records import ENTRIES

__all__ = ["TreeBuilder"]


class TreeBuilder(Builder):
    """Messages of a run of entries."""

    blobs: Sequence[Path] = ()
    """Folders of the agent's store of blobs."""
    called: Collection[str] = ()
    """Ids of calls in messages that were handed over."""

    def feed(self, line: Line) -> None:
        """Take in the entries of a line that stands alone (`Builder.feed`)."""
        found, lost = ENTRIES.all(line.data)
        for entry in found:
            self.take(messages_of(entry, entry.id or f"byte-{line.offset}"))
        if lost:
            self.damaged.add(line.offset, "the line is damaged")

    def take(self, messages: Sequence[Message], facts: Mapping[str, Any] | None = None) -> None:
        """Append messages; a result is linked to its call, which gets the `facts` as further fields."""
        for message in messages:
            if self.blobs and message.attachments:
                attached = tuple(blob_measured(self.blobs, one) for one in message.attachments)
                message = replace(message, attachments=attached)
            if message.tool_result is not None:
                details = self.link(message.tool_result, **(facts or {}))
                if not details.linked and details.tool_call_id in self.called:
                    details = replace(details, linked=True)
                message = replace(message, tool_result=details)
            self.add(message)
