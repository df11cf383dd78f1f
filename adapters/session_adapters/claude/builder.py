"""Claude Code's lines turned into messages, one line at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from msgspec.structs import replace

from session_adapters.claude.figures import token_usage
from session_adapters.claude.kept import settle_kept
from session_adapters.claude.records import (
    Block,
    Body,
    Record,
    Said,
    Source,
    UseResult,
    assistant_kind,
    block_text,
    damage,
    forked_from,
    line_cost,
    reply_key,
    system_said,
    user_said,
)
from session_adapters.files import Decoder, Line
from session_adapters.model import Attachment, Cost, Message, TokenUsage, ToolCall, ToolResult
from session_adapters.times import parse_time
from session_adapters.transcript import Builder

__all__ = ["ClaudeBuilder", "add_costs", "join_replies"]

_DECODER = Decoder(Record)


class ClaudeBuilder(Builder):
    """Makes messages of lines. The lines of one reply become one message, whatever stands between them, up to
    the next prompt; a record that was written twice counts once."""

    def __init__(self, *, subagent: bool = False) -> None:
        super().__init__()
        self._subagent = subagent
        self._replies: dict[str, int] = {}
        """Replies that a further line may belong to, by key: those since the last prompt."""
        self._before_prompt: dict[str, int] | None = None
        """Those before the first prompt, which may have begun on an earlier page; None while there is no prompt."""
        self._seen: set[str] = set()
        self._pieces: dict[int, list[tuple[str, Message]]] = {}
        """What each line gave to a reply, by the reply's index."""
        self._last_assistant: int | None = None
        self._early_costs: list[Cost] = []

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """Whether the line is a prompt."""
        if b'"user"' not in line or b'"tool_result"' in line or b'"isMeta":true' in line:
            return False
        try:
            record = _DECODER.one(line)
        except ValueError:
            return False
        if record.type != "user":
            return False
        blocks = _blocks(record)
        said = user_said(record, block_text(blocks), results=0, images=len(_attachments(blocks)))
        return said is not None and said.kind == "message"

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        records, lost = _DECODER.all(line.data)
        if lost and (reason := damage(line.data)):
            self.damaged.append((line.offset, reason))
        for number, record in enumerate(records):
            if record.is_sidechain and not self._subagent:
                continue
            uuid = record.uuid
            if uuid:
                if uuid in self._seen:
                    continue
                self._seen.add(uuid)
            place = uuid or (f"@{line.offset}.{number}" if number else f"@{line.offset}")
            self._take(record, place)

    def _take(self, record: Record, place: str) -> None:
        match record.type:
            case "user":
                self._user(record, place)
            case "assistant":
                self._assistant(record, place)
            case "system":
                if said := system_said(record):
                    self._add(record, place, "system", said)
            case "tool_use":
                self._plain_call(record, place)
            case "tool_result":
                result = ToolResult(
                    tool_call_id=record.tool_call_id or "",
                    tool_name=record.tool_name or "",
                    output=record.output if record.output is not None else record.content,
                    is_error=bool(record.is_error),
                )
                self._result(record, place, result, {})
            case "cost":
                if cost := line_cost(record):
                    self._cost(cost)

    # Pages -------------------------------------------------------------------------------------------------

    def meet(self, front: Builder) -> None:
        """See `Builder.meet`: replies that the cut went through, costs, and records that both pages hold."""
        if not isinstance(front, ClaudeBuilder):
            return
        gone = self._forget(front)
        for key, index in self._begun_before().items():
            target = front._replies.get(key)
            if target is not None and index not in gone:
                front.change(target, join_replies(front.messages[target], self.messages[index]))
                front._pieces[target] = front._pieces[target] + self._pieces[index]
                gone.add(index)
        self.drop(gone)
        for cost in self._early_costs:
            front._cost(cost)

    def prepend(self, front: Builder) -> None:
        """See `Builder.prepend`."""
        super().prepend(front)
        if not isinstance(front, ClaudeBuilder):
            return
        if self._before_prompt is None:
            self._replies = {**front._replies, **self._replies}
        if front._before_prompt is not None:
            self._before_prompt = front._before_prompt
        elif self._before_prompt is not None:
            self._before_prompt = {**front._replies, **self._before_prompt}
        if self._last_assistant is None:
            self._last_assistant = front._last_assistant
        self._pieces |= front._pieces
        self._seen |= front._seen
        self._early_costs = front._early_costs
        settle_kept(self.messages, self._pieces)

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        self._replies = _moved(self._replies, places)
        if self._before_prompt is not None:
            self._before_prompt = _moved(self._before_prompt, places)
        self._pieces = {place: pieces for i, pieces in self._pieces.items() if (place := places[i]) is not None}
        if self._last_assistant is not None:
            self._last_assistant = places[self._last_assistant]

    def _adopt(self, call: ToolCall) -> None:
        """Take over what a repetition of a call knows of its result."""
        place = self._calls.get(call.tool_call_id)
        if place is not None and call.output is not None:
            index, position = place
            calls = list(self.messages[index].tool_calls)
            calls[position] = call
            self.change(index, replace(self.messages[index], tool_calls=tuple(calls)))

    def _begun_before(self) -> dict[str, int]:
        return self._replies if self._before_prompt is None else self._before_prompt

    def _forget(self, front: ClaudeBuilder) -> set[int]:
        """Take out of the replies what the earlier page holds too; the messages of which nothing is left."""
        repeated = front._seen & self._seen
        gone: set[int] = set()
        for index, message in enumerate(self.messages if repeated else ()):
            pieces = self._pieces.get(index, [(message.id.partition("#")[0], message)])
            kept = [(place, piece) for place, piece in pieces if place not in repeated]
            if len(kept) == len(pieces):
                continue
            for call in message.tool_calls:
                front._adopt(call)
            if kept:
                self._pieces[index] = kept
                self.messages[index] = _whole_reply(kept, message)
            else:
                gone.add(index)
        return gone

    # One kind of line each ---------------------------------------------------------------------------------

    def _user(self, record: Record, place: str) -> None:
        blocks = _blocks(record)
        results = [block for block in blocks if isinstance(block, Block) and block.type == "tool_result"]
        names = iter((place, *(f"{place}#{number}" for number in range(1, len(results) + 1))))
        for block in results:
            result = ToolResult(
                tool_call_id=block.tool_use_id or "",
                output=_output(block.content),
                is_error=bool(block.is_error),
            )
            self._result(record, next(names), result, _call_facts(record) if len(results) == 1 else {})
        attachments = _attachments(blocks)
        said = user_said(record, block_text(blocks), results=len(results), images=len(attachments))
        if said is None:
            return
        if said.kind == "message":
            if self._before_prompt is None:
                self._before_prompt = dict(self._replies)
            self._replies.clear()
        self._add(record, next(names), "user", said, attachments)

    def _assistant(self, record: Record, place: str) -> None:
        body = record.message if isinstance(record.message, Body) else None
        blocks = _blocks(record)
        model = (body.model if body else None) or record.model
        kind = assistant_kind(record, model)
        key = reply_key(record, body) or place
        usage = token_usage((body.usage if body else None) or record.usage)
        piece = Message(
            role="assistant",
            content=block_text(blocks),
            id=key,
            kind=kind,
            timestamp=parse_time(record.timestamp),
            thinking=_thinking(blocks),
            tool_calls=tuple(_calls(blocks)),
            token_usage=usage,
            model=model if model != "<synthetic>" else None,
            attachments=_attachments(blocks),
            inherited=forked_from(record) is not None and record.uuid is not None,
            usage_key=key if usage else "",
            cost=Cost.of(usage or TokenUsage(), record.cost_usd) if record.cost_usd is not None else None,
        )
        index = self._replies.get(key)
        if index is None:
            index = self._replies[key] = self.add(piece)
        else:
            self.change(index, join_replies(self.messages[index], piece))
        self._pieces.setdefault(index, []).append((place, piece))
        self._last_assistant = index

    def _plain_call(self, record: Record, place: str) -> None:
        call = ToolCall(
            tool_call_id=record.tool_call_id or place,
            tool_name=record.tool_name or "",
            input=record.input,
            output=record.output,
            is_error=bool(record.is_error),
            duration_ms=_whole(record.duration_ms),
        )
        message = Message(role="assistant", id=place, timestamp=parse_time(record.timestamp), tool_calls=(call,))
        self._last_assistant = self.add(message)

    def _result(self, record: Record, place: str, result: ToolResult, facts: Mapping[str, Any]) -> None:
        linked = self.link(result, **facts)
        self.add(
            Message(
                role="tool",
                id=place,
                timestamp=parse_time(record.timestamp),
                tool_result=linked,
                inherited=forked_from(record) is not None,
            )
        )

    def _add(
        self, record: Record, place: str, role: Any, said: Said, attachments: tuple[Attachment, ...] = ()
    ) -> None:
        self.add(
            Message(
                role=role,
                content=said.text,
                id=place,
                kind=said.kind,
                timestamp=parse_time(record.timestamp),
                attachments=attachments,
                inherited=forked_from(record) is not None,
                kept_from=said.kept_from,
            )
        )
        if said.kept_from:
            settle_kept(self.messages, self._pieces)

    def _cost(self, cost: Cost) -> None:
        index = self._last_assistant
        if index is None:
            self._early_costs.append(cost)
            return
        message = self.messages[index]
        self.change(index, replace(message, cost=add_costs(message.cost, cost)))


def _moved(indices: Mapping[str, int], places: Sequence[int | None]) -> dict[str, int]:
    return {key: place for key, index in indices.items() if (place := places[index]) is not None}


def join_replies(earlier: Message, later: Message) -> Message:
    """One message of two parts of the same reply; the usage of the later one is the whole reply's."""
    return replace(
        earlier,
        content="\n\n".join(text for text in (earlier.content, later.content) if text),
        thinking="\n\n".join(text for text in (earlier.thinking, later.thinking) if text) or None,
        tool_calls=(*earlier.tool_calls, *later.tool_calls),
        attachments=(*earlier.attachments, *later.attachments),
        token_usage=later.token_usage or earlier.token_usage,
        usage_key=later.usage_key or earlier.usage_key,
        model=later.model or earlier.model,
        kind=later.kind,
        cost=earlier.cost or later.cost,
    )


def _whole_reply(pieces: list[tuple[str, Message]], known: Message) -> Message:
    """The reply made of `pieces`, with what is known of its calls and its cost."""
    reply = reduce(join_replies, (piece for _, piece in pieces))
    calls = {call.tool_call_id: call for call in known.tool_calls}
    return replace(reply, tool_calls=tuple(calls.get(c.tool_call_id, c) for c in reply.tool_calls), cost=known.cost)


def add_costs(first: Cost | None, second: Cost) -> Cost:
    """The sum of two recorded costs."""
    if first is None:
        return second
    return Cost(
        total_usd=first.total_usd + second.total_usd,
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        thinking_tokens=first.thinking_tokens + second.thinking_tokens,
        cached_tokens=first.cached_tokens + second.cached_tokens,
    )


def _blocks(record: Record) -> list[Block | str]:
    content = record.message.content if isinstance(record.message, Body) else record.message or record.content
    if isinstance(content, str):
        return [content]
    return content if isinstance(content, list) else []


def _thinking(blocks: list[Block | str]) -> str | None:
    texts = [block.thinking for block in blocks if isinstance(block, Block) and block.thinking]
    return "\n\n".join(texts) or None


def _calls(blocks: list[Block | str]) -> list[ToolCall]:
    return [
        ToolCall(tool_call_id=block.id or "", tool_name=block.name or "", input=block.input)
        for block in blocks
        if isinstance(block, Block) and block.type == "tool_use"
    ]


def _attachments(blocks: list[Block | str]) -> tuple[Attachment, ...]:
    found = []
    for block in blocks:
        if isinstance(block, Block) and block.type in ("image", "document"):
            source = block.source if isinstance(block.source, Source) else Source()
            data = source.data if isinstance(source.data, str) else ""
            found.append(
                Attachment(
                    media_type=source.media_type if isinstance(source.media_type, str) else block.type,
                    name=block.title if isinstance(block.title, str) else "",
                    size=len(data) * 3 // 4 - data[-2:].count("="),
                )
            )
    return tuple(found)


def _output(content: Any) -> Any:
    """The text of a tool result; blocks that are not text by their names, never their bytes."""
    if not isinstance(content, list):
        return content
    parts: list[str] = []
    for block in content:
        text = block_text([block])
        if text:
            parts.append(text)
        elif isinstance(block, dict) and block.get("type") not in (None, "text"):
            source = block.get("source")
            media = source.get("media_type") if isinstance(source, dict) else None
            parts.append(f"[{media or block.get('tool_name') or block['type']}]")
    return "\n\n".join(parts)


def _call_facts(record: Record) -> dict[str, Any]:
    """What `toolUseResult` says of the call: the helper it started, how long it took."""
    facts = record.tool_use_result
    if not isinstance(facts, UseResult):
        return {}
    found: dict[str, Any] = {}
    if isinstance(facts.agent_id, str) and facts.agent_id:
        found["subagent_id"] = f"agent-{facts.agent_id}"
    duration = _whole(facts.duration_ms if facts.duration_ms is not None else facts.total_duration_ms)
    if duration is not None:
        found["duration_ms"] = duration
    return found


def _whole(number: Any) -> int | None:
    """Milliseconds without a fraction; None for what is no number of them."""
    return int(number) if isinstance(number, int | float) and 0 <= number < 1e15 else None
