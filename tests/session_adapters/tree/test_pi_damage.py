"""Damaged Pi and omp files: nothing raises but what the contract names, and neighbours are listed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from chances import examples
from damage import LINE_DAMAGE
from session_adapters.base import Environment, SessionMissing, SessionUnreadable
from session_adapters.model import Problem, SessionSummary
from session_adapters.omp import OmpAdapter
from session_adapters.pi import PiAdapter
from session_adapters.reading.lines import LINE_LIMIT
from session_adapters.tree.adapter import TreeAdapter
from support import STORES

_TARGETS = {
    "pi": "*_01a1fd3c-75fc-754d-bae2-a43c338a7401.jsonl",
    "omp": "*_01a1fd41-37ae-76fb-adc8-3c74fa0cbc12.jsonl",
    "pi-hard": "*_960d5a8f-9a65-4aaf-9141-25844d25deb3.jsonl",
    "pi-document": "main.jsonl",
}


class _Stores:
    """One copy of each store; the target file is replaced for each example."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def damaged(self, name: str, damage: Callable[[bytes], bytes]) -> tuple[TreeAdapter, Path]:
        agent, _, home = name.partition("-")
        source = STORES / agent / {"": "home", "hard": "home-hard", "document": "home-spec"}[home]
        target = self.root / name
        if not target.exists():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
            for path in target.rglob("*"):
                path.chmod(path.stat().st_mode | 0o200)
        original = next(source.rglob(_TARGETS[name]))
        path = target / original.relative_to(source)
        path.write_bytes(damage(original.read_bytes()))
        environment = Environment(home=target)
        return (OmpAdapter(environment) if agent == "omp" else PiAdapter(environment)), path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> _Stores:
    return _Stores(tmp_path_factory.mktemp("damage"))


def _read_all(adapter: TreeAdapter, problems: list[Problem]) -> list[SessionSummary]:
    found: list[SessionSummary] = []
    for source in adapter.sources(problems.append):
        for summary in adapter.summaries(source, problems.append):
            found.append(summary)
            adapter.summaries(source, problems.append, exact=True)
            try:
                session = adapter.session(source, summary.session_id)
            except (SessionMissing, SessionUnreadable) as error:
                assert "\n" not in str(error)
                continue
            assert len(session.messages) == session.message_count
            transcript = adapter.open(source, summary.session_id)
            while not transcript.complete and transcript.earlier():
                pass
            assert transcript.messages == list(session.messages)
            for branch in transcript.branches:
                transcript.switch(branch.leaf_id)
    return list(adapter.relate(found))


@pytest.mark.parametrize("name", list(_TARGETS))
@examples(20)
@given(damage=LINE_DAMAGE)
def test_damage(name: str, stores: _Stores, damage: Callable[[bytes], bytes]) -> None:
    adapter, path = stores.damaged(name, damage)
    problems: list[Problem] = []
    found = _read_all(adapter, problems)
    others = {one.session_id for one in _read_all(stores.damaged(name, lambda data: data)[0], [])}
    hit = path.parent.name if name == "pi-document" else path.stem.partition("_")[2]
    assert others - {hit} <= {one.session_id for one in found}
    assert len({one.session_id for one in found}) == len(found)
    assert {problem.path for problem in problems if problem.path.endswith(".jsonl")} <= {
        str(one) for one in path.parent.rglob("*.jsonl")
    }


def test_every_truncation_of_a_file_reads_what_is_whole(stores: _Stores) -> None:
    for end in range(0, 3000, 7):
        adapter, path = stores.damaged("omp", lambda data, end=end: data[:end])  # type: ignore[misc]
        whole = sum(json.loads(line)["type"] == "message" for line in path.read_bytes().split(b"\n")[:-1] if line)
        for source in adapter.sources(lambda problem: None):
            if source.path == str(path) and path.stat().st_size > 400:
                (summary,) = adapter.summaries(source, lambda problem: None)
                assert summary.message_count in (whole, whole + 1)  # a last record that lacks its newline only


def test_glued_lines_lose_nothing(stores: _Stores) -> None:
    adapter, path = stores.damaged("pi", lambda data: data)
    source = adapter.find("01a1fd3c-75fc-754d-bae2-a43c338a7401")
    assert source is not None
    whole = adapter.session(source, source.session_id).messages
    adapter, path = stores.damaged("pi", lambda data: data.replace(b"}\n{", b"}{"))
    assert path.read_bytes().count(b"\n") <= 1
    assert adapter.session(source, source.session_id).messages == whole


def test_a_record_of_other_types_is_named(stores: _Stores) -> None:
    adapter, path = stores.damaged("pi", lambda data: data.replace(b'"stopReason":"toolUse"', b'"stopReason":[1]', 1))
    source = adapter.find("01a1fd3c-75fc-754d-bae2-a43c338a7401")
    assert source is not None
    problems: list[Problem] = []
    (summary,) = adapter.summaries(source, problems.append)
    assert summary.warnings == 1
    transcript = adapter.open(source, source.session_id)
    data = path.read_bytes()
    start = data.rindex(b"\n", 0, data.index(b'"stopReason":[1]')) + 1
    assert [problem.place for problem in transcript.problems] == [f"byte {start}"]
    said = Problem(
        agent="pi", path=str(path), place=f"byte {start}", reason="the line is damaged", session_id=summary.session_id
    )
    assert problems == [said]


def test_of_much_damage_the_first_places_are_named(stores: _Stores) -> None:
    adapter, path = stores.damaged("pi", lambda data: data + b"nothing\n" * 25)
    source = next(one for one in adapter.sources(lambda problem: None) if one.path == str(path))
    problems: list[Problem] = []
    (summary,) = adapter.summaries(source, problems.append, exact=True)
    end = path.stat().st_size - 8 * 25
    assert [problem.place for problem in problems[:10]] == [f"byte {end + 8 * n}" for n in range(10)]
    assert [(one.place, one.reason) for one in problems[10:]] == [
        (f"after byte {end + 72}", "15 more damaged places")
    ]
    assert summary.warnings == 25


def test_a_line_too_long_to_hold(tmp_path: Path) -> None:
    path = tmp_path / ".pi" / "agent" / "sessions" / "--x--" / "2026-01-01T00-00-00-000Z_long.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(b'{"type":"session","version":3,"id":"long","cwd":"/x"}\n')
        file.write(b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"before"}}\n')
        file.write(b'{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":"')
        for _ in range((LINE_LIMIT >> 20) + 2):
            file.write(b"x" * (1 << 20))
        file.write(b'y"}}\n')
        file.write(b'{"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"after"}}\n')
    adapter = PiAdapter(Environment(home=tmp_path))
    source = adapter.find("long")
    assert source is not None
    session = adapter.session(source, "long")
    assert [message.content for message in session.messages] == ["before", "after"]
    assert session.warnings == 1
    assert [problem.reason.partition(" (")[0] for problem in adapter.open(source, "long").problems] == [
        "the line is too long to be read"
    ]


def test_an_unreadable_neighbour_hides_nothing(stores: _Stores, tmp_path: Path) -> None:
    shutil.copytree(STORES / "pi" / "home", tmp_path / "home", copy_function=shutil.copyfile)
    folder = tmp_path / "home" / ".pi" / "agent" / "sessions" / "--home-dev-api--"
    (folder / "2026-01-01T00-00-00-000Z_dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "2026-01-01T00-00-00-000Z_folder.jsonl").mkdir()
    adapter = PiAdapter(Environment(home=tmp_path / "home"))
    problems: list[Problem] = []
    assert len(_read_all(adapter, problems)) == 7
    assert [problem.reason for problem in problems] == ["is a link to a file that is not there"]


@pytest.mark.parametrize("agent", [PiAdapter, OmpAdapter])
def test_what_is_no_file_is_named_and_not_opened(agent: type[TreeAdapter], tmp_path: Path) -> None:
    folder = tmp_path / f".{agent.name}" / "agent" / "sessions" / "--work--"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "2026-11-21T10-00-00-000Z_pipe.jsonl")
    (folder / "2026-11-21T10-00-01-000Z_nowhere.jsonl").symlink_to(tmp_path / "nowhere")
    problems: list[Problem] = []
    assert list(agent(Environment(home=tmp_path)).sources(problems.append)) == []
    assert {Path(problem.path).name[25:]: problem.reason for problem in problems} == {
        "pipe.jsonl": "is not a regular file",
        "nowhere.jsonl": "is a link to a file that is not there",
    }
