"""Brings a person's terminal to the tmux pane in which a session runs.

Only tells tmux which pane to show, and to whom; nothing is ever typed into a pane.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hermes_tui.attention.panes import Pane, is_real, list_panes, pane_of, parents_of, socket_folder
from hermes_tui.errors import HermesTuiError
from session_adapters.proc import start_of

__all__ = ["CannotJump", "attach_line", "jump"]

_SECONDS = 5.0
"""That tmux may take."""
_BETWEEN = "\x1f"
_CLIENT = ("client_name", "client_activity", "client_session", "pane_id")


class CannotJump(HermesTuiError):
    """There is no way to the session's pane. The text is one sentence."""

    def __init__(self, text: str, *, is_open: bool = True) -> None:
        """`is_open`: a process has the session open, in a pane or elsewhere; else it can only be resumed."""
        super().__init__(text)
        self.is_open = is_open


class _Client(NamedTuple):
    """A terminal that is attached to a server."""

    name: str
    activity: int
    """When a key was last pressed there; seconds since the epoch."""
    session: str
    pane: str
    """Id of the pane that has its keys."""


def jump(
    pid: int | None,
    *,
    client: str = "",
    variables: Mapping[str, str] | None = None,
    proc: Path = Path("/proc"),
) -> Pane:
    """Show the pane in which process `pid` runs (None: nothing has the session open); the pane.

    In the terminal named `client`; else in the one that shows the pane that we run in, of several the one in which a
    key was pressed last. Panes and processes are looked at anew. Raises `CannotJump`."""
    variables = os.environ if variables is None else variables
    if pid is None:
        raise CannotJump("no process has the session open, so it is in no pane", is_open=False)
    if not is_real(proc):
        raise CannotJump("the processes of this home are made up, so they are in no pane")
    tmux = shutil.which("tmux", path=variables.get("PATH"))
    if tmux is None:
        raise CannotJump(f"tmux is not on PATH, so process {pid} is in no pane that can be gone to")
    panes = list_panes(variables)
    pane = _found(pid, panes, proc, socket_folder(variables))
    own = variables.get("TMUX", "").partition(",")[0]
    if not own:
        raise CannotJump(
            f"this terminal is not in tmux; the session is in {pane.name}, which `{attach_line(pane)}` shows"
        )
    if Path(own).resolve() != Path(pane.socket).resolve():
        raise CannotJump(f"the session is in {pane.name} of another tmux server, which `{attach_line(pane)}` shows")
    client = client or _client(tmux, pane.socket, panes, variables.get("TMUX_PANE", ""))
    # One call for all three: behind a step that fails tmux does none. First the one that fails where no terminal has
    # that name: the others would show another window to whoever sits before the session.
    steps = (
        ("switch-client", "-c", client, "-t", pane.id),
        ("select-window", "-t", pane.id),
        ("select-pane", "-t", pane.id),
    )
    _run(tmux, pane.socket, *(word for step in steps for word in (*step, ";")))
    return pane


def attach_line(pane: Pane) -> str:
    """The command for a shell that shows a pane in a terminal outside its server."""
    return shlex.join(
        ["tmux", "-S", pane.socket, "attach-session", "-t", f"{pane.session}:{pane.window}.{pane.number}"]
    )


def _client(tmux: str, socket: str, panes: Sequence[Pane], own_pane: str) -> str:
    """The terminal in which the key was pressed."""
    form = _BETWEEN.join(f"#{{{name}}}" for name in _CLIENT)
    lines = [line.split(_BETWEEN) for line in _run(tmux, socket, "list-clients", "-F", form).splitlines()]
    clients = [_Client(name, int(at or 0), session, pane) for name, at, session, pane in lines]
    if own_pane:
        sessions = {pane.session for pane in panes if pane.socket == socket and pane.id == own_pane}
        clients = [one for one in clients if one.session in sessions]
    if not clients:
        raise CannotJump("no terminal is attached to the tmux session that this runs in")
    return max(clients, key=lambda one: (one.pane == own_pane, one.activity)).name


def _found(pid: int, panes: Sequence[Pane], proc: Path, folder: Path) -> Pane:
    """The pane of a process, both of them ours and alive. `folder`: where sockets were looked for."""
    owner = _owner(pid, proc)
    if owner is None:
        raise CannotJump(f"process {pid}, which had the session open, has ended", is_open=False)
    if os.getuid() not in (0, owner):
        raise CannotJump(f"process {pid}, which has the session open, belongs to {_user(owner)}")
    pane = pane_of(pid, panes, proc)
    if pane is not None:
        return pane
    for above in parents_of(proc, pid):
        name = ""
        with suppress(OSError):  # it ended meanwhile, and nothing that has is tmux
            name = (proc / str(above) / "comm").read_text(errors="replace")
        if name.startswith("tmux: server"):
            owner = (proc / str(above)).stat().st_uid
            silent = f"a tmux server that does not answer, or whose socket is not in {folder}"
            whose = silent if owner == os.getuid() else f"a tmux of {_user(owner)}"
            raise CannotJump(f"process {pid} runs in {whose}, so its pane cannot be gone to")
    raise CannotJump(f"process {pid} runs in no pane of tmux")


def _owner(pid: int, proc: Path) -> int | None:
    """Whose process it is; None of one that has ended, whether or not its parent has taken note of that."""
    try:
        owner = (proc / str(pid)).stat().st_uid
    except OSError:
        return None
    # The name before the state may hold anything.
    state = start_of(f"{proc}/{pid}/stat").rpartition(b") ")[2][:1]
    return None if state in (b"", b"Z", b"X") else owner


def _run(tmux: str, socket: str, *arguments: str) -> str:
    """What tmux printed. Raises `CannotJump` with its own words."""
    argv = [tmux, "-u", "-S", socket, *arguments]  # as `panes` asks
    try:
        ran = subprocess.run(  # noqa: S603  (argv, no shell)
            argv, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise CannotJump(f"tmux at {socket} does not answer") from None
    except OSError as error:
        raise CannotJump(f"{tmux} cannot be run: {error.strerror or error}") from error
    if ran.returncode:
        words = " ".join(ran.stderr.decode("utf-8", "replace").split())
        raise CannotJump(f"tmux at {socket} refuses: {words or f'exit code {ran.returncode}'}")
    return ran.stdout.decode("utf-8", "replace")


def _user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:  # deleted since, or known in another container alone
        return f"user {uid}"
