"""Handing the terminal to the agent's own program, to resume or fork one of its sessions (spec 004 §7.1)."""

from hermes_tui.sessions.native.plan import Obstacle, Start, Verb, offers, plan
from hermes_tui.sessions.native.words import command_line, quote

__all__ = ["Obstacle", "Start", "Verb", "command_line", "offers", "plan", "quote"]
