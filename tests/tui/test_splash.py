"""The terminal between the first frame and the program: it is put back whatever happens meanwhile."""

from __future__ import annotations

import os
import pty
import select
import sys
import termios
from typing import Any

import pytest

from hermes_tui.tui.splash.splash import Splash


def test_ctrl_c_while_a_slow_line_takes_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, line = pty.openpty()
    before, written = termios.tcgetattr(line), list[bytes]()
    write = os.write

    def interrupted(fd: int, data: bytes) -> int:
        written.append(bytes(data))
        if len(written) == 1:
            write(fd, data[:9])
            raise KeyboardInterrupt
        return write(fd, data)

    with open(line, "w", encoding="utf-8", closefd=False) as file:
        monkeypatch.setattr(sys, "__stderr__", file)
        monkeypatch.setattr("hermes_tui.tui.terminal_output.os.write", interrupted)
        splash = Splash(fd=line)
        with pytest.raises(KeyboardInterrupt):
            splash.show("a picture")
        monkeypatch.undo()
    shown = b""
    while not shown.endswith(b"\x1b[?25h\x1b[?1049l"):  # the terminal takes it piece by piece
        assert select.select([terminal], [], [], 5.0)[0], shown
        shown += os.read(terminal, 1000)
    assert termios.tcgetattr(line) == before
    assert not splash.is_up
    os.close(terminal)
    os.close(line)


def test_ctrl_c_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, line = pty.openpty()
    before = termios.tcgetattr(line)
    put = termios.tcsetattr

    def interrupted(*given: Any) -> None:
        put(*given)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(termios, "tcsetattr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Splash(fd=line).show("a picture")
    assert termios.tcgetattr(line) == before
    os.close(terminal)
    os.close(line)
