"""Standard input and output of the server: a line of JSON for each message.

Both are read and written in daemon threads, which hold up no end of the program, and what is no message is answered
here: the SDK passes over it, and the client would wait for ever.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from hermes_tui.platform.daemon_call import in_thread

__all__ = ["Wire"]

_MOST = 4 << 20
"""Bytes of a line; of a longer one only its beginning is looked at."""
_BEGINNING = 1000
"""Characters of a line that cannot be decoded in which its id is looked for."""

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""What a backslash begins in JSON: both halves of a character, one alone, or anything else."""
_ID = re.compile(
    r"""\s*\{(?:\s*"(?!id")[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[-+.\w]+)\s*,)*"""
    r"""\s*"id"\s*:\s*("[^"\\\x00-\x1f]*"|0|-?[1-9]\d*)\s*[,}]"""
)
"""The id of a request before anything that holds other values."""


class Wire:
    """The client's end. Both streams are ours alone from now on: for all others they are empty."""

    def __init__(self, check: Callable[[str], object]) -> None:
        """`check` raises `ValueError` for what is no message."""
        self._check = check
        # Never closed: a thread may be reading it.
        self._input = os.fdopen(_taken(0), "rb", closefd=False)
        self._output = _taken(1)
        self._writing = threading.Lock()
        self.failure: OSError | None = None
        """Why nothing can be written any more."""

    async def messages(self) -> AsyncIterator[str]:
        """Each line of the client that is one, until it closes its end."""
        while line := await in_thread(self._line):
            if len(line) > _MOST:
                beginning = line[:_BEGINNING].decode(errors="replace")
                await self.write(_refusal(-32600, f"a message has at most {_MOST:,} bytes", _id_in(beginning)))
                continue
            if not line.strip():
                continue
            text = _with_whole_characters(line.decode(errors="replace"))
            try:
                self._check(text)
            except ValueError:
                await self.write(_refusal_of(text))
            else:
                yield text

    def _line(self) -> bytes:
        """The next one with its end, empty after the last; of one that is too long a little more than is allowed."""
        line = piece = self._input.readline(_MOST + 1)
        if len(line) > _MOST:
            while piece and not piece.endswith(b"\n"):
                piece = self._input.readline(_MOST)
        return line

    async def write(self, text: str) -> None:
        """Send whole lines. Raises `OSError`, which is `failure` from then on."""
        await in_thread(self._send, text.encode())

    async def flush(self) -> None:
        """Nothing is held back."""

    def _send(self, data: bytes) -> None:
        try:
            with self._writing:
                while data:
                    data = data[os.write(self._output, data) :]
        except OSError as error:
            self.failure = error
            raise


def _taken(stream: int) -> int:
    """A standard stream under a number of its own; its own number leads nowhere."""
    taken = fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, 3)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, stream)
    os.close(nowhere)
    return taken


def _with_whole_characters(text: str) -> str:
    """U+FFFD in place of half a character, as in texts of sessions: the SDK takes no line with one."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def _refusal_of(text: str) -> str:
    """The answer to what is no message."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _refusal(-32700, "this is no JSON, or nested too deep", _id_in(text[:_BEGINNING]))
    known: dict[str, Any] = found if isinstance(found, dict) else {}
    given = known.get("id")
    named = msgspec.json.encode(given).decode() if type(given) in (int, str) else "null"
    if not isinstance(known.get("params", {}), dict | None):
        return _refusal(-32602, "params have to be an object", named)
    return _refusal(-32600, "this is no message of JSON-RPC 2.0", named)


def _id_in(beginning: str) -> str:
    """The id of a request as it stands there; `null` where it cannot be told."""
    found = _ID.match(beginning)
    return found[1] if found else "null"


def _refusal(code: int, message: str, id_: str) -> str:
    said = msgspec.json.encode({"code": code, "message": message}).decode()
    return f'{{"jsonrpc":"2.0","id":{id_},"error":{said}}}\n'
