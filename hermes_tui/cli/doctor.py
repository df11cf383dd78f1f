"""`hermes-tui doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

import click

from hermes_tui.cli import stdout
from hermes_tui.cli.home_option import hurry, manager_of, mention_the_unread
from hermes_tui.display import counted, duration, safe
from hermes_tui.errors import HermesTuiError

if TYPE_CHECKING:
    from hermes_tui.lifecycle.gateway.process import Gateway
    from hermes_tui.sessions.doctor import DoctorReport
    from session_adapters.model import Problem

__all__ = ["doctor"]

_PLACES = 3
"""Damaged places of one file that are written out."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Say where sessions are looked for, how many there are, and what cannot be read and why.

    Every session is read in full once; nothing is changed.
    """
    from hermes_tui.attention.delivery import passthrough_problem

    manager = manager_of(context.find_root().obj.home)
    hurry(manager)
    report = manager.doctor()
    mention_the_unread(manager)
    manager.catalogue.close()
    if as_json:
        stdout.write_json(report)
    else:
        stdout.write("".join(f"{line}\n" for line in _lines(report, datetime.now(UTC))))
        try:
            problem = passthrough_problem(context.find_root().obj.config().attention.notify, os.environ)
        except HermesTuiError as error:  # wrong settings: the rest holds all the same
            problem = str(error)
        if problem:
            stdout.write(f"! {safe(problem)}\n")


def _lines(report: DoctorReport, now: datetime) -> Iterator[str]:
    yield f"hermes-tui {report.version}"
    for health in report.agents:
        yield ""
        incomplete = f", {health.incomplete} read only at their ends" if health.incomplete else ""
        counts = f"{counted(health.sessions, 'session')}, {counted(health.messages, 'message')}{incomplete}"
        yield f"{safe(health.label)} ({safe(health.agent)}): {counts}"
        for place in health.places:
            note = " · ".join(part for part in (place.layout, place.profile and f"profile {place.profile}") if part)
            there = "found " if place.exists else "absent"
            yield f"  {there}  {safe(place.path)}{f'  ({safe(note)})' if note else ''}"
        for gateway in health.gateways:
            yield f"  gateway: {_gateway(gateway, now)}  {safe(gateway.home)}"
        yield from _problems(health.problems)
    yield ""
    yield "Our own directories"
    for directory in report.directories:
        state = "" if directory.writable or directory.purpose == "styles" else "  (cannot be written)"
        absent = "" if directory.exists else "  (not there yet)"
        yield f"  {directory.purpose:14} {safe(directory.path)}{absent}{state}"
    if report.problems:
        yield ""
        yield from _problems(report.problems)
    yield ""
    yield counted(report.problem_count, "problem") if report.problem_count else "No problems."


def _gateway(gateway: Gateway, now: datetime) -> str:
    if gateway.state == "unknown":
        return f"unknown, {safe(gateway.reason)}"
    if gateway.state == "stopped":
        return "not running"
    details = [f"pid {gateway.pid}"] if gateway.pid else []
    if gateway.since:
        since = gateway.since.astimezone().strftime("%Y-%m-%d %H:%M")
        details.append(f"since {since}, up {duration(now - gateway.since)}")
    return f"running ({', '.join(details)})" if details else "running"


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """A line each; of a file with many damaged places the first few and how many more."""
    for path, group in groupby(problems, key=lambda problem: problem.path):
        found = list(group)
        for problem in found[: _PLACES if path else None]:
            where = ", ".join(part for part in (problem.path, problem.place) if part)
            yield f"  ! {safe(where)}: {safe(problem.reason)}" if where else f"  ! {safe(problem.reason)}"
        if path and len(found) > _PLACES:
            rest = counted(len(found) - _PLACES, "more place")
            yield f"  ! {safe(path)}: {rest} (all of them: --json)"
