"""Questions to the index about sessions, against texts that are read by the adapters and looked at one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from chances import chance
from hermes_store import Store
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.reading.reader import Hit, IndexCoverage, SearchIndex
from hermes_tui.sessions.index.source_state import Level, key_of
from hermes_tui.sessions.query.tree import All, Any, Literally, MessageFilter, Not, TextUnit, Tree, Word, holds
from hermes_tui.sessions.words import tokens
from indexing import build, homes_sources
from session_adapters.base import Environment
from session_adapters.reading.searchable import Text
from session_adapters.tool_names import NOTHING

Place = tuple[str, str, str, str]


class Held:
    """A store, its index, and its texts by the session they are in."""

    def __init__(self, home: Path, file: Path) -> None:
        environment = Environment(home=home)
        assert build(environment, file)
        adapters = Adapters(lambda: environment)
        self.sources = homes_sources(environment)
        self.index = SearchIndex(file)
        self.coverage = self.index.coverage(self.sources)
        self.texts: dict[Place, list[Text]] = {}
        for source in self.sources:
            for text in adapters.get(source.agent).texts(source, lambda problem: None):
                self.texts.setdefault((*key_of(source), text.session_id), []).append(text)

    def holding(self, tree: Tree, *, rewound: bool = False) -> set[Place]:
        """The sessions with a unit that satisfies the tree, by a look at every one."""
        return {
            place
            for place, texts in self.texts.items()
            for text in texts
            if rewound or text.visibility != "rewound"
            for said in (text.prose, text.tool)
            if (said or (text.names != NOTHING and not (text.prose or text.tool)))
            and holds(tree, TextUnit(said, text.role, text.names))
        }


@pytest.fixture(params=["claude", "hermes", "codex"])
def held(request: pytest.FixtureRequest, store: Callable[..., Path], tmp_path: Path) -> Iterator[Held]:
    found = Held(store(request.param, "home"), tmp_path / "cache" / "i.db")
    yield found
    found.index.close()


def trees(held: Held) -> list[Tree]:
    dice = chance(3)
    words = sorted(
        {word for texts in held.texts.values() for text in texts for word in tokens(text.prose + text.tool)}
    )
    chosen = dice.sample(words, 40)
    found: list[Tree] = [Word((word,)) for word in chosen]
    found += [Word((word[:4],), prefix=True) for word in chosen if len(word) > 3]
    found += [Any((Word((one,)), Word((other,)))) for one, other in zip(chosen, words[::7], strict=False)]
    found += [All((Word((one,)), Word((other,)))) for one, other in zip(words[::5], chosen, strict=False)]
    return [*found, Word(("the",)), All((Word(("the",)), Not(Word(("error",)))))]


NAMES: list[Tree] = [
    *(
        MessageFilter("role", "tool"),
        MessageFilter("role", "u"),
        MessageFilter("tool", "e"),
        MessageFilter("file", "."),
    ),
    *(MessageFilter("tool", "zzz"), Any((MessageFilter("tool", "sh"), Word(("the",))))),
    All((MessageFilter("tool", "a"), Word(("the",)))),
    All((MessageFilter("role", "a"), MessageFilter("tool", "a"), Not(Word(("the",))))),
    All((MessageFilter("file", "a"), Not(MessageFilter("role", "user")), Not(MessageFilter("tool", "b")))),
    Any((All((Word(("a",)), Not(MessageFilter("role", "u")))), All((MessageFilter("role", "u"), Word(("to",)))))),
    *(Word(("of", "the")), Literally("$"), All((Word(("the",)), Not(Literally("$"))))),
]


def test_sessions_that_hold_something(held: Held) -> None:
    """Messages that were taken back count where they are wanted, and not elsewhere."""
    for tree in [*trees(held), *NAMES]:
        for rewound in (False, True):
            found = held.index.holding(tree, held.coverage, rewound=rewound)
            assert found is not None and set(found) == held.holding(tree, rewound=rewound), (tree, rewound)


def _group(hit: Hit) -> tuple[str, bool, str, bool]:
    """What the newest message of tells about the others."""
    return hit.session_id, hit.visibility == "rewound", f"{hit.field}", hit.role == "user"


def test_some_sessions_are_asked_about_alone(held: Held) -> None:
    """What they hold is told as it is without: which messages are the newest, and how many there are in all."""
    dice = chance(4)
    for tree in [*trees(held), *NAMES]:
        among = dice.sample(sorted(held.texts), min(3, len(held.texts)))
        each = list(held.index.search(tree, held.coverage) or ())
        expected: dict[tuple[str, bool, str, bool], tuple[int, int]] = {}
        for hit in each:
            if (hit.agent, hit.path, hit.source_id, hit.session_id) in among:
                key = _group(hit)
                newest, number = expected.get(key, (0, 0))
                expected[key] = max(newest, hit.row), number + 1
        hits = list(held.index.search(tree, held.coverage, each=False, among=among) or ())
        found = {_group(hit): (hit.row, hit.number) for hit in hits}
        assert found == expected and len(found) == len(hits), tree
        assert [hit.row for hit in hits] == sorted((hit.row for hit in hits), reverse=True)


def test_what_the_index_cannot_tell_is_left_to_others(held: Held) -> None:
    for tree in (Not(Word(("the",))), Literally("→"), All((Word(("the",)), Literally("$ $")))):
        assert held.index.holding(tree, held.coverage) is None, tree
    assert held.index.search(Word(("the",)), held.coverage, each=False, among=()) is not None


def test_what_is_not_covered_is_not_told(held: Held) -> None:
    """The sessions of a source that was written to since, or of which tool text is not there yet."""
    tree = Word(("the",))
    there = held.holding(tree)
    assert there
    source = next(one for one in held.sources if key_of(one) == sorted(there)[0][:3])
    nothing = held.coverage
    levels = {key: level for key, level in nothing.levels.items() if key != key_of(source)}
    numbers = dict(nothing.numbers)
    gone = next(number for number in numbers if _key(held.index, number) == key_of(source))
    less = IndexCoverage(nothing.generation, levels, {one: level for one, level in numbers.items() if one != gone})
    assert set(held.index.holding(tree, less) or ()) == {place for place in there if place[:3] != key_of(source)}
    prose = IndexCoverage(nothing.generation, nothing.levels, numbers | {gone: Level.PROSE})
    found = held.index.holding(tree, prose)
    assert found is not None
    said = {
        place
        for place in there
        if place[:3] == key_of(source)
        and any(
            one.prose and one.visibility != "rewound" and holds(tree, TextUnit(one.prose))
            for one in held.texts[place]
        )
    }
    assert {place for place in found if place[:3] == key_of(source)} == said


def _key(index: SearchIndex, number: int) -> tuple[str, str, str]:
    sql = "SELECT agent, path, native FROM source WHERE id = ?"
    connection = apsw.Connection(str(index.path), flags=apsw.SQLITE_OPEN_READONLY)
    agent, path, native = next(connection.execute(sql, (number,)))
    connection.close()
    return str(agent), str(path), str(native)


def test_a_message_that_was_taken_back(tmp_path: Path) -> None:
    """Nothing but a rewound message says it."""
    home = Store(tmp_path / "home")
    home.session("s1")
    home.say("s1", "user", "a word that is said once: quokka", active=0)
    home.say("s1", "user", "another: wombat")
    home.connection.close()
    held = Held(tmp_path / "home", tmp_path / "cache" / "i.db")
    assert not held.index.holding(Word(("quokka",)), held.coverage)
    assert len(held.index.holding(Word(("quokka",)), held.coverage, rewound=True) or ()) == 1
    assert len(held.index.holding(Word(("wombat",)), held.coverage) or ()) == 1
    held.index.close()
