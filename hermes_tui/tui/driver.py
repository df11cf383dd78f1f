"""The keyboard driver: terminal input is as untrusted as a store's content.

Textual's driver does two things with input that a program left open for weeks must not do. It takes the escape
sequences inside a bracketed paste for keys, so that pasted text can press them, and it ends with a traceback at the
first byte that is no UTF-8 (line noise, a terminal set to Latin-1, a key with an eighth bit).
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from textual import constants
from textual._parser import ParseError
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from hermes_tui.tui.splash.splash import ALTERNATE_SCREEN
from hermes_tui.tui.terminal_output import patient

__all__ = ["ALERT", "PasteFilter", "TerminalDriver"]

_POP_KEYBOARD = "\x1b[<u"
"""Takes back what the start pushed onto the terminal's stack of keyboard modes (the kitty protocol)."""
_READ = 256
"""Bytes per read: so many keys, at most, come to those that wait."""
_STEP = 0.1
"""Seconds between two looks whether a lone Escape has become a key."""
_MOST_WAITING = 200
"""Events of which the program has not yet taken note, above which no key is read: what is typed stays with the
terminal. Screens that were closed wait behind the keys, and are kept until then."""
_BEHIND = 0.02
"""Seconds until the next look whether it has."""
ALERT = max(1.0, 2 * constants.ESCAPE_DELAY)
"""Seconds after a key in which that is looked for. Later nothing can be pending, and the thread sleeps."""


class PasteFilter:
    """Takes every escape character out of pasted text; everything else goes through as it came, in any pieces."""

    def __init__(self) -> None:
        self._inside = False
        self._kept = ""
        """Outside: the last characters, where the beginning of a paste may have begun. Inside: what may turn out
        to be its end, and was not handed on yet."""

    def __call__(self, data: str) -> str:
        """What may be parsed of `data`, which follows what was given before."""
        parts: list[str] = []
        while data:
            data = self._paste(data, parts) if self._inside else self._keys(data, parts)
        return "".join(parts)

    def _keys(self, data: str, parts: list[str]) -> str:
        """Hand on what was typed, up to the beginning of a paste; what is left behind it."""
        seen = self._kept + data
        at = seen.find(BRACKETED_PASTE_START)
        if at < 0:
            self._kept = seen[-len(BRACKETED_PASTE_START) + 1 :]
            parts.append(data)
            return ""
        end = at + len(BRACKETED_PASTE_START) - len(self._kept)
        parts.append(data[:end])
        self._inside, self._kept = True, ""
        return data[end:]

    def _paste(self, data: str, parts: list[str]) -> str:
        """Hand on what was pasted, up to its end; what is left behind it."""
        data = self._kept + data
        text, found, rest = data.partition(BRACKETED_PASTE_END)
        self._kept = ""
        if not found:
            # The longest end of it with which the end of a paste may begin.
            lengths = range(min(len(text), len(BRACKETED_PASTE_END) - 1), 0, -1)
            ends = (text[-length:] for length in lengths)
            self._kept = next((end for end in ends if BRACKETED_PASTE_END.startswith(end)), "")
        parts.append(text.removesuffix(self._kept).replace("\x1b", "") + found)
        self._inside = not found
        return rest


class TerminalDriver(LinuxDriver):
    """Reads keys from any terminal, whatever it sends. While nothing comes in, nothing is done."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if sys.__stderr__ is not None:
            self._file = patient(sys.__stderr__)
        self._doorbell, self._button = os.pipe()
        self._skipped = ""
        self._wanted: Literal["", "stop", "go on"] = ""
        """By the last signal, as long as it was not done."""
        self._stops_job = False
        """The next stop is one of all processes that the shell has as one job."""
        self._is_restarting = False
        self._half_read: tuple[XTermParser, Callable[[bytes], str], PasteFilter] | None = None
        """Half a key that the thread before has read: an Escape of which it is not known yet whether more follows."""
        # The system may give any signal to any thread, and Python's handlers run in this one, which may sleep for a
        # minute: asyncio is made to wake it whoever takes a signal. This one is handled beside the event loop.
        self._loop.add_signal_handler(signal.SIGCONT, int)
        signal.signal(signal.SIGCONT, self._sigcont_application)

    def stop_job(self) -> bool:
        """Stop it and what it was started with (`make`), until the shell goes on with it: what the system does for
        Ctrl-Z, which in our mode of the terminal is a key like any other. False, and nothing is done, where no shell
        waits for it."""
        self._stops_job = _is_job()
        if self._stops_job:
            self._sigtstp_application()
        return self._stops_job

    def _sigtstp_application(self, *_: object) -> None:
        """A signal interrupts the program anywhere, also while it puts something into the queue of what is to be
        written: to close that here would wait for ever, or lose what is written. So the event loop does it."""
        self._wanted = "stop"
        if self._button < 0 or self._loop.is_closed():  # the terminal is given back, and the event loop stands still
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            self._loop.call_soon_threadsafe(self._stop)

    def _sigcont_application(self, *_: object) -> None:
        self._wanted = "go on"
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._go_on)

    def _stop(self) -> None:
        """Once, however often it was asked for before it goes on."""
        if self._wanted != "stop":
            return
        self.suspend_application_mode()
        self._must_signal_resume = True
        stopped, self._stops_job = 0 if self._stops_job else os.getpid(), False  # 0: all of the group
        if self._wanted == "stop":  # and not continued meanwhile
            os.kill(stopped, signal.SIGSTOP)
        # Another thread may take the signal: this one runs on for a moment. And a stop right after SIGCONT takes that
        # away: the handler of the stop, which comes in here, stops the program again.
        while self._wanted == "stop":
            time.sleep(_STEP)
        self._go_on()

    def _go_on(self) -> None:
        """Once, however often it was continued meanwhile."""
        if self._wanted != "go on":
            return
        self._wanted = ""
        if self._auto_restart and self._app.is_running:
            self.start_application_mode()
            self._app.refresh()  # whoever had the terminal meanwhile has written on it

    def start_application_mode(self) -> None:
        """Begin, or go on: after another program had the terminal (`close` came before that), or when the process was
        stopped in a way that it was not told of (SIGSTOP), with its thread and the terminal's modes as they were."""
        usual = None
        if (keyboard := self._key_thread) is not None and keyboard.is_alive():
            self.write(_POP_KEYBOARD)
            usual = self.attrs_before
            # End the thread that reads. Unlike `disable_input` this leaves what was typed meanwhile to be read.
            self._is_restarting = True
            self.exit_event.set()
            os.write(self._button, b"!")
            keyboard.join()
            self.exit_event.clear()
            self._is_restarting = False
            self.close()
        if self._button < 0:
            self._doorbell, self._button = os.pipe()
        splash = getattr(self._app, "splash", None)
        if splash is not None and splash.is_up:
            # It is on the other screen: to go there again would clear it.
            self._skipped = ALTERNATE_SCREEN
            splash.give_back_mode()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._skipped = ""
        if usual is not None:  # what was found now is our own mode
            self.attrs_before = usual

    def write(self, data: str) -> None:
        """To the terminal, all but what is there already."""
        if data != self._skipped:
            super().write(data)

    def disable_input(self) -> None:
        """Wake the thread, so that it sees that it is to end."""
        if self._button >= 0:
            os.write(self._button, b"!")
        super().disable_input()

    def close(self) -> None:
        """Give back what the driver has of the system."""
        super().close()
        for end in (self._button, self._doorbell):
            if end >= 0:
                os.close(end)
        self._button = self._doorbell = -1

    def run_input_thread(self) -> None:
        """Hand on what comes in, until the driver ends."""
        alert = time.monotonic() + ALERT
        parser, decode, clean = self._half_read or (
            XTermParser(self._debug),
            getincrementaldecoder("utf-8")("replace").decode,
            PasteFilter(),
        )
        self._half_read = None
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._doorbell, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = {key.fd for key, _ in selector.select(_STEP if time.monotonic() < alert else None)}
                if ready:
                    alert = time.monotonic() + ALERT
                if self._doorbell in ready:
                    os.read(self._doorbell, _READ)
                if self.fileno in ready:
                    if self._app.message_queue_size > _MOST_WAITING:
                        self.exit_event.wait(_BEHIND)
                        continue  # what was read may be half a key, of which the rest is there
                    data = self._read()
                    if not data:  # the terminal is gone: others notice, and end the program
                        self.exit_event.wait(_STEP)
                    if text := clean(decode(data)):
                        self._hand_on(parser.feed(text))
                self._hand_on(parser.tick())
        if self._is_restarting:
            self._half_read = parser, decode, clean
            return
        try:
            for _ in parser.feed(""):
                pass  # the rest of a key that nobody waits for any more
        except (EOFError, ParseError):
            pass

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, _READ)
        except OSError:  # the terminal is gone, as its end of file says, too
            return b""

    def _hand_on(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)


def _is_job() -> bool:
    """Whether a shell can go on with this process where it stops: its group is no orphan, as POSIX has it. In a
    window that a terminal has made for it, and over `ssh HOST hermes-tui`, it is one."""
    from hermes_tui.attention.panes import parents_of

    for parent in (os.getppid(), *parents_of(Path("/proc"), os.getpid())):
        try:
            if os.getsid(parent) != os.getsid(0):
                break
            if os.getpgid(parent) != os.getpgrp():
                return True
        except OSError:  # ended meanwhile
            break
    return False
