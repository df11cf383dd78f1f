"""Where OpenCode's stores are looked for, which copy of a session counts, and what reading them costs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from databases import nothing_left_open, opened_as_files, tree
from opencode_store import Store, adapter_for, everything, get, listed
from plain_opencode import data_folder
from session_adapters.model import Problem
from session_adapters.opencode import listing
from session_adapters.reading.files import METER
from support import STORES

Stored = Callable[..., Path]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


# Places ------------------------------------------------------------------------------------------------------


def test_roots_follow_the_variables(tmp_path: Path) -> None:
    default = adapter_for(tmp_path).roots()
    assert [root.path for root in default] == [data_folder(tmp_path)]
    moved = adapter_for(tmp_path, XDG_DATA_HOME=str(tmp_path / "data"), OPENCODE_DB=str(tmp_path / "x" / "y.db"))
    assert [root.path for root in moved.roots()] == [tmp_path / "data" / "opencode", tmp_path / "x" / "y.db"]
    assert not any(root.exists for root in (*default, *moved.roots()))
    assert adapter_for(tmp_path, OPENCODE_DB=":memory:").roots() == default
    assert everything(adapter_for(tmp_path)) == []


def test_another_data_directory_and_a_named_database(store: Stored, tmp_path: Path) -> None:
    home = store("opencode", "home-json-1.1")
    moved = tmp_path / "elsewhere"
    shutil.copytree(data_folder(home), moved / "opencode")
    assert len(listed(adapter_for(tmp_path, XDG_DATA_HOME=str(moved)))) == 5
    named = moved / "opencode" / "mine.sqlite"
    shutil.copyfile(data_folder(STORES / "opencode" / "home-spec") / "opencode.db", named)
    for value in ("mine.sqlite", str(named)):
        adapter = adapter_for(tmp_path, XDG_DATA_HOME=str(moved), OPENCODE_DB=value)
        assert len(listed(adapter)) == 7


def test_every_channel_is_read_and_a_link_to_one_only_once(store: Stored) -> None:
    home = store("opencode", "home-v2")
    (data_folder(home) / "opencode-next.db").symlink_to("opencode.db")
    paths = [Path(source.path).name for source in adapter_for(home).sources(lambda problem: None)]
    assert paths == ["opencode-local.db", "opencode-next.db"]
    assert len(listed(adapter_for(home))) == 6


def test_secrets_logs_and_snapshots_are_no_sources(store: Stored) -> None:
    home = store("opencode", "home")
    folder = data_folder(home)
    for name in ("auth.json", "log/x.db", "snapshot/opencode.db", "storage/session_diff/ses_1.json", "repos/a.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    assert [source.path for source in adapter_for(home).sources(lambda problem: None)] == [
        str(folder / "opencode.db")
    ]


# Copies ------------------------------------------------------------------------------------------------------


def migrated(home: Path) -> Store:
    """The tree of files, taken into a database as 1.2 does it: the same ids, and the files left behind."""
    made = Store(home, sample="home-sqlite-1.2")
    folder = data_folder(home) / "storage"
    for path in sorted(folder.glob("session/*/*.json")):
        info = json.loads(path.read_text())
        made.insert(
            "session", id=info["id"], project_id=info["projectID"], parent_id=info.get("parentID"), slug=info["slug"],
            directory=info["directory"], title=info["title"], version=info["version"],
            time_created=info["time"]["created"], time_updated=info["time"]["updated"],
        )  # fmt: skip
    for path in sorted(folder.glob("message/*/*.json")):
        data = json.loads(path.read_text())
        ids = {"id": data.pop("id"), "session_id": data.pop("sessionID")}
        when = data["time"]["created"]
        made.insert("message", **ids, time_created=when, time_updated=when, data=json.dumps(data))
    for path in sorted(folder.glob("part/*/*.json")):
        data = json.loads(path.read_text())
        ids = {"id": data.pop("id"), "session_id": data.pop("sessionID"), "message_id": data.pop("messageID")}
        made.insert("part", **ids, time_created=0, time_updated=0, data=json.dumps(data))
    return made


def test_a_session_in_the_tree_and_in_a_migrated_database_is_one(store: Stored) -> None:
    home = store("opencode", "home-json-1.1")
    adapter = adapter_for(home)
    before = {key: get(adapter, key) for key in listed(adapter)}
    made = migrated(home)
    assert len(everything(adapter)) == 10
    found = listed(adapter)
    assert found.keys() == before.keys()
    for session_id, old in before.items():
        assert found[session_id].path == str(made.path)
        new = get(adapter, session_id)
        assert (new.path, new.messages, new.tokens) == (str(made.path), old.messages, old.tokens)
    last = next(iter(before))
    made.clock = 1_795_300_000_000
    made.say(last, "user", "said after the migration")
    assert get(adapter, last).messages[-1].content == "said after the migration"
    made.connection.close()


def test_what_was_not_migrated_is_still_read(store: Stored) -> None:
    home = store("opencode", "home-json-1.1")
    shutil.copytree(data_folder(STORES / "opencode" / "home-json-0.5") / "project", data_folder(home) / "project")
    made = Store(home)
    made.session("ses_new")
    made.say("ses_new", "user", "1.18 looks at no files")
    made.connection.close()
    found = listed(adapter_for(home))
    assert sorted(summary.raw["layout"] for summary in found.values()) == ["1.x"] + ["json"] * 5 + ["project"] * 4


def test_of_two_channels_the_copy_that_was_touched_last_counts(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path, "opencode-dev.db")
    for made, title, when in ((first, "old", 1), (second, "new", 2)):
        made.session("ses_1", title=title, time_updated=1_790_000_000_000 + when)
        made.say("ses_1", "user", title)
        made.connection.close()
    adapter = first.adapter
    assert listed(adapter)["ses_1"].title == "new"
    assert get(adapter, "ses_1").title == "new"


# Forks -------------------------------------------------------------------------------------------------------


def fork(made: Store, parent: str, child: str) -> None:
    """What `--fork` does: a new session, and every message copied under a new id with its old time."""
    made.session(child, title=f"{parent} (fork #1)")
    for key, data in made.connection.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created", (parent,)
    ).fetchall():
        value = json.loads(data)
        copy = made.message(child, value.pop("role"), "", created=value.pop("time")["created"], **value)
        parts = made.connection.execute("SELECT data FROM part WHERE message_id = ?", (key,)).fetchall()
        for (part,) in parts:
            made.part(child, copy, **json.loads(part))


def test_a_fork_of_a_fork_has_the_fork_as_parent(own: Store) -> None:
    own.session("ses_a")
    own.say("ses_a", "user", "one")
    own.say("ses_a", "assistant", "two")
    fork(own, "ses_a", "ses_b")
    own.say("ses_b", "user", "three")
    own.say("ses_b", "assistant", "four")
    own.say("ses_a", "user", "meanwhile")
    fork(own, "ses_b", "ses_c")
    fork(own, "ses_a", "ses_d")
    own.connection.execute("UPDATE session SET title = 'renamed by hand' WHERE id = 'ses_c'")
    found = listed(own.adapter)
    assert {key: summary.forked_from for key, summary in found.items()} == {
        "ses_a": None, "ses_b": "ses_a", "ses_c": "ses_b", "ses_d": "ses_a",
    }  # fmt: skip
    assert {summary.lineage_id for key, summary in found.items() if key != "ses_a"} == {"ses_a"}
    assert [found[key].raw.get("copiedMessages", 0) for key in sorted(found)] == [0, 2, 4, 3]
    spent = {key: summary.tokens.total if summary.tokens else 0 for key, summary in found.items()}
    assert spent == {"ses_a": 18, "ses_b": 18, "ses_c": 0, "ses_d": 0}
    own.connection.execute("DELETE FROM session WHERE id = 'ses_a'")
    orphan = listed(own.adapter)["ses_b"]
    assert (orphan.kind, orphan.parent_id) == ("fork", None)


def test_a_fork_in_the_tree_of_files(store: Stored) -> None:
    """1.1.65 could fork already; its sessions are files of their own and are compared by what the list knows."""
    home = store("opencode", "home-json-1.1")
    storage = data_folder(home) / "storage"
    parent, child = "ses_e02c7c556ffe2ekpDgwQRVEy8l", "ses_forkedforkedforkedforked00"
    (info,) = storage.glob(f"session/*/{parent}.json")
    later = json.loads(info.read_text()) | {"id": child, "time": {"created": 1795249700000, "updated": 1795249700000}}
    info.with_name(f"{child}.json").write_text(json.dumps(later))
    (storage / "message" / child).mkdir()
    for number, path in enumerate(sorted((storage / "message" / parent).iterdir())[:4]):
        key = f"msg_{(1795249700001 + number) * 4096 % (1 << 48):012x}copy"
        data = json.loads(path.read_text()) | {"id": key, "sessionID": child}
        (storage / "message" / child / f"{key}.json").write_text(json.dumps(data))
    found = listed(adapter_for(home))
    assert (found[child].kind, found[child].forked_from, found[child].tokens) == ("fork", parent, None)
    assert found[child].raw["copiedMessages"] == 4


def test_parents_in_a_circle_or_nowhere_end(own: Store) -> None:
    for key, parent in (("ses_a", "ses_b"), ("ses_b", "ses_a"), ("ses_c", "ses_c"), ("ses_d", "ses_gone")):
        own.session(key, parent_id=parent)
        own.say(key, "user", key)
    assert {key: (one.kind, one.parent_id) for key, one in listed(own.adapter).items()} == {
        "ses_a": ("subagent", "ses_b"), "ses_b": ("subagent", "ses_a"),
        "ses_c": ("subagent", "ses_c"), "ses_d": ("subagent", "ses_gone"),
    }  # fmt: skip
    circle = [
        replace(summary, forked_from=parent, kind="fork")
        for (_, summary), parent in zip(
            sorted(listed(own.adapter).items()), ("ses_b", "ses_a", "ses_c", "ses_gone"), strict=True
        )
    ]
    assert [one.lineage_id for one in own.adapter.relate(circle)] == ["ses_b", "ses_a", None, "ses_gone"]


# Cost of reading ---------------------------------------------------------------------------------------------


def crowd(made: Store, number: int) -> None:
    made.connection.execute("BEGIN")
    for index in range(number):
        key = made.session(f"ses_{index}", title=f"Title {index}")
        made.say(key, "user", f"question {index}")
        made.say(key, "assistant", f"answer {index}")
        made.insert("event", id=f"evt_{index}", aggregate_id=key, seq=1, type="x", data="x" * 100)
    made.connection.execute("COMMIT")


def test_a_quick_list_takes_a_few_statements_for_hundreds_of_sessions(
    own: Store, statements: list[tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FULL_SIZE", 0)
    crowd(own, 600)
    statements.clear()
    found = listed(own.adapter, exact=False)
    assert len(found) == 600
    assert len([sql for sql, _ in statements if "pragma_table_info" not in sql]) <= 60
    assert not [sql for sql, _ in statements if "event" in sql]
    summary = found["ses_7"]
    assert (summary.partial, summary.turn_count, summary.message_count, summary.preview) == (True, 1, 2, "question 7")
    assert summary.tokens and summary.tokens.total == 18 and summary.models == ("m",)
    exact = listed(own.adapter)["ses_7"]
    assert not exact.partial and replace(summary, partial=False) == exact


def test_a_quick_list_reads_no_part_but_the_first_prompts_and_no_large_row(
    own: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else were read would be reported: it is no JSON."""
    monkeypatch.setattr(listing, "FULL_SIZE", 0)
    own.session("ses_1", title="")
    own.say("ses_1", "user", "first")
    for number in range(5):
        answer = own.say("ses_1", "assistant", "x")
        own.connection.execute("UPDATE part SET data = 'not JSON' WHERE message_id = ?", (answer,))
        prompt = own.say("ses_1", "user", f"again {number}")
        own.connection.execute("UPDATE message SET data = ? WHERE id = ?", ("not JSON" + "x" * 70_000, prompt))
    summary = listed(own.adapter, exact=False)["ses_1"]
    assert (summary.message_count, summary.turn_count, summary.title, summary.warnings) == (11, 5, "first", 0)
    source = own.source()
    problems: list[Problem] = []
    (exact,) = own.adapter.summaries(source, problems.append, exact=True)
    assert exact.warnings == 15 and exact.partial


def test_one_session_is_read_without_the_others(own: Store, statements: list[tuple[str, list[str]]]) -> None:
    crowd(own, 50)
    own.entry("ses_9", "user", 1, text="x")
    source = own.source()
    statements.clear()
    assert own.adapter.session(source, "ses_9").message_count == 3
    transcript = own.adapter.open(source, "ses_9")
    own.say("ses_9", "user", "more")
    transcript.refresh()
    steps = [step for sql, plan in statements for step in plan if "pragma" not in sql]
    tables = ("message", "part", "session_message", "session")
    touched = [step for step in steps if step.split()[1] in tables]
    assert touched and all(step.startswith("SEARCH") for step in touched)
    assert not [sql for sql, _ in statements if "event" in sql]


def test_a_tree_is_listed_by_its_ends(store: Stored) -> None:
    home = store("opencode", "home-json-1.1")
    adapter = adapter_for(home)
    METER.reset()
    sources = list(adapter.sources(lambda problem: None))
    assert (len(sources), METER.opened) == (5, 0)
    long = "ses_e02c7c556ffe2ekpDgwQRVEy8l"
    messages = data_folder(home) / "storage" / "message" / long
    pattern = json.loads(max(messages.iterdir()).read_text())
    for number in range(500):
        key = f"msg_{0x1FD385000001 + number:012x}xxxxxxxxxxxxxx"
        (messages / f"{key}.json").write_text(json.dumps(pattern | {"id": key}))
    source = next(source for source in adapter.sources(lambda problem: None) if source.session_id == long)
    METER.reset()
    (summary,) = adapter.summaries(source, lambda problem: None)
    assert (summary.message_count, summary.partial, summary.preview) == (
        510, True, "list the files and write LEDGER.md about apples",
    )  # fmt: skip
    assert METER.opened <= 12 and METER.bytes < 20_000
    (exact,) = adapter.summaries(source, lambda problem: None, exact=True)
    assert (exact.message_count, exact.partial, exact.tool_call_count) == (510, False, 4)
    METER.reset()
    adapter.session(next(one for one in sources if one.session_id == "ses_e02c7a2aeffepH1J3kwg00IvoE"), "ses_e02c7a2aeffepH1J3kwg00IvoE")  # fmt: skip  # noqa: E501
    assert METER.opened == 4, "the session, two messages and a part"


def test_no_database_is_opened_as_a_plain_file(store: Stored) -> None:
    assert (
        opened_as_files(store("opencode", "home"), "session_adapters.opencode.adapter:OpenCodeAdapter", "opencode.db")
        == "[]\n"
    )


def test_descriptors_stay_the_same_over_200_conversations(store: Stored) -> None:
    for name in ("home", "home-json-1.1"):
        adapter = adapter_for(store("opencode", name))
        found = everything(adapter)
        with nothing_left_open():
            for number in range(200):
                source, summary = found[number % len(found)]
                adapter.open(source, summary.session_id).refresh()


def test_the_stamp_of_a_tree_changes_with_each_message(store: Stored) -> None:
    home = store("opencode", "home-json-1.1")
    adapter = adapter_for(home)
    before = {source.session_id: source.stamp for source in adapter.sources(lambda problem: None)}
    session_id = "ses_e02c79bc3ffey6I5T3Va3wFka8"
    folder = data_folder(home) / "storage" / "message" / session_id
    path = folder / "msg_2fffffffffffnew.json"
    path.write_text(json.dumps({"role": "user", "time": {"created": 1795249699999}}))
    os.utime(folder, ns=(0, 1_795_249_999_000_000_000))
    after = {source.session_id: source.stamp for source in adapter.sources(lambda problem: None)}
    assert [key for key in after if after[key] != before[key]] == [session_id]


def test_columns_are_found_by_name_and_few_are_enough(tmp_path: Path) -> None:
    folder = data_folder(tmp_path)
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "opencode.db")) as connection:
        connection.execute("CREATE TABLE part (data, message_id, id)")
        connection.execute("CREATE TABLE message (data, session_id, id)")
        connection.execute("CREATE TABLE session (title, id)")
        connection.execute("INSERT INTO session VALUES ('few', 'ses_1')")
        connection.execute("INSERT INTO message VALUES ('{\"role\": \"user\"}', 'ses_1', 'msg_1')")
        connection.execute('INSERT INTO part VALUES (\'{"type": "text", "text": "hi"}\', \'msg_1\', \'prt_1\')')
        connection.commit()
    before = tree(tmp_path)
    session = get(adapter_for(tmp_path), "ses_1")
    assert (session.title, session.messages[0].content, session.message_count) == ("few", "hi", 1)
    assert listed(adapter_for(tmp_path))["ses_1"].preview == "hi"
    assert tree(tmp_path) == before
