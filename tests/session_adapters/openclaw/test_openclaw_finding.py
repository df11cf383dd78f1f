"""Where OpenClaw's sessions are looked for, which of several copies counts, and transcripts that were packed away."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw_store import (
    Database,
    adapter_for,
    event,
    everything,
    folder_of,
    get,
    header,
    lines,
    listed,
    place,
    reply,
)
from plain_openclaw import HOMES, database_of, plain_index
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Problem
from session_adapters.openclaw import zstd
from session_adapters.reading.files import METER

if sys.version_info >= (3, 14):
    from compression import zstd as codec
else:
    from backports import zstd as codec

Stored = Callable[..., Path]
TALK = (event("a", None, "hello"), reply("b", "a", "hi"))


def packed(data: bytes) -> bytes:
    """One frame that says how large its content is."""
    return codec.compress(data)


# Places ------------------------------------------------------------------------------------------------------


def test_state_directories(tmp_path: Path) -> None:
    for state in (".openclaw", ".openclaw-work", ".clawdbot", ".moldbot", "elsewhere"):
        name = f"id-{state.strip('.')}"
        talk = (header(name), event("a", None, state))
        place(folder_of(tmp_path, state), f"{name}.jsonl", *talk, index={"main": {"sessionId": name}})
    found = listed(adapter_for(tmp_path))
    assert {one.session_id: (one.title, one.profile) for one in found.values()} == {
        "main": (".openclaw", None),
        "work/main": (".openclaw-work", "work"),
        "clawdbot/main": (".clawdbot", None),
        "moldbot/main": (".moldbot", None),
    }
    for session_id, one in found.items():
        assert get(adapter_for(tmp_path), session_id).title == one.title
    moved = adapter_for(tmp_path, OPENCLAW_STATE_DIR=str(tmp_path / "elsewhere"))
    assert {one.session_id: one.title for one in listed(moved).values()} == {
        "main": "elsewhere",
        "openclaw/main": ".openclaw",
        "work/main": ".openclaw-work",
        "clawdbot/main": ".clawdbot",
        "moldbot/main": ".moldbot",
    }
    profile = adapter_for(tmp_path, OPENCLAW_PROFILE="work")
    assert listed(profile)["main"].title == ".openclaw-work"
    elsewhere = tmp_path / "other-home"
    elsewhere.mkdir()
    (tmp_path / ".openclaw").rename(elsewhere / ".openclaw")
    assert listed(adapter_for(tmp_path, OPENCLAW_HOME="~/other-home"))["main"].title == ".openclaw"


def test_roots_are_named_though_they_are_not_there(tmp_path: Path) -> None:
    adapter = adapter_for(tmp_path)
    assert [(root.path, root.exists) for root in adapter.roots()] == [(tmp_path / ".openclaw", False)]
    assert everything(adapter) == []
    assert adapter.find("agent:main:main") is None and adapter.live() == {}


def test_a_link_to_a_state_directory_is_the_same_one(tmp_path: Path) -> None:
    place(folder_of(tmp_path), "s.jsonl", header("s"), *TALK)
    (tmp_path / ".clawdbot").symlink_to(tmp_path / ".openclaw")
    (tmp_path / ".openclaw" / "agents" / "copy").symlink_to(tmp_path / ".openclaw" / "agents" / "main")
    assert list(listed(adapter_for(tmp_path))) == ["s"]


@pytest.mark.parametrize("comment", ["", "// where it all is\n", "/* a */ "])
def test_what_the_configuration_moves(comment: str, tmp_path: Path) -> None:
    made = Database(tmp_path, tmp_path / "far" / "openclaw-agent.sqlite")
    made.key("agent:far:main", "d")
    made.write("d", header("d"), event("a", None, "in the moved database"))
    stores = tmp_path / "stores" / "main"
    stores.mkdir(parents=True)
    place(stores, "s.jsonl", header("s"), event("a", None, "in the moved files"))
    (stores / "keys.json").write_text(json.dumps({"agent:main:main": {"sessionId": "s"}}))
    (tmp_path / ".openclaw" / "agents" / "main").mkdir(parents=True)
    config = {
        "agents": {"list": [{"id": "far", "agentDir": str(made.path.parent)}, "odd", {"id": 3}]},
        "session": {"store": "~/stores/{agentId}/keys.json"},
    }
    text = comment + json.dumps(config, indent=1).replace('"session"', '"url": "http://x//y",\n"session"')
    (tmp_path / ".openclaw" / "openclaw.json").write_text(text[:-1].rstrip() + ",\n}")
    titles = {one.session_id: one.title for one in listed(made.adapter).values()}
    assert titles == {"agent:far:main": "in the moved database", "agent:main:main": "in the moved files"}
    assert get(made.adapter, "agent:main:main").title == "in the moved files"


def test_a_configuration_that_cannot_be_read_is_said(tmp_path: Path, problems: list[Problem]) -> None:
    folder_of(tmp_path)
    path = tmp_path / ".openclaw" / "openclaw.json"
    path.write_text("{agentDir: 'x'}")
    assert listed(adapter_for(tmp_path), problems=problems) == {}
    assert [problem.path for problem in problems] == [str(path)]
    path.write_text("{nothing: 'x'}")
    assert listed(adapter_for(tmp_path)) == {}


def test_files_that_are_no_sessions_are_left_out(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    for name in (
        "s.jsonl.lock", "sessions.json.1.tmp", "s.trajectory.jsonl", "s.checkpoint.1.jsonl", ".s.jsonl",
        "s.jsonl.bak.1", "s.jsonl.bak.2026-11-21T09-00-02.387Z", "notes.txt", "sessions.json.bak.3",
    ):  # fmt: skip
        place(folder, name, header("s"), *TALK)
    database = Database(tmp_path)
    for name in ("openclaw-agent.reindex-lock.sqlite", "openclaw-agent.generation-2.sqlite", "x.memory-reindex-1"):
        shutil.copyfile(database.path, database.path.with_name(name))
    assert [source.layout for source in adapter_for(tmp_path).sources(lambda problem: None)] == ["database"]


def test_a_jsonl_file_of_something_else_is_said(tmp_path: Path, problems: list[Problem]) -> None:
    place(folder_of(tmp_path), "s.jsonl", {"level": "info"}, {"level": "warning"})
    place(folder_of(tmp_path), "t.jsonl", header("t"), *TALK)
    assert list(listed(adapter_for(tmp_path), problems=problems)) == ["t"]
    assert [(Path(problem.path).name, problem.reason) for problem in problems] == [("s.jsonl", "it holds no session")]


# Copies ------------------------------------------------------------------------------------------------------


def migrated(tmp_path: Path, store: Stored) -> Path:
    """The samples in files, with a database beside them that has taken over some."""
    home = store("openclaw", "home-files-2026.3")
    made = Database(home)
    index = plain_index(home)
    for key in ("agent:main:main", "agent:main:discord:channel:99"):
        session_id = index[key]["sessionId"]
        path = folder_of(home) / f"{session_id}.jsonl"
        made.key(key, session_id, label="from the database")
        made.write(session_id, *(json.loads(line) for line in path.read_text().splitlines()))
    made.key("agent:main:telegram:direct:4711", index["agent:main:telegram:direct:4711"]["sessionId"])
    made.connection.close()
    return home


def test_a_session_in_files_and_in_the_database_is_one(tmp_path: Path, store: Stored) -> None:
    before = listed(adapter_for(HOMES / "home-files-2026.3"))
    home = migrated(tmp_path, store)
    found = listed(adapter_for(home))
    assert found.keys() == before.keys()
    for key, one in found.items():
        assert (one.message_count, one.tokens) == (before[key].message_count, before[key].tokens), key
        assert get(adapter_for(home), key).tokens == one.tokens
    layouts = {key: one.raw["layout"] for key, one in found.items()}
    assert layouts["agent:main:main"] == layouts["agent:main:discord:channel:99"] == "database"
    assert found["agent:main:main"].title == "from the database"
    # Its import was broken off: the key is in the database, the conversation still in the file.
    assert layouts["agent:main:telegram:direct:4711"] == "files"
    source = adapter_for(home).find("agent:main:telegram:direct:4711")
    assert source is not None and source.path.endswith(".jsonl")
    assert layouts["agent:main:spawner"] == "files", "an import leaves some behind"
    (folder_of(home) / "sessions.json").unlink()
    left = listed(adapter_for(home))["agent:main:telegram:direct:4711"]
    session = get(adapter_for(home), "agent:main:telegram:direct:4711")
    assert (left.message_count, left.session_id) == (session.message_count, session.session_id)
    assert left.message_count == 2 and left.path == session.path == source.path


def test_the_archive_of_an_import_is_looked_through(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    archive = folder / "session-sqlite-import-archive"
    archive.mkdir()
    place(archive, "taken.jsonl", header("taken"), *TALK)
    place(archive, "left.jsonl", header("left"), *TALK)
    place(archive, "both.jsonl", header("both"), event("a", None, "short"))
    place(folder, "both.jsonl", header("both"), *TALK)
    made = Database(tmp_path)
    made.key("agent:main:main", "taken")
    made.write("taken", header("taken"), *TALK)
    found = listed(made.adapter)
    assert {key: one.message_count for key, one in found.items()} == {"agent:main:main": 2, "left": 2, "both": 2}


def test_names_and_headers_that_do_not_match(tmp_path: Path) -> None:
    """openclaw #153079 and others: topic and boot files whose header has another id."""
    folder = folder_of(tmp_path)
    place(folder, "boot-2026.jsonl", header("x"), event("a", None, "boot"))
    place(folder, "x.jsonl", header("x"), event("a", None, "own"))
    place(folder, "x-topic-7.jsonl", header("x"), event("a", None, "topic"))
    found = listed(adapter_for(tmp_path))
    assert {key: one.title for key, one in found.items()} == {"boot-2026": "boot", "x": "own", "x-topic-7": "topic"}
    for key, one in found.items():
        assert get(adapter_for(tmp_path), key).title == one.title


def test_several_files_of_one_id(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    place(folder, "s.jsonl", header("s"), event("a", None, "now"))
    for day in (1, 2):
        old = {**header("s"), "timestamp": f"2026-11-0{day}T00:00:00.000Z"}
        place(folder, f"s.jsonl.reset.2026-11-0{day}T09-00-00.000Z", old, event("a", None, f"day {day}"))
    place(folder, "gone.jsonl.deleted.2026-11-01T09-00-00.000Z", header("gone"), event("a", None, "deleted"))
    found = listed(adapter_for(tmp_path))
    assert {key: (one.title, one.archived) for key, one in found.items()} == {
        "s": ("now", False),
        "s.jsonl.reset.2026-11-02T09-00-00.000Z": ("day 2", False),
        "s.jsonl.reset.2026-11-01T09-00-00.000Z": ("day 1", False),
        "gone": ("deleted", True),
    }
    for key, one in found.items():
        assert get(adapter_for(tmp_path), key).title == one.title


def test_forks_in_files_name_the_file_of_their_parent(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    place(
        folder,
        "p.jsonl",
        header("p"),
        *TALK,
        index={"agent:main:main": {"sessionId": "p", "sessionFile": "/x/p.jsonl"}},
    )
    fork = {**header("f", parentSession="/home/dev/.openclaw/agents/main/sessions/p.jsonl")}
    place(folder, "f.jsonl", {**fork, "timestamp": "2026-11-21T01:00:00.000Z"}, *TALK, reply("c", "b", at=4000))
    found = listed(adapter_for(tmp_path))
    assert (found["f"].kind, found["f"].forked_from) == ("fork", "agent:main:main")
    assert found["f"].tokens is not None and found["f"].tokens.output_tokens == 10


def test_untrusted_ids(tmp_path: Path) -> None:
    made = Database(tmp_path)
    made.key("agent:main:main", "s")
    made.write("s", header("s"), *TALK)
    place(folder_of(tmp_path), "f.jsonl", header("f"), *TALK)
    for session_id in ("", "nope", "../f", "'; DROP TABLE x; --", "%", "a\x00b", "\ud800", "f.jsonl", "/f"):
        assert made.adapter.find(session_id) is None, session_id
        for source in made.adapter.sources(lambda problem: None):
            if source.layout == "database":
                with pytest.raises((SessionMissing, SessionUnreadable)):
                    made.adapter.open(source, session_id)
                with pytest.raises((SessionMissing, SessionUnreadable)):
                    made.adapter.session(source, session_id)


def test_an_index_with_odd_entries(tmp_path: Path, problems: list[Problem]) -> None:
    folder = folder_of(tmp_path)
    place(folder, "s.jsonl", header("s"), *TALK)
    place(folder, "evil.jsonl", header("evil"), *TALK)
    entries = {
        "agent:main:main": {"sessionId": "s", "skillsSnapshot": {"prompt": "x" * 10_000}},
        "main": {"sessionId": "s"},
        "agent:main:odd": {"sessionId": 7, "label": {"a": 1}},
        "agent:main:up": {"sessionId": "../../x", "sessionFile": "/etc/../etc/evil.jsonl"},
    }
    (folder / "sessions.json").write_text(json.dumps(entries))
    found = listed(adapter_for(tmp_path), problems=problems)
    assert list(found) == ["agent:main:up", "agent:main:main"], "the alias of a key is the key"
    assert [problem.place for problem in problems] == ["agent:main:odd"]
    (folder / "sessions.json").write_text('{"agent:main:main": {"sessionId": "s"}, "b"')
    problems.clear()
    assert sorted(listed(adapter_for(tmp_path), problems=problems)) == ["evil", "s"]
    assert [Path(problem.path).name for problem in problems] == ["sessions.json"]
    (folder / "sessions.json").write_bytes(b'\xef\xbb\xbf{"agent:main:main": {"sessionId": "s", "label": "\\ud800"}}')
    assert listed(adapter_for(tmp_path))["agent:main:main"].title == "\ufffd"


def test_an_index_full_of_skills(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    place(folder, "s.jsonl", header("s"), *TALK)
    filler = {"skillsSnapshot": {"prompt": "y" * 20_000, "skills": [{"name": "z"}] * 10}}
    entries = {f"agent:main:x{number}": {"sessionId": f"x{number}", **filler} for number in range(300)}
    (folder / "sessions.json").write_text(json.dumps({**entries, "agent:main:main": {"sessionId": "s"}}))
    made = adapter_for(tmp_path)
    found = listed(made, problems=[])
    assert list(found) == ["agent:main:main"]
    assert get(made, "agent:main:main").raw["sessionKey"] == "agent:main:main"


# Packed ------------------------------------------------------------------------------------------------------


def test_an_index_is_read_once_for_all_its_files(tmp_path: Path) -> None:
    names = [f"id-{number}" for number in range(20)]
    index = {f"agent:main:{name}": {"sessionId": name, "skills": "x" * 50_000} for name in names}
    for name in names:
        place(folder_of(tmp_path), f"{name}.jsonl", header(name), *TALK, index=index)
    adapter = adapter_for(tmp_path)
    files = [one for one in adapter.sources(lambda problem: None) if one.session_id in names]
    METER.reset()
    for one in files:
        key = f"agent:main:{one.session_id}"
        assert {text.session_id for text in adapter.texts(one, lambda problem: None)} == {key}
        assert list(adapter.usage(one, lambda problem: None, (key,)))
    assert len(files) == 20
    assert METER.bytes < 2 * 20 * 50_000


def test_an_index_of_very_many_keys_is_named(tmp_path: Path, problems: list[Problem]) -> None:
    index = {f"k{number}": {"a": 1} for number in range(20_001)}
    place(folder_of(tmp_path), "a.jsonl", header("a"), *TALK, index=index)
    adapter = adapter_for(tmp_path)
    found = [one for at in adapter.sources(problems.append) for one in adapter.summaries(at, problems.append)]
    assert [one.session_id for one in found] == ["a"]
    assert [one.reason for one in problems] == ["it cannot be read: it has more than 20,000 keys"]


@pytest.mark.parametrize("spoil", [lambda path: os.mkfifo(path), lambda path: path.write_bytes(b"[" * (5 << 20))])
def test_settings_that_cannot_be_read_are_said(
    spoil: Callable[[Path], None], tmp_path: Path, problems: list[Problem]
) -> None:
    place(folder_of(tmp_path), "a.jsonl", header("a"), *TALK)
    spoil(tmp_path / ".openclaw" / "openclaw.json")
    adapter = adapter_for(tmp_path)
    assert [one.session_id for one in adapter.sources(problems.append)] == ["a"]
    assert [Path(one.path).name for one in problems] == ["openclaw.json"]


def test_decompressing() -> None:
    data = lines(header("s"), *TALK) * 1000
    assert zstd.decompress(packed(data), 1 << 30) == data
    compressor = codec.ZstdCompressor()
    stream = compressor.compress(data) + compressor.flush()  # as it comes from a pipe: the size is not known
    assert codec.get_frame_info(stream).decompressed_size is None
    assert zstd.decompress(stream + stream, 1 << 30) == data * 2, "frames one after the other"
    for content, limit in ((packed(data), 1000), (stream[:-20], 1 << 30), (b"no", 100), (b"", 100), (stream, 1000)):
        with pytest.raises(zstd.ZstdError):
            zstd.decompress(content, limit)


@pytest.mark.parametrize(
    "where", ["cold file", "cold blob", "events", "archive", "archive zstd", "file", "reset file"]
)
def test_packed_transcripts(where: str, tmp_path: Path) -> None:
    talk = (header("s"), *TALK, event("c", "b", "x" * 3000))
    made = Database(tmp_path)
    folder = folder_of(tmp_path)
    if where in ("cold file", "cold blob", "events"):
        made.key("agent:main:main", "s")
    cold: dict[str, Any] = {
        "session_id": "s", "generation": "g", "archive_name": "s.jsonl.zst", "archive_sha256": "0" * 64,
        "event_count": 4, "raw_bytes": len(lines(*talk)), "archive_bytes": 1, "last_seq": 3, "archived_at": 1,
    }  # fmt: skip
    if where == "cold file":
        (folder / "cold").mkdir()
        (folder / "cold" / "s.jsonl.zst").write_bytes(packed(lines(*talk)))
        made.insert("session_transcript_cold_archives", **cold, storage="file")
    elif where == "cold blob":
        made.insert("session_transcript_cold_archives", **cold, storage="sqlite", archive_blob=packed(lines(*talk)))
    elif where == "events":
        made.write("s", *talk)
        data = json.dumps(talk[-1]).encode()
        made.connection.execute("PRAGMA ignore_check_constraints = 1")
        made.connection.execute(
            "UPDATE transcript_events SET event_json = NULL, event_zstd = ?, event_utf8_bytes = ?,"
            " navigation_json = '{}' WHERE seq = 3",
            (packed(data), len(data)),
        )
    elif where.startswith("archive"):
        blob = packed(lines(*talk)) if where.endswith("zstd") else lines(*talk)
        made.insert(
            "session_transcript_archives", session_id="s", generation="g", session_key="agent:main:x",
            reason="deleted", encoding="zstd" if where.endswith("zstd") else "identity", archive_blob=blob,
            archive_sha256="0" * 64, archive_name="s.jsonl.deleted.x.zst", created_at=1,
        )  # fmt: skip
    else:
        suffix = ".reset.2026-11-01T09-00-00.000Z.zst" if where == "reset file" else ".zst"
        (folder / f"s.jsonl{suffix}").write_bytes(packed(lines(*talk)))
    (one,) = listed(made.adapter).values()
    assert one.session_id == (
        "s" if where.startswith("archive") or where in ("file", "reset file") else "agent:main:main"
    )
    assert (one.message_count, one.partial, one.archived) == (3, False, where.startswith("archive"))
    assert one.tokens is not None and one.tokens.output_tokens == 10
    session = get(made.adapter, one.session_id)
    assert [message.id for message in session.messages] == ["a", "b", "c"]
    source = made.adapter.find(one.session_id)
    assert source is not None
    assert made.adapter.open(source, one.session_id).messages == list(session.messages)


def test_damaged_packs_are_said(tmp_path: Path, problems: list[Problem]) -> None:
    folder = folder_of(tmp_path)
    (folder / "s.jsonl.zst").write_bytes(packed(lines(header("s"), *TALK))[:-9])
    place(folder, "t.jsonl", header("t"), *TALK)
    made = Database(tmp_path)
    made.key("k", "e")
    made.write("e", header("e"), *TALK)
    made.connection.execute("PRAGMA ignore_check_constraints = 1")
    made.connection.execute("UPDATE transcript_events SET event_json = NULL, event_zstd = x'00' WHERE seq = 2")
    found = listed(made.adapter, problems=problems)
    assert sorted(found) == ["k", "t"]
    assert {(Path(problem.path).name, problem.place) for problem in problems} == {
        ("s.jsonl.zst", ""),
        ("openclaw-agent.sqlite", "session k, event 2"),
    }
    source = made.adapter.find("k")
    assert source is not None
    transcript = made.adapter.open(source, "k")
    assert [message.id for message in transcript.messages] == ["a"]
    assert [problem.place for problem in transcript.problems] == ["event 2"]
    source = made.adapter.find("s")
    assert source is not None
    for read in (made.adapter.open, made.adapter.session):
        with pytest.raises(SessionUnreadable, match="Zstandard data is missing"):
            read(source, "s")


def test_the_samples_are_in_the_first_home(store: Stored) -> None:
    home = store("openclaw", "home")
    assert database_of(home).exists()
    assert all(one.path == str(database_of(home)) for one in listed(adapter_for(home)).values())
