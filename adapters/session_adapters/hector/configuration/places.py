"""Where Hector's databases are.

Format: FACTS.md «Files»; spec 001 «Configuration Modes»; facts agentmux_hector.md 2.5.

Hector keeps them below the directory it runs in: `data/sessions.db` (v1), `.hector/hector.db` (v2), or where its
configuration there says. Looked at are the home directory, the working directory, and what the user names in
`HERMES_TUI_HECTOR_PATH`: directories, database files and configuration files, separated as in PATH.

A configuration may also name PostgreSQL servers. They are connected to where it is the user's own, at home or named
by the user: one that lies in the working directory could have us send any variable of the environment as a password.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from session_adapters.base import Environment
from session_adapters.hector.configuration.dsn import DSN_VARIABLE, Dsn, parse_dsns
from session_adapters.reading.damaged_places import reason_of
from session_adapters.reading.files import read_small
from session_adapters.reading.yaml_settings import read_yaml

__all__ = [
    "CONFIGURATIONS",
    "PATH_VARIABLE",
    "HectorFile",
    "HectorServer",
    "StoreSettings",
    "Trouble",
    "dsn_of",
    "expanded",
    "filled",
    "is_there",
    "own_configurations",
    "places",
    "stores_of",
    "zone_of",
]

PATH_VARIABLE = "HERMES_TUI_HECTOR_PATH"

_DATABASES = (Path("data", "sessions.db"), Path(".hector", "hector.db"))
CONFIGURATIONS = (Path("config.yaml"), Path("hector.yaml"), Path(".hector", "config.yaml"))
"""Where a configuration may be, below the directory that Hector runs in."""
_CONFIG_LIMIT = 1 << 20
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_OURS = re.compile(rb"^[\"']?(?:session_stores|databases)[\"']?[ \t]*:", re.MULTILINE)

_MOST_SERVERS = 8
"""That configurations may name: each is asked in a thread of its own."""
_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", re.ASCII)
_TEXTS = ("database", "host", "username", "password")
_WHERE = f"{DSN_VARIABLE} or the setting dsn of [hector]"

Trouble = Callable[[str, str, str], None]
"""Told of what cannot be read: file, place in it, reason."""


class HectorFile(NamedTuple):
    """A file that may be one of Hector's databases."""

    path: Path
    layout: str
    """What was expected there, or who named it."""


class HectorServer(NamedTuple):
    """A server that may have Hector's tables."""

    dsn: Dsn
    layout: str = ""
    """Which configuration names it; empty for an address that the user gave."""


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


def places(environment: Environment, dsns: Iterable[Dsn], trouble: Trouble) -> Iterator[HectorFile | HectorServer]:
    """Every file to look at, whether it exists or not, then every server, in the order in which they count. `dsns`
    are the addresses that the user gave."""
    known = tuple(dsns)
    seen: set[str] = set()
    servers = {dsn.label: HectorServer(dsn) for dsn in known}
    for place in _all(environment, known, trouble):
        if isinstance(place, HectorServer):
            servers.setdefault(place.dsn.label, place)
        elif (path := os.path.realpath(place.path)) not in seen:
            seen.add(path)
            yield place
    yield from list(servers.values())[: len(known) + _MOST_SERVERS]
    for left in list(servers.values())[len(known) + _MOST_SERVERS :]:
        trouble(left.dsn.label, "", f"configurations name more than {_MOST_SERVERS} servers: it is not asked")


def _all(environment: Environment, known: tuple[Dsn, ...], trouble: Trouble) -> Iterator[HectorFile | HectorServer]:
    yield from _below(environment, environment.home, known, trouble)
    working = environment.variables.get("PWD", "")
    if working.startswith("/") and Path(working) != environment.home:
        for place in _below(environment, Path(working), known, trouble, trusted=False):
            if isinstance(place, HectorServer) or os.path.lexists(place.path):
                yield place
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


def own_configurations(environment: Environment) -> Iterator[tuple[Path, Path]]:
    """Configurations that are the user's own, at home, then as the user named them, each with the directory in which
    its paths begin. Only files that are there and nobody else may write."""
    named = [environment.home]
    for value in environment.variables.get(PATH_VARIABLE, "").split(os.pathsep):
        named += [environment.expand(value.strip())] if value.strip() else []
    for path in named:
        is_file = path.suffix in (".yaml", ".yml")
        found = [path] if is_file else [path / name for name in CONFIGURATIONS]
        yield from ((one, path.parent if is_file else path) for one in found if _is_own(one))


def is_there(path: Path, kind: Callable[[int], bool] = bool) -> bool:
    """Whether a path is there, and of this kind by its mode; not when it cannot be reached."""
    try:
        return kind(path.stat().st_mode)
    except OSError:
        return False


def _below(
    environment: Environment, folder: Path, known: tuple[Dsn, ...], trouble: Trouble, *, trusted: bool = True
) -> Iterator[HectorFile | HectorServer]:
    for name in _DATABASES:
        yield HectorFile(folder / name, str(name))
    for name in CONFIGURATIONS:
        yield from _configured(environment, folder / name, folder, known, trouble, trusted=trusted)


def _configured(
    environment: Environment,
    path: Path,
    folder: Path,
    known: tuple[Dsn, ...],
    trouble: Trouble,
    *,
    trusted: bool = True,
) -> Iterator[HectorFile | HectorServer]:
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
        elif driver in ("postgres", "postgresql"):
            place = f"{expanded(store.host, environment.variables) or 'localhost'}:{store.port or 5432}"
            if any(database == dsn.database and place in dsn.hosts for dsn in known):
                continue  # it is one of those that the user gave
            dsn, reason = _address(store, environment, path, trusted=trusted)
            if dsn is not None:
                yield HectorServer(dsn, f"{name} in {path.name}")
            else:
                trouble(str(path), name, f"its sessions are on a PostgreSQL server and not read: {reason}")


def _address(store: StoreSettings, environment: Environment, path: Path, *, trusted: bool) -> tuple[Dsn | None, str]:
    """The address of a server that a configuration names, or why it is not connected to."""
    variables = environment.variables
    texts = [value for value in msgspec.structs.asdict(store).values() if isinstance(value, str)]
    unset = {found[1] for text in texts for found in _VARIABLE.finditer(text) if found[2] is None}
    if not trusted or not _is_own(path):
        whose = (
            "the configuration is neither at home nor named by you" if not trusted else "others may write the file"
        )
        return None, f"{whose}; give the address in {_WHERE}"
    if unset := {name for name in unset if not variables.get(name)}:
        are = "is" if len(unset) == 1 else "are"
        return None, f"{', '.join(sorted(unset))} {are} not set; set what it names, or give the address in {_WHERE}"
    dsn = dsn_of(filled(store, variables))
    return dsn, "" if dsn else f"its host, port or database is none; give the address in {_WHERE}"


def _is_own(path: Path) -> bool:
    """Whether nobody but this user can have written the file."""
    try:
        found = path.stat()
    except OSError:  # nobody can tell whose it is
        return False
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & stat.S_IWOTH


def dsn_of(store: StoreSettings) -> Dsn | None:
    """The address of a server, of settings without variables; None where they make none. Special characters in user
    and password are quoted."""
    host, port = store.host or "localhost", str(store.port or 5432)
    if not (_HOST.fullmatch(host) and port.isdecimal() and port.isascii() and store.database):
        return None
    host = f"[{host}]" if ":" in host else host
    user, password, database = (quote(text, safe="") for text in (store.username, store.password, store.database))
    who = f"{user}:{password}@" if password else f"{user}@" if user else ""
    mode = f"?sslmode={quote(store.ssl_mode, safe='')}" if store.ssl_mode else ""
    found = list(parse_dsns(f"postgresql://{who}{host}:{port}/{database}{mode}", lambda place, reason: None))
    return found[0] if len(found) == 1 else None


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
            if isinstance(inner, dict):  # a password of digits alone is a number
                numbers = {key: str(inner[key]) for key in _TEXTS if type(inner.get(key)) in (int, float)}
                inner = {**inner, **numbers}
            try:
                found.append((f"{top}.{name}", msgspec.convert(inner, StoreSettings, strict=False)))
            except msgspec.MsgspecError:
                continue  # kept in memory, or no store at all
    return tuple(found)


def expanded(value: str, variables: Mapping[str, str]) -> str:
    """A text with `${NAME}` and `${NAME:-otherwise}` replaced; what is not set is nothing."""
    return _VARIABLE.sub(lambda found: variables.get(found[1]) or found[2] or "", value)


def filled(store: StoreSettings, variables: Mapping[str, str]) -> StoreSettings:
    """The same settings with every text in them expanded."""
    values = msgspec.structs.asdict(store)
    texts = {name: expanded(value, variables) for name, value in values.items() if isinstance(value, str)}
    return msgspec.structs.replace(store, **texts)


def zone_of(environment: Environment) -> tzinfo | None:
    """The zone of a machine, in which Hector most likely wrote there; None is the process's own."""
    name = environment.variables.get("TZ", "").removeprefix(":")
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
