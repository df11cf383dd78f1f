"""`hermes-tui index`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.platform import locks
from hermes_tui.sessions.index import service
from tiny_home import TinyHome


def state(cli: Callable[..., Any], *options: str) -> dict[str, Any]:
    ran = cli(*options, "index", "status", "--json")
    assert ran.code == 0, ran.err
    answer: dict[str, Any] = json.loads(ran.out)
    return answer


def test_from_nothing_to_all_and_back(
    cli: Callable[..., Any], tiny_home: TinyHome, process_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", process_environment["PYTHONPATH"])
    tiny_home.add("one", turns=3)
    tiny_home.add("two", turns=2)
    assert state(cli)["state"] == "absent"
    made = cli("index", "rebuild")
    assert made.code == 0, made.err
    assert "complete" in made.out
    now = state(cli)
    assert now["state"] == "complete"
    assert now["everything"] == now["prose"] == now["sources"] >= 2
    assert now["messages"] >= 10
    assert now["size"] == Path(now["path"]).stat().st_size
    assert not now["running"]
    people = cli("index", "status")
    assert f"{now['sources']} of {now['sources']} session files" in people.out
    assert now["path"] in people.out
    search = ("sessions", "search", "question", "--agent", "tiny")
    assert cli(*search).err == "hermes-tui: 2 conversations found; indexed 100 %\n"
    for asked in ((*search, "--no-index"), ("--no-index", *search)):
        assert cli(*asked).err == "hermes-tui: 2 conversations found; all scanned\n"
    cleared = cli("index", "clear", "--json")
    assert json.loads(cleared.out)["state"] == "absent"
    assert not Path(now["path"]).exists()


def test_the_search_that_finds_the_index_damaged_has_it_made_anew(
    cli: Callable[..., Any], tiny_home: TinyHome, process_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", process_environment["PYTHONPATH"])
    tiny_home.add("one", turns=3)
    assert cli("index", "rebuild").code == 0
    path = Path(state(cli)["path"])
    status, content = path.stat(), bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    search = ("sessions", "search", "question", "--agent", "tiny")
    said = cli(*search).err
    assert said == (
        "hermes-tui: 1 conversation found; all scanned\n"
        "hermes-tui: the index was not asked: it was found to be damaged; it is made anew\n"
    )
    until = time.monotonic() + 180
    while cli(*search).err != "hermes-tui: 1 conversation found; indexed 100 %\n":
        assert time.monotonic() < until
        time.sleep(0.1)


def test_switched_off(cli: Callable[..., Any], tiny_home: TinyHome, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_home.add("one")
    assert state(cli, "--no-index")["state"] == "off"
    refused = cli("--no-index", "index", "rebuild")
    assert refused.code == 2
    assert "switched off" in refused.err
    settings = tiny_home.home / "config.toml"
    settings.write_text("index = false\n")
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(settings))
    assert state(cli)["state"] == "off"


def test_while_another_is_at_work(
    cli: Callable[..., Any], tiny_home: TinyHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TAKE_OVER", 0.2)
    tiny_home.add("one")
    path = Path(state(cli)["path"])
    held = locks.take(path.with_suffix(".lock"))
    assert held is not None
    assert state(cli)["running"]
    refused = cli("index", "clear")
    assert refused.code == 1
    assert "another program" in refused.err
    os.close(held)


def test_one_that_another_begins_meanwhile_is_waited_for(
    cli: Callable[..., Any], tiny_home: TinyHome, process_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", process_environment["PYTHONPATH"])
    tiny_home.add("one")
    poke, waits = service.IndexService.poke, list[bool]()

    def taken(ours: service.IndexService, **options: bool) -> float | None:
        held = locks.take(Path(state(cli)["path"]).with_suffix(".lock"))
        assert held is not None
        again = poke(ours, **options)
        waits.append(not ours.wait(2))
        os.close(held)
        return again

    monkeypatch.setattr(service.IndexService, "poke", taken)
    made = cli("index", "rebuild")
    assert made.code == 0, made.out
    assert waits == [True]
    assert state(cli)["state"] == "complete"


def test_a_cache_that_cannot_be_written(cli: Callable[..., Any], tiny_home: TinyHome) -> None:
    tiny_home.add("one")
    path = Path(state(cli)["path"]).parent
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rmdir()
    path.write_text("not a directory")
    failed = cli("index", "rebuild")
    assert failed.code != 0
    assert "Traceback" not in failed.err
    assert state(cli)["state"] == "absent"
