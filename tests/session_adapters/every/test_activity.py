"""Where a conversation stands: real files cut behind each line, beside a dozen plain lines over raw JSON."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from session_adapters.activity import Activity, activity_of
from session_adapters.base import Adapter, Environment
from session_adapters.model import Message, ToolCall, ToolResult
from session_adapters.registry import adapter_class
from support import STORES

Record = dict[str, Any]


def claude_step(records: list[Record]) -> str | None:
    """What the last record that is said of the main conversation tells."""
    step, calls = None, set[str]()
    for record in records:
        if record.get("subtype") == "compact_boundary":
            step = None
        if record.get("isSidechain") or record.get("isMeta") or record.get("type") not in ("user", "assistant"):
            continue
        if record.get("isApiErrorMessage"):
            step = "failed"
            continue
        content = record["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kinds = [block["type"] for block in blocks]
        if record["type"] == "assistant":
            calls |= {block["id"] for block in blocks if block["type"] == "tool_use"}
            step = "working" if calls or kinds == ["thinking"] else "done"
        elif "tool_result" in kinds:
            calls -= {block.get("tool_use_id") for block in blocks}
            step = "working"
        elif any("interrupted" in str(block.get("text")) for block in blocks):
            step = "idle"
        elif not str(blocks[0].get("text", "")).lstrip().startswith(("<", "Caveat", "This session is being")):
            step = "working"
        else:
            step = None  # a command, a notice: what they say is not the rule that is tested here
    return step


def codex_step(records: list[Record]) -> str | None:
    step: str | None = None
    summarised = False
    for record in records:
        kind = record.get("payload", {}).get("type") if record.get("type") == "event_msg" else None
        if kind == "task_started":
            step, summarised = "working", False
        elif kind == "task_complete":
            failed = record["payload"].get("error")
            step = None if failed else step and ("idle" if summarised else "done")
        elif record.get("type") == "compacted":
            summarised = True
        elif kind in ("turn_aborted", "error"):
            step = None
    return step


def copilot_step(records: list[Record]) -> str | None:
    step, asked = None, set[str]()
    for record in records:
        kind, data = record["type"], record["data"]
        if record.get("agentId") or data.get("parentToolCallId"):
            continue
        if kind == "permission.requested":
            asked.add(data["requestId"])
        elif kind == "permission.completed":
            asked.discard(data["requestId"])
        elif kind == "user.message":
            step = "working" if data.get("source") in (None, "user") else None
        elif kind == "assistant.message":
            step = "working" if data.get("toolRequests") else "done"
        elif kind in ("tool.execution_complete", "tool.execution_start"):
            step = "working"
        elif kind.startswith(("session.", "abort", "system.", "subagent")):
            step = step if kind in ("session.usage_record", "system.message", "session.model_change") else None
    return "approval" if asked else step


def pi_step(records: list[Record]) -> str | None:
    step = None
    for record in records:
        message = record.get("message")
        if record.get("type") != "message" or not isinstance(message, dict):
            step = step if record.get("type") == "model_change" else None
            continue
        content = message.get("content")
        kinds = [block.get("type") for block in content] if isinstance(content, list) else ["text"]
        if message["role"] == "assistant":
            fine = message.get("stopReason") in ("stop", "toolUse")
            step = None if not fine else "working" if "toolCall" in kinds else "done" if "text" in kinds else None
        else:
            step = "working" if message["role"] in ("user", "toolResult") else None
    return step


RULES: dict[str, tuple[str, Callable[[list[Record]], str | None]]] = {
    "claude": (".claude/projects/*/*.jsonl", claude_step),
    "codex": (".codex/sessions/*/*/*/*.jsonl", codex_step),
    "copilot": (".copilot/session-state/*/events.jsonl", copilot_step),
    "pi": (".pi/agent/sessions/*/*.jsonl", pi_step),
}


def stand(adapter: Adapter, path: Path) -> Activity | None:
    """Of the first session in a file; None where it has none yet."""
    for source in adapter.sources(lambda problem: None):
        if source.path == str(path):
            for summary in adapter.summaries(source, lambda problem: None):
                return adapter.open(source, summary.session_id).activity
    return None


@pytest.mark.parametrize("agent", RULES)
def test_a_file_that_is_cut_says_what_its_last_lines_say(agent: str, store: Callable[..., Path]) -> None:
    pattern, rule = RULES[agent]
    home = store(agent, "home")
    adapter = adapter_class(agent)(Environment(home=home))
    told: dict[str, int] = {}
    for path in sorted(home.glob(pattern)):
        lines = path.read_bytes().splitlines(keepends=True)
        for end in range(1, len(lines) + 1):
            expected = rule([json.loads(line) for line in lines[:end]])
            if expected is None:
                continue
            path.write_bytes(b"".join(lines[:end]))
            found = stand(adapter, path)
            if found is None:
                continue
            step = "working" if found.step == "question" else found.step
            assert step == expected, f"{path} cut behind line {end}: {found}"
            told[step] = told.get(step, 0) + 1
    assert told.get("working", 0) > 3 and told.get("done", 0) > 3, told


ASKED = (
    '{"type":"permission.requested","data":{"requestId":"78cd75ee","permissionRequest":{"kind":"shell","toolCallId":'
    '"CALL","fullCommandText":"touch built.txt","shellType":"bash","intention":"touch built.txt","possiblePaths":'
    '["built.txt"],"canOfferSessionApproval":true},"agentMode":"interactive","permissionMode":"manual"},'
    '"id":"b8db90b1-993f-45fd-adcc-7dd5865a2051","timestamp":"2026-11-23T04:50:09.047Z"}'
)
"""As Copilot 1.0.102 writes it."""
ANSWERED = (
    '{"type":"permission.completed","data":{"requestId":"78cd75ee","toolCallId":"CALL","result":{"kind":"approved"},'
    '"decisionSource":"human_response"},"id":"8bdba56f-a66c-4579-bcf8-9efc2a288d97",'
    '"timestamp":"2026-11-23T04:50:36.423Z"}'
)


def test_what_waits_for_leave_is_named(store: Callable[..., Path]) -> None:
    """Copilot records what it asks for: behind the question it is an approval, behind the answer work again."""
    home = store("copilot", "home")
    adapter = adapter_class("copilot")(Environment(home=home))
    seen = Counter[bool]()
    for path in sorted(home.glob(RULES["copilot"][0])):
        lines = path.read_text().splitlines(keepends=True)
        for at, line in enumerate(lines, 1):
            record = json.loads(line)
            if record["type"] != "tool.execution_start":
                continue
            call = record["data"]["toolCallId"]
            helper = record.get("agentId")  # for which the session asks
            asked, answered = (
                json.dumps(json.loads(one.replace("CALL", call)) | ({"agentId": helper} if helper else {})) + "\n"
                for one in (ASKED, ANSWERED)
            )
            path.write_text("".join([*lines[:at], asked]))
            found = stand(adapter, path)
            assert found is not None
            assert (found.step, found.text) == ("approval", "touch built.txt")
            assert found.tool == ("shell" if helper else record["data"]["toolName"])
            if helper:
                turn_end = {"type": "assistant.turn_end", "data": {}, "id": "e", "timestamp": "2026-11-23T04:50:10Z"}
                ended = json.dumps({**turn_end, "type": "subagent.completed", "id": "f", "agentId": helper}) + "\n"
                path.write_text("".join([*lines[:at], asked, json.dumps(turn_end) + "\n"]))
                assert getattr(stand(adapter, path), "step", "") == "approval", "the helper goes on beside"
                path.write_text("".join([*lines[:at], asked, ended]))
                assert getattr(stand(adapter, path), "step", "") == "working"
                path.write_text("".join([*lines[:at], asked]))
            with path.open("a") as file:
                file.write(answered)
            found = stand(adapter, path)
            assert found is not None and found.step in ("working", "question")
            seen[bool(helper)] += 1
    assert seen[False] and seen[True]


@pytest.mark.parametrize(
    ("messages", "step"),
    [
        ([], "idle"),
        ([Message(role="user", content="Why?")], "working"),
        ([Message(role="user", content="Why?"), Message(role="assistant", content="So.")], "done"),
        ([Message(role="assistant", content="", thinking="hm")], "working"),
        ([Message(role="assistant", content="So", unfinished=True)], "working"),
        ([Message(role="system", kind="error", content="API Error: 500")], "failed"),
        ([Message(role="system", kind="error", content="You have hit your usage limit")], "limited"),
        ([Message(role="user", kind="notice", content="[Request interrupted by user]")], "idle"),
        ([Message(role="assistant", tool_calls=(ToolCall(tool_call_id="1", tool_name="Bash"),))], "working"),
        (
            [Message(role="assistant", tool_calls=(ToolCall(tool_call_id="1", tool_name="AskUserQuestion"),))],
            "question",
        ),
        (
            [
                Message(role="assistant", tool_calls=(ToolCall(tool_call_id="1", tool_name="Bash", output="ok"),)),
                Message(role="tool", tool_result=ToolResult(tool_call_id="1", output="ok", linked=True)),
            ],
            "working",
        ),
        (
            [
                Message(
                    role="assistant",
                    tool_calls=(ToolCall(tool_call_id="1", tool_name="question", output="dismissed", is_error=True),),
                )
            ],
            "idle",
        ),
        (
            [Message(role="assistant", content="So."), Message(role="user", content="Undone", visibility="rewound")],
            "done",
        ),
    ],
)
def test_steps(messages: list[Message], step: str) -> None:
    assert activity_of(messages).step == step


def test_of_a_call_the_most_telling_argument_is_said() -> None:
    call = ToolCall(tool_call_id="1", tool_name="Bash", input={"description": "Tidy up", "command": "rm -rf\nbuild"})
    found = activity_of([Message(role="assistant", tool_calls=(call,))])
    assert (found.tool, found.text) == ("Bash", "rm -rf build")


def test_every_sample_session_stands_somewhere() -> None:
    """No sample of any agent makes it fail."""
    steps = set()
    for agent in ("hermes", "gemini", "cursor", "opencode", "omp", "openclaw", "hector"):
        adapter = adapter_class(agent)(Environment(home=STORES / agent / "home"))
        for source in adapter.sources(lambda problem: None):
            for summary in adapter.summaries(source, lambda problem: None)[:3]:
                try:
                    steps.add(adapter.open(source, summary.session_id).activity.step)
                except LookupError:
                    continue  # OpenClaw's keys without conversations
    assert "done" in steps


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock shows UTC."""
    with monkeypatch.context() as machine:
        machine.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("error", "end"),
    [
        ("You've hit your session limit · resets 10:30pm (Europe/Berlin)", "2026-07-19T20:30"),
        ("You've hit your session limit · resets 1am (Asia/Singapore)", "2026-07-19T17:00"),
        ("You've hit your session limit · resets 5pm (Europe/Berlin)", "2026-07-20T15:00"),
        ("You've hit your weekly limit · resets Jul 26, 5:59am (America/Los_Angeles)", "2026-07-26T12:59"),
        ("You've hit your weekly limit · Resets Jul 21 at 12pm (Asia/Singapore)", "2026-07-21T04:00"),
        ("You're out of extra usage · resets 9pm (Europe/Rome)", "2026-07-19T19:00"),
        ("You're out of extra usage · resets Jul 22, 2pm (Asia/Jerusalem)", "2026-07-22T11:00"),
        ("Claude AI usage limit reached|1784484000", "2026-07-19T18:00"),
        ("You've hit your usage limit. Upgrade to Pro or try again at 12:16 PM.", "2026-07-20T12:16"),
        ("You've hit your usage limit. Upgrade to Plus, or try again at Aug 13th, 2026 2:23 PM.", "2026-08-13T14:23"),
        ("You've hit your usage limit, or try again at Jul 30, 2026, 4:15 AM.", "2026-07-30T04:15"),
        ("You've hit your usage limit. Try again in 2 days 17 hours 14 minutes.", "2026-07-22T08:59"),
        ('429 {"type":"usage_limit_reached","resets_at":1784484000,"resets_in_seconds":8100}', "2026-07-19T18:00"),
        ("You exceeded your current quota. Please retry in 90.0s.", "2026-07-19T15:46:30"),
        ("Your quota will reset after 5h15m0s.", "2026-07-19T21:00"),
        ("You've hit your usage limit.", None),
        ("You've hit your session limit · resets 10:30pm (Nowhere/At_All)", None),
        ("You've hit your limit · resets 99pm (Europe/Berlin)", None),
        ("Usage limit: try again at Feb 31, 2026 2:23 PM", None),
        ("Usage limit: try again in 999999 days", None),
        ("limit reached|9999999999", None),
    ],
)
@pytest.mark.usefixtures("in_utc")
def test_an_error_says_when_its_limit_ends(error: str, end: str | None) -> None:
    """As the programs write it, in the zone that they name, or that of the machine."""
    since = datetime(2026, 7, 19, 15, 45, tzinfo=UTC)
    found = activity_of([Message(role="system", kind="error", content=error, timestamp=since)])
    assert found.step == "limited"
    assert found.until == (datetime.fromisoformat(end).replace(tzinfo=UTC) if end else None)
