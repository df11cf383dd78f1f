"""Pi's and omp's sessions read by plain lines: the branch of the last entry is shown, every branch is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plain_session import Call, Plain, Said, Tokens, json_lines, summed
from plain_trees import active_path, plain_text, records

__all__ = ["beside", "models_of", "plain_document", "plain_omp", "plain_pi", "said_of", "spent", "tokens_of"]

Entry = dict[str, Any]


def plain_pi(home: Path) -> list[Plain]:
    """Every session, of any folder."""
    files = sorted([*home.glob(".pi/agent/sessions/--*--/*.jsonl"), *home.glob(".pi/agent/sessions/*.jsonl")])
    return [*_sessions(files), *_documents(home / ".pi/agent/sessions")]


def plain_omp(home: Path) -> list[Plain]:
    """Every session of every profile; what lies in the folder of a session are its sub-agents."""
    files: list[Path] = []
    for folder in [home / ".omp/agent/sessions", *home.glob(".omp/profiles/*/agent/sessions")]:
        files += [*folder.glob("*/*.jsonl"), *folder.glob("*/*/*.jsonl")]
    return [*_sessions(sorted(files)), *_documents(home / ".omp/agent/sessions")]


def _sessions(files: list[Path]) -> list[Plain]:
    read = {path: records(path) for path in files}
    read = {path: found for path, found in read.items() if any(entry.get("type") == "session" for entry in found)}
    heads = {path: next(entry for entry in found if entry.get("type") == "session") for path, found in read.items()}
    seen: set[tuple[str, str]] = set()
    found = []
    for path in sorted(read, key=lambda path: heads[path]["timestamp"]):
        own = [entry for entry in read[path] if (entry.get("id", ""), entry.get("timestamp", "")) not in seen]
        seen |= {(entry.get("id", ""), entry.get("timestamp", "")) for entry in own}
        found.append(_session(path, heads[path], read[path], own))
    return found


def _session(path: Path, head: Entry, entries: list[Entry], own: list[Entry]) -> Plain:
    shown = active_path(entries)
    helper = path.parent.with_suffix(".jsonl").exists()
    above = head.get("parentSession")
    parent = Path(above).stem.rsplit("_", 1)[-1] if above else None
    return Plain(
        session_id=head["id"],
        said=tuple(one for entry in shown for one in said_of(entry, shown)),
        title=path.stem if helper else _title(head, entries),
        created=head["timestamp"],
        cwd=head["cwd"],
        kind="subagent" if helper else "fork" if parent else "session",
        parent=parent,
        updated=_newest(entries),
        tokens=summed([tokens_of(entry) for entry in own]),
        cost=spent(own),
        models=models_of(entries),
        models_beside=models_beside(entries),
        beside=beside(entries, shown),
    )


def _newest(entries: list[Entry]) -> Any:
    """As Pi's own list has it, of what the user and the model said on any branch; of other entries without that."""
    said = [entry["message"] for entry in entries if entry.get("message", {}).get("role") in ("user", "assistant")]
    if said:
        return max(message["timestamp"] for message in said)
    return max(entry["timestamp"] for entry in entries if "timestamp" in entry)


def models_of(entries: list[Entry]) -> tuple[str, ...]:
    """Of every reply on any branch; where no model was asked for anything, the one that was chosen."""
    asked = [entry["message"]["model"] for entry in entries if entry.get("message", {}).get("role") == "assistant"]
    if asked or models_beside(entries):
        return tuple(asked)
    chosen = [entry.get("modelId") or entry["model"] for entry in entries if entry.get("type") == "model_change"]
    return tuple(name.rsplit("/", 1)[-1] for name in chosen[-1:])


def models_beside(entries: list[Entry]) -> tuple[str, ...]:
    """Of calls that are no part of the conversation."""
    return tuple(entry["model"] for entry in entries if entry.get("type") in ("usage", "model_usage"))


def beside(entries: list[Entry], shown: list[Entry]) -> tuple[str, ...]:
    """What was said and is not shown."""
    known = {entry.get("id") for entry in shown}
    rest = [entry["message"] for entry in entries if "message" in entry and entry.get("id") not in known]
    return tuple(plain_text(message["content"]) for message in rest if message["role"] in ("user", "assistant"))


def _title(head: Entry, entries: list[Entry]) -> str:
    slots = [entry["title"] for entry in entries if entry.get("type") == "title"]
    changes = [entry["title"] for entry in entries if entry.get("type") == "title_change"]
    names = [entry["name"] for entry in entries if entry.get("type") == "session_info"]
    texts = [said.text for entry in active_path(entries) for said in said_of(entry, []) if said.role == "user"]
    named = [*slots, *changes[-1:], head.get("title") or "", *names[-1:], *(text or "" for text in texts)]
    return next((title for title in named if title), "")


def said_of(entry: Entry, shown: list[Entry]) -> list[Said]:
    """What one entry is to a reader."""
    when = entry.get("message", entry).get("timestamp", entry.get("timestamp"))
    kind = entry.get("type")
    if kind == "compaction":
        return [Said("system", None, when), Said("system", entry["summary"], when)]
    if kind == "branch_summary":
        return [Said("system", entry["summary"], when)]
    if kind == "custom_message":
        return [Said("system", plain_text(entry["content"]), when)]
    if kind == "reset_boundary":
        return [Said("system", None, when)]
    if kind != "message":
        return []
    message = entry["message"]
    role = message["role"]
    if role in ("user", "assistant"):
        calls = tuple(
            _call(block, shown)
            for block in message["content"]
            if isinstance(block, dict) and block["type"] == "toolCall"
        )
        text = plain_text(message["content"]) or message.get("errorMessage", "")
        return [Said(role, text, when, calls, message.get("model"))]
    if role == "toolResult":
        return [Said("tool", "", when)]
    if role == "bashExecution":
        return [Said("user", None, when)]
    return [Said("system", plain_text(message["content"]) or None, when)]


def _call(block: Entry, shown: list[Entry]) -> Call:
    results = [entry["message"] for entry in shown if entry.get("message", {}).get("toolCallId") == block["id"]]
    if not results:
        return Call(block["name"], block["arguments"], None)
    return Call(block["name"], block["arguments"], plain_text(results[0]["content"]), results[0]["isError"])


def _usage(entry: Entry) -> Entry:
    found = entry.get("usage") or entry.get("message", {}).get("usage") or {}
    assert isinstance(found, dict)
    return found


def tokens_of(entry: Entry) -> Tokens:
    """The output includes the reasoning."""
    usage = _usage(entry)
    first, output, read, written = (usage.get(name) or 0 for name in ("input", "output", "cacheRead", "cacheWrite"))
    return first, output, read, written, usage.get("reasoning") or usage.get("reasoningTokens") or 0


def spent(entries: list[Entry]) -> float | None:
    """In US dollars, as the agent worked it out; None where it did not."""
    costs = [_usage(entry)["cost"]["total"] for entry in entries if "cost" in _usage(entry)]
    return float(sum(costs)) if sum(costs) else None


def _documents(folder: Path) -> list[Plain]:
    """The layout of the specification: a folder for each session, its lines in one tree over several files."""
    found = []
    for session in sorted(path for path in folder.glob("*") if path.is_dir()):
        files = sorted(session.glob("*.jsonl"))
        entries = [entry for path in files for entry in json_lines(path)]
        if entries and all("role" in entry for entry in entries):
            found.append(plain_document(session.name, entries))
    return found


def plain_document(session_id: str, entries: list[Entry]) -> Plain:
    """One such tree; the branch with the newest time is shown."""
    by_id = {entry["id"]: entry for entry in entries}
    at: Entry | None = max(entries, key=lambda entry: entry["timestamp"])
    shown = []
    while at is not None:
        shown.append(at)
        at = by_id.get(at["parentId"])
    shown.reverse()
    results = {entry["toolCallId"]: entry["content"] for entry in shown if entry["role"] == "tool"}
    rest = [entry for entry in entries if entry not in shown and entry["role"] in ("user", "assistant")]
    said = []
    for entry in shown:
        calls = tuple(
            Call(call["name"], call["input"], results.get(call["id"])) for call in entry.get("toolCalls", ())
        )
        text = "" if entry["role"] == "tool" else entry["content"]
        said.append(Said(entry["role"], text, entry["timestamp"], calls, entry.get("model")))
    usage = [entry["usage"] for entry in entries if "usage" in entry]
    return Plain(
        session_id=session_id,
        said=tuple(said),
        title=shown[0]["content"],
        created=shown[0]["timestamp"],
        updated=max(entry["timestamp"] for entry in entries),
        tokens=summed([(one["inputTokens"], one["outputTokens"], one.get("cachedTokens", 0), 0, 0) for one in usage]),
        models=tuple(entry["model"] for entry in entries if "model" in entry),
        beside=tuple(entry["content"] for entry in rest),
    )
