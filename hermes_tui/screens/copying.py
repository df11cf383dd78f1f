"""`y`: what of a session and of the message under the cursor can be copied."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

from hermes_tui.display import compact, count_lines
from hermes_tui.own_command import own_command
from hermes_tui.screens.menu import Choice
from hermes_tui.sessions.calls import output_text
from hermes_tui.sessions.export.plain import plain
from session_adapters.model import Message, SessionSummary

if TYPE_CHECKING:
    from hermes_tui.sessions.native import Verb

__all__ = ["Copyable", "NativeCommand", "copyables", "native_commands"]

_MOST_BLOCKS = 9
_COMMANDS = ("command", "cmd", "script")


class Copyable(NamedTuple):
    """Something to copy."""

    choice: Choice
    text: str
    """Without control characters: it may be pasted into a shell."""


def copyables(session: SessionSummary, message: Message | None, home: Path | None = None) -> list[Copyable]:
    """The message and what stands in it first, then what names the session. `home`: as in `own_command`."""
    found: list[Copyable] = []
    if message is not None:
        text = message.content
        if not text and message.tool_result is not None:
            text = output_text(message.tool_result.output)
        if text:
            found.append(_copyable("m", "message", text))
        if message.thinking:
            found.append(_copyable("t", "thinking", message.thinking))
        pieces = [*_code(message), *_calls(message)]
        found += [_copyable(str(at), label, text) for at, (label, text) in enumerate(pieces[:_MOST_BLOCKS], 1)]
    found.append(_copyable("i", "session id", session.unified_id))
    found.append(_copyable("n", "native id", session.session_id))
    if session.cwd:
        found.append(_copyable("d", "directory", session.cwd))
    found.append(_copyable("s", "command", own_command(("sessions", "show", session.unified_id), home)))
    return found


class NativeCommand(NamedTuple):
    """A command of the agent's own, which is worked out only when it is chosen."""

    choice: Choice
    verb: Verb


def native_commands(agent: str) -> dict[str, NativeCommand]:
    """Key → the agent's own commands for a session; `agent` as it is shown."""
    return {
        "r": NativeCommand(Choice("r", "resume command", f"with which {agent} goes on with it"), "resume"),
        "f": NativeCommand(Choice("f", "fork command", f"with which {agent} begins anew from it"), "fork"),
    }


def _copyable(key: str, label: str, text: str) -> Copyable:
    text = plain(text)
    lines = count_lines(text)
    detail = compact(text, 60) if lines < 2 else f"{compact(text, 46)} … {lines:,} lines"
    return Copyable(Choice(key, label, detail), text)


def _code(message: Message) -> Iterator[tuple[str, str]]:
    for token in MarkdownIt("commonmark").parse(message.content):
        if token.type in ("fence", "code_block") and token.content.strip():
            yield f"code {compact(token.info, 12)}".rstrip(), token.content.removesuffix("\n")


def _calls(message: Message) -> Iterator[tuple[str, str]]:
    """Commands that the message had run, and what they gave."""
    for call in message.tool_calls:
        given = call.input if isinstance(call.input, dict) else {}
        for key in _COMMANDS:
            value = given.get(key)
            if isinstance(value, list) and all(isinstance(part, str) for part in value):
                value = shlex.join(value)
            if isinstance(value, str) and value.strip():
                yield "ran", value
                break
        output = output_text(call.output)
        if output.strip():
            yield "output", output
