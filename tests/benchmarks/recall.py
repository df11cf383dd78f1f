"""The server for agents on a large home: how long its three shapes take, and what it needs."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from benchmarks.measures import Row, Tool

__all__ = ["recalling"]

_CALLS = 100
_TICK = 10
"""Milliseconds in which Linux counts the processor's time."""


class Server:
    """`hermes-tui mcp`, asked line by line."""

    def __init__(self, ours: Tool, home: Path) -> None:
        self._began = time.perf_counter()
        argv = [*ours.screen, "mcp"]
        environment = ours.environment(home)
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=home
        )
        self._number = 0
        client = {"name": "benchmark", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._say({"method": "notifications/initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.perf_counter() - self._began

    def search(self, **arguments: Any) -> dict[str, Any]:
        """The answer of `session_search`."""
        answer = self._ask("tools/call", {"name": "session_search", "arguments": arguments})
        found: dict[str, Any] = answer["result"]["structuredContent"]
        return found

    @property
    def processor(self) -> int:
        """Milliseconds of the processor that it took so far, its threads included."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK

    @property
    def resident(self) -> float:
        """MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._say({"method": method, "params": params, "id": self._number})
        assert self._process.stdout is not None
        answer: dict[str, Any] = {}
        while answer.get("id") != self._number:
            answer = json.loads(self._process.stdout.readline())
        return answer

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def recalling(ours: Tool, home: Path) -> Iterator[Row]:
    """The index is complete, and the files are in the system's cache."""
    subprocess.run([*ours.screen, "index", "rebuild"], env=ours.environment(home), check=True, capture_output=True)
    titles = subprocess.run(list(ours.listing), env=ours.environment(home), check=True, capture_output=True).stdout
    words = sorted({word for one in json.loads(titles) for word in re.findall(r"[a-z]{4,12}", one["title"].lower())})
    dice = random.Random(3)
    queries = [" ".join(dice.sample(words, 1 if number % 5 < 3 else 2)) for number in range(_CALLS)]
    with Server(ours, home) as server:
        server.search()  # the bytecode of the protocol's SDK is there afterwards, as where it is installed
    with Server(ours, home) as server:
        server.search(query=queries[0])
        yield Row("agents: first answer after the start", "s", server.age, aim="≤ 1.5")
        anchors: list[dict[str, Any]] = []
        for query in queries:
            found = server.search(query=query).get("results", ())
            anchors += (
                {"session_id": one["session_id"], "around_message_id": one["match_message_id"]}
                for one in found
                if "match_message_id" in one
            )
        yield from _shape(server, "discovery", [{"query": query} for query in queries], "≤ 50")
        yield from _shape(server, "scroll", dice.choices(anchors, k=_CALLS), "≤ 10")
        yield from _shape(server, "browse", [{}] * _CALLS, "≤ 10")
        yield Row("agents: resident", "MB", server.resident, aim="≤ 130")


def _shape(server: Server, name: str, calls: Sequence[Mapping[str, Any]], aim: str) -> Iterator[Row]:
    took: list[float] = []
    before = server.processor
    for arguments in calls:
        began = time.perf_counter()
        server.search(**arguments)
        took.append((time.perf_counter() - began) * 1000)
    yield Row(f"agents: {name}, p95", "ms", sorted(took)[int(0.95 * len(took))], aim=aim)
    yield Row(f"agents: {name}, processor", "ms", (server.processor - before) / len(calls))
