"""The indexer as a process: killed, twice at once, without room, without its parent; and a file that was damaged."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import TIMES, chance, examples
from claude_lines import ClaudeHome
from hermes_tui.platform import locks
from hermes_tui.platform.parent import helper_command, helper_variables
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index import service as service_module
from hermes_tui.sessions.index.reading.pool import Pool
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import (
    FORMAT,
    Damaged,
    IndexUnusable,
    break_seal,
    connect,
    note_damage,
    open_writer,
    read_seal,
    write_seal,
)
from hermes_tui.sessions.index.service import IndexService, index_file
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.index.writing.ipc import tell
from hermes_tui.sessions.index.writing.worker import WorkerExit
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.tree import Word
from indexing import build, contents, homes_sources
from session_adapters.base import Environment, Report, Source
from session_adapters.reading.searchable import Text
from support import REPOSITORY, STORES

PATHS = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))


def command(path: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "hermes_tui.sessions.index.writing.worker", str(path), *options]


def variables(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "PYTHONPATH": PATHS}


def run(home: Path, path: Path, **more: object) -> int:
    """One run of the indexer to its end."""
    return subprocess.run(command(path), env=variables(home), timeout=120, check=False, **more).returncode  # type: ignore[call-overload, no-any-return]


def sessions_with(path: Path, home: Path, word: str) -> set[str]:
    index = SearchIndex(path)
    try:
        hits = index.search(Word((word,)), index.coverage(homes_sources(Environment(home=home))))
        assert hits is not None
        return {hit.session_id for hit in hits}
    finally:
        index.close()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sessions of two agents."""
    home = tmp_path_factory.mktemp("several") / "home"
    shutil.copytree(STORES / "claude" / "home", home)
    shutil.copytree(STORES / "codex" / "home" / ".codex", home / ".codex")
    return home


@pytest.fixture(scope="module")
def finished(several: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of it, made by the process."""
    path = tmp_path_factory.mktemp("finished") / "i.db"
    assert run(several, path) == WorkerExit.DONE
    return path


@pytest.fixture(scope="module")
def whole(finished: Path) -> dict[str, Counter[Any]]:
    """All that can be found in it, read once."""
    return contents(finished)


KILLS = 4 * TIMES
"""How often the indexer is killed; `make kills` takes 50."""


def test_killed_at_any_moment(several: Path, whole: dict[str, Counter[Any]], tmp_path: Path) -> None:
    path = tmp_path / "cache" / "i.db"
    chosen = chance(9)
    started = time.monotonic()
    assert run(several, tmp_path / "timed" / "i.db") == WorkerExit.DONE
    length = time.monotonic() - started
    for number in range(KILLS):
        process = subprocess.Popen(command(path), env=variables(several))
        with_rest = chosen.random() * length
        try:
            process.wait(with_rest)
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.wait() in (-signal.SIGKILL, WorkerExit.DONE)
        if path.exists():
            index = SearchIndex(path)
            coverage = index.coverage(homes_sources(Environment(home=several)))
            there = contents(path) if coverage.generation else None
            index.close()
            if there is not None:
                covered = {key[2] for key in coverage.levels}
                expected = {row: count for row, count in whole["prose"].items() if row[0][1] in covered}
                assert {row: count for row, count in there["prose"].items() if row[0][1] in covered} == expected
        if number % 3 == 2:
            shutil.rmtree(path.parent, ignore_errors=True)
    assert run(several, path) == WorkerExit.DONE
    assert contents(path) == whole


@given(data=st.data())
@examples(12)
def test_a_damaged_index_is_made_anew(
    data: st.DataObject,
    several: Path,
    finished: Path,
    whole: dict[str, Counter[Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    for file in finished.parent.iterdir():
        shutil.copy2(file, folder)
    path = folder / "i.db"
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    index = SearchIndex(path)
    assert not index.coverage(homes_sources(Environment(home=several))).levels
    assert index.damaged
    index.close()
    assert run(several, path) == WorkerExit.DONE
    assert contents(path) == whole


def read_everything(connection: apsw.Connection) -> str:
    return str(connection.execute("PRAGMA integrity_check").get)


@given(data=st.data())
@examples(12)
def test_a_bit_that_flipped_by_itself_is_noticed_and_healed(
    data: st.DataObject,
    several: Path,
    finished: Path,
    whole: dict[str, Counter[Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Nothing else tells of it: size and time of the file are as they were."""
    folder = tmp_path_factory.mktemp("flipped")
    for file in finished.parent.iterdir():
        shutil.copy2(file, folder)
    path = folder / "i.db"
    status = path.stat()
    at, bit = data.draw(st.integers(0, status.st_size - 1)), data.draw(st.integers(0, 7))
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    pool = Pool(path)
    with pytest.raises(Damaged):
        pool.ask(read_everything)
    assert pool.damaged
    pool.close()
    assert run(several, path) == WorkerExit.DONE
    assert contents(path) == whole


@pytest.mark.parametrize("table", ["prose_config", "prose_data", "tool_idx", "message"])
def test_whoever_notices_damage_has_it_healed(several: Path, tmp_path: Path, table: str) -> None:
    """Nothing else is to be done, and the same process asks for an indexer: the first bit of a table's last page."""
    environment = Environment(home=several)
    manager = SessionManager(environment, cache_dir=tmp_path)
    path = manager.index.path
    expected = found_by(manager, "the")
    build(environment, path)
    with closing(connect(path, apsw.SQLITE_OPEN_READONLY)) as connection:
        last = connection.execute("SELECT max(pageno) FROM dbstat WHERE name=?", (table,)).get
        size = connection.execute("PRAGMA page_size").get
    with path.open("r+b") as file:
        file.seek((last - 1) * size)
        first = file.read(1)[0]
        file.seek((last - 1) * size)
        file.write(bytes([first ^ 1]))
    manager.index.index.coverage(homes_sources(environment))
    assert not manager.index.index.damaged
    assert found_by(manager, "the") == expected
    answer = manager.discover("the OR tool:bash")
    assert answer.coverage.indexed == 0
    assert manager.index.index.damaged
    assert manager.index.poke(follow=False) is not None
    assert manager.index.wait(60)
    assert str(manager.discover("the OR tool:bash").coverage) == "indexed 100 %"
    assert read_seal(path) is not None
    manager.index.close()


def test_damage_noticed_beside_an_indexer_is_not_forgotten(tmp_path: Path) -> None:
    """It ends when it is told something, and the next one makes the index anew."""
    home, path = tmp_path / "home", tmp_path / "i.db"
    made = ClaudeHome(home)
    written_to = made.session("findable")
    build(Environment(home=home), path)
    made.say(written_to, "user", "firstly")
    with (
        path.open("rb"),  # so that the number of the file is not given again
        subprocess.Popen(command(path, "--follow"), env=variables(home), stdin=subprocess.PIPE) as process,
    ):
        until(lambda: bool(sessions_with(path, home, "firstly")))
        file = path.stat().st_ino
        note_damage(path)
        assert process.stdin is not None
        tell(process.stdin.fileno(), ())
        assert process.wait(60) == WorkerExit.DONE
        with pytest.raises(Damaged):
            read_seal(path)
        assert run(home, path) == WorkerExit.DONE
        assert path.stat().st_ino != file
    assert read_seal(path) is not None


def test_a_question_that_is_none_is_no_damage(finished: Path) -> None:
    """Else one who asks it would have the index made anew each time."""
    pool = Pool(finished)
    with pytest.raises(IndexUnusable, match="no such table"):
        pool.ask(lambda connection: connection.execute("SELECT 1 FROM nowhere"))
    assert not pool.damaged
    pool.close()
    assert read_seal(finished) is not None


@given(data=st.data())
@examples(12)
def test_a_seal_with_a_flipped_bit_is_damage(
    data: st.DataObject,
    several: Path,
    finished: Path,
    whole: dict[str, Counter[Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("seal")
    for file in finished.parent.iterdir():
        shutil.copy2(file, folder)
    seal, path = folder / "i.seal", folder / "i.db"
    content = bytearray(seal.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    seal.write_bytes(content)
    index = SearchIndex(path)
    assert not index.coverage(homes_sources(Environment(home=several))).levels
    assert index.damaged
    index.close()
    assert run(several, path) == WorkerExit.DONE
    assert read_seal(path) is not None
    assert contents(path) == whole


@pytest.mark.parametrize("pragma", [f"user_version={FORMAT - 1}", f"user_version={FORMAT + 1}", "application_id=7"])
def test_an_index_of_another_form_is_made_anew(
    several: Path, finished: Path, whole: dict[str, Counter[Any]], tmp_path: Path, pragma: str
) -> None:
    for file in finished.parent.iterdir():
        shutil.copy2(file, tmp_path)
    path = tmp_path / "i.db"
    seal = read_seal(path)
    assert seal is not None
    with closing(connect(path, apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute(f"PRAGMA {pragma}")
    break_seal(path)
    write_seal(path, seal.program)
    index = SearchIndex(path)
    assert not index.coverage(homes_sources(Environment(home=several))).levels
    assert index.problem == "it is of another version of this program"
    index.close()
    assert run(several, path) == WorkerExit.DONE
    assert contents(path) == whole


def test_a_seal_of_other_readers_is_no_seal(
    several: Path, finished: Path, whole: dict[str, Counter[Any]], tmp_path: Path
) -> None:
    for file in finished.parent.iterdir():
        shutil.copy2(file, tmp_path)
    break_seal(tmp_path / "i.db")
    write_seal(tmp_path / "i.db", "another")
    assert run(several, tmp_path / "i.db") == WorkerExit.DONE
    seal = read_seal(tmp_path / "i.db")
    assert seal is not None
    assert seal.program != "another"
    assert contents(tmp_path / "i.db") == whole


def test_only_its_owner_reads_it(finished: Path) -> None:
    for file in finished.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file
    assert finished.parent.exists()


def test_two_at_once(several: Path, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "i.db"
    held = locks.take(path.with_suffix(".lock"))
    assert held is not None
    assert run(several, path) == WorkerExit.BUSY
    assert not path.exists()
    os.close(held)
    assert run(several, path) == WorkerExit.DONE


def _small_files() -> None:
    """Room for the tables and for little in them."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (260_000, 260_000))


def test_a_full_disk(several: Path, whole: dict[str, Counter[Any]], tmp_path: Path) -> None:
    """What fits stays right; the rest is left to the scan; with room again it goes on."""
    path = tmp_path / "cache" / "i.db"
    assert run(several, path, preexec_fn=_small_files) == WorkerExit.NO_PLACE
    sessions_with(path, several, "the")
    assert run(several, path) == WorkerExit.DONE
    assert contents(path) == whole


def found_by(manager: SessionManager, word: str) -> set[str]:
    """The sessions a search gives; it has looked everywhere."""
    answer = manager.discover(word, limit=None)
    assert not answer.coverage.left
    return {result.unified_id for result in answer.results}


def test_searching_goes_on_without_room_for_an_index(several: Path, tmp_path: Path) -> None:
    """A disk that is full, a cache directory that is none, an index that is damaged, and one that another program is
    just making: everything is found, and what is lacking is said."""
    environment = Environment(home=several)
    expected = found_by(SessionManager(environment, cache_dir=tmp_path / "whole", indexed=False), "the")
    assert expected
    (tmp_path / "file").write_text("")
    nowhere = SessionManager(environment, cache_dir=tmp_path / "file" / "cache")
    nowhere.index.poke(follow=False)
    assert nowhere.index.wait(60)
    assert found_by(nowhere, "the") == expected
    assert "cannot be written" in nowhere.index.progress().trouble
    full = SessionManager(environment, cache_dir=tmp_path / "full")
    assert run(several, full.index.path, preexec_fn=_small_files) == WorkerExit.NO_PLACE
    assert found_by(full, "the") == expected
    assert full.discover("the").coverage.scanned
    held = locks.take(full.index.path.with_suffix(".lock"))
    assert held is not None
    full.index.poke(follow=False)
    assert full.index.wait(60)
    assert full.index.progress().running
    assert found_by(full, "the") == expected
    os.close(held)
    full.index.path.write_bytes(b"\0" * 20_000)
    damaged = SessionManager(environment, cache_dir=tmp_path / "full")
    assert found_by(damaged, "the") == expected
    assert damaged.discover("the").coverage.trouble
    for manager in (nowhere, full, damaged):
        manager.index.close()


def test_a_place_that_is_none(several: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(several, tmp_path / "file" / "i.db") == WorkerExit.NO_PLACE


# The service -------------------------------------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[IndexService]:
    home = tmp_path / "home"
    ClaudeHome(home).session("findable")
    environment = Environment(home=home)
    made = IndexService(index_file(environment, tmp_path / "cache"), environment)
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    limit = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_it_runs_once_and_ends(service: IndexService) -> None:
    assert service.progress().state == "absent"
    service.poke(follow=False)
    assert service.wait(60)
    progress = service.progress()
    assert (progress.state, progress.sources, progress.everything, progress.messages) == ("complete", 1, 1, 2)
    assert not progress.running
    assert not progress.trouble


@pytest.mark.parametrize("home", ["~", "~nobody-at-all", "", None])
def test_a_home_that_was_named_needs_no_other(
    home: str | None, service: IndexService, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    service.poke(follow=False)
    assert service.wait(60)
    assert (service.progress().state, service.progress().messages) == ("complete", 2)


def test_it_leaves_when_it_is_through_and_comes_back(
    service: IndexService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.sessions.index.service.REST", 0.0)
    made = next((tmp_path / "home" / ".claude" / "projects").rglob("*.jsonl"))
    assert service.poke() is not None
    assert service.pid is not None
    until(lambda: service.pid is None)
    assert (service.progress().state, service.progress().trouble) == ("complete", "")
    made.write_bytes(made.read_bytes().replace(b"findable", b"changeable"))
    service.poke()
    until(lambda: bool(sessions_with(service.path, tmp_path / "home", "changeable")))


def test_it_stays_where_lines_are_added_and_is_told_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same process takes in what is written later; it is given what was written to, and looks at nothing else."""
    monkeypatch.setattr("hermes_tui.sessions.index.service.PAUSE", 0.0)
    made = ClaudeHome(tmp_path / "home")
    path = made.session("findable")
    environment = Environment(home=tmp_path / "home")
    named: list[Source] = []
    service = IndexService(tmp_path / "i.db", environment, sources=lambda: named or homes_sources(environment))
    build(environment, service.path)
    made.say(path, "user", "firstly")
    service.poke()
    first = service.pid
    until(lambda: bool(sessions_with(service.path, tmp_path / "home", "firstly")))
    unnamed = made.session("unheard")
    made.say(path, "user", "secondly")
    named += [one for one in homes_sources(environment) if one.path == str(path)]
    service.poke()
    until(lambda: bool(sessions_with(service.path, tmp_path / "home", "secondly")))
    assert service.pid == first is not None
    assert not sessions_with(service.path, tmp_path / "home", "unheard")
    named.clear()
    service.poke()
    until(lambda: sessions_with(service.path, tmp_path / "home", "unheard") == {unnamed.stem})
    assert service.pid == first
    service.close()


def test_it_ends_with_its_parent(several: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(tmp_path / "c" / "i.db", "--follow"), env=variables(several), stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == WorkerExit.DONE
    assert run(several, tmp_path / "c" / "i.db") == WorkerExit.DONE


_OLD = """import sys
from hermes_tui.sessions.index.writing import worker

class Over:
    over = True

worker.Life = lambda seconds, growth: Over()
with open(sys.argv[1] + ".begun", "a") as file:
    file.write(".")
sys.exit(worker.main())
"""


def test_it_begins_anew_where_it_has_grown(
    several: Path, whole: dict[str, Counter[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its number and its pipe, under the alarm that ends it with its parent."""
    path = tmp_path / "i.db"
    (tmp_path / "old_indexer.py").write_text(_OLD)
    monkeypatch.setenv("HOME", str(several))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = helper_command("old_indexer", str(path), "--follow")
    with subprocess.Popen(command, env=helper_variables(), stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        tell(process.stdin.fileno(), ())
        assert process.wait(120) == WorkerExit.DONE  # it was told once, and is through
    assert path.with_name("i.db.begun").read_text() == ".."
    assert contents(path) == whole


_NOTED = """import sys
import apsw
from hermes_tui.sessions.index.writing import worker

def noted():
    with open(sys.argv[1] + ".pages", "w") as file:
        file.write(str(apsw.status(apsw.SQLITE_STATUS_PAGECACHE_OVERFLOW)[0]))

worker.give_back = noted
sys.exit(worker.main())
"""


def test_it_keeps_no_pages_while_it_waits(several: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in the system's memory as well: 4 MB, once the index is as large as that."""
    path = tmp_path / "i.db"
    (tmp_path / "noting_indexer.py").write_text(_NOTED)
    monkeypatch.setenv("HOME", str(several))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    subprocess.run(helper_command("noting_indexer", str(path)), env=helper_variables(), check=True, timeout=120)
    assert int(path.with_name("i.db.pages").read_text()) < path.stat().st_size / 4


def test_it_is_not_started_while_nothing_is_to_be_done(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path / "home")
    path = made.session("findable")
    environment = Environment(home=tmp_path / "home")
    service = IndexService(tmp_path / "cache" / "i.db", environment, sources=lambda: homes_sources(environment))
    build(environment, service.path)
    assert service.poke() is None
    assert service.pid is None
    made.say(path, "user", "one more")
    assert service.poke() is not None
    assert service.pid is not None
    until(lambda: not service.index.lacking(homes_sources(environment), time.time()))
    os.kill(service.pid, signal.SIGTERM)
    until(lambda: service.pid is None)
    assert service.poke() is None
    made.say(path, "user", "and one more")
    wait = service.poke()
    assert wait is not None
    assert 30 < wait <= 60
    assert service.pid is None
    service.close()


def test_a_source_that_cannot_be_read_does_not_start_it_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ClaudeHome(tmp_path / "home")
    made.session("good")
    bad = made.session("bad")
    environment = Environment(home=tmp_path / "home")
    adapters = Adapters(lambda: environment)
    adapter = adapters.get("claude")
    whole = adapter.texts

    def failing(source: Source, report: Report) -> Iterator[Text]:
        if source.path == str(bad):
            raise RuntimeError("a mistake")
        return whole(source, report)

    monkeypatch.setattr(adapter, "texts", failing)
    service = IndexService(tmp_path / "i.db", environment, sources=lambda: homes_sources(environment))
    connection = open_writer(service.path)
    assert Indexer(connection, adapters).run()
    connection.close()
    assert service.index.coverage(homes_sources(environment)).levels.keys() != set()
    assert service.poke() is None
    made.say(bad, "user", "once more")
    assert service.poke() is not None
    service.close()


def test_it_runs_behind_everything_else(service: IndexService) -> None:
    service.poke()
    pid = service.pid
    assert pid is not None
    # Nobody asks the service meanwhile: it would see that the process is through, and its number would be nobody's.
    until(lambda: os.getpriority(os.PRIO_PROCESS, pid) >= 10)
    assert service.wait(60)


def test_trouble_is_said_and_nothing_raised(tmp_path: Path) -> None:
    environment = Environment(home=tmp_path)
    (tmp_path / "file").write_text("")
    service = IndexService(tmp_path / "file" / "i.db", environment)
    service.poke(follow=False)
    assert service.wait(60)
    progress = service.progress()
    assert progress.state == "absent"
    assert "cannot be written" in progress.trouble
    service.poke(follow=False)
    service.close()


def test_how_an_indexer_ended_is_said(service: IndexService, monkeypatch: pytest.MonkeyPatch) -> None:
    """By somebody else, at once, and because another is at work."""
    monkeypatch.setattr(service_module, "REST", 0.0)
    service.poke(follow=False)
    pid = service.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert service.wait(60)
    assert service.progress().trouble == "the indexer was ended: Killed"
    held = locks.take(service.path.with_suffix(".lock"))
    assert held is not None
    service.poke(follow=False)
    assert service.wait(60)
    assert service.progress().trouble == "another program is making the index"
    os.close(held)
    service.poke(follow=False)
    assert service.wait(60)
    assert not service.progress().trouble


def test_making_it_anew_while_another_makes_it(several: Path, tmp_path: Path) -> None:
    """It takes the place of the indexer that a search started, here of one that hangs."""
    service = IndexService(tmp_path / "cache" / "i.db", Environment(home=several))
    process = subprocess.Popen(command(service.path), env=variables(several))
    until(lambda: service.index.indexer() == process.pid)
    process.send_signal(signal.SIGSTOP)
    assert service.progress().running
    assert service.clear()
    assert process.wait(60) == -signal.SIGTERM
    assert service.progress().state == "absent"
    service.poke(follow=False)
    assert service.wait(60)
    assert service.progress().state == "complete"


def test_no_other_process_is_taken_for_an_indexer(service: IndexService, monkeypatch: pytest.MonkeyPatch) -> None:
    service.poke(follow=False)
    assert service.wait(60)
    monkeypatch.setattr(service_module, "TAKE_OVER", 0.2)
    connection = open_writer(service.path)
    connection.execute("UPDATE meta SET value = json_set(value, '$.pid', ?) WHERE key = 'report'", (os.getpid(),))
    connection.close()
    held = locks.take(service.path.with_suffix(".lock"))
    assert held is not None
    assert not service.clear(), "it would have ended this very process"
    os.close(held)


def test_clearing(service: IndexService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "TAKE_OVER", 0.2)
    service.poke(follow=False)
    assert service.wait(60)
    held = locks.take(service.path.with_suffix(".lock"))
    assert held is not None
    assert not service.clear()
    os.close(held)
    assert service.clear()
    assert service.progress().state == "absent"
    assert [path.suffix for path in service.path.parent.iterdir()] == [".lock"]


def test_switched_off(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ClaudeHome(home).session("findable")
    environment = Environment(home=home)
    cache = tmp_path / "cache"
    build(environment, index_file(environment, cache))
    manager = SessionManager(environment, cache_dir=cache, indexed=False)
    manager.index.poke()
    assert manager.index.progress().state == "off"
    assert not manager.index.index.coverage(homes_sources(environment)).levels
    on = SessionManager(environment, cache_dir=cache)
    assert on.index.index.coverage(homes_sources(environment)).levels
    on.index.close()
