"""Claude Code's lines turned into messages, one line at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from session_adapters.claude.blocks import (
    attachments_in,
    attachments_of,
    blocks_of,
    call_facts,
    calls_of,
    output_of,
    thinking_of,
    token_usage,
    whole_number,
)
from session_adapters.claude.chains import Chains
from session_adapters.claude.copies import NO_COPIES, Copies
from session_adapters.claude.line_types import damage, unknown
from session_adapters.claude.records import (
    RECORD,
    Body,
    ClaudeBlock,
    ClaudeRecord,
    block_text,
    line_cost,
    reply_key,
)
from session_adapters.claude.said import Said, assistant_kind, system_said, user_said
from session_adapters.growing.hashes import Hashes
from session_adapters.model import Attachment, Cost, Message, TokenUsage, ToolCall, ToolResult
from session_adapters.reading.decoding import RecordDecoder
from session_adapters.reading.lines import Line
from session_adapters.times import parse_time
from session_adapters.transcript import Builder

__all__ = ["ClaudeBuilder", "add_costs", "join_replies"]


class ClaudeBuilder(Builder):
    """Makes messages of lines. The lines of one reply become one message, whatever stands between them, up to
    the next prompt; a record that was written twice counts once."""

    decoder: RecordDecoder[ClaudeRecord] = RECORD

    def __init__(self, *, subagent: bool = False, chain: str = "", copies: Copies = NO_COPIES) -> None:
        """`subagent`: the file is a helper's own. `chain`: the helper inside a main file whose records are taken."""
        super().__init__()
        self.subagent = subagent
        self._chain = chain
        self._chains = Chains()
        self.chains: dict[str, None] = {}
        """The helpers inside the file, in their order."""
        self.copies = copies
        self._replies: dict[str, int] = {}
        """Replies that a further line may belong to, by key: those since the last prompt."""
        self._seen = Hashes()
        """Of the uuids of all records."""
        self.pieces: dict[str, str] = {}
        """uuid of a part of a reply → the message that it is in."""
        self._last_assistant: int | None = None
        self.untold = TokenUsage()
        """What `cost` events tell that come before the first reply."""
        self._settled = 0
        self._plain = False

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """Whether the line is a prompt."""
        if b'"user"' not in line or b'"tool_result"' in line or b'"isMeta":true' in line:
            return False
        try:
            record = RECORD.one(line)
        except ValueError:
            return False
        if record.kind != "user":
            return False
        blocks = blocks_of(record)
        said = user_said(record, block_text(blocks), results=0, images=len(attachments_of(blocks)))
        return said is not None and said.kind == "message"

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        records, lost = self.decoder.all(line.data)
        if lost and (reason := damage(line.data)):
            self.damaged.add(line.offset, reason)
        for number, record in enumerate(records):
            if reason := unknown(record):
                self.damaged.add(line.offset, reason)
            # In a helper's own file the mark says nothing: every record has it.
            chain = self._chains.chain(record) if record.is_sidechain and not self.subagent else ""
            if chain:
                self.chains[chain] = None
            taker = self.taker(chain)
            if taker is not None:
                taker.take(record, f"@{line.offset}.{number}" if number else f"@{line.offset}")

    def taker(self, chain: str) -> ClaudeBuilder | None:
        """Who takes the next record: of a helper inside the file, or of the file's own session."""
        return self if chain == self._chain else None

    def take(self, record: ClaudeRecord, place: str) -> None:
        """Take in a record; `place` serves as the id of one that has none."""
        uuid = record.uuid
        if uuid:
            if hash(uuid) in self._seen:
                return
            self._seen.add(hash(uuid))
        self._take(record, uuid or place)
        self._plain = self._plain or record.kind in ("tool_use", "tool_result", "cost")
        if not self._replies:
            self._settled = len(self.messages)

    def _take(self, record: ClaudeRecord, place: str) -> None:
        match record.kind:
            case "user":
                self._user(record, place)
            case "assistant":
                self._assistant(record, place)
            case "system":
                if said := system_said(record):
                    self._add(record, place, "system", said)
            case "tool_use":
                call = ToolCall(
                    tool_call_id=record.tool_call_id or place,
                    tool_name=record.tool_name or "",
                    input=record.input,
                    output=record.output,
                    is_error=bool(record.is_error),
                    duration_ms=whole_number(record.duration_ms),
                )
                message = Message(
                    role="assistant", id=place, timestamp=parse_time(record.timestamp), tool_calls=(call,)
                )
                self._last_assistant = self.add(message)
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

    def settled(self) -> int:
        """See `Builder.settled`: those before the last prompt, since a reply goes on until then. In spec 004's layout
        a result may change any call."""
        return 0 if self._plain else self._settled

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        self._replies = {key: at for key, index in self._replies.items() if (at := places[index]) is not None}
        if self._last_assistant is not None:
            self._last_assistant = places[self._last_assistant]
        self._settled = max(0, self._settled - sum(place is None for place in places))
        there = {message.id for message in self.messages}
        self.pieces = {place: key for place, key in self.pieces.items() if key in there}

    # One kind of line each ---------------------------------------------------------------------------------

    def _user(self, record: ClaudeRecord, place: str) -> None:
        blocks = blocks_of(record)
        results = [block for block in blocks if isinstance(block, ClaudeBlock) and block.type == "tool_result"]
        names = iter((place, *(f"{place}#{number}" for number in range(1, len(results) + 1))))
        for block in results:
            result = ToolResult(
                tool_call_id=block.tool_use_id or "",
                output=output_of(block.content),
                is_error=bool(block.is_error),
            )
            # They stand once in a record, and of several results they would not say whose they are.
            facts = call_facts(record) if len(results) == 1 else {}
            self._result(record, next(names), result, facts, attachments_in(block.content))
        attachments = attachments_of(blocks)
        said = user_said(record, block_text(blocks), results=len(results), images=len(attachments))
        if said is None:
            return
        if said.kind == "message":
            self._replies.clear()  # no reply goes on behind the next prompt
        self._add(record, next(names), "user", said, attachments)

    def _assistant(self, record: ClaudeRecord, place: str) -> None:
        body = record.message if isinstance(record.message, Body) else None
        blocks = blocks_of(record)
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
            thinking=thinking_of(blocks),
            tool_calls=tuple(calls_of(blocks)),
            token_usage=usage,
            model=model if model != "<synthetic>" else None,  # words of the program's own
            attachments=attachments_of(blocks),
            inherited=self.copies.has(record),
            usage_key=key if usage else "",
            cost=Cost.of(usage or TokenUsage(), record.cost_usd) if record.cost_usd is not None else None,
        )
        index = self._replies.get(key)
        if index is None:
            index = self._replies[key] = self.add(piece)
        else:
            self.change(index, join_replies(self.messages[index], piece))
        if place != key:
            self.pieces[place] = key
        self._last_assistant = index

    def _result(
        self,
        record: ClaudeRecord,
        place: str,
        result: ToolResult,
        facts: Mapping[str, Any],
        attachments: tuple[Attachment, ...] = (),
    ) -> None:
        linked = self.link(result, **facts)
        self.add(
            Message(
                role="tool",
                id=place,
                timestamp=parse_time(record.timestamp),
                tool_result=linked,
                attachments=attachments,
                inherited=self.copies.has(record),
            )
        )

    def _add(
        self, record: ClaudeRecord, place: str, role: Any, said: Said, attachments: tuple[Attachment, ...] = ()
    ) -> None:
        self.add(
            Message(
                role=role,
                content=said.text,
                id=place,
                kind=said.kind,
                timestamp=parse_time(record.timestamp),
                attachments=attachments,
                inherited=self.copies.has(record),
                kept_from=self.pieces.get(said.kept_from, said.kept_from),
            )
        )

    def _cost(self, cost: Cost) -> None:
        if self._last_assistant is None:
            self.untold += cost.tokens
        else:
            message = self.messages[self._last_assistant]
            told = message
            # A reply that tells its own tokens keeps them; this key marks those that came with earlier events.
            if cost.tokens.total and (message.token_usage is None or message.usage_key == f"@{message.id}"):
                used = message.token_usage or TokenUsage()
                told = replace(message, token_usage=used + cost.tokens, usage_key=f"@{message.id}")
            self.change(self._last_assistant, replace(told, cost=add_costs(message.cost, cost)))


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
