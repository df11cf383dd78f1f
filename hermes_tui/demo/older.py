"""Many small older sessions, so that lists scroll and searches have something to leave out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from hermes_tui.demo.story import Call, Reply, Tale, Turn, number

__all__ = ["older_tales"]

_PLACES = {
    "shop": ("checkout", "cart", "receipts", "coupons", "tax table", "stock count", "search box", "mailer"),
    "blog": ("feed", "about page", "archive", "comment form", "image sizes", "dark theme", "site map", "drafts"),
    "pipeline": ("loader", "partitions", "retries", "schema check", "late events", "backfill", "metrics", "archiver"),
}
_TASKS = (
    (
        "Explain how the {place} works",
        "It has three parts: one reads, one decides, one writes. Start with the second.",
    ),
    ("Speed up the {place}", "Most of the time went into one query without an index. It takes 12 ms now, was 900."),
    ("Write tests for the {place}", "Eleven tests; one of them found a real fault, fixed in the same change."),
    ("Rename things in the {place}", "Renamed in 14 files. Nothing outside used the old names."),
    ("Why is the {place} slow on Mondays?", "The weekly report runs at the same hour and takes all connections."),
    ("Remove dead code from the {place}", "312 lines are gone; nothing imported them."),
    ("Document the {place}", "One page, with the two commands that people ask for."),
    ("Upgrade the library behind the {place}", "Two calls changed their names; the rest is the same."),
    ("Log less in the {place}", "From 40 lines per request to two."),
    ("Find the memory leak in the {place}", "A cache without a limit. It keeps 1,000 entries now."),
    ("Split the {place} into smaller files", "Five files, none over 200 lines; imports point one way."),
    ("Make the {place} work without JavaScript", "A plain form does; the script only saves a reload."),
)
_COMMANDS = ("git log --oneline -5", "ls -la", "git status --short", "rg -c TODO", "pytest -q")
_MODELS = ("claude-sonnet-4-6", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-4-6")


def older_tales(agent: str, count: int) -> Iterator[Tale]:
    """`count` sessions of two to ten messages, from two days to about four months old; newest first."""
    projects = tuple(_PLACES)
    minutes = 2 * 24 * 60
    for index in range(count):
        seed = (agent, "older", index)
        minutes += number(120, 2400, *seed, "gap")
        project = projects[number(0, 2, *seed, "project")]
        place = _PLACES[project][number(0, 7, *seed, "place")]
        task, answer = _TASKS[number(0, len(_TASKS) - 1, *seed, "task")]
        command = _COMMANDS[number(0, len(_COMMANDS) - 1, *seed, "command")]
        look = Reply(calls=(Call(kind="shell", target=command, output=f"{number(1, 400, *seed)} lines"),))
        turns = [Turn(prompt=task.format(place=place), replies=(look, Reply(text=answer)))]
        if number(0, 2, *seed, "more") == 0:
            turns.append(Turn(prompt="Thanks. Commit it.", replies=(Reply(text="Committed."),)))
        yield Tale(
            slug=f"older-{index}",
            title=task.format(place=place),
            project=project,
            branch="main" if number(0, 3, *seed, "branch") else place.replace(" ", "-"),
            model=_MODELS[number(0, 3, *seed, "model")],
            turns=tuple(turns),
            ago=timedelta(minutes=minutes),
        )
