"""`hermes-tui mcp` as a process: a real client, hostile ones, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from claude_lines import ClaudeHome
from hermes_tui.cli.execute import execute
from session_adapters.registry import install_command
from support import PATIENCE, REPOSITORY
from tiny_home import tree_hash

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def command(home: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "hermes_tui", "--home", str(home), "--no-index", "mcp", *options]


def surroundings(home: Path) -> dict[str, str]:
    paths = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    return {**os.environ, "HOME": str(home), "PYTHONPATH": paths}


class Wire:
    """A client that writes whatever it likes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None and process.stdout is not None
        self.input, self.output = process.stdin, process.stdout

    def send(self, message: dict[str, Any] | bytes) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.input.write(data + b"\n")
        self.input.flush()

    def ask(self, number: int, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def answer(self, number: int) -> dict[str, Any]:
        """The reply to that request; whatever comes before it is passed over."""
        while line := self.output.readline():
            found: dict[str, Any] = json.loads(line)
            if found.get("id") == number:
                return found
        raise AssertionError("the server has ended")

    def greet(self) -> None:
        self.ask(0, "initialize", **HELLO)
        assert self.answer(0)["result"]["serverInfo"]["name"] == "hermes-tui"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


@contextmanager
def started(home: Path, *options: str) -> Iterator[Wire]:
    process = subprocess.Popen(
        command(home, *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=surroundings(home),
    )
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not sent yet
                stream.close()  # type: ignore[union-attr]


async def test_the_sdks_own_client_over_stdio(home: Path) -> None:
    argv = command(home, "--agents", "codex,claude")
    server = StdioServerParameters(command=argv[0], args=argv[1:], env=surroundings(home))
    before = tree_hash(home / ".claude"), tree_hash(home / ".codex")
    async with Client(stdio_client(server)) as client:
        assert len((await client.list_tools()).tools) == 3
        found = await client.call_tool("session_search", {"query": "test", "limit": 10})
        assert {one["agent"] for one in found.structured_content["results"]} == {"codex", "claude"}
        refused = await client.call_tool("session_search", {"query": "x", "agent": "hermes"})
        assert refused.is_error
        (first, *_) = (await client.list_resources()).resources
        page = await client.read_resource(first.uri)
        assert page.contents[0].text.startswith("> Page 1")  # type: ignore[union-attr]
    assert (tree_hash(home / ".claude"), tree_hash(home / ".codex")) == before


def test_garbage_is_survived(home: Path) -> None:
    with started(home) as wire:
        for junk in (b"", b"garbage", b"\xff\xfe\x00", b"[]", b"{}", b"null", b'{"jsonrpc":"2.0"}', b"{" * 5000):
            wire.send(junk)
        wire.greet()
        wire.ask(1, "tools/call", name="session_search", arguments={"session_id": "x" * 2_000_000})
        assert wire.answer(1)["result"]["isError"]
        wire.ask(2, "tools/call", name="session_search", arguments={"session_id": "../../../etc/passwd"})
        text = wire.answer(2)["result"]["content"][0]["text"]
        assert "SESSION_NOT_FOUND" in text and "root:" not in text
        wire.ask(3, "tools/call", name="session_overview", arguments={})
        assert wire.answer(3)["result"]["isError"]
        wire.ask(4, "no/such/method")
        assert "error" in wire.answer(4)
        wire.ask(5, "tools/call", name="session_search", arguments="text")
        assert "error" in wire.answer(5)
        half = {"window": "\ud800", "query": "\udfff", "around_message_id": "\ud800"}
        wire.ask(7, "tools/call", name="session_search", arguments=half)
        assert wire.answer(7)["result"]["isError"]
        wire.ask(8, "tools/call", name="\ud800", arguments={})
        assert wire.answer(8)["result"]["isError"]
        wire.ask(9, "resources/read", uri="session://claude/\ud800")
        assert "SESSION_NOT_FOUND" in wire.answer(9)["result"]["contents"][0]["text"]
        wire.send(b"\x00" * 10_000)
        wire.ask(6, "tools/call", name="session_search", arguments={"limit": 1})
        assert wire.answer(6)["result"]["structuredContent"]["results"]


async def test_half_characters_in_a_session_lose_no_answer(tmp_path: Path) -> None:
    """Nor do they, or colours, reach the client in names, ids and keys."""
    path = ClaudeHome(tmp_path).session("half \ud83d of a needle")
    first, last = path.read_text().splitlines()
    record = json.loads(last)
    called = {"command": "ls \ud800", "k\udc00": "v"}
    record["message"]["content"] = [{"type": "tool_use", "id": "t", "name": "Ba\ud800\x1b[31msh", "input": called}]
    path.unlink()
    path.with_name("half\udcff.jsonl").write_text(f"{first}\n{json.dumps(record)}\n")
    argv = command(tmp_path)
    server = StdioServerParameters(command=argv[0], args=argv[1:], env=surroundings(tmp_path))
    async with Client(stdio_client(server)) as client:
        (listed,) = (await client.call_tool("session_search", {})).structured_content["results"]
        asked = {"session_id": listed["session_id"]}
        answers = [
            await client.call_tool("session_search", {"query": "needle"}),
            await client.call_tool("session_search", asked),
            await client.call_tool("session_overview", asked),
        ]
        assert not any(one.is_error for one in answers)
        texts = [one.content[0].text for one in answers]  # type: ignore[union-attr]
        assert "half \ufffd of a" in texts[0] and "ls \ufffd" in texts[1] and "Ba\ufffd" in texts[2]
        assert not re.search(r"\\u00[01]|\x1b", "".join(texts))
        (resource,) = (await client.list_resources()).resources
        assert "of a needle" in (await client.read_resource(resource.uri)).contents[0].text  # type: ignore[union-attr]


def test_a_query_with_half_a_character_is_answered(home: Path) -> None:
    with started(home) as wire:
        wire.greet()
        for number, query in enumerate(("test \\ud83d", "test \\uDC00\\ud83d", "test \\\\ud83d \\ud83d\\ude00"), 1):
            call = '{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "session_search",'
            wire.send((call % number + f' "arguments": {{"query": "{query}"}}}}}}').encode())
            assert "result" in wire.answer(number)


def test_a_thousand_calls_at_once_over_stdio(home: Path) -> None:
    with started(home, "--agents", "codex") as wire:
        wire.greet()
        for number in range(1, 1001):
            wire.ask(number, "tools/call", name="session_search", arguments={"limit": 1})
        left = set(range(1, 1001))
        while left:
            found = json.loads(wire.output.readline())
            left.discard(found.get("id"))


def handles(pid: int, home: Path) -> list[str]:
    """Files below the home that a process has open, our own aside."""
    there = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            there.append(str(one.readlink()))
        except OSError:
            continue
    return [name for name in there if name.startswith(str(home)) and "/hermes-tui/" not in name]


def test_no_store_is_held_between_calls(home: Path) -> None:
    with started(home) as wire:
        wire.greet()
        for number, arguments in enumerate(
            ({"query": "the"}, {"limit": 50}, {"query": "test", "agent": "hermes"}), 1
        ):
            wire.ask(number, "tools/call", name="session_search", arguments=arguments)
            assert "result" in wire.answer(number)
        wire.ask(9, "tools/call", name="sessions_now", arguments={})
        wire.answer(9)
        assert handles(wire.process.pid, home) == []


@pytest.mark.parametrize("busy", [False, True])
def test_it_ends_when_its_client_does(home: Path, busy: bool) -> None:
    with started(home) as wire:
        wire.greet()
        for number in range(1, 200 if busy else 2):
            wire.ask(number, "tools/call", name="session_search", arguments={"query": "the OR a"})
        if not busy:
            wire.answer(1)
        wire.input.close()
        wire.output.close()  # nobody reads any more
        began = time.monotonic()
        assert wire.process.wait(PATIENCE) == 0
        assert time.monotonic() - began < PATIENCE / 2


@pytest.mark.parametrize("busy", [False, True])
def test_ctrl_c_ends_it_though_its_client_stays(home: Path, busy: bool) -> None:
    with started(home) as wire:
        wire.greet()
        for number in range(1, 200 if busy else 2):
            wire.ask(number, "tools/call", name="session_search", arguments={"query": "the OR a"})
        if not busy:
            wire.answer(1)
        wire.process.send_signal(signal.SIGINT)
        assert wire.process.wait(PATIENCE) == 130


@pytest.mark.parametrize(
    ("streams", "code", "said"),
    [(">/dev/full", 1, "cannot write the output: No space left"), (">&-", 141, ""), (">&- 2>&-", 141, "")],
)
def test_it_ends_where_nothing_can_be_written(home: Path, streams: str, code: int, said: str) -> None:
    with subprocess.Popen(
        ["bash", "-c", f'exec "$@" {streams}', "bash", *command(home)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings(home),
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        with suppress(BrokenPipeError):  # it may have ended already
            process.stdin.write(
                json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}).encode()
            )
            process.stdin.write(b"\n")
            process.stdin.flush()
        try:
            assert process.wait(PATIENCE) == code  # and our end is open
        finally:
            process.kill()
        told = process.stderr.read().decode()
        assert said in told and told.count("\n") == bool(said)


def test_without_standard_input_there_is_no_client(home: Path) -> None:
    script = ["bash", "-c", 'exec "$@" <&-', "bash", *command(home)]
    ran = subprocess.run(script, capture_output=True, env=surroundings(home), timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        (
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
            7,
            -32700,
        ),
        (b'{"jsonrpc":"2.0","id":"c","method":"tools/call","params":[]}', "c", -32602),
        (b'{"method":"tools/call","params":[1],"id":7,"jsonrpc":"2.0"}', 7, -32602),
        (b'{"jsonrpc":"1.0","id":7,"method":"tools/list"}', 7, -32600),
        (b'{"params":{"id":7},', None, -32700),
        (b"[]", None, -32600),
    ],
    ids=["deep", "params", "id behind", "version", "cut", "no object"],
)
def test_what_is_no_message_is_answered(home: Path, line: bytes, id_: object, code: int) -> None:
    with started(home) as wire:
        wire.send(line)
        wire.ask(99, "ping")  # which is answered in any case, behind that
        refused = json.loads(wire.output.readline())
        assert "error" in refused
        assert (refused["id"], refused["error"]["code"]) == (id_, code)


def test_a_line_without_end_takes_no_memory(home: Path) -> None:
    def most(pid: int) -> int:
        """Megabytes that the process had at the same time."""
        status = Path(f"/proc/{pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) // 1024

    with started(home) as wire:
        wire.greet()
        before = most(wire.process.pid)
        for beginning, id_ in ((b'{"jsonrpc":"2.0","id":7,"x":"', 7), (b"", None)):
            wire.input.write(beginning)
            for _ in range(100):
                wire.input.write(b"y" * 1_000_000)
            wire.send(b"")
            wire.ask(8, "tools/call", name="session_search", arguments={"limit": 1})
            refused = json.loads(wire.output.readline())
            assert "error" in refused
            assert (refused["id"], refused["error"]["code"]) == (id_, -32600)
            assert wire.answer(8)["result"]["structuredContent"]["results"]
        assert most(wire.process.pid) < before + 60


def test_without_the_sdk_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "hermes_tui.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    assert execute(["mcp"]) == 2
    assert install_command("mcp") in capfd.readouterr().err


def test_the_skill_names_commands_that_there_are(capfd: pytest.CaptureFixture[str]) -> None:
    import re

    from make_docs import commands

    assert execute(["skill"]) == 0
    text = capfd.readouterr().out
    assert text.startswith("---\nname: session-history\ndescription: ")
    known = dict(commands())
    for line in re.findall(r"`(hermes-tui [^`]+)`", text):
        path = max((one for one in known if line.startswith(one)), key=len)
        assert path != "hermes-tui", line
        options = {name for parameter in known[path].params for name in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= options, line
