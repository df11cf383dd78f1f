"""Two sessions side by side, in the whole program."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from itertools import islice
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.display import safe
from hermes_tui.errors import ParseError
from hermes_tui.sessions.diff.compare import diff
from hermes_tui.sessions.diff.shown import ComparedSessions
from hermes_tui.sessions.diff.wording import ChangedSpan, wording
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.diff import DiffScreen
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.widgets.diff.rows import DiffBlocks, DiffRows
from hermes_tui.tui.widgets.diff.texts import Texts
from hermes_tui.tui.widgets.diff.view import DiffView
from pilots import screen_text, toasts, until
from session_adapters.model import Message, Role, Session, ToolCall

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def app_of(pilot: Pilot[None]) -> HermesApp:
    return cast(HermesApp, pilot.app)


def view_of(pilot: Pilot[None]) -> DiffView:
    return pilot.app.screen.query_one(DiffView)


@pytest.fixture
def two(claude_home: ClaudeHome) -> Path:
    """Two sessions with five messages in common, one that was changed, and one that only the newer has."""
    paths = [claude_home.session(title) for title in ("Mend the roof", "Mend the roof")]
    for path, word in zip(paths, ("slate", "copper"), strict=True):
        for number in range(2):
            claude_home.say(path, "user", f"Question {number}")
            claude_home.say(path, "assistant", f"An answer, the same in both, number {number}")
        claude_home.say(path, "user", "What is it made of?")
        claude_home.say(path, "assistant", f"The roof of the old house by the river is made of {word} now.")
    claude_home.say(paths[1], "user", "Thank you")
    return claude_home.home


async def compared(pilot: Pilot[None]) -> DiffView:
    """Mark both sessions and compare them."""
    await pilot.press("space", "space")
    assert len(app_of(pilot).main.sessions.marked) == 2
    await pilot.press("d")
    await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen) and view_of(pilot).rows)
    return view_of(pilot)


async def test_two_marked_sessions_side_by_side(program: Program, two: Path) -> None:
    async with program(two, size=(100, 30)) as pilot:
        assert screen_text(pilot).count("◆") == 0
        await pilot.press("space")
        assert screen_text(pilot).count("◆") == 2  # in the header, and in its row
        await pilot.press("up")
        view = await compared_after_one(pilot)
        text = screen_text(pilot)
        assert "1 changed, 1 removed, 0 added, 7 the same" in text
        assert "⋯ 7 equal" in text
        line = next(line for line in text.splitlines() if "copper" in line)
        assert line.startswith("~ ") and "│" in line and "slate" in line
        assert view.rows[view.cursor].kind == "head"
        words = [piece for row in view.rows for piece in (*row.left, *(row.right or ())) if piece[1]]
        assert words == [("copper", True), ("slate", True)]
        await pilot.press("escape")
        await until(pilot, lambda: app_of(pilot).main is pilot.app.screen)
        assert len(app_of(pilot).main.sessions.marked) == 1


async def compared_after_one(pilot: Pilot[None]) -> DiffView:
    """One is marked, the cursor on the other: these two."""
    main = app_of(pilot).main
    if main.sessions.highlighted is main.sessions.marked[0]:
        await pilot.press("down")
    await pilot.press("d")
    await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen) and view_of(pilot).rows)
    return view_of(pilot)


async def test_from_change_to_change_and_folding(program: Program, two: Path) -> None:
    async with program(two, size=(100, 12)) as pilot:
        view = await compared(pilot)
        screen = cast(DiffScreen, pilot.app.screen)
        assert view.place == (1, 2)
        await pilot.press("n")
        assert view.place == (2, 2)
        await pilot.press("n")
        assert toasts(pilot) == ["There is no change after this one."]
        await pilot.press("N", "N")
        assert view.place == (1, 2)
        await pilot.press("g", "enter")
        assert screen.diff is not None
        assert sum(row.kind == "head" for row in view.rows) == 9
        assert "Mend the roof" in screen_text(pilot)
        await pilot.press("enter")
        assert sum(row.kind == "head" for row in view.rows) == 2
        await pilot.press("z")
        assert sum(row.kind == "head" for row in view.rows) == 9
        await pilot.press("z", "G", "t")
        assert view.shows_uses and "Tool calls" in screen_text(pilot)
        await pilot.press("t", "question_mark")
        assert isinstance(pilot.app.screen, HelpScreen)
        assert "Next change" in screen_text(pilot)


@pytest.mark.parametrize("size", [(80, 24), (40, 15), (24, 8)])
async def test_small_screens(program: Program, two: Path, size: tuple[int, int]) -> None:
    async with program(two, size=size) as pilot:
        view = await compared(pilot)
        text = screen_text(pilot)
        assert all(len(line) <= size[0] for line in text.splitlines())
        assert "Compar" in text
        if size[0] < 60:
            assert all(row.right is None for row in view.rows)
            assert {row.mark for row in view.rows if row.kind == "text"} >= {"-", "+"}
        await pilot.resize_terminal(120, 30)
        await until(pilot, lambda: any(row.right is not None for row in view.rows))


async def test_without_colours_marks_still_tell(program: Program, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with program(two, size=(100, 30)) as pilot:
        view = await compared(pilot)
        styles = [segment.style for y in range(view.size.height) for segment in view.render_line(y)]
        assert any(style is not None and style.underline for style in styles)
        assert "~ " in screen_text(pilot)


def first_of(home: Path) -> Path:
    return next(home.rglob("*.jsonl"))


async def test_what_cannot_be_compared_is_said(program: Program, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with program(two) as pilot:
        await pilot.press("d")
        assert toasts(pilot) == ["Mark two sessions with space, then press d; a fork is compared with its origin."]

        async def refuse(*asked: object) -> None:
            raise ParseError("cannot read \x1b[31mthis")

        with monkeypatch.context() as patch:
            patch.setattr("hermes_tui.tui.screens.diff.in_helper", refuse)
            await pilot.press("space", "space", "d")
            await until(pilot, lambda: "Cannot be compared: cannot read this" in screen_text(pilot))
            await pilot.press("escape")
        first_of(two).unlink()
        await pilot.press("d")
        await until(pilot, lambda: "Cannot be compared: claude has no session" in screen_text(pilot))
        await pilot.press("n", "enter", "t", "escape")
        await until(pilot, lambda: app_of(pilot).main is pilot.app.screen)


@pytest.mark.parametrize(("size", "said"), [((160, 40), "◆ 2 marked"), ((80, 24), "◆ 2 marked"), ((40, 15), "◆2")])
async def test_marks_are_told_wherever_one_is(
    program: Program, claude_home: ClaudeHome, size: tuple[int, int], said: str
) -> None:
    for number in range(60):
        claude_home.session(f"Session {number}")

    def top() -> str:
        return screen_text(pilot).splitlines()[0]

    async with program(claude_home.home, size=size) as pilot:
        main = app_of(pilot).main
        assert "◆" not in top()
        await pilot.press("space")
        await until(pilot, lambda: said.replace("2", "1") in top())
        await pilot.press("space", "end")  # both rows are far above now
        await until(pilot, lambda: said in top())
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and said in top())
        main.search_for("id:00000000-0000-0001")  # neither is among them
        await until(pilot, lambda: main.sessions.left == 1 and said in top())
        await pilot.press("escape", "escape", "home", "space")
        await until(pilot, lambda: said.replace("2", "1") in top())


# The rows, without a screen -----------------------------------------------------------------------------------


def talk(*said: tuple[Role, str], name: str = "s") -> Session:
    return Session(
        agent="tiny", session_id=name, messages=tuple(Message(role=role, content=text) for role, text in said)
    )


def rows_of(a: Session, b: Session, width: int, opened: Collection[int] = ()) -> DiffRows:
    return DiffRows(DiffBlocks(ComparedSessions(diff(a, b).operations)), width, opened)


def test_hostile_text_and_long_messages_are_safe_and_cut() -> None:
    evil = "\x1b]52;c;eA==\x07\u202e" + "word " * 4000
    a, b = talk(("user", evil)), talk(("user", "other"), ("user", "\ud800" * 10))
    for width in (20, 50, 90, 200):
        rows = rows_of(a, b, width)
        texts = [text for row in rows for text, _ in (*row.left, *(row.right or ()))]
        assert not {char for text in texts for char in text if ord(char) < 32 or char in "\u202e\ud800"}
        assert any("more lines" in text for text in texts)
        assert len(rows_of(a, b, width, {0})) > len(rows)


def test_words_are_compared_only_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of long messages that were changed would take seconds; a screen shows a few."""
    asked = []

    def counted(a: str, b: str) -> list[ChangedSpan]:
        asked.append((a, b))
        return wording(a, b)

    monkeypatch.setattr("hermes_tui.tui.widgets.diff.texts.wording", counted)
    a = talk(*(("user", f"question {number} as it was") for number in range(500)))
    b = talk(*(("user", f"question {number} as it is") for number in range(500)))
    for width in (50, 100):
        rows = rows_of(a, b, width)
        assert len(rows) == 500 * (4 if width < 60 else 3)
        assert asked == []
        pieces = [piece for row in islice(rows, 8) for piece in (*row.left, *(row.right or ()))]
        assert ("was", True) in pieces and ("is", True) in pieces
        assert len(asked) == (2 if width < 60 else 3)
        asked.clear()


def test_what_acts_otherwise_is_said_once_on_either_side() -> None:
    calls = [ToolCall(tool_call_id="c", tool_name="Bash", input={"command": command}) for command in ("ls", "pwd")]
    one, other = (
        Session(agent="a", session_id="1", messages=(Message(role="assistant", content="Look.", tool_calls=(call,)),))
        for call in calls
    )
    narrow, wide = list(rows_of(one, other, 50)), list(rows_of(one, other, 100))
    assert narrow[0].left == [("1 assistant · same words, other tool calls", False)]
    assert [row.mark for row in narrow[1:]] == ["-", "-", "+", "+", " "]
    assert [wide[0].left, wide[0].right] == [[("1 assistant · same words, other tool calls", False)]] * 2
    assert list(wide[1].left) == [("Look.", False)]
    assert ("ls", True) in wide[2].left
    assert ("pwd", True) in (wide[2].right or ())


async def test_the_counts_are_short_where_there_is_little_room(program: Program, two: Path) -> None:
    async with program(two, size=(120, 30)) as pilot:
        await compared(pilot)
        assert "1 changed, 1 removed, 0 added, 7 the same" in screen_text(pilot).splitlines()[0]
        await pilot.resize_terminal(66, 20)
        await until(pilot, lambda: "1 changed, 1 removed, 7 the same" in screen_text(pilot).splitlines()[0])
        assert "change 1 of 2" in screen_text(pilot).splitlines()[0]


WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "   ", " ", "\n", ".", "猫", "\t", "\x1b[1m", "a" * 30])).map(
    "".join
)


@given(WORDS, WORDS, st.integers(4, 40))
def test_marks_stand_where_the_words_are(a: str, b: str, width: int) -> None:
    """Every row begins where the one before it ended, blanks between them left out; each letter is marked as the
    comparison of the whole texts says."""
    texts = Texts(a, b, width, everything=True)
    spans = wording(safe(a, keep_newlines=True), safe(b, keep_newlines=True))
    for side, mark in enumerate("-+"):
        letters = [(char, span.mark == mark) for span in spans if span.mark in (" ", mark) for char in span.text]
        letters = [one for one in letters if not one[0].isspace()]
        height = len(texts.sides[side].rows)  # type: ignore[union-attr]
        rows = [texts.row(side, at) for at in range(height)]
        assert ["".join(text for text, _ in row) for row in rows] == texts.sides[side].rows  # type: ignore[union-attr]
        shown = [(char, marked) for row in rows for text, marked in row for char in text if not char.isspace()]
        assert shown == letters
        assert texts.row(side, height) == ()
    assert texts.whole is not any(span.mark == " " for span in spans)


def test_every_row_fits_its_column() -> None:
    wide = "漢字 " * 50 + "a" * 300 + " 👩‍👩‍👧 é" * 20
    call = ToolCall(tool_call_id="c", tool_name="Bash", input={"command": wide})
    one = Session(agent="a", session_id="1", messages=(Message(role="assistant", content=wide),))
    other = Session(agent="a", session_id="2", messages=(Message(role="assistant", tool_calls=(call,)),))
    from hermes_tui.cells import width_of

    for width in (8, 30, 61, 100):
        room = width - 2 if width < 60 else (width - 5) // 2
        for row in rows_of(one, other, width, {0}):
            if row.kind == "text":
                assert width_of("".join(text for text, _ in row.left)) <= room
                assert width_of("".join(text for text, _ in row.right or ())) <= room
