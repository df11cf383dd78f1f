"""`hermes-tui sessions show`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.home_option import manager_of, mention_wrong_settings
from hermes_tui.cli.sessions.context import only_seen, strategy_option
from hermes_tui.cli.sessions.redact_option import redact_option, say_masked
from hermes_tui.cli.sessions.search import window_lines, window_records
from hermes_tui.cli.sessions.session_argument import get_named, split_name, summary_named

if TYPE_CHECKING:
    from hermes_tui.config import ContextWindow
    from hermes_tui.redact.redactor import Redactor

__all__ = ["show"]

_FORMATS = ("markdown", "json", "jsonl")


@click.command("show")
@click.argument("agent", metavar="AGENT")
@click.argument("session_id", metavar="ID", required=False)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="markdown", show_default=True, help="How to print it."
)
@click.option("--around", metavar="MESSAGE", help="Only this message and those around it.")
@click.option(
    "--window", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="So many on each side."
)
@click.option("--context", "seen", is_flag=True, help="Only what the agent still sees of it; says how much.")
@click.option(
    "--strategy",
    callback=strategy_option,
    metavar="NAME[:N]",
    help="With --context: as through buffer_window:N messages, token_window:N tokens or summary_buffer[:N].",
)
@click.option(
    "--system-prompt", is_flag=True, help="Only the system prompt that it began with, where Hermes keeps it."
)
@redact_option
@click.pass_context
def show(
    context: click.Context,
    /,
    agent: str,
    session_id: str | None,
    form: str,
    around: str | None,
    window: int,
    seen: bool,
    strategy: ContextWindow | None,
    system_prompt: bool,
    redactor: Redactor | None,
) -> None:
    """Print the session ID of AGENT.

    `agent:id` in one word does as well, and so does the beginning of an id if no other session's begins so.
    """
    if around is None and context.get_parameter_source("window") == ParameterSource.COMMANDLINE:
        raise click.UsageError("--window goes with --around MESSAGE", context)
    if around is not None and redactor is not None:  # its texts are cut, and half a key is not known for one
        raise click.UsageError("--redact goes with whole sessions, not with --around", context)
    if around is not None and (seen or strategy is not None):
        raise click.UsageError("--context and --strategy go with whole sessions, not with --around", context)
    if system_prompt and (around is not None or seen or strategy is not None or form != "markdown"):
        raise click.UsageError(
            "--system-prompt prints that text alone: of the options only --redact goes with it", context
        )
    manager = manager_of(context.find_root().obj.home)
    agent, session_id = split_name(manager, agent, session_id, context)
    if system_prompt:
        from hermes_tui.sessions.context.system_prompt import system_prompt as prompt_of
        from hermes_tui.sessions.export.plain import plain

        text = plain(prompt_of(summary_named(manager, agent, session_id)))
        stdout.write(f"{redactor.text(text) if redactor is not None else text}\n" if text else "")
        if not text:
            stderr.say("hermes-tui: no system prompt is kept for this session")
        say_masked(redactor)
        return
    if around is not None:
        summary = summary_named(manager, agent, session_id)
        found = manager.scroll(agent, summary.session_id, around, window=window)
        if form == "markdown":
            stdout.write("".join(f"{line}\n" for line in window_lines(found, datetime.now(UTC))))
        elif form == "jsonl":
            stdout.write(b"".join(window_records(found)))
        else:
            from hermes_tui.cli.sessions.document_names import message_window

            stdout.write_json(message_window(found, summary, window))
        return
    session = get_named(manager, agent, session_id)
    mention_wrong_settings(manager)
    if seen or strategy is not None:
        session = only_seen(manager, session, strategy)
    from hermes_tui.sessions import export as documents

    for part in documents.export(session, form, redactor=redactor):
        stdout.write(part)
    say_masked(redactor)
