"""Summary, calls and texts are readings of the same messages, however they are asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sample_homes import HOMES, case, made_long, quiet
from session_adapters.base import Adapter, Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.model import Session, SessionSummary
from session_adapters.reading.searchable import texts_of
from session_adapters.registry import adapter_class
from session_adapters.session_counts import messages_usage
from session_adapters.usage import Usage
from support import STORES

RELATED = {"kind", "parent_id", "forked_from", "lineage_id", "raw", "messages", "relevance_score"}
"""Fields that the comparison of sessions fills in, and facts that a whole session has besides."""
COUNTED = {"turn_count", "message_count", "tool_call_count", "tokens", "cost", "error", "warnings"}
"""What is compared where OpenClaw's own index names a session, and tells more than its file."""
MORE_CALLS = {
    # The sums of a session by model stand in tables of their own, with calls that no message tells.
    "hermes",
    # Calls on branches that the conversation does not follow were paid for too, and so were those of entries that
    # are no messages (a title, a summary of a branch).
    "omp",
    "openclaw",
    "pi",
}
"""Agents whose `usage` tells more than messages do."""


@pytest.mark.parametrize(
    ("name", "long"),
    [case(name, False) for name in HOMES]
    + [case(name, True) for name in HOMES if any(path.is_file() for path in (STORES / name).rglob("*.jsonl"))],
)
def test_all_readings_say_the_same(name: str, long: bool, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / name, home, symlinks=True)
    adapter = adapter_class(name.partition("/")[0])(Environment(home=home, variables={}, proc=tmp_path / "proc"))
    if long:
        for path in {Path(source.path) for source in adapter.sources(quiet)}:
            if path.suffix == ".jsonl" and path.is_file() and path.stat().st_size < 1 << 18:
                made_long(path)
    sessions = list(read(adapter))
    assert sessions
    for source, summary, session in sessions:
        calls_agree(adapter, source, session)
        summaries_agree(summary, session)
        texts_agree(adapter, source, session)


def read(adapter: Adapter) -> Iterator[tuple[Source, SessionSummary, Session]]:
    for source in adapter.sources(quiet):
        for summary in adapter.summaries(source, quiet, exact=True):
            try:
                yield source, summary, adapter.session(source, summary.session_id)
            except (SessionMissing, SessionUnreadable):
                continue


def sums(calls: list[Usage]) -> list[tuple[object, ...]]:
    """Each call, and what it used; what was copied belongs to another session."""
    told = (one for one in calls if not one.inherited)
    return sorted((one.key, one.model or "", *map(str, (one.tokens, one.usd, one.calls))) for one in told)


def calls_agree(adapter: Adapter, source: Source, session: Session) -> None:
    """What the calls used is what the messages used."""
    told = list(adapter.usage(source, quiet, [session.session_id]))
    said = list(messages_usage(session))
    if adapter.name in MORE_CALLS:
        tokens = sum(one.tokens.total for one in told if not one.inherited)
        assert tokens >= sum(one.tokens.total for one in said if one.key)
    else:
        assert sums(told) == sums(said), session.session_id


def summaries_agree(summary: SessionSummary, session: Session) -> None:
    """What a list shows is what the whole session says of itself."""
    same = summary.session_id == session.session_id
    for name in set(SessionSummary.__struct_fields__) - RELATED if same else COUNTED:
        assert getattr(summary, name) == getattr(session, name), (session.session_id, name)


def texts_agree(adapter: Adapter, source: Source, session: Session) -> None:
    """What is searched is what the messages say; branches that the conversation does not follow are searched too."""
    told = [one for one in adapter.texts(source, quiet, session.session_id) if one.visibility != "branch"]
    said = list(texts_of(session.session_id, session.messages))
    if told != said:  # rows that several of Hector's sessions share are found in the one that counts them
        assert adapter.name == "hector" and not told and all(message.inherited for message in session.messages)
