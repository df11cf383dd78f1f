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

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self

from oracle.gateway_peers import Bridge, Model, words_in
from oracle.hermes import oracle_python
from session_adapters.proc import is_nested

__all__ = ["GatewayError", "RealGateway", "Reply", "direct_lane", "group_lane"]

PATIENCE = 180.0
"""Seconds for anything to come, on a machine that is busy with other tests."""
_TIDYING = 0.05
"""Seconds after its last text: what comes while Hermes 0.19 tidies up behind a turn may wait for the next message."""
_ZONE = {name: os.environ[name] for name in ("TZ",) if name in os.environ}
"""The caller's, as it was before the tests got surroundings of their own: lanes have local times."""
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
        return words_in(self.texts[-1])


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
        self._process: subprocess.Popen[bytes] | None = None
        # Bound and never listening, it keeps the port from others and does not stand in the gateway's way.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self._port: int = self._reserved.getsockname()[1]
        self._model, self._bridge = Model(), Bridge()

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
        before, said = len(self._log()), self.position
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
                    "PATH": os.defpath,  # it asks Python and pip for versions: a version manager's scripts are slow
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
        self.until(lambda: self._has_started(self._log()[before:], said), "has started")

    def _has_started(self, log: bytes, said: int) -> bool:
        """Its first turns are its own: it goes on where it was interrupted. What comes between the end of such a turn
        and its answer, Hermes was seen to lose."""
        turns = sum(map(int, re.findall(rb"Scheduled auto-resume for (\d+)", log)))
        answered = min(log.count(b"Sending response"), self.position - said)  # a turn may say more than its answer
        return _UP in log and answered >= turns and not self.state()["active_agents"]

    def _log(self) -> bytes:
        with suppress(FileNotFoundError):
            return (self.store / "logs" / "gateway.log").read_bytes()
        return b""

    def _configure(self) -> None:
        self.store.mkdir(parents=True, exist_ok=True)
        values = {"name": Model.name, "model": self._model.url, "bridge": self._bridge.url, "port": self._port}
        (self.store / "config.yaml").write_text(_CONFIG.format(settings=self.settings, **values))
        (self.store / ".env").write_text(_VARIABLES.format(**values))

    def stop(self) -> None:
        """End it cleanly, as a service manager does; running turns are waited for."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash does: nothing more is written."""
        self._end(signal.SIGKILL)
        if is_nested(Path("/proc")):  # as our program asks for there, where it cannot tell who else holds the lock
            (self.store / "gateway.pid").unlink(missing_ok=True)

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
        with suppress(FileNotFoundError):
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
        position = len(self._bridge.outbox)
        if position:
            time.sleep(max(0.0, self._bridge.outbox[-1].at + _TIDYING - time.monotonic()))
        body = json.dumps({"type": "new-message", "data": data}).encode()
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)) as webhook:  # never through a proxy
            webhook.request("POST", "/bluebubbles-webhook?password=pw", body, {"content-type": "application/json"})
            if webhook.getresponse().status != 200:
                raise GatewayError(f"the gateway refuses {text!r} to {chat}\n{self.log()}")
        return position

    def reply(self, chat: str, position: int, *, user: str = "", expect: str = "REPLY") -> Reply:
        """Wait for the text that contains `expect` in what came back since that position."""

        def found() -> int:
            texts = self.sent(chat, position, user=user)
            return next((number for number, text in enumerate(texts, 1) if expect in text), 0)

        self.until(found, f"says {expect!r} to {chat}")
        return Reply(self.sent(chat, position, user=user)[: found()])

    def sent(self, chat: str, position: int = 0, *, user: str = "") -> list[str]:
        """All that came back in a chat since that position."""
        return [one.text for one in self._bridge.outbox[position:] if one.chat == _guid(chat, user)]

    @property
    def position(self) -> int:
        """Where what comes from now on begins."""
        return len(self._bridge.outbox)

    def begin_turn(self, chat: str, text: str, *, user: str = "") -> int:
        """Send a message whose turn runs until `end_turns`, and wait until it does; the position is for `reply`."""
        held = self._model.new_hold()
        position = self.send(chat, f"{text} {held}", user=user)
        self.until(lambda: self._model.is_holding(held), f"asks the model to {held}")
        return position

    def end_turns(self) -> None:
        """The model answers what it kept back, and what of it Hermes asks again."""
        self._model.let_go()
