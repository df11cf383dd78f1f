"""Where Hector's databases are.

Format: FACTS.md «Files»; spec 001 «Configuration Modes»; facts agentmux_hector.md 2.5.

Hector keeps them below the directory it runs in: `data/sessions.db` (v1), `.hector/hector.db` (v2), or where its
configuration there says. Looked at are the home directory, the working directory, and what the user names in
`HERMES_TUI_HECTOR_PATH`: directories, database files and configuration files, separated as in PATH.

A configuration may also name a PostgreSQL server. It is never connected to for that alone: a configuration file that
lies about could have us send it any variable of the environment as a password. The user gives the address.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from session_adapters.base import Environment
from session_adapters.hector.dsn import DSN_VARIABLE, Dsn
from session_adapters.reading.damage import reason_of
from session_adapters.reading.files import read_small
from session_adapters.reading.yaml_settings import read_yaml

__all__ = [
    "CONFIGURATIONS",
    "PATH_VARIABLE",
    "HectorFile",
    "StoreSettings",
    "Trouble",
    "expanded",
    "is_there",
    "places",
    "stores_of",
]

PATH_VARIABLE = "HERMES_TUI_HECTOR_PATH"

_DATABASES = (Path("data", "sessions.db"), Path(".hector", "hector.db"))
CONFIGURATIONS = (Path("config.yaml"), Path("hector.yaml"), Path(".hector", "config.yaml"))
"""Where a configuration may be, below the directory that Hector runs in."""
_CONFIG_LIMIT = 1 << 20
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_OURS = re.compile(rb"^[\"']?(?:session_stores|databases)[\"']?[ \t]*:", re.MULTILINE)

Trouble = Callable[[str, str, str], None]
"""Told of what cannot be read: file, place in it, reason."""


class HectorFile(NamedTuple):
    """A file that may be one of Hector's databases."""

    path: Path
    layout: str
    """What was expected there, or who named it."""


class StoreSettings(msgspec.Struct, frozen=True):
    """`session_stores.*.sql` of v1, and `databases.*` of v2. Any text may name variables: see `expanded`."""

    driver: str = ""
    database: str = ""
    """The file, for `sqlite`; relative to where Hector runs."""
    host: str = ""
    port: Any = None
    username: str = ""
    password: str = ""
    ssl_mode: str = ""
    max_conns: int = 10
    max_idle: int = 2

    def __repr__(self) -> str:
        """Without the password."""
        return f"StoreSettings({self.driver} {self.host} {self.database})"


def places(environment: Environment, dsns: Iterable[Dsn], trouble: Trouble) -> Iterator[HectorFile]:
    """Every file to look at, whether it exists or not, in the order in which they count."""
    known = tuple(dsns)
    seen: set[str] = set()
    for place in _all(environment, known, trouble):
        path = os.path.realpath(place.path)
        if path not in seen:
            seen.add(path)
            yield place


def _all(environment: Environment, known: tuple[Dsn, ...], trouble: Trouble) -> Iterator[HectorFile]:
    yield from _below(environment, environment.home, known, trouble)
    working = environment.variables.get("PWD", "")
    if working.startswith("/"):
        yield from (
            place for place in _below(environment, Path(working), known, trouble) if os.path.lexists(place.path)
        )
    for value in environment.variables.get(PATH_VARIABLE, "").split(os.pathsep):
        if not value.strip():
            continue
        path = environment.expand(value.strip())
        if is_there(path, stat.S_ISDIR):
            yield from _below(environment, path, known, trouble)
        elif path.suffix in (".yaml", ".yml"):
            yield from _configured(environment, path, path.parent, known, trouble)
        else:
            yield HectorFile(path, PATH_VARIABLE)


def is_there(path: Path, kind: Callable[[int], bool] = bool) -> bool:
    """Whether a path is there, and of this kind by its mode; not when it cannot be reached."""
    try:
        return kind(path.stat().st_mode)
    except OSError:
        return False


def _below(environment: Environment, folder: Path, known: tuple[Dsn, ...], trouble: Trouble) -> Iterator[HectorFile]:
    for name in _DATABASES:
        yield HectorFile(folder / name, str(name))
    for name in CONFIGURATIONS:
        yield from _configured(environment, folder / name, folder, known, trouble)


def _configured(
    environment: Environment, path: Path, folder: Path, known: tuple[Dsn, ...], trouble: Trouble
) -> Iterator[HectorFile]:
    """The databases that a configuration file names. Other programs have a `config.yaml` too."""
    try:
        data = read_small(path, _CONFIG_LIMIT)
    except FileNotFoundError:
        return
    except OSError as error:
        # What cannot be reached at all is told of the databases there.
        if is_there(path, lambda mode: not stat.S_ISDIR(mode)):
            trouble(str(path), "", f"databases that it may name are not looked for: {reason_of(error)}")
        return
    try:
        stores = stores_of(data)
    except ValueError as error:
        trouble(str(path), "", str(error))
        return
    for name, store in stores:
        driver = store.driver.lower()
        database = expanded(store.database, environment.variables)
        if driver in ("sqlite", "sqlite3") and database and database != ":memory:":
            yield HectorFile(folder / environment.expand(database), str(path.name))
        elif driver in ("postgres", "postgresql") and not _is_given(store, database, environment, known):
            where = f"{DSN_VARIABLE} or the setting dsn of [hector]"
            reason = f"its sessions are on a PostgreSQL server and read only when {where} has its address"
            trouble(str(path), name, reason)


@lru_cache(maxsize=32)
def stores_of(data: bytes) -> tuple[tuple[str, StoreSettings], ...]:
    """The databases in a configuration: none in one that is not Hector's. Raises `ValueError`."""
    if not _OURS.search(data):
        return ()
    value = read_yaml(data)
    found: list[tuple[str, StoreSettings]] = []
    for top in ("session_stores", "databases"):
        stores = value.get(top) if isinstance(value, dict) else None
        for name, entry in stores.items() if isinstance(stores, dict) else ():
            inner = entry.get("sql") if top == "session_stores" and isinstance(entry, dict) else entry
            try:
                found.append((f"{top}.{name}", msgspec.convert(inner, StoreSettings, strict=False)))
            except msgspec.MsgspecError:
                continue  # kept in memory, or no store at all
    return tuple(found)


def expanded(value: str, variables: Mapping[str, str]) -> str:
    """A text with `${NAME}` and `${NAME:-otherwise}` replaced; what is not set is nothing."""
    return _VARIABLE.sub(lambda found: variables.get(found[1]) or found[2] or "", value)


def _is_given(store: StoreSettings, database: str, environment: Environment, known: tuple[Dsn, ...]) -> bool:
    """Whether the user gave the address of this server."""
    host = expanded(store.host, environment.variables) or "localhost"
    place = f"{host}:{store.port or 5432}"
    return any(database == dsn.database and place in dsn.hosts for dsn in known)
