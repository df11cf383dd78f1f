"""Regular expressions in queries: what they find, what an index rules out for them, and what becomes of bad ones."""

from __future__ import annotations

import json
import random
import re
import sys
import threading
import time
from datetime import timedelta

import pytest

from chances import chance
from hermes_tui.cli.execute import execute
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.query.regex import compiled, literals, places
from hermes_tui.sessions.query.tree import Regex, TextUnit, holds, spans
from hermes_tui.sessions.search.session_search import session_search
from indexing import build
from session_adapters.registry import install_command
from tiny_home import START, TinyHome


@pytest.fixture
def filled(tiny_home: TinyHome, manager: SessionManager) -> SessionManager:
    """Two sessions."""
    for number, (name, texts) in enumerate(
        (
            ("deploy", ["please deploy it", "no", "why?", "the Docker build fails", *["more"] * 9, "fixed it"]),
            ("short", ["docker docker docker", "yes, the ducker"]),
        )
    ):
        at = START + timedelta(days=number)
        records: list[dict[str, object]] = [{"title": "A title", "at": at.isoformat()}]
        for place, text in enumerate(texts):
            role = "assistant" if place % 2 else "user"
            records.append({"role": role, "text": text, "at": (at + timedelta(minutes=place)).isoformat()})
        (tiny_home.store / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return manager


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^second$", "first\r\nsecond\r\nthird", ["second"]),
        ("d$", "first\r\nsecond\r\nthird", ["d", "d"]),
        ("^t.*$", "first\r\nthree\r\n", ["three"]),
        (r"t\r\n", "first\r\nsecond", ["t\r\n"]),
        (r"first\s+second", "first\r\nsecond", ["first\r\nsecond"]),
    ],
)
def test_a_line_of_windows_has_its_edges(pattern: str, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in places(pattern, text)] == found


@pytest.mark.parametrize(
    ("query", "pattern"),
    [
        ("/inv.*ces/", "inv.*ces"),
        ("/time out/ -java", "time out"),
        (r"/a\/b/", r"a\/b"),
        ("(/a+b/ OR x)", "a+b"),
        ("/usr/", "usr"),
        ("/usr/bin", None),
        ("/usr/bin/", None),
        ("//", None),
        ("a/b/ c", None),
    ],
)
def test_a_pattern_stands_between_slashes(query: str, pattern: str | None) -> None:
    found = [part for part in parse(query).parts if query[part.start] == "/" and part.kind == "phrase"]
    assert (pattern is not None) == bool(found)
    assert (pattern is None) == ("Regex" not in repr(parse(query).tree))
    if pattern is not None:
        assert repr(Regex(pattern)) in repr(parse(query).tree)


def test_it_holds_in_either_case_and_by_lines() -> None:
    text = TextUnit("First INVOICES\nerror: it timed out\n")
    for pattern, shown in (
        ("inv[a-z]+", ["INVOICES"]),
        ("^error: .*$", ["error: it timed out"]),
        ("(?-i)inv", []),
        (r"\bi", ["I", "i"]),
        ("x*", []),
    ):
        tree = parse(f"/{pattern}/").tree
        if pattern != "x*":
            assert holds(tree, text) == bool(shown)
            assert [text.passage.text[slice(*one)] for one in spans(tree, text)] == shown


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "no regular expression"),
        ("(?=a)b", "no regular expression"),
        ("a*", "fits every text"),
        ("a)(b", "no reg"),
    ],
)
def test_a_bad_pattern_is_text_where_it_is_seen_and_an_error_elsewhere(
    pattern: str, why: str, filled: SessionManager
) -> None:
    query = parse(f"/{pattern}/ more", typing=True)
    assert why in query.refused and query.parts[0].kind == "odd"
    with pytest.raises(ValidationError, match=why):
        filled.search(f"/{pattern}/")
    with pytest.raises(ValidationError, match=why):
        session_search(filled, f"/{pattern}/")


def test_without_the_engine_it_says_what_to_install(
    filled: SessionManager, monkeypatch: pytest.MonkeyPatch, tiny_home: TinyHome, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    compiled.cache_clear()
    with pytest.raises(ValidationError, match=re.escape(install_command("regex"))):
        filled.search("/do.ker/")
    assert execute(["--home", str(tiny_home.home), "sessions", "search", "/do.ker/"]) == 2
    assert install_command("regex") in capfd.readouterr().err
    compiled.cache_clear()


def pattern_of(dice: random.Random, depth: int = 2) -> str:
    """Some pattern, most of them with something literal in it."""
    atoms = (
        "a",
        "b",
        "foo",
        "ba r",
        r"\.",
        ".",
        r"\d",
        r"\s",
        r"\w",
        "[ab]",
        "[^ ]",
        "x",
        r"\b",
        "^",
        "$",
        "_",
        "é",
        r"\x61",
    )
    found = ""
    for _ in range(dice.randint(1, 6)):
        atom = dice.choice(atoms)
        if depth and dice.random() < 0.2:
            atom = f"({pattern_of(dice, depth - 1)})"
        found += atom + (dice.choice(("*", "+", "?", "{0,2}", "{2}", "+?")) if dice.random() < 0.25 else "")
    return found + (f"|{pattern_of(dice, 0)}" if dice.random() < 0.1 else "")


def test_what_a_pattern_is_said_to_hold_is_in_every_match() -> None:
    """Else the index, or the look at the raw bytes, would rule sessions out that are to be found."""
    dice = chance(3)
    alphabet = ("a", "b", "foo", "bar", "ba r", ".", " ", "\n", "x", "1", "_", "é", "FOO", "xx")
    matched = told = 0
    for _ in range(3_000):
        pattern = pattern_of(dice)
        try:
            engine = compiled(pattern)
        except Exception:  # one that is refused is searched for by nobody
            continue
        runs = literals(pattern)
        for _ in range(10):
            text = "".join(dice.choice(alphabet) for _ in range(dice.randint(1, 12)))
            if engine.search(text) is None:
                continue
            matched += 1
            told += bool(runs)
            plain = " " + re.sub(r"[^a-z0-9é]+", " ", text.lower()) + " "
            for run in runs:
                assert re.sub(r"[^a-z0-9é]+", " ", run.lower()) in plain, (pattern, run, text)
            words = Regex(pattern).words
            assert words is None or holds(words, TextUnit(text)), (pattern, words, text)
    assert matched > 3_000 and told > 1_000


def test_the_index_rules_out_nothing_that_fits(filled: SessionManager, tiny_home: TinyHome) -> None:
    build(filled.environment, filled.index.path)
    for query in (
        "/do.ker/",
        "/docker build/",
        "/(?-i)Docker/",
        "/^please.*it$/",
        "-/docker/",
        "/d.cker/ role:user",
        "/zzz/",
    ):
        with_index, without = (filled.discover(query, use_index=use) for use in (True, False))
        assert {one.session_id for one in with_index.results} == {one.session_id for one in without.results}, query
        assert with_index.coverage.indexed or query != "/docker build/"
        for one in with_index.results:
            assert not one.message_id or one.marks, query
    assert {one.session_id for one in filled.search("/do.ker b/")} == {"deploy"}
    filled.index.close()


def test_a_pattern_that_python_never_ends_with_takes_no_time() -> None:
    text = TextUnit("x" * 1_000_000)
    turns: list[float] = []
    over = threading.Event()

    def tick() -> None:
        while not over.is_set():
            turns.append(time.monotonic())
            over.wait(0.001)

    other = threading.Thread(target=tick)
    other.start()
    try:
        assert not holds(Regex("(x+x+)+y"), text)
    finally:
        over.set()
        other.join()
    assert turns
