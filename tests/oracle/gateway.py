"""A whole, real Hermes gateway (hermes-agent 0.19.0) on loopback: no network, no account, no model.

    with RealGateway(home, "session_reset: {mode: idle, idle_minutes: 0.05}") as gateway:
        assert gateway.say("+15550001", "W1 hello").words == ["W1"]    # what the model was shown in that lane
        gateway.say("room", "W2", user="+15550002")                    # a group: `user` says who writes
        gateway.begin_turn("+15550001", "W3")                          # a turn that runs …
        gateway.end_turns()                                            # … until the model may answer
        gateway.stop(); gateway.start()                                # also kill, halt and proceed

Real are `hermes gateway run`, its session store, lanes, locks, agents, commands and watchers. The model is a mock
that answers with every word `W<number>` that it was shown, which proves what a lane's context holds; the other side
of the chat is a bridge that Hermes' iMessage adapter talks to. Both are threads of the caller. The gateway starts in
one to five seconds, ends with the process that started it, and has a port of its own: several run side by side.

Every wait ends with its condition, or raises `GatewayError` with the end of the gateway's log.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self

from oracle.hermes import oracle_python

__all__ = ["GatewayError", "RealGateway", "Reply", "direct_lane", "group_lane"]

PATIENCE = 60.0
"""Seconds for anything to come, on a machine that is busy with other tests."""
_ZONE = {name: os.environ[name] for name in ("TZ",) if name in os.environ}
"""The caller's, as it was before the tests got surroundings of their own: lanes have local times."""
_MODEL = "mock-model"
_UP = b"Press Ctrl+C to stop"
"""The last line of a start in the log. Its state is `running` and its port open a second before: until then it keeps
messages back, and after a clean end it has not read its index yet."""
_LAUNCH = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with the thread that started it
os.execv(sys.argv[1], sys.argv[1:])
"""
_CONFIG = """\
model: {{default: {name}, provider: custom, base_url: "{model}/v1", api_key: none, context_length: 131072}}
platforms:
  bluebubbles:
    enabled: true
    extra: {{server_url: "{bridge}", password: pw, webhook_host: 127.0.0.1, webhook_port: {port},
            send_read_receipts: false}}
platform_toolsets: {{bluebubbles: []}}
memory: {{memory_enabled: false, user_profile_enabled: false}}
onboarding: {{seen: {{profile_build_offered: true, busy_input_prompt: true}}}}
security: {{tirith_enabled: false}}
gateway: {{restart_loop_guard: {{max_restarts: 0}}}}
{settings}
"""
_VARIABLES = """\
BLUEBUBBLES_SERVER_URL={bridge}
BLUEBUBBLES_PASSWORD=pw
BLUEBUBBLES_WEBHOOK_PORT={port}
BLUEBUBBLES_SEND_READ_RECEIPTS=false
BLUEBUBBLES_ALLOW_ALL_USERS=true
BLUEBUBBLES_HOME_CHANNEL=home
"""


class GatewayError(AssertionError):
    """The gateway did not do what the test waits for; the text ends with its log."""


class Reply(NamedTuple):
    """What came back in one chat, up to the text that was waited for."""

    texts: list[str]

    @property
    def words(self) -> list[str]:
        """The words `W<number>` in all user messages that the model was shown, in their order."""
        return _words(self.texts[-1])


class _Sent(NamedTuple):
    chat: str
    text: str


def direct_lane(chat: str) -> str:
    """The session key of a direct chat."""
    return f"agent:main:bluebubbles:dm:{_guid(chat, '')}"


def group_lane(chat: str, user: str) -> str:
    """The session key of one person in a group."""
    return f"agent:main:bluebubbles:group:{_guid(chat, user)}:{user}"


def _guid(chat: str, user: str) -> str:
    return f"iMessage;{'+' if user else '-'};{chat}"


class RealGateway:
    """A gateway on a home of the test's own, and the model and the bridge that it talks to.

    The store is `home/.hermes`; it stays between starts."""

    def __init__(self, home: Path, settings: str = "") -> None:
        """`home` becomes HOME, and is made if missing. `settings`: more YAML for `config.yaml`."""
        self.home = home.resolve()
        self.store = self.home / ".hermes"
        self.settings = settings
        """Read at the next start."""
        self._outbox: list[_Sent] = []
        self._held: dict[str, threading.Event] = {}
        self._process: subprocess.Popen[bytes] | None = None
        # Bound and never listening, it keeps the port from others and does not stand in the gateway's way.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self._port: int = self._reserved.getsockname()[1]
        self._model, self._bridge = _Server(_Model, self), _Server(_Bridge, self)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill what still runs, and give the ports back."""
        self.kill()
        for server in (self._model, self._bridge):
            server.end()
        self._reserved.close()

    # The process -----------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Of the gateway. Raises `GatewayError` where none runs."""
        if self._process is None:
            raise GatewayError("no gateway runs")
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it has gone on with what was interrupted, and takes messages.

        The configuration is written anew before."""
        if self._process is not None:
            raise GatewayError("it runs already")
        self._configure()
        before = len(self._log())
        command = [
            str(oracle_python()),
            "-I",
            "-c",
            _LAUNCH,
            str(oracle_python().with_name("hermes")),
            "gateway",
            "run",
        ]
        with (self.home / "gateway.out").open("ab") as output:
            self._process = subprocess.Popen(
                command,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.home),
                    "HERMES_HOME": str(self.store),
                    "LC_ALL": "C.UTF-8",
                    **_ZONE,
                },
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.until(lambda: _UP in self._log()[before:], "has started")

    def _log(self) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            return (self.store / "logs" / "gateway.log").read_bytes()
        return b""

    def _configure(self) -> None:
        self.store.mkdir(parents=True, exist_ok=True)
        values = {"name": _MODEL, "model": self._model.url, "bridge": self._bridge.url, "port": self._port}
        (self.store / "config.yaml").write_text(_CONFIG.format(settings=self.settings, **values))
        (self.store / ".env").write_text(_VARIABLES.format(**values))

    def stop(self) -> None:
        """End it cleanly, as a service manager does; running turns are waited for."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash does: nothing more is written."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise GatewayError(f"the gateway did not end at {how.name}\n{self.log()}") from None

    def halt(self) -> None:
        """SIGSTOP: it lives, keeps its locks and does nothing."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def proceed(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def state(self) -> dict[str, Any]:
        """What it last wrote of itself: its phase, the turns in progress."""
        with contextlib.suppress(FileNotFoundError):
            return dict(json.loads((self.store / "gateway_state.json").read_text()))
        return {}

    def log(self, size: int = 6000) -> str:
        """The end of what it said, in `size` characters."""
        said = [self.store / "logs" / "gateway.log", self.home / "gateway.out"]
        return "\n".join(f"{path}:\n{path.read_text()[-size:]}" for path in said if path.exists())

    def until(self, condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Wait until it holds. Raises `GatewayError` after `patience` seconds, and where the gateway has ended."""
        end = time.monotonic() + patience
        while not condition():
            gone = None if self._process is None else self._process.poll()
            if gone is not None:
                raise GatewayError(f"waiting until it {what}, the gateway ended with {gone}\n{self.log()}")
            if time.monotonic() > end:
                raise GatewayError(f"the gateway never {what}\n{self.log()}")
            time.sleep(0.02)

    # The chats -------------------------------------------------------------------------------------------------

    def say(self, chat: str, text: str, *, user: str = "", expect: str = "REPLY") -> Reply:
        """Send a message, and return what came back up to the text that contains `expect`."""
        position = self.send(chat, text, user=user)
        return self.reply(chat, position, user=user, expect=expect)

    def send(self, chat: str, text: str, *, user: str = "") -> int:
        """Send a message and wait for nothing; the position is for `reply`. With `user` the chat is a group."""
        data = {
            "guid": f"in{time.time_ns()}",
            "text": text,
            "handle": {"address": user or chat},
            "chats": [{"guid": _guid(chat, user)}],
            "chatIdentifier": chat,
            "isGroup": bool(user),
            "isFromMe": False,
        }
        position = len(self._outbox)
        body = json.dumps({"type": "new-message", "data": data}).encode()
        url = f"http://127.0.0.1:{self._port}/bluebubbles-webhook?password=pw"
        asked = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            answer.read()
        return position

    def reply(self, chat: str, position: int, *, user: str = "", expect: str = "REPLY") -> Reply:
        """Wait for the text that contains `expect` in what came back since that position."""
        self.until(lambda: _answered(self.sent(chat, position, user=user), expect), f"says {expect!r} to {chat}")
        texts = self.sent(chat, position, user=user)
        return Reply(texts[: next(number for number, text in enumerate(texts, 1) if expect in text)])

    def sent(self, chat: str, position: int = 0, *, user: str = "") -> list[str]:
        """All that came back in a chat since that position."""
        return [one.text for one in self._outbox[position:] if one.chat == _guid(chat, user)]

    @property
    def position(self) -> int:
        """Where what comes from now on begins."""
        return len(self._outbox)

    def begin_turn(self, chat: str, text: str, *, user: str = "") -> int:
        """Send a message whose turn runs until `end_turns`, and wait until it does; the position is for `reply`."""
        held = f"HOLD{len(self._held) + 1}"
        position = self.send(chat, f"{text} {held}", user=user)
        self.until(lambda: held in self._held, f"asks the model to {held}")
        return position

    def end_turns(self) -> None:
        """The model answers what it kept back, and what of it Hermes asks again."""
        for event in list(self._held.values()):
            event.set()

    def take(self, chat: str, text: str) -> None:
        """A message of the gateway's, from the bridge."""
        self._outbox.append(_Sent(chat, text))

    def hold(self, name: str) -> None:
        """Keep an answer of the model's back."""
        self._held.setdefault(name, threading.Event()).wait(6 * PATIENCE)


def _answered(texts: list[str], expect: str) -> bool:
    return any(expect in text for text in texts)


class _Server(ThreadingHTTPServer):
    """One of the two that a gateway talks to, in threads of its own."""

    daemon_threads = True

    def __init__(self, handler: type[_Handler], gateway: RealGateway) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.gateway = gateway
        self.hooks: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """No more requests; the port is free."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A gateway that was killed leaves requests half done."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

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


class _Model(_Handler):
    """Chat completions as OpenAI's interface has them, streamed or whole."""

    def do_GET(self) -> None:
        self.answer({"object": "list", "data": [{"id": _MODEL, "object": "model", "context_length": 131072}]})

    def do_POST(self) -> None:
        asked = self.asked()
        messages = asked.get("messages", [])
        text = self._answer_to(messages, bool(asked.get("tools")))
        size = 100 + 10 * len(messages)
        usage = {"prompt_tokens": size, "completion_tokens": 12, "total_tokens": size + 12}
        base = {"id": "c1", "created": int(time.time()), "model": _MODEL}
        if asked.get("stream"):
            self._stream(base, text, usage)
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        self.answer({**base, "object": "chat.completion", "choices": [choice], "usage": usage})

    def _answer_to(self, messages: list[dict[str, Any]], tools: bool) -> str:
        users = [_text_of(one.get("content")) for one in messages if one["role"] == "user"]
        system = " ".join(_text_of(one.get("content")) for one in messages if one["role"] == "system")
        if "title" in system.lower()[:400] and len(messages) < 4 and not tools:
            return f"A title {time.time_ns() % 100000}"
        if held := re.search(r"HOLD\d+", users[-1] if users else ""):
            self.server.gateway.hold(held[0])
        return f"REPLY; I have seen {' '.join(_words(' '.join(users))) or 'nothing'}"

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


class _Bridge(_Handler):
    """The server that Hermes' iMessage adapter expects (BlueBubbles)."""

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
            self.server.gateway.take(str(asked.get("chatGuid")), str(asked.get("message") or ""))
            self.answer({"status": 200, "data": {"guid": f"m{time.time_ns()}"}})
        else:
            self.answer({"status": 200, "data": [] if "/chat/query" in self.path else {}})


def _text_of(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _words(text: str) -> list[str]:
    return re.findall(r"\bW\d+\b", text)
