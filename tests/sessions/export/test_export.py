"""Export (spec 004 §6.5; checklist E-*)."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chances import examples
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.export import export
from hermes_tui.sessions.export.plain import plain
from hermes_tui.sessions.export.prose import contained
from hermes_tui.sessions.export.structured import json_array
from session_adapters.model import Attachment, Cost, Message, Session, TokenUsage, ToolCall, ToolResult
from session_adapters.text import scrub

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
AT = datetime(2026, 3, 1, 12, 0, 0, 123456, UTC)


def whole(session: Session, form: str) -> str:
    return b"".join(export(session, form)).decode("utf-8")


def rich_session(text: str = "plain", thinking: str = "why") -> Session:
    """A session with one of everything, `text` wherever text can be."""
    call = ToolCall(tool_call_id="c1", tool_name="bash", input={"command": text}, output=text, duration_ms=7)
    lonely = ToolCall(tool_call_id="c2", tool_name=text, input=text, output=f"only {text}", is_error=True)
    return Session(
        agent="tiny",
        session_id="s1",
        title=text,
        created_at=AT,
        updated_at=AT,
        model="m-1",
        cost=Cost(total_usd=1.25, estimated=True),
        tokens=TokenUsage(input_tokens=10, output_tokens=20, cached_tokens=30, thinking_tokens=5),
        cwd=text,
        tags=(text,),
        notes=(text,),
        turn_count=1,
        raw={"native": text},
        messages=(
            Message(
                role="user", content=text, timestamp=AT, attachments=(Attachment(media_type="image/png", name=text),)
            ),
            Message(role="assistant", content=text, thinking=thinking, tool_calls=(call, lonely), model="m-1"),
            Message(role="tool", tool_result=ToolResult(tool_call_id="c1", tool_name="bash", output=text)),
            Message(role="system", content=text, kind="notice"),
        ),
    )


ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=80)
HOSTILE_PARTS = (
    *("`", "``", "```", "````", "~~~", "```json", "</pre>", "</details>", "<!--", "<pre>", "<div>", "<script>", "<?"),
    *("x", "-", "1.", ">", "\\", "[a]:b", "|", "=", "--", "&lt;"),
)
HOSTILE = st.lists(
    st.sampled_from([*HOSTILE_PARTS, "\n", "\n", "\n\n", "- ", "1. ", "> ", " ", "  ", "    ", "\t"]), max_size=12
).map("".join)


def test_e_1_unknown_format() -> None:
    with pytest.raises(ValidationError, match="json, jsonl, markdown"):
        export(rich_session(), "yaml")


@given(ANY_TEXT.map(scrub))
def test_e_3_json_parses_back_to_an_equal_object(text: str) -> None:
    session = rich_session(text)
    document = whole(session, "json")
    assert msgspec.json.decode(document, type=Session) == session
    assert json.loads(document)["createdAt"] == "2026-03-01T12:00:00.123456Z"
    assert document.startswith('{\n  "agent": "tiny"')


def test_e_3_a_list_of_the_same_name_beside_it_stays_as_it_is() -> None:
    session = msgspec.structs.replace(
        rich_session(), raw={"messages": []}, beside={"metadata": {"messages": []}, "more": [{"messages": []}]}
    )
    assert msgspec.json.decode(whole(session, "json"), type=Session) == session
    several = json.loads(b"".join(json_array([session, session])))
    assert several == [json.loads(whole(session, "json"))] * 2


@given(ANY_TEXT.map(scrub))
def test_e_4_jsonl_is_a_header_and_a_line_per_message(text: str) -> None:
    session = rich_session(text)
    document = whole(session, "jsonl")
    assert document.endswith("\n")
    header, *messages = [json.loads(line) for line in document[:-1].split("\n")]
    assert len(messages) == len(session.messages)
    assert header["unifiedId"] == "tiny:s1"
    assert header["createdAt"] == "2026-03-01T12:00:00.123456Z"
    assert "messages" not in header
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "system"]
    assert [one["content"] for one in messages] == [text, text, "", text]


def test_e_5_markdown_has_its_parts_in_order() -> None:
    document = whole(rich_session(), "markdown")
    parts = [
        "# plain",
        "**Agent:** tiny",
        "**Model:** m-1",
        "**Created:** 2026-03-01T12:00:00Z",
        "**Cost:** ~$1.2500",
        "### User",
        "### Assistant",
        "<details>",
        "why",
        "</details>",
        "**Tool call `bash`** · 7 ms",
        "**Tool call `plain`** (failed)",
        "only plain",
        "### Tool",
        "### System",
        "### Cost",
        "**Input tokens:** 10",
    ]
    places = [document.index(part) for part in parts]
    assert places == sorted(places)
    assert document.count('"command": "plain"') == 1
    assert document.count("only plain") == 1  # a result without a message of its own stands with its call


def headings(document: str) -> list[str]:
    """The role headings that a Markdown parser sees at the top level."""
    tokens = MarkdownIt("commonmark").parse(document)
    return [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h3" and token.level == 0
    ]


@examples(400)
@given(HOSTILE, HOSTILE)
def test_e_5_nothing_inside_closes_a_fence_or_swallows_what_follows(text: str, thinking: str) -> None:
    document = whole(rich_session(text, thinking), "markdown")
    assert headings(document) == ["User", "Assistant", "Tool", "System", "Cost"]


def test_ordinary_code_blocks_stay_as_they_are() -> None:
    text = "Do this:\n\n1. run\n\n   ```sh\n   make\n   ```\n\n```python\nprint('`' * 3)\n```\n<https://x.org> done"
    assert contained(text) == text
    assert contained("<b>bold</b>\n```\n<b>\n```") == "\\<b>bold</b>\n```\n<b>\n```"
    assert contained("```\nopen") == "```\nopen\n```"
    assert contained("- ```\n  x\n  ```") == "> - ```\n>   x\n>   ```"


@given(ANY_TEXT)
def test_e_6_any_text_exports_and_control_characters_are_escaped(text: str) -> None:
    session = rich_session(text, text)
    for form in ("json", "jsonl"):
        written = whole(session, form)
        assert not {char for char in written if unicodedata.category(char) in ("Cc", "Cs") and char != "\n"}
        assert not {char for char in written if unicodedata.bidirectional(char) in BIDI}
    document = whole(session, "markdown")
    acting = {char for char in document if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t"}
    assert acting == set()
    assert not {char for char in document if unicodedata.bidirectional(char) in BIDI}


def test_e_6_a_document_keeps_what_is_no_danger() -> None:
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    family, indented = "👩\u200d👩\u200d👧 ❤\ufe0f", "all:\n\tcc x.c"
    hebrew = "שלום \u200fabc\u200f soft\xadhyphen"
    for text in (family, flag, indented, hebrew):
        assert text in whole(rich_session(text), "markdown")
        assert plain(text) == text


def test_e_6_what_is_dangerous_is_shown() -> None:
    assert plain("\x1b[1;31mred\x1b[0m \x1b]0;x\x07 \x00 \x9b2J \x7f") == "red ␛]0;x␇ ␀ [U+009B]2J ␡"
    assert plain("a\u202eb\u2066c") == "a[U+202E]b[U+2066]c"
    assert plain("hi\U000e0068\U000e0069") == "hi[U+E0068][U+E0069]"
    assert plain("a\r\nb\rc\x85d\u2028e\ud800") == "a\nb\nc\nd\ne\ufffd"


def test_json_escapes_what_a_terminal_acts_on_and_reads_back_the_same() -> None:
    text = "".join(map(chr, (*range(0xC0), 0x61C, *range(0x2000, 0x2070), 0xFEFF, 0x1F600)))
    for form in ("json", "jsonl"):
        written = whole(rich_session(text, text), form)
        acting = {char for char in written if unicodedata.category(char) == "Cc" and char != "\n"}
        assert acting | {char for char in written if unicodedata.bidirectional(char) in BIDI} == set()
        assert json.loads(written.split("\n")[0] if form == "jsonl" else written)["cwd"] == text


def test_a_session_with_nothing_in_it() -> None:
    session = Session(agent="tiny", session_id="empty")
    assert json.loads(whole(session, "json"))["messages"] == []
    assert whole(session, "jsonl").count("\n") == 1
    document = whole(session, "markdown")
    assert "# Untitled session" in document
    assert "1970" not in document
    assert "**Total:** unknown" in document
