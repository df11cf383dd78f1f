"""Everything that the command line says of every sample store, plain and made long, beside plain readers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES
from dumped import Dump, differences, disagreements, dump_of
from hermes_tui.cli.execute import execute
from hermes_tui.cli.home_option import environment_of
from hermes_tui.platform import paths
from hermes_tui.sessions.index.service import index_file
from indexing import build
from long_stores import HOMES, SHAPES, long_store
from plain_all import READERS
from plain_session import Plain
from support import STORES

Home = Callable[[str, str, str], Path]
_SHAPES = ("plain", *SHAPES)
_SPOKEN = ("user", "assistant")
_WORD = re.compile(r"\b[a-zA-Z0-9]{6,}\b")
_SEARCHES = 2 if TIMES == 1 else 4 * TIMES
"""Words of a store that are searched for, with an index and without one."""
_EVERY = [
    pytest.param(agent, home, shape, id=f"{agent}-{home.replace('/', '-')}-{shape}")
    for agent, home in HOMES
    for shape in _SHAPES
]


@pytest.fixture
def home(tmp_path: Path, isolated_home: Path) -> Home:
    """A copy of a sample store, in one of its shapes."""

    def make(agent: str, name: str, shape: str) -> Path:
        target = tmp_path / name.replace("/", "-")
        if shape == "plain":
            return Path(shutil.copytree(STORES / agent / name, target, symlinks=True))
        return long_store(agent, name, target, SHAPES[shape]).home

    return make


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs the command line in this process; what it printed, decoded."""

    def command(home: Path, *arguments: str) -> Any:
        capfd.readouterr()
        code = execute(["--home", str(home), *arguments])
        out, err = capfd.readouterr()
        assert code == 0, (arguments, err)
        return json.loads(out)

    return command


def _dump(run: Callable[..., Any], home: Path, agent: str) -> Dump:
    return dump_of(lambda *arguments: run(home, *arguments), agent)


@pytest.mark.parametrize(("agent", "name", "shape"), _EVERY)
def test_every_field_is_what_plain_readers_say(
    agent: str, name: str, shape: str, home: Home, run: Callable[..., Any]
) -> None:
    place = home(agent, name, shape)
    plain = READERS[agent](place)
    assert plain
    dump = _dump(run, place, agent)
    assert [*disagreements(dump), *differences(plain, dump)] == []


@pytest.mark.parametrize(("agent", "name", "shape"), _EVERY)
def test_every_conversation_is_found_by_what_was_said(
    agent: str, name: str, shape: str, home: Home, run: Callable[..., Any]
) -> None:
    place = home(agent, name, shape)
    plain = READERS[agent](place)
    words = _words(plain)
    assert words
    for indexed in (False, True):
        if indexed:
            machine = environment_of(place)
            assert machine is not None
            assert build(machine, index_file(machine, paths.cache_dir()))
        for word, sessions in words.items():
            options = (
                "--agent",
                agent,
                "--rewound",
                "--limit",
                "1000",
                "--json",
                *(() if indexed else ("--no-index",)),
            )
            found = {row["sessionId"] for row in run(place, "sessions", "search", *options, "--", word)}
            missing = {one for one in sessions if not found & _relatives(one, plain)}
            assert not missing, (word, indexed)


def _words(plain: list[Plain]) -> dict[str, set[str]]:
    """Words of the first, the middle and the last message of each session, and of other branches; who has them. Not
    all: what is searched on is the same for all, and each search takes its time."""
    texts = {
        one.session_id: [*(said.text for said in one.said if said.role in _SPOKEN and said.text), *one.beside]
        for one in plain
    }
    held = {own: set(_WORD.findall("\n".join(said))) for own, said in texts.items()}
    chosen: list[str] = []
    for one in plain:
        said = texts[one.session_id]
        picked = [said[0], said[len(said) // 2], said[-1], *one.beside[:3]] if said else []
        chosen += [max(found, key=len) for text in picked if (found := _WORD.findall(text))]
    rare = sorted(dict.fromkeys(chosen), key=lambda word: sum(word in words for words in held.values()))
    return {word: {own for own, words in held.items() if word in words} for word in rare[:_SEARCHES]}


def _relatives(one: str, plain: list[Plain]) -> set[str]:
    """The sessions of the same conversation: a search names one of them."""
    parents = {other.session_id: other.parent for other in plain}

    def root(name: str) -> str:
        above = parents.get(name)
        return root(above) if above in parents else name

    return {name for name in parents if root(name) == root(one)}
