"""What reading a session in full tells its row, and what only its row tells."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.source_listing import MANY
from session_adapters.model import Session, SessionSummary
from session_adapters.reading.bounds import Stint

if TYPE_CHECKING:
    from hermes_tui.sessions.cost.service import CostDesk

__all__ = ["Row", "exact", "with_relations"]

Row = TypeVar("Row", bound=SessionSummary)

_LISTED = tuple(set(SessionSummary.__struct_fields__) - {"unified_id", "relevance_score"})
"""What a list knows of a session."""
_RELATIONS = ("forked_from", "kind", "parent_id", "lineage_id", "live", "status")
"""What only the comparison with other sessions, or a look at processes, tells."""


def exact(catalogue: Catalogue, costs: CostDesk | None, sessions: Sequence[Row]) -> list[Row]:
    """The same rows, counted in full, each with what it cost unless `costs` is None: of a fork also what it copied
    from a file that nothing is known of yet. Of very many the newest, as long as the catalogue may: the rest stays
    `partial`, or without a cost."""
    agents = tuple(dict.fromkeys(one.agent for one in sessions))
    partial = {one.unified_id for one in sessions if one.partial}
    stint = Stint(catalogue.seconds) if catalogue.seconds is not None and len(partial) > MANY else Stint(inf)
    catalogue.complete(lambda: stint.over, agents, partial)
    known = [catalogue.summary(one.agent, one.session_id) or one for one in sessions]
    if costs is not None and known:
        known = costs.some_priced(costs.tagged(known))
    return [_updated(one, now) for one, now in zip(sessions, known, strict=True)]


def _updated(one: Row, now: SessionSummary) -> Row:
    if type(now) is type(one) and now.relevance_score == one.relevance_score:
        return now
    return replace(one, **{name: getattr(now, name) for name in _LISTED})


def with_relations(session: Session, row: SessionSummary) -> Session:
    """A session that was read, with what only its row in the list tells."""
    # What is the same is left: a default from another process is none to msgspec, and would be written.
    told = {one: getattr(row, one) for one in _RELATIONS if getattr(row, one) != getattr(session, one)}
    return replace(session, **told)
