"""Resumes or forks a session in the agent's own CLI.

Format: spec 004 §7.1.
"""

from hermes_tui.sessions.native.plan import Obstacle, Start, Verb, offers, plan
from hermes_tui.sessions.native.shell_line import command_line, quote

__all__ = ["Obstacle", "Start", "Verb", "command_line", "offers", "plan", "quote"]
