"""What the messages of a session add up to, by one rule for every agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from datetime import datetime
from typing import Any, Self

from msgspec.structs import replace

from session_adapters.model import (
    Message,
    MessageKind,
    Role,
    Session,
    SessionMissing,
    SessionSummary,
    SessionUnreadable,
    TokenUsage,
    Visibility,
)
from session_adapters.reading.bounds import excess
from session_adapters.reading.damaged_places import is_for_now
from session_adapters.usage import CallPack, Calls, Usage, call_of, unpacked, usage_of

__all__ = ["SessionFold", "added_up_usage", "messages_usage"]

_START = 4000
"""Characters of a prompt that are kept."""
_MILLS = 0.00001
"""Dollars that rounding may make."""


class SessionFold:
    """Takes in messages in the order of the conversation and keeps counts alone.

    - A *message* is whatever a transcript shows, copies from a parent and what was rewound included.
    - A *prompt* is what the human said to the model (`Message.is_prompt`): no command, no notice.
    - An *answer* is a message of the model, with or without text. An error is none.
    - A *turn* is a prompt that got an answer before the next prompt (checklist L-15).
    - A session *failed* if an error came after its last prompt and no answer after that error. Notices, commands and
      results of tools change nothing.
    - What was rewound makes no turn and no failure.
    - Tokens and dollars count once for each call, by its key. Those that were copied from a parent are kept apart:
      the parent has them too. For the same reason models of copies come last.
    """

    def __init__(self) -> None:
        self.messages = 0
        self.turns = 0
        self.tool_calls = 0
        self.compactions = 0
        self.rewound = 0
        self.inherited = 0
        """Messages copied from a parent."""
        self.failed = False
        self.first_prompt = ""
        """Its beginning."""
        self.own_prompt = ""
        """Beginning of the first prompt that was not copied from a parent."""
        self.oldest: datetime | None = None
        self.newest: datetime | None = None
        self._unanswered = False
        self._models: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._latest: dict[str, int] = {}
        self._calls = Calls(), Calls()
        """The session's own, and copies."""
        self._total = TokenUsage()

    def copy(self) -> Self:
        """Another one, which may be given what comes next."""
        other = copy(self)
        vars(other).update(
            _models=(Counter(self._models[0]), Counter(self._models[1])),
            _latest=dict(self._latest),
            _calls=(self._calls[0].copy(), self._calls[1].copy()),
        )
        return other

    def step(
        self, role: Role, kind: MessageKind = "message", *, visibility: Visibility = "live", messages: int = 1
    ) -> None:
        """Count what a reader of single columns knows of the next messages, of which there may be several alike."""
        self.messages += messages
        self.compactions += kind == "compaction"
        if visibility == "rewound":
            self.rewound += messages
        elif kind == "error":
            self.failed = True
        elif kind == "message" and role == "user":
            self._unanswered, self.failed = True, False
        elif kind == "message" and role == "assistant":
            self.turns += self._unanswered
            self._unanswered = self.failed = False

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the next messages."""
        for message in messages:
            self.step(message.role, message.kind, visibility=message.visibility)
            self.inherited += message.inherited
            self.tool_calls += len(message.tool_calls)
            if message.is_prompt and message.visibility != "rewound":
                self.first_prompt = self.first_prompt or message.content[:_START]
                if not message.inherited:
                    self.own_prompt = self.own_prompt or message.content[:_START]
            if message.timestamp is not None:
                self.note_time(message.timestamp)
            if message.model and message.role == "assistant":
                self._models[message.inherited][message.model] += 1
                self._latest[message.model] = self.messages
            if message.token_usage is not None or message.cost is not None:
                key = message.usage_key or f"#{self.messages}"
                calls, call = self._calls[message.inherited], usage_of(message)
                if (earlier := calls.get(key)) is not None:  # what was said of the call last is the whole of it
                    call = replace(
                        call if message.token_usage is not None else earlier,
                        time=earlier.time,
                        model=earlier.model or call.model,
                        usd=earlier.usd if call.usd is None else call.usd,
                        estimated=earlier.estimated if call.usd is None else call.estimated,
                    )
                calls.put(key, call)

    def gap(self) -> None:
        """Messages are left out here: what comes next may answer another prompt."""
        self._unanswered = False

    def note_time(self, moment: datetime) -> None:
        """Something was said then."""
        self.oldest = moment if self.oldest is None else min(self.oldest, moment)
        self.newest = moment if self.newest is None else max(self.newest, moment)

    def at_least(self, total: TokenUsage) -> None:
        """The agent's own sum, which stands for calls that were not read."""
        self._total = max(self._total, total, key=lambda tokens: tokens.total)

    @property
    def prompt(self) -> str:
        """Beginning of the first prompt of the session's own, a parent's if there is no other."""
        return self.own_prompt or self.first_prompt

    @property
    def tokens(self) -> TokenUsage:
        """Of the session's own calls."""
        return max(self._calls[0].summed()[0], self._total, key=lambda tokens: tokens.total)

    @property
    def usd(self) -> float:
        """Dollars that were recorded with the session's own calls."""
        return self._calls[0].summed()[1] or 0.0

    @property
    def inherited_tokens(self) -> TokenUsage:
        """Of the calls that were copied from a parent."""
        return self._calls[1].summed()[0]

    @property
    def inherited_usd(self) -> float:
        """Dollars that were recorded with the calls that were copied from a parent."""
        return self._calls[1].summed()[1] or 0.0

    @property
    def own_models(self) -> tuple[str, ...]:
        """Those of the session's own messages, most used first, ties by the latest."""
        return self._ranked(self._models[0])

    @property
    def models(self) -> tuple[str, ...]:
        """`own_models`, then those of copies."""
        return tuple(dict.fromkeys((*self.own_models, *self._ranked(self._models[1]))))

    def _ranked(self, used: Counter[str]) -> tuple[str, ...]:
        return tuple(sorted(used, key=lambda name: (-used[name], -self._latest[name])))

    def fields(self) -> dict[str, Any]:
        """The fields of a `SessionSummary` that messages decide for every agent."""
        models, tokens = self.models, self.tokens
        return {
            "turn_count": self.turns,
            "message_count": self.messages,
            "tool_call_count": self.tool_calls,
            "model": models[0] if models else None,
            "models": models,
            "tokens": tokens if tokens.total else None,
            "error": self.failed,
        }

    def packs(self, session: SessionSummary, *, copies: bool = False) -> Iterator[CallPack]:
        """The calls of the session that was summed up so, each once, with `copies` also those that were copied from a
        parent, and what it used beside them by its own word. Its model stands in where a call names none."""
        own, inherited = self._calls
        yield from own.packs(session)
        if copies:
            yield from inherited.packs(session, inherited=True)
        used, paid = own.summed()
        cost, told = session.cost, paid or 0.0
        spent = cost.total_usd if cost is not None else 0.0
        if spent - told > _MILLS or (not own and (cost or session.tokens)):
            # The rest of the sums that an agent keeps for a session without saying which call they belong to.
            whole = session.tokens or used
            rest = {name: max(0, getattr(whole, name) - getattr(used, name)) for name in TokenUsage.__struct_fields__}
            beside = call_of(
                session.session_id,
                "",
                session.updated_at.timestamp(),
                session.model,
                TokenUsage(**rest),
                cost.total_usd - told if cost is not None else None,
                estimated=cost is not None and cost.estimated,
                calls=1 if told else max(1, session.turn_count),
            )
            yield CallPack(session.session_id, (beside,))

    def usage(self, session: SessionSummary, *, copies: bool = False) -> Iterator[Usage]:
        """The same one by one."""
        return unpacked(self.packs(session, copies=copies))


def messages_usage(session: Session) -> Iterator[Usage]:
    """The calls in a session's own messages, each once, and what was recorded for the session beside them."""
    fold = SessionFold()
    fold.add(session.messages)
    return fold.usage(session)


def added_up_usage(
    session_ids: Iterable[str],
    add_up: Callable[[str], tuple[SessionSummary, SessionFold, int]],
    note: Callable[[str, str], None],
) -> Iterator[Usage]:
    """The calls of these sessions, each as `Adapter.added_up` gives it. `note` is told of which some or all are
    missing, and why; not of what is damaged."""
    for session_id in session_ids:
        try:
            summary, fold, left = add_up(session_id)
        except SessionMissing:
            continue  # another source holds it
        except SessionUnreadable as error:
            if is_for_now(error):
                note(session_id, str(error))
            continue
        yield from fold.usage(summary)
        if left:
            note(session_id, excess(left))
