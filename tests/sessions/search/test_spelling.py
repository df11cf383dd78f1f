"""What is offered where a mistyped query finds nothing."""

from __future__ import annotations

import string
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_lines import ClaudeHome
from hermes_tui.cli.execute import execute
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.search.spelling import neighbours
from indexing import build
from session_adapters.base import Environment


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = ClaudeHome(tmp_path / "home")
    made.session("The flaky login test fails one time in ten")
    made.session("Docker has lost its network again")
    made.session("Why is the shop slow? Look at postgres")
    for number in range(3):
        made.session(f"The latest list, number {number}")
    return made.home


@pytest.fixture
def manager(home: Path, tmp_path: Path) -> Iterator[SessionManager]:
    environment = Environment(home=home)
    made = SessionManager(environment, cache_dir=tmp_path / "cache")
    build(environment, made.index.path)
    made.catalogue.refresh()
    yield made
    made.index.close()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("dockre", "docker"),
        ("docke", ""),
        ("dokcer", "docker"),
        ("ddocker", "docker"),
        ("dacker", "docker"),
        ("DOCKRE", "docker"),
        ("flaki login", "flaky login"),
        ("flaki dockre", "flaky docker"),
        ("agent:claude dockre", "agent:claude docker"),
        ("dockre OR flaky", "docker OR flaky"),
        ("-is:live dockre", "-is:live docker"),
        ("docker", ""),
        ("doc", ""),
        ("dcoekr", ""),
        ("dockre xyzzyq", ""),
        ('"dockre"', ""),
        ("dockre*", ""),
        ("is:live", ""),
        ("漢字", ""),
        ("", ""),
        ("x" * 500, ""),
    ],
)
def test_a_word_that_stands_nowhere_is_put_right(manager: SessionManager, typed: str, meant: str) -> None:
    assert manager.searches.instead(typed) == meant


def test_the_usual_word_is_offered(manager: SessionManager) -> None:
    """Of `test`, said once, and `list`, `latest`, said three times each: `lest` is as near to `test` as to `list`."""
    assert manager.searches.instead("lestt") == ""
    assert manager.searches.instead("lisst") == "list"
    assert manager.searches.instead("lest") == "list"


def test_nothing_is_offered_without_an_index(home: Path, tmp_path: Path) -> None:
    for indexed in (False, True):
        manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "nothing", indexed=indexed)
        manager.catalogue.refresh()
        assert manager.searches.instead("dockre") == ""
        manager.index.close()


def test_the_command_line_offers_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    index = SessionManager(Environment(home=home)).index
    build(Environment(home=home), index.path)
    assert execute(["--home", str(home), "sessions", "search", "flaki", "login"]) == 0
    found = capfd.readouterr()
    assert not found.out
    assert "did you mean flaky login" in found.err
    assert execute(["--home", str(home), "sessions", "search", "flaky"]) == 0
    assert "did you mean" not in capfd.readouterr().err


def one_key_apart(one: str, other: str) -> bool:
    """By what a key does, letter by letter, not by how neighbours are made."""
    if one == other:
        return False
    short, long = sorted((one, other), key=len)
    if len(short) + 1 == len(long):
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    if len(short) != len(long):
        return False
    unlike = [at for at in range(len(one)) if one[at] != other[at]]
    return len(unlike) == 1 or (
        len(unlike) == 2
        and unlike[1] == unlike[0] + 1
        and (one[unlike[0]], one[unlike[1]]) == (other[unlike[1]], other[unlike[0]])
    )


@given(st.text("ab", min_size=1, max_size=4))
def test_neighbours_are_all_words_one_key_away(word: str) -> None:
    made = {one for kind in neighbours(word) for one in kind}
    assert all(one_key_apart(one, word) for one in made)
    near = {"".join(one) for size in range(6) for one in product("abz", repeat=size)}
    assert {one for one in near if one_key_apart(one, word)} == {one for one in made if not set(one) - set("abz")}
    assert len(made) > 30 and set("".join(made)) <= set(string.ascii_lowercase + string.digits)
