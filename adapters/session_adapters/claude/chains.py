"""Sub-agents whose records stand inside the main file, as 1.0.x wrote them."""

from __future__ import annotations

from session_adapters.claude.records import Marks

__all__ = ["Chains", "chain_in", "helper_id"]


def helper_id(session_id: str, chain: str) -> str:
    """Native id of a helper that has no file of its own."""
    return f"{session_id}:{chain}"


def chain_in(session_id: str, wanted: str) -> str:
    """The helper of the session `session_id` that the native id `wanted` names; empty for any other id."""
    start = f"{session_id}:"
    return wanted.removeprefix(start) if wanted.startswith(start) else ""


class Chains:
    """Tells helpers that ran at once apart: the records of each are linked by `parentUuid`, from its prompt on."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        """uuid of a record → that of the first one of its chain."""
        self._latest = ""

    def chain(self, record: Marks) -> str:
        """The chain of the next side record: the beginning of its first record's uuid. A record whose parent is
        lost goes to the chain of the one before it."""
        known = self._first.get(record.parent_uuid or "")
        if known is None:
            begins = record.uuid is not None and (not self._latest or record.parent_uuid is None)
            known = (record.uuid or "")[:8] if begins and record.kind == "user" else self._latest
        self._latest = known = known or (record.uuid or "helper")[:8]
        if record.uuid:
            self._first[record.uuid] = known
        return known
