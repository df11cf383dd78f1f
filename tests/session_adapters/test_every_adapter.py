"""What holds for every agent, over every store that there is of it: the program's own of today and before, and the
documents' layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session_adapters.base import Adapter, Environment, SessionMissing, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.registry import BUILT_IN, adapter_class
from support import STORES

HOMES = sorted(
    (agent, *path.relative_to(STORES / agent).parts)
    for agent in BUILT_IN
    for path in (*(STORES / agent).glob("home*"), *(STORES / agent).glob("*/home"))
)
STRANGE = ("no-such-session", "", ".", "..", "../../../etc/passwd", "/etc/passwd", "a\0b", "-x", "\ud800", "%", "*")


def quiet(problem: Problem) -> None:
    """Damage is another test's business."""


@pytest.fixture(params=HOMES, ids="/".join)
def adapter(request: pytest.FixtureRequest, store: Callable[..., Path], tmp_path: Path) -> Adapter:
    """Each agent with each of its homes."""
    agent, *parts = request.param
    (tmp_path / "proc").mkdir()
    return adapter_class(agent)(Environment(home=store(agent, *parts), proc=tmp_path / "proc"))


def listed(adapter: Adapter) -> Iterator[tuple[Source, SessionSummary]]:
    for source in adapter.sources(quiet):
        for summary in adapter.summaries(source, quiet):
            yield source, summary


def test_an_id_that_is_not_there_is_missing(adapter: Adapter) -> None:
    sources = list(adapter.sources(quiet))
    assert sources
    for strange in STRANGE:
        assert adapter.find(strange) is None
        for source in sources:
            with pytest.raises(SessionMissing):
                adapter.session(source, strange)
            with pytest.raises(SessionMissing):
                adapter.open(source, strange)


def test_what_is_listed_is_found_and_read(adapter: Adapter) -> None:
    related = adapter.relate([summary for _, summary in listed(adapter)])
    assert related
    assert len({one.session_id for one in related}) == len(related)
    for one in related:
        source = adapter.find(one.session_id)
        assert source is not None, one.session_id
        session = adapter.session(source, one.session_id)
        assert (session.agent, session.session_id) == (adapter.name, one.session_id)
        assert one.created_at <= one.updated_at


def test_families_end(adapter: Adapter) -> None:
    """Nobody is his own ancestor, and a sub-agent has a parent."""
    related = {one.session_id: one for one in adapter.relate([summary for _, summary in listed(adapter)])}
    for one in related.values():
        assert one.kind != "subagent" or one.parent_id, one.session_id
        seen = {one.session_id}
        parent = one.parent_id
        while parent in related:
            assert parent not in seen
            seen.add(parent)
            parent = related[parent].parent_id


def test_commands_are_what_the_capabilities_promise(adapter: Adapter) -> None:
    """Programs with arguments, never shell text; an id that looks like an option stands behind none."""
    can = adapter.capabilities
    for one in adapter.relate([summary for _, summary in listed(adapter)]):
        for allowed, command in (
            (can.can_resume, adapter.resume_command(one)),
            (can.can_fork, adapter.fork_command(one)),
        ):
            if command is None:
                continue
            assert allowed
            assert all(word and "\0" not in word for word in command.argv)
            assert "/" not in command.argv[0] and " " not in command.argv[0]
            assert command.cwd is None or command.cwd == one.cwd or command.cwd.startswith("/")
