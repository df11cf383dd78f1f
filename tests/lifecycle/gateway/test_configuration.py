"""What a gateway makes of its configuration is what the real one makes of it; mistakes are sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.gateway.configuration import GatewayConfig, config_of_store, read_gateway_config
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.policy import SessionResetPolicy
from hermes_tui.lifecycle.source import SessionSource
from lifecycle.samples import NOON, record
from oracle.hermes import Oracle

FLAGS = ("group_sessions_per_user", "thread_sessions_per_user", "multiplex_profiles", "write_sessions_json")

policies = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(("none", "idle", "daily", "both", "weekly", None)),
        "at_hour": st.sampled_from((0, 4, 23, None)),
        "idle_minutes": st.sampled_from((1, 720, None)),
        "notify": st.booleans() | st.none(),
        "notify_exclude_platforms": st.none() | st.lists(st.sampled_from(("sms", "slack")), max_size=2),
        "bg_process_max_age_hours": st.sampled_from((0, 48, None)),
    },
)
off = st.fixed_dictionaries({"at_hour": st.sampled_from((-1, 24)), "idle_minutes": st.sampled_from((0, -5))})
flags = st.sampled_from((True, False, None, "yes", "No", " ON ", "0", "maybe"))
settings_of = st.fixed_dictionaries({}, optional=dict.fromkeys(FLAGS, flags))
yaml_files = st.builds(
    lambda top, under, policy, nested: {
        **top,
        **({} if policy is None else {"session_reset": policy}),
        **({} if nested is None else {"gateway": {**under, "session_reset": nested}}),
    },
    settings_of,
    settings_of,
    st.none() | policies | off | st.just("both"),
    st.none() | policies,
)
json_files = st.builds(
    lambda top, policy, platforms, types: {
        **top,
        **({} if policy is None else {"default_reset_policy": policy}),
        "reset_by_platform": platforms,
        "reset_by_type": types,
    },
    settings_of | st.just({"session_store_max_age_days": 7}) | st.just({"session_store_max_age_days": "x"}),
    st.none() | policies,
    st.dictionaries(st.sampled_from(("telegram", "Slack", "irc")), policies, max_size=2),
    st.dictionaries(st.sampled_from(("dm", "group")), policies, max_size=2),
)
dotenv = st.fixed_dictionaries(
    {},
    optional={
        "SESSION_IDLE_MINUTES": st.sampled_from(("15", " 20 ", "x", "0", "")),
        "SESSION_RESET_HOUR": st.sampled_from(("3", "99", "x", "")),
        "GATEWAY_MULTIPLEX_PROFILES": st.sampled_from(("1", "off", "", "perhaps")),
    },
)


def lay_out(home: Path, over: object, base: object, variables: dict[str, str]) -> None:
    """The files of a home."""
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(yaml.safe_dump(over))
    (home / "gateway.json").write_text(json.dumps(base))
    lines = [f"OTHER_SECRET=abc\nexport {name}='{value}'\n" for name, value in variables.items()]
    (home / ".env").write_text("# settings\n" + "".join(lines))


def as_hermes_has_it(config: GatewayConfig) -> dict[str, Any]:
    """Our configuration in the form of GatewayConfig.to_dict."""
    return {
        "default_reset_policy": config.default_reset_policy.to_dict(),
        "reset_by_platform": {name: one.to_dict() for name, one in config.reset_by_platform.items()},
        "reset_by_type": {name: one.to_dict() for name, one in config.reset_by_type.items()},
        "sessions_dir": str(config.sessions_dir),
        "session_store_max_age_days": config.session_store_max_age_days,
        **{name: getattr(config, name) for name in FLAGS},
    }


@examples(50)
@example(over={"gateway": {"multiplex_profiles": True}}, base={"multiplex_profiles": False}, variables={})
@example(over={"session_reset": {}, "gateway": {"session_reset": {"mode": "idle"}}}, base={}, variables={})
@example(over={"session_reset": None, "gateway": {"session_reset": {"mode": "idle"}}}, base={}, variables={})
@given(over=yaml_files, base=json_files, variables=dotenv)
def test_the_configuration_is_that_of_hermes(
    hermes: Oracle, tmp_path: Path, over: object, base: object, variables: dict[str, str]
) -> None:
    home = tmp_path / "home"
    lay_out(home, over, base, variables)
    theirs = hermes.config(home, variables)
    ours = as_hermes_has_it(read_gateway_config(home))
    assert ours == {name: theirs[name] for name in ours}


def test_nothing_is_configured(hermes: Oracle, tmp_path: Path) -> None:
    found = read_gateway_config(tmp_path / "no-such-home")
    theirs = hermes.config(tmp_path / "no-such-home")
    assert as_hermes_has_it(found).items() <= theirs.items()
    assert found.problems == ()
    assert read_gateway_config(tmp_path, default_mode="both").default_reset_policy.mode == "both"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.yaml", b"a: [", "config.yaml cannot be used: while parsing"),
        ("config.yaml", b"- a\n", "config.yaml cannot be used: it is no mapping of settings"),
        ("config.yaml", b"\xff\xfe", "config.yaml cannot be used: "),
        ("config.yaml", b"a: !!python/object:os.system x", "config.yaml cannot be used: line 1: the tag"),
        ("config.yaml", b"x" * (4 << 20) + b"y", "config.yaml cannot be used: larger than expected"),
        ("config.yaml", b"session_reset: {at_hour: 25}", "session_reset.at_hour is 25, not a whole hour"),
        ("config.yaml", b"session_reset: {mode: weekly}", "session_reset.mode is 'weekly', not one of"),
        ("config.yaml", b"session_reset: {mode: off}", "session_reset.mode is False, not one of"),
        ("config.yaml", b"session_reset: {idle_minutes: '5'}", "session_reset.idle_minutes is '5', not"),
        ("config.yaml", b"session_reset: daily", "session_reset is no mapping of settings"),
        ("config.yaml", b"group_sessions_per_user: [1]", "group_sessions_per_user is [1], not true or false"),
        ("config.yaml", b"agent: {gateway_auto_continue_freshness: long}", "is 'long', not a number of seconds"),
        ("gateway.json", b"{", "gateway.json cannot be used: it is no JSON"),
        ("gateway.json", b'{"a": 1, "a": 2}', "gateway.json cannot be used: a is there twice"),
        ("gateway.json", b'{"reset_by_type": {"dm": 5}}', "reset_by_type.dm is a number, not an object"),
        ("gateway.json", b'{"reset_by_type": 5}', "reset_by_type is no object"),
        ("gateway.json", b'{"session_store_max_age_days": []}', "session_store_max_age_days is [], not a number"),
        (".env", b"SESSION_RESET_HOUR=noon", "SESSION_RESET_HOUR is 'noon', not a whole number"),
    ],
)
def test_a_mistake_is_one_sentence_and_the_usual_value(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = read_gateway_config(tmp_path)
    (problem,) = found.problems
    assert said in problem
    assert "\n" not in problem
    assert problem.endswith(".")
    assert (found.default_reset_policy.at_hour, found.group_sessions_per_user, found.freshness) == (4, True, 3600)


def test_a_file_that_may_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    (problem,) = read_gateway_config(tmp_path).problems
    assert "config.yaml cannot be used: " in problem


def test_how_long_a_turn_may_take(tmp_path: Path) -> None:
    assert read_gateway_config(tmp_path).gateway_timeout == 1800
    (tmp_path / "config.yaml").write_text("agent: {gateway_timeout: 90}")
    assert read_gateway_config(tmp_path).gateway_timeout == 90
    (tmp_path / "config.yaml").write_text("agent: {gateway_timeout: soon}")
    found = read_gateway_config(tmp_path)
    assert (found.gateway_timeout, len(found.problems)) == (1800, 1)


def test_freshness(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("agent: {gateway_auto_continue_freshness: 90}")
    assert read_gateway_config(tmp_path).freshness == 90


def test_overrides_of_the_document_count_where_asked_for(tmp_path: Path) -> None:
    """Spec 002, appendix: `platforms.<name>.session_reset`; the real program does not read it, and is believed."""
    (tmp_path / "config.yaml").write_text(
        "session_reset: {mode: daily}\nplatforms: {Slack: {session_reset: {mode: idle, idle_minutes: 5}}}"
    )
    real = read_gateway_config(tmp_path)
    assert real.get_reset_policy("slack", "dm").mode == "daily"
    (problem,) = real.problems
    assert "no Hermes from 0.13.0 to 0.19.0 reads platforms.Slack.session_reset; put it into gateway.json" in problem
    documented = read_gateway_config(tmp_path, documented=True)
    assert documented.get_reset_policy("slack", "dm") == SessionResetPolicy(mode="idle", idle_minutes=5)
    assert documented.problems == ()


def test_defaults_of_the_document_where_its_store_is(tmp_path: Path) -> None:
    """Spec 002 section 6 and appendix: both at 4 and after a day, no lane dropped; and its key is of config.yaml."""
    for schema in (1, 6):
        found = config_of_store(tmp_path, schema, has_table=False)
        assert found.default_reset_policy == SessionResetPolicy(
            mode="both", at_hour=4, idle_minutes=1440, notify=True
        )
        assert (found.group_sessions_per_user, found.thread_sessions_per_user) == (True, False)
        assert found.session_store_max_age_days == 0
    assert config_of_store(tmp_path, 22, has_table=True).session_store_max_age_days == 90
    (tmp_path / "config.yaml").write_text("session_store_max_age_days: 30")
    assert config_of_store(tmp_path, 6, has_table=False).session_store_max_age_days == 30
    assert config_of_store(tmp_path, 22, has_table=True).session_store_max_age_days == 90


@pytest.mark.parametrize("under", ["session_reset", "group_sessions_per_user", "thread_sessions_per_user"])
def test_before_0_19_nothing_was_looked_for_under_gateway(tmp_path: Path, under: str) -> None:
    """As `gateway/config.py` of the wheels 0.13.0 to 0.18.2 has it; the real 0.19.0 is asked in the test above."""
    value = "{mode: daily}" if under == "session_reset" else "yes"
    (tmp_path / "config.yaml").write_text(f"gateway: {{{under}: {value}, write_sessions_json: no}}")
    old, new = (config_of_store(tmp_path, schema, has_table=True) for schema in (19, 22))
    assert (old.default_reset_policy.mode, old.write_sessions_json) == ("none", False)
    (problem,) = old.problems
    assert f"no Hermes before 0.19.0 reads gateway.{under}, and this home is of one" in problem
    assert new.problems == ()
    assert new != old or under == "group_sessions_per_user"
    (tmp_path / "config.yaml").write_text(f"{under}: {value}")
    assert config_of_store(tmp_path, 19, has_table=True).problems == ()


def test_the_store_says_whose_rules_they_are(tmp_path: Path) -> None:
    """Schema 6 is the document's; 11 to 17 are the programs up to 0.18.0, which reset lanes unless told not to."""
    (tmp_path / "config.yaml").write_text("platforms: {slack: {session_reset: {mode: idle}}}")
    found = {
        (schema, table): config_of_store(tmp_path, schema, table)
        for schema, table in ((None, False), (6, False), (11, False), (17, False), (19, True), (22, True))
    }
    assert {at: one.default_reset_policy.mode for at, one in found.items()} == {
        (None, False): "both",
        (6, False): "both",
        (11, False): "both",
        (17, False): "both",
        (19, True): "none",
        (22, True): "none",
    }
    assert found[6, False].get_reset_policy("slack").mode == "idle"
    assert found[6, False].problems == ()
    for at in ((11, False), (19, True), (22, True)):
        assert found[at].get_reset_policy("slack").mode == found[at].default_reset_policy.mode
        assert "reads platforms.slack.session_reset" in found[at].problems[0]


def test_the_override_that_wins() -> None:
    idle, daily, both = (SessionResetPolicy(mode=mode) for mode in ("idle", "daily", "both"))
    config = GatewayConfig(
        default_reset_policy=both, reset_by_platform={"slack": idle}, reset_by_type={"group": daily}
    )
    assert config.get_reset_policy("slack", "group") is idle
    assert config.get_reset_policy("telegram", "group") is daily
    assert config.get_reset_policy("telegram", "dm") is config.get_reset_policy() is both
    entry = SessionEntry.from_dict(record(NOON, platform="slack", chat_type="dm"))
    assert config.policy_of(entry.changed(origin=None)) is idle
    group = SessionSource(platform="telegram", chat_id="1", chat_type="group")
    assert config.policy_of(entry.changed(origin=group)) is daily
