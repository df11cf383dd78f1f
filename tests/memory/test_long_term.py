"""Spec 001, sections 3 (Long-Term Memory), 4 and 7: points with their vectors, in Qdrant and PostgreSQL."""

from __future__ import annotations

import json
import math
import re
import stat
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.memory.longterm.embedders import OllamaEmbedder, OpenAIEmbedder
from hermes_tui.memory.longterm.memory import LongTermMemory
from hermes_tui.memory.longterm.pgvector import PgVectorStore
from hermes_tui.memory.longterm.protocols import (
    EmbedderRefused,
    EmbedderUnavailable,
    MemoryPoint,
    RecalledMemory,
    VectorStore,
    VectorStoreUnavailable,
)
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
from hermes_tui.memory.longterm.qdrant_server import QdrantServer
from hermes_tui.memory.longterm.static_embedder import StaticEmbedder
from hermes_tui.memory.message import HectorMessage, NativeRole
from hermes_tui.memory.sql.postgres import PostgresDatabase
from memory_servers import Answer, QdrantRest, loopback
from postgres_server import PostgresServer
from session_adapters.hector.configuration.dsn import parse_dsns
from session_adapters.registry import install_command
from support import STORES

RECORDED = Path(__file__).parent.parent / "recorded" / "qdrant_wire.json"


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    """The real model, loaded once."""
    return StaticEmbedder()


@pytest.fixture(params=["embedded", "server", "pgvector"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    """An empty vector store of each kind."""
    if request.param == "embedded":
        store: VectorStore = EmbeddedQdrant(tmp_path / "vectors")
        yield store
        store.close()
    elif request.param == "server":
        rest = QdrantRest(tmp_path / "shard")
        with loopback(rest) as server:
            yield QdrantServer(server.url)
        rest.close()
    else:
        running: PostgresServer = request.getfixturevalue("server")
        running.create("vectors")
        (dsn,) = parse_dsns(running.dsn("vectors", "owner"), lambda place, reason: None)
        store = PgVectorStore(PostgresDatabase(dsn))
        yield store
        store.close()


def point(agent: str, session: str, content: str, timestamp: int = 0, identity: str = "") -> MemoryPoint:
    return MemoryPoint(
        id=identity or str(uuid.uuid4()),
        agent_id=agent,
        session_id=session,
        role="user",
        content=content,
        timestamp=timestamp,
    )


def said(text: str, message_id: str = "", role: NativeRole = "ROLE_USER") -> HectorMessage:
    return HectorMessage(role=role, text=text, message_id=message_id)


def contents(found: Sequence[RecalledMemory]) -> list[str]:
    return [one.point.content for one in found]


# Store and recall --------------------------------------------------------------------------------------------


def test_03_what_is_nearest_is_recalled_first(embedder: StaticEmbedder, vectors: VectorStore) -> None:
    memory = LongTermMemory(embedder, vectors, clock=lambda: 1761127201.9)
    facts = [
        "My name is Alice and I live in Lisbon.",
        "The staging database runs PostgreSQL 15.",
        "We decided to ship the invoice export on Friday.",
        "The cat sleeps on the keyboard.",
    ]
    assert memory.store("assistant", "s1", [said(text, f"m{at}") for at, text in enumerate(facts)]) == 4
    found = memory.recall("assistant", "s1", "Which database version is on staging?", 2)
    assert contents(found)[0] == facts[1]
    assert len(found) == 2
    assert 1 >= found[0].score >= found[1].score >= -1
    assert found[0].point.role == "user"
    assert found[0].point.timestamp == 1761127201
    assert (found[0].point.agent_id, found[0].point.session_id) == ("assistant", "s1")


def test_03_what_is_kept_in_one_second_stays_in_order(embedder: StaticEmbedder, vectors: VectorStore) -> None:
    memory = LongTermMemory(embedder, vectors, clock=lambda: 1761127201.0)
    for batch in range(3):
        memory.store("a", "s", [said(f"{batch}.{part}", f"m{batch}{part}") for part in range(5)])
    assert [one.content for one in memory.newest("a", "s", 6)] == ["2.4", "2.3", "2.2", "2.1", "2.0", "1.4"]


def test_03_the_score_is_the_cosine(vectors: VectorStore) -> None:
    a, b = [3.0, 4.0, 0.0], [4.0, 3.0, 1.0]
    vectors.upsert([(point("a", "s", "x"), a), (point("a", "s", "zero"), [0.0, 0.0, -2.0])])
    cosine = sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
    found = vectors.search("a", "s", b, 5)
    assert contents(found) == ["x", "zero"]
    assert found[0].score == pytest.approx(cosine, abs=1e-4)


def test_03_the_same_message_is_there_once(embedder: StaticEmbedder, vectors: VectorStore) -> None:
    memory = LongTermMemory(embedder, vectors)
    for _ in range(3):
        memory.store("assistant", "s1", [said("once", "uuid-1")])
        memory.store("math_bot", "s1", [said("once", "uuid-1")])
    assert (vectors.count("assistant"), vectors.count("math_bot")) == (1, 1), "one id, two agents"


def test_03_what_says_nothing_is_no_point(embedder: StaticEmbedder, vectors: VectorStore) -> None:
    memory = LongTermMemory(embedder, vectors)
    assert memory.store("a", "s", [said(""), said(" \n")]) == 0
    assert memory.recall("a", "s", "anything", 5) == []
    assert memory.stats("a").points == 0
    assert memory.newest("a", "s") == []
    memory.forget("a", "s")
    assert memory.store("a", "s", [said("NUL \0, half \ud83d, \x1b[31m", "m1"), said("🙂" * 50_000, "m2")]) == 2
    assert memory.recall("a", "s", "half \ud83d", 0) == memory.recall("a", "s", "  ", 5) == []
    assert len(memory.recall("a", "s", "half \ud83d", 5)) == 2


def test_04_the_newest_points_first_and_counts(vectors: VectorStore) -> None:
    vectors.upsert([(point("a", "s", f"{at}", at), [1.0, at, 0.5]) for at in range(23)])
    vectors.upsert([(point("a", "t", "other"), [1.0, 0.0, 0.0]), (point("b", "s", "foreign"), [1.0, 0.0, 0.0])])
    assert [one.content for one in vectors.points("a", "s", 3)] == ["22", "21", "20"]
    assert len(vectors.points("a", "s")) == 23
    assert (vectors.count("a"), vectors.count("a", "s"), vectors.count("b", "s"), vectors.count("b", "t")) == (
        24, 23, 1, 0,
    )  # fmt: skip
    vectors.delete("a", "s")
    assert (vectors.count("a"), vectors.count("b")) == (1, 1)


NAMES = ["s1", "S1", "s1 ", "a/b", "%", "' OR '1'='1", "ä", "x" * 200, "null", "1"]
names = st.sampled_from(NAMES)


@examples(15)
@given(stored=st.lists(st.tuples(names, names, st.sampled_from(["red", "blue", "green"])), max_size=25))
def test_07_random_agents_and_sessions_recall_their_own(
    vectors: VectorStore, stored: list[tuple[str, str, str]]
) -> None:
    colours = {"red": [1.0, 0.1, 0.0], "blue": [0.1, 1.0, 0.0], "green": [0.0, 0.1, 1.0]}
    for agent in NAMES:
        for session in NAMES if vectors.count(agent) else ():
            vectors.delete(agent, session)
    made = [point(agent, session, f"{agent!r} in {session!r}: {colour}", at) for at, (agent, session, colour) in
            enumerate(stored)]  # fmt: skip
    if made:
        vectors.upsert([(one, colours[stored[at][2]]) for at, one in enumerate(made)])
    for agent in {one[0] for one in stored} | {"nobody"}:
        for session in {one[1] for one in stored} | {"none"}:
            own = sorted(one.content for one in made if (one.agent_id, one.session_id) == (agent, session))
            assert sorted(contents(vectors.search(agent, session, colours["red"], 100))) == own
            assert sorted(one.content for one in vectors.points(agent, session)) == own
            assert vectors.count(agent, session) == len(own)


def test_07_hectors_own_points_are_recalled_with_both_ids(vectors: VectorStore) -> None:
    """Those of the sample store: no time, and the vectors that Hector gave them."""
    sample = json.loads((STORES / "hector" / "qdrant_points.json").read_text())
    vectors.upsert(
        [
            (
                point(
                    one["payload"]["agent_id"],
                    one["payload"]["session_id"],
                    one["payload"]["content"],
                    identity=one["id"],
                ),
                one["vector"],
            )
            for one in sample["points"]
        ]
    )
    facts = json.loads((STORES / "hector" / "facts.json").read_text())["ltm"]
    for key, number in facts.items():
        agent, _, session = key.partition("/")
        found = vectors.search(agent, session, sample["points"][0]["vector"], 100)
        assert len(found) == number == vectors.count(agent, session)
    (first, *_) = vectors.search("assistant", "s1", sample["points"][0]["vector"], 1)
    assert first.point.content == "My name is Alice and the staging password is hunter2"
    assert "hunter2" not in str(vectors.search("math_bot", "s1", sample["points"][0]["vector"], 100))


def test_04_vectors_of_another_length_are_refused(vectors: VectorStore) -> None:
    vectors.upsert([(point("a", "s", "three"), [1.0, 0.0, 0.0])])
    if isinstance(vectors, QdrantServer):
        return  # what the engine under our REST interface raises is no answer of a server
    with pytest.raises(VectorStoreUnavailable, match="not kept"):
        vectors.upsert([(point("a", "s", "two"), [1.0, 0.0])])
    with pytest.raises(VectorStoreUnavailable, match="not searched"):
        vectors.search("a", "s", [1.0], 3)
    assert vectors.count("a") == 1


# The embedded store ------------------------------------------------------------------------------------------


def test_04_points_outlive_the_process_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import os, uuid
from hermes_tui.memory.longterm.protocols import MemoryPoint
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
store = EmbeddedQdrant({str(tmp_path)!r})
for batch in range(20):
    made = [dict(id=str(uuid.uuid4()), agent_id="a", session_id="s", role="user", content="x", timestamp=at)
            for at in range(5)]
    store.upsert([(MemoryPoint(**one), [1.0, 0.0, float(one["timestamp"])]) for one in made])
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    store = EmbeddedQdrant(tmp_path)
    assert store.count("a", "s") == 100
    store.close()
    assert stat.S_IMODE((tmp_path / "hector_session_memory").stat().st_mode) == 0o700


def test_04_one_process_at_a_time(tmp_path: Path) -> None:
    store = EmbeddedQdrant(tmp_path)
    store.upsert([(point("a", "s", "x"), [1.0, 0.0])])
    other = EmbeddedQdrant(tmp_path)
    with pytest.raises(VectorStoreUnavailable, match="another process has it open"):
        other.count("a")
    store.close()
    assert other.count("a") == 1
    other.close()


def test_law_3_brings_no_second_sqlite(tmp_path: Path) -> None:
    script = f"""
import sys
from hermes_tui.memory.longterm.memory import LongTermMemory
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
from hermes_tui.memory.longterm.static_embedder import StaticEmbedder
from hermes_tui.memory.message import HectorMessage
memory = LongTermMemory(StaticEmbedder(), EmbeddedQdrant({str(tmp_path)!r}))
memory.store("a", "s", [HectorMessage(role="ROLE_USER", text="hello", message_id="m")])
assert memory.recall("a", "s", "hello")[0].point.content == "hello"
memory.close()
print([name for name in ("sqlite3", "_sqlite3") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"


def test_12_what_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_edge", None)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(VectorStoreUnavailable, match=re.escape(install_command("memory"))):
        EmbeddedQdrant(tmp_path).count("a")
    with pytest.raises(EmbedderUnavailable, match=re.escape(install_command("memory"))):
        StaticEmbedder().embed(["x"])


# The server --------------------------------------------------------------------------------------------------


def test_03_the_requests_are_those_of_qdrants_own_client(tmp_path: Path) -> None:
    """Recorded from qdrant-client, which is made from Qdrant's published description."""
    rest = QdrantRest(tmp_path / "shard")
    one = MemoryPoint(
        id="3bc9c07f-9a4e-4d25-8b0a-72b02ec57a5a",
        agent_id="assistant",
        session_id="s1",
        role="user",
        content="My name is Alice",
        timestamp=1761127201,
        message_index=4,
    )
    with loopback(rest) as server:
        store = QdrantServer(server.url, api_key="s3cret")
        store.upsert([(one, [0.5, 0.25, 1.0])])
        assert contents(store.search("assistant", "s1", [0.5, 0.25, 1.0], 5)) == ["My name is Alice"]
        assert store.points("assistant", "s1") == [one]
        assert store.count("assistant", "s1") == 1
        store.delete("assistant", "s1")
        assert server.asked == json.loads(RECORDED.read_text())["requests"]
        assert {headers["Api-Key"] for headers in server.headers} == {"s3cret"}
        assert "s3cret" not in store.label
    rest.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, {"status": {"error": "boom"}}), "answers 500"),
        ((401, b"Must provide an API key"), "answers 401"),
        ((200, b"<html>"), "no JSON"),
        ((200, {"other": 1}), "as no Qdrant does"),
        ((200, {"result": {"points": [{"no": "id"}]}}), "as no Qdrant does"),
        ((302, b""), "answers 302"),
    ],
)
def test_14_a_server_that_answers_something_else_is_an_error(answer: Answer, reason: str) -> None:
    with loopback(lambda method, path, body: answer) as server:
        with pytest.raises(VectorStoreUnavailable, match=reason):
            QdrantServer(server.url, api_key="s3cret").search("a", "s", [1.0], 1)
        assert len(server.asked) == 1, "nothing is followed, where a key would go along"


def test_14_a_server_that_is_not_there_is_an_error() -> None:
    with loopback(lambda method, path, body: (200, {})) as server:
        url = server.url
    with pytest.raises(VectorStoreUnavailable, match="cannot be reached"):
        QdrantServer(url).count("a")
    for address in ("", "ftp://host", "http://", "http://user:s3cret@host"):
        with pytest.raises(ValueError, match="address"):
            QdrantServer(address)


# Embedders ---------------------------------------------------------------------------------------------------


def test_03_the_embedded_model_needs_no_network(embedder: StaticEmbedder) -> None:
    first, second, other, nothing = embedder.embed(["a red car", "a crimson automobile", "tax law", "\x01"])
    assert [len(one) for one in (first, second, other, nothing)] == [256] * 4
    assert math.hypot(*first) == pytest.approx(1, abs=1e-5)
    near, far = (sum(x * y for x, y in zip(first, one, strict=True)) for one in (second, other))
    assert near > far + 0.2
    assert all(map(math.isfinite, nothing))
    assert embedder.embed([]) == []


def numbers(method: str, path: str, body: dict[str, list[str]]) -> Answer:
    """A vector that tells each text by its length, in the form that the path asks for."""
    made = [[float(len(text)), 1.0] for text in body["input"]]
    if path == "/api/embed":
        return 200, {"model": "m", "embeddings": made}
    return 200, {"data": [{"index": at, "embedding": one} for at, one in reversed(list(enumerate(made)))]}


def test_03_ollama_embeds_several_texts_at_once() -> None:
    with loopback(numbers) as server:
        assert OllamaEmbedder("nomic-embed-text", server.url).embed(["a", "bcd"]) == [[1.0, 1.0], [3.0, 1.0]]
        (asked,) = server.asked
        assert asked["path"] == "/api/embed"
        assert asked["body"] == {"model": "nomic-embed-text", "input": ["a", "bcd"]}
        OllamaEmbedder(url=server.url).embed(["x" * 100_000])
        assert len(server.asked[1]["body"]["input"][0]) == 24_000


def test_03_openai_and_whoever_speaks_as_it_does() -> None:
    with loopback(numbers) as server:
        embedder = OpenAIEmbedder("text-embedding-3-small", server.url + "/v1/", "sk-key")
        assert embedder.embed(["a", "bcd"]) == [[1.0, 1.0], [3.0, 1.0]], "in the order of the texts"
        assert server.asked[0]["path"] == "/v1/embeddings"
        assert server.headers[0]["Authorization"] == "Bearer sk-key"
        assert "sk-key" not in embedder.name


Make = Callable[[str], OllamaEmbedder | OpenAIEmbedder]


@pytest.mark.parametrize("make", [lambda url: OllamaEmbedder("m", url), lambda url: OpenAIEmbedder("m", url)])
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((500, b"out of memory"), EmbedderUnavailable),
        ((404, {"error": "model not found"}), EmbedderUnavailable),
        ((400, {"error": "too long"}), EmbedderRefused),
        ((200, {"embeddings": [[1.0], [2.0]], "data": []}), EmbedderUnavailable),
        ((200, {"embeddings": [["x"]], "data": [{"index": 0, "embedding": ["x"]}]}), EmbedderUnavailable),
        ((200, {"embeddings": [[]], "data": [{"index": 0, "embedding": []}]}), EmbedderUnavailable),
        ((200, b'{"embeddings": [[NaN]], "data": [{"index": 0, "embedding": [NaN]}]}'), EmbedderUnavailable),
        ((200, []), EmbedderUnavailable),
    ],
)
def test_14_an_embedder_that_gives_no_vectors_is_an_error(make: Make, answer: Answer, kind: type[Exception]) -> None:
    with loopback(lambda method, path, body: answer) as server, pytest.raises(EmbedderUnavailable) as caught:
        make(server.url).embed(["x"])
    assert type(caught.value) is kind
