"""Random sources, entries and policies, as hypothesis strategies; and how many of them are tried.

`HERMES_TUI_EXAMPLES=20` tries twenty times as many.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import strategies as st

__all__ = ["NOON", "PLATFORMS", "policies", "record", "sources"]


NOON = datetime(2026, 7, 21, 12)

PLATFORMS = (
    *("local", "telegram", "discord", "whatsapp", "whatsapp_cloud", "slack", "signal", "mattermost", "matrix"),
    *("homeassistant", "email", "sms", "dingtalk", "api_server", "webhook", "msgraph_webhook", "feishu", "wecom"),
    *("wecom_callback", "weixin", "bluebubbles", "qqbot", "yuanbao", "relay", "google_chat"),
)
"""Every platform that hermes-agent 0.19.0 has built in, and one that is a plugin of it."""

_IDS = st.sampled_from(("", "1", "12", "-100123", "spaces/AAA", "a:b", "60123@lid", "+60 1", "Ünï😀", "x" * 40))
_IDENTIFIERS = _IDS | st.text(min_size=0, max_size=6)
_MAYBE = st.none() | _IDENTIFIERS


def sources(**fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The fields of a SessionSource; `fixed` replaces some."""
    return st.fixed_dictionaries(
        {
            "platform": st.sampled_from(PLATFORMS),
            "chat_id": _IDENTIFIERS,
            "chat_type": st.sampled_from(("dm", "group", "channel", "thread", "DM", "", "webhook")),
            "user_id": _MAYBE,
            "user_id_alt": _MAYBE,
            "thread_id": _MAYBE,
            **fixed,
        },
        optional={"chat_name": _MAYBE, "user_name": _MAYBE, "chat_topic": _MAYBE, "scope_id": _MAYBE},
    )


def record(updated_at: datetime, /, **members: Any) -> dict[str, Any]:
    """The least that an entry may be, active last at `updated_at`."""
    return {
        "session_key": "agent:main:telegram:dm:1",
        "session_id": "20260721_120000_00000001",
        "created_at": updated_at.isoformat(),
        "updated_at": updated_at.isoformat(),
        "platform": "telegram",
        "origin": {"platform": "telegram", "chat_id": "1"},
        **members,
    }


def policies() -> st.SearchStrategy[dict[str, Any]]:
    """Settings of a SessionResetPolicy, an unknown mode among them."""
    return st.fixed_dictionaries(
        {
            "mode": st.sampled_from(("none", "idle", "daily", "both", "weekly")),
            "at_hour": st.integers(0, 23),
            "idle_minutes": st.sampled_from((1, 30, 59, 60, 61, 90, 180, 720, 1440, 4320)),
        }
    )
