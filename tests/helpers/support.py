"""What tests need to know before a fixture can tell: where the sample stores are, how long to wait."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

from session_adapters.attachments.made import keeping
from session_adapters.model import Message

__all__ = ["PATIENCE", "REPOSITORY", "STORES", "attached_bytes", "peak_of"]

REPOSITORY = Path(__file__).parents[2]

STORES = REPOSITORY / "tests" / "stores"
"""One folder per agent: what real programs wrote, with its FACTS.md and the expected figures."""

PATIENCE = 180.0
"""Seconds to wait for what must come: only a test that fails waits so long, however busy the machine is."""


def attached_bytes(read: Callable[[], Sequence[Message]]) -> list[bytes | None]:
    """The bytes of all that is attached to the messages, which are read a second time for them."""
    wanted = {one for message in read() for one in message.attachments}
    with keeping(wanted) as kept:
        return [kept.take(one) for message in read() for one in message.attachments]


def peak_of(read: Callable[[], object]) -> int:
    """Bytes that it takes at one moment, as far as Python hands them out."""
    gc.collect()
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
