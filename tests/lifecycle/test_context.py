"""What an agent is told about its conversation is what the real program tells it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.lifecycle.configuration import GatewayConfig
from hermes_tui.lifecycle.context import build_session_context
from hermes_tui.lifecycle.entry import SessionEntry
from hermes_tui.lifecycle.source import HomeChannel, SessionSource
from lifecycle.oracle import Oracle
from lifecycle.samples import NOON, examples, record, sources

_WITH_TOKEN = ("telegram", "discord", "slack", "mattermost", "matrix")
"""Platforms that count as connected once they have a token."""

channels = st.none() | st.fixed_dictionaries(
    {"chat_id": st.sampled_from(("C9", "-100", "")), "name": st.sampled_from(("Home", "Ops", ""))},
    optional={"thread_id": st.sampled_from(("5", ""))},
)


@examples(60)
@given(
    source=sources(),
    connected=st.dictionaries(st.sampled_from(_WITH_TOKEN), channels),
    entry=st.booleans(),
    per_user=st.booleans(),
    threads=st.booleans(),
)
def test_the_context_is_that_of_hermes(
    hermes: Oracle,
    source: dict[str, Any],
    connected: dict[str, dict[str, str] | None],
    entry: bool,
    per_user: bool,
    threads: bool,
) -> None:
    written = record(NOON) if entry else None
    flags = {"group_sessions_per_user": per_user, "thread_sessions_per_user": threads}
    theirs = hermes.ask("context", {"source": source, "connected": connected, "entry": written}, flags)
    config = GatewayConfig(
        connected_platforms=tuple(connected),
        home_channels={
            name: HomeChannel(platform=name, **channel) for name, channel in connected.items() if channel is not None
        },
        group_sessions_per_user=per_user,
        thread_sessions_per_user=threads,
    )
    ours = build_session_context(
        SessionSource(**source), config, SessionEntry.from_dict(written) if written else None
    )
    assert ours.to_dict() == theirs


def test_a_home_channel_of_what_is_not_connected_is_left_out() -> None:
    home = HomeChannel(platform="slack", chat_id="C1")
    config = GatewayConfig(connected_platforms=("telegram",), home_channels={"slack": home})
    context = build_session_context(SessionSource(platform="telegram", chat_id="1", chat_type="group"), config)
    assert (context.connected_platforms, context.home_channels) == (("telegram",), {})
    assert not context.shared_multi_user_session
