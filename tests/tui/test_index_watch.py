"""The thread that keeps the search index up to date: asks while there is something to do, and says how far it is."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from hermes_tui.sessions.index.service import Progress
from hermes_tui.tui.workers import index_refresh
from hermes_tui.tui.workers.index_refresh import IndexWatch, progress_words


def progress(prose: int = 0, everything: int = 0, *, running: bool = True, sources: int = 200) -> Progress:
    return Progress(
        state="complete" if sources == everything else "partial",
        path="i.db",
        size=1,
        running=running,
        sources=sources,
        prose=prose,
        everything=everything,
    )


class Service:
    """Answers from a list, and says when it was used up."""

    def __init__(self, steps: Sequence[tuple[float | None, Progress]]) -> None:
        self.steps = list(steps)
        self.poked = 0
        self.closed = False
        self.through = threading.Event()
        self.looked_at = threading.Event()
        self.index = self
        self.rests = 0

    def rest(self) -> None:
        self.rests += 1

    def poke(self) -> float | None:
        self.poked += 1
        again, self.now = self.steps.pop(0)
        if not self.steps:
            self.steps.append((None, self.now))
            self.through.set()
        return again

    def progress(self) -> Progress:
        self.looked_at.set()
        return self.now

    def close(self) -> None:
        self.closed = True


def test_it_says_how_far_the_index_is_and_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_refresh, "PAUSE", 0.0)
    half, tools, rest = progress(100), progress(200, 50), progress(200, 200)
    service = Service([(5.0, half), (5.0, half), (5.0, tools), (0.0, rest), (None, rest)])
    said: list[str] = []
    quiet = threading.Event()

    def told(words: str) -> None:
        said.append(words)
        if not words:
            quiet.set()

    watch = IndexWatch(lambda: service, told)  # type: ignore[arg-type, return-value]
    watch.look()
    assert service.through.wait(60)
    assert quiet.wait(60)
    assert said == ["indexing 50 %", "indexing tools 25 %", ""]
    poked = service.poked
    service.through.clear()
    service.steps = [(None, rest)]
    watch.look()
    assert service.through.wait(60)
    assert service.poked == poked + 1
    watch.stop()
    assert service.closed


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (progress(0, sources=-1), "indexing"),
        (progress(0), "indexing 0 %"),
        (progress(199), "indexing 99 %"),
        (progress(200), "indexing tools 0 %"),
        (progress(200, 200), ""),
        (progress(50, running=False), ""),
    ],
)
def test_words(shown: Progress, words: str) -> None:
    assert progress_words(shown) == words


@pytest.mark.parametrize(("seconds", "rests"), [(0.0, 1), (3600.0, 0)])
def test_while_the_index_is_written_to_its_pages_are_let_go_of_now_and_then(
    seconds: float, rests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_refresh, "LET_GO_AFTER", seconds)
    service = Service([(None, progress(200, 200))])
    watch = IndexWatch(lambda: service, lambda words: None)  # type: ignore[arg-type, return-value]
    watch.look()
    assert service.looked_at.wait(60)
    watch.stop()
    assert service.rests == rests
