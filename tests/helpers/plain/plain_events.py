"""Copilot's sessions read by plain lines; a sub-agent is a session inside its parent's file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from plain_session import Call, Plain, Said, Tokens, json_lines, summed

__all__ = ["plain_copilot"]

Event = dict[str, Any]


def plain_copilot(home: Path) -> list[Plain]:
    """Every session, its sub-agents, and the documents of the specification."""
    files = {
        path.parent.name: json_lines(path) for path in sorted(home.glob(".copilot/session-state/*/events.jsonl"))
    }
    found = []
    for session_id, events in files.items():
        workspace = _workspace(home / ".copilot/session-state" / session_id / "workspace.yaml")
        found.append(_session(session_id, events, workspace, files))
        agents = dict.fromkeys(event["agentId"] for event in events if event.get("agentId"))
        found += [_helper(session_id, agent, events, workspace, files) for agent in agents]
    documents = sorted((home / ".config/github-copilot/sessions").glob("*.json"))
    return found + [_document(path) for path in documents]


def _workspace(path: Path) -> dict[str, str]:
    pairs = re.findall(r"(?m)^(\w+): *(.*)$", path.read_text(encoding="utf-8"))
    return {name: value.strip("'\"") for name, value in pairs}


def _session(session_id: str, events: list[Event], workspace: dict[str, str], files: dict[str, list[Event]]) -> Plain:
    infos = [event["data"] for event in events if event["type"] == "session.info"]
    forks = [info["message"] for info in infos if info.get("infoType") == "fork" and "Forked from" in info["message"]]
    parent = re.search(r"\(([0-9a-f-]{36})\)", forks[-1])[1] if forks else None  # type: ignore[index]
    shared = {event["id"] for event in files.get(parent or "", ())}
    copied = [event for event in events if event["id"] in shared and event["type"] != "session.start"]
    own = [event for event in events if event not in copied]
    titles = [event["data"]["title"] for event in events if event["type"] == "session.title_changed"]
    prompts = [
        event["data"]["content"] for event in own if event["type"] == "user.message" and "agentId" not in event
    ]
    context = events[0]["data"]["context"]
    before = _said(copied, None)
    return Plain(
        session_id=session_id,
        said=(*before, *_said(own, None)),
        title=workspace.get("name") or (titles or prompts or [""])[-1],
        created=events[0]["data"]["startTime"],
        cwd=context["cwd"],
        branch=workspace.get("branch") or context.get("branch"),
        kind="fork" if parent else "session",
        parent=parent,
        tokens=_tokens(events, own, None, set(files) - {session_id}),
        copied=len(before),
    )


def _helper(
    session_id: str, agent: str, events: list[Event], workspace: dict[str, str], files: dict[str, list[Event]]
) -> Plain:
    own = [event for event in events if event.get("agentId") == agent]
    started = next(event["data"] for event in own if event["type"] == "subagent.started")
    said = tuple(_said(own, agent))
    return Plain(
        session_id=f"{session_id}:{agent}",
        said=said,
        title=started["agentDisplayName"],
        created=said[0].when,
        cwd=events[0]["data"]["context"]["cwd"],
        branch=workspace.get("branch"),
        kind="subagent",
        parent=session_id,
        tokens=_tokens(events, own, agent, set(files) - {session_id}),
    )


def _said(events: list[Event], agent: str | None) -> list[Said]:
    done = {
        event["data"]["toolCallId"]: event["data"] for event in events if event["type"] == "tool.execution_complete"
    }
    found = []
    for event in events:
        data, when, kind = event["data"], event["timestamp"], event["type"]
        if event.get("agentId") != agent:
            continue
        if kind == "user.message":
            found.append(Said("user", data["content"], when))
        elif kind == "assistant.message":
            calls = tuple(_call(one, done.get(one["toolCallId"])) for one in data.get("toolRequests", ()))
            found.append(Said("assistant", data["content"], when, calls, data.get("model")))
        elif kind == "tool.execution_complete":
            found.append(Said("tool", "", when))
        elif kind == "session.compaction_complete":
            found += [Said("system", None, when), Said("system", data["summaryContent"], when)]
        elif kind == "session.error" or (kind == "session.info" and data.get("infoType") == "fork"):
            found.append(Said("system", data["message"], when))
    return found


def _call(request: Event, done: Event | None) -> Call:
    if done is None:
        return Call(request["name"], request["arguments"], None)
    result = done.get("result") or done.get("error") or {}
    code = (done.get("shellExecution") or {}).get("exitCode") or 0
    text = result.get("content", result.get("message"))
    return Call(request["name"], request["arguments"], text, not done["success"] or code != 0)


def _tokens(events: list[Event], own: list[Event], agent: str | None, others: set[str]) -> Tokens:
    """Each call once, without those of another listed session; and the call that wrote a summary."""
    records = {}
    for event in events:
        if event["type"] == "session.usage_record" and event.get("agentId") == agent:
            usage = event["data"]["usage"]
            if usage["accounting"]["sourceSessionId"] not in others:
                records[usage["accounting"]["usageId"]] = usage
    summaries = [
        event["data"]["compactionTokensUsed"] for event in own if event["type"] == "session.compaction_complete"
    ]
    each = [*records.values(), *(summaries if agent is None else ())]
    return summed([_figures(usage) for usage in each])


def _figures(usage: Event) -> Tokens:
    """The input includes what the cache gave and took."""
    read, written = usage.get("cacheReadTokens") or 0, usage.get("cacheWriteTokens") or 0
    first = usage["inputTokens"] - read - written
    return first, usage["outputTokens"], read, written, usage.get("reasoningTokens") or 0


def _document(path: Path) -> Plain:
    value = json.loads(path.read_bytes())
    messages = value if isinstance(value, list) else value["messages"]
    model = None if isinstance(value, list) else value["model"]
    said = [
        Said(one["role"], one["content"], one["timestamp"], (), model if one["role"] == "assistant" else None)
        for one in messages
    ]
    return Plain(
        session_id=path.stem,
        said=tuple(said),
        title=next(one.text or "" for one in said if one.role == "user"),
        created=said[0].when if isinstance(value, list) else value["createdAt"],
    )
