"""An adapter that is not asked would have found nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from session_adapters.base import Environment
from session_adapters.presence import PLACES, may_have_sessions
from session_adapters.registry import BUILT_IN, adapter_class
from support import STORES

SHARED = {"config": "XDG_CONFIG_HOME", "data": "XDG_DATA_HOME", "state": "XDG_STATE_HOME", "working": "PWD"}
HOMES = [
    (agent, path.relative_to(STORES))
    for agent in sorted(BUILT_IN)
    for path in (STORES / agent).rglob("home*")
    if path.is_dir()
]
_LOOKED: list[str] = []
_NOTED = [False]
"""A hook cannot be taken back: whether it is to keep what it is told. It would keep it for as long as tests run."""


def _note(event: str, given: tuple[object, ...]) -> None:
    if _NOTED[0] and event in ("open", "os.listdir", "os.scandir") and isinstance(given[0], str | os.PathLike):
        _LOOKED.append(os.fspath(given[0]))


sys.addaudithook(_note)


class Asked(Mapping[str, str]):
    """Variables, none of which is set; keeps what they were asked for."""

    def __init__(self) -> None:
        self.names = set[str]()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("agent", sorted(PLACES))
def test_all_places_and_variables_of_an_adapter_are_known(agent: str, tmp_path: Path) -> None:
    """Where there is nothing: whatever is looked at, and whatever could have moved it, stands in the table."""
    places, asked = PLACES[agent], Asked()
    adapter = adapter_class(agent)(Environment(home=tmp_path, variables=asked))
    _LOOKED.clear()
    _NOTED[0] = True
    try:
        roots = [str(root.path) for root in adapter.roots()]
        assert not list(adapter.sources(lambda problem: pytest.fail(problem.reason)))
    finally:
        _NOTED[0] = False
    looked = {Path(path) for path in (*roots, *_LOOKED) if path.startswith(str(tmp_path))}
    known = [*(tmp_path / name for name in places.home)]
    known += [tmp_path / ".config" / name for name in places.config]
    known += [tmp_path / ".local" / "share" / name for name in places.data]
    known += [tmp_path / ".local" / "state" / name for name in places.state]
    known += [tmp_path / "Library" / "Application Support" / name for name in places.library]
    for path in looked - {tmp_path}:
        assert any(path.is_relative_to(place) for place in known), path
    moving = asked.names - {"TZ"}  # in which zone its times are: no place
    assert moving <= {*places.variables, *(SHARED[kind] for kind in SHARED if getattr(places, kind))}
    assert not may_have_sessions(agent, Environment(home=tmp_path))


@pytest.mark.parametrize(("agent", "relative"), HOMES, ids=str)
def test_where_there_are_sessions_there_may_be(agent: str, relative: Path, store: Callable[..., Path]) -> None:
    environment = Environment(home=store(*relative.parts))
    sources = list(adapter_class(agent)(environment).sources(lambda problem: None))
    assert not sources or may_have_sessions(agent, environment)


@pytest.mark.parametrize("agent", sorted(PLACES))
def test_nothing_is_known_where_sessions_are_moved_or_cannot_be_looked_for(agent: str, tmp_path: Path) -> None:
    places = PLACES[agent]
    for name in places.variables:
        assert may_have_sessions(agent, Environment(home=tmp_path, variables={name: "/elsewhere"}))
    for kind, name in SHARED.items():
        moved = Environment(home=tmp_path / "home", variables={name: str(tmp_path / kind)})
        assert not may_have_sessions(agent, moved)
        for below in getattr(places, kind):
            (tmp_path / kind / below).mkdir(parents=True)
            assert may_have_sessions(agent, moved)
    (tmp_path / "home").mkdir()
    for below in places.home:
        folder = tmp_path / "home" / f"{below}-of-another"
        folder.symlink_to(folder)  # leads nowhere, which is the adapter's to say
        assert may_have_sessions(agent, Environment(home=tmp_path / "home"))
        folder.unlink()
    long = Environment(home=tmp_path / ("x" * 300))
    assert may_have_sessions(agent, long)


def test_of_others_nothing_is_known(tmp_path: Path) -> None:
    assert may_have_sessions("somebody-else", Environment(home=tmp_path))
