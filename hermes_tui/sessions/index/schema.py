"""The index file: its tables, how it is opened, how it is checked.

Every message that has any text, or calls a tool, is a row of `message`; its number is its time, so that FTS5, which
gives rows in the order of their numbers, gives the newest first. The words are in two FTS5 tables without contents,
by that number and with their places: `prose`, what was said, and `tool`, what tools were given and wrote.

What a message has to do with is told by its `names` (numbers of rows of `name`, with blanks between them), and the
other way round by `called`: who said it, the tools that it called or answers for, the files that those calls name.
Of so many words at the beginning of its tool text as `thought` says it is not ranked by: they were thought.

Every page ends in a checksum (SQLite's checksum VFS, which apsw brings along): a bit that flipped is an error when
its page is read, never another answer.

Commits are counted in `meta`. `source.changed` is the number of the one that last wrote the row, and `struck` in
`meta` that of the one that last took a row of `source` out, so that a reader need not read again what it knows.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import apsw
import msgspec

from hermes_tui.platform.own_files import check_own, open_own, read_own
from hermes_tui.platform.paths import private_dir
from hermes_tui.sessions.words import TOKENIZER
from session_adapters.reading.sqlite import database_uri

__all__ = [
    "FILE",
    "FORMAT",
    "KINDS",
    "ROLE",
    "SECOND",
    "STORES",
    "TABLES",
    "TOOL",
    "Damaged",
    "IndexUnusable",
    "Seal",
    "break_seal",
    "broken",
    "connect",
    "file_of",
    "has_seal",
    "note_damage",
    "open_reader",
    "open_writer",
    "read_seal",
    "remove",
    "row_time",
    "write_seal",
]

FORMAT = 12
"""Another number: made anew."""
STORES = "HERMES_TUI_STORES"
"""Variable that tells an indexer of another home than its own: an `Environment` as JSON."""
APPLICATION = 0x68747569
_CHECKSUM = 8
"""Bytes at the end of every page."""
_NOTE = b"damaged"
"""In the place of a seal, by a reader that found damage."""
SECOND = 8
"""Bits of a row number below the second: messages of the same one are told apart by them."""
TABLES = ("prose", "tool")
KINDS = ("role", "tool", "file")
"""Of names; by their places here."""
ROLE, TOOL, FILE = range(3)
_SETTINGS = (("hashsize", 16 << 20), ("automerge", 16), ("usermerge", 8))
"""Bytes that FTS5 collects before it writes a segment, and how many segments it makes one of: with 4, as it would
have it, everything is written twice as often. How many are enough for `tidying`."""

_WRITING = (
    "page_size=8192",
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "temp_store=MEMORY",
    "cache_size=-4096",
    "journal_size_limit=16777216",
)
"""Settings of the writer's connection; the first one has a meaning for a new file alone."""

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE source(
    id INTEGER PRIMARY KEY, agent TEXT NOT NULL, path TEXT NOT NULL, native TEXT NOT NULL,
    stamp TEXT NOT NULL, level INTEGER NOT NULL, again INTEGER NOT NULL, lost TEXT NOT NULL,
    changed INTEGER NOT NULL,
    UNIQUE(agent, path, native));
CREATE TABLE session(
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL, native TEXT NOT NULL, mark TEXT NOT NULL DEFAULT '',
    UNIQUE(source, native));
CREATE TABLE message(
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, key TEXT NOT NULL, at INTEGER, role TEXT NOT NULL,
    visibility INTEGER NOT NULL, prose INTEGER, tool INTEGER, names TEXT, thought INTEGER);
CREATE INDEX message_session ON message(session);
CREATE TABLE name(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE(kind, text));
CREATE TABLE called(
    name INTEGER, message INTEGER, PRIMARY KEY(name, message)) WITHOUT ROWID;
"""


class IndexUnusable(Exception):
    """There is no index that could be used. The text is one sentence without a full stop: why."""


class Damaged(IndexUnusable):
    """The file is not what was written, or of another form: it must be made anew."""


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """What the file looked like when its writer left it in order, in a small file beside it, behind its digest."""

    size: int
    modified: int
    """Nanoseconds."""
    program: str
    """Version of the readers that made it."""


def row_time(row: int) -> float:
    """The second, since the epoch, that a row's number stands for."""
    return float(row >> SECOND)


def open_writer(path: Path) -> apsw.Connection:
    """The index for writing, made when there is none. Raises `Damaged`, `apsw.Error`, `OSError`."""
    private_dir(path.parent)
    fresh = not path.exists()
    if fresh:  # SQLite would make it as the umask says, perhaps for others to read
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(5000)
        if fresh or not path.stat().st_size:
            connection.reserve_bytes(None, _CHECKSUM)
        for setting in _WRITING:  # one at a time: what follows one that answers is not done before that is taken
            connection.execute(f"PRAGMA {setting}")
        if fresh or not _pragma(connection, "application_id"):
            with connection:
                _create(connection)
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def connect(path: Path, flags: int) -> apsw.Connection:
    """A connection that looks at the checksum of every page that it reads. Raises `OSError` where something else than
    a file of ours is there, `apsw.Error`."""
    check_own(path)
    return apsw.Connection(database_uri(os.fspath(path)), flags=flags | apsw.SQLITE_OPEN_URI, vfs=_checking())


def file_of(connection: apsw.Connection) -> Path:
    """Where the database of a connection is, also where its path is no UTF-8."""
    try:
        return Path(connection.filename)
    except UnicodeDecodeError as error:
        return Path(os.fsdecode(error.object))


@cache
def _checking() -> str:
    """The name of the VFS with checksums, registered. All other databases keep the usual one."""
    import apsw.sqlite_extra

    usual = apsw.vfs_names()[0]
    with closing(apsw.Connection(":memory:")) as connection:
        apsw.sqlite_extra.load(connection, "cksumvfs")
    apsw.set_default_vfs(usual)
    return "cksmvfs"


def _create(connection: apsw.Connection) -> None:
    connection.execute(_TABLES)
    tokenizer = " ".join(TOKENIZER)
    for table in TABLES:
        options = f"text, content='', contentless_delete=1, tokenize='{tokenizer}'"
        connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({options})")
        for option, value in _SETTINGS:
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (option, value))
    connection.execute("INSERT INTO meta VALUES('generation', hex(randomblob(16))), ('commits', 0), ('struck', 0)")
    connection.execute(f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={FORMAT}")


def open_reader(path: Path) -> apsw.Connection:
    """The index for reading. Raises `IndexUnusable`."""
    try:
        check_own(path)  # before it is asked for its size: a pipe has none either
        if not path.stat().st_size:
            # As whoever makes it begins. Opened now, it would be read with pages of another size than it gets.
            raise IndexUnusable("there is nothing in it yet")
        connection = connect(path, apsw.SQLITE_OPEN_READONLY)
    except FileNotFoundError as error:
        raise IndexUnusable("there is none yet") from error
    except OSError as error:
        raise IndexUnusable(f"it cannot be opened: {error.strerror or error}") from error
    except apsw.Error as error:
        raise IndexUnusable(f"it cannot be opened: {error}") from error
    try:
        connection.set_busy_timeout(200)
        # Else SQLite plans a statement anew whenever other values are bound to it, which takes as long as asking it.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("PRAGMA query_only=1; PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY")
        _check(connection)
    except apsw.Error as error:
        connection.close()
        if broken(error):
            raise Damaged(f"it is damaged: {error}") from error
        raise IndexUnusable(f"it cannot be read: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: apsw.Connection) -> None:
    # At one moment: between two looks a writer may have made it, and one of the numbers would be there alone.
    with connection:
        found = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    if found == (0, 0):
        raise IndexUnusable("there is nothing in it yet")
    if found != (APPLICATION, FORMAT):
        raise Damaged("it is of another version of this program")
    if connection.reserve_bytes() != _CHECKSUM:
        raise Damaged("its pages have no checksums")


def _pragma(connection: apsw.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").get)


def broken(error: apsw.Error) -> bool:
    """Whether the file is at fault, not the disk, a lock or what was asked."""
    if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA:  # the checksum of a page
        return True
    return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError)


def remove(path: Path) -> None:
    """Delete the index and what lies beside it. Raises `OSError`."""
    for name in (_seal_path(path), path, Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}-journal")):
        with suppress(FileNotFoundError):
            name.unlink()


def _seal_path(path: Path) -> Path:
    return path.with_suffix(".seal")


def read_seal(path: Path) -> Seal | None:
    """The seal beside the index; None where its writer is at work, or was stopped at it. Raises `Damaged` for one
    that is not what was written."""
    try:
        content = read_own(_seal_path(path))
        if content == _NOTE:
            raise Damaged("it was found to be damaged")
        digest, _, text = content.partition(b" ")
        if digest != _digest(text):
            raise Damaged("what was noted about it is damaged")
        return msgspec.json.decode(text, type=Seal)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Damaged("what was noted about it cannot be read") from error


def has_seal(path: Path) -> bool:
    """Whether there is a seal, or a note in its place; after `break_seal`, that a reader has noted damage."""
    return os.path.lexists(_seal_path(path))


def write_seal(path: Path, program: str) -> None:
    """Say that the index is in order as it now is, unless a reader has noted damage since `break_seal`. Raises
    `OSError`."""
    status = path.stat()
    seal = Seal(size=status.st_size, modified=status.st_mtime_ns, program=program)
    text = msgspec.json.encode(seal)
    with (
        suppress(FileExistsError),
        os.fdopen(open_own(_seal_path(path), os.O_CREAT | os.O_EXCL | os.O_RDWR), "wb") as file,
    ):
        file.write(_digest(text) + b" " + text)


def note_damage(path: Path) -> None:
    """Have the next indexer make the index anew: a reader found it damaged. Raises `OSError`."""
    with os.fdopen(open_own(_seal_path(path), os.O_CREAT | os.O_TRUNC | os.O_RDWR), "wb") as file:
        file.write(_NOTE)


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).hexdigest().encode()


def break_seal(path: Path) -> None:
    """Say that the index is being written to. Raises `OSError`."""
    _seal_path(path).unlink(missing_ok=True)
