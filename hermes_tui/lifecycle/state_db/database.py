"""`SessionDB`: everything that can be done to a store, under one name (spec 000)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.state_db import conversation, export, lanes, lineage, messages, search, sessions, titles
from hermes_tui.lifecycle.state_db.connection.migrations import lanes_need
from hermes_tui.lifecycle.state_db.connection.store import Store

__all__ = ["SessionDB", "default_path"]


def default_path() -> Path:
    """`state.db` in `HERMES_HOME`, or in `~/.hermes` (spec 000, "Database Location"). Raises `StoreError` where there
    is no such home."""
    named = os.environ.get("HERMES_HOME") or "~/.hermes"
    try:
        return Path(named).expanduser() / "state.db"
    except RuntimeError as error:  # pathlib's, for a HOME such as `~`, or a user that there is not
        raise StoreError(f"{named} cannot be found: HOME is no directory, or there is no such user") from error


class SessionDB(Store):
    """An open session store.

    A store that is not there is made, as version 6. One of version 1 to 5 is brought to version 6. A newer one is
    used as it is: its columns are looked up, its schema is never altered. Threads may share the object; it is a
    context manager, and closes itself at the end. Its methods are functions over an open `Store`, each in the module
    of its topic.
    """

    def __init__(
        self, db_path: Path | None = None, *, read_only: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        """Open the store at `db_path`, by default Hermes' own. With `read_only` nothing is made, changed or locked,
        and an old store stays as old as it is. `clock` gives the time in seconds since the epoch. Raises
        `StoreError`: one sentence that says what is wrong with it; nothing was changed then."""
        super().__init__(db_path or default_path(), read_only=read_only, clock=clock)

    create_session = sessions.create_session
    end_session = sessions.end_session
    promote_to_session_reset = sessions.promote_to_session_reset
    reopen_session = sessions.reopen_session
    get_session = sessions.get_session
    resolve_session_id = sessions.resolve_session_id
    session_count = sessions.session_count
    search_sessions = sessions.search_sessions
    recent_sessions = sessions.recent_sessions

    append_message = messages.append_message
    replace_messages = messages.replace_messages
    get_messages = messages.get_messages
    message_count = messages.message_count
    list_recent_user_messages = messages.list_recent_user_messages
    rewind_to_message = messages.rewind_to_message
    answer_to = messages.answer_to
    is_cut = messages.is_cut
    has_platform_message_id = messages.has_platform_message_id

    get_ancestors = lineage.get_ancestors
    get_lineage = lineage.get_lineage
    get_descendants = lineage.get_descendants
    get_compression_tip = lineage.get_compression_tip
    resolve_resume_session_id = lineage.resolve_resume_session_id

    set_session_title = titles.set_session_title
    set_auto_title_if_empty = titles.set_auto_title_if_empty
    get_session_title = titles.get_session_title
    get_session_by_title = titles.get_session_by_title
    resolve_session_by_title = titles.resolve_session_by_title
    get_next_title_in_lineage = titles.get_next_title_in_lineage

    search_messages = search.search_messages

    record_gateway_session_peer = lanes.record_gateway_session_peer
    find_latest_gateway_session_for_peer = lanes.find_latest_gateway_session_for_peer
    load_gateway_routing_entries = lanes.load_gateway_routing_entries
    gateway_routing_scopes = lanes.gateway_routing_scopes
    save_gateway_routing_entry = lanes.save_gateway_routing_entry
    replace_gateway_routing_entries = lanes.replace_gateway_routing_entries
    delete_gateway_routing_entries = lanes.delete_gateway_routing_entries

    export_session = export.export_session
    export_all = export.export_all
    clear_messages = export.clear_messages
    delete_session = export.delete_session
    prune_sessions = export.prune_sessions

    get_messages_as_conversation = conversation.get_messages_as_conversation

    def prepare_for_lanes(self) -> None:
        """Add the columns to a store of the document's that spec 002 needs: rows that were taken back, ids of
        platforms. A newer store has them, and is left as it is. Raises `StoreError`."""
        if lanes_need(self.schema):
            with self.transaction():
                for statement in lanes_need(self.schema):  # another process may have been quicker
                    self.execute(statement)

    @property
    def has_routing(self) -> bool:
        """Whether this store is where the gateway keeps its lanes; otherwise they are in sessions.json alone."""
        return lanes.has_routing(self)
