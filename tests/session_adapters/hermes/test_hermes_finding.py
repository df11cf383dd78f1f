"""Where Hermes' sessions are looked for, and what looking costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from databases import nothing_left_open, run_python
from hermes_store import Store, adapter_for, everything, get, listed
from hermes_tui.lifecycle.lanes import board
from session_adapters.base import Environment
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.model import Problem, SessionSummary

Stored = Callable[..., Path]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


@pytest.fixture
def sample(store: Stored) -> HermesAdapter:
    """The home that the real 0.19 wrote."""
    return adapter_for(store("hermes", "home"))


def test_roots_follow_the_environment_and_name_profiles(tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    for name in ("coder", "Not-One", "default", "a_b-9", "x" * 65):
        (home / "profiles" / name).mkdir(parents=True)
    (home / "profiles" / "file").touch()

    def seen(adapter: HermesAdapter) -> list[tuple[str, str | None, bool]]:
        return [(str(root.path.relative_to(tmp_path)), root.profile, root.exists) for root in adapter.roots()]

    assert seen(adapter_for(tmp_path)) == [
        (".hermes", None, True),
        (".hermes/profiles/a_b-9", "a_b-9", True),
        (".hermes/profiles/coder", "coder", True),
        (".hermes/profiles/default", None, True),
    ]
    assert seen(adapter_for(tmp_path, HERMES_HOME=str(tmp_path / "else"))) == [("else", None, False)]
    profile = str(home / "profiles" / "coder")
    assert seen(adapter_for(tmp_path, HERMES_HOME=profile)) == [(".hermes/profiles/coder", "coder", True)]
    assert list(adapter_for(tmp_path).sources(lambda problem: pytest.fail(problem.reason))) == []


def test_of_too_many_profiles_those_that_were_used_are_read_and_the_rest_is_said(tmp_path: Path) -> None:
    made = Store(tmp_path, "profiles/zz")
    made.session("s")
    made.connection.close()
    for number in range(700):
        (tmp_path / ".hermes" / "profiles" / f"p{number}").mkdir()
    problems: list[Problem] = []
    assert [source.path for source in made.adapter.sources(problems.append)] == [str(made.path)]
    assert len(made.adapter.roots()) == 501
    said = "of 701 entries, which may all be profiles, only 500, those with a state.db first, are looked at"
    assert [(one.path, one.reason) for one in problems] == [(str(tmp_path / ".hermes" / "profiles"), said)]
    seen = board(Environment(home=tmp_path))
    assert len(seen.profiles) == 501
    assert seen.problems == (f"{tmp_path / '.hermes' / 'profiles'}: {said}",)


def test_an_id_in_two_profiles_is_the_first_homes(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path, "profiles/coder")
    for made, title in ((first, "first"), (second, "second")):
        made.session("same", title=title)
    second.session("only")
    found = listed(first.adapter)
    assert {key: (summary.title, summary.profile) for key, summary in found.items()} == {
        "same": ("first", None),
        "only": ("", "coder"),
    }
    source = first.adapter.find("same")
    assert source is not None and source.path == str(first.path)
    assert first.adapter.find("nowhere") is None
    assert first.adapter.find("../../etc/passwd") is None
    for made in (first, second):
        made.connection.close()


def test_a_profile_that_is_a_link_to_another_is_read_once(tmp_path: Path) -> None:
    made = Store(tmp_path, "profiles/coder")
    made.session("s")
    made.connection.close()
    (tmp_path / ".hermes" / "profiles" / "alias").symlink_to("coder")
    assert len(everything(made.adapter)) == 1


def test_leftover_files_count_only_where_the_database_has_nothing(store: Stored) -> None:
    home = store("hermes", "old_versions", "0.13.0")
    adapter = adapter_for(home)
    folder = home / ".hermes" / "sessions"
    lines = [
        {"role": "session_meta", "tools": []},
        {"role": "user", "content": "look at the files"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "ls", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
        {"role": "assistant", "content": [{"type": "text", "text": "one file"}]},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "20250101_120000_abcdef12.jsonl").write_text(text + "\n{torn")
    assert sum(source.layout == "jsonl" for source, _ in everything(adapter)) == 3
    found = listed(adapter)
    assert len(found) == 7
    assert {summary.raw.get("layout") for key, summary in found.items() if key.startswith("20261121")} == {None}
    session = get(adapter, "20250101_120000_abcdef12")
    assert [message.role for message in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.messages[1].tool_calls[0].output == "a.txt"
    assert session.messages[3].content == "one file"
    assert (session.title, session.turn_count, session.message_count) == ("look at the files", 1, 4)
    assert session.tool_call_count == 1
    assert adapter.resume_command(session) is None
    for name in SessionSummary.__struct_fields__:
        assert getattr(session, name) == getattr(found[session.session_id], name), name


def test_a_session_is_live_while_the_process_that_opened_it_runs(tmp_path: Path) -> None:
    stat = "{} (a ) b (c) S 1 " + " ".join(["7"] * 17) + " {} 0\n"
    entries: list[object] = []
    for pid, really, said in ((11, 500, 500), (12, 500, 501), (13, None, 500), (14, 500, None)):
        if really is not None:
            (tmp_path / "proc" / str(pid)).mkdir(parents=True)
            (tmp_path / "proc" / str(pid) / "stat").write_text(stat.format(pid, really))
        entries.append({"session_id": f"s{pid}", "surface": "cli", "pid": pid, "process_start_time": said})
    runtime = tmp_path / ".hermes" / "runtime"
    runtime.mkdir(parents=True)
    adapter = HermesAdapter(Environment(home=tmp_path, proc=tmp_path / "proc"))
    assert adapter.live() == {}
    (runtime / "active_sessions.json").write_text(json.dumps({"entries": [*entries, 7, {"pid": "x"}, None]}))
    assert {key: alive.pid for key, alive in adapter.live().items()} == {"s11": 11}
    for damaged in ('{"entries": [', '{"entries": ' + "[" * 100_000, "{"):
        (runtime / "active_sessions.json").write_text(damaged)
        assert adapter.live() == {}


# Cost of reading ---------------------------------------------------------------------------------------------


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Every statement that any connection runs."""
    ran: list[str] = []

    def hook(connection: apsw.Connection) -> None:
        def trace(cursor: object, sql: str, bindings: object) -> bool:
            ran.append(sql)
            return True

        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    yield ran
    apsw.connection_hooks.remove(hook)


def test_a_list_takes_the_same_few_statements_however_long_it_is(own: Store, statements: list[str]) -> None:
    counts = []
    for size in (1, 500):
        for number in range(size):
            own.session(f"{size}-{number}")
            own.say(f"{size}-{number}", "user", '\x00json:["x"]' if number % 2 else "text")
        statements.clear()
        assert len(everything(own.adapter)) >= size
        # Without what each connection is told when it is opened.
        counts.append(len([sql for sql in statements if "pragma" not in sql.lower()]))
    assert counts[1] - counts[0] <= 1
    assert counts[1] <= 5


def test_one_session_is_read_without_the_others(own: Store) -> None:
    """Every other row is poison: reading its text would fail. The plans say that none is visited."""
    for number in range(50):
        own.session(f"s{number}")
        own.say(f"s{number}", "user", "x")
    seen: list[str] = []

    def hook(connection: apsw.Connection) -> None:
        def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
            if sql.startswith(("SELECT", "WITH")) and "pragma_table_info" not in sql:
                plan: Any = connection.execute("EXPLAIN QUERY PLAN " + sql, bindings)
                seen.extend(row[3] for row in plan)
            return True

        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    try:
        own.get("s7")
        own.open("s7").refresh()
    finally:
        apsw.connection_hooks.remove(hook)
    assert seen
    touching = [step for step in seen if "messages" in step]
    assert touching
    assert [step for step in touching if "session_id=?" not in step and "rowid=?" not in step] == []
    tables = {"sessions", "s", "p", "c"}
    assert [step for step in seen if step.startswith("SCAN") and step.split()[1] in tables] == []


def test_no_database_is_opened_as_a_plain_file(store: Stored) -> None:
    """Closing such a file would drop this process's locks on it (law 3). Audited in a fresh interpreter."""
    code = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, arguments: opened.append((event, str(arguments[0]))) if event in
                 ("open", "sqlite3.connect") else None)
from session_adapters.base import Environment
from session_adapters.hermes.adapter import HermesAdapter
adapter = HermesAdapter(Environment(home=Path(sys.argv[1])))
count = 0
for source in adapter.sources(lambda problem: None):
    for summary in adapter.summaries(source, lambda problem: None):
        adapter.session(adapter.find(summary.session_id), summary.session_id)
        adapter.open(source, summary.session_id).refresh()
        count += 1
assert count > 50 and opened
print([event for event in opened if event[0] != "open" or "state.db" in event[1]])
"""
    assert run_python(code, store("hermes", "home")).stdout == "[]\n"


def test_descriptors_stay_the_same_over_200_conversations(sample: HermesAdapter) -> None:
    found = everything(sample)
    with nothing_left_open():
        for number in range(200):
            source, summary = found[number % len(found)]
            transcript = sample.open(source, summary.session_id)
            transcript.refresh()
