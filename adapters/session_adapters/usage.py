"""What model calls used, without the conversation: what costs are worked out from.

An adapter yields one `Usage` for each model call of its own record (`Adapter.usage`). The same call may stand in
several files, since forks and resumed sessions copy their history: whoever adds up counts each `key` once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import reduce
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, msgpack
from msgspec.structs import replace

from session_adapters.model import Message, SessionSummary, TokenUsage

if TYPE_CHECKING:
    from session_adapters.growing.hashes import Hashes

__all__ = [
    "CallPack",
    "Calls",
    "Counted",
    "Packed",
    "Usage",
    "call_of",
    "in_packs",
    "packed",
    "some_at_a_time",
    "summed",
    "unpacked",
    "usage_of",
]

_NO_TOKENS = TokenUsage()
_FIGURES = attrgetter(*TokenUsage.__struct_fields__)


class Usage(Struct, frozen=True, array_like=True, gc=False):
    """One model call, or several of one model that the agent recorded as a sum. Tokens as in `TokenUsage`, of which
    `call_of` makes it."""

    session_id: str
    """Native id of the session that spent them."""
    key: str = ""
    """`Message.usage_key`; empty where there is none."""
    time: float | None = None
    """Seconds since the epoch."""
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    cache_write_hour_tokens: int = 0
    usd: float | None = None
    """Recorded by the agent, in US dollars; None where it recorded nothing."""
    estimated: bool = False
    """`usd` is the agent's own estimate."""
    calls: int = 1
    """How many model calls this stands for."""
    inherited: bool = False
    """Copied from another session's record: counts only where that one is not there any more."""
    provider: str | None = None
    """Who served the model, as the agent names it."""

    @property
    def identity(self) -> str:
        """What is the same for every copy of the call, whichever session holds it; empty where nothing is."""
        return f"{self.session_id} {self.key}" if self.key.startswith("@") else self.key

    @property
    def tokens(self) -> TokenUsage:
        """The tokens alone."""
        return TokenUsage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=self.cached_tokens,
            cache_write_tokens=self.cache_write_tokens,
            thinking_tokens=self.thinking_tokens,
            cache_write_hour_tokens=self.cache_write_hour_tokens,
        )


class CallPack(Struct, frozen=True, array_like=True, gc=False):
    """Some calls of one session, as they are kept: a long one has tens of thousands, of which never all are in
    memory. What `Calls` has packed is the same object each time."""

    session_id: str
    """Whose they are where they do not say so themselves."""
    calls: bytes | tuple[Usage, ...]
    """MessagePack, compressed; as they are where that is still to be done, or a number is too large for it."""
    model: str | None = None
    """For calls that name none."""
    inherited: bool = False
    """They are copies."""

    def __iter__(self) -> Iterator[Usage]:
        session_id, model, copied = self.session_id, self.model, self.inherited
        for call in _DECODE(zlib.decompress(self.calls)) if isinstance(self.calls, bytes) else self.calls:
            if call.session_id:
                yield call
            else:
                yield replace(call, session_id=session_id, model=call.model or model, inherited=copied)


Packed = tuple[CallPack, ...]
Counted = tuple[Sequence[SessionSummary], Iterable[CallPack] | None]
"""The sessions in a source, exact, and every call of theirs; None where those are asked for by session."""
_PACK = 64
"""Calls that are packed together."""
_ENCODE = msgpack.Encoder().encode
_DECODE = msgpack.Decoder(list[Usage]).decode


def unpacked(packs: Iterable[CallPack] | None) -> Iterator[Usage]:
    """The calls, decoded some at a time."""
    return chain.from_iterable(packs or ())


def packed(packs: Iterable[CallPack]) -> Packed:
    """As they are kept: small, but for what cannot be."""
    return tuple(one if isinstance(one.calls, bytes) else replace(one, calls=_small(one.calls)) for one in packs)


def in_packs(calls: Iterable[Usage]) -> Iterator[CallPack]:
    """The same, some of one session at a time, copies and others apart."""
    for (session_id, inherited), some in groupby(calls, attrgetter("session_id", "inherited")):
        for part in some_at_a_time(some):
            yield CallPack(session_id, part, inherited=inherited)


def _small(calls: tuple[Usage, ...]) -> bytes | tuple[Usage, ...]:
    try:
        return zlib.compress(_ENCODE(calls), 1)
    except (OverflowError, ValueError):  # a number too large for MessagePack
        return calls


class Calls:
    """Calls by their keys, in the order in which these came. Those that came long ago are packed: of a session that
    is followed for weeks there are tens of thousands, and few are said again."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._spent = _Spent()
        """What those come to that are packed."""
        self._known: Hashes | frozenset[int] = frozenset()
        """Of their keys."""
        self._fresh: dict[str, Usage] = {}
        self._most = 2 * _PACK

    def __len__(self) -> int:
        return len(self._fresh) + _PACK * len(self._packed)

    def __contains__(self, key: str) -> bool:
        return key in self._fresh or hash(key) in self._known

    def __iter__(self) -> Iterator[Usage]:
        for one in self._packed:
            yield from _DECODE(zlib.decompress(one))
        yield from self._fresh.values()

    def get(self, key: str) -> Usage | None:
        """The call with that key."""
        if hash(key) in self._known:
            # Few are said again, so that all may be unpacked for one.
            before = [call for one in self._packed for call in _DECODE(zlib.decompress(one))]
            by_key = {call.key or f"\0{number}": call for number, call in enumerate(before)}
            self._fresh = {**by_key, **self._fresh}
            self._packed, self._known, self._most, self._spent = [], frozenset(), 2 * len(self._fresh), _Spent()
        return self._fresh.get(key)

    def put(self, key: str, call: Usage) -> None:
        """Put it in the place of the one with that key, for which `get` was asked, or behind all others; one whose
        own key is empty is never asked for."""
        self._fresh[key] = call
        if len(self._fresh) < self._most:
            return
        first = dict(islice(self._fresh.items(), _PACK))
        some = tuple(first.values())
        small = _small(some)
        if isinstance(small, tuple):
            self._most *= 2
            return
        from session_adapters.growing.hashes import Hashes  # few sessions have so many

        self._packed.append(small)
        self._spent = self._spent.with_(some)
        known = self._known = Hashes() if isinstance(self._known, frozenset) else self._known
        for one in first:
            known.add(hash(one))
            del self._fresh[one]

    def copy(self) -> Calls:
        """Another one, to which others may be added."""
        other = copy(self)
        vars(other).update(_packed=[*self._packed], _fresh=dict(self._fresh), _known=self._known.copy())
        return other

    def summed(self) -> tuple[TokenUsage, float | None]:
        """See `summed`."""
        return _told(reduce(_Spent.with_, some_at_a_time(self._fresh.values()), self._spent))

    def packs(self, session: SessionSummary, *, inherited: bool = False) -> Iterator[CallPack]:
        """Those of a session that do not say whose they are, nor that they are `inherited`."""
        parts: Iterable[bytes | tuple[Usage, ...]] = chain(self._packed, some_at_a_time(self._fresh.values()))
        return (CallPack(session.session_id, part, session.model, inherited) for part in parts)


class _Spent(NamedTuple):
    """What calls come to."""

    figures: tuple[int, ...] = (0,) * len(TokenUsage.__struct_fields__)
    usd: float | None = None

    def with_(self, some: Sequence[Usage]) -> _Spent:
        """With some more."""
        figures = tuple(sum(column) for column in zip(self.figures, *map(_FIGURES, some), strict=True))
        paid = [call.usd for call in some if call.usd is not None]
        return _Spent(figures, sum(paid, self.usd or 0.0) if paid else self.usd)


def summed(calls: Iterable[Usage]) -> tuple[TokenUsage, float | None]:
    """Tokens and recorded dollars of all of them together; no dollars where none were recorded."""
    return _told(reduce(_Spent.with_, some_at_a_time(calls), _Spent()))


def _told(spent: _Spent) -> tuple[TokenUsage, float | None]:
    return TokenUsage(**dict(zip(TokenUsage.__struct_fields__, spent.figures, strict=True))), spent.usd


def some_at_a_time(calls: Iterable[Usage]) -> Iterator[tuple[Usage, ...]]:
    """The same in their order: of a long session's calls few need to be in memory together."""
    coming = iter(calls)
    # Not made a tuple at once: one that is being made for a while fails where another thread looks at all objects.
    while some := list(islice(coming, _PACK)):
        yield tuple(some)


def call_of(
    session_id: str,
    key: str,
    seconds: float | None,
    model: str | None,
    tokens: TokenUsage | None,
    usd: float | None,
    *,
    estimated: bool = False,
    calls: int = 1,
    inherited: bool = False,
    provider: str | None = None,
) -> Usage:
    """A `Usage` of normalised tokens (None: none were recorded)."""
    tokens = tokens or _NO_TOKENS
    return Usage(
        session_id,
        key,
        seconds,
        model,
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cached_tokens,
        tokens.cache_write_tokens,
        tokens.thinking_tokens,
        tokens.cache_write_hour_tokens,
        usd,
        estimated,
        calls,
        inherited,
        provider,
    )


def usage_of(message: Message) -> Usage:
    """The usage of a message that has tokens or a recorded cost; whose it is is not filled in."""
    cost = message.cost
    return call_of(
        "",
        message.usage_key,
        message.timestamp.timestamp() if message.timestamp is not None else None,
        message.model,
        message.token_usage,
        cost.total_usd if cost is not None else None,
        estimated=cost is not None and cost.estimated,
    )
