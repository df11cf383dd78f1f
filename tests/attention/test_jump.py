"""Jumping to the tmux pane of a process: real servers, windows and terminals."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.attention.delivery import is_in_view, passthrough_problem
from hermes_tui.attention.jump import CannotJump, jump
from tmuxes import Client, Tmux, until

NOBODY = 65534
SLEEP = ["sleep", "600"]


def pid_in(tmux: Tmux, target: str) -> int:
    return int(tmux.run("display-message", "-p", "-t", target, "#{pane_pid}"))


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    """Two sessions: `0` with a window, `jobs` with two, the second of them split."""
    with Tmux((80, 24), SLEEP, {}) as server:
        server.run("new-session", "-d", "-s", "jobs", *SLEEP)
        server.run("new-window", "-t", "jobs", *SLEEP)
        server.run("split-window", "-t", "jobs:1", *SLEEP)
        server.run("select-window", "-t", "jobs:0")
        yield server


@pytest.fixture
def clients(tmux: Tmux) -> Iterator[list[Client]]:
    """Two terminals, both on session `0`."""
    found = [Client(tmux, "0"), Client(tmux, "0")]
    yield found
    for one in found:
        one.close()


def inside(tmux: Tmux, target: str = "0:0.0") -> dict[str, str]:
    """The variables of a program in a pane."""
    pane = tmux.run("display-message", "-p", "-t", target, "#{pane_id}").strip()
    return {"PATH": os.environ["PATH"], "TMUX": f"{tmux.socket},1,0", "TMUX_PANE": pane}


def test_the_terminal_whose_key_it_was_ends_in_the_pane(tmux: Tmux, clients: list[Client]) -> None:
    one, other = clients
    one.press("x")
    assert jump(pid_in(tmux, "jobs:1.0"), variables=inside(tmux)).name == "jobs:1.0"
    assert (one.shown(), other.shown()) == ("jobs:1.0", "0:0.0")
    other.press("x")
    jump(pid_in(tmux, "jobs:1.1"), variables=inside(tmux))
    assert other.shown() == "jobs:1.1"
    # Whoever sits before another session is left alone, however lately a key was pressed there.
    tmux.run("switch-client", "-c", other.name, "-t", "0:0.0")
    one.press("x")
    jump(pid_in(tmux, "jobs:0.0"), variables=inside(tmux))
    assert other.shown() == "jobs:0.0"


def test_the_terminal_that_is_named_ends_in_the_pane(tmux: Tmux, clients: list[Client]) -> None:
    one, other = clients
    one.press("x")
    jump(pid_in(tmux, "jobs:1.1"), client=other.name, variables=inside(tmux))
    assert (one.shown(), other.shown()) == ("0:0.0", "jobs:1.1")
    with pytest.raises(CannotJump, match="refuses: can't find client"):
        jump(pid_in(tmux, "jobs:1.1"), client="nobody's", variables=inside(tmux))


def test_nothing_is_typed_into_a_pane(tmux: Tmux, clients: list[Client]) -> None:
    tmux.run("respawn-pane", "-k", "-t", "jobs:0", "cat")
    clients[0].press("x")
    jump(pid_in(tmux, "jobs:0"), variables=inside(tmux))
    assert clients[0].shown() == "jobs:0.0"
    assert tmux.run("capture-pane", "-p", "-t", "jobs:0").strip() == ""


def test_a_dead_pane_is_said(tmux: Tmux, clients: list[Client]) -> None:
    tmux.run("set-option", "-g", "remain-on-exit", "on")
    pid = pid_in(tmux, "jobs:1.1")
    os.kill(pid, 9)
    until(lambda: tmux.run("display-message", "-p", "-t", "jobs:1.1", "#{pane_dead}").strip() == "1")
    with pytest.raises(CannotJump, match=f"process {pid}, which had the session open, has ended") as caught:
        jump(pid, variables=inside(tmux))
    assert not caught.value.is_open
    assert clients[0].shown() == "0:0.0"


def test_where_no_terminal_has_that_name_nobody_is_shown_another_window(tmux: Tmux, clients: list[Client]) -> None:
    tmux.run("switch-client", "-c", clients[0].name, "-t", "jobs:0.0")
    with pytest.raises(CannotJump, match="can't find client"):
        jump(pid_in(tmux, "jobs:1.1"), client="/dev/pts/none", variables=inside(tmux))
    assert clients[0].shown() == "jobs:0.0"


def test_outside_of_the_server_its_command_is_said(tmux: Tmux, tmp_path: Path) -> None:
    out = {"PATH": os.environ["PATH"], "TMUX_TMPDIR": str(tmp_path)}
    folder = tmp_path / f"tmux-{os.getuid()}"
    folder.mkdir()
    (folder / "default").symlink_to(tmux.socket)
    pid = pid_in(tmux, "jobs:1.1")
    attach = f"tmux -S {folder / 'default'} attach-session -t jobs:1.1"
    with pytest.raises(CannotJump, match=f"this terminal is not in tmux; .* jobs:1.1, which `{attach}` shows$"):
        jump(pid, variables=out)
    with (
        Tmux((80, 24), SLEEP, {}) as another,
        pytest.raises(CannotJump, match=f"another tmux server, which `{attach}` shows$"),
    ):
        jump(pid, variables={**inside(another), **out})
    assert tmux.run("display-message", "-p", "-t", "jobs", "#{window_index}").strip() == "0", "nothing was changed"


def test_a_server_whose_socket_is_elsewhere_is_not_said_to_be_silent(tmux: Tmux, tmp_path: Path) -> None:
    out = {"PATH": os.environ["PATH"], "TMUX_TMPDIR": str(tmp_path)}
    with pytest.raises(
        CannotJump, match=f"does not answer, or whose socket is not in {tmp_path}/tmux-{os.getuid()}, "
    ):
        jump(pid_in(tmux, "jobs:1.1"), variables=out)


def test_no_terminal_no_pane_no_process_no_tmux_are_said(tmux: Tmux, tmp_path: Path) -> None:
    variables = {**inside(tmux), "TMUX_TMPDIR": str(tmp_path)}
    with pytest.raises(CannotJump, match="no terminal is attached to the tmux session that this runs in"):
        jump(pid_in(tmux, "jobs:1.1"), variables=variables)
    with subprocess.Popen(SLEEP, start_new_session=True) as alone:
        with pytest.raises(CannotJump, match=f"process {alone.pid} runs in no pane of tmux") as caught:
            jump(alone.pid, variables=variables)
        assert caught.value.is_open
        with pytest.raises(CannotJump, match="tmux is not on PATH"):
            jump(alone.pid, variables={"PATH": str(tmp_path)})
        alone.kill()
    with pytest.raises(CannotJump, match="no process has the session open"):
        jump(None, variables=variables)


def test_a_made_up_process_is_in_no_pane(tmux: Tmux, clients: list[Client], tmp_path: Path) -> None:
    pid = pid_in(tmux, "jobs:1.1")
    (tmp_path / str(pid)).mkdir()
    with pytest.raises(CannotJump, match="made up"):
        jump(pid, variables=inside(tmux), proc=tmp_path)
    assert clients[0].shown() == "0:0.0"


def as_nobody(function: Callable[[], Any]) -> str:
    """What `function` fails with in a process of another user's."""
    out, end = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            function()
            os.write(end, b"it did it")
        except BaseException as error:
            os.write(end, str(error).encode())
        finally:
            os._exit(0)
    os.close(end)
    with os.fdopen(out) as words:
        said = words.read()
    os.waitpid(child, 0)
    return said


def test_what_belongs_to_another_user_is_said(tmux: Tmux) -> None:
    variables = inside(tmux)
    pid = pid_in(tmux, "jobs:1.1")
    if os.getuid():  # a socket of ours that we may not use stands for another user's
        tmux.socket.chmod(0)
        with pytest.raises(CannotJump, match="a tmux server that does not answer"):
            jump(pid, variables=variables)
        tmux.socket.chmod(0o700)
        return
    assert as_nobody(lambda: jump(pid, variables=variables)) == (
        f"process {pid}, which has the session open, belongs to user root"
    )
    tmux.run("respawn-pane", "-k", "-t", "jobs:1.1", f"setpriv --reuid {NOBODY} --clear-groups sleep 600")
    pid = pid_in(tmux, "jobs:1.1")
    until(lambda: Path(f"/proc/{pid}").stat().st_uid == NOBODY)
    assert as_nobody(lambda: jump(pid, variables=variables)) == (
        f"process {pid} runs in a tmux of user root, so its pane cannot be gone to"
    )


def test_what_tmux_says_of_the_pane_that_we_run_in(tmux: Tmux) -> None:
    variables = inside(tmux)
    assert not is_in_view(variables), "no terminal is attached"
    client = Client(tmux, "0")
    assert is_in_view(variables)
    assert not is_in_view(inside(tmux, "jobs:1.0"))
    # A second session has the same windows, and shows it while the first shows another.
    tmux.run("new-session", "-d", "-s", "again", "-t", "0")
    tmux.run("new-window", "-t", "0:1", *SLEEP)
    other = Client(tmux, "again")
    tmux.run("select-window", "-t", "again:0")
    tmux.run("select-window", "-t", "0:1")
    client.press("x")
    until(lambda: (client.shown(), other.shown()) == ("0:1.0", "again:0.0"))
    assert is_in_view(variables)
    tmux.run("select-window", "-t", "again:1")
    assert not is_in_view(variables)
    other.close()
    client.close()
    assert is_in_view({"PATH": os.environ["PATH"]}), "outside of tmux nobody can tell"
    until(lambda: "allow-passthrough is off" in passthrough_problem("osc9", variables))  # tmux may be slow to answer
    assert passthrough_problem("bell", variables) == passthrough_problem("osc9", {}) == ""
    tmux.run("set-option", "-g", "allow-passthrough", "on")
    assert passthrough_problem("osc9", variables) == ""


def test_a_process_whose_end_nobody_has_noted_has_ended(tmux: Tmux) -> None:
    with subprocess.Popen(["true"]) as child:
        until(lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2][0] == "Z")
        with pytest.raises(CannotJump, match="has ended"):
            jump(child.pid, variables=inside(tmux))
