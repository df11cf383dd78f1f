"""Platforms that a gateway talks to, and their home channels, as configured.

Format: hermes-agent 0.19.0, `gateway/config.py`: `gateway.json`, over it `gateway.platforms` and `platforms` of
`config.yaml` and a platform's own section there, over all of them variables. A platform is connected that is enabled
and has what it signs in with. Only whether a secret is there is looked at, and nothing of it kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hermes_tui.lifecycle.source import HomeChannel

__all__ = ["VARIABLES", "connected"]


class _Signs(NamedTuple):
    """How a platform signs in, and where its home channel is named."""

    variables: tuple[str, ...]
    """Set all, they enable it."""
    extra: tuple[str, ...] = ()
    """Members of its `extra` that do as well; with neither it needs a `token` or an `api_key`."""
    home: str = ""
    """The variable; its name and its thread are in `<home>_NAME`, `<home>_THREAD_ID`."""
    always: bool = False
    """It needs nothing but to be enabled."""
    forced: bool = False
    """Variables enable it though config.yaml says no."""


_PLATFORMS = {
    "telegram": _Signs(("TELEGRAM_BOT_TOKEN",), home="TELEGRAM_HOME_CHANNEL"),
    "discord": _Signs(("DISCORD_BOT_TOKEN",), home="DISCORD_HOME_CHANNEL"),
    "slack": _Signs(("SLACK_BOT_TOKEN",), home="SLACK_HOME_CHANNEL"),
    "mattermost": _Signs(("MATTERMOST_TOKEN",), home="MATTERMOST_HOME_CHANNEL"),
    "matrix": _Signs(("MATRIX_ACCESS_TOKEN",), home="MATRIX_HOME_ROOM"),
    "homeassistant": _Signs(("HASS_TOKEN",), forced=True),
    "signal": _Signs(("SIGNAL_HTTP_URL", "SIGNAL_ACCOUNT"), ("http_url",), "SIGNAL_HOME_CHANNEL"),
    "sms": _Signs(("TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN"), home="SMS_HOME_CHANNEL", forced=True),
    "whatsapp_cloud": _Signs(
        ("WHATSAPP_CLOUD_PHONE_NUMBER_ID", "WHATSAPP_CLOUD_ACCESS_TOKEN"),
        ("phone_number_id", "access_token"),
        "WHATSAPP_CLOUD_HOME_CHANNEL",
        forced=True,
    ),
    "bluebubbles": _Signs(
        ("BLUEBUBBLES_SERVER_URL", "BLUEBUBBLES_PASSWORD"),
        ("server_url", "password"),
        "BLUEBUBBLES_HOME_CHANNEL",
        forced=True,
    ),
    "qqbot": _Signs(
        ("QQ_APP_ID", "QQ_CLIENT_SECRET"), ("app_id", "client_secret"), "QQBOT_HOME_CHANNEL", forced=True
    ),
    "yuanbao": _Signs(
        ("YUANBAO_APP_ID", "YUANBAO_APP_SECRET"), ("app_id", "app_secret"), "YUANBAO_HOME_CHANNEL", forced=True
    ),
    "api_server": _Signs(("API_SERVER_KEY",), always=True, forced=True),
    "webhook": _Signs((), always=True),
}
"""Those whose rule is in the program itself; others are connected that have a token in the files."""

VARIABLES = frozenset(
    name
    for one in _PLATFORMS.values()
    for name in (*one.variables, *((one.home, f"{one.home}_NAME", f"{one.home}_THREAD_ID") if one.home else ()))
)
"""All variables that are looked at."""


def connected(
    json: Mapping[str, Any], yaml: Mapping[str, Any], variables: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, HomeChannel]]:
    """Names of the platforms, sorted, and home channels by platform; `json` and `yaml` are the files' contents."""
    settings = _settings(json, yaml)
    names: set[str] = set()
    homes: dict[str, HomeChannel] = {}
    for name, one in settings.items():
        rule = _PLATFORMS.get(name, _Signs(()))
        by_extra = bool(rule.extra) and all(_extra(one).get(part) for part in rule.extra)
        if _enabled(one) and (one.get("token") or one.get("api_key") or rule.always or by_extra):
            names.add(name)
        channel = one.get("home_channel")
        if isinstance(channel, dict) and channel.get("chat_id") is not None:
            homes[name] = _channel(name, channel)
    for name, signs in _PLATFORMS.items():
        given = bool(signs.variables) and all(variables.get(one) for one in signs.variables)
        own = settings.get(name, {})
        if given and (signs.forced or _enabled(own) or not own.get("explicit")):
            names.add(name)
        if signs.home and variables.get(signs.home) and (given or name in settings):
            parts = {
                "chat_id": variables[signs.home],
                "name": variables.get(f"{signs.home}_NAME"),
                "thread_id": variables.get(f"{signs.home}_THREAD_ID"),
            }
            homes[name] = _channel(name, {part: value for part, value in parts.items() if value})
    return tuple(sorted(names)), homes


def _channel(platform: str, found: Mapping[str, Any]) -> HomeChannel:
    thread = found.get("thread_id")
    return HomeChannel(
        platform=platform,
        chat_id=str(found["chat_id"]),
        name=str(found.get("name", "Home")),
        thread_id=str(thread) if thread else None,
    )


def _settings(json: Mapping[str, Any], yaml: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each platform's settings, the later places over the earlier."""
    gateway = yaml.get("gateway")
    under = gateway.get("platforms") if isinstance(gateway, dict) else None
    places = (json.get("platforms"), under, yaml.get("platforms"))
    found: dict[str, dict[str, Any]] = {}
    for place in places:
        for name, one in place.items() if isinstance(place, dict) else ():
            if isinstance(one, dict):
                before = found.get(str(name).strip().lower(), {})
                extra = {**_extra(before), **_extra(one)}
                # Only config.yaml can say no to what variables would enable.
                explicit = before.get("explicit") or (place is not places[0] and "enabled" in one)
                found[str(name).strip().lower()] = {**before, **one, "extra": extra, "explicit": explicit}
    # A platform's own section at the top of the file counts where it says whether it is enabled, and over all else.
    for name in _PLATFORMS:
        one = yaml.get(name)
        if isinstance(one, dict) and "enabled" in one:
            found[name] = {**found.get(name, {}), "enabled": one["enabled"], "explicit": True}
    return found


def _extra(one: Mapping[str, Any]) -> dict[str, Any]:
    extra = one.get("extra")
    return extra if isinstance(extra, dict) else {}


def _enabled(one: Mapping[str, Any]) -> bool:
    value = one.get("enabled", False)
    return value if isinstance(value, bool) else str(value).strip().lower() in ("true", "1", "yes", "on")
