"""The search grammar: what is typed means something, and means what it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.query.completion import complete
from hermes_tui.sessions.query.filters import FILTERS
from hermes_tui.sessions.query.query import Query, parse
from hermes_tui.sessions.query.tree import TRUE, All, Any, Literally, MessageFilter, Not, TextUnit, Word
from session_adapters.model import Cost, SessionSummary, TokenUsage
from session_adapters.tool_names import ToolNames

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)

PIECES = (
    *("docker", "Net", "café", "漢字", "😀", "can't", "a@b.com", "/usr/bin", "C:\\x", "100%", "#tag", "hello?", "x*"),
    *("*", "(", ")", '"', '"a b"', "-", "--", "-a", "NOT", "AND", "OR", "or", ":", "\x00", "\ud800", "—", "'", ";"),
    *(f"{name}:" for name in FILTERS),
    *("agent:cl", "since:7d", "since:2026-1", "until:blah", "cost:>1", "cost:>x", "is:l", "is:zz", "tokens:<5k"),
)
TYPED = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
)


def understood(text: str, *, typing: bool = False) -> Query:
    return parse(text, NOW, typing=typing)


def session(**fields: object) -> SessionSummary:
    base: dict[str, object] = {
        "agent": "claude",
        "session_id": "abc-1",
        "title": "Fix the login",
        "created_at": NOW - timedelta(days=2),
        "models": ("opus-4", "haiku-4"),
        "model": "opus-4",
        "cwd": "/home/me/Code/shop",
        "tags": ("bug", "Web"),
        "cost": Cost(total_usd=1.5),
        "tokens": TokenUsage(input_tokens=9_000, output_tokens=1_000),
        "turn_count": 7,
        "source": "telegram",
    }
    return SessionSummary(**{**base, **fields})  # type: ignore[arg-type]


@given(TYPED)
@example("-AND")
@examples(50)
def test_whatever_is_typed_is_understood(text: str) -> None:
    for end in range(len(text) + 1):
        for typing in (False, True):
            query = understood(text[:end], typing=typing)
            assert all(0 <= part.start < part.end <= end for part in query.parts)
            assert all(one.end <= other.start for one, other in pairwise(query.parts))
            query.finds(session(), [TextUnit("docker net"), TextUnit("")])
            complete(text[:end], end, lambda name: ("claude", "a b"))


def test_a_minus_before_an_operator_means_nothing() -> None:
    assert understood("docker -AND net").tree == understood("docker net").tree


def test_halves_of_characters_are_as_in_texts() -> None:
    for text in ("word\ud800", "file:a\ud800", '-tool:"\udfff b"', "\ud83d"):
        as_read = text.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd").replace("\ud83d", "\ufffd")
        assert understood(text).tree == understood(as_read).tree
        assert understood(text).text == text


@given(TYPED)
@examples(50)
def test_no_character_that_could_be_searched_is_lost(text: str) -> None:
    """Every word in the text stands in some piece of it."""
    parts = understood(text).parts
    for at, char in enumerate(text):
        if char.isalnum():
            assert any(part.start <= at < part.end for part in parts), (at, char)


WORDS = st.sampled_from(
    ("a", "b", "c", "agent:claude", "agent:codex", "title:login", "is:live", "role:user", '"a b"')
)
QUERIES = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        inner.map(lambda one: f"-({one})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} OR {two[1]})"),
    ),
    max_leaves=6,
)
UNITS = st.lists(
    st.tuples(st.sampled_from(("", "a", "b", "a b", "b a c", "c")), st.sampled_from(("user", "assistant"))),
    max_size=4,
)


@given(QUERIES, QUERIES, UNITS, st.sampled_from(("claude", "codex")))
@examples(50)
def test_negation_and_distribution_hold(one: str, other: str, said: list[tuple[str, str]], agent: str) -> None:
    units = [TextUnit(text, role) for text, role in said]
    summary = session(agent=agent)

    def finds(text: str) -> bool:
        query = understood(text)
        assert not [part for part in query.parts if part.kind in ("odd", "idle")]
        return query.finds(summary, units)

    assert finds(f"-({one})") != finds(one)
    assert finds(f"NOT NOT ({one})") == finds(one)
    assert finds(f"-({one} OR {other})") == finds(f"-({one}) -({other})")
    assert finds(f"{one} {other}") == finds(f"{one} AND {other}") == finds(f"({other}) ({one})")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("docker networking", All((Word(("docker",)), Word(("networking",))))),
        ("a OR b c", Any((Word(("a",)), All((Word(("b",)), Word(("c",))))))),
        ("python NOT java", All((Word(("python",)), Not(Word(("java",)))))),
        ("python -java", All((Word(("python",)), Not(Word(("java",)))))),
        ('"exact phrase"', Word(("exact", "phrase"))),
        ('"still typing', Word(("still", "typing"))),
        ("deploy*", Word(("deploy",), prefix=True)),
        ('"roll ba"*', Word(("roll", "ba"), prefix=True)),
        ("can't", Word(("can", "t"))),
        ("--dry-run", Word(("dry", "run"))),
        ("or and not", All((Word(("or",)), Word(("and",)), Word(("not",))))),
        ("😀", Literally("😀")),
        ("大别山", Word(("大", "别", "山"))),
        ("content:hello", Word(("content", "hello"))),
        ("until:blah", Word(("until", "blah"))),
        ("cost:> agent: AND", TRUE),
        ("docker OR", Word(("docker",))),
        ("(a (b", All((Word(("a",)), Word(("b",))))),
        ("f(x) g)", All((Word(("f", "x")), Word(("g",))))),
        ("- * ... ?", TRUE),
        ("a -/usr/bin", All((Word(("a",)), Not(Word(("usr", "bin")))))),
        ("-.env -$HOME", All((Not(Word(("env",))), Not(Word(("home",)))))),
        ("-😀", Not(Literally("😀"))),
        ("->call -=1", All((Word(("call",)), Word(("1",))))),
        ("-agent: docker", Word(("docker",))),
        ("NOT since: docker", Word(("docker",))),
        ("-() docker", Word(("docker",))),
        ("-* docker", Word(("docker",))),
        ("tool:Bash,read", Any((MessageFilter("tool", "bash"), MessageFilter("tool", "read")))),
        ('file:"a b, c.py",d', Any((MessageFilter("file", "a b, c.py"), MessageFilter("file", "d")))),
        ("role:user,ass", Any((MessageFilter("role", "user"), MessageFilter("role", "ass")))),
        ("role:banana", Word(("role", "banana"))),
        ("role:user,banana", Word(("role", "user", "banana"))),
        ("role:, tool:,,", TRUE),
    ],
)
def test_a_query_means(text: str, tree: object) -> None:
    assert understood(text).tree == tree


def test_the_last_word_may_still_grow_while_one_types() -> None:
    assert understood("docker net", typing=True).tree == All((Word(("docker",)), Word(("net",), prefix=True)))
    for finished in ("net ", "net?", '"net"', "n"):
        assert understood(finished, typing=True).tree == Word((finished.strip(' "?'),))
    assert understood("a -net", typing=True).tree == All((Word(("a",)), Not(Word(("net",)))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("agent:claude", True), ("agent:cl", True), ("agent:codex,claude", True), ("agent:codex", False)),
        *(("model:haiku", True), ("model:OPUS", True), ("model:gpt", False), ("-model:gpt", True)),
        *(('title:"fix the login"', True), ('title:"login, fix"', False), ('title:"nothing",login', True)),
        *(('title:nothing,"the login"', True), ('cwd:"~/Code,x"', False), ('is:live,"archived"', False)),
        *(("cwd:code/shop", True), ("cwd:~/Code", True), ("cwd:/srv", False), ('cwd:"me/Code"', True)),
        *(("tag:bug", True), ("tag:we", True), ("tag:eb", False)),
        *(("source:tele", True), ("title:login", True), ("title:logout", False)),
        *(("id:abc", True), ("id:claude:abc", True), ("id:bc", False)),
        *(("is:live", False), ("NOT is:live", True), ("is:e", False), ("is:fork,live", False)),
        *(("since:7d", True), ("since:yesterday", False), ("since:2026-11-19", True), ("since:2026-11-20", False)),
        *(("until:2026-11-19", True), ("until:2026-11-18", False), ("until:2026", True), ("since:2026-11-1", True)),
        *(("since:2026-11-19T10:30", True), ("since:2026-11-19T10:31", False), ("since:47h", False)),
        *(("cost:>1", True), ("cost:>1.5", False), ("cost:>=1.50", True), ("cost:<$2", True), ("cost:2", False)),
        *(("tokens:>9k", True), ("tokens:>10k", False), ("tokens:=10,000", True), ("turns:>6", True)),
    ],
)
def test_filters_pass_a_session(text: str, found: bool) -> None:
    query = understood(text)
    assert query.finds(session(), []) is found
    assert understood(f"-{text}").finds(session(), []) is not found
    assert {part.kind for part in query.parts} <= {"filter", "operator"}


@pytest.mark.parametrize(
    ("text", "title", "found"),
    [
        *(
            ("title:cafe", "Un Café noir", True),
            ("title:CAFÉ", "the cafe", True),
            ("title:caf\u0065\u0301", "café", True),
        ),
        *(("title:hotel", "L'HÔTEL", True), ("title:ガ", "ガス", True), ("title:カ", "ガス", False)),
        *(("title:가", "각", False), ("title:각", "각하", True), ("title:漢字", "これは漢字です", True)),
    ],
)
def test_a_title_has_no_regard_to_accents(text: str, title: str, found: bool) -> None:
    assert understood(text).finds(session(title=title), []) is found


def test_what_a_session_is() -> None:
    states: dict[str, dict[str, object]] = {
        "live": {"live": True},
        "error": {"error": True},
        "archived": {"archived": True},
        "fork": {"kind": "fork"},
        "subagent": {"kind": "subagent"},
    }
    for state, fields in states.items():
        assert understood(f"is:{state}").finds(session(**fields), [])
        assert not understood(f"is:{state}").finds(session(), [])


def test_an_unknown_cost_is_neither_more_nor_less() -> None:
    unknown = session(cost=None)
    assert not understood("cost:>0").finds(unknown, [])
    assert not understood("cost:<1").finds(unknown, [])


def test_conditions_on_messages() -> None:
    asked = TextUnit("fix it", "user")
    ran = TextUnit("permission denied", "tool", ToolNames(("Bash",), ("/srv/App/Main.py",)))
    for text, found in {
        "role:user fix": True,
        "role:tool fix": False,
        "tool:bash denied": True,
        "tool:bash fix": False,
        "file:app/main denied": True,
        "-role:user denied": True,
        "-tool:bash": False,
        "-tool:edit": True,
        "role:user role:tool": False,
        "role:system,tool denied": True,
        "tool:edit,bash denied": True,
        "file:x,main.py denied": True,
        "-tool:edit,bash": False,
        "-role:system,assistant fix": True,
    }.items():
        assert understood(text).finds(session(), [asked, ran]) is found, text


def test_what_must_not_be_said_is_said_nowhere() -> None:
    assert understood("-java").finds(session(), [TextUnit("python"), TextUnit("go")])
    assert not understood("-java").finds(session(), [TextUnit("python"), TextUnit("java")])
    assert understood("python -java").finds(session(), [TextUnit("python"), TextUnit("java")])


def test_spans_are_those_of_what_is_looked_for() -> None:
    query = understood("dock* -net OR 'é'")
    unit = TextUnit("Docker in the dock: E net")
    search = query.for_session(session())
    assert [unit.passage.text[slice(*span)] for span in search.spans(unit)] == ["Docker", "dock", "E"]


def test_a_monstrous_query_is_cut_and_says_so() -> None:
    query = understood("x " * 50_000)
    assert len(query.parts) < 3_000
    assert query.parts[-1].kind == "idle"
    assert understood("(" * 3_000 + "x" + ")" * 3_000).finds(session(), [TextUnit("x")])
    assert understood("-" * 4_000 + "x").finds(session(), [TextUnit("x")])
    assert understood("NOT " * 999 + "x").tree == Not(Word(("x",)))


def test_so_many_values_are_no_filter() -> None:
    query = understood("tool:" + ",".join("ab" for _ in range(500)))
    assert [part.kind for part in query.parts] == ["odd"]


def test_filters_complete() -> None:
    there = {"agent": ("claude", "codex"), "model": ("claude-opus", "gpt 5")}

    def insert(text: str, cursor: int | None = None) -> list[str]:
        at = len(text) if cursor is None else cursor
        return [
            text[: one.start] + one.insert + text[one.end :]
            for one in complete(text, at, lambda name: there.get(name, ()))
        ]

    assert insert("fix ag") == ["fix agent:"]
    assert insert("t") == ["tag:", "title:", "tokens:", "tool:", "turns:"]
    assert insert("agent:c") == ["agent:claude", "agent:codex"]
    assert insert("-agent:co x", 9) == ["-agent:codex x"]
    assert insert("agent:claude,c") == ["agent:claude,claude", "agent:claude,codex"]
    assert insert("model:5") == ['model:"gpt 5"']
    assert insert("is:")[-6:] == ["is:archived", "is:error", "is:fork", "is:live", "is:pinned", "is:subagent"]
    assert insert('model:"gpt 5",c') == ['model:"gpt 5",claude-opus']
    assert insert('model:"a, c') == []
    assert insert("since:") == ["since:today", "since:yesterday", "since:7d", "since:30d", "since:1y"]
    assert insert("-until:y") == ["-until:yesterday", "-until:today", "-until:1y"]
    assert insert("role:as") == ["role:assistant"]
    assert insert("agent:c,codex", 7) == ["agent:claude,codex", "agent:codex,codex"]
    assert insert("fix ") == []
    assert insert('"ag') == []
