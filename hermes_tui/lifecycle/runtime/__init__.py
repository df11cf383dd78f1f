"""The running half of a gateway: queue, agent cache, expiry watcher, loop.

    async with GatewayRunner(home, store, new_agent=lambda context: answer, send=send) as gateway:
        await gateway.serve(platform)        # any async iterator of `MessageEvent`

Spec 002 sections 5 to 11 under their names, asyncio, without a screen.
"""

from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
from hermes_tui.lifecycle.runtime.events import AgentTurn, MessageEvent
from hermes_tui.lifecycle.runtime.expiry_watcher import ExpiryWatcher
from hermes_tui.lifecycle.runtime.message_queue import MessageQueue
from hermes_tui.lifecycle.runtime.runner import GatewayRunner

__all__ = ["AgentCache", "AgentTurn", "ExpiryWatcher", "GatewayRunner", "MessageEvent", "MessageQueue"]
