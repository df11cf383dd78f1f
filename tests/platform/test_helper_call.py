"""A call in a process of its own: what it gives, what it says, how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.errors import HermesTuiError, SessionNotFound
from hermes_tui.platform.atomic_write import replacing
from hermes_tui.platform.helper_call import HelperCall, in_helper


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions below are found by the other process, too."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))))


def where(numbers: list[int], name: str) -> tuple[int, list[int], str]:
    print("as a third party's reader may", flush=True)
    return os.getpid(), numbers[::-1], name


def refused(code: str) -> None:
    raise SessionNotFound(f"there is no {code}")


def broken() -> None:
    raise KeyError("nowhere")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_slowly(path: Path) -> None:
    with replacing(path) as file:
        for _ in range(6000):
            file.write(b"a line\n")
            file.flush()
            time.sleep(0.01)


def wait_until(true: Callable[[], object]) -> None:
    while not true():
        time.sleep(0.01)


def test_it_is_done_in_another_process_and_the_answer_comes_back_whole() -> None:
    numbers = list(range(300_000))  # more than a pipe holds
    pid, answer, name = HelperCall(where, numbers, "né\udce9\0").result(60)
    assert (answer, name) == (numbers[::-1], "né\udce9\0")
    assert pid != os.getpid()


def test_what_it_raises_is_raised_here() -> None:
    with pytest.raises(SessionNotFound, match=r"^there is no 17$"):
        HelperCall(refused, "17").result(60)
    with pytest.raises(HermesTuiError, match=r"^it failed \(KeyError: 'nowhere'\)$"):
        HelperCall(broken).result(60)


def test_one_that_was_killed_or_has_no_answer_in_time_is_said() -> None:
    with pytest.raises(HermesTuiError, match=r"ended without an answer \(Killed\)"):
        HelperCall(killed).result(60)
    with pytest.raises(HermesTuiError, match=r"no answer after 0 seconds"):
        HelperCall(time.sleep, 60).result(0.1)


def test_whoever_leaves_ends_it_and_nothing_is_left_half_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    async def leave() -> None:
        task = asyncio.create_task(in_helper(write_slowly, folder / "file"))
        # Between a name and its first byte is a moment in which a signal leaves the name: the next writer sweeps it.
        await asyncio.to_thread(wait_until, lambda: any(file.stat().st_size for file in folder.iterdir()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(wait_until, lambda: not list(folder.iterdir()))

    asyncio.run(asyncio.wait_for(leave(), 50))  # it would write for a minute
