"""What holds for every agent, over every store that there is of it: the program's own of today and before, and the
documents' layouts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import pytest

from databases import run_python, shared_folder, tree, unprivileged
from session_adapters.base import Adapter, Environment, SessionMissing, SessionUnreadable, Source
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


def test_sources_are_as_large_and_as_new_as_their_files(adapter: Adapter) -> None:
    """The newest is read first, so that of an unknown home what is wanted most is shown first."""
    newest = max(one.stat().st_mtime for one in adapter.environment.home.rglob("*"))
    for source in adapter.sources(quiet):
        status = Path(source.path).stat()
        if Path(source.path).is_file():
            assert source.size >= status.st_size, source.path
            assert source.modified >= status.st_mtime - 0.001, source.path  # its journal or its messages may be newer
        assert 0 < source.modified <= newest + 0.001, source.path


def test_families_end(adapter: Adapter) -> None:
    """Nobody is his own ancestor, and a sub-agent has a parent."""
    related = {one.session_id: one for one in adapter.relate([summary for _, summary in listed(adapter)])}
    for one in related.values():
        assert one.kind in ("session", "fork") or one.parent_id, one.session_id  # a fork's may be gone
        assert one.kind != "session" or not one.forked_from, one.session_id
        assert one.kind == "fork" or one.forked_from is None, one.session_id
        seen = {one.session_id}
        parent = one.parent_id
        while parent in related:
            assert parent not in seen
            seen.add(parent)
            parent = related[parent].parent_id


def test_commands_are_what_the_capabilities_promise(adapter: Adapter) -> None:
    """Programs with arguments, never shell text; an id that looks like an option stands behind none."""
    can = adapter.capabilities
    kind = type(adapter)
    assert can.can_resume == (kind.resume_command is not Adapter.resume_command)
    assert can.can_fork == (kind.fork_command is not Adapter.fork_command)
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


def test_whatever_is_done_leaves_no_trace(adapter: Adapter) -> None:
    home = adapter.environment.home
    before = tree(home)
    for source in adapter.sources(quiet):
        found = [*adapter.summaries(source, quiet), *adapter.summaries(source, quiet, exact=True)]
        list(adapter.usage(source, quiet))
        list(adapter.texts(source, quiet))
        for one in adapter.relate(found):
            adapter.find(one.session_id)
            with suppress(SessionUnreadable, SessionMissing):  # a copy that another source stands for
                adapter.session(source, one.session_id)
                transcript = adapter.open(source, one.session_id)
                transcript.earlier()
                for branch in transcript.branches:
                    transcript.switch(branch.leaf_id)
                transcript.refresh()
            adapter.resume_command(one)
            adapter.fork_command(one)
            adapter.memory(one)
    adapter.roots()
    adapter.find("nowhere")
    adapter.live()
    assert tree(home) == before


_READ = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.registry import adapter_class
adapter = adapter_class(sys.argv[1])(Environment(home=Path(sys.argv[2]), proc=Path("/nowhere")))
problems = []
found = [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]
for one in adapter.relate(found):
    session = adapter.session(adapter.find(one.session_id), one.session_id)
    print(ascii((one.session_id, one.title, one.turn_count, one.tokens, len(session.messages))))
print(len(problems))
"""


def _read_here(adapter: Adapter, home: Path) -> str:
    """What `_READ` says in this process."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said:
        patch.setattr(sys, "argv", ["-c", adapter.name, str(home)])
        exec(_READ, {})
    return said.getvalue()


def test_where_nothing_may_be_written_everything_is_read(adapter: Adapter) -> None:
    """By a user who owns nothing of it, in directories and files that nobody may write to."""
    with shared_folder() as folder:
        home = folder / "home"
        shutil.copytree(adapter.environment.home, home, symlinks=True)
        expected = _read_here(adapter, home)
        assert len(expected.splitlines()) > 1
        for path in (home, *home.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o555 if path.is_dir() else 0o444)
        before = tree(home)
        assert run_python(_READ, adapter.name, home, user=unprivileged(), adapter=adapter.name).stdout == expected
        assert tree(home) == before


_CLOSED = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.registry import adapter_class

home = Path(sys.argv[2])
adapter = adapter_class(sys.argv[1])(Environment(home=home, proc=Path("/nowhere")))


def look():
    problems = []
    roots = adapter.roots()
    found = [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]
    adapter.live()
    adapter.find("no-such-session")
    return {one.session_id for one in adapter.relate(found)}, problems


whole, usual = look()
paths = [Path(source.path) for source in adapter.sources(lambda problem: None)]
folders = {above for path in paths for above in path.parents if home in above.parents} | {home, home.parent}
for folder in sorted(folders):
    for mode in (0o000, 0o444):
        folder.chmod(mode)
        try:
            found, problems = look()
        finally:
            folder.chmod(0o755)
        more = [problem for problem in problems if problem not in usual]
        assert found == whole or more, f"{len(whole - found)} sessions below {folder} ({mode:o}) are hidden"
        assert all(problem.agent == adapter.name for problem in more)
        if folder in (home, home.parent):
            assert not found and all("denied" in problem.reason for problem in more), (folder, found, more)
assert look() == (whole, usual)
print(len(whole), len(folders))
"""


def test_a_directory_that_may_not_be_entered_is_a_problem(adapter: Adapter) -> None:
    """On the way to a root or below it, to be listed or not at all: what is not found is accounted for."""
    user = unprivileged()
    with shared_folder() as folder:
        home = folder / "above" / "home"
        shutil.copytree(adapter.environment.home, home, symlinks=True)
        if user is not None:
            for path in (home.parent, home, *home.rglob("*")):
                os.chown(path, user, user, follow_symlinks=False)
        said = run_python(_CLOSED, adapter.name, home, user=user, adapter=adapter.name).stdout.split()
    assert int(said[0]) > 0 and int(said[1]) > 2
