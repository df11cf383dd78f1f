"""The border of the transcript: which session, and the position in it."""

from __future__ import annotations

from textual.widget import Widget

from hermes_tui.cells import fit, width_of
from hermes_tui.display import PIN, counted, priced, safe
from hermes_tui.tui.widgets.session_list.conversation import project_of
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.states import state_of
from hermes_tui.tui.widgets.transcript.branches import place
from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript

__all__ = ["border", "spaced", "subtitle", "title"]

_FOLLOWING = "following"
_MORE = "more below, G goes to the end"
"""What is left out, this one first, where there is no room for how to stop what is looked for."""


def title(part: ListedPart, room: int, *, gone: bool) -> str:
    """The title to the left, what fits of project, branch, model, turns, part, cost and state to the right.

    `room` is in cells, and exactly filled."""
    session = part.summary
    if gone:
        facts = ["∅ gone: the store no longer has it"]
    else:
        state = part.state or state_of(session)
        own, whole = priced(session.cost), priced(part.whole)
        facts = [
            " ".join(f"#{tag}" for tag in session.tags),
            project_of(session),
            session.git_branch or "",
            session.model or "",
            counted(session.turn_count, "turn") if session.turn_count else "",
            str(part),
            own if part.of == 1 or not whole else f"{own} of {whole}" if own else f"{whole} in all",
            f"{state.glyph} {state.word}" if state is not None else "",
        ]
    said = [safe(fact) for fact in facts if fact]
    names = filter(None, (session.known_as, session.title))
    left = f"{PIN} " * session.pinned + safe(" · ".join(names) or session.session_id)
    while said and width_of(" · ".join(said)) + min(width_of(left), 24) + 2 > room:
        said.pop(0)
    right = " · ".join(said)
    left = fit(left, room - (width_of(right) + 2 if right else 0))
    return left + " " * (room - width_of(left) - width_of(right)) + right


def subtitle(bottom: int, total: int, loaded: int | None, *states: str, last: bool = True) -> str:
    """`following · 96 %`: `bottom` of `total` rows are at or above the lower edge.

    `loaded` is how many messages there are so far, None when all are; whether they are the `last`."""
    part = "" if loaded is None else f" of {'the last ' if last else ''}{loaded:,} messages"
    return " · ".join([*states, f"{100 * min(bottom, total) // max(total, 1)} %{part}"])


def spaced(text: str, pane: Widget) -> str:
    """The text of a pane's border, apart from the line to both sides. Textual brings the blanks where there are
    corners."""
    left, right = pane.styles.border_left[0], pane.styles.border_right[0]
    return f"{'' if left else ' '}{text}{'' if right else ' '}" if text else ""


def border(pane: Widget, opened: OpenTranscript, *, found: str, seen: str, sought: str) -> tuple[str, str]:
    """Title and subtitle of a pane. `found`: which match this is; `seen`: what its agent still sees, if that is
    shown; `sought`: how far it has read to find something."""
    room = max(pane.outer_size.width - 6, 4)
    part, view = opened.part, opened.view
    if part is None:
        return "", ""
    above = spaced(title(part, room, gone=opened.gone), pane)
    if not view.column.total:
        return above, ""
    bottom = view.column.tops[view.top.entry] + view.top.line + view.height
    loaded = None if view.complete and not opened.is_cut else len(view.column)
    spared = [_FOLLOWING, _MORE]
    while True:
        states = {
            found: True,
            seen: True,
            "gone": opened.gone,
            _MORE: opened.is_cut and _MORE in spared,
            "more came below": opened.behind and not opened.is_cut,
            _FOLLOWING: view.following and _FOLLOWING in spared,
            sought: True,
            "what is earlier cannot be read": opened.stuck,
            place(opened.branches): True,
        }
        said = [name for name, is_so in states.items() if is_so and name]
        below = subtitle(bottom, view.column.total, loaded, *said, last=not opened.is_cut)
        if width_of(below) <= room or not (", " in seen or loaded or spared):
            return above, spaced(below, pane)
        if ", " in seen:
            # In fewer words: what its last call took is the last to go.
            words = seen.split(", ")
            words.pop(-2 if words[-1].startswith("last call") else -1)
            seen = ", ".join(words)
        elif loaded:
            loaded = None
        else:
            spared.pop()
