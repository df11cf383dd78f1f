"""Settings: what they may be, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui import config
from hermes_tui.errors import ValidationError


def written(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    return file


def test_without_a_file_everything_has_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("HERMES_TUI_CONFIG", raising=False)
    assert config.load() == config.Config()


def test_every_setting_can_be_set(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        read_only = true
        theme = "hermes-light"
        mouse = false
        index = false
        [keymap]
        "list.open" = "o"
        [prices."my-model"]
        input = 1.5
        output = 6
        cache_read = 0.15
        [context.hector]
        strategy = "buffer_window"
        size = 20
        [hector]
        dsn = ["postgresql://reader:secret@db/hector"]
        [searches]
        mine = "agent:claude is:error"
        """,
    )
    found = config.load(file)
    assert (found.read_only, found.theme, found.mouse, found.index) == (True, "hermes-light", False, False)
    assert found.keymap == {"list.open": "o"}
    assert found.prices["my-model"] == config.Price(input=1.5, output=6, cache_read=0.15)
    assert found.context["hector"] == config.ContextWindow(strategy="buffer_window", size=20)
    assert found.hector.dsn == ("postgresql://reader:secret@db/hector",)
    assert "secret" not in repr(found)
    assert found.searches == {"mine": "agent:claude is:error"}


def test_the_variable_names_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(written(tmp_path, "read_only = true")))
    assert config.load().read_only
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(tmp_path / "gone.toml"))
    with pytest.raises(ValidationError, match=r"gone\.toml.*no such file"):
        config.load()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("read_onyl = true", "there is no setting `read_onyl`; there is `read_only`"),
        ('read_only = "yes"', "read_only"),
        ("read_only = ", "no TOML"),
        ("[prices.m]\ninput = 1", "output"),
        ("[prices.m]\ninput = 1\noutput = -2", "output"),
        ("[prices.m]\ninput = nan\noutput = 2", "input"),
        ("[prices.m]\ninput = 1\noutput = 2\ncache_read = inf", "cache_read"),
        ('[context.hector]\nstrategy = "all"', "strategy"),
        ('[context.hector]\nstrategy = "buffer_window"\nsize = -3', "size"),
        ("[context.hector]\ntokens = 0", "tokens"),
        ('[attention]\nnotify = "loud"', "'loud' is no value of `attention.notify`; it is one of off, bell, osc9"),
        ("[attention]\nnotfy = 1", "`attention.notfy`; there is `attention.notify`"),
        ('notify = "bell"', "there is no setting `notify`; there is `attention.notify`"),
        ('[attention]\ntheme = "nord"', "there is no setting `attention.theme`; there is `theme`"),
        ("[hector]\ntext = true", "there is no setting `hector.text`; there is `attention.text`"),
        ("[prices.m]\ncache_raed = 1", "`prices[...].cache_raed`; there is `prices[...].cache_read`"),
        ('columns = ["age", "ago"]', "'ago' is no value of `columns[1]`; it is one of project, model"),
        ('[attention]\nnotify = "command"', "there is no command"),
        ('[attention]\nstuck_after = "soon"', "stuck_after"),
        ("[attention]\nstuck_after = 0", "stuck_after"),
        ('[attention]\ncommand = "notify-send"', "command"),
        ('[hector]\ndsn = "postgresql://db/hector"', "dsn"),
    ],
)
def test_a_mistake_is_named_and_nothing_of_the_file_is_used(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        config.load(written(tmp_path, text))
    assert said in str(caught.value)
    assert "config.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@given(raw=st.binary(max_size=200))
def test_any_bytes_are_settings_or_refused(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(raw)
    try:
        assert isinstance(config.load(file), config.Config)
    except ValidationError as error:
        assert str(file) in str(error)


@pytest.mark.parametrize(
    ("text", "seconds"), [('"90s"', 90), ('"5m"', 300), ('"2h"', 7200), ("45", 45), ('"45"', 45)]
)
def test_how_long_work_may_be_silent(tmp_path: Path, text: str, seconds: int) -> None:
    file = written(tmp_path, f"[attention]\nstuck_after = {text}")
    assert config.load(file).attention.stuck_seconds == seconds
