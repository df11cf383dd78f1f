"""What an agent is told about the conversation it is in (spec 002 section 9)."""

from __future__ import annotations

from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.keys import is_shared_multi_user_session
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.source import SessionContext, SessionSource

__all__ = ["build_session_context"]


def build_session_context(
    source: SessionSource, config: GatewayConfig, session_entry: SessionEntry | None = None
) -> SessionContext:
    """The context of a message from `source`: which platforms are connected, where each has its home channel, and
    whether several people share the session. With the lane's entry also its key, session and times."""
    connected = tuple(sorted(config.connected_platforms))
    homes = config.home_channels
    entry = session_entry
    return SessionContext(
        source=source,
        connected_platforms=connected,
        home_channels={platform: homes[platform] for platform in connected if platform in homes},
        shared_multi_user_session=is_shared_multi_user_session(
            source,
            group_sessions_per_user=config.group_sessions_per_user,
            thread_sessions_per_user=config.thread_sessions_per_user,
        ),
        session_key=entry.session_key if entry else "",
        session_id=entry.session_id if entry else "",
        created_at=entry.created_at if entry else None,
        updated_at=entry.updated_at if entry else None,
    )
