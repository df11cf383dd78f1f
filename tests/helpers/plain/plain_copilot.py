"""Copilot's sessions read and made by plain lines, to compare the adapter with."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from session_adapters.base import Environment
from session_adapters.copilot.adapter import CopilotAdapter
from session_adapters.model import Problem, Session, SessionSummary, TokenUsage
from support import STORES

STORE = STORES / "copilot"
HOME = STORE / "home"
DOCUMENTS = STORE / "spec-layout/home"
FORK_ID = "46642c3e-230b-4f9d-ab3d-54e8b63f18a7"
PARENT_ID = "437d14fd-1811-4932-8e2a-831ba6fe8585"
HELPED_ID = "fe0fe683-b771-49ba-b4ac-f18c0479a118"
HELPER_ID = f"{HELPED_ID}:965b9eb3-c38c-4764-816a-33dd1022ed0a"
NOTED: list[dict[str, Any]] = json.loads((STORE / "expected.json").read_text())
IDS = [row["id"] for row in NOTED]


def adapter(home: Path, **variables: str) -> CopilotAdapter:
    return CopilotAdapter(Environment(home=home, variables=variables))


def no_report(problem: Problem) -> None:
    raise AssertionError(problem)


def listed(reader: CopilotAdapter, *, exact: bool = True) -> dict[str, SessionSummary]:
    found = [one for source in reader.sources(no_report) for one in reader.summaries(source, no_report, exact=exact)]
    related = reader.relate(found)
    assert len(related) == len({one.session_id for one in related})
    return {one.session_id: one for one in related}


def got(reader: CopilotAdapter, session_id: str) -> Session:
    source = reader.find(session_id)
    assert source is not None
    return reader.session(source, session_id)


def events_path(session_id: str, home: Path = HOME) -> Path:
    return home / ".copilot/session-state" / session_id / "events.jsonl"


def rows(session_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in events_path(session_id).read_bytes().split(b"\n") if line]


def figures(tokens: TokenUsage | None) -> tuple[int, int, int, int, int]:
    """(all input, output, cache read, cache write, reasoning), as Copilot counts."""
    one = tokens or TokenUsage()
    given = one.input_tokens + one.cached_tokens + one.cache_write_tokens
    return given, one.output_tokens, one.cached_tokens, one.cache_write_tokens, one.thinking_tokens


# Sessions made here ----------------------------------------------------------------------------------------------


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


class Scribe:
    """Writes events as Copilot does; ids and times count up."""

    def __init__(self, home: Path, session_id: str = uuid(1), *, minute: int = 0, start: bool = True) -> None:
        self.session_id = session_id
        self.path = events_path(session_id, home)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.minute = minute
        self.count = 0
        if start:
            context = {"cwd": "/w", "gitRoot": "/w", "branch": "main"}
            self.add("session.start", sessionId=session_id, startTime=self.time(0), context=context)

    def time(self, number: int) -> str:
        moment = datetime(2026, 11, 21, 9) + timedelta(minutes=self.minute, seconds=number)
        return moment.isoformat(timespec="milliseconds") + "Z"

    def event(self, kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
        self.count += 1
        made = {
            "type": kind,
            "data": data,
            "id": f"{self.session_id[-4:]}-{self.count:04}",
            "timestamp": self.time(self.count),
            "parentId": None,
        }
        return {**made, "agentId": agent} if agent else made

    def add(self, kind: str, agent: str = "", **data: Any) -> str:
        """Append one event; its id."""
        made = self.event(kind, agent, **data)
        self.write(json.dumps(made, ensure_ascii=False).encode() + b"\n")
        return str(made["id"])

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def usage(self, call: str, given: int = 10, output: int = 2, agent: str = "", **more: Any) -> str:
        accounting = {"sourceSessionId": self.session_id, "sequence": 1, "usageId": call}
        usage = {"model": "m", "inputTokens": given, "outputTokens": output, "apiCallId": call}
        return self.add("session.usage_record", agent, usage={**usage, "accounting": accounting, **more})

    def reply(self, text: str, call: str = "", agent: str = "", **more: Any) -> str:
        named = {"apiCallId": call} if call else {}
        return self.add("assistant.message", agent, content=text, model="m", toolRequests=[], **named, **more)

    def turn(self, prompt: str, answer: str, call: str = "") -> None:
        self.add("user.message", content=prompt)
        if call:
            self.usage(call)
        self.reply(answer, call)
        self.add("assistant.turn_end", turnId="0")


def shutdown(
    given: int, output: int, read: int = 0, *, cumulative: bool = False, main: bool = False
) -> dict[str, Any]:
    """Data of a `session.shutdown` of the versions without usage records."""
    metrics = {"m": {"usage": {"inputTokens": given, "outputTokens": output, "cacheReadTokens": read}}}
    data: dict[str, Any] = {"shutdownType": "routine", "modelMetrics": metrics}
    if main:
        data["agentMetrics"] = {"main": {"modelMetrics": metrics}}
    return {**data, "accountingSnapshot": {"modelMetrics": metrics}} if cumulative else data
