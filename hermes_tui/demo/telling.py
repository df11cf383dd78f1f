"""How a tale is told: one step after the other, each with its time, its tokens and a seed for its ids.

The agents' rooms differ only in what they write for a step. A step's time depends on the tale alone, its last one is
`tale.ago` before `now`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Reply, Tale, Turn, number

__all__ = ["Answer", "Called", "Prompt", "Result", "Step", "Usage", "helper_tale", "steps"]


class Usage(NamedTuple):
    """Tokens of one model call; none stands in two fields."""

    fresh: int
    read: int
    """Input read from the cache."""
    written: int
    """Input written to the cache."""
    output: int
    """All that the model wrote, with `reasoning`."""
    reasoning: int

    @property
    def input(self) -> int:
        """All input."""
        return self.fresh + self.read + self.written

    @property
    def total(self) -> int:
        return self.input + self.output

    def plus(self, other: Usage) -> Usage:
        """The sum, field by field."""
        return Usage(*(one + more for one, more in zip(self, other, strict=True)))

    def dollars(self) -> dict[str, float]:
        """What it costs, by kind and in `total`."""
        rates = {"input": (self.fresh, 3.0), "output": (self.output, 15.0)}
        rates |= {"cacheRead": (self.read, 0.3), "cacheWrite": (self.written, 3.75)}
        costs = {name: round(tokens * rate / 1e6, 8) for name, (tokens, rate) in rates.items()}
        return {**costs, "total": round(sum(costs.values()), 8)}


class Prompt(NamedTuple):
    """The human speaks."""

    text: str


class Called(NamedTuple):
    """A use of a tool. `seed` is the same where it is asked for and where its result stands."""

    seed: str
    call: Call | Helper


class Answer(NamedTuple):
    """The model speaks; `calls` are followed by their results."""

    thinking: str
    text: str
    calls: tuple[Called, ...]
    usage: Usage


class Result(NamedTuple):
    """A tool has run."""

    called: Called
    seconds: float


class Step(NamedTuple):
    """Something that happens in a session. No two steps of the demo have the same `seed`."""

    at: datetime
    seed: str
    event: Prompt | Answer | Result | Compaction | Failure


_HELPER_SECONDS = 9.0


def steps(tale: Tale, now: datetime) -> list[Step]:
    """All steps of `tale`; the last one is `tale.ago` before `now`."""
    teller = _Teller(tale, now)
    for turn in tale.turns:
        teller.turn(turn)
    shift = now - tale.ago - teller.at
    return [step._replace(at=step.at + shift) for step in teller.told]


def helper_tale(tale: Tale, helper: Helper, ago: timedelta) -> Tale:
    """What the helper did, as a session of its own."""
    turn = Turn(prompt=helper.prompt, replies=(Reply(calls=(helper.call,)), Reply(text=helper.answer)))
    return Tale(
        slug=f"{tale.slug} {helper.task}",
        title=helper.task,
        project=tale.project,
        branch=tale.branch,
        model=tale.model,
        turns=(turn,),
        ago=ago,
    )


class _Teller:
    """Where a tale has got to."""

    def __init__(self, tale: Tale, at: datetime) -> None:
        self.at = at
        self.told: list[Step] = []
        self._slug = tale.slug
        self._context = 0

    def turn(self, turn: Turn) -> None:
        replies = list(turn.replies)
        while replies and isinstance(replies[0], Compaction):
            self._step(20, replies.pop(0))
        self._step(number(25, 240, self._slug, len(self.told)), Prompt(turn.prompt))
        for reply in replies:
            self._step(number(2, 11, self._slug, len(self.told)), reply)

    def _step(self, seconds: float, event: Prompt | Result | Reply | Compaction | Failure) -> None:
        self.at += timedelta(seconds=seconds)
        seed = f"{self._slug}\x1f{len(self.told)}"
        if isinstance(event, Compaction):
            self._context = number(1500, 2600, seed)
        if not isinstance(event, Reply):
            self.told.append(Step(self.at, seed, event))
            return
        asked: tuple[Call | Helper, ...] = (*event.calls, event.helper) if event.helper else event.calls
        calls = tuple(Called(f"{seed}\x1f{index}", call) for index, call in enumerate(asked))
        self.told.append(Step(self.at, seed, Answer(event.thinking, event.text, calls, self._usage(event, seed))))
        for called in calls:
            took = _HELPER_SECONDS if isinstance(called.call, Helper) else called.call.seconds
            self._step(took, Result(called, took))

    def _usage(self, reply: Reply, seed: str) -> Usage:
        read, written = self._context, number(150, 1900, seed)
        self._context += written
        reasoning = len(reply.thinking) // 3
        output = 18 + len(reply.text) // 3 + 45 * len(reply.calls) + reasoning
        return Usage(number(3, 40, seed), read, written, output, reasoning)
