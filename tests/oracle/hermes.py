"""The real hermes-agent 0.19.0 as an oracle: in an environment and a process of its own, on a home of the test's.

    with Oracle(home) as hermes:                        # a directory; made if missing. zone="Europe/Berlin": its TZ
        hermes.key({"platform": "telegram", "chat_id": "1"}, group_sessions_per_user=False)
        hermes.open(policy={"mode": "idle"}, now=datetime(2026, 7, 21, 12))   # a SessionStore on that home
        entry = hermes.get({"platform": "telegram", "chat_id": "1"})          # get_or_create_session, as `to_dict`
        hermes.now(datetime(2026, 7, 21, 13))           # moves the clock: local, or aware and made local there
        hermes.store("suspend_session", entry["session_key"])                 # any method of the SessionStore
        hermes.db("append_message", session_id, role="user", content="x")     # any method of the SessionDB
        hermes.dump()                                   # {"json": mirror, "routing": table, "sessions": all rows}
        hermes.close_store(); hermes.ask("title", {"title": "x"})             # the rest: see `hermes_program`

An exception of Hermes' raises `OracleError` with its name and text. The clock is that of the lanes alone; rows of
the sessions bear the real time. In a test: the fixture `hermes` of `tests/lifecycle/conftest.py`, or from elsewhere
`from oracle.hermes import Oracle`. One process serves thousands of questions: `home_is(path)` moves it to
another home.

The environment (240 MB, twenty seconds) is that of `oracle.gateway` too. It is made once, by whoever needs it first,
in `HERMES_TUI_ORACLE_VENV` or in the user's cache directory. `python -m oracle.hermes` makes it beforehand.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

import platformdirs

from system_programs import required_program

__all__ = ["Oracle", "OracleError", "oracle_python"]

_REQUIREMENTS = ("hermes-agent==0.19.0", "aiohttp>=3.9,<4")
"""What it asks for itself, and what its iMessage adapter needs, through which `oracle.gateway` talks to it."""
_SURROUNDINGS = dict(os.environ)
"""As it was before the tests got homes of their own: pip's settings, the cache directory."""
_NAMED = _SURROUNDINGS.get("HERMES_TUI_ORACLE_VENV")
_PLACE = Path(_NAMED) if _NAMED else platformdirs.user_cache_path("hermes-tui-tests") / "hermes-agent-0.19.0"
_WAIT = 120.0
"""Seconds for one reply, on a machine that is busy with other tests."""


class OracleError(Exception):
    """The real program raised; the text is `ValueError: …`."""


@cache
def oracle_python() -> Path:
    """The interpreter of the oracle's environment, which is made if there is none. Raises `RuntimeError`."""
    place, wanted = _PLACE, "\n".join(_REQUIREMENTS)
    ready, python = place / "ready.txt", place / "bin" / "python"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Its interpreter is a link, which leads nowhere once the Python that made it is gone.
        if not python.exists() or not ready.exists() or ready.read_text() != wanted:
            shutil.rmtree(place, ignore_errors=True)
            _run(required_program("Python 3.13"), "-m", "venv", str(place))
            _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_REQUIREMENTS)
            ready.write_text(wanted)
    return python


def _run(*command: str) -> None:
    ran = subprocess.run(command, env=_SURROUNDINGS, capture_output=True, text=True, timeout=600, check=False)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")


class Oracle:
    """A running real Hermes without a gateway's adapters: its sessions, keys, policies and search."""

    def __init__(self, home: Path, zone: str = "UTC", variables: Mapping[str, str] | None = None) -> None:
        """`home` becomes HERMES_HOME and HOME, `zone` its TZ, `variables` more of its environment."""
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        command = [str(oracle_python()), "-I", str(Path(__file__).with_name("hermes_program.py"))]
        self._said = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  (closed by `stop`)
        self._process = subprocess.Popen(
            command,
            env={
                "PATH": _SURROUNDINGS.get("PATH", ""),
                "HOME": str(home),
                "HERMES_HOME": str(home),
                "TZ": zone,
                "LC_ALL": "C.UTF-8",
                **(variables or {}),
            },
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, as a gateway is killed: nothing more is written."""
        self._process.kill()
        self._process.communicate()
        self._said.close()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def ask(self, fn: str, args: Mapping[str, Any] | None = None, kw: Mapping[str, Any] | None = None) -> Any:
        """Any question of `hermes_program`. Raises `OracleError`, and `RuntimeError` if the process is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = json.dumps({"fn": fn, "args": dict(args or {}), "kw": dict(kw or {})})
        try:
            self._process.stdin.write(request.encode() + b"\n")
            self._process.stdin.flush()
            answered, _, _ = select.select([self._process.stdout], [], [], _WAIT)
            line = self._process.stdout.readline() if answered else b""
        except BrokenPipeError:
            line = b""
        if not line:
            self._said.seek(0)
            raise RuntimeError(f"the oracle gave no answer to {request}:\n{self._said.read()[-4000:]}")
        reply = json.loads(line)
        if "error" in reply:
            raise OracleError(reply["error"])
        return reply["ok"]

    def home_is(self, home: Path) -> None:
        """What is asked from now on is asked of another home; an open store stays where it is."""
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.ask("home", {"path": str(home)})

    def key(self, source: Mapping[str, Any], **options: Any) -> str:
        """build_session_key; `source` has the fields of a SessionSource."""
        return str(self.ask("key", source, options))

    def shared(self, source: Mapping[str, Any], **options: Any) -> bool:
        """is_shared_multi_user_session."""
        return bool(self.ask("shared", source, options))

    def canonical(self, identifier: str) -> str:
        """canonical_whatsapp_identifier, with the mappings of the home."""
        return str(self.ask("canonical", {"identifier": identifier}))

    def entry(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A lane's record read and written again."""
        return dict(self.ask("entry", data))

    def policy(
        self, entry: Mapping[str, Any], policy: Mapping[str, Any], now: datetime, busy: bool = False
    ) -> tuple[str | None, bool]:
        """Whether that entry (with an origin) resets at `now`: the reason at a message, and the watcher's mind."""
        asked = {"policy": dict(policy), "now": now.isoformat(), "busy": busy}
        reason, expired = self.ask("policy", entry, asked)
        return reason, expired

    def config(self, home: Path, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
        """GatewayConfig.to_dict of that home, without the platforms."""
        return dict(self.ask("config", {"path": str(home), "variables": dict(variables or {})}))

    def open(
        self,
        *,
        policy: Mapping[str, Any] | None = None,
        by_platform: Mapping[str, Mapping[str, Any]] | None = None,
        by_type: Mapping[str, Mapping[str, Any]] | None = None,
        now: datetime | None = None,
        busy: tuple[str, ...] = (),
        **config: Any,
    ) -> None:
        """A SessionStore on the home, as a starting gateway has it; policies as fields of SessionResetPolicy, `busy`
        are the keys of lanes with running processes, `config` are more fields of GatewayConfig."""
        args = {"policy": policy, "by_platform": by_platform, "by_type": by_type, "busy": busy}
        self.ask("open", {**args, "now": now.isoformat() if now else None}, config)

    def close_store(self) -> None:
        """Let go of the store, as a gateway that stops."""
        self.ask("close")

    def now(self, moment: datetime) -> None:
        """Move the lanes' clock to a local time; an aware one is made local by the oracle's TZ."""
        self.ask("now", {"now": moment.isoformat()})

    def get(self, source: Mapping[str, Any], force_new: bool = False) -> dict[str, Any]:
        """get_or_create_session: a message arrives."""
        return dict(self.ask("get", source, {"force_new": force_new}))

    def store(self, op: str, *args: Any, **options: Any) -> Any:
        """A method of the open SessionStore; entries come as Hermes writes them."""
        return self.ask("store", {"op": op, "a": args}, options)

    def db(self, op: str, *args: Any, **options: Any) -> Any:
        """A method of the open store's SessionDB."""
        return self.ask("db", {"op": op, "a": args}, options)

    def prunable(self, **options: Any) -> list[str]:
        """The sessions that `hermes sessions prune` deletes in the open store with these options."""
        return list(self.ask("prunable", {}, options))

    def search_tool(self, **options: Any) -> dict[str, Any]:
        """The tool session_search on the open store."""
        return dict(self.ask("search_tool", {}, options))

    def dump(self) -> dict[str, Any]:
        """Everything that the open store has written: `json`, `routing`, `sessions`."""
        return dict(self.ask("dump"))


if __name__ == "__main__":
    print(oracle_python())
