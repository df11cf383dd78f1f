"""What was read is let go of when nobody has it any more, without Python's search for garbage in circles.

A builder that kept its own methods lay about with all that it had read, until somebody searched for such.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from sample_homes import quiet
from session_adapters.base import Environment
from session_adapters.registry import BUILT_IN, adapter_class
from session_adapters.transcript import Transcript

Store = Callable[[str, str], Path]


@pytest.fixture
def no_search() -> Iterator[None]:
    """Nothing is found that lies about."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("agent", BUILT_IN)
def test_a_transcript_is_let_go_of_at_once(agent: str, store: Store) -> None:
    adapter = adapter_class(agent)(Environment(home=store(agent, "home"), variables={}, proc=Path("/nowhere")))
    listed = ((source, one) for source in adapter.sources(quiet) for one in adapter.summaries(source, quiet))
    opened = 0
    for source, one in islice(listed, 12):
        for read in (adapter.open, adapter.open_end):
            transcript = read(source, one.session_id)
            transcript.refresh()
            kept = parts(transcript)
            del transcript
            assert [part() for part in kept] == [None] * len(kept)
            opened += 1
    assert opened


def parts(transcript: Transcript) -> list[weakref.ref[object]]:
    """It, and what its messages were made by where it has that."""
    builder = vars(transcript).get("builder")
    return [weakref.ref(one) for one in (transcript, builder) if one is not None]
