"""The gateway's settings for lanes: who shares one, and when they reset.

Hermes takes `gateway.json` as the base, `config.yaml` over it (a setting at its top level wins over one under
`gateway:`, where 0.19.0 is the first to look for most of them), and three variables of its environment over both;
those are looked for in the home's `.env`. Overrides by platform and by chat type are read from `gateway.json` alone
(`reset_by_platform`, `reset_by_type`): none of the eleven published versions, 0.13.0 to 0.19.0, reads the
`platforms.<name>.session_reset` of spec 002, which counts where the database is the document's own (schema 1 to 6),
as do its defaults.
Administrators' overlays (managed scope) are not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.gateway.connected import VARIABLES, connected
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.fields import Fields, decode_object
from hermes_tui.lifecycle.policy import FRESHNESS, SessionResetPolicy
from hermes_tui.lifecycle.source import HomeChannel
from session_adapters.reading.files import read_small
from session_adapters.reading.yaml_settings import read_yaml

__all__ = ["GatewayConfig", "config_of_store", "read_gateway_config", "settings_since"]

_FILES = ("gateway.json", "config.yaml", ".env")

_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_FLAGS = ("group_sessions_per_user", "thread_sessions_per_user", "multiplex_profiles", "write_sessions_json")
_VARIABLES = ("SESSION_IDLE_MINUTES", "SESSION_RESET_HOUR", "GATEWAY_MULTIPLEX_PROFILES")
TURN_TIMEOUT = 1800.0
_LIMIT = 4 << 20
"""Bytes of a configuration file."""
_DOCUMENTED = 6
"""The latest schema that the document describes; the earliest published program has 11."""
_UNDER_GATEWAY = 22
"""The schema of Hermes 0.19.0, the first that looks for `session_reset` under `gateway:` too."""
_UNDER_GATEWAY_BEFORE = ("write_sessions_json", "multiplex_profiles")
"""Settings that Hermes looked for there from the first version on that had them."""


class GatewayConfig(Struct, frozen=True, kw_only=True):
    """The part of Hermes' configuration that decides over lanes."""

    default_reset_policy: SessionResetPolicy = SessionResetPolicy()
    reset_by_platform: Mapping[str, SessionResetPolicy] = field(default_factory=dict)
    reset_by_type: Mapping[str, SessionResetPolicy] = field(default_factory=dict)
    group_sessions_per_user: bool = True
    thread_sessions_per_user: bool = False
    multiplex_profiles: bool = False
    write_sessions_json: bool = True
    session_store_max_age_days: int = 90
    """Lanes without activity for so many days are dropped; 0: never."""
    sessions_dir: Path | None = None
    """Where the mirror `sessions.json` is."""
    connected_platforms: tuple[str, ...] = ()
    """Platforms that the gateway talks to: enabled, and with what they sign in with."""
    home_channels: Mapping[str, HomeChannel] = field(default_factory=dict)
    """Platform → where its scheduled results go."""
    freshness: float = FRESHNESS
    """Seconds for which a resume mark keeps a conversation; 0 or less: for ever."""
    gateway_timeout: float = TURN_TIMEOUT
    """Seconds that a turn may take; 0 or less: no limit."""
    documented: bool = False
    """Do as spec 002 says where Hermes 0.19 does otherwise; `docs/lanes.md` lists where."""
    problems: tuple[str, ...] = ()
    """What is wrong with the files, one sentence each; the usual value is assumed in its place."""

    def get_reset_policy(self, platform: str | None = None, session_type: str | None = None) -> SessionResetPolicy:
        """The policy of a platform, else of a chat type, else the default one."""
        if platform and platform in self.reset_by_platform:
            return self.reset_by_platform[platform]
        if session_type and session_type in self.reset_by_type:
            return self.reset_by_type[session_type]
        return self.default_reset_policy

    def policy_of(self, entry: SessionEntry) -> SessionResetPolicy:
        """The policy that the lane's next message meets: by where its messages come from."""
        if entry.origin is not None:
            return self.get_reset_policy(entry.origin.platform, entry.origin.chat_type)
        return self.get_reset_policy(entry.platform, entry.chat_type)


def config_of_store(home: Path, schema: int | None, has_table: bool) -> GatewayConfig:
    """The configuration of `home` as that Hermes reads it which its database is of: `schema` is its version (None:
    there is none yet), `has_table` whether it has the routing table. Never raises."""
    return read_gateway_config(
        home,
        documented=schema is not None and schema <= _DOCUMENTED,
        under_gateway=schema is None or schema >= _UNDER_GATEWAY,
        default_mode="none" if has_table else "both",
    )


def read_gateway_config(
    home: Path,
    variables: Mapping[str, str] | None = None,
    *,
    documented: bool = False,
    under_gateway: bool = True,
    default_mode: str = "none",
) -> GatewayConfig:
    """Read the configuration of the Hermes home `home`. Never raises: what is wrong is in `problems`.

    `variables` are those known to be in the gateway's environment; the home's `.env` wins over them, as in Hermes.
    `documented` lets the overrides of spec 002 count that are in `config.yaml`. `under_gateway`: settings under
    `gateway:` count, as from Hermes 0.19.0 on. `default_mode` is the mode where none is set: `both` up to 0.18.0.
    """
    return _Reading(home, documented, under_gateway, default_mode).config(dict(variables or {}))


def settings_since(home: Path, moment: datetime) -> str:
    """The name of a file of these that was changed after that moment; empty where none was. Never raises."""
    for name in _FILES:
        with suppress(OSError):
            if (home / name).stat().st_mtime > moment.timestamp():
                return name
    return ""


class _Reading:
    """One reading: the files, and what was wrong with them."""

    def __init__(self, home: Path, documented: bool, under_gateway: bool, default_mode: str) -> None:
        self._home = home
        self._documented = documented
        self._under_gateway = under_gateway
        self._usual = SessionResetPolicy(mode=default_mode)
        self._problems: list[str] = []
        self._json = self._object(home / "gateway.json")
        self._yaml = self._object(home / "config.yaml")
        section = self._yaml.get("gateway")
        self._section: Mapping[str, Any] = section if isinstance(section, dict) else {}

    def config(self, variables: dict[str, str]) -> GatewayConfig:
        """What Hermes makes of it all."""
        variables |= self._dotenv()  # over those of the environment, as in Hermes
        flags = {name: self._flag(name) for name in _FLAGS}
        forced = variables.get("GATEWAY_MULTIPLEX_PROFILES", "").strip().lower()
        if forced in (*_YES, *_NO):
            flags["multiplex_profiles"] = forced in _YES
        by_platform = {name.strip().lower(): one for name, one in self._overrides("reset_by_platform").items()}
        platforms, homes = connected(self._json, self._yaml, variables)
        found = GatewayConfig(
            default_reset_policy=self._default_policy(variables),
            reset_by_platform=by_platform | self._documented_overrides(),
            reset_by_type=self._overrides("reset_by_type"),
            session_store_max_age_days=self._days(),
            sessions_dir=self._folder(),
            freshness=self._seconds("gateway_auto_continue_freshness", FRESHNESS),
            gateway_timeout=self._seconds("gateway_timeout", TURN_TIMEOUT),
            documented=self._documented,
            connected_platforms=platforms,
            home_channels=homes,
            problems=tuple(self._problems),
        )
        return replace(found, **{name: value for name, value in flags.items() if value is not None})

    def _folder(self) -> Path:
        usual, named = self._home / "sessions", self._json.get("sessions_dir")
        if not isinstance(named, str):
            return usual
        with suppress(UnicodeEncodeError):  # half a character
            if b"\0" not in os.fsencode(named):
                return Path(named)
        self._wrong("sessions_dir in gateway.json is no path")
        return usual

    def _object(self, path: Path) -> dict[str, Any]:
        """The object in a file; empty, with a problem, where none can be read."""
        try:
            raw = read_small(path, limit=_LIMIT)
            if path.suffix == ".json":
                return decode_object(raw)
            found = read_yaml(raw)
            if found is None or isinstance(found, dict):
                return found or {}
            reason = "it is no mapping of settings"
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = error.strerror or str(error)
        except (ValueError, RecursionError, EntryError) as error:
            reason = " ".join(str(error).split())
        self._problems.append(f"{path} cannot be used: {reason}; Hermes goes by its other settings.")
        return {}

    def _setting(self, name: str) -> Any:
        """A setting of config.yaml, else of gateway.json; that of the profiles has an order of its own."""
        places = [self._yaml, self._nested(name), self._json]
        if name == "multiplex_profiles":
            places = [self._yaml, self._json, self._nested(name)]
        return next((place[name] for place in places if name in place), None)

    def _nested(self, name: str) -> Mapping[str, Any]:
        """The section `gateway:`, if this Hermes looks there for that setting."""
        if self._under_gateway or name in _UNDER_GATEWAY_BEFORE:
            return self._section
        if name in self._section and name not in self._yaml:
            self._problems.append(
                f"{self._home / 'config.yaml'}: no Hermes before 0.19.0 reads gateway.{name}, and this home "
                f"is of one; put {name} at the top level."
            )
        return {}

    def _wrong(self, what: str) -> None:
        self._problems.append(f"{self._home}: {what}; the usual value is assumed.")

    def _flag(self, name: str) -> bool | None:
        value = self._setting(name)
        if value is None or isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word in (*_YES, *_NO):
            return word in _YES
        self._wrong(f"{name} is {value!r}, not true or false")
        return None

    def _days(self) -> int:
        """Only gateway.json is asked for them; by the document config.yaml first, and 0 is usual there."""
        name, usual = "session_store_max_age_days", 0 if self._documented else 90
        value = self._setting(name) if self._documented else self._json.get(name)
        if value is None:
            return usual
        try:
            return max(int(value), 0)
        except (TypeError, ValueError, OverflowError):
            self._wrong(f"{name} is {value!r}, not a number of days")
            return usual

    def _seconds(self, name: str, usual: float) -> float:
        agent = self._yaml.get("agent")
        value = agent.get(name) if isinstance(agent, dict) else None
        try:
            return usual if value is None else float(str(value))
        except ValueError:
            self._wrong(f"agent.{name} is {value!r}, not a number of seconds")
            return usual

    def _default_policy(self, variables: Mapping[str, str]) -> SessionResetPolicy:
        nested = self._nested("session_reset")
        over = self._yaml["session_reset"] if "session_reset" in self._yaml else nested.get("session_reset")
        if over is not None and not isinstance(over, dict):
            self._wrong("session_reset is no mapping of settings")
        settings: Any = over if isinstance(over, dict) and over else self._json.get("default_reset_policy") or {}
        if not isinstance(settings, dict):
            self._wrong("default_reset_policy is no object")
            settings = {}
        found = dict(settings)
        for name, variable in {"idle_minutes": "SESSION_IDLE_MINUTES", "at_hour": "SESSION_RESET_HOUR"}.items():
            try:
                found[name] = int(variables[variable]) if variables.get(variable) else found.get(name)
            except ValueError:
                self._wrong(f"{variable} is {variables[variable]!r}, not a whole number")
        return self._policy(found, "session_reset")

    def _policy(self, settings: Any, place: str) -> SessionResetPolicy:
        """A policy without its wrong values. An unknown mode stays: to Hermes it means never."""
        try:
            fields = Fields(settings, place).rest
        except EntryError as error:
            self._wrong(str(error))
            return self._usual
        mode = fields.get("mode")
        fields["mode"] = self._usual.mode if mode is None else mode
        while True:  # each error names one member, which goes: the others count all the same
            try:
                found = SessionResetPolicy.from_dict(fields, f"{place}.")
                break
            except EntryError as error:
                self._wrong(str(error))
                fields.pop(error.field.rpartition(".")[2])
        return found if "mode" in fields else replace(found, mode=str(mode))

    def _overrides(self, name: str) -> dict[str, SessionResetPolicy]:
        found = self._json.get(name) or {}
        if not isinstance(found, dict):
            self._wrong(f"{name} is no object")
            return {}
        return {one: self._policy(settings, f"{name}.{one}") for one, settings in found.items()}

    def _documented_overrides(self) -> dict[str, SessionResetPolicy]:
        found: dict[str, SessionResetPolicy] = {}
        for platforms in (self._section.get("platforms"), self._yaml.get("platforms")):
            for name, settings in (platforms if isinstance(platforms, dict) else {}).items():
                if not isinstance(settings, dict) or "session_reset" not in settings:
                    continue
                place = f"platforms.{name}.session_reset"
                if self._documented:
                    found[str(name).strip().lower()] = self._policy(settings["session_reset"], place)
                    continue
                self._problems.append(
                    f"{self._home / 'config.yaml'}: no Hermes from 0.13.0 to 0.19.0 reads {place}; "
                    f"put it into gateway.json as reset_by_platform.{name}."
                )
        return found

    def _dotenv(self) -> dict[str, str]:
        """The few variables of `.env` that matter here; everything else in it is nobody's business."""
        try:
            lines = read_small(self._home / ".env", limit=_LIMIT).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._wrong(f".env cannot be read ({error.strerror or error})")
            return {}
        found: dict[str, str] = {}
        for line in lines:
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and (name.strip() in _VARIABLES or name.strip() in VARIABLES):
                # Without a remark behind it, and without quotes around it.
                found[name.strip()] = value.split(" #")[0].strip().strip("\"'")
        return found
