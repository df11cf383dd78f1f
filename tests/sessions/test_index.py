"""What the search index holds and finds, against texts that are read and cut into words by other means."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from claude_lines import ClaudeHome
from hermes_store import Store
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index import indexer as indexing
from hermes_tui.sessions.index import writer
from hermes_tui.sessions.index.beginnings import beginnings
from hermes_tui.sessions.index.expression import match_expression
from hermes_tui.sessions.index.indexer import Indexer
from hermes_tui.sessions.index.named import Named
from hermes_tui.sessions.index.names import Names
from hermes_tui.sessions.index.numbers import Numbers
from hermes_tui.sessions.index.questions import Ask, Question
from hermes_tui.sessions.index.reader import Coverage, Hit, Index
from hermes_tui.sessions.index.rows import newest
from hermes_tui.sessions.index.schema import IndexUnusable, open_writer
from hermes_tui.sessions.index.standing import Level
from hermes_tui.sessions.query.tree import TRUE, All, Any, Literally, MessageFilter, Not, Tree, Word
from hermes_tui.sessions.words import spaced, tokens
from indexing import build, contents, homes_sources
from session_adapters.base import Environment, Report, Source
from session_adapters.files import METER
from session_adapters.searchable import SessionTexts, Text
from support import STORES

Unit = tuple[str, str, str]
"""Session, message, field."""


def files_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def texts(environment: Environment) -> list[Text]:
    """Every text there is."""
    adapters = Adapters(lambda: environment)
    return [
        text
        for source in homes_sources(environment)
        for text in adapters.get(source.agent).texts(source, lambda problem: None)
    ]


def found(index: Index, tree: Tree, coverage: Coverage) -> list[Hit]:
    hits = index.search(tree, coverage)
    assert hits is not None
    return list(hits)


def units(hits: list[Hit]) -> set[Unit]:
    return {(hit.session_id, hit.message_id, hit.field) for hit in hits}


def naive(words: list[tuple[Unit, list[str]]], wanted: Callable[[list[str]], bool]) -> set[Unit]:
    return {unit for unit, there in words if wanted(there)}


def cut(environment: Environment) -> list[tuple[Unit, list[str]]]:
    """The words of every unit."""
    found: list[tuple[Unit, list[str]]] = []
    for text in texts(environment):
        found.append(((text.session_id, text.message_id, "prose"), tokens(text.prose)))
        found.append(((text.session_id, text.message_id, "tool"), tokens(text.tool)))
    return found


def holds(there: list[str], phrase: tuple[str, ...]) -> bool:
    return any(tuple(there[at : at + len(phrase)]) == phrase for at in range(len(there) - len(phrase) + 1))


def has(word: str, there: list[str]) -> bool:
    return word in there


def begins(start: str, there: list[str]) -> bool:
    return any(word.startswith(start) for word in there)


def runs(phrase: tuple[str, ...], there: list[str]) -> bool:
    return holds(there, phrase)


HOMES = [("claude", "home"), ("codex", "home"), ("opencode", "home"), ("hermes", "home"), ("pi", "home")]


@pytest.mark.parametrize("place", HOMES, ids="-".join)
def test_every_word_is_found_where_it_is(place: tuple[str, ...], store: Callable[..., Path], tmp_path: Path) -> None:
    environment = Environment(home=store(*place))
    words = cut(environment)
    assert build(environment, tmp_path / "cache" / "i.db")
    index = Index(tmp_path / "cache" / "i.db")
    coverage = index.coverage(homes_sources(environment))
    assert set(coverage.levels.values()) == {Level.ALL}
    every = sorted({word for _, there in words for word in there})
    chosen = random.Random(5)
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
        expected = naive(words, partial(runs, phrase))
        assert units([hit for hit in hits if hit.exact]) <= expected <= units(hits), phrase
    index.close()


@given(data=st.data())
@examples(max_examples=200, deadline=None)
def test_no_tree_misses_anything(data: st.DataObject, small: tuple[Index, Coverage, list[tuple[Unit, Text]]]) -> None:
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
    small: tuple[Index, Coverage, list[tuple[Unit, Text]]],
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
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, Coverage, list[tuple[Unit, Text]]]:
    home = tmp_path_factory.mktemp("small") / "home"
    shutil.copytree(STORES / "claude" / "home", home)
    environment = Environment(home=home)
    path = tmp_path_factory.mktemp("cache") / "i.db"
    assert build(environment, path)
    index = Index(path)
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
        Literally("🦀"),
        Any((word, Not(word))),
        Any((word, MessageFilter("role", "user"))),
    ):
        assert match_expression(tree) is None
    assert match_expression(Not(TRUE)) == ""
    assert match_expression(All(tuple(Word((f"w{number}",)) for number in range(500)))) is None
    assert match_expression(All((word, Not(Word(("two", "three")))))) == '("one" NOT "two three")'
    assert match_expression(All((word, Not(Word(("two", "three"))))), places=False) == '"one"'


def test_rows_that_two_questions_have_in_common(tmp_path: Path) -> None:
    """Of any two sets of rows: near each other and far apart, one small and one large."""
    connection = open_writer(tmp_path / "i.db")
    chosen = random.Random(3)
    for number, (first, second, shared) in enumerate(
        ((900, 900, 300), (900, 3, 2), (2, 900, 0), (500, 500, 0), (1, 1, 1))
    ):
        rows = chosen.sample(range(1, 1 << 20), first + second + shared)
        both, mine, theirs = rows[:shared], rows[shared : shared + first], rows[shared + first :]
        fill = "INSERT INTO {}(rowid, text) VALUES(?,?)"
        base = number << 21
        connection.executemany(fill.format("tool"), ((base + row, f"word{number}") for row in both + mine))
        connection.executemany(fill.format("brief"), ((base + row, f"b{number}") for row in both + theirs))
        question = Question("tool", (Ask("tool", f"word{number}"), Ask("brief", f"b{number}")))
        named = Named(Names(), "")
        expected = sorted((base + row for row in both), reverse=True)
        assert list(newest(connection, named, question, 0, 1 << 62)) == expected
        if shared > 2:
            low, high = expected[-2], expected[1]
            assert list(newest(connection, named, question, low, high)) == expected[2:-1]
    connection.close()


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("aZ9é漢ß_- ǅ\u0301ﬃİ", max_size=40))
@examples(max_examples=50)
def test_beginnings_are_those_of_the_words(text: str) -> None:
    words = tokens(text)
    signs = {char for char in text if unicodedata.category(char) in ("So", "Sc", "Mn")}
    found = {start for start in beginnings(spaced(text).encode()).decode().split(" ") if start}
    named = {f"\U000ffffd{ord(sign):x}" for sign in signs}
    assert found == {word[:3] for word in words} | named
    # FTS5 takes each for one word, and leaves it as it is.
    assert all(tokens(start) == [start] for start in found)


def test_an_answer_that_nobody_waits_for_is_given_up(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    made.session("session", turns=300)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = Index(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    everything = len(found(index, Word(("answer",)), coverage))
    looks: list[bool] = []

    def search(stop: Callable[[], bool]) -> list[Hit]:
        hits = index.search(Word(("answer",)), coverage, stop=stop)
        assert hits is not None
        return list(hits)

    def seldom() -> bool:
        looks.append(len(looks) == 4)
        return looks[-1]

    assert search(lambda: True) == []
    assert len(search(seldom)) < everything
    assert looks == [False] * 4 + [True]
    assert len(search(lambda: False)) == everything == len(found(index, Word(("answer",)), coverage))
    assert not index.problem
    index.close()


def test_what_is_covered_is_worked_out_once(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("session")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = Index(tmp_path / "i.db")
    sources = tuple(homes_sources(environment))
    coverage = index.coverage(sources)
    assert index.coverage(sources) is coverage
    assert index.coverage(list(sources)) == coverage
    made.say(path, "user", "more")
    build(environment, tmp_path / "i.db")
    assert set(coverage.levels.values()) == {Level.ALL}
    assert not index.coverage(sources).levels
    index.close()


def test_newest_first_and_between_times(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    for number in range(40):
        made.session(f"word number{number}", turns=5)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = Index(tmp_path / "i.db")
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


def test_each_message_has_a_number_of_its_own(tmp_path: Path) -> None:
    """More messages than a second has numbers for go on in the next ones, also by another indexer."""
    connection = open_writer(tmp_path / "i.db")
    given: list[int] = []
    for seconds in ([7] * 900 + [8, 5, 6, 7], [7, 8, 9, 5] * 300, [-3, 1 << 60]):
        numbers = Numbers(lambda: connection)
        for second in seconds:
            number = numbers.next(second)
            assert number >> 8 >= min(max(second, 0), 1 << 37)
            given.append(number)
        facts = ((number, 1, str(number), None, "user", 0) for number in given[-len(seconds) :])
        columns = "id, session, key, at, role, visibility"
        connection.executemany(f"INSERT INTO message({columns}) VALUES(?,?,?,?,?,?)", facts)
    assert len(set(given)) == len(given)
    assert max(given[:900]) >> 8 == 10
    connection.close()


def test_numbers_are_asked_for_seldom(tmp_path: Path) -> None:
    """Once for whatever is later than all there is, else once for what was written within minutes."""
    connection = open_writer(tmp_path / "i.db")
    numbers = (((second << 8) + 3, 1, "", "user", 0) for second in range(10_000, 12_000, 7))
    connection.executemany("INSERT INTO message(id, session, key, role, visibility) VALUES(?,?,?,?,?)", numbers)
    there = {row for (row,) in connection.execute("SELECT id FROM message")}
    asked: list[str] = []
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    made = Numbers(lambda: connection)
    given = [made.next(second) for second in range(12_000, 14_000)]
    assert len(asked) == 1
    given += [made.next(second) for second in range(10_000, 12_000)]
    assert len(asked) < 12
    connection.trace_v2(0)
    assert len(set(given)) == len(given)
    assert there.isdisjoint(given)
    assert [number >> 8 for number in given] == [*range(12_000, 14_000), *range(10_000, 12_000)]
    connection.close()


def test_cjk_is_found_by_any_part(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    made.session("全文検索エンジンを作る foo日本語bar")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = Index(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    for part, there in (("検索", True), ("索エン", True), ("検ン", False), ("本語bar", True), ("作文", False)):
        assert bool(found(index, Word(tuple(tokens(part))), coverage)) == there, part
    index.close()


def test_a_long_output_is_complete_for_words(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("look")
    output = " ".join(f"item{number} common" for number in range(5000)) + " final words"
    block = {"type": "tool_result", "tool_use_id": "t", "content": output}
    with path.open("a") as file:
        file.write(json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}) + "\n")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = Index(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    for word in ("item0", "item4999", "final"):
        assert [hit.exact for hit in found(index, Word((word,)), coverage)] == [True]
    assert found(index, Word(("final", "words")), coverage)
    assert found(index, All((Word(("item3",)), Not(Word(("words", "final"))))), coverage)
    index.close()


# Changes -----------------------------------------------------------------------------------------------------


@given(data=st.data())
@examples(max_examples=15, deadline=None)
def test_however_it_came_about_it_is_the_same(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sessions are written to, cut short, replaced and deleted, the indexer is stopped halfway: in the end the index
    equals one that is made anew."""
    home = tmp_path_factory.mktemp("home")
    made = ClaudeHome(home)
    made.session("the first one", turns=3)
    environment = Environment(home=home)
    path = home / "cache" / "i.db"
    adapters = Adapters(lambda: environment)
    connection = open_writer(path)
    indexer = Indexer(connection, adapters)
    for number in range(data.draw(st.integers(1, 6))):
        files = sorted(made.projects.rglob("*.jsonl"))
        step = data.draw(st.sampled_from(("new", "say", "say", "cut", "replace", "delete", "swap", "again", "stop")))
        target = data.draw(st.sampled_from(files)) if files else None
        if step == "new" or target is None:
            made.session(f"another {number}", turns=data.draw(st.integers(1, 4)))
        elif step == "say":
            made.say(target, data.draw(st.sampled_from(("user", "assistant"))), f"said in step {number}")
        elif step == "cut":
            target.write_bytes(target.read_bytes()[: data.draw(st.integers(0, target.stat().st_size))])
        elif step == "replace":
            other = target.with_suffix(".tmp")
            other.write_bytes(target.read_bytes().replace(b"Answer", b"Reply"))
            other.replace(target)
        elif step == "delete":
            target.unlink()
        elif step == "swap":
            target.write_bytes(b"".join(reversed(target.read_bytes().splitlines(keepends=True))))
        elif step == "again":
            target.write_bytes(target.read_bytes() * 2)
        else:
            stopping = Indexer(connection, adapters, stop=lambda: True)
            assert not stopping.run()
            continue
        assert indexer.run()
    assert indexer.run()
    connection.close()
    build(environment, home / "fresh" / "i.db")
    assert contents(path) == contents(home / "fresh" / "i.db")


@pytest.mark.parametrize("commits", range(1, 12))
def test_half_built(commits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is covered is complete; and going on from there gives what a run in one go gives."""
    monkeypatch.setattr(writer, "_FIRST_BATCH", 200)
    monkeypatch.setattr(writer, "_BATCH", 200)
    made = ClaudeHome(tmp_path)
    for number in range(5):
        made.session(f"session number{number}", turns=2)
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    build(environment, path, commits=commits)
    index = Index(path)
    sources = homes_sources(environment)
    coverage = index.coverage(sources)
    covered = {source.session_id for source in sources if coverage.level(source) >= Level.PROSE}
    hits = found(index, Word(("session",)), coverage)
    assert {hit.session_id for hit in hits} == covered
    assert len(hits) == 3 * len(covered)
    index.close()
    assert build(environment, path)
    build(environment, tmp_path / "fresh" / "i.db")
    assert contents(path) == contents(tmp_path / "fresh" / "i.db")


def test_what_was_written_to_since_is_not_covered(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    first, second = made.session("one"), made.session("two")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = Index(tmp_path / "i.db")
    made.say(first, "user", "later")
    sources = {source.path: source for source in homes_sources(environment)}
    coverage = index.coverage(sources.values())
    assert coverage.level(sources[str(first)]) == Level.NOTHING
    assert coverage.level(sources[str(second)]) == Level.ALL
    assert {hit.path for hit in found(index, Word(("answer",)), coverage)} == {str(second)}
    index.close()


# Costs -------------------------------------------------------------------------------------------------------


def test_a_line_that_is_added_costs_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("a long one", turns=400)
    environment = Environment(home=tmp_path)
    connection = open_writer(tmp_path / "cache" / "i.db")
    indexer = Indexer(connection, Adapters(lambda: environment))
    indexer.run()
    made.say(path, "user", "now it is known to grow")
    indexer.run()
    made.say(path, "user", "one more")
    METER.reset()
    before = connection.total_changes()
    indexer.run()
    assert METER.bytes < 2000
    # The message, its source, the report, the count of commits, and the shadow tables of two FTS5 tables.
    assert connection.total_changes() - before < 30
    connection.close()


def test_a_search_is_a_few_questions(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    for number in range(30):
        made.session(f"session number{number}", turns=10)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "cache" / "i.db")
    index = Index(tmp_path / "cache" / "i.db")
    coverage = index.coverage(homes_sources(environment))
    asked: list[str] = []
    connection = index._pool._idle[0]
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    hits = index.search(Word(("session",)), coverage, fields=("prose",))
    assert hits is not None
    first = [next(hits) for _ in range(20)]
    assert len(first) == 20
    matching = [sql for sql in asked if "MATCH" in sql and not sql.startswith("--")]
    assert len(matching) == 1
    assert len([sql for sql in asked if not sql.startswith("--")]) < 20
    index.close()


def test_threads_share_few_files(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    made.session("session", turns=50)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "cache" / "i.db")
    index = Index(tmp_path / "cache" / "i.db")
    sources = homes_sources(environment)
    gc.collect()
    open_before = files_open()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                assert len(found(index, Word(("session",)), index.coverage(sources))) == 51
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert files_open() - open_before <= 4 * 3
    index.close()
    assert files_open() <= open_before


def test_a_new_index_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    ClaudeHome(tmp_path).session("session", turns=80)
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    build(environment, path)
    index = Index(path)
    coverage = index.coverage(homes_sources(environment))
    hits = index.search(Word(("session",)), coverage)
    assert hits is not None
    next(hits)
    for name in path.parent.iterdir():
        name.unlink()
    open_writer(path).close()
    with pytest.raises(IndexUnusable):
        list(hits)
    assert not index.coverage(homes_sources(environment)).levels
    index.close()


def test_an_adapter_that_fails_costs_its_own_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ClaudeHome(tmp_path)
    good, bad = made.session("good"), made.session("bad")
    environment = Environment(home=tmp_path)
    adapters = Adapters(lambda: environment)
    adapter = adapters.get("claude")
    whole = adapter.texts

    def failing(source, report, session_id=None, *, prose_only=False):  # type: ignore[no-untyped-def]
        if source.path == str(bad):
            raise RuntimeError("a mistake")
        return whole(source, report, session_id, prose_only=prose_only)

    monkeypatch.setattr(adapter, "texts", failing)
    connection = open_writer(tmp_path / "i.db")
    assert Indexer(connection, adapters).run()
    connection.close()
    index = Index(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    assert {path for _, path, _ in coverage.levels} == {str(good)}
    figures = index.figures()
    assert figures is not None
    assert (figures.sources, figures.everything, figures.failed) == (2, 1, 1)
    index.close()
    assert indexing._WARM >= 8


def test_what_takes_long_to_read_again_is_left_alone_for_a_while(
    store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database has no lines that are appended; one that is written to all the time is not read all the time."""
    environment = Environment(home=store("hermes", "home"))
    adapters = Adapters(lambda: environment)
    adapter = adapters.get("hermes")
    asked: list[str] = []
    whole = adapter.new_texts

    def counting(source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        asked.append(source.path)
        return whole(source, report, marks)

    monkeypatch.setattr(adapter, "new_texts", counting)
    monkeypatch.setattr(indexing, "time", iter(range(0, 10_000, 10)).__next__)
    monkeypatch.setattr(indexing, "process_time", iter(range(0, 10_000, 10)).__next__)
    path = max((Path(one.path) for one in homes_sources(environment)), key=lambda path: path.stat().st_size)
    connection = open_writer(tmp_path / "i.db")
    Indexer(connection, adapters).run()
    before = asked.count(str(path))
    for minutes in range(5):
        os.utime(path, (minutes, minutes + 1_000_000_000))
        Indexer(connection, adapters).run()  # another process knows it, too
    assert asked.count(str(path)) - before == 1
    connection.close()


def test_what_is_left_alone_for_a_while_is_not_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a search looks into it itself."""
    store = Store(tmp_path)
    store.session("a")
    store.say("a", "user", "said first")
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    assert build(environment, path)

    def covered() -> bool:
        index = Index(path)
        try:
            (source,) = homes_sources(environment)
            return index.coverage([source]).level(source) == Level.ALL
        finally:
            index.close()

    monkeypatch.setattr(indexing, "_SHARE", 1_000_000)
    for number in range(2):
        store.say("a", "user", f"said later {number}")
        assert build(environment, path)
        assert covered() == (number == 0)
    monkeypatch.setattr(indexing, "_TOO_LONG", 0)
    assert build(environment, path)
    assert covered()
    store.connection.close()


def test_of_a_database_only_what_is_new_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by an indexer that was just started; and the index equals one that is made anew."""
    monkeypatch.setattr(indexing, "_SHARE", 0)
    store = Store(tmp_path)
    for session in ("a", "b"):
        store.session(session)
        for number in range(60):
            store.say(session, "user", f"{session} said number{number}")
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    assert build(environment, path)

    def changes() -> int:
        connection = open_writer(path)
        before = connection.total_changes()
        assert Indexer(connection, Adapters(lambda: environment)).run()
        done = connection.total_changes() - before
        connection.close()
        build(environment, tmp_path / "fresh" / "i.db")
        assert contents(path) == contents(tmp_path / "fresh" / "i.db")
        shutil.rmtree(tmp_path / "fresh")
        return done

    store.say("b", "assistant", "one more")
    assert changes() < 40
    store.connection.execute("UPDATE messages SET active = 0 WHERE id IN (3, 4)")
    assert changes() < 40
    store.connection.execute("DELETE FROM messages WHERE session_id = 'a'")
    store.connection.execute("DELETE FROM sessions WHERE id = 'a'")
    changes()
    index = Index(path)
    coverage = index.coverage(homes_sources(environment))
    assert {hit.session_id for hit in found(index, Word(("said",)), coverage)} == {"b"}
    index.close()
    store.connection.close()
