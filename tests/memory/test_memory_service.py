"""Spec 001, sections 3 (Memory Service), 5, 9, 12, 14 and 15: a turn, saved and recalled, and what fails."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chances import TIMES
from hermes_tui.errors import StoreError
from hermes_tui.memory.longterm.batches import MOST, MemoryBatches
from hermes_tui.memory.longterm.embedders import OllamaEmbedder
from hermes_tui.memory.longterm.memory import LongTermMemory
from hermes_tui.memory.longterm.protocols import VectorStoreUnavailable
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
from hermes_tui.memory.longterm.qdrant_points import MOST as LOOKED_AT
from hermes_tui.memory.longterm.qdrant_server import QdrantServer
from hermes_tui.memory.longterm.static_embedder import StaticEmbedder
from hermes_tui.memory.message import HectorMessage, NativeRole
from hermes_tui.memory.service import MemoryService, SavedTurn, SummaryNotSaved, worth_saving
from hermes_tui.memory.session_service import InMemorySessionService
from hermes_tui.memory.sql.database import SqlDatabase
from hermes_tui.memory.sql.service import SQLSessionService
from hermes_tui.memory.sql.sqlite import SqliteDatabase
from hermes_tui.memory.working.buffer_window import BufferWindow
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.summary_buffer import SummaryBuffer
from memory_servers import Answer, loopback
from tmuxes import until

EMBEDDER = StaticEmbedder()
TURNS = 12 * TIMES
MINUTES = float(os.environ.get("HERMES_TUI_MINUTES", "0"))
"""That sixteen writers write; `make memory-writers` gives them ten."""
"""Of each of the writers."""


def said(text: str, role: NativeRole = "ROLE_USER", message_id: str = "") -> HectorMessage:
    return HectorMessage(role=role, text=text, message_id=message_id)


def turn(number: int) -> list[HectorMessage]:
    return [said(f"question {number}", message_id=f"q{number}"), said(f"answer {number}", "ROLE_AGENT", f"a{number}")]


def texts(history: object) -> list[str]:
    assert isinstance(history, ConversationHistory)
    return [one.text for one in history.messages]


@pytest.fixture
def long_term(tmp_path: Path) -> Iterator[LongTermMemory]:
    memory = LongTermMemory(EMBEDDER, EmbeddedQdrant(tmp_path / "vectors"))
    yield memory
    memory.close()


# 3 and 5: a turn ---------------------------------------------------------------------------------------------


def test_05_a_turn_is_saved_and_is_there_in_the_next_request(database: SqlDatabase) -> None:
    """The guide's end-to-end example: two turns, four messages, and the name is known."""
    service = MemoryService(SQLSessionService(database, "assistant"), SummaryBuffer())
    service.add_batch_to_history("s1", [said("My name is Alice"), said("Hello Alice", "ROLE_AGENT")])
    assert texts(service.recall("s1")) == ["My name is Alice", "Hello Alice"], "an empty query is load_state"
    service.add_batch_to_history("s1", [said("What is my name?"), said("Your name is Alice", "ROLE_AGENT")])
    assert len(texts(service.load_state("s1"))) == 4
    query = "SELECT COUNT(*) FROM session_messages WHERE session_id='s1'"
    assert database.read(lambda statements: statements.run(query)) == [(4,)]


def test_03_without_an_id_the_session_is_the_default_one(database: SqlDatabase) -> None:
    service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow())
    service.add_batch_to_history("", turn(1))
    assert texts(service.load_state("default")) == texts(service.recall("")) == ["question 1", "answer 1"]


def test_03_what_an_agent_saves_of_a_turn() -> None:
    """Text, calls or results, whatever the role; nothing else."""
    call = {"data": {"data": {"id": "c", "name": "ls"}}, "metadata": {"part_type": "tool_call"}}
    result = {"data": {"data": {"tool_call_id": "c", "content": ""}}, "metadata": {"part_type": "tool_result"}}
    kept = [
        *(said("x", role) for role in ("ROLE_USER", "ROLE_AGENT", "ROLE_SYSTEM", "ROLE_TOOL", "ROLE_UNSPECIFIED")),
        HectorMessage.of_value({"role": "ROLE_AGENT", "parts": [call]}),
        HectorMessage.of_value({"role": "ROLE_TOOL", "parts": [result]}),
    ]
    empty = [said(""), HectorMessage.of_value({"role": "ROLE_AGENT", "parts": []})]
    assert worth_saving([*empty, *kept]) == kept


def test_03_it_is_summarised_once_a_turn_and_the_summary_saved(database: SqlDatabase) -> None:
    asked: list[int] = []

    def summarize(messages: Sequence[HectorMessage]) -> str:
        asked.append(len(messages))
        return f"of {len(messages)}"

    service = MemoryService(
        SQLSessionService(database, "assistant"), SummaryBuffer(summarize=summarize, max_messages=20)
    )
    made = [service.add_batch_to_history("s1", turn(number)) for number in range(11)]
    assert [one.summarized for one in made] == [False] * 10 + [True]
    assert asked == [8]
    # In the table the summary stands last; of the messages before it, those that it keeps stay in view.
    assert texts(service.load_state("s1")) == [
        "Summary: of 8",
        *(f"{word} {number}" for number in range(4, 11) for word in ("question", "answer")),
    ]


def test_05_five_messages_make_a_batch_and_shutdown_writes_the_rest(
    database: SqlDatabase, long_term: LongTermMemory
) -> None:
    service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), long_term)
    service.add_batch_to_history("s1", [*turn(1), *turn(2)])
    service.add_batch_to_history("s2", turn(1))
    assert service.batches is not None
    assert (long_term.stats("assistant").points, service.batches.waiting) == (0, 6), (
        "four and two: each session's own"
    )
    service.add_batch_to_history("s1", turn(3))
    until(lambda: long_term.stats("assistant", "s1").points == 5)
    until(lambda: service.batches is not None and service.batches.waiting == 3)  # a moment after they are stored
    assert service.shutdown() is True
    assert (long_term.stats("assistant", "s1").points, long_term.stats("assistant", "s2").points) == (6, 2)
    service.add_batch_to_history("s1", turn(4))
    assert service.batches.waiting == 0, "after a shutdown nothing is on its way"


def test_05_a_batch_that_is_not_full_is_written_in_time(database: SqlDatabase, long_term: LongTermMemory) -> None:
    batches = MemoryBatches(long_term, "assistant", flush_seconds=0.05)
    service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), long_term, batches)
    service.add_batch_to_history("s1", turn(1))
    until(lambda: long_term.stats("assistant", "s1").points == 2)
    service.shutdown()


def test_03_recall_is_of_this_agent_and_session(database: SqlDatabase, long_term: LongTermMemory) -> None:
    services = {
        agent: MemoryService(SQLSessionService(database, agent), BufferWindow(), long_term)
        for agent in ("assistant", "math_bot")
    }
    services["assistant"].add_batch_to_history("s1", [said("My password is secret123")])
    services["assistant"].add_batch_to_history("s2", [said("The password of the router is in the drawer")])
    services["math_bot"].add_batch_to_history("s1", [said("What is 17 * 23?")])
    for service in services.values():
        service.shutdown()

    def recalled(agent: str, session: str) -> list[str]:
        found = services[agent].recall(session, "What is the password?", 10)
        assert isinstance(found, list)
        return [one.point.content for one in found]

    assert recalled("assistant", "s1") == ["My password is secret123"]
    assert recalled("math_bot", "s1") == ["What is 17 * 23?"]
    assert recalled("math_bot", "s2") == []


def test_04_long_term_memory_is_optional(database: SqlDatabase) -> None:
    service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow())
    service.add_batch_to_history("s1", turn(1))
    assert (service.recall("s1", "question"), service.batches, service.shutdown()) == ([], None, True)
    assert service.remember("s1") == 0


def test_16_what_a_killed_process_had_not_written_is_made_good(
    database: SqlDatabase, long_term: LongTermMemory
) -> None:
    killed = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), long_term)
    killed.add_batch_to_history("s1", [*turn(1), *turn(2), *turn(3)])
    until(lambda: long_term.stats("assistant").points == 5)  # the sixth is lost with the process
    again = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), long_term)
    assert again.remember("s1") == 6
    assert again.shutdown() is True
    assert long_term.stats("assistant").points == 6, "and nothing is there twice"
    killed.shutdown()


# 14: what fails ----------------------------------------------------------------------------------------------


def test_14_where_messages_are_not_saved_nothing_else_happens(
    database: SqlDatabase, long_term: LongTermMemory
) -> None:
    asked: list[int] = []
    strategy = SummaryBuffer(summarize=lambda messages: asked.append(1) or "x", max_messages=1)  # type: ignore[func-returns-value]
    service = MemoryService(SQLSessionService(database, "assistant"), strategy, long_term)
    with pytest.raises(StoreError):
        service.add_batch_to_history("s1", [said("a", message_id="m"), said("b", message_id="m")])
    assert service.batches is not None
    assert (service.batches.waiting, asked, texts(service.load_state("s1"))) == (0, [], [])
    service.shutdown()


def test_14_a_summarizer_that_fails_costs_no_message(database: SqlDatabase) -> None:
    def fails(messages: Sequence[HectorMessage]) -> str:
        raise RuntimeError("the model is overloaded")

    service = MemoryService(SQLSessionService(database, "assistant"), SummaryBuffer(summarize=fails, max_messages=1))
    made = service.add_batch_to_history("s1", turn(1))
    assert made.trouble == "the session was not summarised: the model is overloaded"
    assert texts(service.load_state("s1")) == ["question 1", "answer 1"]


def test_14_a_summary_that_is_not_saved_is_a_warning_of_its_own(tmp_path: Path) -> None:
    """The disk fills up, say, after the messages were written."""

    class Full(InMemorySessionService):
        def append_messages(self, session_id: str, messages: Sequence[HectorMessage]) -> list[str]:
            if messages[0].role == "ROLE_UNSPECIFIED":
                raise StoreError("The disk is full.")
            return super().append_messages(session_id, messages)

    service = MemoryService(Full("assistant"), SummaryBuffer(summarize=lambda messages: "x", max_messages=1))
    with pytest.raises(SummaryNotSaved, match=r"are saved, their summary is not\. The disk is full"):
        service.add_batch_to_history("s1", turn(1))
    assert texts(service.load_state("s1")) == ["question 1", "answer 1"]


class Switch:
    """An embedder's server that can be dead, and then live again."""

    def __init__(self) -> None:
        self.is_dead = True
        self.refuses = ""

    def __call__(self, method: str, path: str, body: dict[str, list[str]]) -> Answer:
        if self.is_dead:
            return 503, b"loading model"
        if self.refuses and any(self.refuses in text for text in body["input"]):
            return 400, b"input length exceeds the context length"
        return 200, {"embeddings": [[float(len(text)), 1.0] for text in body["input"]]}


def test_14_a_dead_embedder_costs_no_message_and_is_tried_again(database: SqlDatabase, tmp_path: Path) -> None:
    switch = Switch()
    with loopback(switch) as server:
        memory = LongTermMemory(OllamaEmbedder(url=server.url), EmbeddedQdrant(tmp_path / "vectors"))
        batches = MemoryBatches(memory, "assistant", retry_seconds=0.02)
        service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(100), memory, batches)
        for number in range(5):
            assert service.add_batch_to_history("s1", turn(number)).trouble == ""
        until(lambda: "503" in batches.last_error)
        assert len(texts(service.load_state("s1"))) == 10
        assert (batches.waiting, batches.stored) == (10, 0)
        switch.is_dead = False
        until(lambda: batches.waiting == 0)
        found = [one.content for one in memory.newest("assistant", "s1")]
        assert sorted(found) == sorted(one.text for number in range(5) for one in turn(number))
        assert (batches.stored, batches.last_error, batches.given_up) == (10, "", 0)
        service.shutdown()
        memory.close()


def test_14_an_embedder_of_ones_own_may_raise_anything(database: SqlDatabase, tmp_path: Path) -> None:
    class Odd:
        name = "odd"
        calls = 0

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            self.calls += 1
            if self.calls == 1:
                raise KeyError
            return [[1.0, 0.0] for _ in texts]

    memory = LongTermMemory(Odd(), EmbeddedQdrant(tmp_path / "vectors"))
    batches = MemoryBatches(memory, "assistant", retry_seconds=0.02)
    service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), memory, batches)
    service.add_batch_to_history("s1", [*turn(1), *turn(2), *turn(3)])
    until(lambda: batches.stored == 5)
    assert service.shutdown() is True
    memory.close()


def test_14_a_message_that_the_embedder_refuses_is_not_in_the_way(database: SqlDatabase, tmp_path: Path) -> None:
    switch = Switch()
    switch.is_dead, switch.refuses = False, "question 1"
    with loopback(switch) as server:
        memory = LongTermMemory(OllamaEmbedder(url=server.url), EmbeddedQdrant(tmp_path / "vectors"))
        batches = MemoryBatches(memory, "assistant")
        service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), memory, batches)
        service.add_batch_to_history("s1", [one for number in range(5) for one in turn(number)])
        assert service.shutdown() is True
        assert (batches.stored, batches.given_up) == (9, 1)
        assert memory.stats("assistant").points == 9
        memory.close()


def test_14_a_dead_vector_store_costs_no_message_and_is_said(database: SqlDatabase) -> None:
    with loopback(lambda method, path, body: (200, {})) as server:
        url = server.url
    memory = LongTermMemory(EMBEDDER, QdrantServer(url))
    batches = MemoryBatches(memory, "assistant", retry_seconds=0.02)
    service = MemoryService(SQLSessionService(database, "assistant"), BufferWindow(), memory, batches)
    service.add_batch_to_history("s1", [*turn(1), *turn(2), *turn(3)])
    until(lambda: "cannot be reached" in batches.last_error)
    with pytest.raises(VectorStoreUnavailable, match="cannot be reached"):
        service.recall("s1", "question")
    assert service.shutdown() is False, "not everything was written"
    assert batches.waiting == 6
    assert len(texts(service.load_state("s1"))) == 6


def test_14_an_embedder_that_stays_dead_does_not_fill_the_memory() -> None:
    switch = Switch()
    with loopback(switch) as server:
        memory = LongTermMemory(OllamaEmbedder(url=server.url), QdrantServer(server.url))
        batches = MemoryBatches(memory, "assistant", retry_seconds=300)
        batches.add("old", [said(f"{at}") for at in range(MOST)])
        batches.add("new", [said("x")] * 7)
        assert (batches.waiting, batches.given_up) == (MOST, 7)
        assert batches.shutdown() is False


def test_14_of_too_many_messages_those_of_who_waits_longest_go_and_nothing_is_due_after_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hermes_tui.memory.longterm.batches.MOST", 4)
    now, asked = [0.0], [0]

    def clock() -> float:
        asked[0] += 1
        return now[0]

    switch = Switch()
    with loopback(switch) as server:
        memory = LongTermMemory(OllamaEmbedder(url=server.url), QdrantServer(server.url))
        batches = MemoryBatches(memory, "assistant", retry_seconds=300, clock=clock)
        for at, (session, many) in enumerate({"first": 2, "none": 0, "second": 3, "third": 2}.items()):
            now[0] = float(at)
            batches.add(session, [said(f"{session} {number}") for number in range(many)])
        assert (batches.waiting, batches.given_up) == (4, 3)
        now[0], before = 1000.0, asked[0]
        batches.add("third", [said("wakes it")])
        time.sleep(0.3)
        assert asked[0] - before < 50, "it looks again and again for messages that are not there"
        assert batches.given_up == 4
        assert batches.shutdown() is False


def test_14_an_embedder_that_is_slower_than_those_who_speak_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten minutes at full speed gave up five of six messages."""
    monkeypatch.setattr("hermes_tui.memory.longterm.batches.MOST", 40)
    monkeypatch.setattr("hermes_tui.memory.longterm.batches.BUSY", 20)
    memory = LongTermMemory(EMBEDDER, EmbeddedQdrant(tmp_path / "vectors"))
    batches = MemoryBatches(memory, "assistant")
    for number in range(500):
        batches.add(f"s{number % 3}", [said(f"{number}", message_id=f"{number}")])
        assert batches.waiting <= 21
    assert batches.shutdown()
    assert (batches.stored, batches.given_up) == (500, 0)
    memory.close()


def test_13_a_slow_summarizer_keeps_nobody_waiting(database: SqlDatabase) -> None:
    """Neither other sessions nor the next turn of this one."""
    begun, end = threading.Event(), threading.Event()

    def slow(messages: Sequence[HectorMessage]) -> str:
        begun.set()
        assert end.wait(20)
        return "slow"

    strategy = SummaryBuffer(summarize=slow, max_messages=1)
    service = MemoryService(SQLSessionService(database, "assistant"), strategy)
    made: list[SavedTurn] = []
    thread = threading.Thread(target=lambda: made.append(service.add_batch_to_history("s1", turn(1))))
    thread.start()
    assert begun.wait(20)
    assert service.add_batch_to_history("s1", turn(2)).summarized is False
    assert texts(service.load_state("s1")) == ["question 1", "answer 1", "question 2", "answer 2"]
    end.set()
    thread.join()
    assert made[0].summarized is True
    assert service.add_batch_to_history("s2", turn(1)).summarized is True


# 13: threads -------------------------------------------------------------------------------------------------


def test_13_sixteen_writers_lose_nothing_and_keep_their_order(
    make_database: Callable[..., SqlDatabase], tmp_path: Path
) -> None:
    """Four agents and three sessions, of which sixteen threads write each turn by turn, for `MINUTES` at least."""
    database = make_database(max_conns=6, max_idle=3)
    memory = LongTermMemory(EMBEDDER, EmbeddedQdrant(tmp_path / "vectors"))
    summarized = SummaryBuffer(summarize=lambda messages: f"of {len(messages)}", max_messages=60)
    agents = [f"agent{number}" for number in range(4)]
    services = {
        agent: MemoryService(SQLSessionService(database, agent), summarized, memory, MemoryBatches(memory, agent))
        for agent in agents
    }
    failed: list[BaseException] = []
    made: list[SavedTurn] = []
    turns = [0] * 16
    took: list[float] = []
    end = time.monotonic() + 180 * MINUTES

    def write(writer: int) -> None:
        agent = agents[writer % 4]
        try:
            while turns[writer] < TURNS or time.monotonic() < end:
                number = turns[writer]
                session = f"s{(writer + number) % 3}"
                messages = [
                    said(f"{writer}/{number}/{part}", message_id=f"{writer}-{number}-{part}") for part in "ab"
                ]
                began = time.perf_counter()
                made.append(services[agent].add_batch_to_history(session, messages))
                took.append(time.perf_counter() - began)
                turns[writer] += 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [one.trouble for one in made if one.trouble] == []
    assert all(service.shutdown() for service in services.values())
    given_up = sum(service.batches.given_up for service in services.values() if service.batches is not None)
    assert given_up == 0
    seen: list[str] = []
    kept = 0
    for agent in agents:
        for session in ("s0", "s1", "s2"):
            found = SQLSessionService(database, agent).get_messages_with_options(session)
            spoken = [one.text for one in found.messages if one.role != "ROLE_UNSPECIFIED"]
            seen += spoken
            for first, second in zip(spoken[::2], spoken[1::2], strict=True):
                assert (first[:-1], first[-1], second[-1]) == (second[:-1], "a", "b"), "a turn stays together"
            for writer in range(16):
                own = [text for text in spoken if text.startswith(f"{writer}/")]
                assert own == sorted(own, key=lambda text: int(text.split("/")[1]))
            kept += memory.stats(agent, session).points
            assert memory.stats(agent, session).points == len(spoken)
            if len(spoken) <= LOOKED_AT:
                points = memory.newest(agent, session, LOOKED_AT)
                assert sorted(one.content for one in points) == sorted(spoken)
    assert sorted(seen) == sorted(
        f"{writer}/{number}/{part}" for writer in range(16) for number in range(turns[writer]) for part in "ab"
    )
    assert kept == len(seen)
    took.sort()
    at = [1000 * took[int(len(took) * share)] for share in (0.5, 0.95, 0.999)]
    print(f"{database.dialect}: {len(took):,} turns of two; p50 {at[0]:.1f}, p95 {at[1]:.1f}, p99.9 {at[2]:.0f} ms")
    print(f"{kept:,} messages in long-term memory")
    memory.close()


def test_14_kill_9_in_a_batch_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    """A process that appends batches of five is killed at a random moment, over and over."""
    path = tmp_path / "sessions.db"
    script = f"""
from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.sql.service import SQLSessionService
from hermes_tui.memory.sql.sqlite import SqliteDatabase
service = SQLSessionService(SqliteDatabase({str(path)!r}), "assistant")
at = service.count_messages("s1")
print("ready", flush=True)
while True:
    made = [HectorMessage(role="ROLE_USER", text=str(at + part), message_id=f"m{{at + part}}") for part in range(5)]
    service.append_messages("s1", made)
    at += 5
    print(at, flush=True)
"""
    dice = random.Random(7)
    said_last = 0
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(dice.randint(1, 40)):  # so many batches, and then in the middle of one
            said_last = max(said_last, int(process.stdout.readline().replace("ready", "0")))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        database = SqliteDatabase(path)
        found = SQLSessionService(database, "assistant").get_messages_with_options("s1")
        database.close()
        assert [one.text for one in found.messages] == [str(at) for at in range(len(found.messages))]
        assert len(found.messages) % 5 == 0
        assert len(found.messages) >= said_last, "what was said to be saved is"
    assert said_last > 0
