"""Rows, heights and places, without a terminal: for any messages, any width, any order of keys."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from chances import examples
from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.transcript.layout.block_writer import ALL, OPEN, SHUT
from hermes_tui.tui.widgets.transcript.layout.blocks import MessageLayout
from hermes_tui.tui.widgets.transcript.layout.context import MessageContext
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position
from hermes_tui.tui.widgets.transcript.layout.segments import TranscriptStyles
from hermes_tui.tui.widgets.transcript.layout.style import markdown_for
from hermes_tui.tui.widgets.transcript.view import View
from session_adapters.model import Attachment, Message, ToolCall, ToolResult
from transcripts import NOON, said, talk

_PALETTE = TranscriptStyles(**{name: Style() for name in TranscriptStyles._fields})
_MARKDOWN = markdown_for(lambda name: Style(), dark=True, ansi=False)

# Each of them does something to a terminal, or to the eye, when it gets there as itself.
HOSTILE = {
    "colours": "\x1b[31mred\x1b[0m and \x9b31m",
    "clears the screen": "\x1b[2J\x1b[H\x1bc",
    "hyperlink": "\x1b]8;;http://evil.example/\x07click\x1b]8;;\x07",
    "clipboard": "\x1b]52;c;aGVsbG8=\x07",
    "title": "\x1b]0;owned\x1b\\",
    "bidi": "user\u202e\u2066// admin\u2069\u2066",
    "bidi by reference": "&#x202e;gnp.exe &#x1b;[2J &#155;31m &#x2066;",
    "zero": "a\x00b\x07\x08\x7f\x85\u2028c",
    "markup": "[red]x[/red] [link=http://evil.example]y[/link] [@click=app.quit]z[/]",
    "link": "[click](javascript:alert%281%29) [b](<http://x/\x1b]52;c;eA==\x07>) ![i](http://x/%1b%5b2J)",
    "html": "<script>alert(1)</script> <!-- not to be lost --> <kbd>q</kbd></kbd></kbd>",
    "fence": "```\x1b[31m\n\x1b]52;c;eA==\x07\n```\n~~~evil\x9b31m\nx",
    "table": "| a\x1b[2J | b |\n|---|---|\n| \u202e | \x07 |\n",
    "deep": ">" * 500 + " at the bottom",
    "lists": "\n".join("  " * depth + "- item" for depth in range(60)),
    "wide": "日本語\u0301🎉👩‍👩‍👧‍👦🇩🇪" * 40,
    "marks": "a" + "\u0301" * 3000,
    "tabs": "a\tb\t\tc",
    "long line": "x" * 1_000_000,
    "many lines": "\n" * 200_000,
    "surrogates": "\ud800 \udfff",
}


def make_view(messages: list[Message], width: int = 78, height: int = 20, complete: bool = True) -> View:
    view = View()
    view.resize(height, _layout(width), anew=True)
    view.load(messages, complete=complete)
    return view


def _layout(width: int) -> MessageLayout:
    return MessageLayout(_PALETTE, _MARKDOWN, Clock(NOON), "claude", width, raw=False)


def _texts(segments: list[Segment]) -> str:
    return "".join(segment.text for segment in segments)


def _all_rows(view: View) -> list[list[Segment]]:
    found = []
    for index in range(len(view.column)):
        rendered = view.rendered(index)
        for line in range(rendered.height):
            piece, row = rendered.at(line)
            found.append(piece.segments(row))
    return found


def _assert_harmless(view: View, width: int) -> None:
    for segments in _all_rows(view):
        text = _texts(segments)
        # Format characters would be bidi overrides and zero-width ones; Zl and Zp end a line for some terminals.
        bad = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert not bad, (bad, text[:80])
        assert cell_len(text) <= width, text[:200]
        for segment in segments:
            assert segment.control is None
            assert segment.style is None or (segment.style.link is None and not segment.style.meta)


def _everywhere(text: str) -> list[Message]:
    call = ToolCall(tool_call_id="1", tool_name=text[:500], input={text[:50]: text, "command": text}, output=text)
    edit = ToolCall(
        tool_call_id="2", tool_name="Edit", input={"path": text, "old_string": text, "new_string": text + "x"}
    )
    odd = ToolCall(
        tool_call_id="3", tool_name="", input=[text], output={"exit_code": 1, "output": text}, subagent_id=text[:99]
    )
    drawn = ToolCall(
        tool_call_id="4",
        tool_name=f"mcp__{text[:50]}__{text[:50]}",
        input={
            "plan": text,
            "todos": [{"content": text, "status": text}],
            "questions": [{"question": text, "options": [{"label": text, "description": text}]}],
            "tasks": [{"task": text}],
        },
    )
    patch = ToolCall(
        tool_call_id="5",
        tool_name="apply_patch",
        input=f"*** Begin Patch\n*** Update File: {text}\n*** Move to: {text}\n@@ {text}\n+{text}\n*** End Patch",
    )
    return [
        said("user", text, model=text[:500]),
        said(
            "assistant",
            text,
            thinking=text,
            tool_calls=(call, edit, odd, drawn, patch),
            model=text[:500],
            usage_key="k",
        ),
        said("user", text, kind="notice"),
        said("assistant", text, kind="compaction"),
        said("assistant", text, kind="error", visibility="rewound"),
        said("tool", tool_result=ToolResult(tool_call_id="9", tool_name=text[:500], output=text)),
        said("user", "see", attachments=(Attachment(media_type=text[:200], name=text[:200], size=3),)),
    ]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [20, 79])
def test_hostile_text_never_reaches_the_screen_as_itself(name: str, width: int) -> None:
    view = make_view(_everywhere(HOSTILE[name]), width)
    _assert_harmless(view, width)
    view.toggle_kind(tools=True)
    view.toggle_kind(tools=False)
    _assert_harmless(view, width)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("long line", "many lines")])
def test_nothing_of_it_is_harmful_when_all_is_shown(name: str) -> None:
    view = make_view(_everywhere(HOSTILE[name]), 60)
    blocks = ("tool0", "tool1", "tool2", "prose", "think", "notice", "result", "compaction")
    for entry in view.column.entries:
        entry.levels = dict.fromkeys(blocks, ALL)
    view.forget()
    _assert_harmless(view, 60)


def test_all_of_a_kind_is_opened_and_closed_and_nothing_else() -> None:
    view = make_view(
        [said("assistant", "done", thinking="why", tool_calls=(ToolCall(tool_call_id="1", tool_name="Bash"),))]
    )
    (entry,) = view.column.entries
    every = {"tool0": OPEN, "result": OPEN, "think": OPEN, "prose": ALL, "notice": OPEN, "compaction": OPEN}
    entry.levels = dict(every)
    view.toggle_kind(tools=False)
    assert entry.levels.keys() == every.keys() - {"think"}
    view.toggle_kind(tools=True)
    assert entry.levels.keys() == every.keys() - {"think", "tool0", "result"}


@pytest.mark.parametrize("name", ["html", "markup"])
def test_what_looks_like_markup_is_shown_as_it_was_written(name: str) -> None:
    text = HOSTILE[name]
    view = make_view([said("assistant", text)], 120)
    shown = "".join(_texts(segments) for segments in _all_rows(view))
    for part in text.split():
        assert part.split("[link=")[0] in shown


def test_long_texts_cost_a_bounded_number_of_rows() -> None:
    for text in ("x" * 1_000_000, "\n" * 200_000, "y\n" * 200_000):
        message = said("assistant", text, tool_calls=(ToolCall(tool_call_id="1", tool_name="Bash", output=text),))
        view = make_view([message], 80)
        view.toggle_kind(tools=True)
        assert view.rendered(0).height < 450
        assert view.rendered(0).cuts == {"prose", "tool0"}


def test_all_of_a_text_is_shown_when_asked_for() -> None:
    text = "".join(f"{number} " for number in range(150_000))
    view = make_view([said("assistant", "", tool_calls=(ToolCall(tool_call_id="1", tool_name="Bash", output=text),))])
    view.column.entries[0].levels = {"tool0": ALL}
    view.forget()
    rows = [_texts(segments)[4:] for segments in _all_rows(view)]
    assert "".join(rows[3:]) == text


_texts_in = st.one_of(
    st.text(max_size=400),
    st.sampled_from([text[:3000] for text in HOSTILE.values()]),
    st.text(alphabet="ab *_`#>-|[]()!\n\t1.~<&;=日🎉", max_size=300),
)
_calls = st.builds(
    ToolCall,
    tool_call_id=st.just("1"),
    tool_name=st.sampled_from(["Bash", "Edit", "日本語の道具", ""]) | st.text(max_size=30),
    input=st.none()
    | _texts_in
    | st.dictionaries(
        st.sampled_from(["command", "path", "old_string", "new_string", "edits", "content", "x"]),
        st.none() | st.integers() | _texts_in | st.lists(_texts_in, max_size=2),
    ),
    output=st.none() | _texts_in | st.dictionaries(st.text(max_size=5), st.integers() | _texts_in, max_size=3),
    is_error=st.booleans(),
    duration_ms=st.none() | st.integers(0, 10**8),
)
_messages: st.SearchStrategy[Message] = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    kind=st.sampled_from(["message", "message", "message", "notice", "command", "compaction", "summary", "error"]),
    content=_texts_in,
    timestamp=st.none() | st.just(NOON),
    thinking=st.none() | _texts_in,
    tool_calls=st.lists(_calls, max_size=3).map(tuple),
    tool_result=st.none() | st.builds(ToolResult, tool_call_id=st.just("1"), output=_texts_in, linked=st.booleans()),
    visibility=st.sampled_from(["live", "live", "rewound", "compacted"]),
    inherited=st.booleans(),
    model=st.none() | st.text(max_size=20),
)

_property = examples(60)


@_property
@given(st.lists(_messages, max_size=8), st.integers(12, 200), st.booleans())
def test_heights_add_up_and_every_row_can_be_drawn(messages: list[Message], width: int, opened: bool) -> None:
    view = make_view(messages, width)
    if opened and view.is_ready:
        view.toggle_kind(tools=True)
        view.toggle_kind(tools=False)
    rendered = [view.rendered(index) for index in range(len(messages))]
    assert view.column.total == sum(one.height for one in rendered)
    for index, one in enumerate(rendered):
        for line in range(one.height):
            row = view.column.tops[index] + line
            assert view.column.at(row) == (index, line)
            piece, offset = one.at(line)
            assert cell_len(_texts(piece.segments(offset))) <= width
            assert one.find(one.place(line)) == line
        with pytest.raises(IndexError):
            one.at(one.height)
    _assert_harmless(view, width)


@_property
@given(
    st.lists(_messages, min_size=1, max_size=8),
    st.integers(12, 120),
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 9), st.integers(-40, 40)), max_size=20),
)
def test_no_order_of_keys_leaves_the_screen(
    messages: list[Message], width: int, height: int, keys: list[tuple[int, int]]
) -> None:
    view = make_view(messages, width, height)
    actions: list[Callable[[int], object]] = [
        view.move,
        view.scroll,
        lambda amount: view.toggle(everything=amount > 0),
        lambda amount: view.toggle_kind(tools=amount > 0) if view.is_ready else None,
        lambda amount: view.go(Position(amount, 0), at_top=True),
        lambda amount: view.follow(),
        lambda amount: view.resize(abs(amount) + 1, _layout(abs(amount) * 3 + 12), anew=True),
        lambda amount: view.change(0, messages[: abs(amount) % len(messages)], complete=True),
        lambda amount: view.change(len(view.column), [*_loaded(view), *messages], complete=True),
        lambda amount: view.put_in_front([*messages, *_loaded(view)], len(messages), complete=True),
    ]
    for action, amount in keys:
        actions[action](amount)
        rows = view.rows()
        if view.is_ready:
            assert len(rows) == min(view.height, _true_total(view))
            assert view.cursor in [row.position for row in rows]


def _loaded(view: View) -> list[Message]:
    return [entry.message for entry in view.column.entries]


def _true_total(view: View) -> int:
    return sum(view.rendered(index).height for index in range(len(view.column)))


@pytest.mark.parametrize("kind", ["output", "edit", "prose"])
@pytest.mark.parametrize("long", [False, True])
def test_showing_all_keeps_the_cursor_on_its_line(kind: str, long: bool) -> None:
    lines = [f"row {number}: " + "x" * (3000 if long and number % 7 == 3 else 0) for number in range(2000)]
    text = "\n".join(lines)
    call = ToolCall(tool_call_id="1", tool_name="Bash", input={"command": "seq"}, output=text)
    if kind == "edit":
        call = ToolCall(tool_call_id="1", tool_name="Write", input={"file_path": "a.txt", "content": text})
    message = said("assistant", "", tool_calls=(call,)) if kind != "prose" else said("user", text)
    for line in (0, 15, 120, 199, 200):
        view = make_view([said("user", "go"), message, *talk(9)])
        view.go(Position(1, view.rendered(1).height - 1))
        if kind != "prose":
            assert view.toggle(everything=False)
        wanted = f"row {line}:" if line < 200 else "press o to see all"
        rows = range(view.rendered(1).height)
        view.go(Position(1, next(row for row in rows if wanted in _texts_at(view, 1, row))))
        before = view.screen_row(view.cursor)
        assert view.toggle(everything=True)
        assert view.screen_row(view.cursor) == before
        assert f"row {line}:" in _text_at(view, before)


def test_a_closed_block_is_opened_and_all_of_it_shown_at_once() -> None:
    output = "\n".join(f"row {number}" for number in range(2000))
    call = ToolCall(tool_call_id="1", tool_name="Bash", input={"command": "seq"}, output=output)
    view = make_view([said("user", "go"), said("assistant", "", tool_calls=(call,))])
    shut = view.rendered(1).height
    view.go(Position(1, shut - 1))
    assert view.toggle(everything=True)
    shown = {_texts_at(view, 1, row).strip() for row in range(view.rendered(1).height)}
    assert shown >= {*output.splitlines()}
    assert view.toggle(everything=True) and view.rendered(1).height == shut


def _texts_at(view: View, entry: int, row: int) -> str:
    piece, line = view.rendered(entry).at(row)
    return _texts(piece.segments(line))


def test_what_comes_in_above_moves_nothing() -> None:
    messages = talk(200)
    view = make_view(messages[100:], complete=False)
    view.go(Position(3, 1))
    before = [_text_at(view, y) for y in range(20)]
    view.put_in_front(messages, 100, complete=True)
    assert [_text_at(view, y) for y in range(20)] == before


def test_a_call_finds_its_result_across_the_seam() -> None:
    loose = said("tool", tool_result=ToolResult(tool_call_id="1", tool_name="Bash", output="x"))
    linked = said("tool", tool_result=ToolResult(tool_call_id="1", tool_name="Bash", output="x", linked=True))
    rest = talk(40)
    view = make_view([loose, *rest], complete=False)
    view.go(Position(20, 1))
    before = [_text_at(view, y) for y in range(20)]
    call = said("assistant", "", tool_calls=(ToolCall(tool_call_id="1", tool_name="Bash", output="x"),))
    view.put_in_front([call, linked, *rest], 1, complete=True)
    assert [_text_at(view, y) for y in range(20)] == before
    assert view.column.entries[1].height == 0


def test_the_cursor_goes_with_a_result_to_its_call_that_comes_in_above() -> None:
    results = [ToolResult(tool_call_id=str(number), tool_name="Bash", output="x") for number in range(40)]
    rest = [said("assistant", "done"), *talk(40)]
    view = make_view([*(said("tool", tool_result=one) for one in results), *rest], complete=False)
    view.go(Position(5, 0))
    calls = tuple(
        ToolCall(tool_call_id=str(number), tool_name="Bash", input={"command": f"make {number}"}, output="x")
        for number in range(40)
    )
    linked = [said("tool", tool_result=replace(one, linked=True)) for one in results]
    before = view.screen_row(view.cursor)
    view.put_in_front([said("user", "go"), said("assistant", "", tool_calls=calls), *linked, *rest], 2, complete=True)
    assert "make 5" in _text_at(view, view.screen_row(view.cursor)) and view.screen_row(view.cursor) == before


def _text_at(view: View, y: int) -> str:
    return _texts_at(view, *view.rows()[y].position)


def test_a_message_laid_out_again_has_the_same_rows_open() -> None:
    call = ToolCall(tool_call_id="1", tool_name="Bash", input={"command": "ls"}, output="a")
    view = make_view([said("user", "go", id="a"), said("assistant", "yes", id="b", tool_calls=(call,))])
    assert view.toggle(everything=False)
    more = said("assistant", "yes and more", id="b", tool_calls=(call,))
    view.change(1, [view.column.entries[0].message, more], complete=True)
    entry = view.column.entries[1]
    assert view.level(entry, "tool0") == OPEN
    assert view.level(entry, "think") == SHUT


def test_every_width_from_20_to_200() -> None:
    messages = [
        said(
            "assistant",
            "# T\n\n| a | b | c |\n|---|---|---|\n| some words | `x` | 日本語 |\n\n1. one\n   - two\n\n> q\n",
        ),
        *_everywhere("some words, 日本語, and `code` " * 9),
    ]
    for width in range(20, 201):
        view = make_view(messages, width)
        for segments in _all_rows(view):
            assert cell_len(_texts(segments)) <= width


def test_context_decides_on_headers() -> None:
    layout = _layout(80)
    one = said("assistant", "text")

    def lines(context: MessageContext) -> int:
        return layout.render(one, context, lambda block: OPEN).height

    assert lines(MessageContext(first=True)) == 2
    assert lines(MessageContext()) == 3
    assert lines(MessageContext(first=True, unread=True)) == 4
