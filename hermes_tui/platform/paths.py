"""Every path that is ours. Nothing here is part of an agent's store.

Read from the environment on each call, so that a test or a changed `XDG_CACHE_HOME` takes effect at once.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_dir", "config_dir", "log_file", "private_dir", "private_file", "state_dir", "styles_dir"]

_NAME = "hermes-tui"


def cache_dir() -> Path:
    """Where what can be made anew is kept: the catalogue, the search index."""
    from platformdirs import user_cache_path

    return user_cache_path(_NAME)


def config_dir() -> Path:
    """Where the user's settings are."""
    from platformdirs import user_config_path

    return user_config_path(_NAME)


def state_dir() -> Path:
    """Where the log, the audit trail and the user's own marks are."""
    from platformdirs import user_state_path

    return user_state_path(_NAME)


def log_file() -> Path:
    """The log of unexpected errors."""
    return state_dir() / "hermes-tui.log"


def styles_dir() -> Path:
    """The folder with the `*.tcss` files: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    packaged = package / "styles"
    return packaged if packaged.is_dir() else package.parent / "styles"


def private_dir(path: Path) -> Path:
    """Make `path` and its missing parents, readable by the owner alone; `path` itself. Raises `OSError`."""
    missing = [path, *path.parents]
    for directory in reversed([one for one in missing if not one.exists()]):
        try:
            os.mkdir(directory, 0o700)  # noqa: PTH102  (Path.mkdir gives parents other modes)
        except FileExistsError:  # somebody was quicker
            continue
    return path


def private_file(path: Path) -> None:
    """Make an empty file and its missing folders, for the owner alone, where there is nothing. A database that is
    there is not opened: closing it would drop the locks that SQLite holds on it. Raises `OSError`."""
    if os.path.lexists(path):
        return
    private_dir(path.parent)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if not path.exists():
            raise  # a link that points nowhere; else somebody was quicker
