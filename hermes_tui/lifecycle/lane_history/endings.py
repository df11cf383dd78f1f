"""Says in words why a session of a lane ended, and what the next one knew of it.

Format: the words in `end_reason` are those of Hermes 0.19 (facts on Hermes, sections 2.3 and 3.2); a word that is
not known here is told as it stands.
"""

from __future__ import annotations

from typing import NamedTuple

from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow

__all__ = ["Ending", "ending_of"]

_NOTHING = "the next session began empty"
_EVERYTHING = "nothing of it is lost: it can be gone on with"
_SUMMARY = "a summary of it, which {} goes on with; all of it is still here"

_REASONS = {
    "daily": ("the hour of the daily reset had come", _NOTHING),
    "idle": ("it was idle for longer than the reset policy allows", _NOTHING),
    "suspended": ("the lane had been suspended", _NOTHING),
    "resume_pending_expired": ("a restart had cut a turn, and the next message came too late to go on", _NOTHING),
    "session_reset": ("/new or /reset was said in the chat", _NOTHING),
    "session_switch": ("the chat went over to another session, by /resume", "nothing: the other session has its own"),
    "branched": ("a branch was made of it, by /branch", "all of it up to the branch"),
    "orphaned_compression": ("its compression was never finished", _NOTHING),
}
_ACCIDENTS = {
    "agent_close": "the gateway closed it when it ended or let the agent go",
    "ws_orphan_reap": "its connection was gone, and the gateway cleared it away",
    "user_exit": "it was left in a terminal",
    "cli_close": "it was left in a terminal",
    "tui_shutdown": "it was left in a terminal",
}
_OURS = {"session_reset": "reset", "suspended": "suspended", "session_switch": "led into another session"}


class Ending(NamedTuple):
    """Clauses without a full stop."""

    words: str
    carried: str


def ending_of(row: LaneSessionRow, *, present: bool, goes_on_in: str = "", operation: str = "") -> Ending:
    """`present`: the lane is in it. `goes_on_in`: the tip of a compressed one. `operation`: that of ours which
    ended it."""
    if present:
        return Ending("it is the present one", "")
    reason = row.end_reason
    if reason is None:
        return Ending("it has no end, and yet the lane leads elsewhere", "nothing, but Hermes may take it up again")
    if reason == "compression":
        carried = _SUMMARY.format(goes_on_in) if goes_on_in else "nothing: no session goes on with its summary"
        return Ending("it had grown too long and was compressed", carried)
    # Our operations write Hermes' own words: only our log tells them apart.
    if operation and reason in _OURS:
        return Ending(f"the lane was {_OURS[reason]} with hermes-tui", _REASONS[reason][1])
    # The gateway's watcher ends a row with the word of /new, and sets the flag beside it.
    if reason == "session_reset" and row.expiry_finalized:
        return Ending("its reset policy had run out, and the gateway closed it", _NOTHING)
    if reason in _ACCIDENTS:
        return Ending(_ACCIDENTS[reason], _EVERYTHING)
    words, carried = _REASONS.get(reason, (f"Hermes gives the reason {reason!r}", "unknown"))
    return Ending(words, carried)
