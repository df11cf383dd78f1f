"""The colours: four themes of our own, and which one a terminal gets.

Widgets and style sheets name a purpose (`$faint`, `$agent-2`), a theme says what it looks like. There is one accent;
every other colour means something: an agent, a state, an addition or a deletion.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from textual.theme import Theme

from hermes_tui.tui.agent_colours import AGENT_COLOURS, agent_colour

__all__ = [
    "AGENT_COLOURS",
    "DEFAULT_THEME",
    "NO_COLOUR_THEME",
    "PLAIN_THEME",
    "THEMES",
    "agent_colour",
    "has_few_colours",
    "has_no_colour",
    "theme_for",
]

DEFAULT_THEME = "hermes-dark"
PLAIN_THEME = "ansi"
"""For terminals of few colours: their own."""
NO_COLOUR_THEME = "no-colour"

_MANY_COLOURS = ("truecolor", "24bit")
_MORE_COLOURS = ("256color", "kitty")


def has_no_colour(variables: Mapping[str, str] | None = None) -> bool:
    """Whether the user wants no colours at all (https://no-color.org: set, and not empty)."""
    return bool((os.environ if variables is None else variables).get("NO_COLOR"))


def has_few_colours(variables: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal says that it has 16 colours at most, by the signs that Rich and Textual go by: what is
    mixed for more comes out as mud there."""
    variables = os.environ if variables is None else variables
    forced = variables.get("TEXTUAL_COLOR_SYSTEM", "auto").lower()
    if forced != "auto":
        return forced == "standard"
    if variables.get("COLORTERM", "").strip().lower() in _MANY_COLOURS:
        return False
    return variables.get("TERM", "").strip().lower().rpartition("-")[2] not in _MORE_COLOURS


def theme_for(wanted: str | None, *, no_colour: bool) -> str:
    """The name of the theme to start with; no colour wins over any wish."""
    if no_colour:
        return NO_COLOUR_THEME
    return wanted if wanted in {theme.name for theme in THEMES} else DEFAULT_THEME


def _variables(agents: str, **purposes: str) -> dict[str, str]:
    """Theme variables: `agents` lists the agent colours, `purposes` everything else, `_` standing for `-`."""
    named = {name.replace("_", "-"): value for name, value in purposes.items()}
    named.update({f"agent-{number}": colour for number, colour in enumerate(agents.split())})
    return named


_DARK = Theme(
    name="hermes-dark",
    primary="#7aa2f7",
    secondary="#7aa2f7",
    accent="#7aa2f7",
    foreground="#c8ccd8",
    background="#14161c",
    surface="#14161c",
    panel="#1e2027",  # grey enough, as what follows, to be told from the background at 256 colours
    success="#8fbf7f",
    warning="#d9b36c",
    error="#e0707a",
    variables=_variables(
        "#d98a6a #b795e8 #6fc3a8 #6aaee6 #d9b36c #8f9bb3 #c98bb4 #9dbf6a",
        faint="#6b7285",
        question="#b99af0",
        limited="#c98a58",
        gone="#b0617f",
        rule="#363a43",
        bright="#eceef4",
        cursor_background="#2b3a5e",
        cursor_foreground="#f2f4fa",
        cursor_style="none",
        resting_background="#2a2c33",
        resting_style="none",
        match_style="bold underline",
        heading_style="none",
        block_cursor_background="#2b3a5e",
        block_cursor_foreground="#f2f4fa",
        block_cursor_text_style="none",
        input_cursor_text_style="reverse",
        scrollbar="#2f3442",
        scrollbar_hover="#454c60",
        scrollbar_active="#7aa2f7",
        scrollbar_background="#14161c",
        scrollbar_background_hover="#14161c",
        scrollbar_background_active="#14161c",
        scrollbar_corner_color="#14161c",
    ),
)

_LIGHT = Theme(
    name="hermes-light",
    dark=False,
    primary="#2f5fc4",
    secondary="#2f5fc4",
    accent="#2f5fc4",
    foreground="#2b2f3a",
    background="#fafaf8",
    surface="#fafaf8",
    panel="#eeeeea",
    success="#3f7d32",
    warning="#8f6410",
    error="#b3303c",
    variables=_variables(
        "#a8492a #7147b8 #1f7a5f #1d6aa8 #8a6410 #5a657d #97407c #56761f",
        faint="#7a7f8c",
        question="#7147b8",
        limited="#a8552a",
        gone="#8a2f6a",
        rule="#d8d8d2",
        bright="#101218",
        cursor_background="#bcd0f6",
        cursor_foreground="#101218",
        cursor_style="none",
        resting_background="#dedfda",
        resting_style="none",
        match_style="bold underline",
        heading_style="none",
        block_cursor_background="#bcd0f6",
        block_cursor_foreground="#101218",
        block_cursor_text_style="none",
        input_cursor_text_style="reverse",
        scrollbar="#cfcfc8",
        scrollbar_hover="#b0b0a8",
        scrollbar_active="#2f5fc4",
        scrollbar_background="#fafaf8",
        scrollbar_background_hover="#fafaf8",
        scrollbar_background_active="#fafaf8",
        scrollbar_corner_color="#fafaf8",
    ),
)

_CONTRAST = Theme(
    name="high-contrast",
    primary="#ffff00",
    secondary="#ffff00",
    accent="#ffff00",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    success="#00ff00",
    warning="#ffff00",
    error="#ff6060",
    text_alpha=1.0,
    variables=_variables(
        "#ffb090 #d8b8ff #80ffd0 #90d0ff #ffe080 #e0e0e0 #ffb0e0 #d0ff80",
        faint="#d0d0d0",
        question="#ff90ff",
        limited="#ffb060",
        gone="#ff90b0",
        rule="#ffffff",
        bright="#ffffff",
        cursor_background="#ffff00",
        cursor_foreground="#000000",
        cursor_style="bold",
        resting_background="#404040",
        resting_style="none",
        match_style="bold underline",
        heading_style="bold",
        block_cursor_background="#ffff00",
        block_cursor_foreground="#000000",
        block_cursor_text_style="bold",
        input_cursor_text_style="reverse",
        scrollbar="#ffffff",
        scrollbar_hover="#ffff00",
        scrollbar_active="#ffff00",
        scrollbar_background="#000000",
        scrollbar_background_hover="#000000",
        scrollbar_background_active="#000000",
        scrollbar_corner_color="#000000",
    ),
)


def _terminal(name: str, agents: str, *, faint: str, accent: str, question: str, limited: str, gone: str) -> Theme:
    """A theme of the terminal's own colours; the cursor is reverse video, whatever they are."""
    default = "ansi_default"
    return Theme(
        name=name,
        ansi=True,
        primary=accent,
        secondary=accent,
        accent=accent,
        foreground=default,
        background=default,
        surface=default,
        panel=default,
        boost=default,
        success="ansi_green",
        warning="ansi_yellow",
        error="ansi_red",
        variables=_variables(
            agents,
            faint=faint,
            question=question,
            limited=limited,
            gone=gone,
            rule=faint,
            bright=default,
            cursor_background=default,
            cursor_foreground=default,
            cursor_style="reverse",
            resting_background=default,
            resting_style="underline",
            match_style="bold underline",
            heading_style="bold",
            border=accent,
            border_blurred=faint,
            block_cursor_background=default,
            block_cursor_foreground=default,
            block_cursor_text_style="reverse",
            input_cursor_background=default,
            input_cursor_foreground=default,
            input_cursor_text_style="reverse",
            ansi_background=default,
            ansi_foreground=default,
            scrollbar=faint,
            scrollbar_hover=accent,
            scrollbar_active=accent,
            scrollbar_background=default,
            scrollbar_background_hover=default,
            scrollbar_background_active=default,
            scrollbar_corner_color=default,
        ),
    )


_ANSI = _terminal(
    PLAIN_THEME,
    "ansi_yellow ansi_magenta ansi_green ansi_blue ansi_cyan ansi_bright_blue ansi_bright_magenta ansi_bright_green",
    faint="ansi_bright_black",
    accent="ansi_cyan",
    question="ansi_magenta",
    limited="ansi_bright_yellow",
    gone="ansi_bright_red",
)
_NO_COLOUR = _terminal(
    NO_COLOUR_THEME,
    " ".join(["ansi_default"] * 8),
    **dict.fromkeys(("faint", "accent", "question", "limited", "gone"), "ansi_default"),
)

THEMES: tuple[Theme, ...] = (_DARK, _LIGHT, _ANSI, _CONTRAST, _NO_COLOUR)
"""In the order in which one key goes through them; the last is only for terminals that want no colour."""
