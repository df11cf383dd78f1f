"""What the program does to a terminal, and what a terminal can do to it (facts/textual.md §2.4–2.7)."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chances import chance
from claude_lines import ClaudeHome
from terminal import Terminal

pytestmark = pytest.mark.e2e

Start = Callable[..., Terminal]

ALT_SCREEN_OFF = b"\x1b[?1049l"
MOUSE_OFF = b"\x1b[?1000l"
_HEAP = 64 << 20
"""Bytes that glibc keeps for a thread's own heap, at a multiple of itself; what is not used is not accessible."""


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
def test_idle_writes_nothing(start: Start, size: tuple[int, int]) -> None:
    """Law 6."""
    terminal = start(size=size)
    terminal.quiet(8.0)  # costs come into the list once they are added up, and the index is made
    assert terminal.pump(3.0) == 0
    terminal.send("/")
    terminal.quiet()
    assert terminal.pump(3.0) == 0, "a blinking cursor?"


@pytest.mark.parametrize("key", ["A", "L", "?"])
def test_what_changes_behind_another_screen_writes_nothing(start: Start, claude_home: ClaudeHome, key: str) -> None:
    """It was painted over with itself, whole: 30 to 80 kB each time that the list changed."""
    terminal = start(size=(160, 48))
    terminal.quiet(4.0)  # costs come into the list once they are added up
    terminal.send(key)
    terminal.until(lambda: "/ to search" not in terminal.text)
    terminal.quiet(2.0)
    claude_home.session("nobody needs to look at")
    assert terminal.pump(4.0) == 0
    terminal.send("\x1b")
    terminal.until("41 sessions")


def test_keys_cost_few_bytes(start: Start) -> None:
    terminal = start(size=(120, 40))
    terminal.until("Answer 29")
    terminal.until("~<0.01")  # costs come into all lines of the list once they are added up
    terminal.quiet()
    terminal.send("\t")
    terminal.quiet()
    terminal.send("\x1b[5~")
    terminal.quiet()
    before = len(terminal.received)
    terminal.send("\x1b[6~")
    terminal.quiet()
    assert 0 < len(terminal.received) - before < 25_000
    # The transcript beside the list follows the cursor, so this is the list alone, at 80 columns.
    narrow = start(size=(80, 24))
    narrow.until("~<0.01")
    narrow.quiet()
    before = len(narrow.received)
    narrow.send("j")
    narrow.quiet()
    assert 0 < len(narrow.received) - before < 1_500


def test_typed_ahead_filter_does_nothing_but_filter(start: Start, claude_home: ClaudeHome) -> None:
    """Law 9: everything in one write."""
    terminal = start()
    terminal.send("/reset")
    terminal.until(" 0 of 40")
    assert "/" not in terminal.text.splitlines()[0].replace("/ to search", "")
    assert "reset" in terminal.text.splitlines()[0]
    terminal.send("\x15")
    # While the box has the keys, a narrow terminal leaves the count no room for a word.
    terminal.until(lambda: terminal.text.splitlines()[0].rstrip().endswith("  40") and "of 40" not in terminal.text)
    terminal.send("n17x")
    terminal.until(" 1 of 40")
    terminal.send("\x1b")
    terminal.until(lambda: "40 sessions" in terminal.text and "of 40" not in terminal.text)
    # A question whether to resume, and nothing that says yes to it.
    terminal.send("ry")
    terminal.until("Cancel")
    terminal.quiet()
    assert "Cancel" in terminal.text
    terminal.send("\x1b")
    terminal.until(lambda: "Cancel" not in terminal.text and "Session n39x" in terminal.text)
    # What comes after Enter in the same write is for the list, as where it is typed slowly; what harms asks first.
    terminal.send("/n3x\rr")
    terminal.until("Cancel")
    terminal.quiet()
    assert "Cancel" in terminal.text
    terminal.send("\x1b")
    terminal.until(lambda: "Cancel" not in terminal.text and "1 of 40" in terminal.text)
    terminal.send("/39\rq")
    assert terminal.wait() == 0


def test_quit_leaves_the_terminal_as_it_was(start: Start) -> None:
    terminal = start()
    terminal.send("q")
    assert terminal.wait() == 0
    assert terminal.mode() == terminal.before
    assert ALT_SCREEN_OFF in terminal.received and MOUSE_OFF in terminal.received
    assert terminal.received.rfind(b"\x1b[?25h") > terminal.received.rfind(b"\x1b[?25l")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGQUIT, 131), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
)
def test_signals_end_it_in_order(start: Start, number: signal.Signals, code: int) -> None:
    terminal = start()
    terminal.signal(number)
    assert terminal.wait() == code
    assert terminal.mode() == terminal.before
    assert ALT_SCREEN_OFF in terminal.received and MOUSE_OFF in terminal.received


def test_to_be_stopped_and_continued_loses_no_key(start: Start) -> None:
    """SIGSTOP comes without a word; each SIGCONT once started another thread that read the keyboard."""
    terminal = start()
    tasks = Path(f"/proc/{terminal.pid}/task")
    threads = []
    for number in range(4):
        terminal.signal(signal.SIGSTOP)
        terminal.signal(signal.SIGCONT)
        terminal.quiet()
        terminal.send(f"/n{number + 10}x")
        terminal.until(" 1 of 40")
        terminal.send("\x1b")
        terminal.until(lambda: "40 sessions" in terminal.text and "of 40" not in terminal.text)
        threads.append(len(list(tasks.iterdir())))
    assert threads[-1] < threads[0] + 3, threads  # searches start a thread or two of their own, when they come to it
    terminal.send("q")
    assert terminal.wait() == 0
    assert terminal.mode() == terminal.before


def test_all_threads_share_one_heap(start: Start) -> None:
    """glibc gives each its own, of which much stays free, unless it is told so before the first of them starts."""
    terminal = start()
    terminal.send("/n17x")
    terminal.until(" 1 of 40")
    assert len(list(Path(f"/proc/{terminal.pid}/task").iterdir())) > 4
    maps = Path(f"/proc/{terminal.pid}/maps").read_text()
    pieces = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (rw-p|---p) 0+ 00:00 0\s*$", maps, re.MULTILINE)
    rest = {int(start, 16): int(end, 16) for start, end, kind in pieces if kind == "---p"}
    used = [(int(start, 16), int(end, 16)) for start, end, kind in pieces if kind == "rw-p"]
    heaps = [hex(start) for start, end in used if start % _HEAP == 0 and rest.get(end) == start + _HEAP]
    assert heaps == []


def test_to_be_continued_in_the_middle_of_the_work_does_no_harm(start: Start) -> None:
    """The signal came while something was put into the queue of what is to be written, or while an earlier one was
    served: the program stood still for ever, wrote into a queue that nobody read, or ended with a traceback."""
    terminal = start()
    dice = chance(1)
    for number in range(12):
        terminal.send(f"/n{number + 10}x")
        for _ in range(dice.randrange(1, 5)):
            time.sleep(dice.random() * 0.03)
            terminal.signal(signal.SIGSTOP)
            terminal.signal(signal.SIGCONT)
        terminal.until(" 1 of 40")
        terminal.send("\x1b")
        terminal.until(lambda: "40 sessions" in terminal.text and "of 40" not in terminal.text)
    terminal.send("q")
    assert terminal.wait() == 0
    assert terminal.mode() == terminal.before
    pushed = re.findall(rb"\x1b\[>\d+u", terminal.received)
    assert len(pushed) > 1
    assert terminal.received.count(b"\x1b[<u") == len(pushed), "a keyboard mode is left in the terminal"


def test_to_be_suspended_gives_the_terminal_back_until_it_goes_on(start: Start) -> None:
    terminal = start()
    state = Path(f"/proc/{terminal.pid}/stat")
    for number in range(3):
        terminal.send(f"/n{number + 10}x")
        terminal.signal(signal.SIGTSTP)
        terminal.until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
        terminal.quiet(0.1)
        assert terminal.received.count(ALT_SCREEN_OFF) == number + 1
        assert terminal.mode() == terminal.before
        terminal.signal(signal.SIGCONT)
        terminal.until(" 1 of 40")
        terminal.send("\x1b")
        terminal.until(lambda: "40 sessions" in terminal.text and "of 40" not in terminal.text)
    terminal.send("q")
    assert terminal.wait() == 0


def test_its_key_stops_it_as_a_job_of_the_shell(claude_home: ClaudeHome) -> None:
    """As `vim` and `lazygit` do; with what it was started by, or the shell would wait for that."""
    claude_home.session("draw totals")
    program = [str(Path(sys.executable).with_name("hermes-tui"))]
    starts = f"import subprocess, sys; sys.exit(subprocess.call({program!r}))"
    terminal = Terminal(["/bin/bash", "--norc", "-i"], home=claude_home.home, variables={"PS1": "ready> "})
    try:
        terminal.send(f'{sys.executable} -c "{starts}"\n')
        for _ in range(2):
            terminal.until("draw totals")
            terminal.quiet()
            terminal.send("\x1a")
            terminal.until("Stopped")
            terminal.send("fg\n")
        terminal.until("draw totals")
        terminal.quiet()
        terminal.send("q")
        terminal.until("ready>")
        terminal.send("exit 7\n")
        assert terminal.wait() == 7
    finally:
        terminal.close()


def test_without_a_shell_it_is_not_stopped(start: Start) -> None:
    """Nobody could go on with it."""
    terminal = start()
    terminal.send("\x1a")
    terminal.until("No shell waits for this program")
    terminal.send("q")
    assert terminal.wait() == 0


def test_one_signal_brings_it_back_however_often_it_was_stopped(start: Start) -> None:
    """A stop takes the SIGCONT away that came just before: the program waited for that, with the terminal given back,
    and was stopped only when the next one had come."""
    terminal = start()
    state = Path(f"/proc/{terminal.pid}/stat")

    def is_stopped() -> bool:
        return state.read_text().rpartition(")")[2].split()[0] == "T"

    for number in range(5):
        terminal.send(f"/n{number + 10}x")
        terminal.signal(signal.SIGTSTP)
        terminal.until(is_stopped)
        for _ in range(3):
            terminal.signal(signal.SIGCONT)
            terminal.signal(signal.SIGTSTP)
            terminal.until(is_stopped)
        terminal.signal(signal.SIGCONT)
        terminal.until(" 1 of 40")
        terminal.send("\x1b")
        terminal.until(lambda: "40 sessions" in terminal.text and "of 40" not in terminal.text)
    terminal.send("q")
    assert terminal.wait() == 0


def test_half_a_key_is_not_lost_when_it_goes_on(start: Start) -> None:
    """An Escape is half a key until nothing has followed it for a while."""
    terminal = start()
    for number in range(8):
        terminal.send(f"/n{number + 10}x")
        terminal.until(" 1 of 40")
        terminal.send("\x1b")
        time.sleep(0.02 * (number % 4))
        terminal.signal(signal.SIGCONT)
        terminal.until(lambda: "40 sessions" in terminal.text and "of 40" not in terminal.text)


def test_what_others_wrote_on_the_screen_is_painted_over(start: Start) -> None:
    terminal = start()
    terminal.until(lambda: terminal.text.count("~<0.01") == terminal.text.count(" Session n"))  # nothing is to come
    before = terminal.text
    terminal.signal(signal.SIGSTOP)
    terminal.screen.cursor_position(5, 1)
    terminal.screen.draw("[1]+  Stopped")
    assert terminal.text != before
    terminal.signal(signal.SIGCONT)
    terminal.until(lambda: terminal.text == before)


def test_whichever_thread_takes_a_signal_the_program_follows(tmp_path: Path) -> None:
    """The system may give it to one that does nothing with it, while the event loop sleeps. Here nothing wakes it."""
    terminal = Terminal([sys.executable, "-m", "hermes_tui", "demo", "--static"], home=tmp_path)
    try:
        terminal.until(" sessions")
        terminal.quiet(2.0)
        before = terminal.text
        other = max(int(thread.name) for thread in Path(f"/proc/{terminal.pid}/task").iterdir())
        assert other != terminal.pid
        libc = ctypes.CDLL(None, use_errno=True)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            assert libc.tgkill(terminal.pid, other, number) == 0
        terminal.screen.draw("[1]+  Stopped")
        terminal.until(lambda: terminal.text == before)
        assert libc.tgkill(terminal.pid, other, signal.SIGTERM) == 0
        assert terminal.wait() == 143
    finally:
        terminal.close()


@pytest.mark.parametrize("controlling", [True, False])
def test_a_terminal_that_goes_away_ends_it(start: Start, claude_home: ClaudeHome, controlling: bool) -> None:
    """With SIGHUP, and without: then only the look at the terminal itself tells. It is no error of the program's."""
    terminal = start(controlling=controlling)
    terminal.hang_up()
    assert terminal.wait(read=False) == 129
    assert not list(claude_home.home.rglob("*.log"))


def test_signs_that_the_encoding_has_not_keep_their_columns(claude_home: ClaudeHome) -> None:
    """They were written as `\\u2502`, six columns each, over what stands beside them."""
    variables = {"PYTHONIOENCODING": "ascii"}
    terminal = Terminal(
        [sys.executable, "-m", "hermes_tui"], home=claude_home.home, size=(140, 24), variables=variables
    )
    try:
        terminal.until("40 sessions")
        terminal.until("+---")
        terminal.quiet()
        assert "\\u" not in terminal.text
        assert terminal.text.splitlines()[0].endswith("40 sessions")
        terminal.send("q")
        assert terminal.wait() == 0
    finally:
        terminal.close()


def test_a_terminal_in_which_no_write_waits_is_waited_for(claude_home: ClaudeHome) -> None:
    """Another program has left it in that mode; what did not fit was lost, and no picture and no end came after."""
    no_wait = "import os, sys; os.set_blocking(2, False); os.execv(sys.executable, sys.orig_argv[:1] + sys.argv[1:])"
    argv = [sys.executable, "-c", no_wait, "-m", "hermes_tui"]
    terminal = Terminal(argv, home=claude_home.home, size=(200, 60))
    try:
        terminal.until("40 sessions")
        for _ in range(30):  # and nobody reads
            terminal.send("\x1b[6~\x1b[5~")
            time.sleep(0.05)
        terminal.send("?")
        terminal.until("esc back  : palette")
        terminal.send("\x11")
        assert terminal.wait() == 0
        assert terminal.mode() == terminal.before
    finally:
        terminal.close()
    assert not list(claude_home.home.rglob("*.log"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_reader_that_stalls_cannot_keep_it(start: Start, number: signal.Signals) -> None:
    """Nobody reads: the program's writes fill the terminal's buffer, and its event loop stands still."""
    terminal = start(size=(200, 60))
    for _ in range(60):
        terminal.send("\x1b[6~T")
        time.sleep(0.05)
    terminal.signal(number)
    assert terminal.wait(read=False) == 128 + number
    assert terminal.mode() == terminal.before


def test_no_colour_means_none(start: Start) -> None:
    terminal = start(size=(160, 48), variables={"NO_COLOR": "1"})
    terminal.until("Answer 29")
    terminal.send("jj\t?")
    terminal.until("pgdn ctrl+f")
    terminal.quiet()
    attributes: set[int] = set()
    colours = []
    for parameters in re.findall(rb"\x1b\[([0-9;:]*)m", bytes(terminal.received)):
        numbers = [int(part) for part in re.split(rb"[;:]", parameters) if part]
        attributes.update(numbers)
        colours += [number for number in numbers if 30 <= number <= 38 or 40 <= number <= 48 or 90 <= number <= 107]
    assert colours == []
    assert 7 in attributes, "the cursor is not to be seen"


def test_without_the_mouse_no_mouse_mode_is_asked_for(claude_home: ClaudeHome, start: Start) -> None:
    terminal = Terminal([sys.executable, "-m", "hermes_tui", "--no-mouse"], home=claude_home.home)
    try:
        terminal.until("40 sessions")
        assert b"\x1b[?1000h" not in terminal.received
        terminal.send("q")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert b"\x1b[?1000h" in start().received


def test_a_dumb_terminal_is_refused(claude_home: ClaudeHome) -> None:
    terminal = Terminal([sys.executable, "-m", "hermes_tui"], home=claude_home.home, variables={"TERM": "dumb"})
    try:
        assert terminal.wait() == 2
        assert b"\x1b[" not in terminal.received
    finally:
        terminal.close()


SLOW = """
import pathlib, sys, time
from hermes_tui.sessions.catalogue.catalogue import Catalogue
first = Catalogue.refresh
def refresh(self, agents=None, **options):
    if options.get("again") and self.snapshot.places:  # asked for by a key
        pathlib.Path.home().joinpath("hangs").touch()
        time.sleep(600)
    return first(self, agents, **options)
Catalogue.refresh = refresh
from hermes_tui.tui.run import run_app
from hermes_tui.config import Config
sys.exit(run_app(Config()))
"""


@pytest.mark.parametrize("keys", ["q", "\x11"])
def test_quitting_waits_for_no_read(claude_home: ClaudeHome, keys: str) -> None:
    """A store that hangs (a network file system) must not keep the program from ending."""
    terminal = Terminal([sys.executable, "-c", SLOW], home=claude_home.home)
    try:
        terminal.until("40 sessions")
        terminal.send("\x12")  # ctrl+r: a look, which hangs
        terminal.until(lambda: (claude_home.home / "hangs").exists())
        terminal.send(keys)
        assert terminal.wait() == 0
    finally:
        terminal.close()


def test_a_paste_presses_no_keys(start: Start) -> None:
    """Escape sequences in pasted text are text: `q` behind one of them does not quit."""
    terminal = start()
    terminal.send("\x1b[200~one\x1b[31mq\x1bq/\x03two\x1b[201~")
    terminal.quiet()
    assert "↵ open" in terminal.text
    terminal.send("/")
    terminal.send("\x1b[200~n1\x1b[201~")
    terminal.until(" 11 of 40")
    terminal.send("\x11")
    assert terminal.wait() == 0


def test_bytes_that_are_no_text_are_survived(start: Start) -> None:
    """Line noise, or a terminal that sends Latin-1."""
    terminal = start()
    os.write(terminal.master, b"\xff\xfe/\xe4\xc3")
    terminal.until(" 0 of 40")
    terminal.quiet()
    terminal.send("\x1b")
    terminal.quiet()
    assert "↵ open" in terminal.text
    terminal.send("q")
    assert terminal.wait() == 0


def test_a_key_of_a_search_costs_few_bytes(start: Start) -> None:
    """Where the answer stays the same, only the box, the lit letters and the lines below the rows are painted."""
    terminal = start(size=(80, 24))
    terminal.quiet(4.0)
    terminal.send("/ses")
    terminal.until(" 40 of 40")
    terminal.quiet(1.5)
    for key in "sion":
        before = len(terminal.received)
        terminal.send(key)
        while not terminal.pump(0.1):
            pass  # nothing came yet
        terminal.quiet(1.5)
        assert 0 < len(terminal.received) - before < 6_000
    assert terminal.pump(3.0) == 0
