"""What may come in from a terminal."""

from __future__ import annotations

import os
import pty
import re
import selectors
import threading
import tty
from itertools import pairwise
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from hermes_tui.tui.driver import PasteFilter, TerminalDriver

START, END = "\x1b[200~", "\x1b[201~"
PIECE = st.sampled_from(
    [START, END, "\x1b", "\x1b[", "\x1b[20", "0~", "1~", "[201~", "q", "\x1b[A", "\x1b\x1b[201~", "é"]
)


def plainly(text: str) -> str:
    """The same at once, for input that ends outside a paste."""
    return re.sub(
        f"{re.escape(START)}(.*?){re.escape(END)}",
        lambda paste: START + paste[1].replace("\x1b", "") + END,
        text,
        flags=re.DOTALL,
    )


@given(st.lists(PIECE, max_size=12), st.lists(st.integers(0, 80), max_size=8))
def test_escapes_are_taken_out_of_pastes_alone(pieces: list[str], cuts: list[int]) -> None:
    """However the input is cut into reads."""
    text = "".join(pieces) + END  # whatever paste was begun is over
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    clean = PasteFilter()
    got = "".join(clean(text[begin:end]) for begin, end in pairwise(places))
    assert got == plainly(text)


def test_keys_are_never_held_back() -> None:
    clean = PasteFilter()
    for key in ("\x1b", "[", "2", "0", "j", "\x1b[A", "\x1b"):
        assert clean(key) == key


async def test_the_keyboard_thread_sleeps_until_a_key_or_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.driver.ALERT", 0.3)
    asleep = threading.Semaphore(0)
    select = selectors.SelectSelector.select

    def watched(self: selectors.SelectSelector, timeout: float | None = None) -> Any:
        if timeout is None:
            asleep.release()
        return select(self, timeout)

    monkeypatch.setattr(selectors.SelectSelector, "select", watched)
    got: SimpleQueue[Message] = SimpleQueue()
    controller, terminal = pty.openpty()
    tty.setraw(terminal)
    app: Any = SimpleNamespace(message_queue_size=0)
    driver = TerminalDriver(app, debug=False, size=(80, 24))
    driver.fileno = terminal
    monkeypatch.setattr(driver, "process_message", got.put)
    monkeypatch.setattr(driver, "_disable_mouse_support", lambda: None)
    thread = driver._key_thread = threading.Thread(target=driver.run_input_thread, daemon=True)
    thread.start()
    for typed, key in ((b"j", "j"), (b"\x1b", "escape"), (b"\x1b[A", "up")):
        assert asleep.acquire(timeout=180)
        os.write(controller, typed)
        message = got.get(timeout=180)
        assert isinstance(message, events.Key) and message.key == key
    assert asleep.acquire(timeout=180)
    driver.disable_input()
    thread.join(60)
    assert not thread.is_alive()
    driver.close()
    driver.close()
    os.close(controller)
    os.close(terminal)


async def test_keys_stay_in_the_terminal_while_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are typed; each arrives in the end, none cut in two."""
    waiting: SimpleQueue[Message] = SimpleQueue()

    class Behind:
        """Takes a message only when the test does."""

        @property
        def message_queue_size(self) -> int:
            return waiting.qsize()

    controller, terminal = pty.openpty()
    tty.setraw(terminal)
    app: Any = Behind()
    driver = TerminalDriver(app, debug=False, size=(80, 24))
    driver.fileno = terminal
    monkeypatch.setattr(driver, "process_message", waiting.put)
    looks = threading.Semaphore(0)
    wait = driver.exit_event.wait

    def waited(timeout: float | None = None) -> bool:
        looks.release()
        return wait(timeout)

    monkeypatch.setattr(driver.exit_event, "wait", waited)
    keyboard = threading.Thread(target=driver.run_input_thread, daemon=True)
    keyboard.start()
    os.write(controller, b"\x1b[A" * 1000)
    for _ in range(10):
        assert looks.acquire(timeout=180)
    assert 200 < waiting.qsize() < 300
    keys = [waiting.get(timeout=180) for _ in range(1000)]
    assert all(isinstance(one, events.Key) and one.key == "up" for one in keys)
    driver.exit_event.set()
    driver.disable_input()
    keyboard.join(60)
    assert not keyboard.is_alive()
    driver.close()
    os.close(controller)
    os.close(terminal)
