"""OpenCode's own resume and fork as argv, and which sessions its processes have open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from opencode_store import adapter_for, listed
from plain_opencode import data_folder
from session_adapters.base import Environment, Liveness
from session_adapters.model import SessionSummary
from session_adapters.opencode.adapter import OpenCodeAdapter
from session_adapters.registry import adapter_class

Stored = Callable[..., Path]
ROOT, FORK = "ses_e02e0c598ffeIZdJ06jQFZGW2g", "ses_e02dff75cffeymOf2tT4o2Cc7C"


def test_it_is_registered_and_says_what_opencode_can() -> None:
    assert adapter_class("opencode") is OpenCodeAdapter
    assert (OpenCodeAdapter.name, OpenCodeAdapter.label, OpenCodeAdapter.badge) == ("opencode", "OpenCode", "oc")
    can = OpenCodeAdapter.capabilities
    assert (can.session_persistence, can.can_resume, can.can_fork) == ("sqlite", True, True)


def test_resume_and_fork(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home"))
    summary = listed(adapter)[ROOT]
    resume, fork = adapter.resume_command(summary), adapter.fork_command(summary)
    assert resume is not None and fork is not None
    assert resume.argv == ("opencode", "-s", ROOT)
    assert fork.argv == ("opencode", "-s", ROOT, "--fork")
    for command in (resume, fork):
        assert (command.cwd, command.env, command.warning) == ("/home/dev/shop", {}, None)


def test_an_id_that_looks_like_an_option_stays_an_id(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home"))
    summary = replace(listed(adapter)[ROOT], session_id="--rm; $(x)")
    command = adapter.fork_command(summary)
    assert command is not None and command.argv == ("opencode", "--session=--rm; $(x)", "--fork")


def test_another_store_is_handed_on(store: Stored, tmp_path: Path) -> None:
    home = store("opencode", "home-v2")
    local = str(data_folder(home) / "opencode-local.db")
    summary = listed(adapter_for(home))["ses_channelonly0000000000000"]
    command = adapter_for(home).resume_command(summary)
    assert command is not None and command.env == {"OPENCODE_DB": local}
    variables = {"XDG_DATA_HOME": str(home / ".local" / "share"), "OPENCODE_DB": local, "PATH": "/bin"}
    command = adapter_for(tmp_path, **variables).resume_command(summary)
    assert command is not None
    assert command.env == {"XDG_DATA_HOME": variables["XDG_DATA_HOME"], "OPENCODE_DB": local}


@pytest.mark.parametrize(
    ("home", "session_id", "words"),
    [
        ("home", FORK, "removes them for good"),
        ("home-json-1.1", "ses_e02c79bc3ffey6I5T3Va3wFka8", "only 1.2 takes those over"),
        ("home-json-0.5", "ses_e02c7cc78ffeGy0n24x6IDXbYL", "OpenCode 0.5 or older"),
        ("home-json-0.5", "ses_e02c7cc78ffeGy0n24x6IDXbYL", "in which directory"),
        ("home-v2", "ses_01767d5274c68deb5d403a960a", "written by OpenCode 2"),
        ("home-spec", "5bc8fbbc-bde5-4099-8164-d8399f767c45", "never wrote this layout"),
    ],
)
def test_each_hazard_is_named(home: str, session_id: str, words: str, store: Stored) -> None:
    adapter = adapter_for(store("opencode", home))
    summary = listed(adapter)[session_id]
    for command in (adapter.resume_command(summary), adapter.fork_command(summary)):
        assert command is not None and command.warning is not None
        assert words in command.warning and not command.warning.endswith(".")


def test_versions_that_cannot_fork_are_named(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home-json-1.1"))
    summary = listed(adapter)["ses_e02c79bc3ffey6I5T3Va3wFka8"]
    warnings = []
    for version in ("1.1.65", "1.0.185", "0.9", ""):
        command = adapter.fork_command(replace(summary, raw=summary.raw | {"version": version}))
        assert command is not None and command.warning is not None
        warnings.append("cannot fork" in command.warning)
    assert warnings == [False, True, True, True]


# Processes ---------------------------------------------------------------------------------------------------

BOOT = 1_795_000_000


def process(proc: Path, pid: int, cwd: str, started: float, *words: str) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")
    ticks = int((started - BOOT) * os.sysconf("SC_CLK_TCK"))
    (folder / "stat").write_text(f"{pid} (open code) S " + " ".join(["0"] * 18) + f" {ticks} 0")
    (folder / "cwd").symlink_to(cwd)
    (proc / "stat").write_text(f"cpu 1\nbtime {BOOT}\n")


def live(home: Path, proc: Path) -> dict[str, Liveness]:
    return dict(OpenCodeAdapter(Environment(home=home, proc=proc)).live())


def newest(found: dict[str, SessionSummary], cwd: str) -> SessionSummary:
    return max((one for one in found.values() if one.cwd == cwd), key=lambda one: int(one.raw["touched"]))


def test_a_process_has_the_session_it_names_or_the_newest_of_its_directory(store: Stored, tmp_path: Path) -> None:
    home = store("opencode", "home")
    assert live(home, tmp_path / "proc-none") == {}
    last = newest(listed(adapter_for(home)), "/home/dev/shop")
    touched = int(last.raw["touched"]) / 1000
    proc = tmp_path / "proc"
    process(proc, 11, "/home/dev/shop", touched - 60, "/usr/bin/opencode")
    process(proc, 12, "/home/dev/api", touched - 60, "node", "/opt/bin/opencode", "-s", ROOT)
    process(proc, 13, "/home/dev/api", touched - 60, "vim", "notes", "opencode")
    assert live(home, proc) == {
        last.session_id: Liveness(pid=11, status="open in this directory"),
        ROOT: Liveness(pid=12),
    }


def test_a_fork_and_a_process_that_wrote_nothing_yet_have_none(store: Stored, tmp_path: Path) -> None:
    home = store("opencode", "home")
    touched = int(newest(listed(adapter_for(home)), "/home/dev/shop").raw["touched"]) / 1000
    proc = tmp_path / "proc"
    process(proc, 11, "/home/dev/shop", touched + 60, "opencode")
    process(proc, 12, "/nowhere", touched - 60, "opencode", "--session", ROOT, "--fork")
    process(proc, 13, "/nowhere", touched - 60, "opencode", f"--session={FORK}")
    assert live(home, proc) == {FORK: Liveness(pid=13)}


def test_a_process_of_the_days_of_files_has_one_of_those(store: Stored, tmp_path: Path) -> None:
    home = store("opencode", "home-json-1.1")
    proc = tmp_path / "proc"
    session_id = "ses_e02c79bc3ffey6I5T3Va3wFka8"
    changed = max(source.modified for source in adapter_for(home).sources(lambda problem: None))
    process(proc, 11, "/home/dev/api", changed - 60, "opencode")
    assert live(home, proc) == {session_id: Liveness(pid=11, status="open in this directory")}


def test_a_lock_that_was_left_behind_says_nothing(store: Stored, tmp_path: Path) -> None:
    home = store("opencode", "home")
    lock = home / ".local" / "state" / "opencode" / "locks" / "abc.lock"
    lock.mkdir(parents=True)
    (lock / "meta.json").write_text('{"pid": 1, "hostname": "x", "createdAt": 1}')
    assert live(home, tmp_path / "proc-none") == {}
