"""Settings in YAML that other programs wrote, read within bounds.

PyYAML's own loaders take minutes and gigabytes for a few hundred bytes (aliases of aliases, merges of merges) and
raise whatever Python raises for a value such as `!!int ""`. Here its parser's events become plain values: mappings,
lists, texts, and what an unquoted scalar means in YAML 1.1 (true, null, whole and decimal numbers); dates stay texts.
"""

from __future__ import annotations

from typing import Any

__all__ = ["read_yaml"]

_BYTES = 4 << 20  # before anything is parsed: YAML takes many times as much
_DEPTH = 32
"""Collections in collections."""
_NODES = 100_000
"""Scalars and collections, those that a merge (`<<`) puts in among them."""
_ALIASES = 1_000  # aliases of aliases make gigabytes out of a few lines
_NUMBER = 64
"""Characters of the longest number: longer ones stay texts."""
_TAG = "tag:yaml.org,2002:"
_TYPED = {f"{_TAG}{name}" for name in ("null", "bool", "int", "float")}


def read_yaml(data: bytes | str) -> Any:
    """The one document in `data`; None in an empty one.

    Raises `ValueError`, one sentence, for what is no YAML, for tags that are not YAML's own, and beyond 4 MB, 32
    levels, 100,000 values or 1,000 aliases.
    """
    import yaml  # only who reads settings pays for it

    if len(data) > _BYTES:
        raise ValueError("it is longer than 4 MB")
    try:
        return _Reader(data).document()
    except yaml.YAMLError as error:
        # The library has a limit of its own from 6.0.4 on, and meets it before it tells of the first value.
        if isinstance(error, yaml.MarkedYAMLError) and "nesting depth" in (error.problem or ""):
            line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
            raise ValueError(f"line {line}: it is nested more than {_DEPTH} deep") from None
        raise ValueError(" ".join(str(error).split())) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None


class _Reader:
    """One reading: how much was read, and what anchors stand for."""

    def __init__(self, data: bytes | str) -> None:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events = yaml.parse(data.decode() if isinstance(data, bytes) else data, Loader=loader)
        self._resolver: Any = yaml.resolver.Resolver()
        self._constructor: Any = yaml.constructor.SafeConstructor()
        self._anchors: dict[str, Any] = {}
        self._nodes = self._aliases = 0

    def document(self) -> Any:
        """The value of the only document."""
        import yaml

        value, documents = None, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise ValueError("it holds more than one document")
                value = self._value(next(self._events), 0)
        return value

    def _value(self, event: Any, depth: int) -> Any:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > _ALIASES:
                raise ValueError(f"it has more than {_ALIASES:,} aliases")
            if event.anchor not in self._anchors:
                raise ValueError(f"line {_line(event)}: *{event.anchor} stands for nothing")
            return self._anchors[event.anchor]
        anchor = event.anchor
        self._count(1)
        if depth > _DEPTH:
            raise ValueError(f"line {_line(event)}: it is nested more than {_DEPTH} deep")
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif event.tag not in (None, "!", f"{_TAG}map", f"{_TAG}seq"):
            raise ValueError(f"line {_line(event)}: the tag {event.tag} is not read")
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(depth)
        else:
            value = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                value.append(self._value(event, depth + 1))
        if anchor is not None:
            self._anchors[anchor] = value
        return value

    def _mapping(self, depth: int) -> dict[Any, Any]:
        import yaml

        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            is_merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
            key = self._value(event, depth + 1)
            value = self._value(next(self._events), depth + 1)
            if isinstance(key, dict | list):
                raise ValueError(f"line {_line(event)}: a collection is no name of a setting")
            if not is_merge:
                own[key] = value
                continue
            for one in reversed(value if isinstance(value, list) else [value]):
                if not isinstance(one, dict):
                    raise ValueError(f"line {_line(event)}: only mappings can be merged")
                self._count(len(one))
                merged |= one
        return merged | own

    def _scalar(self, event: Any) -> Any:
        import yaml

        tag = event.tag
        if tag in (None, "!"):
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
            if tag not in _TYPED or len(event.value) > _NUMBER:
                return event.value
        elif tag == f"{_TAG}str":
            return event.value
        try:
            if tag in _TYPED:
                return self._constructor.construct_object(yaml.ScalarNode(tag, event.value))
        except (ValueError, KeyError, IndexError, OverflowError):
            raise ValueError(f"line {_line(event)}: {event.value[:40]!r} is no {tag.removeprefix(_TAG)}") from None
        raise ValueError(f"line {_line(event)}: the tag {tag} is not read")

    def _count(self, more: int) -> None:
        self._nodes += more
        if self._nodes > _NODES:
            raise ValueError(f"it has more than {_NODES:,} values")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
