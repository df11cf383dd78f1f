"""What became of a lane's conversations: every session it had, and why each ended."""

from __future__ import annotations

from hermes_tui.lifecycle.lane_history.history import lane_history
from hermes_tui.lifecycle.lane_history.model import DaySpent, LaneHistory, PastSession, PersonSpent, SumSpent, Waited

__all__ = ["DaySpent", "LaneHistory", "PastSession", "PersonSpent", "SumSpent", "Waited", "lane_history"]
