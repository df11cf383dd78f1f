"""Session keys: the name of the lane that a message belongs to.

Format: spec 002 sections 4 and 5.

    agent:<namespace>:<platform>:<chat type>[:<chat>][:<thread>][:<participant>]

Nothing in them is escaped: an identifier with a colon makes a key that cannot be taken apart again without its
source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.whatsapp import normalize_whatsapp_identifier

__all__ = ["KeyPart", "build_session_key", "is_shared_multi_user_session", "key_parts"]


def is_shared_multi_user_session(
    source: SessionSource, *, group_sessions_per_user: bool = True, thread_sessions_per_user: bool = False
) -> bool:
    """Whether several people talk to the agent in the conversation that this message belongs to."""
    if source.chat_type == "dm":
        return False
    if source.thread_id:
        return not thread_sessions_per_user
    return not group_sessions_per_user


def build_session_key(
    source: SessionSource,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    profile: str | None = None,
    canonical: Callable[[str], str] = normalize_whatsapp_identifier,
) -> str:
    """The key of the lane that a message from `source` belongs to.

    `profile` is the namespace of a gateway that serves several profiles. `canonical` gives one name to the several
    that WhatsApp has for a person: `WhatsAppAliases(home).canonical` where the bridge's mappings are to be had.
    """
    whatsapp = source.platform == "whatsapp"
    # A profile that is called `main` shares its keys with the default one, as in Hermes.
    namespace = profile if profile and profile != "default" else "main"
    start = f"agent:{namespace}:{source.platform}:{source.chat_type}"
    participant = source.user_id_alt or source.user_id
    if participant and whatsapp:  # only people have several names there: a group's chat stays as it is
        participant = canonical(participant) or participant
    # `dm` alone is a private chat: `DM`, nothing and unknown words count as a group, as in Hermes.
    if source.chat_type == "dm":
        chat = canonical(source.chat_id) if whatsapp else source.chat_id
        return _joined(start, chat or participant, source.thread_id)
    # In a thread people are told apart only where both settings say so.
    isolated = group_sessions_per_user and (thread_sessions_per_user or not source.thread_id)
    return _joined(start, source.chat_id, source.thread_id, participant if isolated else None)


def _joined(start: str, *parts: str | None) -> str:
    return ":".join((start, *(part for part in parts if part)))


class KeyPart(NamedTuple):
    """One part of a session key, with what it is."""

    name: str
    """namespace, platform, chat type, chat, thread, participant; `rest` where that cannot be told; `key` for all
    of a key of another form."""
    value: str


def key_parts(key: str, source: SessionSource | None = None) -> tuple[KeyPart, ...]:
    """A session key taken apart, for people. With the lane's `source` the identifiers are told apart; without it
    only what admits one reading is."""
    head = key.split(":", 4)
    if len(head) < 4 or head[0] != "agent":
        return (KeyPart("key", key),)
    parts = [KeyPart("namespace", head[1]), KeyPart("platform", head[2]), KeyPart("chat type", head[3])]
    rest = head[4] if len(head) == 5 else ""
    if source is not None:
        chat, rest = _split(rest, source.chat_id)
        thread, rest = _split(rest, source.thread_id)
        if not chat and head[3] == "dm" and rest.endswith(f":{source.thread_id}"):
            # A private chat may stand there by another name: WhatsApp's canonical one.
            thread, rest = str(source.thread_id), rest[: -len(f":{source.thread_id}")]
        if not chat and head[3] == "dm":
            chat, rest = rest, ""
        named = (KeyPart("chat", chat), KeyPart("thread", thread), KeyPart("participant", rest))
        return (*parts, *(part for part in named if part.value))
    if rest:
        parts.append(KeyPart("rest" if ":" in rest else "chat", rest))
    return tuple(parts)


def _split(rest: str, known: str | None) -> tuple[str, str]:
    """What `rest` begins with if it is `known`, and what comes after its colon."""
    if known and f"{rest}:".startswith(f"{known}:"):
        return known, rest[len(known) + 1 :]
    return "", rest
