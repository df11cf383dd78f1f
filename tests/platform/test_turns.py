"""Threads that keep something up to date take turns, and none waits for ever."""

from __future__ import annotations

import threading

import pytest

from hermes_tui.platform.background import in_turn


def test_one_at_a_time() -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with in_turn():
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == 1


def test_who_has_waited_long_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.platform.background.PATIENCE", 0.05)
    done = threading.Event()

    def work() -> None:
        with in_turn():
            done.set()

    with in_turn(), in_turn():  # a turn within one's own waits for nobody
        thread = threading.Thread(target=work)
        thread.start()
        assert done.wait(30)
        thread.join()


def test_an_error_ends_the_turn() -> None:
    def fail() -> None:
        with in_turn():
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    thread = threading.Thread(target=test_one_at_a_time)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
