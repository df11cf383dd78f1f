"""The texts that are searched are exactly those of the sessions, however they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from claude_lines import ClaudeHome
from session_adapters.base import Adapter, Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Problem, Session, ToolCall, ToolResult
from session_adapters.reading.files import METER
from session_adapters.reading.searchable import Rewritten, Text, flat
from session_adapters.registry import BUILT_IN, adapter_class
from session_adapters.tool_names import ToolNames
from support import STORES


def ignore(problem: Problem) -> None:
    """What cannot be read is the business of other tests."""


def homes(agent: str) -> list[Path]:
    """Every sample home of an agent."""
    found = [path for path in (STORES / agent).rglob("home*") if path.is_dir()]
    return [path for path in found if any(child.name.startswith(".") for child in path.iterdir())]


ALL = [(agent, path.relative_to(STORES)) for agent in sorted(BUILT_IN) for path in homes(agent)]


def spelled(value: Any) -> Iterator[str]:
    """Everything that stands in a JSON value, as plainly as can be."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from spelled(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from spelled(item)
    elif isinstance(value, bool):
        yield json.dumps(value)
    elif value is not None:
        yield str(value)


def paths(value: Any, named: bool = False) -> Iterator[str]:
    """What is named like a path in a call's arguments, and the files of patches."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, any(name in key.lower() for name in ("path", "file", "dir", "folder", "cwd")))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from paths(item, named)
    elif isinstance(value, str) and named and value and "\n" not in value:
        yield value
    elif isinstance(value, str):
        for line in value.split("\n"):
            for start in ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "--- ", "+++ "):
                if line.startswith(start):
                    name = line.removeprefix(start)
                    yield name.removeprefix("a/").removeprefix("b/") if start in ("--- ", "+++ ") else name


def names(calls: list[ToolCall], result: ToolResult | None) -> ToolNames:
    """What those are about, and the result that none of them has."""
    tools = [one.tool_name for one in (*calls, *([result] if result else ())) if one.tool_name]
    files = [path for call in calls for path in paths(call.input)]
    return ToolNames(tuple(dict.fromkeys(tools)), tuple(dict.fromkeys(files)))


def expected(session: Session) -> list[Text]:
    """What the definition says of a session, written down once more."""
    linked = {m.tool_result.tool_call_id for m in session.messages if m.tool_result and m.tool_result.linked}
    found: list[Text] = []
    made: dict[str, ToolCall] = {}
    for message in session.messages:
        made |= {call.tool_call_id: call for call in message.tool_calls}
        about, lone = list(message.tool_calls), message.tool_result
        if lone and lone.linked and lone.tool_call_id in made:
            about, lone = [*about, made[lone.tool_call_id]], None
        said = message.role in ("user", "assistant")
        tool = [message.thinking or "", "" if said else message.content]
        for call in message.tool_calls:
            tool += [call.tool_name, "\n".join(spelled(call.input))]
            tool += [] if call.tool_call_id in linked else ["\n".join(spelled(call.output))]
        if result := message.tool_result:
            tool += [] if result.linked else [result.tool_name]
            output = "\n".join(spelled(result.output))
            tool += [] if not said and output == message.content else [output]
        at = message.timestamp
        found.append(
            Text(
                session.session_id,
                message.id,
                message.role,
                at.timestamp() if at else None,
                message.content if said else "",
                "\n".join(part for part in tool if part),
                message.visibility,
                names(about, lone),
                len(message.thinking or ""),
            )
        )
    return found


def sessions(adapter: Adapter, source: Source) -> list[Session]:
    found: list[Session] = []
    for summary in adapter.summaries(source, ignore):
        try:
            found.append(adapter.session(source, summary.session_id))
        except (SessionMissing, SessionUnreadable):
            continue
    return found


def own(texts: list[Text]) -> list[Text]:
    """Without those of branches that a session does not follow."""
    return [text for text in texts if text.visibility != "branch"]


@pytest.mark.parametrize(("agent", "relative"), ALL, ids=str)
def test_texts_are_those_of_the_sessions(agent: str, relative: Path, store: Callable[..., Path]) -> None:
    adapter = adapter_class(agent)(Environment(home=store(*relative.parts)))
    sources = list(adapter.sources(ignore))
    assert sources
    for source in sources:
        # Rows that two of Hector's sessions share are found in the one that counts them.
        counted = [one for one in sessions(adapter, source) if not one.raw.get("sharedMessages")]
        # A list has the newest first, the texts of a database come in the order of its rows.
        whole = _by_session(text for session in counted for text in expected(session))
        every = _by_session(adapter.texts(source, ignore))
        assert own(every) == whole
        there = {(text.session_id, text.message_id) for text in whole}
        assert there.isdisjoint((one.session_id, one.message_id) for one in every if one not in whole)
        reader = adapter.text_reader(source)
        assert reader is None or _by_session(text for _, text in reader.read()) == every
        for one in {text.session_id for text in whole}:
            assert list(adapter.texts(source, ignore, one)) == [text for text in every if text.session_id == one]


def _by_session(texts: Iterable[Text]) -> list[Text]:
    return sorted(texts, key=lambda text: text.session_id)


def test_a_json_value_is_its_words() -> None:
    value = {"a": ["x\ny", 1, 2.5, True, None, {"b": {}}], "": ("z",)}
    assert flat(value) == "a\nx\ny\n1\n2.5\ntrue\nb\n\nz"
    assert flat("as it stands") == "as it stands"
    assert flat(None) == ""
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    assert flat(deep) == "end"


LINES = {
    agent: [path.read_bytes() for path in homes(agent)[0].rglob("*.jsonl") if path.stat().st_size < 400_000]
    for agent in ("claude", "codex", "copilot", "gemini")
}
PLACES = {
    "claude": ".claude/projects/-p",
    "codex": ".codex/sessions/2026/03/01",
    "copilot": ".copilot/session-state",
    "gemini": ".gemini/tmp/shop/chats",
}
TAKEN_BACK = (b'"type":"compacted"', b'"messages":', b'"$rewindTo":')
"""What has a log read anew."""


@pytest.mark.parametrize("agent", PLACES)
@given(data=st.data())
@examples(25)
def test_what_is_read_in_pieces_is_what_is_read_at_once(
    agent: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file that grows, cut anywhere, also within a line: keeping the latest of each message gives the whole. Where
    Codex was cut between a summary and the record that says it is one, it is read anew, as the index does; a log of
    Gemini's before a list that takes the place of what stood there."""
    home = tmp_path_factory.mktemp("growing")
    folder = home / PLACES[agent]
    folder.mkdir(parents=True)
    path = folder / "3f0e2a10-0000-4000-8000-000000000001.jsonl"
    content = data.draw(st.sampled_from(LINES[agent]))
    cuts = sorted(data.draw(st.lists(st.integers(1, len(content)), max_size=4)))
    adapter = adapter_class(agent)(Environment(home=home))
    path.write_bytes(content[: cuts[0]] if cuts else content)
    reader = adapter.text_reader(next(iter(adapter.sources(ignore))))
    if reader is None:
        return  # one that builds on another rollout, or has nothing but a header, is read as a whole
    latest: dict[tuple[int, str], Text] = {}
    anew = 0
    for cut in [*cuts, len(content)]:
        path.write_bytes(content[:cut])
        try:
            latest |= {(number, text.message_id): text for number, text in reader.read()}
        except Rewritten:
            anew += 1
            reader = adapter.text_reader(next(iter(adapter.sources(ignore))))
            if reader is None:
                return  # a helper's records inside a main file are another session's
            latest = {(number, text.message_id): text for number, text in reader.read()}
    assert anew <= sum(map(content.count, TAKEN_BACK))
    whole = list(adapter.texts(next(iter(adapter.sources(ignore))), ignore))
    assert sorted(latest.values()) == sorted(whole)


def test_an_appended_line_costs_that_line(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("a long one", turns=300)
    adapter = ClaudeAdapter(Environment(home=tmp_path))
    reader = adapter.text_reader(next(iter(adapter.sources(ignore))))
    assert reader is not None
    assert len(list(reader.read())) == 600
    before = path.stat().st_size
    made.say(path, "user", "one more")
    METER.reset()
    assert [text.prose for _, text in reader.read()] == ["one more"]
    assert METER.bytes <= 2 * (path.stat().st_size - before) + 200
    assert METER.opened == 1


@pytest.mark.parametrize("how", ["shorter", "another"])
def test_a_rewritten_file_is_noticed(tmp_path: Path, how: str) -> None:
    path = ClaudeHome(tmp_path).session("what was said")
    adapter = ClaudeAdapter(Environment(home=tmp_path))
    reader = adapter.text_reader(next(iter(adapter.sources(ignore))))
    assert reader is not None
    list(reader.read())
    path.write_bytes(path.read_bytes()[:-40] if how == "shorter" else b"x" * 9000 + b"\n")
    with pytest.raises(Rewritten):
        list(reader.read())


def test_a_reply_that_turns_out_to_be_a_summary_is_read_anew(tmp_path: Path) -> None:
    (home,) = (path for path in homes("codex") if path.parent.name == "codex")
    (content,) = (path.read_bytes() for path in home.rglob("*01a1fd32-f807*.jsonl"))
    folder = tmp_path / ".codex/sessions/2026/03/01"
    folder.mkdir(parents=True)
    path = folder / "3f0e2a10-0000-4000-8000-000000000001.jsonl"
    cut = content.rindex(b"\n", 0, content.index(b'"type":"compacted"')) + 1
    path.write_bytes(content[:cut])
    adapter = adapter_class("codex")(Environment(home=tmp_path))
    reader = adapter.text_reader(next(iter(adapter.sources(ignore))))
    assert reader is not None
    said = [text.prose for _, text in reader.read()]
    assert "<summary>" in said[-1]
    path.write_bytes(content)
    with pytest.raises(Rewritten):
        list(reader.read())
