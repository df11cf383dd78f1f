"""Notifies a person of what needs them, by the terminal or by a command of theirs."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hermes_tui.attention.notifications import Alert, Transitions, alert_of
from hermes_tui.platform.background import in_background

if TYPE_CHECKING:
    from hermes_tui.attention.report import AttentionReport
    from hermes_tui.config import AttentionSettings, NotifyForm

__all__ = ["SECONDS", "Notifier", "is_in_view", "passthrough_problem", "run_command", "sequence", "through_tmux"]

SECONDS = 10.0
"""That a command may take."""
_ASKING = 1.0
"""Seconds that tmux may take to say what is in view."""
_END = "\x1b\\"


class Notifier:
    """Told of every report, by the thread that makes them."""

    def __init__(
        self,
        settings: AttentionSettings,
        write: Callable[[str], None],
        focused: Callable[[], bool | None],
        failed: Callable[[str], None],
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`write`: brings bytes to the terminal. `focused`: whether the program has the keys of a person's terminal;
        None: it never said. `failed`: told in a sentence what a command fails of, once for each."""
        self._settings = settings
        self._write = write
        self._focused = focused
        self._failed = failed
        self._variables = os.environ if variables is None else variables
        self._transitions = Transitions()
        self._said = ""
        self._saying = threading.Lock()

    def look(self, report: AttentionReport) -> float | None:
        """Tell a person of what is new in it, unless that person is looking at the program; see `Transitions.due`."""
        if self._settings.notify == "off":
            return None
        found, due = self._transitions.of(report), self._transitions.due
        if not found:
            return due
        focused = self._focused()
        if focused is None:  # tmux hands the terminal's word on only if it is told to
            focused = is_in_view(self._variables)
        for one in found if not focused else ():
            self._tell(alert_of(one, text=self._settings.text))
        return due

    def _tell(self, alert: Alert) -> None:
        if self._settings.notify == "command":
            in_background("notification", lambda: self._command(alert))
        else:
            self._write(sequence(self._settings.notify, alert, tmux="TMUX" in self._variables))

    def _command(self, alert: Alert) -> None:
        said = run_command(self._settings.command, {**self._variables, **alert.variables})
        with self._saying:
            is_news, self._said = bool(said) and said != self._said, said or self._said
        if is_news:
            self._failed(said)


def sequence(form: NotifyForm, alert: Alert, *, tmux: bool = False) -> str:
    """What is written to the terminal, within `tmux` so that it hands it on."""
    match form:
        case "bell":
            return "\a"  # tmux has rules of its own for it
        case "osc9":
            text = f"\x1b]9;{alert.heading} · {alert.body}{_END}"
        case "osc777":
            heading = alert.heading.replace(";", ",")
            text = f"\x1b]777;notify;{heading};{alert.body}{_END}"
        case "osc99":
            # By the same name a later one of the session takes the place of the one before.
            name = "hermes-tui-" + hashlib.sha256(alert.unified_id.encode()).hexdigest()[:12]
            text = f"\x1b]99;i={name}:d=0;{alert.heading}{_END}\x1b]99;i={name}:d=1:p=body;{alert.body}{_END}"
        case _:
            return ""
    return through_tmux(text) if tmux else text


def through_tmux(text: str) -> str:
    """Wrapped so that tmux hands it on as it is, where its `allow-passthrough` lets it."""
    return f"\x1bPtmux;{text.replace(chr(27), chr(27) * 2)}{_END}"


def run_command(argv: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a command of the user's, without a shell; in a sentence what it failed of, empty where it did not."""
    name = "the command of [attention] in the settings"
    try:
        with subprocess.Popen(  # noqa: S603  (the user's own argv, no shell)
            argv,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that what it starts itself can be ended with it
        ) as process:
            try:
                code = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                return f"{name} ({argv[0]}) took more than {SECONDS:g} seconds and was ended"
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        return f"{name} ({argv[0]}) cannot be run: {reason}"
    return f"{name} ({argv[0]}) ended with exit code {code}" if code else ""


def is_in_view(variables: Mapping[str, str]) -> bool:
    """Whether a terminal shows the pane that we run in, and gives it its keys; outside of tmux: yes."""
    # Asked of one pane, tmux speaks of one of the sessions that have its window, which may be one that shows another.
    form = "#{pane_id} #{pane_active}#{window_active}#{?session_attached,1,0}"
    said = _asked(variables, "list-panes", "-a", "-F", form)
    return said is None or f"{variables['TMUX_PANE']} 111" in said.splitlines()


def passthrough_problem(form: NotifyForm, variables: Mapping[str, str]) -> str:
    """Why tmux would not hand a notification on, in a sentence; empty where it does."""
    if form.startswith("osc") and _asked(variables, "show-options", "-Apv", "allow-passthrough") == "off":
        return f"notify is {form!r}, and tmux' allow-passthrough is off; set -g allow-passthrough all hands it on"
    return ""


def _asked(variables: Mapping[str, str], command: str, *arguments: str) -> str | None:
    """What tmux says of the pane that we run in; None where we run in none, or it does not answer."""
    tmux, pane = shutil.which("tmux", path=variables.get("PATH")), variables.get("TMUX_PANE", "")
    socket = variables.get("TMUX", "").partition(",")[0]
    if tmux is None or not socket or not pane:
        return None
    argv = [tmux, "-S", socket, command, "-t", pane, *arguments]
    try:
        asked = subprocess.run(  # noqa: S603  (argv, no shell)
            argv, capture_output=True, timeout=_ASKING, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.decode("utf-8", "replace").strip()
