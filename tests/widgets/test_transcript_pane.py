"""The pane in an app: what is seen first, what keys do, what stays in place."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from textual import events
from textual.widget import Widget

from hermes_tui.sessions.context.view import context_view
from pilots import drawn, until
from session_adapters.base import Environment
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Attachment, Message, Problem, ToolCall, ToolResult
from transcripts import GrowingTranscript, PaneApp, rows_of, said, screen_of, settle, summary, talk


def _row(app: PaneApp, text: str) -> int:
    return next(y for y, row in enumerate(rows_of(app.pane)) if text in row)


async def test_the_last_screen_is_shown_first_and_followed() -> None:
    app = PaneApp(GrowingTranscript(talk(300)))
    async with app.run_test(size=(80, 24)):
        shown = rows_of(app.pane)
        assert shown[-1].strip() == "and code"
        assert any("answer 00299" in row for row in shown)
        assert app.pane.following
        assert "following" in str(app.pane.border_subtitle)


async def test_opening_5000_messages_renders_only_what_is_in_view() -> None:
    app = PaneApp(GrowingTranscript(talk(5000)))
    async with app.run_test(size=(80, 24)) as pilot:
        layout = app.pane.view.layout
        assert layout is not None
        assert 0 < layout.markdown.count <= 22
        before = layout.markdown.count
        await pilot.press("pageup")
        assert layout.markdown.count - before <= 22


async def test_paging_up_reaches_the_very_first_message_and_never_jumps() -> None:
    app = PaneApp(GrowingTranscript(talk(130), page=9))
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(400):
            before = rows_of(app.pane)
            await pilot.press("pageup")
            moved = rows_of(app.pane)
            await settle(pilot)
            after = rows_of(app.pane)
            # What came in above moved nothing that is read (the line that says more is coming apart).
            assert [row for row in after if row.strip()][1:] == [row for row in moved if row.strip()][1:] or (
                "earlier messages" in moved[0] and after[1:] == moved[1:]
            )
            # A page up keeps one line: the first is the last now, except at the top.
            if app.pane.view.top == app.pane.view.first and app.pane.view.complete:
                break
            assert before[0] == moved[-1]
        assert "question 00000" in "\n".join(rows_of(app.pane)[:3])
        assert app.pane.view.complete
        assert app.transcript is not None and isinstance(app.transcript, GrowingTranscript)
        assert app.transcript.reads == 14


async def test_every_message_comes_by_when_going_up_line_by_line() -> None:
    app = PaneApp(GrowingTranscript(talk(30), page=7))
    async with app.run_test(size=(60, 12)):
        seen: set[str] = set()
        for _ in range(600):
            seen.update(
                word for row in rows_of(app.pane) for word in row.split() if word.isdigit() and len(word) == 5
            )
            if app.pane.view.complete and app.pane.view.cursor == app.pane.view.first:
                break
            app.pane.action_move(-1)
            await app.workers.wait_for_complete()
        assert seen == {f"{number:05}" for number in range(30)}


async def test_g_reads_all_and_goes_to_the_first_message() -> None:
    app = PaneApp(GrowingTranscript(talk(400), page=25))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        for _ in range(20):
            await settle(pilot)
        assert "question 00000" in rows_of(app.pane)[1]
        assert not app.pane.following
        await pilot.press("G")
        assert app.pane.following
        assert rows_of(app.pane)[-1].strip() == "and code"


async def test_growth_is_followed_at_the_end_only() -> None:
    transcript = GrowingTranscript(talk(100))
    app = PaneApp(transcript)
    async with app.run_test(size=(80, 24)) as pilot:
        assert screen_of(app) == rows_of(app.pane)
        transcript.grow(said("user", "a new question", 30))
        await app.pane.poll()
        await pilot.pause()
        assert screen_of(app) == rows_of(app.pane)
        assert rows_of(app.pane)[-1].strip() == "a new question"
        await pilot.press("k")
        assert not app.pane.following
        before = rows_of(app.pane)
        transcript.grow(said("user", "another one", 31))
        await app.pane.poll()
        assert rows_of(app.pane) == before
        await pilot.press("f")
        assert rows_of(app.pane)[-1].strip() == "another one"
        transcript.replace_last(said("user", "another one, longer", 31))
        await app.pane.poll()
        assert rows_of(app.pane)[-1].strip() == "another one, longer"


async def test_nothing_is_drawn_when_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = GrowingTranscript(talk(100))
    app = PaneApp(transcript)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("pageup")
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(app.pane, "refresh", lambda *regions, **more: drawn.append(regions))
        await app.pane.poll()
        await pilot.pause()
        assert drawn == []
        transcript.grow(said("user", "below what is in view", 30))
        await app.pane.poll()
        assert drawn == [()]  # once, for the percentage in the border; the rows gave no reason


async def test_what_cannot_be_read_is_said_and_the_rest_stays() -> None:
    class Broken(GrowingTranscript):
        def earlier(self) -> int:
            raise OSError("the disk is gone")

    app = PaneApp(Broken(talk(100), page=40))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        await until(pilot, lambda: bool(app.refused))
        assert app.refused == ["What is earlier cannot be read: the disk is gone"]
        assert "what is earlier cannot be read" in str(app.pane.border_subtitle)
        assert "question 00060" in "\n".join(rows_of(app.pane)[:5])


async def test_a_deleted_session_keeps_its_messages_and_says_so() -> None:
    transcript = GrowingTranscript(talk(10))
    app = PaneApp(transcript)
    async with app.run_test(size=(80, 24)):
        transcript.exists = False
        await app.pane.poll()
        assert "gone: the store no longer has it" in str(app.pane.border_title)
        assert "answer 00009" in "\n".join(rows_of(app.pane))


def _with_tool(output: str = "one\ntwo", **more: object) -> Message:
    call = ToolCall(
        tool_call_id="1", tool_name="Bash", input={"command": "pytest -x"}, output=output, duration_ms=4200
    )
    return said("assistant", "I run it.", tool_calls=(call,), thinking="Let me see. " * 100)


async def test_tool_calls_open_and_close_under_the_cursor() -> None:
    app = PaneApp(GrowingTranscript([said("user", "go"), _with_tool()]))
    async with app.run_test(size=(80, 24)) as pilot:
        folded = rows_of(app.pane)
        line = _row(app, "Bash")
        assert folded[line].startswith("▸ Bash   pytest -x")
        assert folded[line].endswith("4.2 s · 2 lines")
        assert any(row.startswith("▸ thinking · 1.2k chars") for row in folded)
        await pilot.press("enter")
        opened = rows_of(app.pane)
        assert screen_of(app) == opened
        assert opened[line].startswith("▾ Bash")
        assert [row.strip() for row in opened[line + 1 : line + 5]] == ["command  pytest -x", "output", "one", "two"]
        await pilot.press("j", "j", "space")
        assert rows_of(app.pane) == folded
        await pilot.press("z")
        assert rows_of(app.pane) == opened
        await pilot.press("z", "Z")
        assert any("Let me see." in row for row in rows_of(app.pane))
        assert not any("output" in row for row in rows_of(app.pane))


async def test_common_tools_are_drawn_and_not_dumped() -> None:
    steps = [{"content": "Fix the clock", "status": "completed"}, {"content": "Write docs", "status": "in_progress"}]
    patch = "*** Begin Patch\n*** Update File: clock.py\n@@ def now():\n-    return 1\n+    return 2\n*** End Patch"
    calls = (
        ToolCall(tool_call_id="1", tool_name="TodoWrite", input={"todos": steps}, output="ok"),
        ToolCall(
            tool_call_id="2", tool_name="ExitPlanMode", input={"plan": "# Move it\n\n- first *this*"}, output="ok"
        ),
        ToolCall(tool_call_id="3", tool_name="apply_patch", input=patch, output="ok"),
        ToolCall(
            tool_call_id="4", tool_name="mcp__github__create_issue", input={"title": "Clock", "n": 3}, output="ok"
        ),
    )
    app = PaneApp(GrowingTranscript([said("user", "go"), said("assistant", "I plan.", tool_calls=calls)]))
    async with app.run_test(size=(80, 40)) as pilot:
        folded = [row.split("  ")[:2] for row in rows_of(app.pane) if row.startswith("▸")]
        assert folded == [
            ["▸ TodoWrite", "1 of 2 done · now: Write docs"],
            ["▸ ExitPlanMode", "Move it"],
            ["▸ apply_patch", "clock.py"],
            ["▸ github · create_issue", "title: Clock, n: 3"],
        ]
        await pilot.press("z")
        opened = [row.strip() for row in rows_of(app.pane)]
        assert "● now      Write docs" in opened and "✓ done     Fix the clock" in opened
        assert "• first this" in opened
        at = opened.index("⋯ def now():")
        assert opened[at - 1 : at + 3] == ["clock.py", "⋯ def now():", "-     return 1", "+     return 2"]
        assert not any("***" in row or '"status"' in row for row in opened)


async def test_mouse() -> None:
    app = PaneApp(GrowingTranscript([*talk(60), _with_tool(), said("user", "thanks")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        line = _row(app, "Bash")
        await pilot.click(app.pane, offset=(10, line + 1))  # below the border
        assert app.pane.view.cursor == app.pane.view.rows()[line].position
        assert rows_of(app.pane)[line].startswith("▸ Bash")
        await pilot.click(app.pane, offset=(10, line + 1))
        assert any(row.startswith("▾ Bash") for row in rows_of(app.pane))
        app.pane.action_follow()
        where = app.pane.view.top
        app.pane.post_message(_wheel(events.MouseScrollUp, app.pane))
        await settle(pilot)
        assert app.pane.view.top < where and not app.pane.view.following
        for _ in range(9):
            app.pane.post_message(_wheel(events.MouseScrollDown, app.pane))
        await settle(pilot)
        assert app.pane.view.following


def _wheel(kind: type[events.MouseScrollUp | events.MouseScrollDown], widget: Widget) -> events.MouseEvent:
    return kind(widget, 5, 5, 0, 0, 0, False, False, False)


async def test_long_output_is_cut_and_shown_whole_on_request() -> None:
    app = PaneApp(GrowingTranscript([_with_tool("\n".join(f"row {number}" for number in range(10_012)))]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", "G")
        assert rows_of(app.pane)[-1].strip() == "… 9,812 more lines — press o to see all"
        assert rows_of(app.pane)[-2].strip() == "row 199"
        await pilot.press("o")
        await pilot.press("G")
        assert rows_of(app.pane)[-1].strip() == "row 10011"


async def test_results_that_a_call_shows_are_not_shown_again() -> None:
    linked = ToolResult(tool_call_id="1", output="one\ntwo", linked=True)
    loose = ToolResult(tool_call_id="9", tool_name="Read", output="found nowhere else")
    messages = [_with_tool(), said("tool", tool_result=linked), said("tool", tool_result=loose)]
    app = PaneApp(GrowingTranscript(messages))
    async with app.run_test(size=(80, 24)):
        shown = [row for row in rows_of(app.pane) if row.startswith("▸ ")]
        assert len(shown) == 3
        assert shown[-1].startswith("▸ Read  found nowhere else")
        assert "no call" in shown[-1]


async def test_what_is_not_said_by_anyone_is_told_apart() -> None:
    messages = [
        said("user", "copied", inherited=True),
        said("user", "own"),
        said("user", "/compact", kind="command"),
        said("assistant", "Compacted: 11592 → 2844 tokens", kind="compaction"),
        said("user", "In short.\n" * 50, kind="summary"),
        said("assistant", "overloaded", kind="error"),
        said("user", "undone", visibility="rewound"),
        said("user", "see", attachments=(Attachment(media_type="image/png", size=34_000),)),
    ]
    app = PaneApp(GrowingTranscript(messages))
    async with app.run_test(size=(80, 40)):
        shown = rows_of(app.pane)
        for expected in (
            "── above: copied from the parent session ──",
            "· command  /compact",
            "── compacted here: claude no longer sees the 3 messages above ──",
            "· compaction  Compacted: 11592 → 2844 tokens",
            "▸ summary  In short. In short.",
            "✗ error  12:00",
            "you  12:00 · rewound",
            "  [image/png, 34 kB]",
        ):
            assert any(row.startswith(expected) for row in shown), expected


async def test_a_compaction_counts_the_messages_above_as_the_context_view_does() -> None:
    """Results that stand with their calls are messages too; what it kept is not gone."""
    linked = ToolResult(tool_call_id="t1", tool_name="Read", output="x", linked=True)
    messages = [said("user", "do"), _with_tool(), said("tool", tool_result=linked)]
    for kept, words in (("", "the 3 messages above"), ("m", "most of the 3 messages above")):
        app = PaneApp(GrowingTranscript([*messages, said("system", "", kind="compaction", kept_from=kept)]))
        async with app.run_test(size=(80, 24)):
            assert f"── compacted here: claude no longer sees {words} ──" in " ".join(rows_of(app.pane))
        assert context_view("claude", [*messages, said("system", "", kind="compaction")]).count == 1


async def test_prompts_are_reached_by_a_key_through_all_pages() -> None:
    app = PaneApp(GrowingTranscript(talk(30), page=5))
    async with app.run_test(size=(80, 24)) as pilot:
        reached = []
        for _ in range(15):
            await pilot.press("K")
            for _ in range(4):
                await settle(pilot)
            message = app.pane.message
            assert message is not None
            reached.append(message.content)
        assert reached == [f"question {number:05}" for number in range(28, -2, -2)]
        await pilot.press("K")
        await settle(pilot)
        assert app.refused == ["There is no further prompt above"]
        await pilot.press("J")
        assert app.pane.message is not None and app.pane.message.content == "question 00002"


async def test_resizing_keeps_the_place() -> None:
    app = PaneApp(GrowingTranscript(talk(300)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*["pageup"] * 5)
        first = next(row for row in rows_of(app.pane) if "answer" in row or "question" in row)
        for size in ((60, 30), (40, 15), (20, 5), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert len(rows_of(app.pane)) == size[1] - 2
        assert first in rows_of(app.pane)


@pytest.mark.parametrize("sizes", [[(40, 15), (160, 60)], [(120, 60), (30, 10)], [(20, 5), (120, 40), (60, 12)]])
async def test_resizing_is_no_scrolling_away_from_the_end(sizes: list[tuple[int, int]]) -> None:
    """In a larger window the view can begin less far down: the scrollbar is moved for that, and nobody moved it."""
    app = PaneApp(GrowingTranscript(talk(30)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert app.pane.view.following
        for size in sizes:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert app.pane.view.following, size
            assert rows_of(app.pane)[-1].strip(" ▎").startswith("and"), size


@pytest.mark.parametrize("size", [(40, 15), (20, 5), (8, 3), (1, 1)])
async def test_it_stands_in_any_size(size: tuple[int, int]) -> None:
    app = PaneApp(GrowingTranscript([*talk(20), _with_tool(), said("assistant", kind="compaction")]))
    async with app.run_test(size=size) as pilot:
        await pilot.press("z", "Z", "pageup", "g", "j", "enter", "o", "J", "G", "m", "ctrl+u")
        await settle(pilot)


async def test_no_messages_and_no_session_are_said_in_words() -> None:
    app = PaneApp(GrowingTranscript([]))
    async with app.run_test(size=(80, 24)) as pilot:
        assert rows_of(app.pane)[0] == "This session has no messages."
        await pilot.press("j", "k", "g", "G", "enter", "o", "z", "Z", "J", "K", "pageup", "m")
        app.pane.clear("Nothing is open.")
        assert rows_of(app.pane)[0] == "Nothing is open."
        await pilot.press("j", "k", "g", "G", "enter")


async def test_another_session_takes_the_place_of_the_first() -> None:
    app = PaneApp(GrowingTranscript(talk(100)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        app.pane.show(
            summary(agent="hermes"), GrowingTranscript([said("user", "hello"), said("assistant", "hi there")])
        )
        assert [row for row in rows_of(app.pane) if row][-1].strip() == "hi there"
        assert any(row.startswith("hermes ") for row in rows_of(app.pane))


async def test_a_transcript_that_is_shown_already_stays_as_it_is() -> None:
    transcript = GrowingTranscript(talk(100))
    app = PaneApp(transcript)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("pageup", "pageup")
        before = rows_of(app.pane)
        app.pane.show(summary(title="Another title"), transcript)
        assert rows_of(app.pane) == before
        assert str(app.pane.border_title).startswith("Another title")


@pytest.mark.parametrize("theme", ["hermes-light", "ansi", "high-contrast", "no-colour"])
async def test_every_theme_draws_the_same_text(theme: str) -> None:
    messages = [*talk(4), _with_tool(), said("assistant", "```python\nx = 1\n```")]
    app = PaneApp(GrowingTranscript(messages))
    async with app.run_test(size=(80, 24)) as pilot:
        dark = rows_of(app.pane)
        app.theme = theme
        await pilot.pause()
        await pilot.pause()
        assert rows_of(app.pane) == dark
        colours = {
            segment.style.color.type.name
            for y in range(22)
            for segment in app.pane.render_line(y)
            if segment.style and segment.style.color
        }
        assert ("TRUECOLOR" in colours) is (theme in ("hermes-light", "high-contrast"))


@pytest.mark.parametrize("parts", [("home",), ("older", "home")])
async def test_every_prompt_in_the_store_is_shown(
    store: Callable[..., Path],
    environment: Callable[..., Environment],
    problems: list[Problem],
    parts: tuple[str, ...],
) -> None:
    adapter = ClaudeAdapter(environment(store("claude", *parts)))
    sources = list(adapter.sources(problems.append))
    assert sources
    app = PaneApp()
    async with app.run_test(size=(100, 30)) as pilot:
        for source in sources:
            for one in adapter.summaries(source, problems.append):
                app.pane.show(one, adapter.open(source, one.session_id))
                await pilot.press("z", "g")
                await settle(pilot)
                seen: list[str] = []
                for _ in range(1000):
                    seen.extend(rows_of(app.pane))
                    if app.pane.view.cursor == app.pane.view.last:
                        break
                    await pilot.press("pagedown")
                text = "".join("".join(seen).split())
                for message in app.pane.messages:
                    if message.is_prompt:
                        start = "".join(message.content[:40].replace("`", "").replace("*", "").split())
                        assert start[:15] in text
                    for call in message.tool_calls:
                        assert call.tool_name[:20] in text


async def test_moving_the_cursor_draws_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    app = PaneApp(GrowingTranscript([said("user", "\n\n".join(f"line {number}" for number in range(60)))]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("k")
        await pilot.pause()
        base = app.pane.rich_style.bgcolor

        def marked() -> list[int]:
            strips = drawn(app)[1:-1]
            styles = [next(iter(strip.crop(20, 21))).style for strip in strips]
            return [y for y, style in enumerate(styles) if style is not None and style.bgcolor != base]

        refreshed: list[tuple[object, ...]] = []
        monkeypatch.setattr(app.pane, "refresh", _counted(app.pane.refresh, refreshed))
        await pilot.press("k")
        await pilot.pause()
        above = marked()
        assert [len(regions) for regions in refreshed] == [2]
        await pilot.press("k", "k")
        await pilot.pause()
        assert above == [app.pane.view.screen_row(app.pane.view.cursor) + 2]
        assert marked() == [above[0] - 2]


def _counted(refresh: Callable[..., object], calls: list[tuple[object, ...]]) -> Callable[..., object]:
    def counting(*regions: object, **more: object) -> object:
        calls.append(regions)
        return refresh(*regions, **more)

    return counting


async def test_what_is_over_before_it_begins_leaves_nothing_behind() -> None:
    app = PaneApp(GrowingTranscript(talk(9)))
    async with app.run_test(size=(80, 24)) as pilot:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            app.pane.action_branch(1)
            app.workers.cancel_all()
            await settle(pilot)
            gc.collect()
        assert [str(one.message) for one in warned] == []


async def test_what_is_read_for_somebody_who_went_away_is_in_the_view() -> None:
    """A new search ends the one before; its thread reads on, and the next read began behind what only it had seen."""
    begun, go_on = Event(), Event()
    begins = 0

    class Slow(GrowingTranscript):
        def earlier(self) -> int:
            nonlocal begins
            begins += 1
            begun.set()
            go_on.wait(60)
            return super().earlier()

    app = PaneApp(Slow(talk(130), page=40))
    async with app.run_test(size=(80, 24)) as pilot:
        opened = app.pane.opened
        asked = asyncio.create_task(opened.read_earlier())
        await asyncio.to_thread(begun.wait, 60)
        asked.cancel()
        await pilot.pause()
        unwanted = [asyncio.create_task(opened.read_earlier()) for _ in range(9)]
        await pilot.pause()
        for one in unwanted:
            one.cancel()
        again = asyncio.create_task(opened.read_earlier())
        go_on.set()
        assert await again == 40
        assert begins == 2, "who went away while waiting is not read for"
        assert [message.id for message in opened.messages] == [f"m{number}" for number in range(10, 130)]
