"""A session is searched a little at a time: what is found is what all of it, read at once, would give."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_lines import answered, asked, entry, write_pi
from session_adapters.base import Environment
from session_adapters.pi import PiAdapter
from session_adapters.reading.searchable import Text
from session_adapters.tree import follower
from session_adapters.tree.builder import TreeBuilder

KINDS = st.sampled_from(("prompt", "answer", "call", "result", "old result", "nameless", "aside"))


def calling(number: int, parent: int) -> dict[str, Any]:
    content = [{"type": "toolCall", "id": f"call-{number}", "name": "read", "arguments": {"path": f"f{number}.py"}}]
    return entry(number, parent, message={"role": "assistant", "content": content, "model": "mock"})


def resulting(number: int, parent: int, call: int) -> dict[str, Any]:
    said = [{"type": "text", "text": f"made {number}"}]
    message = {"role": "toolResult", "toolCallId": f"call-{call}", "toolName": "read", "content": said}
    return entry(number, parent, message=message)


def entries_of(kinds: list[str]) -> list[dict[str, Any]]:
    found, parent, calls = [asked(0, None)], 0, [0]
    for number, kind in enumerate(kinds, 1):
        match kind:
            case "prompt":
                one = asked(number, parent)
            case "answer":
                one = answered(number, parent)
            case "call":
                one = calling(number, parent)
                calls.append(number)
            case "result":
                one = resulting(number, parent, calls[-1])
            case "old result":
                one = resulting(number, parent, calls[len(calls) // 2])
            case "nameless":  # of what tool it is the call alone says
                one = resulting(number, parent, calls[len(calls) // 2])
                del one["message"]["toolName"]
            case _:
                one = asked(number, parent // 2)
        found.append(one)
        parent = number
    return found


def texts_of(home: Path, page: int, monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    monkeypatch.setattr(follower, "SWEEP", page)
    adapter = PiAdapter(Environment(home=home))
    (source,) = adapter.sources(print)
    return list(adapter.session_texts(source, "a"))


@given(kinds=st.lists(KINDS, max_size=30), waiting=st.sampled_from((0, 40)))
def test_by_little_or_at_once(kinds: list[str], waiting: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        write_pi(Path(folder), "a", *entries_of(["call"] * waiting + kinds))  # more than are kept
        at_once = texts_of(Path(folder), 1 << 40, monkeypatch)
        assert [text.message_id for text in at_once if text.visibility == "live"]
        assert texts_of(Path(folder), 1, monkeypatch) == at_once


def test_no_more_than_a_page_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["prompt", "call", "result", "answer"] * 250 + ["prompt", "call"] * 500
    write_pi(tmp_path, "a", *entries_of(kinds))
    held: list[int] = []
    take = TreeBuilder.take

    def counted(self: TreeBuilder, *one: Any) -> None:
        take(self, *one)
        held.append(len(self.messages))

    monkeypatch.setattr(TreeBuilder, "take", counted)
    assert len(texts_of(tmp_path, 10_000, monkeypatch)) == 2001
    assert max(held) < 100
