"""What a turn, a prompt, an error and a failed session are: one table of cases, told by every agent's own records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from hector_store import Store as HectorStore
from hermes_store import Store as HermesStore
from opencode_store import Store as OpenCodeStore
from session_adapters.base import Environment
from session_adapters.registry import adapter_class

CASES: dict[str, tuple[int, bool]] = {
    "PA": (1, False),
    "P": (0, False),
    "PPA": (1, False),
    "PAA": (1, False),
    "PAPA": (2, False),
    "PNA": (1, False),
    "PANP": (1, False),
    "AP": (0, False),
    "PE": (0, True),
    "PEN": (0, True),
    "PAE": (1, True),
    "PAEN": (1, True),
    "PEA": (1, False),
    "PEP": (0, False),
    "PEPA": (1, False),
    "PAPE": (1, True),
    "PS": (0, True),
    "PASN": (1, True),
    "PSA": (1, False),
}
"""Prompt, Answer, Error of a call, error that the System tells of, Notice, in this order: turns, and whether the
session failed."""

ID = "0f9619ff-8b86-4d01-b42d-00cf4fc964ff"
Records = list[dict[str, Any]]
Write = Callable[[Path, str], None]


def at(number: int) -> str:
    return f"2026-11-21T08:00:{number:02}.000Z"


def lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def claude(home: Path, events: str) -> None:
    def body(number: int, kind: str) -> dict[str, Any]:
        if kind == "P":
            return {"type": "user", "message": {"role": "user", "content": f"text {number}"}}
        if kind in "NS":
            return {"type": "system", "subtype": "informational", "content": f"text {number}"}
        reply = {"id": f"m{number}", "role": "assistant", "content": [{"type": "text", "text": f"text {number}"}]}
        failed = {"isApiErrorMessage": True} if kind == "E" else {}
        return {"type": "assistant", "message": {**reply, "model": "<synthetic>" if failed else "opus"}, **failed}

    base = {"sessionId": ID, "cwd": "/w", "version": "2.1.0", "isSidechain": False}
    lines(
        home / ".claude/projects/-w" / f"{ID}.jsonl",
        ({**base, "uuid": f"u{n}", "timestamp": at(n), **body(n, kind)} for n, kind in enumerate(events)),
    )


def codex(home: Path, events: str) -> None:
    said: Records = [{"type": "session_meta", "payload": {"id": ID, "timestamp": at(0), "cwd": "/w"}}]
    for number, kind in enumerate(events):
        text = f"text {number}"
        if kind == "P":
            content = [{"type": "input_text", "text": text}]
            said.append({"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}})
            said.append({"type": "event_msg", "payload": {"type": "user_message", "message": text}})
        elif kind == "A":
            content = [{"type": "output_text", "text": text}]
            said.append(
                {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": content}}
            )
        elif kind == "N":
            content = [{"type": "input_text", "text": f"<environment_context>{text}</environment_context>"}]
            said.append({"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}})
        else:
            said.append({"type": "event_msg", "payload": {"type": "error", "message": text}})
    path = home / ".codex/sessions/2026/11/21" / f"rollout-2026-11-21T08-00-00-{ID}.jsonl"
    lines(path, ({"timestamp": at(number), **record} for number, record in enumerate(said)))


def copilot(home: Path, events: str) -> None:
    forms = {"P": "user.message", "A": "assistant.message", "S": "session.error", "N": "session.warning"}
    said: Records = [{"type": "session.start", "data": {"sessionId": ID, "version": 1, "startTime": at(0)}}]
    said += [
        {"type": forms[kind], "data": {"content": f"text {n}", "message": f"text {n}", "messageId": f"m{n}"}}
        for n, kind in enumerate(events)
    ]
    lines(
        home / ".copilot/session-state" / ID / "events.jsonl",
        ({"id": f"e{n}", "timestamp": at(n), "parentId": None, **one} for n, one in enumerate(said)),
    )


def cursor(home: Path, events: str) -> None:
    def record(number: int, kind: str) -> dict[str, Any]:
        if kind == "S":
            return {"type": "turn_ended", "status": "error", "error": f"text {number}"}
        role = {"P": "user", "A": "assistant", "N": "system"}[kind]
        return {"role": role, "message": {"content": [{"type": "text", "text": f"text {number}"}]}}

    path = home / ".cursor/projects/w/agent-transcripts" / ID / f"{ID}.jsonl"
    lines(path, (record(number, kind) for number, kind in enumerate(events)))


def gemini(home: Path, events: str) -> None:
    forms = {"P": "user", "A": "gemini", "S": "error", "N": "info"}
    said = [
        {"id": f"m{n}", "timestamp": at(n), "type": forms[kind], "content": f"text {n}"}
        for n, kind in enumerate(events)
    ]
    header = {"sessionId": ID, "projectHash": "0" * 64, "startTime": at(0), "lastUpdated": at(0), "kind": "main"}
    lines(home / ".gemini/tmp/w/chats" / "session-2026-11-21T08-00-0f9619ff.jsonl", [header, *said])


def tree(folder: str) -> Write:
    def write(home: Path, events: str) -> None:
        said: Records = [{"type": "session", "version": 3, "id": ID, "timestamp": at(0), "cwd": "/w"}]
        for number, kind in enumerate(events):
            text = [{"type": "text", "text": f"text {number}"}]
            message: dict[str, Any] = {"role": "user" if kind == "P" else "assistant", "content": text}
            if kind in "AE":
                message |= {"model": "m", "stopReason": "stop" if kind == "A" else "error"}
            node = {"id": f"n{number}", "parentId": f"n{number - 1}" if number else None, "timestamp": at(number)}
            if kind == "N":
                said.append(node | {"type": "custom_message", "customType": "x", "content": text, "display": True})
            else:
                said.append(node | {"type": "message", "message": message})
        lines(home / folder / f"2026-11-21T08-00-00-000Z_{ID}.jsonl", said)

    return write


def openclaw(home: Path, events: str) -> None:
    tree(".openclaw/agents/main/sessions")(home, events)
    folder = home / ".openclaw/agents/main/sessions"
    next(folder.iterdir()).rename(folder / f"{ID}.jsonl")


def opencode(home: Path, events: str) -> None:
    store = OpenCodeStore(home)
    store.session(ID)
    for number, kind in enumerate(events):
        if kind == "N":
            key = store.message(ID, "user")
            store.part(ID, key, type="text", text=f"text {number}", synthetic=True)
            continue
        if kind == "E":
            reason: dict[str, Any] = {"error": {"name": "APIError", "data": {"message": f"text {number}"}}}
            store.message(ID, "assistant", "", modelID="m", **reason)
        else:
            store.say(ID, "user" if kind == "P" else "assistant", f"text {number}")


def hermes(home: Path, events: str) -> None:
    store = HermesStore(home)
    store.session(ID)
    for number, kind in enumerate(events):
        store.say(ID, {"P": "user", "A": "assistant", "N": "system"}[kind], f"text {number}")


def hector(home: Path, events: str) -> None:
    store = HectorStore(home)
    store.session(ID)
    for number, kind in enumerate(events):
        if kind == "E":
            store.say(ID, "AGENT", [{"text": f"text {number}", "metadata": {"event_type": "error"}}])
        else:
            store.say(ID, {"P": "USER", "A": "AGENT", "N": "UNSPECIFIED"}[kind], f"text {number}")


WRITERS: dict[str, tuple[Write, str]] = {
    "claude": (claude, "PAEN"),
    "codex": (codex, "PASN"),
    "copilot": (copilot, "PASN"),
    "cursor": (cursor, "PASN"),
    "gemini": (gemini, "PASN"),
    "hector": (hector, "PAEN"),
    "hermes": (hermes, "PAN"),
    "omp": (tree(".omp/agent/sessions/-w"), "PAEN"),
    "openclaw": (openclaw, "PAEN"),
    "opencode": (opencode, "PAEN"),
    "pi": (tree(".pi/agent/sessions/--w--"), "PAEN"),
}
"""What writes an agent's records, and which events the agent has records for."""
EACH = [(agent, events) for agent, (_, known) in WRITERS.items() for events in CASES if set(events) <= set(known)]


@pytest.mark.parametrize(("agent", "events"), EACH)
def test_every_agent_counts_alike(agent: str, events: str, tmp_path: Path) -> None:
    WRITERS[agent][0](tmp_path, events)
    adapter = adapter_class(agent)(Environment(home=tmp_path, proc=tmp_path / "proc"))
    problems: list[Any] = []
    (source,) = adapter.sources(problems.append)
    quick = adapter.summaries(source, problems.append)[0]
    exact = adapter.summaries(source, problems.append, exact=True)[0]
    session = adapter.session(source, exact.session_id)
    shown = [one for one in session.messages if "text " in one.content]
    kinds = {"P": "message", "A": "message", "E": "error", "S": "error", "N": "notice"}
    assert [one.kind for one in shown] == [kinds[kind] for kind in events]
    assert problems == []
    turns, failed = CASES[events]
    for said in (quick, exact, session):
        assert (said.turn_count, said.error, said.message_count) == (turns, failed, len(session.messages))
