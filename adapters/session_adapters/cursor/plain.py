"""Reads agent transcripts in plain text, which came before JSON lines.

Format: FACTS.md «Four separate stores» 2.

```
user:
<user_query>
what was asked
</user_query>

assistant:
[Thinking]
  indented
The answer.
[Tool call] Shell
  command=ls -a

[Tool result] Shell
  indented
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from session_adapters.base import Source
from session_adapters.cursor.facts import CONTENT_LIMIT, linked
from session_adapters.cursor.pieces import asked
from session_adapters.cursor.places import AGENT
from session_adapters.model import Message, ToolCall, ToolResult
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.files import read_small

__all__ = ["PlainTranscript", "plain_messages"]

_SPEAKER = re.compile(r"(user|assistant):\s*")
_MARK = re.compile(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)=(.*)")


class _Piece(NamedTuple):
    kind: str
    """text, or the mark before it."""
    name: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")


def plain_messages(text: str) -> list[Message]:
    """The messages, named by their number."""
    found: list[Message] = []
    for speaker, lines in _speeches(text):
        if speaker == "user":
            said = asked("\n".join(lines).strip("\n"))
            found.append(Message(role="user", content=said.text or said.added, timestamp=said.when))
        else:
            found += _answers(lines, len(found))
    return linked(replace(one, id=f"@{place}") for place, one in enumerate(found))


def _speeches(text: str) -> Iterator[tuple[str, list[str]]]:
    speaker: str | None = None
    held: list[str] = []
    blank = True
    for line in text.split("\n"):
        turn = _SPEAKER.fullmatch(line) if blank else None
        if turn:
            if speaker:
                yield speaker, held
            speaker, held = turn[1], []
        else:
            held.append(line)
        blank = not line.strip()
    if speaker:
        yield speaker, held


def _answers(lines: list[str], start: int) -> Iterator[Message]:
    """A message for each stretch of thought, words and calls, and one for each result. Results name the tool they
    come from and nothing more: each belongs to the oldest call of it that has none."""
    thinking, words, calls = "", "", list[ToolCall]()
    open_calls: list[ToolCall] = []
    number = 0
    for piece in _pieces(lines):
        if piece.kind == "Tool call":
            call = ToolCall(tool_call_id=f"call-{start}-{number}", tool_name=piece.name, input=_arguments(piece))
            number += 1
            calls.append(call)
            open_calls.append(call)
            continue
        if calls:
            yield Message(role="assistant", content=words, thinking=thinking or None, tool_calls=tuple(calls))
            thinking, words, calls = "", "", []
        if piece.kind == "Tool result":
            asked_for = next((call for call in open_calls if call.tool_name == piece.name), None)
            if asked_for:
                open_calls.remove(asked_for)
            number += 1
            id_ = asked_for.tool_call_id if asked_for else f"result-{start}-{number}"
            result = ToolResult(tool_call_id=id_, tool_name=piece.name, output=piece.text)
            yield Message(role="tool", tool_result=result)
        elif piece.kind == "Thinking":
            thinking = "\n\n".join(filter(None, (thinking, piece.text)))
        elif piece.text:
            words = "\n".join(filter(None, (words, piece.text)))
    if words or thinking or calls:
        yield Message(role="assistant", content=words, thinking=thinking or None, tool_calls=tuple(calls))


def _pieces(lines: list[str]) -> Iterator[_Piece]:
    piece = _Piece("text", "", [])
    for line in lines:
        mark = _MARK.fullmatch(line)
        if mark:
            yield piece
            piece = _Piece(mark[1], mark[2].strip(), [])
        elif piece.kind != "text" and line and not line.startswith("  "):
            yield piece
            piece = _Piece("text", "", [line])
        else:
            piece.lines.append(line.removeprefix("  ") if piece.kind != "text" else line)
    yield piece


def _arguments(piece: _Piece) -> dict[str, str] | str:
    """`name=value` lines; a line that is none goes on with the value before."""
    found: dict[str, str] = {}
    name = ""
    for line in piece.text.split("\n"):
        argument = _ARGUMENT.fullmatch(line)
        if argument:
            name = argument[1]
            found[name] = argument[2]
        elif name:
            found[name] += f"\n{line}"
        elif line:
            return piece.text
    return found


class PlainTranscript(WholeTranscript):
    """Such a file; `refresh` reads it again when it changed."""

    def __init__(self, source: Source) -> None:
        super().__init__(AGENT, source.session_id, source.path)

    @staticmethod
    def parse(path: str) -> tuple[list[Message], list[tuple[str, str]]]:
        """The messages in such a file, and what is wrong with it. Raises `OSError`."""
        text = read_small(path, CONTENT_LIMIT).decode("utf-8", "replace")
        messages = plain_messages(text)
        lost = bool(text.strip("\x00 \t\r\n")) and not messages
        return messages, [("", "nobody says anything in it")] if lost else []

    def read(self) -> tuple[list[Message], list[tuple[str, str]]]:
        """See `WholeTranscript.read`."""
        return self.parse(self.path)
