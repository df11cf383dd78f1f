"""The catalogue's file: private, never required, rebuilt when anything about it is wrong."""

from __future__ import annotations

import ast
import os
import re
import stat
from pathlib import Path

import pytest

from hermes_tui.sessions import checksummed_file
from hermes_tui.sessions.catalogue import cache
from hermes_tui.sessions.catalogue.cache import CachedSource, FirstPicture
from hermes_tui.sessions.checksummed_file import read_parts
from hermes_tui.sessions.own_environment import file_name
from session_adapters.base import Environment, Source
from session_adapters.model import SessionSummary
from support import REPOSITORY
from tiny_home import TinyHome


def cached(directory: Path) -> Path:
    (path,) = directory.glob("catalogue-*.msgpack")
    return path


def flipped(data: bytes, at: int) -> bytes:
    """The same with one bit of that byte the other way round."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_mode_and_place(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    before = os.umask(0)
    try:
        tiny_home.manager(tmp_path / "made" / "cache").catalogue.refresh()
    finally:
        os.umask(before)
    assert stat.S_IMODE(cached(tmp_path / "made" / "cache").stat().st_mode) == 0o600
    for directory in (tmp_path / "made", tmp_path / "made" / "cache"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert len(list((tmp_path / "made" / "cache").iterdir())) == 1  # no temporary file is left


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "junk", "version", "header"])
def test_a_damaged_file_is_rebuilt(
    tiny_home: TinyHome, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_home.add("one")
    directory = tmp_path / "cache"
    whole = tiny_home.manager(directory).catalogue.refresh()
    path = cached(directory)
    data = path.read_bytes()
    if damage == "version":
        monkeypatch.setattr(checksummed_file, "__version__", "99.0")
    else:
        pictured = data.index(b"labels")
        made = {
            "flip": flipped(data, pictured),
            "cut": data[:pictured],
            "empty": b"",
            "junk": b"\xff" * 99,
            "header": b"x" + data,
        }
        path.write_bytes(made[damage])
    catalogue = tiny_home.manager(directory).catalogue
    assert catalogue.saved().sessions == ()
    assert catalogue.refresh().sessions == whole.sessions
    assert tiny_home.manager(directory).catalogue.saved().sessions == whole.sessions


def test_a_first_picture_needs_no_entry_and_entries_need_no_picture(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("parent")
    tiny_home.add("child", parent="parent")
    directory = tmp_path / "cache"
    whole = tiny_home.manager(directory).catalogue.refresh()
    path = cached(directory)
    data = path.read_bytes()
    path.write_bytes(flipped(data, -20))  # inside the entries, which come last
    assert list(cache.load(path)) == []
    assert tiny_home.manager(directory).catalogue.saved().sessions == whole.sessions
    path.write_bytes(flipped(data, data.index(b"labels")))
    assert cache.load_picture(path) is None
    assert len(list(cache.load(path))) == 2


def test_of_many_entries_only_those_of_a_damaged_part_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of a long list one part is in memory at a time."""
    monkeypatch.setattr(cache, "TOGETHER", 10)
    names = [f"s{number:02}" for number in range(35)]
    path = tmp_path / "catalogue-x.msgpack"
    cache.save(path, [CachedSource(source=Source(agent="tiny", path=f"/{name}", stamp=(1,))) for name in names])
    assert [one.source.path for one in cache.load(path)] == [f"/{name}" for name in names]
    data = path.read_bytes()
    path.write_bytes(flipped(data, data.index(b"/s15")))
    assert [one.source.path for one in cache.load(path)] == [f"/{name}" for name in (*names[:10], *names[20:])]
    largest = max(len(part or b"") for part in read_parts(path, data.partition(b"\n")[0] + b"\n"))
    assert largest < len(data) / 3


@pytest.mark.parametrize("tail", [b"\0", b"\xff"])
def test_what_stands_behind_the_parts_is_passed_over_at_once_and_goes(
    tiny_home: TinyHome, tmp_path: Path, tail: bytes
) -> None:
    """Each 24 zeros were taken for a part, in every process: a hole of 100 MB took 11 s."""
    tiny_home.add("one")
    directory = tmp_path / "cache"
    whole = tiny_home.manager(directory).catalogue.refresh()
    path = cached(directory)
    data = path.read_bytes()
    path.write_bytes(data + tail * 10_000)
    found = list(read_parts(path, data.partition(b"\n")[0] + b"\n"))
    assert found[-1] is None and found.count(None) == 1
    assert tiny_home.manager(directory).catalogue.refresh().sessions == whole.sessions
    assert path.read_bytes() == data


def test_what_the_picture_shows_is_not_in_memory_a_second_time(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("parent")
    tiny_home.add("child", parent="parent")
    directory = tmp_path / "cache"
    tiny_home.manager(directory).catalogue.refresh()
    picture = cache.load_picture(cached(directory))
    assert picture is not None
    shown = {one.session_id: one for one in picture.sessions}
    read = {one.session_id: one for entry in cache.load(cached(directory), picture) for one in entry.summaries}
    assert read["parent"] is shown["parent"]
    assert (read["child"].kind, shown["child"].kind) == ("session", "fork")
    assert list(cache.load(cached(directory))) == list(cache.load(cached(directory), picture))


def test_a_session_that_cannot_be_kept_is_missing_in_the_first_picture_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalogue-x.msgpack"
    sessions = (
        SessionSummary(agent="a", session_id="1", raw={"big": 2**70}),
        SessionSummary(agent="a", session_id="2"),
    )
    cache.save(path, [], FirstPicture(sessions=sessions, labels={"a": ("An agent", "aa")}))
    picture = cache.load_picture(path)
    assert picture == FirstPicture(sessions=sessions[1:], labels={"a": ("An agent", "aa")})


def test_variables_that_change_with_the_working_directory_make_no_other_catalogue(tmp_path: Path) -> None:
    def name(**variables: str) -> str:
        return file_name(Environment(home=tmp_path, variables=variables), "catalogue", "")

    assert name() == name(PYENV_DIR="/somewhere") == name(XDG_RUNTIME_DIR="/run/1") != name(CODEX_HOME="/c")


def test_a_place_that_cannot_be_written_is_a_problem_and_no_obstacle(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    (tmp_path / "file").write_text("not a directory")
    manager = tiny_home.manager(tmp_path / "file" / "cache")
    assert [one.session_id for one in manager.list("tiny")] == ["one"]
    (problem,) = manager.catalogue.snapshot.problems
    assert problem.path.startswith(str(tmp_path / "file"))
    assert problem.reason.startswith("the list of sessions cannot be kept")
    assert problem in manager.doctor().problems
    (tmp_path / "file").unlink()
    manager.catalogue.close()
    assert [one.session_id for one in tiny_home.manager(tmp_path / "file" / "cache").catalogue.saved().sessions] == [
        "one"
    ]


def test_a_value_that_cannot_be_kept_costs_only_its_own_entry(tmp_path: Path) -> None:
    def entry(name: str, raw: dict[str, object]) -> CachedSource:
        source = Source(agent="tiny", path=f"/{name}", stamp=(1, 2))
        return CachedSource(source=source, summaries=(SessionSummary(agent="tiny", session_id=name, raw=raw),))

    path = tmp_path / "catalogue-x.msgpack"
    cache.save(path, [entry("a", {}), entry("b", {"big": 2**70}), entry("c", {"text": "é"})])
    assert [one.summaries[0].session_id for one in cache.load(path)] == ["a", "c"]
    assert list(cache.load(path))[1] == entry("c", {"text": "é"})


def test_other_agents_stay_in_the_file(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    directory = tmp_path / "cache"
    tiny_home.manager(directory, "tiny", "copy").catalogue.refresh()
    tiny_home.add("two")
    tiny_home.manager(directory, "copy").catalogue.refresh()
    both = tiny_home.manager(directory, "tiny", "copy").catalogue.saved()
    assert {one.unified_id for one in both.sessions} == {"tiny:one", "copy:one", "copy:two"}


def test_a_lost_picture_of_other_agents_is_no_reason_to_write(tiny_home: TinyHome, tmp_path: Path) -> None:
    """A glance is half a list, which is not worth keeping."""
    tiny_home.add("one")
    directory = tmp_path / "cache"
    tiny_home.manager(directory, "tiny").catalogue.refresh()
    path = cached(directory)
    cache.save(path, list(cache.load(path)))
    before = path.stat()
    catalogue = tiny_home.manager(directory, "copy").catalogue
    assert catalogue.saved().sessions == ()
    assert len(catalogue.glance().sessions) == 1
    assert path.stat() == before
    catalogue.refresh()
    assert {entry.source.agent for entry in cache.load(path)} == {"tiny", "copy"}


def test_failures_of_an_adapter_are_tried_again_by_the_next_process(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    broken = tiny_home.manager(tmp_path / "cache", "crashing", CRASH_IN="summaries:one")
    assert broken.catalogue.refresh().sessions == ()
    mended = tiny_home.manager(tmp_path / "cache", "crashing")
    assert [one.session_id for one in mended.catalogue.refresh().sessions] == ["one"]


def test_problems_are_remembered_with_their_source(tiny_home: TinyHome, tmp_path: Path) -> None:
    (tiny_home.store / "bad.jsonl").write_text("junk\n")
    first = tiny_home.manager(tmp_path / "cache").catalogue.refresh()
    second = tiny_home.manager(tmp_path / "cache").catalogue.refresh()
    assert first.problems == second.problems != ()


def test_catalogues_of_forgotten_homes_are_deleted(tiny_home: TinyHome, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir()
    old, recent = directory / "catalogue-old.msgpack", directory / "catalogue-recent.msgpack"
    for path in (old, recent):
        path.write_bytes(b"")
    os.utime(old, (1e9, 1e9))
    tiny_home.add("one")
    tiny_home.manager(directory).catalogue.refresh()
    assert not old.exists()
    assert recent.exists()


def test_whatever_moves_a_store_makes_another_catalogue(tmp_path: Path) -> None:
    """Every variable that an adapter's source names by what it stands for."""
    named = re.compile(r"[A-Z][A-Z_]*_(HOME|DIR|PATH|DSN|DB|PROFILE)|APPDATA")
    found: set[str] = set()
    for path in (REPOSITORY / "adapters").rglob("*.py"):
        strings = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        found |= {text for text in strings if isinstance(text, str) and named.fullmatch(text)}
    assert {"HERMES_TUI_HECTOR_DSN", "HERMES_TUI_HECTOR_PATH", "OPENCODE_DB", "OPENCLAW_CONFIG_PATH"} <= found

    def name_with(**variables: str) -> str:
        return file_name(Environment(home=tmp_path, variables=variables), "catalogue", "")

    plain = name_with()
    other = {name: name_with(**{name: "/elsewhere"}) for name in found}
    assert [name for name, made in other.items() if made == plain] == []
    for name in ("LD_LIBRARY_PATH", "MANPATH", "AWS_PROFILE", "PATH"):
        assert name_with(**{name: "/elsewhere"}) == plain
