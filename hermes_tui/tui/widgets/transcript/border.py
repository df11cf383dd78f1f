"""The border of the transcript: which session, and the position in it."""

from __future__ import annotations

from hermes_tui.display import priced, safe
from hermes_tui.tui.widgets.cells import fit, width_of
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.states import state_of

__all__ = ["subtitle", "title"]


def title(part: ListedPart, room: int, *, gone: bool) -> str:
    """The title to the left, what fits of project, branch, model, turns, part, cost and state to the right.

    `room` is in cells, and exactly filled."""
    said = [safe(fact) for fact in _facts(part, gone=gone) if fact]
    left = safe(part.summary.title or part.summary.session_id)
    while said and width_of(" · ".join(said)) + min(width_of(left), 24) + 2 > room:
        said.pop(0)
    right = " · ".join(said)
    left = fit(left, room - (width_of(right) + 2 if right else 0))
    return left + " " * (room - width_of(left) - width_of(right)) + right


def _facts(part: ListedPart, *, gone: bool) -> list[str]:
    if gone:
        return ["∅ gone: the store no longer has it"]
    session = part.summary
    state = state_of(session)
    turns = session.turn_count
    return [
        session.cwd.rstrip("/").rpartition("/")[2] if session.cwd else "",
        session.git_branch or "",
        session.model or "",
        f"{turns:,} {'turn' if turns == 1 else 'turns'}" if turns else "",
        str(part),
        _price(part),
        f"{state.glyph} {state.word}" if state is not None else "",
    ]


def _price(part: ListedPart) -> str:
    """`$0.12 of $0.40`: of this part and of all parts, the sum that the list shows."""
    own, whole = priced(part.summary.cost), priced(part.whole)
    return own if part.of == 1 or not whole else f"{own} of {whole}" if own else f"{whole} in all"


def subtitle(bottom: int, total: int, loaded: int | None, *states: str) -> str:
    """`following · 96 %`: `bottom` of `total` rows are at or above the lower edge.

    `loaded` is how many messages there are so far, None when all are."""
    part = "" if loaded is None else f" of the last {loaded:,} messages"
    return " · ".join([*states, f"{100 * min(bottom, total) // max(total, 1)} %{part}"])
