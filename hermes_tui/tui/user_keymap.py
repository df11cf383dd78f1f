"""Checks a user's keymap.

It names ids and gives them other keys; everything that is wrong with it is said before any of it is used, because
Textual itself would drop unknown ids and bad names without a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from hermes_tui.tui.key_contexts import CONTEXTS, INSIDE
from hermes_tui.tui.keymap import KEYS, Key

__all__ = ["refusal", "validate_keymap"]

_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_NAMED = {key.value for key in Keys if not key.value.startswith("<")} | set(KEY_NAME_REPLACEMENTS.values())


def validate_keymap(mapping: Mapping[str, str]) -> list[str]:
    """Everything wrong with a user's keymap (binding id → keys, comma separated), one sentence each.

    Unknown ids, empty entries, names that are no keys, and keys that would mean two things in one place.
    An empty list means that it can be used as it stands.
    """
    keys = {key.id: key for key in KEYS}
    wrong: list[str] = []
    for name, value in mapping.items():
        if name not in keys:
            from difflib import get_close_matches

            near = get_close_matches(name, keys, 1)
            hint = f"did you mean {near[0]!r}?" if near else "the ids are in the help (?)"
            wrong.append(f"keymap: there is no binding {name!r}; {hint}")
        elif not isinstance(value, str) or not value.strip():
            wrong.append(f"keymap: {name} has no key; give at least one, such as {keys[name].keys!r}")
        else:
            wrong.extend(
                f"keymap: {name}: {key!r} is no key name; names are like 'ctrl+r', 'f5', 'J' or 'question_mark'"
                for key in _split(value)
                if not _is_key(key)
            )
    changed = {name: key._replace(keys=mapping.get(name, key.keys)) for name, key in keys.items()}
    wrong.extend(_clashes(changed.values(), set(mapping)))
    return wrong


def refusal(wrong: Iterable[str]) -> str:
    """What is said of a keymap in which this is wrong, a line each."""
    return "\n".join((*wrong, "Until that is mended, no key of the keymap counts."))


def _clashes(keys: Iterable[Key], changed: set[str]) -> list[str]:
    """Keys with two meanings in one context, where a changed binding is one of the two."""
    every = list(keys)
    found: dict[str, None] = {}
    for context in CONTEXTS:
        inside = (context, *INSIDE.get(context, ()))
        owner: dict[str, Key] = {}
        for key in sorted((key for key in every if key.context in inside), key=lambda key: inside.index(key.context)):
            # A character has several names.
            for name in {key_to_character(part) or part for part in _split(key.keys)}:
                other = owner.setdefault(name, key)
                if other.id == key.id or other.action == key.action or not {other.id, key.id} & changed:
                    continue
                if context == "search" and key_to_character(name) is not None:
                    continue  # a character is typed there, it does nothing else
                found[f"keymap: {name!r} means both {other.id} and {key.id}"] = None
    return list(found)


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else []


def _is_key(key: str) -> bool:
    """Whether Textual can ever send a key of this name."""
    *modifiers, base = key.split("+") if len(key) > 1 else [key]  # a plus alone parts nothing
    if not set(modifiers) <= _MODIFIERS or len(set(modifiers)) != len(modifiers) or not base:
        return False
    if len(base) == 1:
        return base.isprintable() and not (modifiers and base.isspace())
    if base in _NAMED or re.fullmatch(r"f([1-9]|1\d|2[0-4])", base):
        return True
    if key_to_character(base) is not None:
        return True
    try:
        return bool(unicodedata.lookup(base.replace("_", " ").upper()))
    except KeyError:
        return False
