"""An index of lanes that would take minutes or gigabytes to decode is named, and the database's lanes are shown."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.errors import OperationRefused
from hermes_tui.lifecycle.lane_index.index_file import LIMIT, read_index
from hermes_tui.lifecycle.lanes import board
from lifecycle.sample_home import LIVE, Home

BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "sparse": (lambda: b"", "larger than expected"),
    "the same key": (lambda: b'{"a": 1' + b',"a":1' * 2_500_000 + b"}", "more than 1,000,000 values"),
    "many lanes": (
        lambda: json.dumps({f"agent:main:x:dm:{number}": {} for number in range(100_000)}).encode(),
        "more than 10,000 entries",
    ),
    "many lanes, one twice": (
        lambda: b'{"k": 1, ' + json.dumps({f"k{number}": 1 for number in range(100_000)}).encode()[1:-1] + b',"k":2}',
        "more than 10,000 entries",
    ),
    "deep": (lambda: b'{"a": ' + b"[" * 900_000 + b"]" * 900_000 + b"}", "no JSON"),
    "many values": (lambda: b'{"a": [' + b"[]," * 4_000_000 + b"0]}", "more than 1,000,000 values"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_it_is_named_and_hides_no_lane(store: Callable[..., Path], tmp_path: Path, name: str) -> None:
    home = Home(store("hermes", "home"), tmp_path)
    lanes = {lane.key for lane in board(home.environment).lanes}
    make, reason = BOMBS[name]
    home.index.write_bytes(make())
    if name == "sparse":
        with home.index.open("r+b") as file:
            file.truncate(1 << 30)
    else:
        assert home.index.stat().st_size < LIMIT, "it is not its size that is refused"
    tracemalloc.start()
    began = time.process_time()
    assert reason in read_index(home.index).fault
    seconds, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 5
    assert peak < 200 << 20
    found = board(home.environment)
    assert {lane.key for lane in found.lanes} == lanes
    assert any(str(home.index) in problem and reason in problem for problem in found.problems)
    plan = home.plan("suspend", LIVE)
    assert "may not be rewritten" in plan.refusal
    with pytest.raises(OperationRefused):
        home.operations.apply(plan)
