"""`SessionDB`: everything that can be done to a store, under one name (spec 000)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.state_db.conversation import ConversationRows
from hermes_tui.lifecycle.state_db.export import ExportRows
from hermes_tui.lifecycle.state_db.lanes import LaneRows
from hermes_tui.lifecycle.state_db.search import SearchRows
from hermes_tui.lifecycle.state_db.titles import TitleRows

__all__ = ["SessionDB", "default_path"]


def default_path() -> Path:
    """`state.db` in `HERMES_HOME`, or in `~/.hermes` (spec 000, "Database Location"). Raises `StoreError` where there
    is no such home."""
    named = os.environ.get("HERMES_HOME") or "~/.hermes"
    try:
        return Path(named).expanduser() / "state.db"
    except RuntimeError as error:  # pathlib's, for a HOME such as `~`, or a user that there is not
        raise StoreError(f"{named} cannot be found: HOME is no directory, or there is no such user") from error


class SessionDB(ExportRows, ConversationRows, TitleRows, SearchRows, LaneRows):
    """An open session store.

    A store that is not there is made, as version 6. One of version 1 to 5 is brought to version 6. A newer one is
    used as it is: its columns are looked up, its schema is never altered. Threads may share the object; it is a
    context manager, and closes itself at the end.
    """

    def __init__(
        self, db_path: Path | None = None, *, read_only: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        """Open the store at `db_path`, by default Hermes' own. With `read_only` nothing is made, changed or locked,
        and an old store stays as old as it is. `clock` gives the time in seconds since the epoch. Raises
        `StoreError`: one sentence that says what is wrong with it; nothing was changed then."""
        super().__init__(db_path or default_path(), read_only=read_only, clock=clock)
