"""What the search index finds, against texts that are read and cut into words by other means."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import chance, examples
from claude_lines import ClaudeHome
from hermes_store import Store
from hermes_tui.sessions.index.reading.expression import match_expression
from hermes_tui.sessions.index.reading.reader import IndexCoverage, SearchIndex
from hermes_tui.sessions.index.signs import indexable
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.index.writing import indexer
from hermes_tui.sessions.query.tree import TRUE, All, Any, Literally, MessageFilter, Not, Tree, Word
from hermes_tui.sessions.words import tokens
from indexing import build, homes_sources
from searched import Unit, begins, cut, found, has, holds, naive, runs, texts, units
from session_adapters.base import Environment
from session_adapters.hermes.message_queries import HermesRows, read_rows
from session_adapters.hermes.session_queries import HermesSchema
from session_adapters.reading.files import METER
from session_adapters.reading.searchable import Text
from support import STORES

HOMES = [("claude", "home"), ("codex", "home"), ("opencode", "home"), ("hermes", "home"), ("pi", "home")]


@pytest.mark.parametrize("place", HOMES, ids="-".join)
def test_every_word_is_found_where_it_is(place: tuple[str, ...], store: Callable[..., Path], tmp_path: Path) -> None:
    environment = Environment(home=store(*place))
    words = cut(environment)
    assert build(environment, tmp_path / "cache" / "i.db")
    index = SearchIndex(tmp_path / "cache" / "i.db")
    coverage = index.coverage(homes_sources(environment))
    assert set(coverage.levels.values()) == {Level.ALL}
    every = sorted({word for _, there in words for word in there})
    chosen = chance(5)
    for word in chosen.sample(every, min(150, len(every))):
        assert units(found(index, Word((word,)), coverage)) == naive(words, partial(has, word)), word
        for size in (1, 2, 3, 5):
            start = word[:size]
            expected = naive(words, partial(begins, start))
            prefixed = units(found(index, Word((start,), prefix=True), coverage))
            assert prefixed == expected, start
    for other in chosen.sample(every, min(60, len(every))):
        start, second = chosen.choice(every)[: chosen.choice((1, 2, 3))], chosen.choice(every)[:2]
        tree = All((Word((other,)), Word((start,), prefix=True), Word((second,), prefix=True)))
        expected = naive(words, partial(has, other)) & naive(words, partial(begins, start))
        assert units(found(index, tree, coverage)) == expected & naive(words, partial(begins, second)), tree
    long = [there for _, there in words if len(there) > 4]
    for there in chosen.sample(long, min(60, len(long))):
        at = chosen.randrange(len(there) - 3)
        phrase = tuple(there[at : at + 3])
        hits = found(index, Word(phrase), coverage)
        assert units(hits) == naive(words, partial(runs, phrase)), phrase
    index.close()


@given(data=st.data())
@examples(200)
def test_no_tree_misses_anything(
    data: st.DataObject, small: tuple[SearchIndex, IndexCoverage, list[tuple[Unit, Text]]]
) -> None:
    index, coverage, said = small
    words = [(unit, text, tokens(text.prose if unit[2] == "prose" else text.tool)) for unit, text in said]
    every = sorted({word for _, _, there in words for word in there})
    about = [
        ("role", "user"), ("role", "a"), ("role", "nobody"), ("tool", "bash"), ("tool", "e"), ("tool", "nothing"),
        ("file", "/"), ("file", ".py"), ("file", "readme"),
    ]  # fmt: skip
    leaf = st.one_of(
        st.sampled_from(every).map(lambda word: Word((word,))),
        st.tuples(st.sampled_from(every), st.integers(1, 4)).map(lambda one: Word((one[0][: one[1]],), prefix=True)),
        st.tuples(st.sampled_from(every), st.sampled_from(every)).map(Word),
        st.sampled_from(("🦀", "$", "✓", "→", "€€")).map(Literally),
        st.sampled_from(about).map(lambda one: MessageFilter(*one)),  # type: ignore[arg-type]
    )
    trees: st.SearchStrategy[Tree] = st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(Not), st.lists(inner, min_size=1, max_size=3).map(lambda parts: All(tuple(parts))),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: Any(tuple(parts))),
        ),
        max_leaves=6,
    )  # fmt: skip
    tree = data.draw(trees)
    hits = index.search(tree, coverage)
    if hits is None:
        return  # it has to be read
    given = list(hits)
    expected = {
        unit
        for unit, text, there in words
        if satisfied(tree, there, text.prose if unit[2] == "prose" else text.tool, text)
    }
    assert units([hit for hit in given if hit.exact]) <= expected <= units(given)


def test_what_is_asked_beside_a_name_and_not_known_is_not_sure(
    small: tuple[SearchIndex, IndexCoverage, list[tuple[Unit, Text]]],
) -> None:
    """The index has no arrows: of the messages with the tool it cannot tell which have one."""
    index, coverage, _ = small
    for each in (True, False):
        hits = index.search(All((Literally("→"), MessageFilter("tool", "bash"))), coverage, each=each)
        assert hits is not None
        assert {hit.exact for hit in hits} == {False}


def satisfied(tree: Tree, there: list[str], said: str, text: Text) -> bool:
    match tree:
        case MessageFilter(field, value):
            names = {"role": (text.role,), "tool": text.names.tools, "file": text.names.files}[field]
            return any(name.lower().startswith(value) if field == "role" else value in name.lower() for name in names)
        case Word(phrase, prefix):
            if len(phrase) == 1 and prefix:
                return any(word.startswith(phrase[0]) for word in there)
            return holds(there, phrase)
        case Literally(sign):
            return sign in said
        case Not(part):
            return not satisfied(part, there, said, text)
        case All(parts):
            return all(satisfied(part, there, said, text) for part in parts)
        case Any(parts):
            return any(satisfied(part, there, said, text) for part in parts)
        case _:
            return False


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[SearchIndex, IndexCoverage, list[tuple[Unit, Text]]]:
    home = tmp_path_factory.mktemp("small") / "home"
    shutil.copytree(STORES / "claude" / "home", home)
    environment = Environment(home=home)
    path = tmp_path_factory.mktemp("cache") / "i.db"
    assert build(environment, path)
    index = SearchIndex(path)
    said: list[tuple[Unit, Text]] = []
    for text in texts(environment):
        calls = text.names.tools or text.names.files
        if text.prose or (calls and not text.tool):
            said.append(((text.session_id, text.message_id, "prose"), text))
        if text.tool:
            said.append(((text.session_id, text.message_id, "tool"), text))
    return index, index.coverage(homes_sources(environment)), said


def test_what_cannot_be_asked_is_said() -> None:
    word = Word(("one",))
    for tree in (
        Not(word),
        TRUE,
        Literally("→"),
        Any((word, Not(word))),
        Any((word, MessageFilter("role", "user"))),
    ):
        assert match_expression(tree) is None
    assert match_expression(Not(TRUE)) == ""
    assert match_expression(All(tuple(Word((f"w{number}",)) for number in range(500)))) is None
    assert match_expression(All((word, Not(Word(("two", "three")))))) == '("one" NOT "two three")'
    assert match_expression(Literally("🦀$")) == '("\U000ffffd24" AND "\U000ffffd1f980")'


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("aZ9é漢ß_- ǅ\u0301ﬃİ$🦀\U000ffffd", max_size=40))
@examples(50)
def test_signs_are_words_behind_the_others(text: str) -> None:
    signs = {char for char in text if char == "$" or unicodedata.category(char) in ("So", "Sc", "Mn")}
    words = tokens(text)
    given = tokens(indexable(text.encode()).decode())
    assert [word.replace("\U000ffffdm", "\U000ffffd") for word in given[: len(words)]] == words
    assert {f"\U000ffffd{ord(sign):x}" for sign in signs} == set(given[len(words) :])
    assert not {word for word in given[: len(words)] if re.match("\U000ffffd[0-9a-f]", word)}


def test_what_looks_like_the_word_of_a_sign_is_none(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    made.session("a crab 🦀")
    made.session("no crab \U000ffffd1f980")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    crab, strange = (found(index, tree, coverage) for tree in (Literally("🦀"), Word(("\U000ffffd1f980",))))
    assert len({hit.session_id for hit in crab}) == len({hit.session_id for hit in strange}) == 1
    assert crab[0].session_id != strange[0].session_id
    index.close()


def test_newest_first_and_between_times(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    for number in range(40):
        made.session(f"word number{number}", turns=5)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    hits = found(index, Word(("word",)), coverage)
    times = [hit.time for hit in hits]
    assert len(hits) == 40 * 6
    assert times == sorted(times, reverse=True)
    low, high = times[150], times[50]
    some = index.search(Word(("word",)), coverage, since=low, until=high)
    assert some is not None
    assert [hit.time for hit in some] == times[50:151]
    index.close()


def test_cjk_is_found_by_any_part(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    made.session("全文検索エンジンを作る foo日本語bar")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    for part, there in (("検索", True), ("索エン", True), ("検ン", False), ("本語bar", True), ("作文", False)):
        assert bool(found(index, Word(tuple(tokens(part))), coverage)) == there, part
    index.close()


def test_a_long_output_is_complete(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("look")
    output = " ".join(f"item{number} common" for number in range(5000)) + " final words"
    block = {"type": "tool_result", "tool_use_id": "t", "content": output}
    with path.open("a") as file:
        file.write(json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}) + "\n")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    for words in (("item0",), ("item4999",), ("final", "words"), ("common", "item7")):
        assert [hit.exact for hit in found(index, Word(words), coverage)] == [True]
    assert not found(index, Word(("words", "final")), coverage)
    assert found(index, All((Word(("item3",)), Not(Word(("words", "final"))))), coverage)
    index.close()


def test_a_large_session_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it said and what its tools wrote at the same time, where that takes long."""
    claude_home = ClaudeHome(tmp_path / "home")
    path = claude_home.session("A long one")
    claude_home.say(path, "assistant", "All is said. " * 20_000)
    environment = Environment(home=claude_home.home)
    read = {}
    for once in (1, 1 << 30):
        monkeypatch.setattr(indexer, "ONCE", once)
        METER.reset()
        assert build(environment, tmp_path / f"{once}.db")
        read[once] = METER.bytes
        index = SearchIndex(tmp_path / f"{once}.db")
        assert set(index.coverage(homes_sources(environment)).levels.values()) == {Level.ALL}
        index.close()
    size = path.stat().st_size
    assert read[1 << 30] - read[1] > 0.9 * size


def test_a_large_store_that_answers_itself_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hermes' own index is asked for what was said meanwhile."""
    store = Store(tmp_path / "home")
    store.session("one")
    for number in range(30):
        store.say("one", "tool" if number % 2 else "user", f"word{number}")
    store.connection.close()
    environment = Environment(home=tmp_path / "home")
    read = list[int]()

    def noted(connection: apsw.Connection, schema: HermesSchema, ids: Sequence[int]) -> HermesRows:
        read.extend(ids)
        return read_rows(connection, schema, ids)

    monkeypatch.setattr("session_adapters.hermes.texts.read_rows", noted)
    for once, times in ((1, 1), (1 << 30, 2)):
        monkeypatch.setattr(indexer, "ONCE", once)
        read.clear()
        assert build(environment, tmp_path / f"{once}.db")
        assert sorted(read) == sorted(times * [*range(1, 31)])
        index = SearchIndex(tmp_path / f"{once}.db")
        coverage = index.coverage(homes_sources(environment))
        assert set(coverage.levels.values()) == {Level.ALL}
        assert len(found(index, Word(("word7",)), coverage)) == len(found(index, Word(("word8",)), coverage)) == 1
        index.close()
