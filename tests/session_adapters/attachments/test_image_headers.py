"""Width and height of pictures, out of base64, as Pillow tells them."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from images import IMAGE_SIZE, IMAGES, image_bytes
from session_adapters.attachments.image_header import image_type
from session_adapters.attachments.made import keeping, made_attachment, made_from_url
from session_adapters.model import Attachment


@pytest.mark.parametrize("name", IMAGES)
def test_type_and_size_stand_at_the_beginning(name: str) -> None:
    data = image_bytes(name)
    assert image_type(data) == f"image/{name.partition('_')[0]}"
    for text in (IMAGES[name], IMAGES[name].rstrip("="), urlsafe_b64encode(data).decode(), IMAGES[name] * 2):
        made = made_attachment("image/png", data=text)
        assert (made.width, made.height) == IMAGE_SIZE
    assert made_attachment("image/png", data=IMAGES[name]).size == len(data)


def test_a_jpeg_behind_a_long_segment() -> None:
    data = image_bytes("jpeg")
    long = data[:2] + b"\xff\xe1\xff\xff" + bytes(0xFFFD) + data[2:]
    made = made_attachment("image/jpeg", data=b64encode(long).decode())
    assert (made.width, made.height) == IMAGE_SIZE


@pytest.mark.parametrize("name", IMAGES)
def test_the_bytes_come_back_whole(name: str) -> None:
    text = f"data:image/png;base64,{IMAGES[name]}"
    with keeping([made_from_url(text)]) as kept:
        other, made = made_from_url("data:image/png;base64,AAAA"), made_from_url(text)
        assert kept.take(other) is None and kept.take(made) == image_bytes(name)
        assert kept.take(made) is None
    with keeping([made]) as kept:
        pass
    made_from_url(text)
    assert kept.take(made) is None


def test_an_address_is_a_name_and_has_no_bytes() -> None:
    assert made_from_url("https://example.org/a.png") == Attachment(
        media_type="image/*", name="https://example.org/a.png"
    )
    svg = made_from_url("data:image/svg+xml,%3Csvg%2F%3E")
    with keeping([svg]) as kept:
        assert kept.take(made_from_url("data:image/svg+xml,%3Csvg%2F%3E")) == b"<svg/>"


@given(st.sampled_from([*map(image_bytes, IMAGES), b""]), st.binary(max_size=60), st.integers(0, 400))
@examples(200)
def test_damaged_pictures_raise_nothing(data: bytes, noise: bytes, at: int) -> None:
    spoilt = data[:at] + noise + data[at + 2 * len(noise) :]
    made = made_attachment("image/png", data=b64encode(spoilt).decode()[: at * 2])
    assert made.width >= 0 and made.height >= 0


@given(st.text(max_size=300))
@examples(100)
def test_what_is_no_base64_raises_nothing(text: str) -> None:
    for made in (made_attachment("image/png", data=text), made_from_url(f"data:image/png;base64,{text}")):
        with keeping([made]) as kept:
            again = made_attachment("image/png", data=text)
            kept.take(again)


@pytest.mark.parametrize("data", [None, 7, [], {}, b"AAAA"])
def test_data_may_be_anything(data: object) -> None:
    assert made_attachment("image/png", data=data) == Attachment(media_type="image/png")
