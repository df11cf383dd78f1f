"""One message as HTML: author, time, text; tool calls and thinking folded."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from hermes_tui.display import attachment_facts, compact
from hermes_tui.sessions.calls.arguments import arguments, label, target
from hermes_tui.sessions.calls.edits import edits
from hermes_tui.sessions.calls.outcome import facts, output_text
from hermes_tui.sessions.export.elements import Html, element, join
from hermes_tui.sessions.export.facts import cost_text, notes_of, tokens_text
from hermes_tui.sessions.export.images import ImagePlace, InlineImages, is_image
from hermes_tui.sessions.export.plain import line
from hermes_tui.sessions.export.richtext import rich_text
from session_adapters.model import Attachment, Message, ToolCall

__all__ = ["article", "is_shown_elsewhere"]

_ASIDE = ("notice", "command", "summary", "compaction")
_CLASSES = {"+": "add", "-": "del", "@": "file"}


def is_shown_elsewhere(message: Message) -> bool:
    """A result that stands with its call."""
    result = message.tool_result
    return message.role == "tool" and result is not None and result.linked and not message.attachments


def article(
    message: Message,
    before: Message | None,
    agent: str,
    number: int,
    anchor: str,
    images: InlineImages | None = None,
) -> Html:
    """The message with its anchor; where nothing of it is shown here, the anchor alone. `before` is the message shown
    above it."""
    if is_shown_elsewhere(message):
        return element("span", id=anchor)
    parts = [_header(message, before, agent, number, anchor), *_body(message, images)]
    if message.inherited is False and before is not None and before.inherited:
        parts.insert(0, element("div", "above: copied from the parent session", class_="parted"))
    classes = ["message", message.role]
    if message.visibility != "live" or message.inherited:
        classes.append("past")
    if message.kind == "error":
        classes.append("error")
    return element("article", *parts, id=anchor, class_=" ".join(classes))


def _header(message: Message, before: Message | None, agent: str, number: int, anchor: str) -> Html:
    who = {"user": "User", "system": "System", "tool": "Tool", "assistant": line(agent) or "Assistant"}[message.role]
    notes = list(notes_of(message))
    if message.model and (before is None or before.model != message.model):
        notes.append(line(message.model))
    if message.token_usage is not None and message.token_usage.total:
        notes.append(tokens_text(message.token_usage))
    if message.cost is not None:
        notes.append(cost_text(message.cost))
    return element(
        "header",
        element("span", who, class_="who"),
        *(element("span", note) for note in notes),
        element("a", f"#{number}", href=f"#{anchor}", class_="anchor"),
    )


def _body(message: Message, images: InlineImages | None) -> Iterator[Html]:
    if message.kind == "compaction":
        yield element("div", "compacted here: the agent no longer sees what is above", class_="parted")
    if message.thinking:
        yield _folded(
            element("summary", "thinking"), element("div", message.thinking, class_="thinking"), class_="thought"
        )
    if message.tool_result is not None and not message.tool_result.linked:
        result = message.tool_result
        output = result.output if result.output is not None else message.content
        yield _tool(
            ToolCall(
                tool_call_id=result.tool_call_id,
                tool_name=result.tool_name or "result",
                output=output,
                is_error=result.is_error,
            )
        )
    elif message.content:
        yield _said(message)
    for at, one in enumerate(message.attachments):
        yield _attachment(one, ImagePlace(message.id, at), images)
    for call in message.tool_calls:
        yield _tool(call)


def _attachment(one: Attachment, place: ImagePlace, images: InlineImages | None) -> Html:
    known = [line(part) for part in attachment_facts(one)]
    if images is None or not is_image(one):
        return element("p", f"[{', '.join(known)}]", class_="attachment")
    shown = images.shown(place)
    if isinstance(shown, str):
        return element("p", f"[{', '.join([*known, f'left out: {line(shown)}'])}]", class_="attachment")
    kind, data = shown
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    picture = element("img", src=source, alt=known[0], width=_pixels(one.width), height=_pixels(one.height))
    return element("figure", picture, element("figcaption", ", ".join(known)), class_="attachment")


def _pixels(number: int) -> str | None:
    return str(number) if number else None


def _said(message: Message) -> Html:
    said = element("div", rich_text(message.content), class_="said", dir="auto")
    if message.kind in _ASIDE or (message.role == "system" and message.kind == "message"):
        first = compact(message.content, 120)
        if len(first) < 100 and first == message.content.strip():
            return said  # folding would hide nothing: its heading would be all of it
        return _folded(element("summary", first, "…" if len(first) == 120 else ""), said)
    return said


def _tool(call: ToolCall) -> Html:
    """A call, or a result without one: what it was about in one line, arguments and output inside."""
    heading = element(
        "summary",
        element("span", label(call), class_="name"),
        " ",
        element("span", compact(target(call), 200), class_="target"),
        " ",
        element("span", " · ".join(facts(call)), class_="outcome"),
    )
    inside: list[Html] = []
    change = edits(call)
    for key, value in arguments(call):
        if change is None or key not in change.tells:
            inside += [element("div", key or "input", class_="key"), element("pre", value)]
    if change is not None:
        rows: list[Html] = []
        for mark, text in change.lines:
            row = f"{text}\n" if mark == "@" else f"{mark} {text}\n"
            rows.append(join(row) if mark == " " else element("span", row, class_=_CLASSES[mark]))
        inside += [element("div", "change", class_="key"), element("pre", *rows)]
    if call.subagent_id:
        inside.append(element("div", f"session of the helper: {line(call.subagent_id)}", class_="key"))
    if call.output is not None:
        inside += [element("div", "output", class_="key"), element("pre", output_text(call.output))]
    return _folded(heading, *inside, class_="tool failed" if call.is_error else "tool")


def _folded(heading: Html, *inside: Html, class_: str | None = None) -> Html:
    return element("details", heading, element("div", *inside, class_="inside"), class_=class_)
