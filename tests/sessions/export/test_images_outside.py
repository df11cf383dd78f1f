"""Images whose bytes stand beside a session: in omp's store of blobs, or in a file that the transcript names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.display import attachment_facts
from hermes_tui.errors import ParseError
from hermes_tui.sessions.export import images
from hermes_tui.sessions.export.images import ImagePlace, InlineImages, inline_images, read_attachment
from hermes_tui.sessions.manager import SessionManager
from images import image_bytes
from session_adapters.attachments import outside
from session_adapters.attachments.made import made_from_url
from session_adapters.base import Environment
from session_adapters.model import Attachment, Session

PNG = image_bytes("png")
HASH = sha256(PNG).hexdigest()


@pytest.fixture
def sessions(tmp_path: Path) -> Callable[[str, Any], tuple[SessionManager, Session]]:
    """A session of omp's with one image, whose `data` is given."""

    def make(data: str, blob: bytes | None = None) -> tuple[SessionManager, Session]:
        agent = tmp_path / "home" / ".omp" / "agent"
        path = agent / "sessions" / "-shop" / "2026-07-01T10-00-00-000Z_0f1e2d3c-0000-4000-8000-000000000001.jsonl"
        path.parent.mkdir(parents=True)
        (agent / "blobs").mkdir()
        if blob is not None:
            (agent / "blobs" / HASH).write_bytes(blob)
        at = "2026-07-01T10:00:00.000Z"
        content = [{"type": "text", "text": "look"}, {"type": "image", "mimeType": "image/png", "data": data}]
        records = [
            {"type": "session", "version": 3, "id": path.stem[-36:], "timestamp": at, "cwd": "/home/dev/shop"},
            {"type": "message", "id": "a1", "parentId": None, "timestamp": at}
            | {"message": {"role": "user", "content": content}},
        ]
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        manager = SessionManager(Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache", indexed=False)
        (summary,) = manager.list()
        return manager, manager.get(summary.agent, summary.session_id)

    return make


def read(manager: SessionManager, session: Session) -> bytes:
    (message,) = session.messages
    return read_attachment(manager.open, session, ImagePlace(message.id, 0), message.attachments[0])


def inlined(manager: SessionManager, session: Session) -> tuple[InlineImages, tuple[str, bytes] | str]:
    page = inline_images(manager.open)
    page.begin(session)
    return page, page.shown(ImagePlace(session.messages[0].id, 0))


def test_a_blob_is_measured_and_read(sessions: Callable[..., tuple[SessionManager, Session]]) -> None:
    manager, session = sessions(f"blob:sha256:{HASH}", PNG)
    transcript = manager.open(session.agent, session.session_id)
    for message in (session.messages[0], transcript.messages[0]):
        assert [attachment_facts(one) for one in message.attachments] == [["image/png", f"{len(PNG)} B"]]
    assert read(manager, session) == PNG
    assert inlined(manager, session)[1] == ("image/png", PNG)


def test_a_large_blob_is_not_inlined(
    sessions: Callable[..., tuple[SessionManager, Session]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "ONE", len(PNG) - 1)
    manager, session = sessions(f"blob:sha256:{HASH}", PNG)
    page, shown = inlined(manager, session)
    assert "larger than" in str(shown) and page.left_out == 1
    monkeypatch.setattr(outside, "LIMIT", len(PNG) - 1)
    with pytest.raises(ParseError, match="does not hold the bytes"):
        read(manager, session)


@pytest.mark.parametrize(
    ("name", "blob"),
    [
        (f"blob:sha256:{HASH}", None),
        (f"blob:sha256:{HASH}", PNG + b"!"),
        (f"blob:sha256:{HASH.upper()}", PNG),
        ("blob:sha256:../sessions/-shop", PNG),
        (f"blob:sha256:{HASH}/../{HASH}", PNG),
        (f"blob:sha256:{HASH}\n", PNG),
        ("blob:", PNG),
    ],
    ids=["it is gone", "it is another", "not as omp writes", "a way out", "a way round", "a line more", "nothing"],
)
def test_a_name_that_is_no_blobs(
    sessions: Callable[..., tuple[SessionManager, Session]], name: str, blob: bytes | None
) -> None:
    manager, session = sessions(name, blob)
    with pytest.raises(ParseError, match="does not hold the bytes"):
        read(manager, session)
    assert isinstance(inlined(manager, session)[1], str)


def test_a_blob_is_not_followed_over_a_link(
    sessions: Callable[..., tuple[SessionManager, Session]], tmp_path: Path
) -> None:
    manager, session = sessions(f"blob:sha256:{HASH}")
    (tmp_path / "elsewhere").write_bytes(PNG)
    (tmp_path / "home/.omp/agent/blobs" / HASH).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ParseError, match="does not hold the bytes"):
        read(manager, session)


# Files -------------------------------------------------------------------------------------------------------------


def named(session: Session, place: str) -> tuple[ImagePlace, Attachment]:
    return ImagePlace(session.messages[0].id, 0), made_from_url(place, "image/png")


@pytest.mark.parametrize("form", ["{}", "file://{}", "file://localhost{}"])
def test_a_picture_in_a_file_is_read_when_it_is_asked_for(
    sessions: Callable[..., tuple[SessionManager, Session]], tmp_path: Path, form: str
) -> None:
    manager, session = sessions("")
    path = tmp_path / "a picture.png"
    path.write_bytes(PNG)
    place, one = named(session, form.format(str(path).replace(" ", "%20") if "file" in form else path))
    assert one.place == str(path) and one.size == 0, "nothing is looked at before"
    assert read_attachment(manager.open, session, place, one) == PNG
    page = InlineImages(lambda _, wanted: pytest.fail(f"{wanted} is read"))
    page.begin(session)


def test_what_a_transcript_names_is_not_followed_blindly(
    sessions: Callable[..., tuple[SessionManager, Session]], tmp_path: Path
) -> None:
    manager, session = sessions("")
    (tmp_path / "key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----")
    (tmp_path / "picture.png").write_bytes(PNG)
    (tmp_path / "link.png").symlink_to(tmp_path / "picture.png")
    os.mkfifo(tmp_path / "pipe.png")
    with (tmp_path / "huge.png").open("wb") as huge:
        huge.write(PNG)
        huge.truncate(outside.LIMIT + 1)
    for name, why in {
        "key": "no PNG, JPEG, GIF or WebP",
        "link.png": "a link, which is not followed",
        "pipe.png": "not a regular file",
        "huge.png": "larger than expected",
        "absent.png": "is not there any more",
        ".": "not a regular file",
    }.items():
        with pytest.raises(ParseError, match=why):
            read_attachment(manager.open, session, *named(session, str(tmp_path / name)))
    with pytest.raises(ParseError, match="not a regular file"):
        read_attachment(manager.open, session, *named(session, "/proc/self/environ"))


@pytest.mark.parametrize(
    "name",
    [
        "picture.png",
        "~/picture.png",
        "//host/share/a.png",
        "file://host/a.png",
        "https://host/a.png",
        "/a\0b",
        "/" * 5000,
    ],
)
def test_no_path_of_this_machine(name: str) -> None:
    assert made_from_url(name).place == ""
