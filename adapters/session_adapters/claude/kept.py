"""Where what a compaction left as it was begins: the record that it names may be a later part of a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from session_adapters.model import Message

__all__ = ["settle_kept"]


def settle_kept(messages: list[Message], pieces: Mapping[int, Sequence[tuple[str, Message]]]) -> None:
    """Have compactions name a message, not a record. `pieces` are the records of each reply, by its place."""
    for index, message in enumerate(messages):
        if message.kept_from:
            owner = next((at for at, parts in pieces.items() if message.kept_from in dict(parts)), None)
            if owner is not None:
                messages[index] = replace(message, kept_from=messages[owner].id)
