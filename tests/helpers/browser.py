"""A real browser without a window, driven over two pipes by the DevTools protocol: what a page fetches and runs.

The messages are those of https://chromedevtools.github.io/devtools-protocol/, JSON ended by NUL, as
`--remote-debugging-pipe` has it: descriptor 3 takes commands, 4 gives answers and events.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from support import PATIENCE
from system_programs import required_program

__all__ = ["Browser"]

_TOLD = ("Network.requestWillBeSent", "Network.webSocketCreated", "Runtime.exceptionThrown", "Log.entryAdded")


class Browser:
    """One page; a context manager."""

    def __init__(self, profile: Path, width: int = 1100, height: int = 1400) -> None:
        self._size = (width, height)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        theirs_in, ours_out = _high_pipe()
        ours_in, theirs_out = _high_pipe()
        command = [required_program("browser"), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]

        def hand_over() -> None:
            os.dup2(theirs_in, 3, inheritable=True)
            os.dup2(theirs_out, 4, inheritable=True)

        self._process = subprocess.Popen(
            command,
            preexec_fn=hand_over,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(profile), "LANG": "C.UTF-8", "TZ": "UTC"},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out, self._in = ours_out, ours_in

    def __enter__(self) -> Browser:
        target = self.send("Target.createTarget", session="", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", session="", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        width, height = self._size
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def send(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """The result of a command; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"the browser says nothing; its exit code is {self._process.poll()}"
            part = os.read(self._in, 1 << 20)
            assert part, f"the browser is gone; its exit code is {self._process.wait()}"
            self._buffer += part
        data, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(data)
        return message

    def open(self, address: str) -> None:
        """Go to an address and wait until everything of it is loaded."""
        self.events.clear()
        self.send("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next(deadline))
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, which a page's policy does not bind."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    @property
    def told(self) -> list[tuple[str, str]]:
        """(event, address or text) of everything that was requested, thrown or logged since `open`."""
        found = []
        for event in self.events:
            method, parameters = event.get("method", ""), event.get("params", {})
            if method == "Network.requestWillBeSent":
                found.append((method, parameters["request"]["url"]))
            elif method in _TOLD:
                found.append((method, json.dumps(parameters)))
        return found

    def prefer(self, scheme: str) -> None:
        """Be a system with `light` or `dark` colours."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def picture(self) -> bytes:
        """What is in view, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def paper(self) -> bytes:
        """The page printed, as PDF."""
        return base64.b64decode(self.send("Page.printToPDF")["data"])


def _high_pipe() -> tuple[int, int]:
    """A pipe whose ends are not among the descriptors that the browser wants for itself."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
