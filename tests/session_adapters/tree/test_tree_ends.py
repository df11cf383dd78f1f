"""What a list reads of a large Pi session: small ends, and more of them only where they say too little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_adapters.base import Environment
from session_adapters.model import SessionSummary
from session_adapters.pi import PiAdapter
from session_adapters.reading.files import METER
from session_adapters.tree.ends import HEAD, REACH, TAIL

TIME = "2026-03-01T12:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "long", "timestamp": TIME, "cwd": "/srv"}


def message(number: int, role: str, text: str) -> dict[str, Any]:
    """An entry a second after the one before."""
    said = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1_772_366_400_000 + number * 1000}
    return {"type": "message", "id": f"e{number}", "parentId": f"e{number - 1}", "timestamp": TIME, "message": said}


def listed(home: Path, *entries: dict[str, Any]) -> SessionSummary:
    """The one session that the list has."""
    path = home / ".pi/agent/sessions/--srv--/2026-03-01T12-00-00-000Z_long.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (HEADER, *entries)))
    adapter = PiAdapter(Environment(home=home))
    (source,) = adapter.sources(lambda problem: None)
    METER.reset()
    (summary,) = adapter.summaries(source, lambda problem: None)
    return summary


FILLER = [message(number, "assistant", "x" * 1000) for number in range(10, 2000)]


def test_small_ends_where_they_say_all(tmp_path: Path) -> None:
    found = listed(tmp_path, message(1, "user", "hello"), *FILLER, message(2001, "assistant", "bye"))
    assert (found.title, found.partial, found.updated_at.timestamp()) == ("hello", True, 1_772_368_401)
    assert METER.bytes <= HEAD + TAIL + (16 << 10), "the ends, and the rest of the lines that they cut"


@pytest.mark.parametrize("size", [50 << 10, 200 << 10])
def test_the_first_prompt_below_long_settings(tmp_path: Path, size: int) -> None:
    settings = {"type": "session_init", "id": "e0", "timestamp": TIME, "systemPrompt": "p" * size}
    found = listed(tmp_path, settings, message(1, "user", "hello"), *FILLER)
    assert (found.title, found.partial, found.cwd) == ("hello", True, "/srv")
    assert METER.bytes <= 2 * REACH + (32 << 10), "whole lines at both ends"


@pytest.mark.parametrize("size", [50 << 10, 200 << 10])
def test_the_newest_message_above_a_long_record(tmp_path: Path, size: int) -> None:
    late = {"type": "custom", "id": "e3000", "parentId": "e2000", "timestamp": TIME, "data": {"blob": "b" * size}}
    found = listed(tmp_path, message(1, "user", "hello"), *FILLER, message(2000, "assistant", "bye"), late)
    assert (found.title, found.partial, found.updated_at.timestamp()) == ("hello", True, 1_772_368_400)
    assert METER.bytes <= 2 * REACH + (32 << 10), "whole lines at both ends"
