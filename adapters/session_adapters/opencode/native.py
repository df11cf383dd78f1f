"""OpenCode's own commands, and which of its processes has a session open.

Format: stores/opencode FACTS.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from session_adapters.base import Environment, Liveness, NativeCommand, Source, option
from session_adapters.model import SessionSummary
from session_adapters.tree.live import Process, newest_by_directory, processes

__all__ = ["fork_command", "live_sessions", "resume_command"]

_HANDED_ON = ("XDG_DATA_HOME", "OPENCODE_DB", "OPENCODE_DISABLE_CHANNEL_DB")
_FILES = {
    "json": "This session is in the JSON files of OpenCode 0.6 to 1.1: only 1.2 takes those over, and newer ones do "
    "not find it",
    "project": "This session is in the files of OpenCode 0.5 or older: newer ones do not find it",
}
_UNDONE = "Messages were undone in this session: the next prompt removes them for good"
_SECOND = "This session was last written by OpenCode 2: an older one shows an old copy of it, or nothing"
_NO_DIRECTORY = "The session does not say in which directory it was held: start this in the right one"
_DOCUMENT = "OpenCode itself never wrote this layout and may not find the session"
_OLD_FORK = "OpenCode before 1.1.65 cannot fork a session"


def resume_command(summary: SessionSummary, environment: Environment) -> NativeCommand:
    """`opencode -s ID`, in the session's directory: from another one the transcript is kept and the tools work in
    the wrong place."""
    return _command(summary, environment)


def fork_command(summary: SessionSummary, environment: Environment) -> NativeCommand:
    """`opencode -s ID --fork`."""
    version = tuple(int(number) for number in re.findall(r"\d{1,6}", str(summary.raw.get("version", "")))[:3])
    old = version < (1, 1, 65) and summary.raw.get("layout") in ("json", "project")
    return _command(summary, environment, "--fork", warning=_OLD_FORK if old else None)


def _command(
    summary: SessionSummary, environment: Environment, *more: str, warning: str | None = None
) -> NativeCommand:
    layout = str(summary.raw.get("layout", ""))
    warnings = [
        _FILES.get(layout),
        warning,
        _SECOND if layout == "2.x" else None,
        _DOCUMENT if layout == "document" else None,
        _UNDONE if summary.raw.get("revert") else None,
        None if summary.cwd else _NO_DIRECTORY,
    ]
    variables = environment.given(*_HANDED_ON)
    name = Path(summary.path).name
    if name.startswith("opencode-") and name.endswith(".db"):
        variables["OPENCODE_DB"] = summary.path  # of another channel, which the program looks at only if it is named
    return NativeCommand(
        argv=("opencode", *option("--session", summary.session_id, "-s"), *more),
        cwd=summary.cwd,
        env=variables,
        warning=". ".join(filter(None, warnings)) or None,
    )


# Processes ---------------------------------------------------------------------------------------------------


def live_sessions(
    environment: Environment,
    recent: Callable[[], Iterable[Source]],
    directory: Callable[[Source], tuple[str, str] | None],
) -> Mapping[str, Liveness]:
    """Sessions that a process has open: the one its command line names, else the newest of its directory, if that
    changed since it started. OpenCode's own locks name a process and no session, and stay behind after a kill."""
    found: dict[str, Liveness] = {}
    others: list[Process] = []

    def is_opencode(words: tuple[str, ...]) -> bool:
        # The program itself, or the script of that name that an interpreter runs.
        return any(word.rpartition("/")[2] in ("opencode", ".opencode") for word in words[:2])

    for process in processes(environment.proc, is_opencode):
        named = _named(process.words)
        if named:
            found[named] = Liveness(pid=process.pid)
        else:
            others.append(process)
    for session_id, alive in newest_by_directory(others, recent, directory).items():
        found.setdefault(session_id, alive)
    return found


def _named(words: tuple[str, ...]) -> str | None:
    if "--fork" in words:  # a session of its own, whose id the command line does not know
        return None
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word in ("-s", "--session") and following:
            return following
        if word.startswith("--session="):
            return word.partition("=")[2]
    return None
