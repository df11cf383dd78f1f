"""Stores of every agent with a bomb in them: by size, depth, count, without an end, damaged, of a foreign schema.

A `Target` is one kind of file of one agent in a sample home; `lay` copies that home, puts a neighbour beside it (a
session of Claude Code that says `WORD`), and spoils the file.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw

import hostile_databases
from claude_lines import ClaudeHome
from hostile_databases import PLACES
from hostile_files import LOGS, aged
from support import STORES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["TARGETS", "WORD", "Target", "lay"]

WORD = "zebrafish"
"""What the neighbour says, and no sample store."""

_LONG, _LARGE, _DEEP, _VALUES = 256 << 20, 9 << 20, 1_000_000, 3_000_000
_SEED = 7

Bomb = Callable[[Path, str], None]


class Target(NamedTuple):
    """A file that is spoiled."""

    agent: str
    kind: str
    """What `_KINDS` has bombs for."""
    label: str
    home: str
    """The sample home, below the stores."""
    path: str
    """The first that matches, below the home."""
    table: str = ""
    """The name of a place of `PLACES`, or of what is packed."""

    @property
    def bombs(self) -> Mapping[str, Bomb]:
        """What can be laid into it, by a name."""
        return _KINDS[self.kind]


def lay(bomb: str, target: Target, home: Path) -> Path:
    """Make the home, with that bomb in it (none: ""); the file that was spoiled."""
    shutil.copytree(STORES / target.home, home, symlinks=True)
    for one in (home, *home.rglob("*")):
        if not one.is_symlink():
            one.chmod(one.stat().st_mode | 0o200)
    with tempfile.TemporaryDirectory() as folder:
        said = ClaudeHome(Path(folder)).session(WORD, project="beside").read_bytes()
    beside = home / ".claude/projects/-home-dev-beside/00000000-0000-0001-0000-000000000000.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(said)
    aged(beside)
    path = sorted(home.glob(target.path))[0]
    _make_needed(target.label, path, home)
    if bomb:
        target.bombs[bomb](path, target.table)
    return path


_STORE = b'{"session": {"store": "~/.openclaw/agents/{agentId}/sessions/sessions.json"},'


def _make_needed(label: str, path: Path, home: Path) -> None:
    """Have a small file tell what no other does: what is not missed where it cannot be read is not said."""
    if label == "projects":
        for same in home.glob(".gemini/tmp/*/.project_root"):
            same.unlink()
    elif label == "custom-title":
        transcript = path.parent.with_suffix(".jsonl")
        lines = transcript.read_bytes().splitlines(keepends=True)
        transcript.write_bytes(b"".join(line for line in lines if b'"custom-title"' not in line))
    elif label == "settings" and path.name == "openclaw.json":
        path.write_bytes(_STORE + path.read_bytes().partition(b"{")[2])


# Any file --------------------------------------------------------------------------------------------------------


def _pipe(path: Path, table: str) -> None:
    path.unlink()
    os.mkfifo(path)


def _zeros(path: Path, table: str) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _hole(path: Path, table: str) -> None:
    os.truncate(path, 100 << 30)
    aged(path)


def _flipped(path: Path, table: str) -> None:
    """One byte in fifty is another, and the first of a file of two lines."""
    data, chance = bytearray(path.read_bytes()), random.Random(_SEED)
    data[0] ^= 0x80 * (len(data) < 150)
    for at in range(100 if path.suffix in _DATABASES else 0, len(data)):
        if chance.random() < 0.02:
            data[at] = chance.randrange(256)
    path.write_bytes(data)
    aged(path)


_DATABASES = (".db", ".sqlite", ".vscdb")
_ENDLESS: Mapping[str, Bomb] = {"endless: pipe": _pipe, "endless: /dev/zero": _zeros, "endless: hole": _hole}


# JSON ------------------------------------------------------------------------------------------------------------


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _with(record: bytes, inside: bytes) -> bytes:
    """The record with other JSON in the place of its longest text."""
    longest = max(_texts(json.loads(record)), key=len, default="")
    compact = json.dumps(json.loads(record)).encode()
    return compact.replace(json.dumps(longest).encode(), inside, 1)


def _object(data: bytes) -> bytes:
    """The data where it is a JSON object; a small one where not."""
    try:
        return data if isinstance(json.loads(data), dict) else b'{"text":"x"}'
    except ValueError:
        return b'{"text":"x"}'


def _size(record: bytes, length: int = _LONG) -> bytes:
    return _with(record, b'"' + b"x " * (length // 2) + b'"')


def _depth(record: bytes) -> bytes:
    return _with(record, b"[" * _DEEP + b"]" * _DEEP)


def _objects(record: bytes) -> bytes:
    return _with(record, b'{"content":' * _DEEP + b"0" + b"}" * _DEEP)


def _values(record: bytes) -> bytes:
    return _with(record, b"[" + b"{}," * _VALUES + b"{}]")


def _retyped(value: Any, chance: random.Random) -> Any:
    """The same names with values of other types."""
    if chance.random() < 0.3:
        return chance.choice([None, True, -1, 1e308, 10**30, "", "\ud800", [], [[]], {}, {"": None}, ["x", 1, {}]])
    if isinstance(value, dict):
        return {key: _retyped(one, chance) for key, one in value.items()}
    if isinstance(value, list):
        return [_retyped(one, chance) for one in value]
    return value


def _foreign(record: bytes, number: int = 0) -> bytes:
    return json.dumps(_retyped(json.loads(record), random.Random(number))).encode()


def _lines_of(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines() if line.startswith(b"{")]


def _more(*make: Callable[[bytes], bytes]) -> Bomb:
    """Lines behind what is there, made of one of it, and the last as it was."""

    def spoil(path: Path, table: str) -> None:
        lines = _lines_of(path)
        said = max(lines, key=lambda line: max(map(len, _texts(json.loads(line))), default=0))
        with path.open("wb") as file:
            for line in lines[:-1]:
                file.write(line + b"\n")
            for one in make:
                file.write(one(said) + b"\n")
            file.write(lines[-1] + b"\n")
        aged(path)

    return spoil


def _many_lines(path: Path, table: str) -> None:
    """Millions of short lines of the agent's own."""
    line = min(_lines_of(path), key=len) + b"\n"
    with path.open("ab") as file:
        for _ in range(100):
            file.write(line * ((1 << 20) // len(line)))
    aged(path)


def _damaged_lines(path: Path, table: str) -> None:
    """As many records without their ends, longer than what counts as short."""
    line = max(_lines_of(path), key=len)[:300].rstrip(b"}").ljust(300, b"x") + b"\n"
    with path.open("ab") as file:
        for _ in range(100):
            file.write(line * ((1 << 20) // len(line)))
    aged(path)


def _foreign_lines(path: Path, table: str) -> None:
    lines = _lines_of(path)
    with path.open("ab") as file:
        for number in range(5_000):
            file.write(_foreign(lines[number % len(lines)], number) + b"\n")
    aged(path)


_LINES: Mapping[str, Bomb] = {
    "size: a line": _more(_size),
    "size: many lines": _more(*[lambda line: _size(line, _LARGE)] * 40),
    "depth: lists": _more(_depth),
    "depth: objects": _more(_objects),
    "count: values": _more(_values),
    "count: values within": _more(*[lambda line: _with(line, b"[" + b"{}," * 600_000 + b"0]")] * 20),
    "count: lines": _many_lines,
    "count: damaged lines": _damaged_lines,
    **_ENDLESS,
    "damaged": _flipped,
    "foreign": _foreign_lines,
}


def _whole(make: Callable[[bytes], bytes]) -> Bomb:
    def spoil(path: Path, table: str) -> None:
        path.write_bytes(make(path.read_bytes()))
        aged(path)

    return spoil


def _crowd(record: bytes) -> bytes:
    """A million more of what the document has most of."""
    value = json.loads(record)
    values = value.values() if isinstance(value, dict) else ()
    inner = max((one for one in values if isinstance(one, list)), key=len, default=None)
    if inner:
        return _with_tail(record, inner)
    return b"{" + b",".join(b'"k%d":{"a":1}' % number for number in range(500_000)) + b"}"


def _with_tail(record: bytes, inner: list[Any]) -> bytes:
    last = json.dumps(inner[-1]).encode()
    compact = json.dumps(json.loads(record)).encode()
    return compact.replace(last, b",".join([last] * max(1, (48 << 20) // len(last))), 1)


_DOCUMENT: Mapping[str, Bomb] = {
    "size": _whole(_size),
    "size within": _whole(lambda data: _size(data, 47 << 20)),
    "depth: lists": _whole(_depth),
    "depth: objects": _whole(_objects),
    "count: values": _whole(_values),
    "count: entries": _whole(_crowd),
    "count: keys": _whole(lambda data: b"{" + b'"a":1,' * _VALUES + b'"a":2}'),
    **_ENDLESS,
    "damaged": _flipped,
    "foreign": _whole(_foreign),
    "foreign: a list": _whole(lambda data: b"[" + data + b"]"),
}


# YAML ------------------------------------------------------------------------------------------------------------

_LAUGHS = b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d," % (n - 1) * 9) for n in range(1, 40))
_MERGES = b"b0: &b0 {x: 1}\n" + b"".join(
    b"b%d: &b%d {<<: [%s], y%d: 1}\n" % (n, n, b",".join([b"*b%d" % (n - 1)] * 9), n) for n in range(1, 40)
)


def _yaml(more: Callable[[], bytes]) -> Bomb:
    """`more` is made when it is laid: each worker of the tests would have it from the start."""
    return _whole(lambda data: data.rstrip() + b"\n" + more())


_YAML: Mapping[str, Bomb] = {
    "size": _yaml(lambda: b"zz: " + b"x" * _LONG + b"\n"),
    "size within": _yaml(lambda: b"zz: " + b"x" * (3 << 20) + b"\n"),
    "depth": _yaml(lambda: b"zz: " + b"[" * _DEEP + b"\n"),
    "depth: within": _yaml(lambda: b"zz: " + b"{a: " * 30_000 + b"\n"),
    "count: keys": _yaml(lambda: b"".join(b"k%d: 1\n" % number for number in range(300_000))),
    "count: aliases": _yaml(lambda: _LAUGHS),
    "count: merges": _yaml(lambda: _MERGES),
    **_ENDLESS,
    "damaged": _flipped,
    "foreign": _whole(lambda data: b"- !!python/object/apply:os.system [true]\n- !!int ''\n"),
}


# Databases -------------------------------------------------------------------------------------------------------


def _laid(name: str, size: int) -> Bomb:
    def spoil(path: Path, table: str) -> None:
        with closing(apsw.Connection(str(path))) as db:
            db.execute("PRAGMA synchronous = 0")
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("BEGIN")
            hostile_databases.BOMBS[name](db, PLACES[table], size)
            db.execute("COMMIT")

    return spoil


def _values_of(make: Callable[[bytes], bytes | str | None], *, rows: int = 1) -> Bomb:
    """Other contents in some rows that hold JSON."""

    def spoil(path: Path, table: str) -> None:
        place = PLACES[table]
        with closing(apsw.Connection(str(path))) as db:
            db.execute("PRAGMA ignore_check_constraints = 1")
            db.execute("PRAGMA foreign_keys = 0")
            hostile_databases.unbound(db, place.table)
            found = db.execute(
                f'SELECT "{place.key}", CAST("{place.text}" AS BLOB) FROM "{place.table}"'
                f' WHERE "{place.text}" IS NOT NULL ORDER BY length("{place.text}") DESC LIMIT {rows}'
            ).fetchall()
            for key, data in found:
                assert isinstance(data, bytes)
                value = make(_object(data))
                bound = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
                # And by what was in it: of some tables the key tells sessions apart, not their messages.
                row = f'"{place.key}" = ? AND CAST("{place.text}" AS BLOB) = ?'
                query = f'UPDATE OR IGNORE "{place.table}" SET "{place.text}" = ? WHERE {row}'
                db.execute(query, (bound, key, data))

    return spoil


def _other_columns(path: Path, table: str) -> None:
    """A table of that name with other columns."""
    name = PLACES[table].table
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA foreign_keys = 0")
        hostile_databases.unbound(db, name)
        db.execute("PRAGMA legacy_alter_table = 1")
        db.execute(f'ALTER TABLE "{name}" RENAME TO kept_aside')
        db.execute(f'CREATE TABLE "{name}" (a, b "x""; DROP", "c d" BLOB)')
        db.execute(f'INSERT INTO "{name}" VALUES (1, 2, 3)')


_TABLE: Mapping[str, Bomb] = {
    "size: a value": _laid("long", _LONG),
    "size: values": _values_of(lambda data: _size(data, _LARGE), rows=30),
    "size: computed": _laid("expanding", _LONG),
    "depth: lists": _values_of(_depth),
    "depth: objects": _values_of(_objects, rows=5),
    "count: values": _values_of(_values),
    "count: rows": _laid("many", 300_000),
    "endless: view": _laid("endless", 0),
    **_ENDLESS,
    "damaged": _flipped,
    "foreign: columns": _other_columns,
    "foreign: values": _values_of(lambda data: _foreign(data, len(data)), rows=1000),
    "foreign: no database": _whole(lambda data: b"#!/bin/sh\n" * 100_000),
}


# Packed ----------------------------------------------------------------------------------------------------------


def _gigabytes() -> bytes:
    packer = zstd.ZstdCompressor(level=1)
    parts = [packer.compress(b"x" * (1 << 24)) for _ in range(256)]
    return b"".join([*parts, packer.flush()])


def _wide() -> bytes:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    return packer.compress(b"{}") + packer.flush()


def _packed(make: Callable[[], bytes]) -> Bomb:
    def spoil(path: Path, table: str) -> None:
        data = make()
        if path.suffix == ".jsonl":
            path.unlink()
            packed = path.with_name(f"{path.name}.zst")
            packed.write_bytes(data)
            aged(packed)
            return
        with closing(apsw.Connection(str(path))) as db:
            for pragma in ("ignore_check_constraints = 1", "foreign_keys = 0"):
                db.execute(f"PRAGMA {pragma}")
            hostile_databases.unbound(db, "transcript_events")
            ((session, seq),) = db.execute("SELECT session_id, max(seq) FROM transcript_events")
            if table == "event":
                changed = "UPDATE transcript_events SET event_json = NULL, event_zstd = ?"
                db.execute(f"{changed} WHERE session_id = ? AND seq = ?", (data, session, seq))
                return
            db.execute("DELETE FROM transcript_events WHERE session_id = ?", (session,))
            db.execute(
                "INSERT INTO session_transcript_cold_archives VALUES (?, '1', 'x', ?, 1, 9, 9, 1, 1, 'sqlite', ?)",
                (session, "0" * 64, data),
            )

    return spoil


_ZSTD: Mapping[str, Bomb] = {
    "size: gigabytes": _packed(_gigabytes),
    "size: within": _packed(
        lambda: zstd.compress(b'{"type":"message","message":{"role":"user","content":"x"}}\n' * 250_000)
    ),
    "size: a wide window": _packed(_wide),
    "count: frames": _packed(lambda: zstd.compress(b"") * 1_000_000),
    "count: lines": _packed(lambda: zstd.compress(b"\n" * (60 << 20))),
    "depth: packed twice": _packed(lambda: zstd.compress(_gigabytes())),
    "damaged": _packed(lambda: zstd.compress(b'{"a":1}\n' * 10_000)[:-50] + b"\xff" * 40),
    "foreign: no zstd": _packed(lambda: b"PK\3\4" * 1000),
}


# Cursor's chats: blobs that name blobs -----------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def _chat(root: Callable[[list[bytes]], bytes], message: bytes | None = None) -> Bomb:
    """Another root of the conversation, made of the names of its messages, or of one message that is put in."""

    def spoil(path: Path, table: str) -> None:
        with closing(apsw.Connection(str(path))) as db:
            names = [bytes.fromhex(name) for (name,) in db.execute("SELECT id FROM blobs")]
            if message is not None:
                names = [bytes(32)]
                db.execute("INSERT INTO blobs (id, data) VALUES (?, ?)", (bytes(32).hex(), message))
            db.execute("INSERT INTO blobs (id, data) VALUES (?, ?)", ("ff" * 32, root(names)))
            ((facts,),) = db.execute("SELECT value FROM meta WHERE key = '0'")
            known = json.loads(bytes.fromhex(facts)) | {"latestRootBlobId": "ff" * 32}
            db.execute("UPDATE meta SET value = ? WHERE key = '0'", (json.dumps(known).encode().hex(),))

    return spoil


def _named(name: bytes) -> bytes:
    return b"\x0a\x20" + name


_LAUGH = json.dumps({"role": "user", "content": [{"type": "text", "text": "x " * 500_000}]}).encode()
_CHAT: Mapping[str, Bomb] = {
    "size: root": _chat(lambda names: b"\x0a" + _varint(_LONG) + b"x" * _LONG),
    "size: one message, 1,000,000 times": _chat(lambda names: _named(names[0]) * 1_000_000, _LAUGH),
    "size: one message, 200 times": _chat(lambda names: _named(names[0]) * 200, _LAUGH),
    "depth: messages": _chat(lambda names: _named(names[0]), _depth(b'{"role":"user","content":"x"}')),
    "depth: wire": _chat(lambda names: b"\x0a\x7f" * (8 << 20)),
    "count: fields": _chat(lambda names: b"\x10\x01" * (16 << 20)),
    "count: missing blobs": _chat(lambda names: b"".join(_named(n.to_bytes(32, "big")) for n in range(1_000_000))),
    "endless: a root of itself": _chat(lambda names: _named(b"\xff" * 32) * 100_000),
    "damaged": _chat(lambda names: random.Random(_SEED).randbytes(1 << 20)),
    "foreign": _chat(lambda names: _named(names[0]), b'{"role":{"a":1},"content":{"b":[1,[2]]}}'),
}

_KINDS: Mapping[str, Mapping[str, Bomb]] = {
    "lines": _LINES,
    "document": _DOCUMENT,
    "yaml": _YAML,
    "table": _TABLE,
    "zstd": _ZSTD,
    "chat": _CHAT,
}


def _documents(*rows: tuple[str, str, str, str]) -> Iterable[Target]:
    return (Target(agent, "document", label, f"{agent}/{home}", path) for agent, label, home, path in rows)


_CLAW = ".openclaw/agents/main/agent/openclaw-agent.sqlite"
TARGETS: tuple[Target, ...] = (
    *(Target(one.agent, "lines", "transcript", f"{one.agent}/{one.home}", one.path) for one in LOGS),
    Target("codex", "lines", "session_index", "codex/home", ".codex/session_index.jsonl"),
    Target("claude", "lines", "sub-agent", "claude/home", ".claude/projects/*/*/subagents/*.jsonl"),
    *_documents(
        ("claude", "running", "home", ".claude/sessions/*.json"),
        ("claude", "custom-title", "home", ".claude/projects/*/*/custom-title.json"),
        ("claude", "sub-agent's meta", "home", ".claude/projects/*/*/subagents/*.meta.json"),
        ("copilot", "session", "spec-layout/home", ".config/github-copilot/sessions/*.json"),
        ("cursor", "chat's meta", "home", ".cursor/chats/*/*/meta.json"),
        ("cursor", "workspace", "home", ".config/Cursor/User/workspaceStorage/*/workspace.json"),
        ("gemini", "session", "older/home", ".gemini/tmp/*/chats/*.json"),
        ("gemini", "projects", "home", ".gemini/projects.json"),
        ("hermes", "sessions.json", "home", ".hermes/sessions/sessions.json"),
        ("hermes", "gateway_state", "home", ".hermes/gateway_state.json"),
        ("hermes", "alias", "home", ".hermes/platforms/whatsapp/session/*.json"),
        ("openclaw", "session", "home-spec", ".openclaw/sessions/cli/*-*.json"),
        ("openclaw", "sessions.json", "home-files-2026.3", ".openclaw/agents/main/sessions/sessions.json"),
        ("openclaw", "settings", "home", ".openclaw/openclaw.json"),
        ("opencode", "session", "home-json-1.1", ".local/share/opencode/storage/session/*/*.json"),
        ("opencode", "message", "home-json-1.1", ".local/share/opencode/storage/message/*/*.json"),
        ("opencode", "part", "home-json-1.1", ".local/share/opencode/storage/part/*/*.json"),
        ("pi", "settings", "home", ".pi/agent/settings.json"),
    ),
    *(
        Target(name.partition("-")[0], "table", place.table, place.home, place.path, name)
        for name, place in PLACES.items()
    ),
    Target("copilot", "yaml", "workspace", "copilot/home", ".copilot/session-state/*/workspace.yaml"),
    Target("hector", "yaml", "config", "hector/home", "config.yaml"),
    Target("hermes", "yaml", "config", "hermes/home", ".hermes/config.yaml"),
    Target("codex", "zstd", "transcript", "codex/home", ".codex/sessions/2026/11/21/*.jsonl"),
    Target("openclaw", "zstd", "event", "openclaw/home", _CLAW, "event"),
    Target("openclaw", "zstd", "archive", "openclaw/home", _CLAW, "archive"),
    Target("openclaw", "zstd", "file", "openclaw/home-files-2026.3", ".openclaw/agents/main/sessions/*.jsonl"),
    Target("cursor", "chat", "blobs", "cursor/home", PLACES["cursor-chat"].path),
)
"""Everything that an agent's sessions or settings are read out of, one of each kind."""
