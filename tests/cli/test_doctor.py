"""`hermes-tui doctor`: names file, place and reason, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiny_home import TinyHome, tree_hash

Cli = Callable[..., Any]


def agent(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in report["agents"] if one["agent"] == name)
    return dict(found)


def test_places_counts_and_problems(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", turns=2)
    (tiny_home.store / "bad.jsonl").write_text("{}\njunk\n")
    ran = cli("doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    tiny = agent(json.loads(ran.out), "tiny")
    assert tiny["label"] == "Tiny Agent"
    assert tiny["places"] == [{"path": str(tiny_home.store), "layout": "JSON lines", "exists": True, "profile": None}]
    assert (tiny["sessions"], tiny["messages"], tiny["incomplete"]) == (2, 4, 0)
    (problem,) = tiny["problems"]
    assert problem["path"] == str(tiny_home.store / "bad.jsonl")
    assert problem["place"] == "byte 3"
    assert problem["reason"] == "not JSON"
    text = cli("doctor").out
    assert f"  ! {tiny_home.store / 'bad.jsonl'}, byte 3: not JSON\n" in text
    assert f"  found   {tiny_home.store}  (JSON lines)\n" in text
    assert "Tiny Agent (tiny): 2 sessions, 4 messages\n" in text


def test_damage_in_the_middle_of_a_large_file_is_found(tiny_home: TinyHome, cli: Cli) -> None:
    path = tiny_home.add("large", turns=500, filler=300)
    lines = path.read_bytes().splitlines(keepends=True)
    offset = sum(map(len, lines[:500]))
    lines[500] = b"\x00flipped\n"
    path.write_bytes(b"".join(lines))
    tiny = agent(json.loads(cli("doctor", "--json").out), "tiny")
    assert [problem["place"] for problem in tiny["problems"]] == [f"byte {offset}"]
    assert (tiny["messages"], tiny["incomplete"]) == (999, 0)


def test_many_damaged_places_of_one_file_take_a_few_lines(tiny_home: TinyHome, cli: Cli) -> None:
    (tiny_home.store / "bad.jsonl").write_text("{}\n" + "junk\n" * 9)
    text = cli("doctor").out.split("Tiny Agent (tiny)")[1].split("\n\n")[0]
    assert text.count("bad.jsonl, byte") == 3
    assert f"  ! {tiny_home.store / 'bad.jsonl'}: 6 more places (all of them: --json)" in text
    assert len(agent(json.loads(cli("doctor", "--json").out), "tiny")["problems"]) == 9


def test_a_broken_adapter_is_named(tiny_home: TinyHome, cli: Cli) -> None:
    ran = cli("doctor")
    assert "  ! the adapter cannot be used (ModuleNotFoundError: No module named 'no_such_module')\n" in ran.out
    assert "is not a session_adapters.base.Adapter" in ran.out
    assert ran.out.endswith("2 problems\n")


def test_our_own_directories(cli: Cli, isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    directories = {one["purpose"]: one for one in json.loads(cli("doctor", "--json").out)["directories"]}
    assert set(directories) == {"cache", "settings", "state and log", "styles"}
    assert directories["cache"]["path"] == str(isolated_home / ".cache" / "hermes-tui")
    assert directories["settings"]["writable"] is False
    assert directories["styles"]["exists"] is True


def test_hostile_names_do_no_harm(tiny_home: TinyHome, cli: Cli) -> None:
    (tiny_home.store / "\x1b]0;owned\x07.jsonl").write_text("junk\n")
    for arguments in (("doctor",), ("doctor", "--json")):
        assert not set(cli(*arguments).out) & set("\x1b\x07")


def test_nothing_is_changed(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    before = tree_hash(tiny_home.home)
    cli("doctor")
    assert tree_hash(tiny_home.home) == before
