"""What was said on a branch that the agent left is found, marked, and can be gone to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_tui.cli.execute import execute
from hermes_tui.sessions.manager import SessionManager
from indexing import build
from pi_lines import answered, asked, write_pi
from plain_openclaw import plain_database
from plain_openclaw import texts as event_texts
from plain_trees import active_path, records
from session_adapters.base import Environment
from support import STORES


class Left(NamedTuple):
    """A message on a branch that was left."""

    session_id: str
    message_id: str
    text: str


def left_in(agent: str, home: Path) -> Iterator[Left]:
    """Read by plain lines, or SQL."""
    if agent == "openclaw":
        for key, session in plain_database(home).items():
            there = [event["id"] for event in session.active]
            for event in session.events:
                if event["type"] == "message" and event["id"] not in there:
                    yield Left(key, event["id"], "\n".join(event_texts(event)))
        return
    for path in sorted(home.rglob("*.jsonl")):
        found = records(path)
        header = next((one for one in found if one.get("type") == "session"), None)
        if header is None:
            continue
        there = [one["id"] for one in active_path(found)]
        for one in found:
            if one.get("type") == "message" and one["id"] not in there:
                content = one["message"].get("content") or []
                blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
                yield Left(header["id"], one["id"], "\n".join(block.get("text", "") for block in blocks))


def phrase(text: str) -> str:
    """Its longest run of words, as a query."""
    runs = re.findall(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*", text)
    return f'"{max(runs, key=len)[:60].rpartition(" ")[0] or max(runs, key=len)}"' if runs else ""


@pytest.mark.parametrize("agent", ["pi", "omp", "openclaw"])
def test_every_text_of_a_store_is_found(agent: str, store: Callable[..., Path], tmp_path: Path) -> None:
    there = store(agent, "home")
    environment = Environment(home=there)
    manager = SessionManager(environment, cache_dir=tmp_path / "cache", prices={})
    manager.catalogue.refresh()
    build(environment, manager.index.path)
    every = [one for one in left_in(agent, there) if phrase(one.text)]
    assert len(every) >= 4
    for one in every:
        query = phrase(one.text)
        for use_index in (False, True):
            results = manager.search(query, use_index=use_index, limit=None)
            assert any(one.session_id in result.parts for result in results), (one, query, use_index)
        window = manager.scroll(agent, one.session_id, one.message_id, window=1)
        anchor = next(line for line in window.lines if line.anchor)
        assert anchor.visibility == "branch"
        assert one.text.strip()[:40] in anchor.text


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_the_documents_branches_are_found(agent: str, tmp_path: Path) -> None:
    """The branch with the highest time is the conversation; the other file's is another branch."""
    manager = SessionManager(Environment(home=STORES / agent / "home-spec"), cache_dir=tmp_path / "cache", prices={})
    (result,) = manager.search('"answer one"', use_index=False)
    assert result.match_visibility == "branch"
    assert result.window is not None
    assert [line.text for line in result.window.lines][-2:] == ["branch one", "answer one"]


# A made-up session -----------------------------------------------------------------------------------------------

LEFT = (asked(1, None), answered(2, 1), asked(3, 2, "where does the quokka live"), answered(4, 3))
"""A beginning, and a branch that is left."""
STAYED = (asked(5, 2, "where does the heron live"), answered(6, 5))


@pytest.fixture
def parted(tmp_path: Path) -> Path:
    """A home with one session of Pi."""
    write_pi(tmp_path / "home", "parted", *LEFT, *STAYED)
    return tmp_path / "home"


@pytest.fixture
def here(parted: Path, tmp_path: Path) -> SessionManager:
    """Of that home; its index is complete."""
    manager = SessionManager(Environment(home=parted), cache_dir=tmp_path / "cache", prices={})
    manager.catalogue.refresh()
    build(Environment(home=parted), manager.index.path)
    return manager


@pytest.mark.parametrize("use_index", [False, True])
def test_a_match_on_another_branch_is_marked_and_shown_along_it(here: SessionManager, use_index: bool) -> None:
    (result,) = here.search("quokka", use_index=use_index)
    assert (result.message_id, result.match_visibility, result.match_count) == ("00000003", "branch", 1)
    assert result.window is not None
    assert [(line.text, line.visibility) for line in result.window.lines] == [
        ("question 1", "live"),
        ("answer 2", "live"),
        ("where does the quokka live", "branch"),
        ("answer 4", "branch"),
    ]
    assert [line.text for line in result.end][-1] == "answer 6"  # how the conversation ended
    (stayed,) = here.search("heron", use_index=use_index)
    assert (stayed.message_id, stayed.match_visibility) == ("00000005", None)
    assert here.search("quokka heron", use_index=use_index) == ()  # never said in one text


def test_what_is_shared_by_branches_is_found_once(here: SessionManager) -> None:
    for use_index in (False, True):
        (result,) = here.search('"answer 2"', use_index=use_index)
        assert (result.match_count, result.match_visibility) == (1, None)


def test_the_search_while_one_types_finds_it(here: SessionManager) -> None:
    live = here.searches.live()
    try:
        live.ask("quokka")
        answer = live.wait(60.0)
    finally:
        live.close()
    (result,) = answer.results
    assert result.match is not None
    assert (result.match.message_id, result.match.visibility) == ("00000003", "branch")


def test_without_a_word_counts_every_branch(here: SessionManager) -> None:
    for use_index in (False, True):
        assert here.search("agent:pi -quokka", use_index=use_index) == ()


def test_the_index_notices_that_the_agent_went_back(parted: Path, here: SessionManager, tmp_path: Path) -> None:
    write_pi(parted, "parted", *LEFT, *STAYED, asked(7, 4, "and its young"), answered(8, 7))
    here.catalogue.refresh()
    build(Environment(home=parted), here.index.path)
    for query, seen in (("quokka", None), ("heron", "branch")):
        (result,) = here.search(query)
        assert result.match_visibility == seen, query


def test_the_command_line_says_where_it_is(parted: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["--home", str(parted), "--no-index", "sessions", "search", "quokka"]) == 0
    assert "one place, the best by user, on another branch: --around 00000003" in capfd.readouterr().out
    arguments = ["sessions", "show", "pi", "parted", "--around", "00000003", "--window", "1"]
    assert execute(["--home", str(parted), *arguments]) == 0
    heads = [line for line in capfd.readouterr().out.splitlines() if line[:1] in " >" and line[2:3].strip()]
    assert [line.split()[0] for line in heads] == ["assistant", ">", "assistant"]
    assert ["on another branch" in line for line in heads] == [False, True, True]


@pytest.mark.parametrize("use_index", [False, True])
def test_two_sessions_that_were_given_one_id_are_both_found(tmp_path: Path, use_index: bool) -> None:
    """Ids are unique in a directory only: the list tells the later one by its file's name."""
    home = tmp_path / "home"
    write_pi(home, "same", asked(1, None, "an egret"))
    later = {"timestamp": "2026-01-01T10:00:01.000Z", "cwd": "/opt"}
    other = write_pi(home, "same", asked(3, None, "a bittern"), folder="--opt--", **later)
    other.rename(other.with_name("2026-01-01T10-00-01-000Z_same.jsonl"))
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", prices={})
    manager.catalogue.refresh()
    build(Environment(home=home), manager.index.path)
    for word, session_id in (("egret", "same"), ("bittern", "2026-01-01T10-00-01-000Z_same")):
        found = manager.search(f"{word} role:user", use_index=use_index)
        assert [(one.session_id, one.message_id is not None) for one in found] == [(session_id, True)]
