"""Reads the images of a session, which no list and no open session holds.

They are read out of the agent's records again, in one pass and within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from hermes_tui.display import size
from hermes_tui.errors import HermesTuiError, ParseError
from hermes_tui.sessions.export.target import name_stem
from session_adapters.attachments.image_header import image_type
from session_adapters.attachments.made import keeping
from session_adapters.attachments.outside import read_blob, read_named
from session_adapters.model import Attachment, Message, Session, SessionSummary
from session_adapters.transcript import Transcript

__all__ = [
    "ImagePlace",
    "InlineImages",
    "image_name",
    "inline_images",
    "is_image",
    "read_attachment",
    "read_attachments",
]

ONE, ALL = 4 << 20, 32 << 20
"""Bytes of an image that may stand in a page, and of all of them together."""

_ENDINGS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
}
"""Media type → how the name of a file ends."""


class ImagePlace(NamedTuple):
    """An attachment of a message."""

    message_id: str
    number: int
    """Among the attachments of the message, from 0."""


Opener = Callable[[str, str], Transcript]
"""`SessionManager.open`: takes an agent and a native id."""


def is_image(attachment: Attachment) -> bool:
    """Whether it claims to be one."""
    return attachment.media_type.partition("/")[0] == "image"


def read_attachments(
    opener: Opener, session: SessionSummary, wanted: Mapping[ImagePlace, Attachment]
) -> dict[ImagePlace, bytes]:
    """The bytes of these attachments, as far as the session has them. Raises as `SessionManager.open`."""
    found: dict[ImagePlace, bytes] = {}
    with keeping(wanted.values()) as kept:  # what opening reads may have them already
        transcript = opener(session.agent, session.session_id)
        for place, one in wanted.items():
            if (path := transcript.file_of(one)) is not None:
                with suppress(OSError):  # as one whose bytes the session has not
                    found[place] = read_blob(path)
        for messages in _all_of(transcript):
            if len(found) == len(wanted):
                break
            for message in messages:
                for number, one in enumerate(message.attachments):
                    place = ImagePlace(message.id, number)
                    if place in wanted and (data := kept.take(one)) is not None:
                        found.setdefault(place, data)
    return found


def read_attachment(opener: Opener, session: SessionSummary, place: ImagePlace, attachment: Attachment) -> bytes:
    """The bytes of one, also of a picture in a file that it names: somebody asks for that very one. Raises as
    `read_attachments`, and `ParseError` where they are not to be had."""
    if attachment.place.startswith("/"):
        try:
            return read_named(attachment.place)
        except FileNotFoundError:
            raise ParseError(f"{attachment.place} is not there any more") from None
        except OSError as error:
            raise ParseError(f"it stands in a file that cannot be read: {error.strerror or error}") from None
    data = read_attachments(opener, session, {place: attachment}).get(place)
    if data is None:
        what = repr(attachment.name) if attachment.name else attachment.media_type
        raise ParseError(f"the session does not hold the bytes of {what}, only that it was there")
    return data


def _all_of(transcript: Transcript) -> Iterator[Sequence[Message]]:
    """All messages, newest part first where that is enough."""
    yield transcript.messages
    if transcript.branches:
        yield from (messages for _, messages in transcript.every_branch())
    else:
        yield from (messages for _, messages in transcript.whole())


def inline_images(opener: Opener) -> InlineImages:
    """Those of the sessions that `opener` opens."""
    return InlineImages(partial(read_attachments, opener))


def image_name(session: SessionSummary, message: Message, number: int, data: bytes) -> str:
    """What a file with it is called: as an export of the session is, then the time of its message (UTC) and its
    number there, from 0: `claude-fix-the-coupon-7227-20260311-101502-1.png`."""
    at = f"-{message.timestamp:%Y%m%d-%H%M%S}" if message.timestamp is not None else ""
    media = message.attachments[number].media_type
    return f"{name_stem(session)}{at}-{number + 1}{_ENDINGS.get(image_type(data) or media, '.bin')}"


_Read = Callable[[Session, Mapping[ImagePlace, Attachment]], Mapping[ImagePlace, bytes]]


class InlineImages:
    """The images of one page: those of a session are read when it is written, until there are too many."""

    def __init__(self, read: _Read) -> None:
        """`read` gives the bytes of attachments of a session, as far as it has them; may raise `HermesTuiError`."""
        self._read = read
        self._room = ALL
        self.withheld = False
        """None may be in it: secrets are masked."""
        self.left_out = 0
        """How many are not in the page."""
        self._found: Mapping[ImagePlace, bytes] = {}
        self._why: dict[ImagePlace, str] = {}

    def begin(self, session: Session) -> None:
        """Read those of this session."""
        wanted: dict[ImagePlace, Attachment] = {}
        self._found, self._why = {}, {}
        pictures = (
            (ImagePlace(message.id, number), one)
            for message in session.messages
            for number, one in enumerate(message.attachments)
            if is_image(one)
        )
        for place, one in pictures:
            if self.withheld:
                self._why[place] = "secrets in it cannot be masked"
            elif one.size > ONE:
                self._why[place] = f"larger than {size(ONE)}"
            elif one.size > self._room:
                self._why[place] = f"more than {size(ALL)} of images in one page"
            elif one.size:  # else its bytes are not in the session, which `shown` says
                self._room -= one.size
                wanted[place] = one
        try:
            self._found = self._read(session, wanted) if wanted else {}
        except HermesTuiError as error:
            self._why.update(dict.fromkeys(wanted, str(error)))

    def shown(self, place: ImagePlace) -> tuple[str, bytes] | str:
        """Media type and bytes of an image that browsers show safely, or why there is none."""
        data = self._found.get(place, b"")
        kind = image_type(data)
        if kind:
            return kind, data
        self.left_out += 1
        return self._why.get(place, "no PNG, JPEG, GIF or WebP" if data else "its bytes are not in the session")
