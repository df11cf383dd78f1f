"""Checks whether we may write to a store, before it is opened for writing.

Hermes runs under its own user; files that another one leaves beside its database lock it out (facts on Hermes,
section 2.6). What cannot be read is left alone as well.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.state_db.connection.schema import StoreSchema
from hermes_tui.platform.paths import private_file
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database

__all__ = ["REPAIR", "advice_on", "create_file", "examine"]

REPAIR = "`hermes sessions repair --check-only` says more"
"""What to do about a database that is damaged: Hermes' own command, which changes nothing."""


def advice_on(path: Path) -> str:
    """What to do about a database that cannot be read: a clause."""
    if not os.access(path, os.R_OK):
        return "this user may not read it, so run this as the one whose it is"
    return REPAIR


def create_file(path: Path) -> None:
    """Make the file and its folders, for the owner alone, where there are none. Raises `StoreError`."""
    try:
        private_file(path)
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"The session store {path} cannot be made: {reason}; choose another place.") from error


def examine(path: Path, *, writing: bool) -> StoreSchema:
    """What is in the store, without touching it. Raises `StoreError` where it may not be used."""
    try:
        status = path.stat()
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise StoreError(f"There is no session store {path}.") from error
        raise StoreError(f"The session store {path} cannot be reached: {error.strerror or error}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"The session store {path} cannot be opened: it is not a regular file.")
    if writing:
        if status.st_uid != os.geteuid():
            raise StoreError(
                f"The session store {path} belongs to another user (uid {status.st_uid}, this is {os.geteuid()}) and"
                " is not written, because files left beside it would lock that user out; run this as that user."
            )
        folder = path.parent
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            raise StoreError(
                f"The session store {path} is on a file system that is mounted read-only; mount it writable."
            )
        # Root may write anything; a mode without any write bit still says what the owner wants.
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise StoreError(f"The session store {path} is read-only; make it writable first (chmod u+w).")
        if not folder.stat().st_mode & 0o222 or not os.access(folder, os.W_OK):
            raise StoreError(
                f"The folder {folder} of the session store is read-only; make it writable first (chmod u+w)."
            )
        if not status.st_size:  # as `create_file` makes it: nobody has put tables into it yet
            return StoreSchema({}, frozenset(), None)
    try:
        schema = read_database(path, StoreSchema.of)
    except DatabaseUnreadable as error:
        advice = f"; nothing was changed, {advice_on(path)}" if writing else ""
        raise StoreError(f"The session store {path} cannot be read: {error}{advice}.") from error
    if not schema.is_empty and not (schema.has("sessions", "id") and schema.has("messages", "id", "session_id")):
        raise StoreError(f"{path} is a database, but not Hermes' session store: nothing in it was changed.")
    return schema
