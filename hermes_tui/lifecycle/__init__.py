"""What decides over the life of a Hermes conversation: gateways, lanes, resets.

The library of specs 000 and 002 under their names, without a screen:

    from hermes_tui.lifecycle import SessionSource, SessionStore, read_gateway_config

    with SessionStore(home / "sessions", read_gateway_config(home)) as store:
        entry = store.get_or_create_session(SessionSource(platform="telegram", chat_id="1"))

That is for a process that owns the lanes; `GatewayRunner` ties them to an agent and a platform. Beside a gateway:
`lanes` to look, `Operations` to change one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_tui.lifecycle.context import build_session_context
    from hermes_tui.lifecycle.context_prompt import build_session_context_prompt
    from hermes_tui.lifecycle.gateway.configuration import GatewayConfig, read_gateway_config
    from hermes_tui.lifecycle.gateway.process import Gateway, gateway_of
    from hermes_tui.lifecycle.keys import build_session_key, is_shared_multi_user_session
    from hermes_tui.lifecycle.lane_index.entry import SessionEntry
    from hermes_tui.lifecycle.lanes import Lane, board
    from hermes_tui.lifecycle.operations.operations import Operations
    from hermes_tui.lifecycle.operations.plan import Plan, Request
    from hermes_tui.lifecycle.operations.verify import Outcome
    from hermes_tui.lifecycle.policy import SessionResetPolicy
    from hermes_tui.lifecycle.recovery import recover
    from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
    from hermes_tui.lifecycle.runtime.events import AgentTurn, MessageEvent
    from hermes_tui.lifecycle.runtime.expiry_watcher import ExpiryWatcher
    from hermes_tui.lifecycle.runtime.message_queue import MessageQueue
    from hermes_tui.lifecycle.runtime.runner import GatewayRunner
    from hermes_tui.lifecycle.source import HomeChannel, SessionContext, SessionSource
    from hermes_tui.lifecycle.state_db.database import SessionDB
    from hermes_tui.lifecycle.store import SessionStore
    from hermes_tui.lifecycle.whatsapp import WhatsAppAliases, canonical_whatsapp_identifier

_PLACES = {
    "AgentCache": "runtime.agent_cache",
    "AgentTurn": "runtime.events",
    "ExpiryWatcher": "runtime.expiry_watcher",
    "Gateway": "gateway.process",
    "GatewayConfig": "gateway.configuration",
    "GatewayRunner": "runtime.runner",
    "HomeChannel": "source",
    "Lane": "lanes",
    "MessageEvent": "runtime.events",
    "MessageQueue": "runtime.message_queue",
    "Operations": "operations.operations",
    "Outcome": "operations.verify",
    "Plan": "operations.plan",
    "Request": "operations.plan",
    "SessionContext": "source",
    "SessionDB": "state_db.database",
    "SessionEntry": "lane_index.entry",
    "SessionResetPolicy": "policy",
    "SessionSource": "source",
    "SessionStore": "store",
    "WhatsAppAliases": "whatsapp",
    "board": "lanes",
    "build_session_context": "context",
    "build_session_context_prompt": "context_prompt",
    "build_session_key": "keys",
    "canonical_whatsapp_identifier": "whatsapp",
    "gateway_of": "gateway.process",
    "is_shared_multi_user_session": "keys",
    "read_gateway_config": "gateway.configuration",
    "recover": "recovery",
}
"""Name → the module that has it; read when it is first asked for, so that a look at lanes reads no writer."""

__all__ = [
    "AgentCache",
    "AgentTurn",
    "ExpiryWatcher",
    "Gateway",
    "GatewayConfig",
    "GatewayRunner",
    "HomeChannel",
    "Lane",
    "MessageEvent",
    "MessageQueue",
    "Operations",
    "Outcome",
    "Plan",
    "Request",
    "SessionContext",
    "SessionDB",
    "SessionEntry",
    "SessionResetPolicy",
    "SessionSource",
    "SessionStore",
    "WhatsAppAliases",
    "board",
    "build_session_context",
    "build_session_context_prompt",
    "build_session_key",
    "canonical_whatsapp_identifier",
    "gateway_of",
    "is_shared_multi_user_session",
    "read_gateway_config",
    "recover",
]


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
