"""What a gateway adds to a message for the model, and says to the person.

Format: spec 002 sections 5 to 7; the wording is that of Hermes 0.19, so that a model trained on it or a script that
looks for it finds what it knows.
"""

from __future__ import annotations

from hermes_tui.lifecycle.context_prompt import inline_text
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.policy import SessionResetPolicy
from hermes_tui.lifecycle.source import SessionSource

__all__ = ["reset_note", "reset_notice", "resume_note", "with_sender"]

_RESET_NOTES = {
    "suspended": "The user's previous session was stopped and suspended. This is a fresh conversation with no prior"
    " context.",
    "daily": "The user's session was automatically reset by the daily schedule. This is a fresh conversation with no"
    " prior context.",
    "resume_pending_expired": "The previous gateway session could not be recovered after a restart (API recovery"
    " timed out). This is a fresh conversation — use /resume to restore history if needed.",
    "idle": "The user's previous session expired due to inactivity. This is a fresh conversation with no prior"
    " context.",
}
_INTERRUPTIONS = {"restart_timeout": "a gateway restart", "shutdown_timeout": "a gateway shutdown"}
_NEW_MESSAGE = "Address the user's NEW message below FIRST and focus on what the user is asking now."
_NO_MESSAGE = "Report to the user that the session was restored successfully and ask what they would like to do next."
_NOBODY = (
    "No user is present on this non-interactive platform, so do NOT emit a 'session restored' acknowledgement or ask"
    " questions. Review the conversation history and CONTINUE the interrupted task to completion. Do NOT re-run tool"
    " calls whose results already appear in the history — resume from the first step that has no recorded result."
)
_NO_REPEAT = "Do NOT re-execute old tool calls — skip any unfinished work from the conversation history."


def with_sender(text: str, source: SessionSource) -> str:
    """A message in a session that several share: `[Alice] text`. A name cannot pass for more than a name."""
    return f"[{inline_text(source.user_name)}] {text}" if source.user_name else text


def reset_note(reason: str | None) -> str:
    """For the model: the conversation before this one ended by itself."""
    return f"[System note: {_RESET_NOTES.get(reason or 'idle', _RESET_NOTES['idle'])}]"


def reset_notice(entry: SessionEntry, policy: SessionResetPolicy) -> str:
    """For the person: their conversation was begun anew, and why; empty where nobody is to be told. After a
    suspension or a failed recovery they always are."""
    reason, platform = entry.auto_reset_reason or "idle", entry.platform or ""
    always = reason in ("suspended", "resume_pending_expired")
    told = policy.notify and entry.reset_had_activity and platform not in policy.notify_exclude_platforms
    if not (always or told):
        return ""
    hours, minutes = divmod(int(policy.idle_minutes), 60)
    idle = f"{hours}h {minutes}m" if hours and minutes else f"{hours}h" if hours else f"{minutes}m"
    why = {
        "suspended": "previous session was stopped or interrupted",
        "resume_pending_expired": "gateway restart recovery timed out",
        "daily": f"daily schedule at {policy.at_hour}:00",
    }.get(reason, f"inactive for {idle}")
    return (
        f"◐ Session automatically reset ({why}). Conversation history cleared.\n"
        "Use /resume to browse and restore a previous session.\n"
        "Adjust reset timing in config.yaml under session_reset."
    )


def resume_note(reason: str | None, message: str, *, interactive: bool = True) -> str:
    """For the model: the last turn was interrupted by a restart; with the new `message`, if there is one. Without
    one, `interactive` says whether a person is there to be asked."""
    why = _INTERRUPTIONS.get(reason or "", "a gateway interruption")
    guidance = (
        f"{_NEW_MESSAGE} {_NO_REPEAT}" if message else f"{_NO_MESSAGE} {_NO_REPEAT}" if interactive else _NOBODY
    )
    note = (
        f"[System note: The previous turn was interrupted by {why}; the gateway is now back online. Any"
        " restart/shutdown command in the history has already run — do NOT re-execute or verify it."
        f" {guidance}]"
    )
    return f"{note}\n\n{message}" if message else note
