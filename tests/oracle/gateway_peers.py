"""What the real gateway of the tests talks to: a mock model, and the other side of its chats, on loopback."""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

__all__ = ["Bridge", "Model", "Sent", "words_in"]

_HELD = 600.0
"""Seconds after which an answer is no longer kept back: longer than any test."""


class Sent(NamedTuple):
    """A text that the gateway sent; `chat` is the identifier that the bridge has for the chat."""

    chat: str
    text: str
    at: float
    """By `time.monotonic`."""


def words_in(text: str) -> list[str]:
    """The words `W<number>`, in their order."""
    return re.findall(r"\bW\d+\b", text)


class _Server(ThreadingHTTPServer):
    """An HTTP server in threads of its own, with a port of its own."""

    daemon_threads = True

    def __init__(self, handler: type[_Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def end(self) -> None:
        """No more requests; the port is free."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A gateway that was killed leaves requests half done."""


class Model(_Server):
    """Answers every prompt with the words in its user messages: what it was shown."""

    name = "mock-model"

    def __init__(self) -> None:
        self._held: dict[str, threading.Event] = {}
        super().__init__(_ModelHandler)

    def new_hold(self) -> str:
        """A word that a user says so that the answer is kept back."""
        return f"HOLD{len(self._held) + 1}"

    def is_holding(self, name: str) -> bool:
        """A prompt with that word has come."""
        return name in self._held

    def hold(self, name: str) -> None:
        """Keep the answer back, until `let_go`."""
        self._held.setdefault(name, threading.Event()).wait(_HELD)

    def let_go(self) -> None:
        """Answer what was kept back, and what of it is asked again."""
        for event in list(self._held.values()):
            event.set()

    def answer_to(self, messages: list[dict[str, Any]], tools: bool) -> str:
        """`REPLY; I have seen W1 W2`; to a wish for a title, one."""
        users = [_text_of(one.get("content")) for one in messages if one["role"] == "user"]
        system = " ".join(_text_of(one.get("content")) for one in messages if one["role"] == "system")
        if "title" in system.lower()[:400] and len(messages) < 4 and not tools:
            return f"A title {time.time_ns() % 100000}"
        if held := re.search(r"HOLD\d+", users[-1] if users else ""):
            self.hold(held[0])
        return f"REPLY; I have seen {' '.join(words_in(' '.join(users))) or 'nothing'}"


class Bridge(_Server):
    """The server that Hermes' iMessage adapter expects (BlueBubbles)."""

    def __init__(self) -> None:
        self.outbox: list[Sent] = []
        """What the gateway sent, in its order."""
        self.hooks: list[dict[str, Any]] = []
        super().__init__(_BridgeHandler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing: the gateway has a log."""

    def asked(self) -> dict[str, Any]:
        """The body of the request."""
        return dict(json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"))

    def answer(self, value: object) -> None:
        """One JSON value."""
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _ModelHandler(_Handler):
    """Chat completions as OpenAI's interface has them, streamed or whole."""

    server: Model

    def do_GET(self) -> None:
        self.answer({"object": "list", "data": [{"id": Model.name, "object": "model", "context_length": 131072}]})

    def do_POST(self) -> None:
        asked = self.asked()
        messages = asked.get("messages", [])
        text = self.server.answer_to(messages, bool(asked.get("tools")))
        size = 100 + 10 * len(messages)
        usage = {"prompt_tokens": size, "completion_tokens": 12, "total_tokens": size + 12}
        base = {"id": "c1", "created": int(time.time()), "model": Model.name}
        if asked.get("stream"):
            self._stream(base, text, usage)
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        self.answer({**base, "object": "chat.completion", "choices": [choice], "usage": usage})

    def _stream(self, base: dict[str, Any], text: str, usage: dict[str, int]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        pieces = [{"role": "assistant", "content": ""}, {"content": text}]
        chunks: list[dict[str, Any]] = [
            *({"choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        for chunk in chunks:
            line = json.dumps({**base, "object": "chat.completion.chunk", **chunk})
            self.wfile.write(f"data: {line}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


class _BridgeHandler(_Handler):
    server: Bridge

    def do_GET(self) -> None:
        if "/server/info" in self.path:
            self.answer({"status": 200, "data": {"private_api": True, "helper_connected": False}})
        elif "/webhook" in self.path:
            self.answer({"status": 200, "data": self.server.hooks})
        else:
            self.answer({"status": 200, "data": "pong" if "/ping" in self.path else {}})

    def do_DELETE(self) -> None:
        self.server.hooks.clear()
        self.answer({"status": 200})

    def do_POST(self) -> None:
        asked = self.asked()
        if "/webhook" in self.path:
            self.server.hooks.append({"id": len(self.server.hooks) + 1, **asked})
            self.answer({"status": 200, "data": self.server.hooks[-1]})
        elif "/message/text" in self.path:
            self.server.outbox.append(
                Sent(str(asked.get("chatGuid")), str(asked.get("message") or ""), time.monotonic())
            )
            self.answer({"status": 200, "data": {"guid": f"m{time.time_ns()}"}})
        else:
            self.answer({"status": 200, "data": [] if "/chat/query" in self.path else {}})


def _text_of(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")
