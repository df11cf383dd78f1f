"""The user's settings: one TOML file, read at the start and never written.

`config.toml` in `paths.config_dir()`, or the file that `HERMES_TUI_CONFIG` names. Without a file every
setting has its default. A file with a mistake is refused as a whole, because half of somebody's wishes may be worse
than none: whoever set `read_only` must not lose it to a misspelt theme.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import fields

from hermes_tui import errors
from hermes_tui.platform import paths
from session_adapters.reading.files import read_small

__all__ = [
    "USUAL_COLUMNS",
    "AttentionSettings",
    "Column",
    "Config",
    "ContextWindow",
    "Hector",
    "NotifyForm",
    "Price",
    "config_file",
    "load",
]

_LIMIT = 256 << 10
"""Bytes; a settings file longer than that is not one."""
_DOTS = 300
"""In a line, at most: `tomllib` takes minutes for a key of some thousand parts."""

Amount = Annotated[float, Meta(ge=0, le=1_000_000)]
"""US dollars; TOML's `nan` and `inf` are none."""


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, in US dollars for a million tokens; for models that the price list does not know, or that
    somebody pays another price for."""

    input: Amount
    """US dollars for a million tokens of input, instead of the price list's; must be given."""
    output: Amount
    """The same for output; must be given."""
    cache_read: Amount | None = None
    """For what is read from a cache; without it as `input`."""
    cache_write: Amount | None = None
    """For what is written to a cache; without it as `input`."""


class ContextWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a conversation an agent takes into its next call (spec 001), where its store does not say."""

    strategy: Literal["summary_buffer", "buffer_window", "token_window"] | None = None
    """How the window is cut: `summary_buffer`, `buffer_window` or `token_window`."""
    size: Annotated[int, Meta(ge=1)] | None = None
    """Messages, for `buffer_window`."""
    tokens: Annotated[int, Meta(ge=1)] | None = None
    """Tokens, for `summary_buffer` and `token_window`."""


class Hector(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hector's databases on servers."""

    dsn: tuple[str, ...] = ()
    """A list of addresses of PostgreSQL servers, `postgresql://user:password@host:port/database`; they may hold
    passwords, and are shown nowhere. `HERMES_TUI_HECTOR_DSN` goes before it."""

    def __repr__(self) -> str:
        return f"Hector({len(self.dsn)} addresses)"


Column = Literal["project", "model", "branch", "source", "age", "turns", "tokens", "cost", "size", "state"]
"""A column of the session list, from left to right."""
USUAL_COLUMNS: tuple[Column, ...] = ("project", "age", "turns", "cost", "state")
NotifyForm = Literal["off", "bell", "osc9", "osc99", "osc777", "command"]
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class AttentionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is made of sessions that need a person."""

    notify: NotifyForm = "off"
    """How you are told that a session came to need you: `off`, `bell`, `osc9`, `osc99` or `osc777` (which
    terminals show on the desktop), or `command`."""
    command: tuple[str, ...] = ()
    """For `command`: a program and its arguments, run without a shell, with what happened in variables of its
    environment."""
    text: bool = False
    """`true`: a notification also says what a session asks or runs, which are words of its transcript; otherwise its
    state, project and title alone."""
    stuck_after: str | int = "5m"
    """Silence after which work counts as stuck: seconds, or a number with `s`, `m` or `h`."""

    def __post_init__(self) -> None:
        if self.notify == "command" and not self.command:
            raise ValueError("notify is 'command', and there is no command")
        if not 1 <= self.stuck_seconds <= 365 * 86400:
            raise ValueError(f"stuck_after cannot be {self.stuck_after!r}; it is like '5m', '90s' or 300")

    @property
    def stuck_seconds(self) -> int:
        """`stuck_after` in seconds; 0 where it is none."""
        found = re.fullmatch(r"(\d{1,9})([smh]?)", str(self.stuck_after).strip())
        return int(found[1]) * _UNITS[found[2]] if found else 0


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, with their defaults."""

    read_only: bool = False
    """`true`: no key or command changes Hermes' lanes or sessions, as with `--read-only`."""
    theme: str | None = None
    """Colours, by the name of a theme, as `--theme`."""
    mouse: bool = True
    """`false`: the mouse is left to the terminal, as with `--no-mouse`."""
    columns: tuple[Column, ...] = USUAL_COLUMNS
    """The columns of the session list besides the title, of `project`, `model`, `branch`, `source`, `age`, `turns`,
    `tokens`, `cost`, `size`, `state`; `c` in the list chooses others, which goes before."""
    index: bool = True
    """`false`: no search index is kept; the sessions themselves are searched each time."""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """A table: id of an action → its keys, separated by commas; `?` in the program shows the ids."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """A table for each model: what it costs."""
    context: Mapping[str, ContextWindow] = field(default_factory=dict)
    """A table for each agent: what it takes into its next call, where its store does not say."""
    hector: Hector = Hector()
    """A table: Hector's databases on servers."""
    attention: AttentionSettings = AttentionSettings()
    """A table: when work counts as stuck, and how you are told of sessions that need you."""
    searches: Mapping[str, str] = field(default_factory=dict)
    """A table: name → query, beside the searches that are saved by key (`ctrl+r`, `ctrl+s`)."""


_TABLES: Mapping[str, type[Struct]] = {
    "": Config,
    "prices[...]": Price,
    "context[...]": ContextWindow,
    "hector": Hector,
    "attention": AttentionSettings,
}
"""By where they stand, as msgspec says it."""


def config_file(variables: Mapping[str, str] | None = None) -> Path:
    """Where the settings are, whether or not there are any. Raises `errors.ValidationError` for a name that is no
    path."""
    named = (os.environ if variables is None else variables).get("HERMES_TUI_CONFIG", "").strip()
    try:
        return Path(named).expanduser() if named else paths.config_dir() / "config.toml"
    except RuntimeError:  # nobody has that name, or there is no home
        raise _refused(Path(named), "there is no such directory") from None


def load(path: Path | None = None) -> Config:
    """The settings in `path` (None: the usual file, which need not exist). Raises `errors.ValidationError`, one
    sentence, for a file that cannot be read, is no TOML or has a setting that there is not."""
    file = config_file() if path is None else path
    try:
        raw = read_small(file, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        if path is None and not os.environ.get("HERMES_TUI_CONFIG", "").strip():
            return Config()  # only a file that somebody named must be there
        raise _refused(file, "there is no such file") from None
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error
    import tomllib  # not needed where there is no file

    if max(line.count(b".") for line in raw.split(b"\n")) > _DOTS:
        raise _refused(file, f"it has a line with more than {_DOTS} dots")
    try:
        return convert(tomllib.loads(raw.decode()), Config)
    except UnicodeDecodeError:
        raise _refused(file, "it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise _refused(file, f"it is no TOML: {error}") from None
    except RecursionError:
        raise _refused(file, "it is nested too deeply") from None
    except ValidationError as error:
        raise _refused(file, _explained(str(error))) from None
    except ValueError as error:  # a number of some thousand digits
        raise _refused(file, f"it is no TOML: {error}") from None


def _refused(file: Path, reason: str) -> errors.ValidationError:
    return errors.ValidationError(f"settings {str(file)!r}: {reason}; correct the file or move it away")


def _explained(said: str) -> str:
    """What msgspec says of a value, with the setting or the values that were likely meant."""
    settings = {one.name: one.type for table in _TABLES.values() for one in fields(table)}
    if unknown := re.match(r"Object contains unknown field `([^`]*)`(.*)", said):
        from difflib import get_close_matches

        name, table = unknown[1], unknown[2].removeprefix(" - at `$.").removesuffix("`")
        everywhere = {one.name: _in(place, one.name) for place, kind in _TABLES.items() for one in fields(kind)}
        here = [one.name for one in fields(_TABLES.get(table, Config))]
        near = everywhere.get(name) or "".join(_in(table, one) for one in get_close_matches(name, here, 1))
        return f"there is no setting `{_in(table, name)}`" + (f"; there is `{near}`" if near else "")
    if wrong := re.fullmatch(r"Invalid enum value (.*) - at `\$\.(.*)`", said):
        name = re.findall(r"[a-z_]+", wrong[2])[-1]
        values = ", ".join(_values(settings[name])) if name in settings else ""
        return f"{wrong[1]} is no value of `{wrong[2]}`; it is one of {values}" if values else said
    return said


def _in(table: str, name: str) -> str:
    return f"{table}.{name}" if table else name


def _values(kind: object) -> list[str]:
    """Those that a setting of this type may have, where they are a few words."""
    inside = get_args(kind)
    return list(inside) if get_origin(kind) is Literal else [value for one in inside for value in _values(one)]
