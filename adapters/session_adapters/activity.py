"""Where a conversation stands, by what its agent wrote last."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from session_adapters.model import JsonRecord, Message, ToolCall
from session_adapters.text import one_line

__all__ = ["QUESTIONS", "Activity", "Step", "activity_of", "limit_end", "steps_of_title"]

Step = Literal["working", "approval", "question", "done", "idle", "limited", "failed"]
"""`working`: the model or a tool is at it. `approval`: a tool waits for leave. `question`: the user was asked
something. `done`: the model's last word was said. `idle`: nothing is going on: an interrupted turn, or none yet.
`limited`: the provider refuses for a while. `failed`: a call failed and nothing came after it."""

QUESTIONS = frozenset(
    ("askuserquestion", "exitplanmode", "request_user_input", "ask_user", "question", "clarify", "askquestion")
)
"""Tools by which agents ask their users, in small letters."""

_WORDS = 200
_STOPPED = re.compile(r"interrupted|aborted|cancell?ed", re.IGNORECASE)
_LIMIT = re.compile(
    r"usage limit|rate.?limit|limit reached|hit your .*limit|out of extra usage|quota|too many requests|\b429\b",
    re.IGNORECASE,
)
_ARGUMENTS = ("command", "cmd", "question", "questions", "prompt", "file_path", "path", "url", "pattern", "query")
"""Those of a call that tell most, the best first."""


class Activity(JsonRecord, frozen=True):
    """The last step of a conversation. Only its record says so: whether the agent still runs is not known here."""

    step: Step
    since: datetime | None = None
    """When it came to stand there; UTC."""
    tool: str = ""
    """What runs, or waits for leave."""
    tools: tuple[str, ...] = ()
    """All that run together, where they are several."""
    begun: bool = False
    """All that run have begun (`ToolCall.begun`)."""
    text: str = ""
    """Its command, the question, the error, the prompt that is being answered, an answer's last line; one line."""
    until: datetime | None = None
    """When the limit ends, where that is recorded."""
    record: str = ""
    """The record that says so, in a few words."""
    kept: bool = False
    """The store says that it waits for its user, and needs no process for that."""


def activity_of(messages: Sequence[Message]) -> Activity:
    """The step that the newest messages tell; times are those of the messages. Empty: `idle`."""
    answered: datetime | None = None
    for message in reversed(messages):
        if message.visibility in ("rewound", "branch"):
            continue
        when = message.timestamp
        if message.kind == "error":
            step: Step = "limited" if _LIMIT.search(message.content[:_WORDS]) else "failed"
            until = limit_end(message.content, when) if step == "limited" and when is not None else None
            return Activity(step=step, since=when, text=_line(message.content), until=until, record="an error")
        if message.kind == "notice" and _STOPPED.search(message.content[:_WORDS]):
            return Activity(step="idle", since=when, record="the turn was interrupted")
        if message.kind in ("compaction", "summary"):
            return Activity(step="idle", since=when, record="the conversation was summarised")
        if message.role == "tool" and message.tool_result is not None:
            answered = answered or when
        elif message.role == "assistant":
            return _of_reply(message, answered)
        elif message.is_prompt:
            text = _line(message.content)
            return Activity(step="working", since=answered or when, text=text, record="a prompt without an answer")
    return Activity(step="idle", record="nothing was asked yet")


def _of_reply(message: Message, answered: datetime | None) -> Activity:
    """What the model's last words say; `answered` is when the last result of a tool came after them."""
    waits = [call for call in message.tool_calls if call.output is None]
    if waits:  # a question to the user, or work
        return Activity(
            step="question" if _asks(waits[-1]) else "working",
            since=message.timestamp,
            tool=_line(waits[-1].tool_name),
            tools=tuple(_line(call.tool_name) for call in waits) if len(waits) > 1 else (),
            begun=all(call.begun for call in waits),
            text=_line(_most_telling(waits[-1].input)),
            record=f"a call of {_line(waits[-1].tool_name)} without a result",
        )
    if message.tool_calls and message.tool_calls[-1].is_error and _asks(message.tool_calls[-1]):
        return Activity(step="idle", since=answered or message.timestamp, record="a question that was dismissed")
    if message.tool_calls:
        text = _line(f"after {message.tool_calls[-1].tool_name} {_most_telling(message.tool_calls[-1].input)}")
        when = answered or message.timestamp
        return Activity(step="working", since=when, text=text, record="a result without an answer")
    if message.unfinished or not message.content:
        return Activity(step="working", since=message.timestamp, record="an answer that is not finished")
    last = message.content.rstrip().rpartition("\n")[2]
    return Activity(step="done", since=message.timestamp, text=_line(last), record="an answer")


def _asks(call: ToolCall) -> bool:
    return call.tool_name.lower() in QUESTIONS


def _most_telling(value: Any) -> str:
    """Of a call's arguments the one that says most."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for name in _ARGUMENTS:
            if value.get(name):
                return _most_telling(value[name])
        return _most_telling(next(iter(value.values()), ""))
    if isinstance(value, list | tuple) and value:
        if all(isinstance(one, str) for one in value):
            return " ".join(value)
        return _most_telling(value[0])
    return ""


def _line(text: str) -> str:
    return one_line(text, _WORDS)


# Limits --------------------------------------------------------------------------------------------------------

_LONGEST_ERROR = 2000
_EPOCH = re.compile(r"""limit reached\|(\d{10})\b|["']resets_at["']: ?(\d{10})\b""")
_AFTER = re.compile(
    r"(?:again|retry|resets?) (?:in|after) ((?:\d{1,6}(?:\.\d{1,9})? ?[dhms][a-z]*,? ?)+)", re.IGNORECASE
)
_PART = re.compile(r"([\d.]+) ?([dhms])", re.IGNORECASE)
_AT = re.compile(
    r"(?:resets?|again)(?: at)? (?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}),?)? ?(?:at )?)?"
    r"(\d{1,2})(?::(\d\d))? ?([ap])m\b(?: \(([A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,2})\))?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_LONGEST_LIMIT = timedelta(days=40)


def limit_end(error: str, since: datetime) -> datetime | None:
    """When a limit ends that was met at `since` (aware), as the error says: by the seconds of the epoch, after a
    while, or at a time of day, in the zone that is named or else in this machine's. UTC; None where it does not say.

    So Claude Code ("resets 8:30pm (Asia/Tokyo)", of a week "resets Jul 26, 5:59am", once "limit reached|1731952800"),
    Codex ("try again at 12:16 PM", "at Sep 13th, 2026 2:23 PM", once "in 2 days 17 hours", `resets_at`) and Gemini
    CLI ("retry in 32.5s", "reset after 5h12m")."""
    error = error[:_LONGEST_ERROR]
    try:
        if found := _EPOCH.search(error):
            end = datetime.fromtimestamp(int(found[1] or found[2]), UTC)
        elif found := _AFTER.search(error):
            parts = _PART.findall(found[1])
            end = since + timedelta(seconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in parts))
        elif found := _AT.search(error):
            end = _time_of_day(found, since)
        else:
            return None
    except (ValueError, KeyError, OverflowError, OSError):  # no such time, day or zone
        return None
    return end.astimezone(UTC) if since < end <= since + _LONGEST_LIMIT else None


def _time_of_day(found: re.Match[str], since: datetime) -> datetime:
    from zoneinfo import ZoneInfo  # few sessions have met a limit

    month, day, year, hour, minute, half, zone = found.groups()
    if not 1 <= int(hour) <= 12:
        raise ValueError(hour)
    here = since.astimezone(ZoneInfo(zone) if zone else None)
    end = here.replace(
        hour=int(hour) % 12 + 12 * (half in "pP"), minute=int(minute or 0), second=0, microsecond=0, fold=0
    )
    if month is None:
        return end if end > here else end + timedelta(days=1)
    end = end.replace(year=int(year or here.year), month=_MONTHS.index(month.lower()) + 1, day=int(day))
    return end if year or end > here else end.replace(year=end.year + 1)


# Titles --------------------------------------------------------------------------------------------------------

_WORKS: frozenset[Step] = frozenset(("working",))
_ASKS: frozenset[Step] = frozenset(("approval", "question"))
_RESTS: frozenset[Step] = frozenset(("done", "idle", "failed", "limited"))
_SPINNER = "[\u2800-\u28ff\u25d0-\u25d3]"

_RULES: Mapping[str, tuple[tuple[re.Pattern[str], frozenset[Step]], ...]] = {
    # Waiting for leave has the sign of rest, too.
    "claude": ((re.compile(rf"^{_SPINNER} "), _WORKS), (re.compile("^\u2733 "), _RESTS | _ASKS)),
    "codex": ((re.compile(r"\bAction Required\b"), _ASKS), (re.compile(rf"^{_SPINNER} "), _WORKS)),
    # The hand stands also for a shell command that seems to wait for input.
    "gemini": ((re.compile("^\u270b"), _ASKS), (re.compile("^\u2726"), _WORKS), (re.compile("^\u25c7"), _RESTS)),
    "hermes": ((re.compile("^\u26a0"), _ASKS), (re.compile("^\u23f3"), _WORKS), (re.compile("^\u2713"), _RESTS)),
}


def steps_of_title(agent: str, title: str) -> frozenset[Step]:
    """The steps that the title of an agent's terminal allows; empty where it says nothing.

    As the programs write it: Claude Code 2.1, Codex 0.169 and Gemini CLI 0.61 were run, Hermes' is as reported.
    Titles can be switched off or changed in an agent's settings."""
    return next((steps for rule, steps in _RULES.get(agent, ()) if rule.search(title)), frozenset())
