"""A gateway talks to the platforms, and has the home channels, that the real program makes of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.context import build_session_context
from hermes_tui.lifecycle.gateway.configuration import read_gateway_config
from hermes_tui.lifecycle.source import SessionSource
from oracle.hermes import Oracle

TOKEN = "123456:a-token-long-enough"
_IN_FILES = (
    "telegram",
    "discord",
    "qqbot",
    "slack",
    "sms",
    "whatsapp_cloud",
    "mattermost",
    "matrix",
    "signal",
    "bluebubbles",
    "api_server",
    "webhook",
)
_EXTRA = {
    "signal": {"http_url": "http://x", "account": "+1"},
    "bluebubbles": {"server_url": "http://x", "password": "p"},
}

_channels = st.fixed_dictionaries(
    {"chat_id": st.sampled_from(("C9", "-100"))}, optional={"name": st.just("Ops"), "thread_id": st.just("5")}
)
_section = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans() | st.sampled_from(("true", "no")),
        "token": st.just(TOKEN),
        "home_channel": _channels,
    },
)
_platforms = st.dictionaries(st.sampled_from(_IN_FILES), _section, max_size=4)
_GROUPS: tuple[dict[str, str], ...] = (
    {"TELEGRAM_BOT_TOKEN": TOKEN},
    {"TELEGRAM_HOME_CHANNEL": "-1001", "TELEGRAM_HOME_CHANNEL_NAME": "Lobby"},
    {"DISCORD_BOT_TOKEN": TOKEN, "DISCORD_HOME_CHANNEL": "77", "DISCORD_HOME_CHANNEL_THREAD_ID": "5"},
    {"SIGNAL_HTTP_URL": "http://127.0.0.1:1", "SIGNAL_ACCOUNT": "+1555"},
    {"BLUEBUBBLES_SERVER_URL": "http://127.0.0.1:1", "BLUEBUBBLES_PASSWORD": "p"},
    {"HASS_TOKEN": TOKEN},
    {"MATTERMOST_TOKEN": TOKEN},
    {"MATRIX_ACCESS_TOKEN": TOKEN, "MATRIX_HOME_ROOM": "!a:b"},
    {"QQ_APP_ID": "1", "QQ_CLIENT_SECRET": "s", "QQBOT_HOME_CHANNEL": "8"},
    {"SLACK_BOT_TOKEN": f"xoxb-{TOKEN}"},
    {"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": TOKEN},
    {"WHATSAPP_CLOUD_PHONE_NUMBER_ID": "1", "WHATSAPP_CLOUD_ACCESS_TOKEN": TOKEN},
    {"API_SERVER_KEY": "k"},
)
"""Variables that belong together."""
_variables = st.sets(st.integers(0, len(_GROUPS) - 1), max_size=5).map(
    lambda chosen: {name: value for at in chosen for name, value in _GROUPS[at].items()}
)


def _placed(name: str, section: dict[str, Any]) -> dict[str, Any]:
    home = section.get("home_channel")
    placed = {**section, **({"home_channel": {"platform": name, "name": "Home", **home}} if home else {})}
    return {**placed, "extra": _EXTRA[name]} if name in _EXTRA else placed


@examples(60)
@given(file=_platforms, nested=_platforms, top=_platforms, variables=_variables)
def test_it_is_what_the_real_one_makes_of_them(
    hermes: Oracle,
    tmp_path_factory: Any,
    file: dict[str, Any],
    nested: dict[str, Any],
    top: dict[str, Any],
    variables: dict[str, str],
) -> None:
    home: Path = tmp_path_factory.mktemp("home")
    sections = [{name: _placed(name, one) for name, one in place.items()} for place in (file, nested, top)]
    (home / "gateway.json").write_text(json.dumps({"platforms": sections[0]}))
    (home / "config.yaml").write_text(
        yaml.safe_dump({"gateway": {"platforms": sections[1]}, "platforms": sections[2]})
    )
    (home / ".env").write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    theirs = hermes.ask("config", {"path": str(home), "variables": variables, "platforms": True})
    ours = read_gateway_config(home)
    assert list(ours.connected_platforms) == theirs["connected"]
    connected = {name: one.to_dict() for name, one in ours.home_channels.items() if name in theirs["connected"]}
    assert connected == {name: one for name, one in theirs["homes"].items() if name in theirs["connected"]}


def test_an_agent_is_told_of_them(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"TELEGRAM_BOT_TOKEN={TOKEN}\nTELEGRAM_HOME_CHANNEL=-1001\n")
    config = read_gateway_config(tmp_path)
    context = build_session_context(SessionSource(platform="telegram", chat_id="1"), config)
    assert context.connected_platforms == ("telegram",)
    assert context.home_channels["telegram"].chat_id == "-1001"
    assert TOKEN not in repr(config)
