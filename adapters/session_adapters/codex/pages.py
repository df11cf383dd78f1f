"""How the pages of a Codex rollout are joined: whatever the cut between two went through is made whole, so that
pages give what one pass gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from session_adapters.codex.tokens import HIDDEN_CALL, PendingUsage
from session_adapters.model import Message

if TYPE_CHECKING:
    from session_adapters.codex.messages import CodexBuilder

__all__ = ["is_summary_call", "prompt_of", "settle"]


def prompt_of(item: Message, text: str) -> Message:
    """An item of role user that turned out to be typed by the human, with the text of its event."""
    return replace(item, kind="message", content=text or item.content)


def is_summary_call(message: Message, summary: str) -> bool:
    """Whether `message`, right above a compaction, is the reply that became its summary, or stands for one."""
    if message.content == HIDDEN_CALL:
        return True
    if message.role != "assistant" or message.tool_calls:
        return False
    said = message.content.strip()
    return bool(said) and said in summary


def settle(front: CodexBuilder, back: CodexBuilder) -> None:
    """Prepare `back` for having `front` put before it."""
    _settle_usage(front, back)  # first: it comes between what is to be joined
    _join(front, back)
    if front.model is not None:
        for index, message in enumerate(back.messages):
            if message.model is None and _has_model(message):
                back.messages[index] = replace(message, model=front.model)
    back.model = back.model or front.model
    back.cwd = back.cwd or front.cwd
    back.newest = max((time for time in (front.newest, back.newest) if time is not None), default=None)
    back.baseline = front.baseline or back.baseline
    back.total = back.total or front.total
    back.contexts = list(dict.fromkeys((*front.contexts, *back.contexts)))
    back.metas = [*front.metas, *back.metas]
    back.leading = front.leading if front.messages else back.leading
    back.from_start = front.from_start


def _has_model(message: Message) -> bool:
    return message.role == "assistant" or message.kind == "compaction" or message.content == HIDDEN_CALL


def _join(front: CodexBuilder, back: CodexBuilder) -> None:
    """One message, where the cut went through it."""
    if not front.messages or not back.messages:
        return
    above, below = front.messages[-1], back.messages[0]
    index = len(front.messages) - 1
    joined: Message | None = None
    if back.leading == "prompt" and front.candidate == index:
        joined = prompt_of(above, below.content)
    elif (
        (back.leading == "abort" and above.content.startswith(below.content))
        or (above.kind == below.kind == "error" and above.content == below.content)
        or (front.echo is not None and below.role == "user" and below.content == front.echo and above.is_prompt)
    ):
        joined = above
    elif back.leading == "reply" and above.role == "assistant" and above.content == below.content:
        joined = _same_reply(front, back, above, below)
    elif front.open == index and below.role == "assistant":
        joined = _one_reply(above, below)
    elif below.kind == "compaction" and not below.token_usage:
        joined = _spent(back, above, below)
    if joined is None:
        return
    back.leading = "" if index else front.leading
    front.drop({index})
    back.change(0, joined)
    back.answer(joined)


def _one_reply(above: Message, below: Message) -> Message | None:
    """The rules of `CodexBuilder._reply`: reasoning, then text, then calls."""
    filled = bool(above.content or above.tool_calls or above.attachments)
    if filled and (below.thinking or below.content or below.attachments):
        return None
    thinking = "\n\n".join(text for text in (above.thinking, below.thinking) if text)
    return replace(
        above,
        content=above.content or below.content,
        attachments=above.attachments or below.attachments,
        thinking=thinking or None,
        tool_calls=(*above.tool_calls, *below.tool_calls),
        token_usage=below.token_usage,
        usage_key=below.usage_key,
        timestamp=below.timestamp or above.timestamp,
    )


def _same_reply(front: CodexBuilder, back: CodexBuilder, above: Message, below: Message) -> Message | None:
    """`below` was made of the event of `above`, and perhaps of what followed."""
    if front.open is not None:
        return _one_reply(above, replace(below, content=""))
    if below.tool_calls or below.token_usage:
        back.change(0, replace(below, content=""))
        back.leading = ""
        return None
    back.open = None if back.open == 0 else back.open
    return above


def _spent(back: CodexBuilder, above: Message, below: Message) -> Message | None:
    """The compaction `below` with the tokens of the reply `above` that became its summary."""
    summary = back.messages[1].content if len(back.messages) > 1 and back.messages[1].kind == "summary" else ""
    if not is_summary_call(above, summary):
        return None
    return replace(below, token_usage=above.token_usage, usage_key=above.usage_key)


def _settle_usage(front: CodexBuilder, back: CodexBuilder) -> None:
    """Find the message that the first token figures of `back` belong to, if `front` tells."""
    pending = back.pending
    if pending is None:
        return
    if front.echoes(pending.total, pending.last):
        back.pending = None
    elif front.open is not None and all(message.role == "tool" for message in back.messages[: pending.place]):
        reply = replace(
            front.messages[front.open], token_usage=pending.call.token_usage, usage_key=pending.call.usage_key
        )
        front.change(front.open, reply)
        front.open = back.pending = None
    elif front.from_start or front.open is not None or front.total is not None or front.pending is not None:
        if not pending.repeats:
            _own_message(pending, back)
        back.pending = None
    # Else it waits for what is further up.


def _own_message(pending: PendingUsage, back: CodexBuilder) -> None:
    """The figures of a call that left no reply."""
    below = back.messages[pending.place] if pending.place < len(back.messages) else None
    if below is not None and below.kind == "compaction" and below.token_usage is None:
        spent = replace(below, token_usage=pending.call.token_usage, usage_key=pending.call.usage_key)
        back.change(pending.place, spent)
    else:
        back.insert(pending.place, pending.call)
