"""The agents' real programs, from their registry, in a tmux of the test's own, against the mock model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from agents.mock_model import Model

__all__ = ["PROGRAMS", "Program", "Running", "installed"]

_CACHE = Path.home() / ".cache" / "hermes-tui-tests" / "agents"
_SURROUNDINGS = dict(os.environ)
"""As they were before a test has a home of its own: npm needs what they say of registries and certificates."""
_PATIENCE = 180.0
"""Seconds for something that an agent should show: a busy machine needs many."""
_KEY = "sk-ant-api03-" + "a" * 40


class Setup(NamedTuple):
    """How an agent is started in a home."""

    command: Sequence[str]
    """Behind the program's own path."""
    variables: Mapping[str, str]


class Program(NamedTuple):
    """An agent's program."""

    package: str
    version: str
    command: str
    prepare: Callable[[Path, Path, str], Setup]
    """Writes settings into a home, for a working directory and the model's address."""
    ready: str
    """What its screen shows when it takes prompts."""
    first_keys: Sequence[str] = ()
    """What is pressed before that (to trust the directory)."""
    asks_for_leave: str = "RUN"
    """The word that makes the model call a tool which needs leave."""
    has_questions: bool = True
    limit: str | None = ""
    """What its screen has once it tries no more after a usage limit; None: it tries on for long, and tells nobody."""
    resumed: str = ""
    """What its screen shows when it was resumed and takes prompts; empty: the same."""


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def _claude(home: Path, work: Path, url: str) -> Setup:
    _write(home / ".claude" / "settings.json", {"theme": "dark"})
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {"approved": [_KEY[-20:]], "rejected": []}
    facts = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": known}
    _write(home / ".claude.json", {**facts, "projects": {str(work): project}})
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return Setup(("--permission-mode", "default"), {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": _KEY, **quiet})


def _codex(home: Path, work: Path, url: str) -> Setup:
    _write(
        home / ".codex" / "config.toml",
        f"""model = "mock-model"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
[projects."{work}"]
trust_level = "trusted"
""",
    )
    return Setup((), {"MOCK_KEY": "x"})


def _gemini(home: Path, work: Path, url: str) -> Setup:
    security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
    quiet = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
    _write(home / ".gemini" / "settings.json", {"security": security, **quiet})
    return Setup(("-m", "gemini-2.5-flash"), {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url})


def _copilot(home: Path, work: Path, url: str) -> Setup:
    provider = {"BASE_URL": f"{url}/v1", "API_KEY": "x", "TYPE": "openai"}
    variables = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
    return Setup((), {"COPILOT_OFFLINE": "true", "COPILOT_MODEL": "mock-model", **variables})


def _opencode(home: Path, work: Path, url: str) -> Setup:
    model = {"name": "mock", "limit": {"context": 100_000, "output": 1000}}
    options = {"baseURL": f"{url}/v1", "apiKey": "x"}
    mock = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": options, "models": {"mock-model": model}}
    quiet = {"autoupdate": False, "share": "disabled", "permission": {"bash": "ask"}}
    _write(home / ".config/opencode/opencode.json", {"model": "mock/mock-model", "provider": {"mock": mock}, **quiet})
    return Setup((), {})


def _pi(home: Path, work: Path, url: str) -> Setup:
    model = {"id": "mock-model", "name": "mock", "reasoning": False, "input": ["text"], "contextWindow": 100_000}
    model |= {"maxTokens": 1000, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    mock = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "x", "models": [model]}
    _write(home / ".pi/agent/models.json", {"providers": {"mock": mock}})
    return Setup(("--provider", "mock", "--model", "mock-model"), {})


PROGRAMS: Mapping[str, Program] = {
    "claude": Program("@anthropic-ai/claude-code", "2.1.330", "claude", _claude, "❯"),
    "codex": Program(
        *("@openai/codex", "0.169.0", "codex", _codex, "Ask Codex to do anything"),
        asks_for_leave="NEED",
        has_questions=False,  # only while it plans
    ),
    "gemini": Program(
        *("@google/gemini-cli", "0.61.0", "gemini", _gemini, "Type your message"), has_questions=False, limit=None
    ),
    "copilot": Program(
        *("@github/copilot", "1.0.102", "copilot", _copilot, "/ commands"),
        first_keys=("Confirm folder trust", "Enter"),
    ),
    "opencode": Program("opencode-ai", "1.18.33", "opencode", _opencode, "Ask anything", resumed="ctrl+p commands"),
    "pi": Program(
        *("@mariozechner/pi-coding-agent", "0.73.1", "pi", _pi, "mock-model"),
        asks_for_leave="",  # it asks for none
        has_questions=False,
        limit="Retry failed",
    ),
}


def installed(program: Program) -> Path:
    """The program's path, installed once for all runs. Raises `CalledProcessError`."""
    folder = _CACHE / f"{program.package.strip('@').replace('/', '-')}-{program.version}"
    path = folder / "node_modules" / ".bin" / program.command
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm") or "npm"
        what = f"{program.package}@{program.version}"
        argv = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", what]
        subprocess.run(argv, check=True, timeout=600, env=_SURROUNDINGS)
    return path


class Running:
    """An agent that runs in a pane, in a home of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.program = PROGRAMS[name]
        self.home, self.work = folder / "home", folder / "shop"
        self.home.mkdir(parents=True)
        self.work.mkdir()
        self.model = Model()
        self._name = name
        setup = self.program.prepare(self.home, self.work, self.model.url)
        own = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        away = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        self._setup = setup
        variables = [f"{key}={value}" for key, value in {**own, **away, **setup.variables}.items()]
        self.tmux = {"TMUX_TMPDIR": str(folder), "PATH": os.environ["PATH"], "HOME": str(folder)}
        self._env = ["env", "-i", *variables]
        self._start(())

    def _start(self, more: Sequence[str]) -> None:
        argv = [*self._env, str(installed(self.program)), *self._setup.command, *more]
        self.run("new-session", "-d", "-s", self._name, "-x", "120", "-y", "40", "-c", str(self.work), *argv)

    def resume(self, more: Sequence[str]) -> None:
        """After `kill`: start it again with these arguments, and wait until it takes prompts."""
        self.until(lambda: not self._has_panes(), "the end of the program that was killed")
        self._start(more)
        self._get_ready(self.program.resumed or self.program.ready)

    def _has_panes(self) -> bool:
        argv = ["tmux", "-L", "agents", "has-session", "-t", self._name]
        return not subprocess.run(argv, env=self.tmux, check=False, capture_output=True).returncode

    def __enter__(self) -> Self:
        self._get_ready(self.program.ready)
        return self

    def _get_ready(self, shown: str) -> None:
        if self.program.first_keys:
            asked, *keys = self.program.first_keys
            self.until(lambda: asked in self.screen(), asked)
            self.run("send-keys", *keys)

        def is_ready() -> bool:
            screen = self.screen()
            if "❯ 1. Resume anyway" in screen:  # so Copilot asks where it was killed a moment ago
                self.run("send-keys", "Enter")
            return shown in screen

        self.until(is_ready, shown)

    def __exit__(self, *_: object) -> None:
        self.kill()
        subprocess.run(["tmux", "-L", "agents", "kill-server"], env=self.tmux, check=False, capture_output=True)
        self.model.end()

    def run(self, *arguments: str) -> str:
        """Have tmux do something; what it says."""
        argv = ["tmux", "-L", "agents", *arguments]
        return subprocess.run(argv, env=self.tmux, check=True, capture_output=True, text=True).stdout

    def screen(self) -> str:
        """What the pane shows."""
        return self.run("capture-pane", "-p")

    def say(self, prompt: str) -> None:
        """Type a prompt, and send it, until the model was asked."""
        asked = len(self.model.requests)
        self.run("send-keys", "-l", prompt)
        for _ in range(10):
            time.sleep(1)  # some take a return that comes at once for a part of what was pasted
            if prompt not in self.screen():  # Gemini shows its box before it reads keys
                self.run("send-keys", "-l", prompt)
                time.sleep(1)
            self.run("send-keys", "Enter")
            for _ in range(40):
                if len(self.model.requests) > asked:
                    return
                time.sleep(0.1)
        raise AssertionError(f"{prompt!r} was not sent; the screen:\n{self.screen()}")

    def until(self, holds: Callable[[], bool], what: str) -> float:
        """Wait until something holds; after how many seconds. Raises `AssertionError` with the screen."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > _PATIENCE:
                raise AssertionError(f"{what!r} did not come about; the screen:\n{self.screen()}")
            time.sleep(0.25)
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL for every process of the agent, those in the background too."""
        mark = f"HOME={self.home}".encode()
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue  # ended meanwhile, or another user's
