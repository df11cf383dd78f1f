"""The same steps on two stores, one in the hands of the real Hermes, one in ours: random steps, what is compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hermes_tui.errors import SessionNotFound, ValidationError
from hermes_tui.lifecycle.state_db.database import SessionDB
from oracle.hermes import Oracle, OracleError

__all__ = ["Pair", "steps"]

Step = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of both, its arguments."""

_IDS = ("20260701_100000_aaaaaaaa", "20260701_100000_aaaabbbb", "20260702_1_%", "s\\4", "5")
_id = st.sampled_from(_IDS)
_key = st.sampled_from(("agent:main:telegram:dm:1", "agent:main:slack:group:2:u"))
_source = st.sampled_from(("cli", "telegram", "tool"))
_time = st.sampled_from((1.7e9, 1.7e9 + 0.5, 1.6e9, 1.75e9)) | st.floats(1e9, 1.7e9)
_reason = st.sampled_from(("user_exit", "compression", "branched", "agent_close", "ws_orphan_reap", "session_reset"))
_TITLES = (
    "Fix",
    "Fix #2",
    "Fix #10",
    "fix #3",
    "Fix #abc",
    "50%_\\x",
    "50%_\\x #2",
    " a\u200b \x07b\n",
    "x" * 100,
    "x" * 101,
)
_asked_title = st.sampled_from(_TITLES) | st.text(max_size=12)
_title = _asked_title | st.sampled_from(("", "\u202e", "a\ud800"))
_config = (
    st.none()
    | st.sampled_from(({"x": 1}, {"_branched_from": _IDS[0]}))
    | st.builds(lambda parent: {"_delegate_from": parent}, _id)
)
_CONTENTS = (
    "docker deployment failed",
    "<memory-context>secret</memory-context> kept",
    "< Memory-Context >\n[System note: The following is recalled memory context, NOT new user input. Treat as"
    " informational background data.] x",
    "[System note: The following is recalled memory context, NOT new user input. Treat as authoritative reference"
    " data (old).] y",
    "Review the conversation above and update the skill library now",
    "\0json:not json",
    "\0json:[1]",
    "nul\0inside",
    "half \ud800 a pair",
    "大别山项目 部署",
    "",
)
_content: st.SearchStrategy[Any] = (
    st.none()
    | st.sampled_from(_CONTENTS)
    | st.text(max_size=20)
    | st.sampled_from(
        ([{"type": "text", "text": "seen"}, {"type": "image_url", "image_url": {"url": "data:x"}}], {"a": [1]}, [], 5)
    )
)
_calls = st.none() | st.sampled_from(
    ([], [{"id": "c", "function": {"name": "terminal"}}], [{}, {}], {"one": 1}, "text")
)
_role = st.sampled_from(("user", "user", "assistant", "assistant", "tool", "system"))
_details = st.none() | st.sampled_from(([{"type": "summary", "text": "t"}], {"a": 1}, []))
_message = st.fixed_dictionaries(
    {"role": _role, "content": _content, "timestamp": _time},
    optional={
        "tool_name": st.sampled_from(("terminal", "half \udfff")),
        "tool_calls": _calls,
        "tool_call_id": st.sampled_from(("c", "")),
        "token_count": st.integers(0, 1 << 40),
        "finish_reason": st.sampled_from(("stop", "")),
        "reasoning": st.sampled_from(("because", "")),
        "reasoning_content": st.sampled_from(("because", "")),
        "reasoning_details": _details,
        "codex_reasoning_items": _details,
        "codex_message_items": _details,
        "platform_message_id": st.sampled_from(("p1", "")),
        "observed": st.booleans(),
        "effect_disposition": st.sampled_from(("none",)),
        "api_content": st.sampled_from(("as sent",)),
    },
)
_peer = st.fixed_dictionaries(
    {"source": _source, "session_key": _key},
    optional={
        "user_id": st.sampled_from(("u", None)),
        "chat_id": st.sampled_from(("1", "2", None)),
        "chat_type": st.sampled_from(("dm", "group", None)),
        "thread_id": st.sampled_from(("t", None)),
    },
)
_shown = st.fixed_dictionaries(
    {}, optional={"display_name": st.sampled_from(("Ana", None)), "origin_json": st.sampled_from(("{}", None))}
)
_new = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(("m1", "m2")),
        "model_config": _config,
        "system_prompt": st.just("be kind"),
        "user_id": st.just("u"),
        "parent_session_id": st.none() | _id,
        "session_key": _key,
        "chat_id": st.just("1"),
        "chat_type": st.just("dm"),
        "thread_id": st.just("t"),
        "cwd": st.just("/srv"),
        "profile_name": st.just("coder"),
    },
)
_flag = st.booleans()


def _step(
    name: str, *arguments: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]
) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(name), st.tuples(*arguments), st.fixed_dictionaries({}, optional=options))


_append = st.builds(lambda id_, values: ("append_message", (id_,), values), _id, _message)
_create = st.builds(lambda id_, source, values: ("create_session", (id_, source), values), _id, _source, _new)
_writes = st.one_of(
    _create,
    _create,
    _append,
    _append,
    _append,
    _step("end_session", _id, _reason),
    _step("promote_to_session_reset", _id, reason=_reason),
    _step("reopen_session", _id),
    _step("replace_messages", _id, st.lists(_message, max_size=3), active_only=_flag),
    _step("rewind_to_message", _id, st.integers(1, 8)),
    _step("clear_messages", _id),
    _step("delete_session", _id),
    _step("prune_sessions", older_than_days=st.sampled_from((-1, 1, 90)), source=_source),
    _step("set_session_title", _id, _title),
    _step("set_auto_title_if_empty", _id, _title),
    st.builds(lambda id_, peer, more: ("record_gateway_session_peer", (id_,), peer | more), _id, _peer, _shown),
    _step("save_gateway_routing_entry", _key, st.sampled_from(("{}", '{"a": 1}', "")), scope=_source),
    _step("replace_gateway_routing_entries", st.dictionaries(_key, st.just("{}")), scope=_source),
    _step("delete_gateway_routing_entries", st.lists(_key), scope=_source),
)
_reads = st.one_of(
    _step("resolve_session_id", st.sampled_from((*_IDS, "2026", "20260701_100000_aaaab", "%", "s\\", "no"))),
    _step("get_session_title", _id),
    _step("get_session_by_title", _asked_title),
    _step("resolve_session_by_title", _asked_title),
    _step("get_next_title_in_lineage", _asked_title),
    _step("get_compression_tip", _id),
    _step("resolve_resume_session_id", _id),
    _step("get_messages", _id, include_inactive=_flag, limit=st.integers(0, 3), offset=st.integers(0, 3)),
    _step("get_messages_as_conversation", _id, include_ancestors=_flag, include_inactive=_flag),
    _step("list_recent_user_messages", _id, limit=st.integers(0, 3), include_inactive=_flag),
    _step("export_session", _id),
    _step("export_all", source=_source),
    _step("search_sessions", source=_source, limit=st.integers(0, 4), offset=st.integers(0, 2)),
    _step("session_count", source=_source),
    _step("message_count", _id),
    _step("message_count"),
    st.builds(lambda peer: ("find_latest_gateway_session_for_peer", (), peer), _peer),
    _step("load_gateway_routing_entries", scope=_source),
    _step(
        "search_messages",
        st.sampled_from(("docker", "dep* NOT secret", '"deployment failed"', "大别山项目", "kept OR x")),
    ),
)

_first = st.builds(
    lambda id_, source, values: ("create_session", (id_, source), values),
    _id,
    _source,
    st.fixed_dictionaries({}, optional={"parent_session_id": _id, "model_config": _config}),
)
steps = st.builds(
    lambda first, said, then: [*first, *said, *then],
    st.permutations(_IDS).map(lambda ids: [("create_session", (id_, "telegram"), {}) for id_ in ids[:2]]),
    st.lists(_first | _append, min_size=3, max_size=8),
    st.lists(_writes | _writes | _reads, min_size=5, max_size=25),
)
"""Lists of steps, most of which change something, on a handful of sessions."""

_NOW = frozenset(("started_at", "ended_at", "last_active", "session_started", "updated_at"))
"""Times that each store takes from the clock: only whether there is one is compared."""


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: (
                one is not None if key in _NOW and not (key == "last_active" and one < 1.76e9) else _comparable(one)
            )
            for key, one in value.items()
        }
    return [_comparable(one) for one in value] if isinstance(value, list | tuple) else value


class Pair:
    """The real Hermes on one store, ours on another that began the same."""

    def __init__(self, hermes: Oracle, ours: Path, columns: frozenset[str] | None = None) -> None:
        """`hermes` has its store open. With `columns` no others are compared: a store of ours lacks newer ones."""
        self.hermes = hermes
        self.ours = SessionDB(ours)
        self.columns = columns

    def take(self, step: Step) -> None:
        """Both do it, or both refuse; what they say and what is then in the store is the same."""
        name, arguments, options = step
        theirs = _outcome(lambda: self.hermes.db(name, *arguments, **options))
        ours = _outcome(lambda: getattr(self.ours, name)(*arguments, **options))
        if name == "search_messages":
            theirs, ours = (sorted(one, key=lambda hit: hit["id"]) for one in (theirs, ours))
        if name == "delete_gateway_routing_entries":
            ours = None  # Hermes does not say how many there were
        assert self._cut(_comparable(ours)) == self._cut(_comparable(theirs)), (step, ours, theirs)

    def compare(self) -> None:
        """All rows of both stores."""
        dumped = self.hermes.dump()["sessions"]
        mine = self.ours.rows("SELECT * FROM sessions ORDER BY id")
        assert self._cut(_comparable(mine)) == self._cut(_comparable(dumped))
        for row in mine:
            options = {"include_inactive": True}
            theirs = self.hermes.db("get_messages", row["id"], **options)
            assert self._cut(self.ours.get_messages(row["id"], **options)) == self._cut(theirs)

    def _cut(self, value: Any) -> Any:
        if self.columns is None:
            return value
        if isinstance(value, dict):
            return {key: self._cut(one) for key, one in value.items() if key in self.columns}
        return [self._cut(one) for one in value] if isinstance(value, list) else value


def _outcome(ask: Callable[[], Any]) -> Any:
    """What is answered, or that it is refused."""
    try:
        return ask()
    except OracleError as error:
        kind = str(error).partition(":")[0]
        assert kind in ("IntegrityError", "ValueError"), error
    except (SessionNotFound, ValidationError):
        pass
    return "refused"
