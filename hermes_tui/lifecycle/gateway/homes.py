"""Finds Hermes homes: the default profile's and one for each other profile.

Format: facts on Hermes, section 1.

Each is complete in itself: a database, an index of lanes, a gateway.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from hermes_tui.errors import ValidationError
from session_adapters.base import Environment
from session_adapters.hermes.adapter import DATABASE, HermesAdapter

__all__ = [
    "DEFAULT_PROFILE",
    "HermesHome",
    "hermes_homes",
    "home_of",
    "homes_left_out",
    "no_home_words",
    "no_profile_words",
]

DEFAULT_PROFILE = "default"


class HermesHome(msgspec.Struct, frozen=True):
    """One profile's directory."""

    path: Path
    profile: str = DEFAULT_PROFILE
    root: Path | None = None
    """The default profile's directory, where this is another's: its gateway may serve this profile too."""
    sessions: Path | None = None
    """Where its configuration puts the index; None: at the usual place."""

    @property
    def database(self) -> Path:
        """`state.db`."""
        return self.path / DATABASE

    @property
    def sessions_dir(self) -> Path:
        """Where the index is, and the directory whose resolved path is the scope of its rows in the database."""
        return self.sessions or self.path / "sessions"

    @property
    def index_file(self) -> Path:
        """`sessions.json`: the index up to Hermes 0.18.0, its mirror since."""
        return self.sessions_dir / "sessions.json"

    @property
    def scope(self) -> str:
        """The name of this home's rows in `gateway_routing`."""
        return str(self.sessions_dir.resolve())


def hermes_homes(environment: Environment) -> tuple[HermesHome, ...]:
    """Every profile that there is, the default one first."""
    found: dict[Path, HermesHome] = {}
    for root in HermesAdapter(environment).roots():
        if root.exists:
            above = root.path.parent.parent if root.path.parent.name == "profiles" else None
            home = HermesHome(root.path, root.profile or DEFAULT_PROFILE, above if root.profile else None)
            found.setdefault(root.path.resolve(), home)
    return tuple(found.values())


def home_of(environment: Environment, profile: str) -> HermesHome:
    """The home of that profile. Raises `ValidationError`."""
    homes = hermes_homes(environment)
    for home in homes:
        if home.profile == profile:
            return home
    if not homes:
        raise ValidationError(no_home_words(environment))
    raise ValidationError(no_profile_words(environment, profile, [home.profile for home in homes]))


def no_profile_words(environment: Environment, profile: str, known: Sequence[str]) -> str:
    """That there is no such profile, what there is, and what could not be looked at. A clause without a full stop."""
    unread = "".join(f"; but {said}" for said in homes_left_out(environment))
    return f"there is no Hermes profile {profile!r}; known are {', '.join(known)}{unread}"


def homes_left_out(environment: Environment) -> list[str]:
    """What is to be said where there are more profiles than `hermes_homes` has, or may be: sentences without a full
    stop."""
    adapter = HermesAdapter(environment)
    try:
        said = adapter.left_out
    except (FileNotFoundError, NotADirectoryError):  # a home without profiles
        said = ""
    except OSError as error:
        said = f"the profiles cannot be listed: {error.strerror or error}"
    return [f"{adapter.roots()[0].path / 'profiles'}: {said}"] if said else []


def no_home_words(environment: Environment) -> str:
    """Why there is no home at all: where it was looked for, and who says so. A clause without a full stop."""
    path = HermesAdapter(environment).roots()[0].path
    try:
        path.stat()
        what = "is no directory"
    except FileNotFoundError:
        what = "is not there"
    except OSError as error:
        what = f"cannot be looked at ({error.strerror or error})"
    named = environment.variables.get("HERMES_HOME", "").strip()
    return (
        f"no Hermes home was found: {path} {what}, and HERMES_HOME names it"
        if named
        else f"no Hermes home was found: {path} {what}; set HERMES_HOME if it is elsewhere"
    )
