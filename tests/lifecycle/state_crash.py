"""Kills a process before each statement of a piece of work in turn, on a fresh copy of a store each time.

    python state_crash.py WORK STORE FOLDER      # prints how many statements it takes; FOLDER/N has the copies

The last copy is that of the process that came to its end.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import apsw

from hermes_tui.lifecycle.state_db.database import SessionDB

WORK: dict[str, Callable[[SessionDB], object]] = {
    "open": lambda db: None,
    "create_session": lambda db: db.create_session("new", "cli", model="m"),
    "append_message": lambda db: db.append_message("a", "user", "more", tool_calls=[{}], timestamp=5.0),
    "replace_messages": lambda db: db.replace_messages("a", [{"role": "user", "content": "other", "timestamp": 5.0}]),
    "set_session_title": lambda db: db.set_session_title("b", "Taken"),
    "clear_messages": lambda db: db.clear_messages("a"),
    "delete_session": lambda db: db.delete_session("a"),
    "prune_sessions": lambda db: db.prune_sessions(0),
    "several": lambda db: several(db),
}


def several(db: SessionDB) -> None:
    """Two sessions change places, in one transaction."""
    with db.transaction():
        db.promote_to_session_reset("b")
        db.reopen_session("a")
        db.append_message("a", "system", "back again", timestamp=6.0)


def die_before(statement: int) -> None:
    """Once connections of this process ran so many statements, it is gone."""
    left = statement

    def count(cursor: object, text: str, bindings: object) -> bool:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))


def main() -> None:
    work, store, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    statement = 0
    while True:
        statement += 1
        place = folder / str(statement)
        place.mkdir(parents=True)
        if store.exists():
            shutil.copyfile(store, place / "state.db")
        child = os.fork()
        if not child:
            die_before(statement)
            with SessionDB(place / "state.db", clock=lambda: 1_800_000_000.0) as db:
                WORK[work](db)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not status:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL, status
    print(statement)


if __name__ == "__main__":
    main()
