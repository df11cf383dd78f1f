#!/usr/bin/env python3
"""A whole, real Hermes gateway (hermes-agent 0.19.0) on loopback: no network, no account, no model.

    python3 -m venv G && G/bin/pip install hermes-agent==0.19.0 aiohttp
    python3 real_gateway.py --hermes G/bin/hermes --home DIR        # runs until Ctrl-C; type lines on standard input

What is real: `hermes gateway run`, its SessionStore, lanes, locks, agents, slash commands, watchers. What is not: the
model (a mock that streams, and answers with every word W<number> that it was shown, so that what a lane's context holds
can be proven) and the other side of the chat platform (a bridge that Hermes' iMessage adapter talks to).

As a library (standard library only):

    with RealGateway(home, hermes="G/bin/hermes") as gateway:
        print(gateway.say("+15550001", "W1 hello"))        # the replies of the lane
        gateway.say("chat9", "W2", user="+15550002", group=True)
        print(gateway.shown())                             # the user texts of the model's last call
        gateway.stop("KILL"); gateway.start()

Lines on standard input: `CHAT TEXT` says TEXT in that direct chat; `CHAT/USER TEXT` says it in a group.
`SLOW8` in a text makes the model wait eight seconds, so that something can happen during a turn.
Lane keys: agent:main:bluebubbles:dm:<chat guid> and agent:main:bluebubbles:group:<chat guid>:<user>.
A first answer comes about a second after the message. Free ports are taken, so several can run side by side.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODEL, BRIDGE = "mock-model", "bluebubbles"


def text_of(content) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    @property
    def gateway(self) -> "RealGateway":
        return self.server.gateway  # type: ignore[attr-defined]

    def read(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")

    def answer(self, value, code=200):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Model(_Handler):
    """OpenAI chat completions."""

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": MODEL, "object": "model", "context_length": 131072}]})

    def do_POST(self):
        asked = self.read()
        messages = asked.get("messages", [])
        users = [text_of(m["content"]) for m in messages if m["role"] == "user"]
        system = " ".join(text_of(m["content"]) for m in messages if m["role"] == "system")
        titled = "title" in system.lower()[:400] and len(messages) < 4 and not asked.get("tools")
        last = users[-1] if users else ""
        if titled:
            text = f"A title {time.time_ns() % 100000}"
        else:
            self.gateway.calls.append(users)
            if slow := re.search(r"SLOW(\d+)", last):
                time.sleep(min(int(slow[1]), 120))
            seen = [word for user in users for word in re.findall(r"W\d+", user)]
            text = f"REPLY; I have seen {' '.join(seen) or 'nothing'}"
        size = 100 + 10 * len(messages)
        usage = {"prompt_tokens": size, "completion_tokens": 12, "total_tokens": size + 12}
        base = {"id": "c1", "created": int(time.time()), "model": MODEL}
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return self.answer({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        pieces = [
            {"role": "assistant", "content": ""},
            *({"content": text[i : i + 20]} for i in range(0, len(text), 20)),
        ]
        chunks = [{"choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces]
        chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for chunk in chunks:
                line = json.dumps({**base, "object": "chat.completion.chunk", **chunk})
                self.wfile.write(f"data: {line}\n\n".encode())
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


class _Bridge(_Handler):
    """The server that Hermes' iMessage adapter expects."""

    hooks: list = []

    def do_GET(self):
        if "/ping" in self.path:
            return self.answer({"status": 200, "data": "pong"})
        if "/server/info" in self.path:
            return self.answer({"status": 200, "data": {"private_api": True, "helper_connected": False}})
        if "/webhook" in self.path:
            return self.answer({"status": 200, "data": self.hooks})
        return self.answer({"status": 200, "data": {}})

    def do_DELETE(self):
        self.hooks.clear()
        self.answer({"status": 200})

    def do_POST(self):
        sent = self.read()
        if "/webhook" in self.path:
            self.hooks.append({"id": len(self.hooks) + 1, **sent})
            return self.answer({"status": 200, "data": self.hooks[-1]})
        if "/message/text" in self.path:
            self.gateway.outbox.append((time.time(), sent.get("chatGuid"), sent.get("message") or ""))
            return self.answer({"status": 200, "data": {"guid": f"m{time.time_ns()}"}})
        return self.answer({"status": 200, "data": [] if "/chat/query" in self.path else {}})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RealGateway:
    """`home` is the HOME; the store is `home/.hermes`, kept between starts."""

    def __init__(self, home: Path | str, hermes: str = "hermes", settings: str = ""):
        """`settings`: more YAML for config.yaml, for example "session_reset: {mode: idle, idle_minutes: 2}"."""
        self.home, self.hermes, self.settings = Path(home).resolve(), hermes, settings
        self.calls: list[list[str]] = []
        self.outbox: list[tuple[float, str, str]] = []
        self.process: subprocess.Popen | None = None
        self._servers: list[ThreadingHTTPServer] = []
        self.webhook = free_port()

    def __enter__(self):
        for handler in (_Model, _Bridge):
            server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
            server.daemon_threads, server.gateway = True, self
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self._servers.append(server)
        self._configure()
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()
        for server in self._servers:
            server.shutdown()

    def _configure(self):
        model, bridge = (f"http://127.0.0.1:{server.server_address[1]}" for server in self._servers)
        store = self.home / ".hermes"
        store.mkdir(parents=True, exist_ok=True)
        (store / "config.yaml").write_text(f"""\
model: {{default: {MODEL}, provider: custom, base_url: "{model}/v1", api_key: sk-mock-000, context_length: 131072}}
platforms:
  {BRIDGE}:
    enabled: true
    extra: {{server_url: "{bridge}", password: pw, webhook_host: 127.0.0.1, webhook_port: {self.webhook}, send_read_receipts: false}}
platform_toolsets: {{{BRIDGE}: []}}
memory: {{memory_enabled: false, user_profile_enabled: false}}
onboarding: {{seen: {{profile_build_offered: true, busy_input_prompt: true}}}}
{self.settings}
""")
        (store / ".env").write_text(
            f"BLUEBUBBLES_SERVER_URL={bridge}\nBLUEBUBBLES_PASSWORD=pw\nBLUEBUBBLES_WEBHOOK_PORT={self.webhook}\n"
            "BLUEBUBBLES_SEND_READ_RECEIPTS=false\nBLUEBUBBLES_ALLOW_ALL_USERS=true\n"
        )

    def start(self, patience: float = 60.0):
        """Start it and wait until it takes messages."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HERMES", "PYTHON"))}
        environment |= {"HOME": str(self.home), "HERMES_HOME": str(self.home / ".hermes")}
        log = open(self.home / "gateway.out", "ab")
        self.process = subprocess.Popen(
            [self.hermes, "gateway", "run"],
            env=environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"the gateway ended with {self.process.returncode}: see {self.home / 'gateway.out'}"
                )
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.webhook), 0.5):
                return
            time.sleep(0.2)
        raise TimeoutError("the gateway takes no messages")

    def stop(self, how: str = "TERM", patience: float = 60.0):
        """Send SIGTERM (a clean end), or SIGKILL with "KILL"."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(getattr(signal, f"SIG{how}"))
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def say(self, chat: str, text: str, *, user: str = "", group: bool = False, patience: float = 30.0) -> list[str]:
        """Send a message and return what came back, one second after the last of it. patience=0: do not wait."""
        guid = f"iMessage;{'+' if group else '-'};{chat}"
        data = {
            "guid": f"in{time.time_ns()}",
            "text": text,
            "handle": {"address": user or chat},
            "chats": [{"guid": guid}],
            "chatIdentifier": chat,
            "isGroup": group,
            "isFromMe": False,
        }
        before = len(self.outbox)
        body = json.dumps({"type": "new-message", "data": data}).encode()
        url = f"http://127.0.0.1:{self.webhook}/bluebubbles-webhook?password=pw"
        urllib.request.urlopen(
            urllib.request.Request(url, body, {"content-type": "application/json"}), timeout=20
        ).read()
        end = time.monotonic() + patience
        replies: list[tuple[float, str, str]] = []
        while time.monotonic() < end:
            replies = [one for one in self.outbox[before:] if one[1] == guid]
            if any("REPLY" in one[2] for one in replies) and time.time() - replies[-1][0] > 1.0:
                break
            time.sleep(0.1)
        return [one[2] for one in replies]

    def shown(self) -> list[str]:
        """The user texts of the model's last call."""
        return self.calls[-1] if self.calls else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hermes", default="hermes")
    parser.add_argument("--home", required=True)
    parser.add_argument("--settings", default="", help="more YAML for config.yaml")
    given = parser.parse_args()
    with RealGateway(given.home, given.hermes, given.settings) as gateway:
        print(f"gateway runs, pid {gateway.process.pid}; its store is {gateway.home / '.hermes'}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            for line in sys.stdin:
                chat, _, text = line.strip().partition(" ")
                if not text:
                    continue
                chat, _, user = chat.partition("/")
                for reply in gateway.say(chat, text, user=user, group=bool(user)):
                    print("  ", reply.replace("\n", "\n   "), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
