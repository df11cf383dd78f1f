"""The rows of search results: conversations, each with a line around the match.

Filters alone narrow the list instead: `left`.

Found are those that the search names, and those whose title, project, agent or id has all the words in it: parts of
words, too. Nothing here looks at a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.clock import Clock
from hermes_tui.display import safe
from hermes_tui.tui.widgets.session_list.conversation import Conversation, ListRow, Snippet, called
from hermes_tui.tui.widgets.session_list.headings import Headings
from hermes_tui.tui.widgets.session_list.list_columns import containing, merged
from hermes_tui.tui.widgets.session_list.order import Order, grouped, sorted_by
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_answer import ShownAnswer
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates

if TYPE_CHECKING:
    from hermes_tui.sessions.query.query import Query
    from hermes_tui.sessions.query.tree import Tree, Word
    from hermes_tui.sessions.search.incremental.search import LiveResult, LiveSnapshot
    from hermes_tui.sessions.search.model import Result
    from hermes_tui.sessions.search.titles import Titles

__all__ = [
    "ConversationNames",
    "Listed",
    "answer_of",
    "broken_rows",
    "by_need",
    "finder",
    "left",
    "listed",
    "nothing_rows",
    "snippet_of",
]


_MOST = 200
"""Conversations in the list. Making rows of two thousand takes longer than finding them."""


class Listed(NamedTuple):
    """What is shown of an answer."""

    conversations: Sequence[tuple[Conversation, LiveResult | None]] = ()
    """In the order of the list; without a result where the name alone fits."""
    total: int = 0
    """All that were found."""
    least: bool = False
    """Not all were asked for: there may be more of them."""
    ranked: bool = False
    more: bool = False
    """Not all of them are here."""


class ConversationNames:
    """What the conversations of a forest are called: titles, projects, agents, ids."""

    def __init__(self, forest: Forest, before: ConversationNames | None = None) -> None:
        """`before` are those of a moment ago."""
        self.forest = forest
        self._before = before.__dict__.get("_texts") if before is not None else None

    @cached_property
    def _texts(self) -> Titles[Conversation]:
        """Made at the first question that is more than words."""
        from hermes_tui.sessions.search.titles import Titles

        names = ((one, "\n".join(map(called, one.parts))) for one in self.forest.newest)
        before, self._before = self._before, None
        return Titles(names, before)

    def get_ready(self) -> None:
        """Do now what the first question would have to wait for. Any thread may call it."""
        _ = self._texts

    def fitting(self, query: Query) -> Sequence[Conversation]:
        """The conversations whose title, project, agent or id fits a query, the newest first: parts of words where
        there is nothing but words, else whole ones, and then no more than are listed."""
        from hermes_tui.sessions.query.tree import Inside, Literally, Regex, TextUnit, Word, leaves

        if _plain(query.tree) is not None:
            return self.forest.containing(query.text.lower().split())
        if not any(isinstance(leaf, Word | Literally | Inside | Regex) for leaf in leaves(query.tree, positive=True)):
            return []
        search = query.searches()
        found: list[Conversation] = []
        for one, name in self._texts.candidates(query.tree):
            # `name` is that of all parts together, but each has to fit by itself.
            if any(
                not (wanted := search(part)).forbids
                and wanted.decided is None
                and wanted.matches(name if len(one.parts) == 1 else TextUnit(called(part)))
                for part in one.parts
            ):
                found.append(one)
                if len(found) > _MOST:  # one more says that there are more
                    break
        return found


def _plain(tree: Tree) -> Sequence[Word] | None:
    """The words of a query that has nothing else."""
    from hermes_tui.sessions.query.tree import All, Word

    parts = tree.parts if isinstance(tree, All) else (tree,)
    found = [part for part in parts if isinstance(part, Word)]
    return found if len(found) == len(parts) else None


def listed(snapshot: LiveSnapshot, forest: Forest, names: Sequence[Conversation]) -> Listed:
    """The answer and what fits by name, each conversation once: the best first where that is known, else the one
    that was active last."""
    found: dict[str, tuple[Conversation, LiveResult | None]] = {}
    for result in snapshot.results:
        home = forest.by_session.get(result.summary.unified_id)
        if home is None and result.summary.kind == "memory":  # which the list of sessions does not show
            home = Conversation((result.summary,))
        if home is not None:
            found.setdefault(home.key, (home, result))
    there = len(found)
    hidden = snapshot.total > len(snapshot.results)
    named = [one for one in names if one.key not in found]
    order = [*found.values(), *((one, None) for one in named[:_MOST])]
    if not snapshot.ranked:
        order.sort(key=lambda pair: (pair[0].tip.updated_at, pair[0].key), reverse=True)
    # Several results may be parts of one conversation, or of none that is listed.
    total = snapshot.total - (len(snapshot.results) - there)
    if not hidden:
        total += len(named)  # else they may be among those that are not shown
    least = snapshot.more or (hidden and bool(named))
    return Listed(order[:_MOST], total, least, snapshot.ranked, hidden or snapshot.more or there + len(named) > _MOST)


def left(sessions: Iterable[str], forest: Forest) -> Listed:
    """What filters alone leave of the list, by unified id: every session counts by itself."""
    homes = [home for one in sessions if (home := forest.by_session.get(one)) is not None]
    return Listed([(one, None) for one in dict.fromkeys(homes)], len(homes))


def finder(query: Query) -> Callable[[str], Sequence[tuple[int, int]]]:
    """What of a title or a project's name is to be lit."""
    from hermes_tui.sessions.query.tree import TextUnit, spans

    words = containing(query.text.lower().split()) if _plain(query.tree) is not None else lambda text: ()

    def find(text: str) -> Sequence[tuple[int, int]]:
        return merged([*spans(query.tree, TextUnit(text)), *words(text)])

    return find


def answer_of(
    shown: Listed,
    query: Query,
    clock: Clock,
    snippets: Mapping[str, Snippet],
    order: Order,
    states: ShownStates,
    *,
    two_lines: bool,
) -> ShownAnswer:
    """The rows in the order of the list, which is usually the newest first, or the best where that is known.
    `snippets` by unified id of the session that was found."""
    rows: list[ListRow] = []
    heading = ""
    under: list[tuple[str, Conversation, LiveResult | None]]
    if order.is_usual:
        headings = Headings(clock)
        under = [
            ("best match first" if shown.ranked else headings.of(one.tip.updated_at), one, result)
            for one, result in shown.conversations
        ]
    else:
        found = {one.key: result for one, result in shown.conversations}
        newest = sorted((one for one, _ in shown.conversations), key=lambda one: one.activity, reverse=True)
        groups = grouped(order, sorted_by(order, newest), clock, states)
        under = [(label, one, found[one.key]) for label, group in groups.items() for one in group]
    for label, conversation, result in under:
        if label != heading:
            heading = label
            rows.append(ListRow(label, names=not rows))
        rows.append(ListRow(conversation=conversation, result=True))
        if two_lines:
            rows.append(ListRow(snippet=_snippet(conversation, result, snippets)))
    if shown.more:
        apart = "" if order.is_usual else ", not sorted with these"
        rows.append(ListRow(f"there are more{apart}: another word tells them apart"))
    return ShownAnswer(rows, finder(query))


def by_need(shown: Listed, states: ShownStates) -> ShownAnswer:
    """The rows of an answer by states alone, a line each: who needs a person first."""
    rows: list[ListRow] = []
    heading = ""
    for conversation, _ in sorted(shown.conversations, key=lambda pair: states.rank(pair[0])):
        label = states.group(conversation)
        if label != heading:
            heading = label
            rows.append(ListRow(label, names=not rows))
        rows.append(ListRow(conversation=conversation, result=True))
    return ShownAnswer(rows, lambda text: ())


def _snippet(conversation: Conversation, result: LiveResult | None, snippets: Mapping[str, Snippet]) -> Snippet:
    if result is None or result.match is None or result.match.field == "title":
        session = result.summary if result is not None else conversation.tip
        return _opening(session.preview or "")
    places = f"{result.total:,}×" if result.total > 1 else ""
    return snippets.get(result.summary.unified_id, Snippet())._replace(label=places)


@lru_cache(maxsize=4096)
def _opening(preview: str) -> Snippet:
    """How a session began, on one line: the same for every key."""
    return Snippet(" ".join(safe(preview).split()))


def snippet_of(result: Result) -> Snippet:
    """The line of a session that was looked at."""
    text = safe(result.snippet)
    same = len(text) == len(result.snippet)
    return Snippet(text, result.marks if same else ())


def nothing_rows(query: Query, searched: str, width: int, instead: str = "") -> ShownAnswer:
    """What stands in the place of results where there are none: what was searched, and what to try. `instead` is a
    query that may have been meant."""
    from hermes_tui.sessions.query.completion import mistyped

    said = [f"Nothing found for {safe(query.text.strip())}", ""]
    if instead:
        said += [f"Did you mean {safe(instead)}? Tab in the box searches for that.", ""]
    said += [f"Searched: {searched}.", ""]
    kinds = {part.kind for part in query.parts}
    advice = [f"{near}: in the place of {safe(name)}:, which is no filter" for name, near in mistyped(query.text)]
    if "odd" in kinds:
        advice.append("the underlined part again: as it stands it is searched as text")
    if "filter" in kinds:
        advice.append("fewer filters: each of them leaves sessions out")
    if any(part.kind == "phrase" and query.text[part.start] == '"' for part in query.parts):
        advice.append("the words without quotation marks: they need not stand together then")
    if sum(part.kind == "word" for part in query.parts) > 1:
        advice.append("fewer words, or OR between them: all must be said in one message")
    if kinds != {"filter"}:
        advice.append("the beginning of a word and a star: dock*")
    return _text_rows([*said, *(f"Try {one}" for one in advice)], width)


def broken_rows(query: Query, failure: str, width: int) -> ShownAnswer:
    """What stands in the place of results where an error ended the search before there was one."""
    said = [f"The search for {safe(query.text.strip())} broke off", "", f"{safe(failure)}.", ""]
    return _text_rows([*said, "Another question is searched for as ever."], width)


def _text_rows(said: Sequence[str], width: int) -> ShownAnswer:
    lines = [line for text in said for line in (wrap(text, max(10, width - 2)) or [""])]
    return ShownAnswer([ListRow(line or " ") for line in lines], lambda text: ())
