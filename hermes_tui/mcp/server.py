"""Serves the tools on standard input and output, by the protocol's own SDK.

This is the only module that imports it: it takes a second of the processor's time.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar, cast

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from hermes_tui import __version__
from hermes_tui.mcp.budget import encoded
from hermes_tui.mcp.schemas import INSTRUCTIONS, TOOLS
from hermes_tui.mcp.scope import Scope
from hermes_tui.mcp.tools import AgentTools
from hermes_tui.mcp.wire import Wire
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.memory_tuning import give_back

__all__ = ["make_server", "serve"]

P = ParamSpec("P")
T = TypeVar("T")

_AT_ONCE = 2
"""Calls that are worked on at the same time; the others wait."""
_REST = 1.0
"""Seconds without a call, after which what the last ones needed is given back to the system."""


def make_server(tools: AgentTools, scope: Scope) -> Server[Any]:
    """A server of these tools, not connected yet."""
    turns = asyncio.Semaphore(_AT_ONCE)
    rest: asyncio.TimerHandle | None = None

    async def answered(work: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        nonlocal rest
        async with turns:
            found = await in_thread(work, *arguments, **more)
        if rest is not None:
            rest.cancel()
        rest = asyncio.get_running_loop().call_later(_REST, give_back)
        return found

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=one.name,
                    title=one.title,
                    description=one.description,
                    input_schema=one.input_schema,
                    output_schema=one.output_schema,
                    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for one in TOOLS
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        with suppress(AttributeError):  # a client need not say how it is called
            scope.client = str(context.session.client_params.client_info.name) or scope.client
        reply = await answered(tools.call, params.name, params.arguments or {})
        if reply.error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=reply.error)], is_error=True)
        text = types.TextContent(type="text", text=encoded(reply.answer).decode())
        return types.CallToolResult(content=[text], structured_content=reply.answer)

    async def list_resources(context: Any, params: Any) -> types.ListResourcesResult:
        found = await answered(tools.recent)
        return types.ListResourcesResult(
            resources=[types.Resource(uri=uri, name=title, mime_type="text/markdown") for uri, title in found]
        )

    async def list_templates(context: Any, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template="session://{agent}/{id}{?page}", name="session", mime_type="text/markdown"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        reply = await answered(tools.read, str(params.uri))
        text = reply.error or reply.answer["text"]
        contents = types.TextResourceContents(uri=str(params.uri)[:1000], mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "hermes-tui",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def serve(tools: AgentTools, scope: Scope) -> None:
    """Serve until the client closes our standard input. Ctrl-C ends the process. Raises `OSError` where an answer
    cannot be written."""
    wire = Wire(lambda text: types.jsonrpc_message_adapter.validate_json(text, by_name=False))

    async def run() -> None:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            # At once: the SDK takes a second to end its calls where the client reads no answers, or fails in it.
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, os._exit, 128 + signal.SIGINT)
        server = make_server(tools, scope)
        # What the SDK asks of a file is to be iterated over, or to have `write` and `flush`.
        async with stdio_server(cast("Any", wire.messages()), cast("Any", wire)) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        asyncio.run(run())
    except Exception:
        if wire.failure is None:
            raise
    if wire.failure is not None and not isinstance(wire.failure, BrokenPipeError):
        raise wire.failure
    # Else the client is gone, and with it who would read the answer.
