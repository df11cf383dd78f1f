"""Cursor's own resume as argv, and which chats its processes have open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from cursor_store import CHAT, EDITOR, HELPER, IN_WAL, OLD, SPOKEN, TEXT, adapter_for, listed
from session_adapters.base import Environment, Liveness
from session_adapters.cursor.adapter import CursorAdapter
from session_adapters.registry import adapter_class

Stored = Callable[..., Path]


def test_it_is_registered_and_says_what_cursor_can() -> None:
    assert adapter_class("cursor") is CursorAdapter
    assert (CursorAdapter.name, CursorAdapter.label, CursorAdapter.badge) == ("cursor", "Cursor", "cu")
    can = CursorAdapter.capabilities
    assert (can.session_persistence, can.can_resume, can.can_fork) == ("sqlite", True, False)


def test_a_chat_is_resumed_in_its_directory(store: Stored) -> None:
    adapter = adapter_for(store("cursor", "home"))
    for session_id, cwd in ((CHAT, "/home/dev/shop"), (IN_WAL, "/home/dev/api"), (OLD, "/home/dev/shop")):
        summary = listed(adapter)[session_id]
        command = adapter.resume_command(summary)
        assert command is not None
        assert command.argv == ("cursor-agent", "--resume", session_id)
        assert (command.cwd, command.env, command.warning) == (cwd, {}, None)
        assert adapter.fork_command(summary) is None


@pytest.mark.parametrize("session_id", [SPOKEN, HELPER, TEXT, EDITOR])
def test_what_the_cli_cannot_go_on_with_has_no_command(session_id: str, store: Stored) -> None:
    adapter = adapter_for(store("cursor", "home"))
    assert adapter.resume_command(listed(adapter)[session_id]) is None


def test_an_id_that_looks_like_an_option_stays_an_id(store: Stored) -> None:
    adapter = adapter_for(store("cursor", "home"))
    summary = replace(listed(adapter)[CHAT], session_id="--rm; $(x)")
    command = adapter.resume_command(summary)
    assert command is not None and command.argv == ("cursor-agent", "--resume=--rm; $(x)")


def test_another_store_is_handed_on(store: Stored) -> None:
    home = store("cursor", "home")
    summary = listed(adapter_for(home))[CHAT]
    named = {"CURSOR_CONFIG_DIR": str(home / ".cursor"), "CURSOR_DATA_DIR": "/x"}
    command = adapter_for(home, **named, PATH="/bin").resume_command(summary)
    assert command is not None and command.env == named


def test_each_hazard_is_named(store: Stored, tmp_path: Path) -> None:
    """A chat is found by the digest of its directory alone."""
    adapter = adapter_for(store("cursor", "home"))
    summary = listed(adapter)[CHAT]
    (tmp_path / "link").symlink_to("/home/dev/shop")
    document = adapter_for(store("cursor", "home-spec"))
    warnings = []
    for at, one in (
        (adapter, replace(summary, cwd=None)),
        (adapter, replace(summary, cwd="/home/dev/other")),
        (adapter, replace(summary, cwd=str(tmp_path / "link"))),
        (document, listed(document)["1"]),
    ):
        command = at.resume_command(one)
        assert command is not None
        assert command.warning is None or not command.warning.endswith(".")
        warnings.append(command.warning or "")
    assert "or it is not found" in warnings[0]
    assert "filed under another directory" in warnings[1]
    assert warnings[2] == "", "a link to it is the same"
    assert "never wrote this layout" in warnings[3]


# Processes ---------------------------------------------------------------------------------------------------

BOOT = 1_795_000_000


def process(proc: Path, pid: int, cwd: str, started: float, *words: str, files: tuple[str, ...] = ()) -> None:
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")
    ticks = int((started - BOOT) * os.sysconf("SC_CLK_TCK"))
    (folder / "stat").write_text(f"{pid} (cursor agent) S " + " ".join(["0"] * 18) + f" {ticks} 0")
    (folder / "cwd").symlink_to(cwd)
    for number, name in enumerate(files):
        (folder / "fd" / str(number)).symlink_to(name)
    (proc / "stat").write_text(f"cpu 1\nbtime {BOOT}\n")


def live(home: Path, proc: Path) -> dict[str, Liveness]:
    return dict(CursorAdapter(Environment(home=home, proc=proc)).live())


def changed(home: Path, session_id: str) -> float:
    source = adapter_for(home).find(session_id)
    assert source is not None
    return source.modified


def test_a_process_has_the_chat_whose_database_it_holds(store: Stored, tmp_path: Path) -> None:
    home = store("cursor", "home")
    assert live(home, tmp_path / "none") == {}
    proc = tmp_path / "proc"
    held = f"{home}/.cursor/chats/11e9fe063b91149eb10c6daf331adfaa/{CHAT}/store.db"
    process(
        proc, 11, "/home/dev/api", BOOT, "node", "/opt/cursor-agent/versions/1/index.js", files=("/dev/null", held)
    )
    process(proc, 12, "/home/dev/shop", BOOT, "/usr/bin/vim", held, files=(held,))
    process(proc, 13, "/home/dev/shop", BOOT, "/usr/share/cursor/cursor", files=(held,))
    assert live(home, proc) == {CHAT: Liveness(pid=11)}


def test_a_process_has_the_chat_that_it_was_started_for(store: Stored, tmp_path: Path) -> None:
    home = store("cursor", "home")
    proc = tmp_path / "proc"
    process(proc, 11, "/nowhere", BOOT, "/home/dev/.local/bin/cursor-agent", "--resume", CHAT)
    process(proc, 12, "/nowhere", BOOT, "agent", f"--resume={IN_WAL}")
    process(proc, 13, "/nowhere", BOOT, "agent", "--resume", "--force")
    assert live(home, proc) == {CHAT: Liveness(pid=11), IN_WAL: Liveness(pid=12)}


def test_else_the_newest_of_its_directory_if_that_changed_since(store: Stored, tmp_path: Path) -> None:
    home = store("cursor", "home")
    newest = max((CHAT, OLD), key=lambda key: changed(home, key))
    proc = tmp_path / "proc"
    process(proc, 11, "/home/dev/shop", changed(home, newest) - 60, "cursor-agent")
    process(proc, 12, "/home/dev/api", changed(home, IN_WAL) + 60, "cursor-agent")
    process(proc, 13, "/home/dev/api", changed(home, IN_WAL) - 60, "cursor-agent", "worker-server")
    assert live(home, proc) == {newest: Liveness(pid=11, status="open in this directory")}
