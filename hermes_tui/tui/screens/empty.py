"""What a machine without any session shows: where was looked, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.display import safe, with_tilde
from hermes_tui.sessions.catalogue.snapshot import AgentPlace
from hermes_tui.tui.widgets.page import Paragraph

__all__ = ["empty_blocks"]


def empty_blocks(places: Sequence[AgentPlace], home: str | None) -> list[Paragraph]:
    """What to do first, then one entry per agent with the places that were looked at; `home` is written `~`.

    None where another home was named: to whoever reads it, `~` is their own."""
    blocks = [
        Paragraph(),
        Paragraph("No sessions here yet", style="heading"),
        Paragraph(),
        Paragraph("To look around with made-up sessions:"),
        Paragraph("hermes-tui demo", style="accent", indent=2),
        Paragraph(),
        Paragraph("As soon as one of these agents has a session, it appears here by itself:"),
    ]
    column = max((len(place.label) for place in places), default=0) + 2
    for place in places:
        roots = [with_tilde(str(root.path), home) + " (no session in it)" * root.exists for root in place.roots]
        text = ", ".join(dict.fromkeys(roots)) or "nowhere: its adapter cannot be used"
        blocks.append(Paragraph(safe(text), label=safe(place.label), indent=1, column=column, style="faint"))
    blocks += [
        Paragraph(),
        Paragraph("hermes-tui doctor tells more; variables such as HERMES_HOME are heeded.", "faint"),
    ]
    return blocks
