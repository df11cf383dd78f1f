"""The themes: complete, and chosen as the user and the terminal want."""

from __future__ import annotations

import re

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.console import Console
from textual.color import Color
from textual.theme import Theme

from hermes_tui.platform.paths import styles_dir
from hermes_tui.tui.themes import (
    AGENT_COLOURS,
    NO_COLOUR_THEME,
    THEMES,
    agent_colour,
    has_few_colours,
    has_no_colour,
    theme_for,
)
from session_adapters.registry import agent_names


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_purpose_that_the_style_sheets_name_has_a_look(theme: Theme) -> None:
    variables = theme.to_color_system().generate() | theme.variables
    for path in styles_dir().glob("*.tcss"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for name in re.findall(r"\$([a-z0-9-]+)", text):
            assert name in variables, f"{path.name}: ${name}"


@pytest.mark.parametrize("name", ["hermes-dark", "hermes-light", "high-contrast"])
def test_text_can_be_read(name: str) -> None:
    """WCAG contrast: 4.5 for text, 3 for what is faint on purpose; 7 and 4.5 in the theme for that."""
    (theme,) = (one for one in THEMES if one.name == name)
    strong, weak = (7.0, 4.5) if name == "high-contrast" else (4.5, 3.0)
    background = Color.parse(theme.background or "")
    for colour in (theme.foreground, theme.accent, theme.error, theme.success):
        assert contrast(Color.parse(colour or ""), background) >= min(strong, 4.5), colour
    assert contrast(Color.parse(theme.foreground or ""), background) >= strong
    assert contrast(Color.parse(theme.variables["faint"]), background) >= weak
    for number in range(AGENT_COLOURS):
        assert contrast(Color.parse(theme.variables[f"agent-{number}"]), background) >= 4.0, number
    for state in ("question", "limited", "gone"):
        assert contrast(Color.parse(theme.variables[state]), background) >= 4.0, state
    cursor = Color.parse(theme.variables["cursor-background"])
    assert contrast(Color.parse(theme.variables["cursor-foreground"]), cursor) >= strong


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("colours", [ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR], ids=str)
def test_the_row_under_the_cursor_looks_different(theme: Theme, colours: ColorSystem) -> None:
    """With and without the focus, as many colours as the terminal has."""

    def looks(purpose: str) -> tuple[object, str]:
        background = theme.variables.get(f"{purpose}-background", theme.background or "")
        style = theme.variables.get(f"{purpose}-style", "none")
        if background.startswith("#"):
            shown = RichColor.parse(background).downgrade(colours)
            return shown.number or shown.triplet, style
        return background, style

    assert len({looks("no-cursor"), looks("resting"), looks("cursor")}) == 3


@pytest.mark.parametrize("name", ["hermes-dark", "hermes-light", "high-contrast"])
def test_rows_and_frames_are_told_from_the_background_at_256_colours(name: str) -> None:
    """Most terminals over SSH have no more: what is mixed there must not come out as the background."""
    (theme,) = (one for one in THEMES if one.name == name)

    def shown(colour: str) -> Color:
        return Color.from_rich_color(RichColor.parse(colour).downgrade(ColorSystem.EIGHT_BIT))

    background = shown(theme.background or "")
    for purpose in ("cursor-background", "resting-background", "rule"):
        assert contrast(shown(theme.variables[purpose]), background) >= 1.35, purpose


def contrast(one: Color, other: Color) -> float:
    """WCAG 2.1 contrast ratio, 1 to 21."""

    def luminance(colour: Color) -> float:
        parts = [
            value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in colour.normalized
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_no_colour_wins() -> None:
    assert theme_for("hermes-light", no_colour=True) == NO_COLOUR_THEME
    assert theme_for("hermes-light", no_colour=False) == "hermes-light"
    assert theme_for("no such theme", no_colour=False) == "hermes-dark"
    assert theme_for(None, no_colour=False) == "hermes-dark"
    assert has_no_colour({"NO_COLOR": "1"})
    assert not has_no_colour({"NO_COLOR": ""})
    assert not has_no_colour({})


def test_agents_have_colours() -> None:
    for name in (*agent_names(), "some third party"):
        assert 0 <= agent_colour(name) < AGENT_COLOURS
    assert agent_colour("claude") != agent_colour("hermes")


@pytest.mark.parametrize(
    "term", ["linux", "screen", "vt100", "xterm", "xterm-16color", "", "xterm-256color", "xterm-kitty"]
)
@pytest.mark.parametrize("colorterm", ["", "truecolor", "24bit", "yes"])
def test_few_colours_are_told_as_rich_tells_them(term: str, colorterm: str) -> None:
    variables = {"TERM": term, "COLORTERM": colorterm}
    rich = Console(force_terminal=True, _environ=variables).color_system
    assert has_few_colours(variables) == (rich == "standard")
    assert has_few_colours({**variables, "TEXTUAL_COLOR_SYSTEM": "standard"})
    assert not has_few_colours({**variables, "TEXTUAL_COLOR_SYSTEM": "256"})
