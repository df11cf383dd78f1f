"""`!`: everything that could not be read, with file, place and reason (law 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from hermes_tui.display import counted, safe
from hermes_tui.tui.screens.dialogs.page import PageScreen
from hermes_tui.tui.widgets.page import Paragraph
from session_adapters.model import Problem

__all__ = ["ProblemsScreen", "problem_blocks"]


def problem_blocks(problems: Sequence[Problem], labels: Mapping[str, str]) -> list[Paragraph]:
    """One paragraph per problem, by agent; `labels` are their names for people."""
    blocks = [Paragraph(), Paragraph("Everything else is listed and can be opened as usual.", style="faint")]
    ordered = sorted(problems, key=lambda problem: (problem.agent, problem.path, problem.place))
    for agent, group in groupby(ordered, key=lambda problem: problem.agent):
        of_agent = list(group)
        label = safe(labels.get(agent, agent))
        blocks += [Paragraph(), Paragraph(f"{label} · {counted(len(of_agent), 'problem')}", style="heading")]
        for problem in of_agent:
            place = f", {problem.place}" if problem.place else ""
            blocks.append(Paragraph(safe(problem.reason), label="!", indent=1, column=2))
            where = safe(f"{problem.path}{place}")
            if where:
                blocks.append(Paragraph(where, style="faint", indent=3))
    return blocks


class ProblemsScreen(PageScreen):
    """The problems as they were when it was opened."""

    def __init__(self, problems: Sequence[Problem], labels: Mapping[str, str]) -> None:
        super().__init__(f"Problems · {len(problems):,}", problem_blocks(problems, labels))
