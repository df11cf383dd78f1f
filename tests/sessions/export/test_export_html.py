"""The page of HTML, as a real browser takes it: nothing fetched, nothing run, nothing lost (issue's own bar)."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import Browser
from chances import examples
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.export import export, export_lineage
from hermes_tui.sessions.export.richtext import rich_text
from session_adapters.model import Attachment, Message, Session, TokenUsage, ToolCall, ToolResult

HOSTILE = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<svg onload=window.ran=1><style>*{display:none}</style>",
    "</pre></details></article></main></body></html><h1>gone</h1><iframe src=//{host}/frame>",
    "![x](http://{host}/picture.png) ![y](//{host}/p) ![z](data:image/svg+xml,<svg/onload=window.ran=1>)",
    "[a](javascript:window.ran=1) [b](data:text/html,<script>window.ran=1</script>) [c](vbscript:x)",
    "<a href='javascript:window.ran=1'>x</a> <http://{host}/auto> <javascript:window.ran=1>",
    '[q](http://{host}/"onmouseover="window.ran=1) [ok](https://example.org/a?b=1&c=<d>)',
    "[r]\n\n[r]: javascript:window.ran=1",
    '```x" onclick="window.ran=1\ncode\n```',
    "<link rel=stylesheet href=http://{host}/s.css><base href=//{host}>",
    "<meta http-equiv=refresh content='0;url=http://{host}/m'>",
    "<form action=http://{host}/f><button>x</button></form><object data=//{host}/o></object><embed src=//{host}/e>",
    "\x1b]8;;http://{host}/l\x07link\x1b]8;;\x07 \u202e <!-- <![CDATA[ ]]> --> &lt;script&gt; &#x3c;script>",
    "| a | b |\n|---|---|\n| <script>window.ran=1</script> | `<b>` |",
)


@pytest.fixture
def trap() -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should ask: (its address, what it was asked for)."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


def everywhere(text: str, number: int = 0) -> tuple[Message, ...]:
    """Messages with `text` wherever text can be."""
    edit = {"file_path": text, "old_string": f"a\n{text}", "new_string": f"b\n{text}", "note": text}
    calls = (
        ToolCall(tool_call_id=f"c{number}", tool_name=text, input={"command": text, text: [text]}, output=text),
        ToolCall(tool_call_id=f"e{number}", tool_name="Edit", input=edit, output={"x": text}, is_error=True),
        ToolCall(tool_call_id=f"n{number}", tool_name="Task", input=text, subagent_id=text),
    )
    result = ToolResult(tool_call_id=f"c{number}", tool_name=text, output=text, linked=True)
    lonely = ToolResult(tool_call_id="lost", tool_name=text, output=text)
    picture = Attachment(media_type=text, name=text, size=5)
    return (
        Message(role="user", content=text, attachments=(picture,)),
        Message(role="assistant", content=text, thinking=text, tool_calls=calls, model=text),
        Message(role="tool", tool_result=result),
        Message(role="tool", tool_result=lonely),
        Message(role="system", content=f"{text}\nmore", kind="notice"),
        Message(role="system", content=text, kind="compaction"),
        Message(role="assistant", content=text, kind="error", visibility="rewound", inherited=True),
    )


def hostile_session(host: str) -> Session:
    texts = [one.replace("{host}", host) for one in HOSTILE]
    messages = tuple(message for number, text in enumerate(texts) for message in everywhere(text, number))
    return Session(
        agent="<b>tiny",
        session_id=texts[0],
        title=" ".join(texts[:4]),
        cwd=texts[3],
        model=texts[1],
        git_branch=texts[2],
        tags=(texts[5],),
        messages=messages,
    )


def written(tmp_path: Path, *sessions: Session, redactor: Redactor | None = None) -> Path:
    path = tmp_path / "page.html"
    path.write_bytes(b"".join(export_lineage(sessions, "html", redactor=redactor)))
    return path


@pytest.mark.needs("browser")
def test_hostile_content_is_inert_in_a_browser(tmp_path: Path, trap: tuple[str, list[str]]) -> None:
    host, asked = trap
    session = hostile_session(host)
    page = written(tmp_path, session)
    with Browser(tmp_path / "profile") as browser:
        browser.open(page.as_uri())
        assert browser.told == [("Network.requestWillBeSent", page.as_uri())]
        browser.evaluate("document.querySelector('#unfold').click()")
        assert browser.evaluate("window.ran === undefined")
        assert browser.evaluate("document.querySelectorAll('article, span[id^=m]').length") == len(session.messages)
        active = "script, img, svg, iframe, object, embed, link, base, form, button, [style], video, audio"
        assert browser.evaluate(f"document.querySelectorAll({active!r}).length") == 0
        assert browser.evaluate("document.querySelectorAll('style, h1').length") == 2
        handlers = "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/i.test(a.name)))"
        assert browser.evaluate(f"{handlers}.length") == 0
        schemes = "[...new Set([...document.querySelectorAll('a')].map(a => a.protocol))].sort().join()"
        assert browser.evaluate(schemes) == "file:,http:,https:"  # file: are the anchors of the page itself
        assert browser.evaluate("document.querySelector('main').textContent.includes('window.ran = 1</script>')")
        assert browser.told == [("Network.requestWillBeSent", page.as_uri())]
    assert asked == []


@pytest.mark.needs("browser")
def test_the_browser_would_have_told(tmp_path: Path, trap: tuple[str, list[str]]) -> None:
    """What the test above looks for is seen where it happens; and the page's policy would stop it even then."""
    host, asked = trap
    bare = tmp_path / "bare.html"
    bare.write_text(f"<img src=http://{host}/x><script>window.ran = 1; throw new Error('seen')</script>")
    safe = written(tmp_path, Session(agent="tiny", session_id="s", messages=(Message(role="user", content="hi"),)))
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(safe.read_text().replace("</main>", bare.read_text() + "</main>"))
    with Browser(tmp_path / "profile") as browser:
        browser.open(bare.as_uri())
        assert browser.evaluate("window.ran") == 1
        assert {"Network.requestWillBeSent", "Runtime.exceptionThrown"} <= {method for method, _ in browser.told}
        assert "/x" in asked
        asked.clear()
        browser.open(spoilt.as_uri())
        assert browser.evaluate("window.ran === undefined")
        assert any("Content Security Policy" in text for method, text in browser.told if method == "Log.entryAdded")
    assert asked == []


@pytest.mark.needs("browser")
def test_folded_unfolded_dark_light_and_on_paper(tmp_path: Path) -> None:
    session = Session(
        agent="tiny",
        session_id="s",
        messages=(
            Message(role="user", content="One"),
            Message(
                role="assistant",
                content="Two",
                thinking="secret thoughts",
                tool_calls=(
                    ToolCall(tool_call_id="c", tool_name="bash", input={"command": "ls"}, output="x\n" * 300),
                ),
            ),
            Message(role="user", content="Three"),
        ),
    )
    page = written(tmp_path, session)
    thought = "document.querySelector('.thinking').checkVisibility({contentVisibilityAuto: false})"
    height = "Math.round(document.querySelector('.tool').getBoundingClientRect().height)"
    ground = "getComputedStyle(document.body).backgroundColor"
    with Browser(tmp_path / "profile") as browser:
        browser.prefer("light")
        browser.open(page.as_uri())
        light = browser.evaluate(ground)
        folded = browser.evaluate(height)
        browser.evaluate("document.querySelector('#unfold').click()")
        assert browser.evaluate(height) > folded + 3000
        browser.evaluate("document.querySelector('#unfold').click()")
        assert browser.evaluate(height) == folded
        browser.prefer("dark")
        dark = browser.evaluate(ground)
        assert dark != light
        browser.evaluate("document.querySelector('#light').click()")
        assert browser.evaluate(ground) == light
        assert not browser.evaluate(f"!!({thought}) && {height} > {folded}")
        browser.send("Emulation.setEmulatedMedia", media="print")
        assert browser.evaluate(height) > folded + 3000
        assert browser.paper().startswith(b"%PDF")
        browser.send("Emulation.setEmulatedMedia", media="")
        browser.evaluate("location.hash = '#m3'")
        assert browser.evaluate("document.querySelector(':target').textContent.includes('Three')")


class Outline(HTMLParser):
    """What the parser of the standard library sees: text by anchor, and whether tags are balanced."""

    VOID = ("meta", "input", "br", "hr")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


PARTS = (
    "<b>",
    "</pre>",
    "</details>",
    "<script>",
    "-->",
    "&amp;",
    "`",
    "```",
    "\n",
    "\n\n",
    "* ",
    "[a](b)",
    "word",
    '"',
)


@examples(40)
@given(st.lists(st.sampled_from(PARTS), max_size=10).map("".join))
def test_tags_balance_and_every_message_has_its_anchor(text: str) -> None:
    session = Session(agent="tiny", session_id="s", title=text, messages=everywhere(text))
    outline = Outline()
    outline.feed(b"".join(export(session, "html")).decode())
    assert outline.open == []
    assert [one for one in outline.ids if re.fullmatch(r"m\d+", one)] == [f"m{at}" for at in range(1, 8)]
    assert len(set(outline.ids)) == len(outline.ids)


@examples(40)
@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=60))
def test_text_is_kept(text: str) -> None:
    """Tool output stands in the page as it was, but for line ends of other kinds and what is dangerous."""
    text = re.sub("[\u2028\u2029]", " ", f"begin{text}end")
    text = re.sub("[\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]", "", text)
    call = ToolCall(tool_call_id="c", tool_name="x", output=text)
    outline = Outline()
    session = Session(agent="tiny", session_id="s", messages=(Message(role="assistant", tool_calls=(call,)),))
    outline.feed(b"".join(export(session, "html")).decode())
    assert text in "".join(outline.text)


def test_a_lineage_is_one_page_with_chapters(tmp_path: Path) -> None:
    parts = [
        Session(
            agent="tiny", session_id=name, title=f"Part {name}", messages=(Message(role="user", content=name),) * 2
        )
        for name in ("one", "two", "three")
    ]
    outline = Outline()
    outline.feed(written(tmp_path, *parts).read_text())
    anchors = [one for one in outline.ids if re.fullmatch(r"(s\d-)?m\d+", one)]
    assert anchors == ["m1", "m2", "s2-m1", "s2-m2", "s3-m1", "s3-m2"]
    assert re.findall(r"Part (?:one|two|three)", "".join(outline.text)) == [
        *("Part one", "Part one", "Part two", "Part three")  # the first is the page's title, too
    ]


def test_what_was_masked_stands_at_the_end(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    session = Session(agent="tiny", session_id="s", messages=(Message(role="user", content=f"use {key}"),))
    page = written(tmp_path, session, redactor=Redactor()).read_text()
    assert key not in page
    assert "1 secret masked in 1 place: 1 github token." in page.lower()


def test_links_and_pictures_in_prose() -> None:
    page = rich_text(
        "[a](https://x.org) [b](mailto:a@b.c) [c](ftp://x) [d](/etc) ![p](http://x.org/p.png) ![q](file:///q)"
    )
    assert re.findall(r'href="([^"]*)"', page) == ["https://x.org", "mailto:a@b.c", "http://x.org/p.png"]
    assert "<img" not in page
    assert page.count('rel="noopener noreferrer nofollow"') == 3


def test_prose_made_to_be_slow_is_shown() -> None:
    """Too much of it as it was written; the rest is parsed long before the test's own limit."""
    assert rich_text("a" * 300_000).startswith('<div class="verbatim">aaa')
    for text in ("[" * 150_000, "> " * 5_000, "*a " * 50_000, "`" * 100_000, "- " * 5_000, "![](" * 9_000):
        assert rich_text(text).startswith("<")


def test_tokens_and_pictures_of_a_message_are_told(tmp_path: Path) -> None:
    usage = TokenUsage(input_tokens=1200, output_tokens=310)
    session = Session(agent="tiny", session_id="s", messages=(Message(role="assistant", token_usage=usage),))
    assert "1.2k in 310 out" in written(tmp_path, session).read_text()


def test_an_empty_session_is_a_page(tmp_path: Path) -> None:
    outline = Outline()
    outline.feed(written(tmp_path, Session(agent="tiny", session_id="s")).read_text())
    assert "Untitled session" in "".join(outline.text)
