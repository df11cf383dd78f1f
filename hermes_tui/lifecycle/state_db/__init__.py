"""Hermes' `state.db`, to be written: sessions, messages, titles, search (spec 000)."""

from hermes_tui.errors import StoreBusy, StoreError
from hermes_tui.lifecycle.state_db.database import SessionDB, default_path

__all__ = ["SessionDB", "StoreBusy", "StoreError", "default_path"]
