"""Everything that the command line says of a home, and how that differs from what plain readers say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from plain_session import Call, Plain, instant

__all__ = ["Dump", "differences", "disagreements", "dump_of", "figures"]

Row = dict[str, Any]
Run = Callable[..., Any]
"""Runs the command line and gives the JSON that it printed."""

_TOKENS = ("inputTokens", "outputTokens", "cachedTokens", "cacheWriteTokens", "thinkingTokens")
_BOUNDS = ("error", "messageCount", "model", "models", "partial", "tokens", "toolCallCount", "turnCount")
"""Of a session that was read in part these are what was seen of them, and the list says so."""
_ADDED = ("beside", "cost", "messages", "raw", "relevanceScore")
"""What a list may not know, a session has more of, or is no field of it."""


class Dump(NamedTuple):
    """One home."""

    quick: list[Row]
    """A list by one who never looked before: of long files their ends were read."""
    whole: list[Row]
    """A list for which every session was read in full."""
    shown: dict[str, Row]
    report: Row


def dump_of(run: Run, agent: str) -> Dump:
    """Ask the command line for all of it."""
    listing = ("sessions", "list", agent, "--limit", "1000", "--json")
    quick = run(*listing)
    report = run("cost", "report", "--group-by", "session", "--json")
    whole = run(*listing, "--sort", "turns")
    shown = {row["sessionId"]: run("sessions", "show", agent, row["sessionId"], "--format", "json") for row in whole}
    return Dump(quick, whole, shown, report)


def figures(tokens: Row | None) -> tuple[int, ...]:
    """As `plain_session.Tokens` has them."""
    return tuple((tokens or {}).get(name, 0) for name in _TOKENS)


def disagreements(dump: Dump) -> Iterator[str]:
    """Where list, show and report say different things."""
    by_id = {row["sessionId"]: row for row in dump.quick}
    if sorted(by_id) != sorted(row["sessionId"] for row in dump.whole) or len(by_id) != len(dump.quick):
        yield f"listed at once {sorted(by_id)}, in full {sorted(row['sessionId'] for row in dump.whole)}"
    for row in dump.whole:
        own = row["sessionId"]
        shown, quick = dump.shown[own], by_id.get(own, row)
        unknown = (*_ADDED, *_BOUNDS) if quick.get("partial") else _ADDED
        for one, skipped in ((row, _ADDED), (quick, unknown)):
            for name in (one.keys() | shown.keys()) - set(skipped):
                if one.get(name) != shown.get(name):
                    yield f"{own} {name}: listed {one.get(name)!r}, shown {shown.get(name)!r}"
        spent = figures(dump.report["breakdowns"].get(row["unifiedId"]))
        if figures(row.get("tokens")) != spent:
            yield f"{own} tokens: listed {figures(row.get('tokens'))}, reported {spent}"
    total = tuple(map(sum, zip(*(figures(row.get("tokens")) for row in dump.whole), strict=True)))
    if total != figures(dump.report):
        yield f"tokens of the list {total}, of the report {figures(dump.report)}"


def differences(plain: list[Plain], dump: Dump) -> Iterator[str]:
    """What is said otherwise than the plain reader says: session, field, expected, said."""
    listed = {row["sessionId"]: row for row in dump.whole}
    expected = {one.session_id: one for one in plain}
    if len(expected) != len(plain):
        yield "the plain reader has a session twice"
    for own in sorted(listed.keys() ^ expected.keys()):
        yield f"{own}: {'not listed' if own in expected else 'listed, but not there'}"
    for own in sorted(listed.keys() & expected.keys()):
        one = expected[own]
        report = dump.report["breakdowns"].get(listed[own]["unifiedId"], {})
        pairs = [*_facts(one, listed[own]), *_sums(one, listed[own], dump.shown[own], report)]
        pairs += _talk(one, dump.shown[own])
        yield from (f"{own} {name}: expected {want!r:.200}, said {got!r:.200}" for name, want, got in pairs)


Pair = tuple[str, Any, Any]


def _facts(one: Plain, row: Row) -> Iterator[Pair]:
    title = _line(one.title)
    if title != row["title"] and not (len(title) > 100 and row["title"] and title.startswith(row["title"])):
        yield "title", title, row["title"]
    times = [moment for said in one.said if (moment := instant(said.when))]
    newest = instant(one.updated) or max(times, default=None)
    for name, want in (("createdAt", instant(one.created)), ("updatedAt", newest)):
        if want is not None and want != instant(row[name]):
            yield name, want, row[name]
    wanted: Row = {"cwd": one.cwd, "gitBranch": one.branch, "parentId": one.parent}
    wanted |= {"kind": None if one.kind == "session" else one.kind}
    wanted |= {"forkedFrom": one.parent if one.kind == "fork" else None}
    wanted |= {"archived": one.archived or None, "live": one.live or None}
    yield from ((name, want, row.get(name)) for name, want in wanted.items() if want != row.get(name))
    own = one.said[one.copied :]
    models = Counter(one.models if one.models is not None else (said.model for said in own if said.model))
    copied = {said.model for said in one.said[: one.copied] if said.model and said.role == "assistant"}
    if set(models) | set(one.models_beside) | copied != set(row.get("models", ())):
        yield "models", models, row.get("models")
    elif models and models[row["model"]] != max(models.values()):
        yield "model", models, row["model"]


def _sums(one: Plain, row: Row, shown: Row, report: Row) -> Iterator[Pair]:
    calls = sum(len(said.calls) for said in one.said)
    counts = (("messageCount", len(one.said)), ("toolCallCount", calls))
    yield from ((name, want, row.get(name)) for name, want in counts if want != row.get(name, 0))
    for name, tokens in (("tokens", row.get("tokens")), ("tokens reported", report)):
        if one.tokens != figures(tokens):
            yield name, one.tokens, figures(tokens)
    cost = shown.get("cost")
    if one.cost is None:
        if cost and not cost.get("estimated"):
            yield "cost", None, cost
        return
    for name, usd in (("cost", cost and cost["totalUsd"]), ("cost reported", report.get("totalUsd"))):
        if usd is None or abs(usd - one.cost) > 1e-9:
            yield name, one.cost, usd


def _talk(one: Plain, shown: Row) -> Iterator[Pair]:
    roles = Counter(said.role for said in one.said)
    said_roles = Counter(message["role"] for message in shown["messages"])
    if roles != said_roles:
        yield "messages per role", dict(roles), dict(said_roles)
        return
    for role in ("user", "assistant"):
        wanted = [said.text for said in one.said if said.role == role]
        given = [message["content"] for message in shown["messages"] if message["role"] == role]
        pairs = zip(wanted, given, strict=True)
        yield from ((role, want, got) for want, got in pairs if want is not None and want.strip() != got.strip())
    system = Counter(said.text.strip() for said in one.said if said.role == "system" and said.text)
    missing = system - Counter(message["content"].strip() for message in shown["messages"])
    if missing:
        yield "system", missing, None
    calls = [call for said in one.said for call in said.calls]
    made = [call for message in shown["messages"] for call in message.get("toolCalls", ())]
    if len(calls) != len(made):
        yield "calls", len(calls), len(made)
    else:
        yield from (pair for want, got in zip(calls, made, strict=True) for pair in _call(want, got))


def _call(want: Call, got: Row) -> Iterator[Pair]:
    if (want.name, want.arguments) != (got["toolName"], got.get("input")):
        yield "call", want, got
    if _result(want.result) != _result(got.get("output")):
        yield "result", want.result, got.get("output")
    if want.failed is not None and want.failed != got.get("isError", False):
        yield "failure", want, got.get("isError")


def _result(value: Any) -> Any:
    """Its text where it is text; how the pieces of a result are put together is up to whoever shows it."""
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        value = " ".join(part["text"] for part in value)
    return " ".join(value.split()) if isinstance(value, str) else json.loads(json.dumps(value))


def _line(text: str) -> str:
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
