"""Images of sessions: their bytes are read when they are wanted, and stand in a page of HTML within bounds."""

from __future__ import annotations

import json
import re
import tracemalloc
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser import Browser
from claude_lines import ClaudeHome
from hermes_tui.errors import ParseError
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.export import export, images
from hermes_tui.sessions.export.images import (
    ImagePlace,
    InlineImages,
    image_name,
    inline_images,
    is_image,
    read_attachment,
    read_attachments,
)
from hermes_tui.sessions.manager import SessionManager
from images import IMAGE_SIZE, IMAGES, image_bytes
from pi_lines import answered, asked, entry, write_pi
from session_adapters.base import Environment
from session_adapters.model import Attachment, Message, Session

PNG = f"data:image/png;base64,{IMAGES['png']}"


def image(name: str, media: str = "image/png") -> dict[str, Any]:
    """A block of Claude's."""
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": IMAGES[name]}}


def places(session: Session) -> dict[ImagePlace, Attachment]:
    return {
        ImagePlace(message.id, number): one
        for message in session.messages
        for number, one in enumerate(message.attachments)
    }


def manager_of(home: Path, tmp_path: Path) -> SessionManager:
    return SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", indexed=False)


def pictured(home: ClaudeHome, *blocks: Any, filling: int = 0) -> Path:
    """A session of Claude's with these blocks in its second prompt, and so many bytes of talk behind it."""
    path = home.session("See the picture")
    home.say(path, "user", "PICTURES")
    lines = path.read_text().splitlines()
    lines[-1] = lines[-1].replace('"PICTURES"', json.dumps([{"type": "text", "text": "look"}, *blocks]))
    path.write_text("\n".join(lines) + "\n")
    for _ in range(filling // 10_000):
        home.say(path, "user", "on")
        home.say(path, "assistant", "x" * 10_000)
    return path


@pytest.mark.parametrize("filling", [0, 3_000_000], ids=["in the last part", "far above"])
def test_of_a_session_of_any_length(tmp_path: Path, filling: int) -> None:
    home = ClaudeHome(tmp_path / "home")
    pictured(home, image("png"), image("jpeg", "image/jpeg"), filling=filling)
    manager = manager_of(home.home, tmp_path)
    session = manager.get(*summary_of(manager))
    wanted = places(session)
    assert [(one.width, one.height) for one in wanted.values()] == [IMAGE_SIZE] * 2
    found = read_attachments(manager.open, session, wanted)
    assert list(found.values()) == [image_bytes("png"), image_bytes("jpeg")]
    at, one = list(wanted.items())[1]
    assert read_attachment(manager.open, session, at, one) == image_bytes("jpeg")


def summary_of(manager: SessionManager) -> tuple[str, str]:
    (one,) = manager.list()
    return one.agent, one.session_id


def test_on_another_branch(tmp_path: Path) -> None:
    picture = {"type": "image", "data": IMAGES["gif"], "mimeType": "image/gif"}
    shown = entry(3, 1, message={"role": "user", "content": [picture]})
    write_pi(tmp_path / "home", "p1", asked(1, None), answered(2, 1), shown, asked(4, 2))
    manager = manager_of(tmp_path / "home", tmp_path)
    session = manager.get(*summary_of(manager))
    place = ImagePlace(f"{3:08x}", 0)
    one = places(session).get(place) or Attachment(
        media_type="image/gif", size=len(image_bytes("gif")), width=IMAGE_SIZE[0], height=IMAGE_SIZE[1]
    )
    assert read_attachment(manager.open, session, place, one) == image_bytes("gif")


@pytest.mark.parametrize(
    ("agent", "home_name", "count"), [("hermes", "home", 1), ("hector", "home", 1), ("omp", "home-hard", 0)]
)
def test_the_sample_stores(
    tmp_path: Path, store: Callable[..., Path], agent: str, home_name: str, count: int
) -> None:
    """What has a size can be read, and is as large as it says."""
    home = store(agent, home_name)
    manager = manager_of(home, tmp_path)
    seen = 0
    for one in manager.list(agent, limit=None):
        session = manager.get(one.agent, one.session_id)
        sized = {place: what for place, what in places(session).items() if what.size and is_image(what)}
        found = read_attachments(manager.open, session, sized) if sized else {}
        sizes = {place: len(data) for place, data in found.items()}
        assert sizes == {place: what.size for place, what in sized.items()}
        seen += len(sizes)
    assert seen == count


def test_one_that_is_an_address_alone_is_said(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    pictured(home, {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}})
    manager = manager_of(home.home, tmp_path)
    session = manager.get(*summary_of(manager))
    ((place, one),) = places(session).items()
    with pytest.raises(ParseError, match="does not hold the bytes of"):
        read_attachment(manager.open, session, place, one)


def test_neither_a_list_nor_an_open_session_holds_the_bytes(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    large = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 4_000_001}
    pictured(home, *[{"type": "image", "source": large}] * 3)
    manager = manager_of(home.home, tmp_path)
    tracemalloc.start()
    try:
        named = summary_of(manager)
        transcript = manager.open(*named)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(transcript.messages[-1].attachments) == 3
    assert kept < 4_000_000


def test_what_a_file_is_called(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    pictured(home, image("png"))
    manager = manager_of(home.home, tmp_path)
    session = manager.get(*summary_of(manager))
    message = next(one for one in session.messages if one.attachments)
    name = image_name(session, message, 0, image_bytes("webp_lossy"))
    assert re.fullmatch(r"claude-see-the-picture-00000000-\d{8}-\d{6}-1\.webp", name)
    assert image_name(session, message, 0, b"<svg").endswith("-1.png")
    odd = Message(role="user", attachments=(Attachment(media_type="../../x"),))
    assert image_name(session, odd, 0, b"").endswith("-1.bin")


# In a page ---------------------------------------------------------------------------------------------------


def page_of(session: Session, found: dict[ImagePlace, bytes], redactor: Redactor | None = None) -> str:
    shown = InlineImages(lambda _, wanted: {place: found[place] for place in wanted})
    return b"".join(export(session, "html", redactor=redactor, images=shown)).decode()


def shown_with(*attachments: Attachment) -> Session:
    return Session(agent="tiny", session_id="s", messages=(Message(role="user", id="m", attachments=attachments),))


def test_images_stand_in_the_page(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    pictured(home, image("png"), image("webp_lossless", "image/png"))
    manager = manager_of(home.home, tmp_path)
    page = manager.export(*summary_of(manager), "html")
    sources = re.findall(r'<img src="data:([^;]+);base64,([^"]+)"', page)
    assert [(kind, b64decode(data)) for kind, data in sources] == [
        ("image/png", image_bytes("png")),
        ("image/webp", image_bytes("webp_lossless")),  # what it is, not what it is said to be
    ]
    assert f"image/png, {IMAGE_SIZE[0]} × {IMAGE_SIZE[1]}, {len(image_bytes('png'))} B" in page
    assert "left out" not in page
    assert "img-src data:; " in page


@pytest.mark.parametrize(
    "data", [b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", b"<html>", b"", b"\0\0\1\0", b"BM\0\0"]
)
def test_what_browsers_do_not_show_safely_is_left_out(data: bytes) -> None:
    one = Attachment(media_type="image/png", size=len(data) or 5)
    page = page_of(shown_with(one), {ImagePlace("m", 0): data})
    assert "<img" not in page and b64encode(data or b"\0").decode() not in page
    assert "left out: " in page and "1 image left out." in page


def test_too_large_and_too_many_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "ONE", 1_000)
    monkeypatch.setattr(images, "ALL", 2_500)
    data = image_bytes("png").ljust(900, b"\0")
    ones = [Attachment(media_type="image/png", size=size, name=f"n{size}") for size in (900, 1_001, 899, 898, 10)]
    page = page_of(shown_with(*ones), {ImagePlace("m", at): data for at in range(5)})
    assert page.count("<img") == 3
    assert "n1001, 1.0 kB, left out: larger than 1.0 kB]" in page
    assert "n898, 898 B, left out: more than 2.5 kB of images in one page]" in page
    assert "2 images left out." in page


def test_with_masked_secrets_no_image_is_shown() -> None:
    one = Attachment(media_type="image/png", size=9)
    page = page_of(shown_with(one), {ImagePlace("m", 0): image_bytes("png")}, Redactor())
    assert "<img" not in page and "left out: secrets in it cannot be masked" in page


def test_other_attachments_and_other_forms_are_as_before() -> None:
    session = shown_with(Attachment(media_type="application/pdf", size=9))
    assert "<img" not in page_of(session, {}) and "left out" not in page_of(session, {})
    picture = shown_with(Attachment(media_type="image/png", size=9, width=2, height=3))
    assert "*Attachment: image/png, 2 × 3, 9 B*" in b"".join(export(picture, "markdown")).decode()


@pytest.mark.needs("browser")
def test_a_browser_shows_every_kind(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    pictured(home, *(image(name) for name in IMAGES))
    manager = manager_of(home.home, tmp_path)
    page = tmp_path / "page.html"
    session = manager.get(*summary_of(manager))
    page.write_bytes(b"".join(export(session, "html", images=inline_images(manager.open))))
    with Browser(tmp_path / "profile") as browser:
        browser.open(page.as_uri())
        seen = "[...document.images].map(i => i.naturalWidth + 'x' + i.naturalHeight).join()"
        assert browser.evaluate(seen) == ",".join(["37x21"] * len(IMAGES))
        assert browser.told[0] == ("Network.requestWillBeSent", page.as_uri())
        assert all(url.startswith("data:image/") for _, url in browser.told[1:])
