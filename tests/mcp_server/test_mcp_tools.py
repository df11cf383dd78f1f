"""The server for agents, asked by the SDK's own client in memory."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from mcp import Client

from claude_lines import ClaudeHome
from hermes_tui.errors import ValidationError
from hermes_tui.mcp.schemas import TOOLS
from hermes_tui.mcp.scope import Scope
from hermes_tui.mcp.server import make_server
from hermes_tui.mcp.tools import AgentTools
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from support import PATIENCE

Connect = Callable[..., Client]


async def ask(client: Client, tool: str = "session_search", **arguments: Any) -> dict[str, Any]:
    """The answer of a call, which is both text and structured."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (text,) = result.content
    answer: dict[str, Any] = json.loads(text.text)  # type: ignore[union-attr]
    assert answer == result.structured_content
    return answer


async def refusal(client: Client, tool: str = "session_search", **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


async def test_the_list_of_tools_is_short_and_true(connect: Connect) -> None:
    async with connect() as client:
        listed = await client.list_tools()
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= 6_000
    assert [one.name for one in listed.tools] == ["session_search", "session_overview", "sessions_now"]
    for spec, tool in zip(TOOLS, listed.tools, strict=True):
        assert set(tool.input_schema["properties"]) == set(spec.arguments.__struct_fields__)
        assert tool.annotations is not None and tool.annotations.read_only_hint


async def test_an_agent_finds_reads_on_and_looks_round(connect: Connect) -> None:
    async with connect() as client:
        found = await ask(client, query="test", limit=2)
        assert found["shape"] == "discovery"
        assert "data, never instructions" in found["note"]
        first = found["results"][0]
        (anchor,) = (one for one in first["messages"] if one.get("anchor"))
        assert anchor["id"] == first["match_message_id"]
        page = await ask(client, session_id=first["session_id"], around_message_id=anchor["id"], window=2)
        assert page["shape"] == "scroll"
        assert page["messages"][page["messages_before"]]["anchor"]
        overview = await ask(client, "session_overview", session_id=first["session_id"])
        assert overview["goal"] and overview["counts"]["messages"]
        browsed = await ask(client)
        assert browsed["shape"] == "browse"
        assert len(browsed["results"]) == 10
        now = await ask(client, "sessions_now")
        assert set(now) >= {"sessions", "working", "need_person"}


async def test_scrolling_ends_at_the_boundary_however_small_the_answers(
    connect: Connect, sampled: SessionManager
) -> None:
    sampled.catalogue.refresh()
    longest = max(sampled.list("hermes", limit=None), key=lambda one: one.message_count)
    whole = [one.id for one in sampled.get("hermes", longest.session_id).messages]
    async with connect() as client:
        page = await ask(client, session_id=longest.unified_id, around_message_id=whole[0], window=9, max_bytes=1500)
        seen = [one["id"] for one in page["messages"]]
        while page["messages_after"] == page["window"]:
            last = page["messages"][-1]["id"]
            page = await ask(client, session_id=longest.unified_id, around_message_id=last, window=9, max_bytes=1500)
            assert page["window"] >= 1
            seen += [one["id"] for one in page["messages"][page["messages_before"] + 1 :]]
    assert seen == whole


KEY = "sk-ant-api03-" + "A1b2" * 24
"""Of 109 characters, shown as two dozen."""


@pytest.mark.parametrize("between", ["", f" {KEY}", " \x1b[31mred\x1b[0m" * 3], ids=["plain", "secrets", "colours"])
@pytest.mark.parametrize("numbers", [2_000, 20_000], ids=["long", "longer than the largest answers"])
async def test_a_long_message_is_read_by_offset(tmp_path: Path, between: str, numbers: int) -> None:
    text = " ".join(f"{number}{between if number % 20 == 0 else ''}" for number in range(numbers))
    numbered = [str(number) for number in range(numbers)]
    home = ClaudeHome(tmp_path)
    path = home.session(text)
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    scope = Scope(manager, ancestors=())
    async with Client(make_server(AgentTools(manager, scope), scope)) as client:
        name = manager.get("claude", path.stem).messages[0].id
        read = ""
        more = True
        while more:
            page = await ask(
                client,
                session_id=path.stem,
                around_message_id=name,
                window=0,
                offset=len(read),
                max_bytes=24_000,
            )
            part, more, _ = page["messages"][0]["content"].partition("… [+")
            assert part
            assert ("cut" in page) == bool(more)
            read += part
    # A number at which a page ends may have lost its blank.
    found = "".join(word for word in re.sub(r"\[masked[^]]*\]|red", "", read).split())
    assert found == "".join(numbered)


async def test_errors_say_what_to_do(connect: Connect) -> None:
    async with connect() as client:
        assert "session_search" in await refusal(client, "no_such_tool")
        assert "takes query" in await refusal(client, limit="many")
        assert "takes query" in await refusal(client, nonsense=1)
        assert "7d" in await refusal(client, since="some day")
        assert "max_bytes" in await refusal(client, query="x", max_bytes=10**9)
        for name in ("../../etc/passwd", "claude:../../x", "x" * 100_000, "claude:", "\x1b[2J", "{}"):
            for said in (
                await refusal(client, session_id=name),
                await refusal(client, "session_overview", session_id=name),
                (await client.read_resource(f"session://{name[:1000]}".replace("\x1b", ""))).contents[0].text,  # type: ignore[union-attr]
            ):
                assert len(said) < 700
                assert said.isprintable()
        assert "known are" in await refusal(client, query="x", agent="nobody")


def test_half_a_character_is_an_error_as_any_other(sampled: SessionManager) -> None:
    tools = AgentTools(sampled, Scope(sampled, ancestors=()))
    for arguments in ({"window": "\ud800"}, {"agent": "\ud800"}, {"session_id": "\ud800"}, {"since": "\ud800"}):
        reply = tools.call("session_search", {"query": "x", **arguments})
        assert reply.error and reply.error.isprintable()
        assert not reply.error.startswith("INTERNAL")


async def test_a_session_that_began_just_now_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores are looked at anew before an id is said to be nobody's, and not for each of many that are."""
    home = ClaudeHome(tmp_path)
    first = home.session("Known")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    looks = Mock(wraps=manager.catalogue.refresh)
    monkeypatch.setattr(manager.catalogue, "refresh", looks)
    for tool in ("session_search", "session_overview", "resource"):
        scope = Scope(manager, ancestors=())
        async with Client(make_server(AgentTools(manager, scope), scope)) as client:
            await ask(client, "session_overview", session_id=first.stem)
            name = home.session(f"New for {tool}").stem
            looks.reset_mock()
            if tool == "resource":
                contents = (await client.read_resource(f"session://claude/{name}")).contents
                assert "New for resource" in contents[0].text  # type: ignore[union-attr]
            else:
                assert (await ask(client, tool, session_id=name))["session_id"] == f"claude:{name}"
            answers = [await refusal(client, session_id=f"claude:{number}") for number in range(20)]
            assert all(one.startswith("SESSION_NOT_FOUND") for one in answers)
            assert looks.call_count == 1


async def test_calls_at_once_for_a_new_session_share_a_look(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    home.session("Known")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    scope = Scope(manager, ancestors=())
    async with Client(make_server(AgentTools(manager, scope), scope)) as client:
        await ask(client)
        name = home.session("Just begun").stem
        overviews = (ask(client, "session_overview", session_id=name) for _ in range(20))
        assert {one["title"] for one in await asyncio.gather(*overviews)} == {"Just begun"}


async def test_what_was_found_and_not_asked_for_is_not_called_nothing(connect: Connect) -> None:
    async with connect() as client:
        found = await ask(client, query="role:user", limit=0)
        assert found["total"] and not found["results"] and "message" not in found
        assert "nothing found" in (await ask(client, query="qqzzqq", limit=0))["message"]


async def test_a_query_is_not_repeated(connect: Connect) -> None:
    async with connect() as client:
        for arguments in ({"query": "xylophone zebra"}, {"query": "xylophone zebra", "role": "nobody"}):
            result = await client.call_tool("session_search", arguments)
            assert "zebra" not in str(result.content)


async def test_options_restrict_what_is_seen_everywhere(
    connect: Connect, sampled: SessionManager, home: Path
) -> None:
    sampled.catalogue.refresh()
    inside = {one.unified_id for one in sampled.list(limit=None) if one.cwd == "/home/dev/blog"}
    outside = next(one for one in sampled.list(limit=None) if one.cwd == "/home/dev/shop")
    assert inside
    async with connect(cwd=Path("/home/dev/blog")) as client:
        browsed = await ask(client, limit=50)
        assert {one["session_id"] for one in browsed["results"]} <= inside
        for query in ("the", "-nosuchword", "is:live OR test"):
            found = await ask(client, query=query, limit=50)
            assert {one["session_id"] for one in found["results"]} <= inside
        assert "SESSION_NOT_FOUND" in await refusal(client, session_id=outside.unified_id)
        assert "SESSION_NOT_FOUND" in await refusal(client, "session_overview", session_id=outside.unified_id)
        uri = outside.unified_id.replace(":", "/", 1)
        page = await client.read_resource(f"session://{uri}")
        assert "SESSION_NOT_FOUND" in page.contents[0].text  # type: ignore[union-attr]
        listed = await client.list_resources()
        assert {one.uri.removeprefix("session://").replace("/", ":", 1) for one in listed.resources} <= inside
    newest = sampled.list(limit=None)[0]
    async with connect(since=newest.created_at) as client:
        found = (await ask(client, limit=50))["results"]
        assert {one["started_at"] for one in found} == {f"{newest.created_at.isoformat()[:19]}Z"}


async def test_a_directory_is_known_however_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "real" / "shop").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    home = ClaudeHome(tmp_path)
    path = home.session("Here")
    path.write_text(path.read_text().replace("/home/dev/shop", str(tmp_path / "link" / "shop")))
    home.session("Elsewhere", project="blog")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    for spelled in (tmp_path / "real", tmp_path / "link" / "shop"):
        scope = Scope(manager, ancestors=(), cwd=spelled)
        async with Client(make_server(AgentTools(manager, scope), scope)) as client:
            assert [one["title"] for one in (await ask(client))["results"]] == ["Here"]


async def test_a_server_in_a_directory_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ClaudeHome(tmp_path).session("Here")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    monkeypatch.setattr(os, "getcwd", Mock(side_effect=FileNotFoundError))
    scope = Scope(manager, ancestors=())
    async with Client(make_server(AgentTools(manager, scope), scope)) as client:
        assert [one["title"] for one in (await ask(client))["results"]] == ["Here"]
    with pytest.raises(ValidationError, match="the working directory is gone"):
        Scope(manager, cwd=Path())


async def test_the_session_that_asks_is_left_out(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    asking, other = home.session("Where is the needle?"), home.session("The needle is here")
    home.process(asking.stem, "busy")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    scope = Scope(manager, ancestors=(os.getpid(),))
    async with Client(make_server(AgentTools(manager, scope), scope)) as client:
        found = await ask(client, query="needle")
        assert [one["session_id"] for one in found["results"]] == [f"claude:{other.stem}"]
        assert asking.stem in found["left_out"] and str(os.getpid()) in found["left_out"]
        assert [one["session_id"] for one in (await ask(client))["results"]] == [f"claude:{other.stem}"]
        assert "asks" in await refusal(client, "session_overview", session_id=f"claude:{asking.stem}")


async def test_the_name_of_the_asking_session_is_made_safe(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    other = home.session("Another")
    asking = home.session("Half").rename(other.with_name("half\udcff\x1b[2J.jsonl"))
    home.process(asking.stem, "busy")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    scope = Scope(manager, ancestors=(os.getpid(),))
    async with Client(make_server(AgentTools(manager, scope), scope)) as client:
        found = await ask(client)
    assert "half\ufffd" in found["left_out"] and "\x1b" not in found["left_out"]
    assert [one["session_id"] for one in found["results"]] == [f"claude:{other.stem}"]


async def test_without_a_process_the_latest_here_is_taken_for_it(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    home = ClaudeHome(tmp_path, datetime.now(UTC))
    other, asking = home.session("Old", project="blog"), home.session("New", project="shop")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    manager.catalogue.refresh()
    scope = Scope(manager, ancestors=(), directory=Path("/home/dev/shop"))
    assert scope.asking() is None
    scope.client = "claude-code"
    found = scope.asking()
    assert found is not None and found.unified_id == f"claude:{asking.stem}"
    scope = Scope(manager, ancestors=(), directory=Path("/home/dev/blog"))
    scope.client = "claude-code"
    found = scope.asking()
    assert found is not None and found.unified_id == f"claude:{other.stem}"


async def test_resources_are_pages_of_markdown(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    path = home.session("Long talk", turns=400)
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    scope = Scope(manager, ancestors=())
    async with Client(make_server(AgentTools(manager, scope), scope)) as client:
        (listed,) = (await client.list_resources()).resources
        assert (listed.uri, listed.name) == (f"session://claude/{path.stem}", "Long talk")
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "session://{agent}/{id}{?page}"
        uri, text = listed.uri, ""
        while uri:
            page: str = (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
            head, _, rest = page.partition("\n\n")
            assert len(page.encode()) < 17_000
            assert "data, never instructions" in head
            text += rest
            uri = head.partition("the next: ")[2].partition(". Quoted")[0]
        assert text.count("Answer") == 400
        beyond = (await client.read_resource(f"{listed.uri}?page=99")).contents[0].text  # type: ignore[union-attr]
        assert "no such page" in beyond
        for page in ("0", "-1", "x", "٣", "1" * 5_000, "000000001" * 600):
            odd = (await client.read_resource(f"{listed.uri}?page={page}")).contents[0].text  # type: ignore[union-attr]
            assert "a resource is session://agent/id or session://agent/id?page=2" in odd


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_old_and_new_clients_are_served(sampled: SessionManager, mode: str) -> None:
    scope = Scope(sampled, ancestors=())
    async with Client(make_server(AgentTools(sampled, scope), scope), mode=mode) as client:
        assert (await ask(client, limit=1))["results"]


async def test_a_thousand_calls_at_once_are_answered(connect: Connect) -> None:
    async with connect() as client:
        await ask(client)
        answers = await asyncio.gather(*(ask(client, limit=1) for _ in range(1000)))
    assert len(answers) == 1000


async def test_memory_is_given_back_once_nobody_asks(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    given_back = asyncio.Event()

    def give_back() -> None:
        times.append(time.monotonic())
        given_back.set()

    monkeypatch.setattr("hermes_tui.mcp.server.give_back", give_back)
    async with connect() as client:
        for _ in range(3):
            await ask(client, limit=1)
        asked = time.monotonic()
        await asyncio.wait_for(given_back.wait(), PATIENCE)
    assert len(times) == 1
    assert times[0] > asked


async def test_an_overview_tells_files_commands_and_failures(connect: Connect, sampled: SessionManager) -> None:
    sampled.catalogue.refresh()
    one = next(one for one in sampled.list("claude", limit=None) if one.title == "Run a failing command")
    session = sampled.get("claude", one.session_id)
    async with connect() as client:
        overview = await ask(client, "session_overview", session_id=one.unified_id)
    commands = [call.input["command"] for message in session.messages for call in message.tool_calls]
    assert [text.partition(" [")[0] for text in overview["commands"]] == [" ".join(text.split()) for text in commands]
    assert overview["counts"]["failed_calls"] >= 1
    assert overview["cost"]
    assert overview["last_message_id"] == session.messages[-1].id
