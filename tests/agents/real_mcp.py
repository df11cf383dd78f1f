"""The server for agents in the hands of five agents, from their registry: `make test-agents`.

Each is configured as docs/agents.md says and asked by a mock model, which calls every tool in every shape and scrolls
to the end of a session by what the answers say.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.mock_model import Model, Reply
from agents.programs import PROGRAMS, installed
from claude_lines import ClaudeHome
from support import REPOSITORY

TURNS = 9
"""Of the session that is scrolled through: 18 messages."""
ASKED = "Look into the history"


class RecallingModel(Model):
    """A model that searches, scrolls forward to the end, and calls whatever else there is."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[dict[str, Any]] = []
        """What the tools gave, as the agent handed it on."""

    def reply(self, prompt: str, answered: bool, tools: Sequence[Mapping[str, Any]]) -> Reply | int:
        names = [str(tool["name"]) for tool in tools]
        if ASKED not in prompt or not any(name.endswith("session_search") for name in names):
            return Reply("said: nothing")
        if answered and (found := _last_answer(self.requests[-1][1])) is not None:
            self.answers.append(found)
        wanted = self._next() if answered else ("session_search", {"query": "needle"})
        if wanted is None:
            return Reply("done")
        name = next(name for name in names if name.endswith(wanted[0]))
        return Reply(tool=name, arguments=wanted[1])

    def _next(self) -> tuple[str, dict[str, Any]] | None:
        last = self.answers[-1] if self.answers else {}
        if last.get("shape") == "discovery":
            one = last["results"][0]
            first = one["match_message_id"]
            return "session_search", {"session_id": one["session_id"], "around_message_id": first, "window": 2}
        if last.get("shape") == "scroll" and last["messages_after"] == last["window"]:
            where = {"session_id": last["session_id"], "around_message_id": last["messages"][-1]["id"]}
            return "session_search", {**where, "window": 2}
        if last.get("shape") == "scroll":
            return "session_search", {}
        if last.get("shape") == "browse":
            return "session_overview", {"session_id": last["results"][0]["session_id"]}
        return ("sessions_now", {}) if "goal" in last else None


def _last_answer(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The last answer of a tool of ours in what an agent sent to the model."""
    found = None
    for text in _texts([body.get(name) for name in ("messages", "input", "contents")]):
        begin = text.find('{"')
        try:
            value = json.loads(text[begin : text.rfind("}") + 1]) if begin >= 0 else None
        except ValueError:
            continue
        if isinstance(value, dict) and "never instructions" in str(value.get("note")):
            found = value
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _configured(name: str, home: Path, command: Sequence[str]) -> Sequence[str]:
    """Configure an agent as the page says; the arguments for one prompt without a screen."""
    program, *arguments = command
    entry = {"mcpServers": {"sessions": {"command": program, "args": arguments}}}
    if name == "claude":
        # As `claude mcp add --scope user` writes it.
        facts = json.loads((home / ".claude.json").read_text())
        (home / ".claude.json").write_text(json.dumps({**facts, **entry}))
        return ("-p", ASKED, "--allowedTools", "mcp__sessions")
    if name == "codex":
        with (home / ".codex" / "config.toml").open("a") as file:
            file.write(f"[mcp_servers.sessions]\ncommand = {json.dumps(program)}\nargs = {json.dumps(arguments)}\n")
            file.write('default_tools_approval_mode = "approve"\n')
            file.write("required = true\n")  # else the first turn may be without it
        return ("exec", "--skip-git-repo-check", ASKED)
    if name == "copilot":
        local = {"type": "local", "command": program, "args": arguments, "tools": ["*"]}
        path = home / ".copilot" / "mcp-config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": {"sessions": local}}))
        return ("--allow-all-tools", "-p", ASKED)
    if name == "opencode":
        settings = home / ".config" / "opencode" / "opencode.json"
        started = {"type": "local", "command": list(command), "enabled": True}
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "mcp": {"sessions": started}}))
        return ("run", ASKED)
    settings = home / ".gemini" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **entry}))
    return ("--approval-mode", "yolo", "-p", ASKED)


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "copilot", "opencode"])
def test_every_tool_is_called_and_answers(name: str, tmp_path: Path) -> None:
    home, work, past = tmp_path / "home", tmp_path / "shop", tmp_path / "past"
    work.mkdir()
    sessions = ClaudeHome(past)
    path = sessions.session("Where is the needle?", turns=TURNS)
    sessions.session("Something else")
    model = RecallingModel()
    setup = PROGRAMS[name].prepare(home, work, model.url)
    # Claude Code begins before its servers are there, and has their tools looked for; here it waits, and shows them.
    waits = {"MCP_CONNECTION_NONBLOCKING": "0", "ENABLE_TOOL_SEARCH": "false"}
    variables = {**waits, "HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
    paths = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    server = ("env", f"PYTHONPATH={paths}", sys.executable, "-m", "hermes_tui", "--home", str(past), "mcp")
    arguments = _configured(name, home, server)
    options = () if name == "codex" else setup.command
    ran = subprocess.run(
        [str(installed(PROGRAMS[name])), *options, *arguments],
        env={**variables, **setup.variables},
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    model.end()
    shapes = [one.get("shape") or ("overview" if "goal" in one else "now") for one in model.answers]
    assert shapes[0] == "discovery", (ran.stdout[-2000:], ran.stderr[-2000:], len(model.requests))
    pages = [one for one in model.answers if one.get("shape") == "scroll"]
    assert len(pages) > 3
    assert pages[-1]["messages_after"] < pages[-1]["window"]
    seen = dict.fromkeys(one["id"] for page in pages for one in page["messages"])
    assert len(seen) == 2 * TURNS
    assert all(one.get("session_id", "").endswith(path.stem) for one in pages)
    assert shapes[-3:] == ["browse", "overview", "now"]
