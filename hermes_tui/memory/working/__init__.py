"""Layer 2: what of a conversation an agent has before it, by strategy.

Format: spec 001 «Working Memory Strategies»; facts agentmux_hector.md 2.4.
"""

from hermes_tui.memory.working.buffer_window import BufferWindow
from hermes_tui.memory.working.habits import HABITS, Habits
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategies import STRATEGIES, StrategySettings, strategy_of
from hermes_tui.memory.working.strategy import WorkingMemoryStrategy
from hermes_tui.memory.working.summary_buffer import SummaryBuffer
from hermes_tui.memory.working.token_window import TokenWindow

__all__ = [
    "HABITS",
    "STRATEGIES",
    "BufferWindow",
    "ConversationHistory",
    "Habits",
    "StrategySettings",
    "SummaryBuffer",
    "TokenWindow",
    "WorkingMemoryStrategy",
    "strategy_of",
]
