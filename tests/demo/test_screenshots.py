"""The pictures in the README: made from the static demo, the same bytes each time, fetching nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import screen_pictures
from support import REPOSITORY


@pytest.mark.parametrize("scene", screen_pictures.SCENES, ids=lambda scene: scene.name)
def test_the_pictures_in_the_repository_are_what_is_shown(tmp_path: Path, scene: screen_pictures.Scene) -> None:
    """`make screenshots` makes them anew."""
    [made] = screen_pictures.make(tmp_path, [scene])
    assert made.read_bytes() == (REPOSITORY / "screenshots" / f"{scene.name}.svg").read_bytes()


def test_the_pictures_in_the_repository_fetch_nothing() -> None:
    pictures = sorted((REPOSITORY / "screenshots").glob("*.svg"))
    assert {path.stem for path in pictures} == {scene.name for scene in screen_pictures.SCENES}
    for path in pictures:
        text = path.read_text()
        assert "@font-face" not in text
        assert set(re.findall(r"https?://[^\s\"')<]+", text)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"terminal-\d", text)


def test_the_readme_shows_two_of_them() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (REPOSITORY / "README.md").read_text())
    assert len(shown) == 2
    for path in shown:
        assert (REPOSITORY / path).is_file(), path
