"""Lists in the arguments of a tool call: steps of a plan, questions, tasks.

They are told by their shape: a step has a text and a status, a question its options, a task what is to be done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from hermes_tui.display import counted

__all__ = ["AskedQuestion", "PlanStep", "progress", "questions_in", "several", "steps_in", "tasks_in"]

_TEXTS = ("content", "step", "description", "subject", "title", "text", "task")
_STATES = {
    **dict.fromkeys(("completed", "complete", "done"), "done"),
    **dict.fromkeys(("in_progress", "inprogress", "active", "doing"), "now"),
    **dict.fromkeys(("cancelled", "canceled", "abandoned", "skipped"), "dropped"),
}
_SIGNS = {"done": "✓ done   ", "now": "● now    ", "open": "○ open   ", "dropped": "✗ dropped"}
_WRITTEN = re.compile(r"^[ \t]*[-*] \[([ xX~/-])\] (.*)$", re.MULTILINE)
_MARKS = {"x": "done", "X": "done", "~": "now", "/": "now", "-": "dropped"}


class PlanStep(NamedTuple):
    """A step of a plan."""

    state: str
    """`done`, `now`, `open` or `dropped`."""
    text: str

    def __str__(self) -> str:
        return f"{_SIGNS[self.state]}  {self.text}"


class AskedQuestion(NamedTuple):
    """A question to the user."""

    text: str
    options: Sequence[tuple[str, str]]
    """What was offered: its label, and what is said of it."""
    answer: str
    """What the user said; empty where nothing tells."""

    def __str__(self) -> str:
        chosen = {part.strip() for part in self.answer.split(",")} | {self.answer}
        rows = [
            f"  {'●' if name in chosen else '○'} {name}{f'  {said}' if said else ''}" for name, said in self.options
        ]
        return "\n".join((self.text, *rows, *([f"  → {self.answer}"] if self.answer else ())))


def steps_in(value: Any) -> Sequence[PlanStep]:
    """The steps of a list, where every entry is one; those of a list in Markdown (`- [x] …`)."""
    if isinstance(value, str):
        return [PlanStep(_MARKS.get(mark, "open"), text) for mark, text in _WRITTEN.findall(value[:100_000])]
    found: list[PlanStep] = []
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, Mapping) or not isinstance(one.get("status"), str):
            return ()
        text = _first(one, _TEXTS)
        if not text:
            return ()
        state = one["status"].lower().removeprefix("todo_status_").replace("-", "_")
        found.append(PlanStep(_STATES.get(state, "open"), text))
    return found


def progress(steps: Sequence[PlanStep]) -> str:
    """`2 of 5 done · now: Write docs`."""
    wanted = [step for step in steps if step.state != "dropped"]
    done = sum(step.state == "done" for step in wanted)
    doing = next((step for step in wanted if step.state == "now"), None)
    following = doing or next((step for step in wanted if step.state == "open"), None)
    after = f" · {'now' if doing else 'next'}: {following.text}" if following else ""
    return f"{done} of {len(wanted)} done{after}"


def questions_in(value: Any, output: str) -> Sequence[AskedQuestion]:
    """The questions of a list, each with the answer that the result tells; none where an entry is no question."""
    found: list[AskedQuestion] = []
    for asked in value if isinstance(value, list) else ():
        if not isinstance(asked, Mapping) or not isinstance(asked.get("question"), str):
            return ()
        offered = asked.get("options")
        options = [
            (_first(one, ("label", "title", "value")), _first(one, ("description",)))
            if isinstance(one, Mapping)
            else (str(one), "")
            for one in (offered if isinstance(offered, list) else ())
        ]
        text = asked["question"]
        found.append(AskedQuestion(text, options, _answer(text, str(asked.get("id", "")), output)))
    return found


def _answer(question: str, name: str, output: str) -> str:
    """Claude Code writes `"question"="answer"`, Codex an object with the answers by the question's name."""
    _, found, rest = output.partition(f'"{question}"="')
    if found:
        return rest.partition('"')[0]
    try:
        given = msgspec.json.decode(output, type=_Answers).answers.get(name) if output.startswith("{") else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        return ""
    return ", ".join(given.answers) if given is not None else ""


class _Given(msgspec.Struct):
    answers: list[str] = []


class _Answers(msgspec.Struct):
    answers: dict[str, _Given] = {}


def tasks_in(value: Any) -> Sequence[str]:
    """What each helper of a list is to do: a short name and the task itself, as far as they are told."""
    found: list[str] = []
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, Mapping):
            return ()
        name, task = _first(one, ("description", "title")), _first(one, ("assignment", "task", "prompt"))
        if not (name or task):
            return ()
        found.append("\n".join(part for part in dict.fromkeys((name, task)) if part))
    return found


def several(texts: Sequence[str], noun: str) -> str:
    """The first, and how many there are where that is more than one."""
    first = texts[0].partition("\n")[0]
    return first if len(texts) == 1 else f"{counted(len(texts), noun)} · {first}"


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((value[key] for key in keys if isinstance(value.get(key), str) and value[key].strip()), "")
