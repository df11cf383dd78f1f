"""The Cost screen (`C`): by day, agent, model and project, and the dearest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

from textual import on
from textual.app import ComposeResult

from hermes_tui.clock import Clock
from hermes_tui.display import count, dollars, safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.sessions.cost.overview import KINDS, SPANS, Figure, Kind, Overview, Rank, Span
from hermes_tui.sessions.query.completion import as_typed
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.cost_chart import CostChart
from hermes_tui.tui.widgets.cost_list import CostList, CostRow
from hermes_tui.tui.widgets.line import Line, Part
from hermes_tui.tui.workers.coroutines import run_beside

__all__ = ["LOOK_AGAIN", "CostScreen", "cost_rows", "filter_text", "span_of", "title_parts"]

_ADDING: Part = (" · adding up …", "faint")
_SHOWN = 10
"""Lines of a ranking."""
LOOK_AGAIN = 2.0
"""Seconds between two looks at whether there is anything new."""
_HEADINGS: Mapping[Kind, str] = {
    "agent": "By agent",
    "model": "By model",
    "project": "By project",
    "branch": "By branch",
    "lane": "By lane",
    "session": "Dearest conversations, helpers included",
}
_NOW: Mapping[Span, str] = {"this month": "this month", "all time": "all time"}
"""How a span is said; of days, `last 30 days`."""


class CostScreen(FullScreen[Rank | None]):
    """Dismissed with the rank whose sessions are wanted, or without one."""

    AUTO_FOCUS = "CostList"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012  (as Screen declares it)

    def __init__(
        self,
        clock: Clock,
        compute: Callable[[date, Span], Overview],
        so_far: Callable[[date, Span], tuple[Overview, bool]],
        labels: Mapping[str, str],
        version: Callable[[], int],
        at: Rank | None = None,
        span: Span = "30 days",
        chose: Callable[[Span], None] = lambda span: None,
    ) -> None:
        """`compute` and `so_far` (which takes no time, and tells whether that is all) are called in a thread;
        `labels`: how agents are shown; `version` changes with the sessions; `at`: the line to begin at; `span`: the
        days; `chose` is told of another span."""
        super().__init__()
        self._clock = clock
        self._compute = compute
        self._so_far = so_far
        self._at = at
        self._labels = labels
        self._version = version
        self._computed = -1
        self._busy = False
        self.span = span
        self._chose = chose
        self.overview: Overview | None = None
        """What is shown; None while it is worked out."""

    def body(self) -> ComposeResult:
        """Chart and the days it shows, rankings."""
        yield Line(id="span")
        yield CostChart(id="days")
        yield CostList(id="ranks")

    def on_mount(self) -> None:
        """Work it out, and again when sessions have changed."""
        self.show_title([(" Cost", "bright"), _ADDING])
        self._show_span(None)
        self._begin()
        if not self._clock.is_fixed:
            self.set_interval(LOOK_AGAIN, self._begin)

    @property
    def first_day(self) -> date | None:
        """The local day from which on is shown what was spent; None for all time."""
        found = self.overview
        return None if found is None or found.span == "all time" or not found.days else found.days[0][0]

    # Data --------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        version = self._version()
        if version != self._computed and not self._busy and not self.is_left:
            self._computed = version
            self._busy = True
            run_beside(self, self._work, "cost")

    async def _work(self) -> None:
        today, span = self._clock.local(self._clock.now()).date(), self.span
        try:
            found, whole = await in_thread(self._so_far, today, span)
            if whole or (self.overview is None and found.whole != Figure()):
                self._take(found, whole=whole)
            if not whole:
                self._take(await in_thread(self._compute, today, span))
        except HermesTuiError as error:
            self._fail(str(error))
        except Exception as error:  # a bug of one adapter must not leave the screen waiting for ever
            self._fail(f"costs could not be worked out ({type(error).__name__}: {error})")
        finally:
            self._busy = False
            if span != self.span:  # another one was chosen meanwhile
                self._again()

    def _fail(self, reason: str) -> None:
        self.show_title([(" Cost", "bright"), (f" · {safe(reason)}", "error")])

    def _take(self, found: Overview, *, whole: bool = True) -> None:
        if found.span != self.span:
            return
        left, right = title_parts(found)
        self._show_span(found)
        self.show_title(left if whole else [*left, _ADDING], right)
        self.query_one(CostChart).show(found.days)
        self.query_one(CostList).show(cost_rows(found, self._labels), self._at)
        if whole:
            self.overview = found

    def _show_span(self, found: Overview | None) -> None:
        parts: list[Part] = [(f" {_said(self.span).capitalize()}, in US dollars", "bright")]
        if found is not None and found.span == self.span:
            parts.append((f" · {_money(found.spent)}", ""))
        self.query_one("#span", Line).show(parts, [("r other days ", "faint")])

    # Actions -----------------------------------------------------------------------------------------------

    def action_span(self, step: int) -> None:
        """The next span of days (1), or the one before (-1), for chart and rankings."""
        self.span = SPANS[(SPANS.index(self.span) + step) % len(SPANS)]
        self._chose(self.span)
        self._show_span(None)
        self._again()

    def _again(self) -> None:
        self._computed = -1
        self._begin()

    @on(CostList.Selected)
    def _selected(self, event: CostList.Selected) -> None:
        self.dismiss(event.rank)


def title_parts(found: Overview) -> tuple[list[Part], list[Part]]:
    """This month, last month and all; estimates marked."""
    left: list[Part] = [(" Cost", "bright")]
    for name, figure in (("this month", found.this_month), ("last", found.last_month), ("all", found.whole)):
        left += [(f" · {name} ", "faint"), (_money(figure), "")]
    right: list[Part] = [(f"{len(found.problems)} not read ", "warning")] if found.problems else []
    return left, right


def cost_rows(found: Overview, labels: Mapping[str, str]) -> list[CostRow]:
    """The rankings, and below them what is not in the sums."""
    rows: list[CostRow] = []
    for kind in KINDS:
        ranks = found.ranks.get(kind, ())
        if not ranks:
            continue
        if rows:
            rows.append(CostRow())
        rows.append(CostRow(f"{_HEADINGS[kind]}, {_said(found.span)}", style="heading"))
        most = max(rank.figure.usd for rank in ranks) or 1.0  # where all of it was free, nothing has a share
        for rank in ranks[:_SHOWN]:
            label = labels.get(rank.key, rank.label) if kind == "agent" else rank.label
            rows.append(CostRow(rank=rank._replace(label=label), share=rank.figure.usd / most))
        rest = ranks[_SHOWN:]
        if rest:
            figure = Figure(sum(rank.figure.usd for rank in rest), any(rank.figure.estimated for rank in rest))
            rows.append(CostRow(f"  … {len(rest)} more, {_money(figure)}", style="faint"))
    if not rows:
        when = {"all time": "", "this month": " this month"}.get(found.span, f" in the {_said(found.span)}")
        rows.append(CostRow(f"No session here has used anything{when}.", style="faint"))
    rows.append(CostRow())
    if found.unpriced:
        names = ", ".join(map(safe, found.unpriced))
        unknown = f"No known price: {names} · {count(found.unpriced_tokens)} tokens, not in the sums (+, ?)"
        rows.append(CostRow(unknown, style="warning"))
    if found.whole.estimated:
        rows.append(CostRow("~ is estimated from a list of prices, not what was billed.", style="faint"))
    rows += [CostRow(f"Not read: {safe(one.path)}: {safe(one.reason)}", style="warning") for one in found.problems]
    return rows


def _said(span: Span) -> str:
    return _NOW.get(span, f"last {span}")


def span_of(said: str) -> Span:
    """The span of that name; the usual one where there is none."""
    return next((span for span in SPANS if span == said), "30 days")


def filter_text(rank: Rank, first: date | None = None) -> str:
    """The sessions behind a rank, in the words of the search grammar; `first`: the day from which on it counts."""
    if rank.kind in ("branch", "lane"):
        return f"{rank.kind} {safe(rank.label)}"
    name = {"agent": "agent", "model": "model", "project": "cwd", "session": "id"}[rank.kind]
    since = f" since:{first}" if first is not None and rank.kind != "session" else ""
    return f"{name}:{as_typed(safe(rank.key))}{since}"


def _money(figure: Figure) -> str:
    return dollars(figure.usd, estimated=figure.estimated, unpriced=figure.unpriced)
