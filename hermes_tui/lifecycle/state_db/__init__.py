"""Hermes' `state.db`, to be written: sessions, messages, titles, search.

Format: spec 000.
"""

from hermes_tui.errors import StoreBusy, StoreError
from hermes_tui.lifecycle.state_db.database import SessionDB, default_path
from hermes_tui.lifecycle.state_db.fts_query import sanitize_query
from hermes_tui.lifecycle.state_db.titles import TitleRefused, sanitize_title

__all__ = ["SessionDB", "StoreBusy", "StoreError", "TitleRefused", "default_path", "sanitize_query", "sanitize_title"]
