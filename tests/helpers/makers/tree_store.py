"""The sample stores of Pi and omp, and what their adapters make of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from session_adapters.base import Environment, Source
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.omp import OmpAdapter
from session_adapters.pi import PiAdapter
from session_adapters.tree.adapter import TreeAdapter
from session_adapters.tree.transcript import TreeTranscript
from support import STORES

__all__ = ["PI_BRANCHED", "Samples", "both", "everything", "opened", "running", "sample_omp", "sample_pi"]


PI_BRANCHED = "01a1fd3c-75fc-754d-bae2-a43c338a7401"
"""A session of Pi that parts twice."""


class Samples:
    """The sessions in `expected.json`, which another reader made of the same files."""

    def __init__(self, agent: str) -> None:
        self.expected: dict[str, Any] = json.loads((STORES / agent / "expected.json").read_text())
        self.real = [(home, entry["id"]) for home in ("home", "home-hard") for entry in self.expected[home]]
        """Home and id of those in the program's own layout."""

    def entry(self, home: str, session_id: str) -> dict[str, Any]:
        found = next(entry for entry in self.expected[home] if entry["id"] == session_id)
        assert isinstance(found, dict)
        return found


def sample_pi(home: str) -> PiAdapter:
    """Of a sample home, with its directory of sessions elsewhere."""
    root = STORES / "pi" / home
    return PiAdapter(
        Environment(home=root, variables={"PI_CODING_AGENT_SESSION_DIR": str(root / "custom-session-dir")})
    )


def sample_omp(home: str) -> OmpAdapter:
    """Of a sample home."""
    return OmpAdapter(Environment(home=STORES / "omp" / home))


def everything(adapter: TreeAdapter, problems: list[Problem] | None = None) -> list[tuple[Source, SessionSummary]]:
    """All that is listed."""
    report = (problems if problems is not None else []).append
    return [(source, summary) for source in adapter.sources(report) for summary in adapter.summaries(source, report)]


def both(adapter: TreeAdapter, session_id: str) -> tuple[SessionSummary, Session]:
    """What the list and what reading it give of a session."""
    source = adapter.find(session_id)
    assert source is not None
    (summary,) = adapter.summaries(source, lambda problem: None)
    return summary, adapter.session(source, session_id)


def opened(adapter: TreeAdapter, session_id: str) -> TreeTranscript:
    """Its transcript."""
    source = adapter.find(session_id)
    assert source is not None
    return adapter.open(source, session_id)


@contextmanager
def running(title: str, cwd: Path | None = None) -> Iterator[int]:
    """A process of that title; its id. It is seen to run: between start and first breath it has no title yet."""
    with subprocess.Popen(
        [title], executable="/bin/cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"here\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"here\n"
        yield process.pid
