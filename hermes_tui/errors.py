"""Everything this program raises on purpose.

    HermesTuiError
    ├── AgentNotFound       AGENT_NOT_FOUND     exit 3   no adapter of that name
    ├── AgentNotInstalled   AGENT_NOT_INSTALLED exit 4   the agent's own CLI is not on PATH
    ├── CapabilityError     CAPABILITY_ERROR    exit 6   the agent cannot do that with its sessions
    ├── SessionNotFound     SESSION_NOT_FOUND   exit 8   the agent has no such session (any more)
    ├── ParseError          PARSE_ERROR         exit 1   the session is there and cannot be read
    │   └── EntryError      PARSE_ERROR         exit 1   a field of a gateway's lane is not what it must be
    ├── LaneNotFound        LANE_NOT_FOUND      exit 8   no gateway lane of that key
    ├── OperationRefused    REFUSED             exit 10  the lane cannot be changed now: nothing was written
    ├── ValidationError     VALIDATION_ERROR    exit 2   an option or argument makes no sense
    └── StoreError          STORE_ERROR         exit 1   a store that is to be written cannot be, or was not
        └── StoreBusy       STORE_BUSY          exit 1   another process kept it locked: nothing was written

Codes are those of spec 004 §8.1; exit codes those of the program that the document describes. The text of each is
one sentence that says what, where, why and, if anything can be done, what to do.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AgentNotFound",
    "AgentNotInstalled",
    "CapabilityError",
    "EntryError",
    "HermesTuiError",
    "LaneNotFound",
    "OperationRefused",
    "ParseError",
    "SessionNotFound",
    "StoreBusy",
    "StoreError",
    "ValidationError",
]


class HermesTuiError(Exception):
    """The base: catch this to catch every error that is not a bug."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    """Stable name for programs (spec 004 §8.1)."""
    exit_code: ClassVar[int] = 1
    """What the command line ends with."""


class AgentNotFound(HermesTuiError):
    """No adapter has that name."""

    code = "AGENT_NOT_FOUND"
    exit_code = 3


class AgentNotInstalled(HermesTuiError):
    """The agent's own CLI is not on PATH."""

    code = "AGENT_NOT_INSTALLED"
    exit_code = 4


class CapabilityError(HermesTuiError):
    """The agent cannot do that with its sessions, or not with this one."""

    code = "CAPABILITY_ERROR"
    exit_code = 6


class SessionNotFound(HermesTuiError):
    """The agent's store has no such session, or no longer."""

    code = "SESSION_NOT_FOUND"
    exit_code = 8


class ParseError(HermesTuiError):
    """The session exists and nothing of it can be read."""

    code = "PARSE_ERROR"
    exit_code = 1


class EntryError(ParseError):
    """What Hermes keeps for a lane cannot be understood, and is therefore not touched."""

    def __init__(self, field: str, reason: str) -> None:
        """`field` is the member's name (`origin.chat_id`), empty where the whole is meant."""
        super().__init__(f"{field} {reason}" if field else reason)
        self.field = field
        self.reason = reason


class LaneNotFound(HermesTuiError):
    """The profile's index has no lane of that key."""

    code = "LANE_NOT_FOUND"
    exit_code = 8


class OperationRefused(HermesTuiError):
    """A lane cannot be changed now, and the text says why. Nothing was written."""

    code = "REFUSED"
    exit_code = 10


class ValidationError(HermesTuiError):
    """An option or argument is outside what it may be."""

    code = "VALIDATION_ERROR"
    exit_code = 2


class StoreError(HermesTuiError):
    """A store that is to be written cannot be opened or written. What was asked for did not happen."""

    code = "STORE_ERROR"
    exit_code = 1


class StoreBusy(StoreError):
    """Another process kept the store locked for longer than is worth waiting."""

    code = "STORE_BUSY"
    exit_code = 1
