"""What an agent still sees of a conversation, after compaction or by a window.

Format: spec 001.
"""

from hermes_tui.sessions.context.view import ContextView, context_view, gauged
from hermes_tui.sessions.context.window_choice import STRATEGIES, WindowChoice, choice_of, parse_window, window_for

__all__ = [
    "STRATEGIES",
    "ContextView",
    "WindowChoice",
    "choice_of",
    "context_view",
    "gauged",
    "parse_window",
    "window_for",
]
