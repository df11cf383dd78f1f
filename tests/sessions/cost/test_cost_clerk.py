"""Reading calls in a process of its own, and costs in a face's list."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import ValidationError
from hermes_tui.platform.background import Worker
from hermes_tui.platform.helper_call import HelperCall
from hermes_tui.sessions.cost import cache, call_reader
from hermes_tui.tui.workers.cost_refresh import CostRefresh
from session_adapters.model import SessionSummary
from session_adapters.usage import unpacked
from spending import Spender

MILLION = 1_000_000


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    spender = Spender(tmp_path / "home")
    spender.session("one", {"input": MILLION})
    return spender


def test_another_process_reads(spender: Spender) -> None:
    """This one neither imports the price list nor reads what sessions used."""
    code = (
        "import sys; from pathlib import Path; from datetime import date\n"
        "from hermes_tui.sessions.manager import SessionManager\n"
        "from session_adapters.base import Environment\n"
        "manager = SessionManager(Environment(home=Path(sys.argv[1])), cache_dir=Path(sys.argv[2]),"
        " agents=('claude',), prices={})\n"
        "manager.catalogue.refresh()\n"
        "print(manager.costs.shown(manager.catalogue.snapshot.sessions)[0].cost)\n"
        "print(manager.costs.overview(date(2026, 3, 1)).whole)\n"
        "print(manager.costs.shown(manager.catalogue.snapshot.sessions)[0].cost.total_usd)\n"
        "print({'genai_prices', 'pydantic'} & set(sys.modules))\n"
    )
    command = [sys.executable, "-c", code, str(spender.home), str(spender.home.parent / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None", "Figure(usd=1.0, estimated=True, unpriced=False)", "1.0", "set()"]


def test_prices_that_another_process_looked_up_are_not_looked_up_again(spender: Spender) -> None:
    """A face that goes on after its first addition adds up itself what little comes."""
    code = (
        "import sys; from pathlib import Path; from hermes_tui.sessions.manager import SessionManager\n"
        "from session_adapters.base import Environment\n"
        "manager = SessionManager(Environment(home=Path(sys.argv[1])), cache_dir=Path(sys.argv[2]),"
        " agents=('claude',), prices={})\n"
        "manager.catalogue.refresh()\n"
        "manager.costs.book()\n"
        "path = next(Path(sys.argv[1]).rglob('*.jsonl'))\n"
        "path.write_bytes(path.read_bytes() + b'\\n')\n"
        "manager.catalogue.refresh()\n"
        "print(sum(row.usd for row in manager.costs.book().rows))\n"
        "print({'genai_prices', 'pydantic'} & set(sys.modules))\n"
    )
    spender.session("two", {"input": MILLION})
    command = [sys.executable, "-c", code, str(spender.home), str(spender.home.parent / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["2.0", "set()"]


def test_nothing_in_the_directory_we_were_started_in_is_run(
    spender: Spender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "a checkout of somebody's"
    checkout.mkdir()
    for name in ("msgspec", "hermes_tui", "subprocess"):
        (checkout / f"{name}.py").write_text("open('run', 'w')\nraise SystemExit(1)\n")
    monkeypatch.chdir(checkout)
    manager = spender.manager()
    manager.catalogue.refresh()
    question = call_reader.CallsQuestion(manager.environment, manager.catalogue.entries(), {})
    answer = call_reader.ask_helper(question)
    assert answer is not None
    assert [call.input_tokens for call in unpacked(answer.entries[0].calls)] == [MILLION]
    assert not (checkout / "run").exists()


def test_very_many_sources_are_asked_for_part_by_part(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, 50,000 of them cost another process 313 MB."""
    for number in range(4):
        spender.session(f"more{number}", {"input": MILLION})
    asked: list[int] = []

    class Asked(HelperCall[Any]):
        def __init__(self, function: Any, question: call_reader.CallsQuestion) -> None:
            asked.append(len(question.entries))
            super().__init__(function, question)

    monkeypatch.setattr(call_reader, "HelperCall", Asked)
    monkeypatch.setattr(call_reader, "TOGETHER", 2)
    manager = spender.manager()
    manager.catalogue.refresh()
    assert manager.costs.overview(date(2026, 3, 1)).whole.usd == pytest.approx(5.0)
    assert asked == [2, 2, 1]
    assert all(one.is_counted for one in manager.catalogue.entries())


def test_who_asks_while_a_long_sheet_is_made_anew_gets_all_of_it(
    spender: Spender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old one is let go of before there is the next: nobody is told of one without rows."""
    monkeypatch.setattr("hermes_tui.sessions.cost.cache.NOT_TWICE", 0)
    manager = spender.manager()
    manager.catalogue.refresh()
    manager.costs.book()
    spender.session("two", {"input": MILLION})
    manager.catalogue.refresh()
    told: list[float] = []

    def ask() -> None:
        told.append(manager.costs.overview_so_far(date(2026, 3, 1))[0].whole.usd)

    readers = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    keep = manager.catalogue.keep

    def keep_later(sums: Callable[[], bytes]) -> Any:
        for reader in readers:
            reader.start()
        readers[0].join(0.2)
        return keep(sums)

    monkeypatch.setattr(manager.catalogue, "keep", keep_later)
    manager.costs.book()
    for reader in readers:
        reader.join(60)
    assert told == [pytest.approx(2.0)] * 3


def test_where_no_process_can_be_had_it_is_done_here(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    manager = spender.manager()
    manager.catalogue.refresh()
    assert manager.costs.overview(date(2026, 3, 1)).whole.usd == pytest.approx(1.0)


def test_nothing_is_added_up_again_while_nothing_changed(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = spender.manager()
    manager.catalogue.refresh()
    first = manager.costs.book()
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert manager.costs.book() is first


def test_who_asks_meanwhile_waits_for_the_same_process(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = spender.manager()
    manager.catalogue.refresh()
    costs, begin = manager.costs, subprocess.Popen
    sent: list[Any] = []
    asked = threading.Event()

    def slow(*command: Any, **options: Any) -> Any:
        sent.append(command)
        asked.wait()
        return begin(*command, **options)

    monkeypatch.setattr(subprocess, "Popen", slow)
    found: list[float] = []

    def ask() -> None:
        found.append(costs.overview(date(2026, 3, 1)).whole.usd)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    timer = threading.Timer(0.3, asked.set)  # long enough for all of them to ask; too short, it could not fail
    timer.start()
    for thread in (*threads, timer):
        thread.join()
    assert found == [pytest.approx(1.0)] * 3
    assert len(sent) == 1


def test_a_list_waits_for_no_addition(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown with what is known, while thousands of calls are added up beside it."""
    manager = spender.manager()
    listed = manager.catalogue.refresh().sessions
    costs = manager.costs
    costs.sheet()
    spender.session("two", {"input": MILLION})
    manager.catalogue.refresh()
    under_way, go_on = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        under_way.set()
        assert go_on.wait(60)
        return call_reader.read_calls(*given)

    monkeypatch.setattr(cache, "read_calls", slow)
    adding = threading.Thread(target=costs.sheet)
    adding.start()
    assert under_way.wait(60)
    today = date(2026, 3, 1)
    asked = threading.Thread(target=lambda: (costs.shown(costs.tagged(listed)), costs.overview_so_far(today)))
    asked.start()
    asked.join(30)
    waits = asked.is_alive()
    go_on.set()
    adding.join()
    assert not waits


def test_a_session_of_which_nothing_changed_is_the_same_when_it_is_shown_again(spender: Spender) -> None:
    """Of thousands of sessions another one each lay about at every look."""
    manager = spender.manager()
    manager.catalogue.refresh()
    manager.costs.sheet()

    def shown() -> dict[str, SessionSummary]:
        return {one.session_id: one for one in manager.costs.shown(manager.catalogue.refresh().sessions)}

    before = shown()["one"]
    assert before.cost is not None and before.cost.total_usd == pytest.approx(1.0)
    spender.session("two", {"input": MILLION})
    assert shown()["one"] is before and shown()["two"].cost is None
    spender.session("one", {"input": MILLION}, {"input": MILLION})
    manager.catalogue.refresh()
    manager.costs.sheet()
    costs = {name: one.cost.total_usd for name, one in shown().items() if one.cost is not None}
    assert costs == {"one": pytest.approx(2.0), "two": pytest.approx(1.0)}


def test_the_cost_refresh_adds_up_once_for_many_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.cost_refresh.FIRST_AFTER", 0.0)
    booked = threading.Event()
    calls: list[str] = []

    def book() -> bool:
        calls.append("book")
        return True

    keeper = CostRefresh(book, booked.set)
    for _ in range(5):
        keeper.look()
    assert booked.wait(60)
    keeper.look()
    keeper.stop()
    assert calls == ["book"]


@pytest.mark.parametrize("work", ["wait", "process"])
def test_the_cost_refresh_rests_by_the_processors_time(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a busy machine makes longer by the clock must not make costs later still; what a process of its own took
    of the processor is rested for."""
    monkeypatch.setattr("hermes_tui.tui.workers.cost_refresh.PAUSE", 0.0)
    pauses: list[float] = []
    rested = threading.Event()

    def rest(worker: Worker[None], seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > 1:
            worker.stop()
            rested.set()

    monkeypatch.setattr(Worker, "rest", rest)

    def book() -> object:
        if work == "wait":
            time.sleep(0.5)
        else:
            burn = "import time\nwhile time.process_time() < 0.4: pass"
            subprocess.run([sys.executable, "-S", "-c", burn], check=True)
        return "costs"

    keeper = CostRefresh(book, lambda: None)
    keeper.look()
    assert rested.wait(60)
    assert pauses[1] < 0.3 if work == "wait" else pauses[1] >= 0.3


def test_the_cost_refresh_gives_up_on_wrong_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.cost_refresh.FIRST_AFTER", 0.0)
    asked = threading.Event()

    def wrong() -> bool:
        asked.set()
        raise ValidationError("the settings are wrong")

    keeper = CostRefresh(wrong, lambda: pytest.fail("nothing was added up"))
    keeper.look()
    assert asked.wait(60)
    keeper.stop()


def test_an_addition_that_is_under_way_can_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.cost_refresh.FIRST_AFTER", 0.0)
    under_way, go_on = threading.Event(), threading.Event()
    written: list[str] = []

    def book() -> bool:
        under_way.set()
        go_on.wait(60)
        written.append("costs")
        return True

    keeper = CostRefresh(book, lambda: pytest.fail("nobody is there any more"))
    keeper.join(60)  # nothing was begun
    keeper.look()
    assert under_way.wait(60)
    keeper.stop()
    keeper.join(0)
    assert written == []
    go_on.set()
    keeper.join(60)
    assert written == ["costs"]
