"""`hermes-tui sessions search`, `sessions browse` and `sessions show --around`."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cells import fit
from hermes_tui.cli import exit_codes, stderr, stdout
from hermes_tui.cli.filter_options import filter_options
from hermes_tui.cli.home_option import hurry, is_known, manager_of, mention_the_unread
from hermes_tui.cli.sessions.table import title_text
from hermes_tui.display import APART, age, count, safe
from hermes_tui.errors import ValidationError

if TYPE_CHECKING:
    from hermes_tui.sessions.index.service import IndexService
    from hermes_tui.sessions.search.model import MessageWindow, Outcome, Result

__all__ = ["browse", "search", "window_lines", "window_records"]

_SAID = 3
"""Problems that are told one by one."""
_SECONDS, _LEAST = 3.0, 1.0
"""Seconds of the processor after which no further source is read; so many are left when the list took long."""
_ROLES = ("user", "assistant", "system", "tool")


@click.command("search")
@click.argument("words", metavar="QUERY", nargs=-1, required=True)
@click.option("--agent", metavar="AGENT", help="Only sessions of this agent.")
@filter_options
@click.option("--role", type=click.Choice(_ROLES), help="Only messages of this role.")
@click.option("--limit", type=int, default=50, show_default=True, metavar="N", help="At most so many conversations.")
@click.option(
    "--sort",
    type=click.Choice(("relevance", "date", "cost")),
    default="relevance",
    show_default=True,
    help="The best, the last active or the dearest first.",
)
@click.option("--rewound", is_flag=True, help="Also messages that the user took back.")
@click.option("--no-index", is_flag=True, help="Search the sessions themselves.")
@click.option(
    "--wait", is_flag=True, help="Read all that the index does not have; else the newest, for a few seconds."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def search(
    context: click.Context,
    /,
    words: Sequence[str],
    tags: Sequence[str],
    no_index: bool,
    wait: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Find conversations in which QUERY is said.

    By anyone, a tool included. Words all have to be there; "a phrase"; OR; NOT or a dash for what must not; begin*
    for beginnings; ~part for what is inside of words; /regex/ for what fits a pattern; and agent: model: cwd: role:
    tool: file: tag: source: title: id: is: since: until: cost: tokens: turns: (write -- before a query that begins
    with a dash)
    """
    from hermes_tui.sessions.search.model import SearchOptions

    text = " ".join(words)
    if not text.strip():
        raise click.UsageError("give something to search for", context)
    settings = context.find_root().obj
    manager = manager_of(settings.home, indexed=not no_index and settings.config().index)
    hurry(manager, reads_again=True)
    waiting = stderr.Waiting()
    patience = _Patience(math.inf if wait else _SECONDS)
    try:
        outcome = manager.searches.discover(
            text,
            SearchOptions(tags=tuple(tags) or None, windows=as_json, **options),
            stop=patience.over,
            progress=lambda done: waiting.tell(f"{done.sources - done.left:,} of {done.sources:,} searched"),
        )
    finally:
        waiting.end()
    hurried = patience.over()
    known = options["agent"] is None or is_known(options["agent"], manager.agents)
    if as_json:
        from hermes_tui.cli.sessions.document_names import search_result

        # To read them in full takes time as well, which there is none of where the search was broken off.
        counted = outcome.results if hurried else manager.exact(outcome.results)
        stdout.write_json_array(map(search_result, counted))
        _say_order(outcome, options["sort"])
    else:
        for line in _lines(outcome.results, datetime.now(UTC), stdout.terminal_width()):
            stdout.write(f"{line}\n")
        if known:
            _narrate(outcome)
        _say_order(outcome, options["sort"])
        _explain(text, manager.agents)
        if not outcome.total and (instead := manager.searches.instead(text)):
            stderr.say(f"hermes-tui: did you mean {safe(instead)}")
        elif not outcome.total and outcome.coverage.sources and (begun := _begun(text)):
            stderr.say(f"hermes-tui: words are whole ones; {safe(begun)} also finds what begins so")
    if known:
        _say_gaps(outcome, manager.index)
    for problem in manager.catalogue.snapshot.problems:
        if problem.agent == "hermes-tui":  # our own: the user's marks, which are searched as well
            stderr.say(f"hermes-tui: {safe(problem.reason)}")
    if hurried:
        left = f"{outcome.coverage.left:,} of {outcome.coverage.sources:,} sources, the oldest, are not searched"
        rest = "what was found is not read in full" if outcome.complete else left
        stderr.say(f"hermes-tui: there was no time: {rest}; --wait waits for it")
    mention_the_unread(manager)
    manager.catalogue.close()
    # The index goes on being made when this command has ended.
    manager.index.poke(follow=False, alone=True)
    manager.index.close()
    return exit_codes.OK


class _Patience:
    """How long is searched without being asked to wait."""

    def __init__(self, seconds: float) -> None:
        self._until = time.thread_time() + seconds
        self._begun = False

    def over(self) -> bool:
        """Whether it was enough; first asked when the list of what there is to be searched is made."""
        if not self._begun:
            self._begun = True
            self._until = max(self._until, time.thread_time() + _LEAST)
        return time.thread_time() > self._until


def _lines(results: Sequence[Result], now: datetime, width: int) -> Iterator[str]:
    # What stands around a word that was found.
    bold = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    before, after = ("\x1b[1m", "\x1b[22m") if bold else (">>>", "<<<")
    for one in results:
        head = f"{safe(one.agent)}  {safe(one.session_id)}  {age(one.updated_at, now)}  "
        yield (head + fit(title_text(one), max(20, width - len(head)))).rstrip()
        yield from (f"    {safe(note)}" for note in one.notes)
        parts: list[str] = []
        at = 0
        for start, end in one.marks:
            parts += (safe(one.snippet[at:start]), before, safe(one.snippet[start:end]), after)
            at = end
        yield f"    {''.join((*parts, safe(one.snippet[at:])))}"
        if one.message_id is not None:
            where = "one place" if one.match_count == 1 else f"{count(one.match_count)} places"
            who = ", ".join(filter(None, (safe(one.match_role or ""), APART.get(one.match_visibility or ""))))
            yield f"    {where}, the best by {who}: --around {safe(one.message_id)}"


def _narrate(outcome: Outcome) -> None:
    """Say how much was found and how complete that is (law 4)."""
    found = (
        "nothing"
        if not outcome.total
        else "1 conversation"
        if outcome.total == 1
        else f"{outcome.total} conversations"
    )
    shown = f", the first {len(outcome.results)} are shown" if len(outcome.results) < outcome.total else ""
    stderr.say(f"hermes-tui: {found} found{shown}; {outcome.coverage.of_found(outcome.total)}")


def _say_gaps(outcome: Outcome, index: IndexService) -> None:
    """Say what could not be searched, or not in full."""
    coverage = outcome.coverage
    if coverage.indexed < coverage.sources and (trouble := index.trouble):
        stderr.say(f"hermes-tui: {safe(trouble)}")
    elif coverage.trouble and os.path.lexists(index.path):
        anew = "; it is made anew" if index.index.damaged else ""
        stderr.say(f"hermes-tui: the index was not asked: {safe(coverage.trouble)}{anew}")
    for problem in outcome.problems[:_SAID]:
        stderr.say(f"hermes-tui: {safe(problem.path)}: {safe(problem.reason)}")
    if len(outcome.problems) > _SAID:
        stderr.say(
            f"hermes-tui: {len(outcome.problems)} problems, the first are shown; `hermes-tui doctor` has the others"
        )


def _say_order(outcome: Outcome, sort: str) -> None:
    """Say where not all that was found is in the order that was asked for."""
    if sort == "relevance" and outcome.coverage.sources and outcome.ranked < outcome.total:
        said = f"{outcome.ranked} of {outcome.total} conversations are ordered by relevance"
        stderr.say(f"hermes-tui: {said}, the others behind them by date")


def _explain(text: str, agents: Sequence[str]) -> None:
    """Say what of a query was not taken as it looks."""
    from hermes_tui.sessions.query.completion import mistyped
    from hermes_tui.sessions.query.query import parse
    from hermes_tui.sessions.query.tree import SessionFilter, leaves

    query = parse(text)
    for part in query.parts:
        if part.kind == "odd":
            stderr.say(f"hermes-tui: {safe(text[part.start : part.end])} makes no filter: it is searched as text")
        elif part.kind == "idle" and not query.empty:
            stderr.say(f"hermes-tui: {safe(text[part.start : part.end])} is without effect")
    for name, near in mistyped(text):
        stderr.say(f"hermes-tui: {safe(name)}: is no filter and is searched as text; there is {near}:")
    if query.empty:
        stderr.say("hermes-tui: that asks for nothing; `hermes-tui sessions search --help` says what can be asked")
    asked = [leaf for leaf in leaves(query.tree) if isinstance(leaf, SessionFilter) and leaf.field == "agent"]
    for name in (name for leaf in asked for name in leaf.values):
        if not any(agent.startswith(name) for agent in agents):
            is_known(name, agents)


def _begun(text: str) -> str:
    """The last word of a query with a star, as the box on the screen takes it; empty where there is none."""
    from hermes_tui.sessions.query.query import parse

    words = [text[part.start : part.end] for part in parse(text).parts if part.kind == "word"]
    return f"{words[-1]}*" if words and not words[-1].endswith("*") else ""


@click.command("browse")
@click.argument("agent", required=False)
@click.option("--limit", type=int, default=20, show_default=True, metavar="N", help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def browse(context: click.Context, agent: str | None, limit: int, as_json: bool) -> None:
    """Show the conversations that were active last.

    Those of AGENT, or of all agents, each with its first prompt.
    """
    if limit < 0:
        raise ValidationError(f"limit must be a whole number from 0 up, not {limit}")
    manager = manager_of(context.find_root().obj.home)
    found = manager.browse(agent, limit=limit)
    if as_json:
        from hermes_tui.cli.sessions.document_names import listed_session

        stdout.write_json_array(map(listed_session, manager.exact(found)))
        return
    now, width = datetime.now(UTC), stdout.terminal_width()
    for one in found:
        head = f"{safe(one.agent)}  {safe(one.session_id)}  {age(one.updated_at, now)}  "
        stdout.write((head + fit(title_text(one), max(20, width - len(head)))).rstrip() + "\n")
        if one.preview and one.preview != one.title:
            stdout.write(f"    {fit(safe(one.preview), max(20, width - 4))}".rstrip() + "\n")
    if agent is not None:
        is_known(agent, manager.agents)
    if limit and not found:
        stdout.write("(no sessions)\n")


def window_records(window: MessageWindow) -> Iterator[bytes]:
    """A part of a conversation as JSON lines: where it begins and ends, then a message each."""
    import msgspec

    from hermes_tui.sessions.jsontext import encode

    for one in (msgspec.structs.replace(window, lines=()), *window.lines):
        yield encode(one) + b"\n"


def window_lines(window: MessageWindow, now: datetime) -> Iterator[str]:
    """A part of a conversation as text; where it begins or ends is said."""
    if window.at_start:
        yield "(the session begins here)"
    for line in window.lines:
        mark = ">" if line.anchor else " "
        head = (line.role, age(line.timestamp, now), safe(line.message_id), APART.get(line.visibility))
        yield f"{mark} {'  '.join(filter(None, head))}"
        for row in safe(line.text, keep_newlines=True).splitlines():
            yield f"    {row}"
    if window.at_end:
        yield "(the session ends here)"
