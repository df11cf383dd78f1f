"""The demo's data: what may stand in them, that all are used, and that they never lead out of the demo home."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_tui.demo import home as demo_home
from hermes_tui.demo.home import DATA, prepare, write_home
from hermes_tui.demo.template import Template
from hermes_tui.errors import HermesTuiError, ValidationError

NOW = datetime(2026, 11, 21, 10, 34, 5, 678000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("place", "written"),
    [
        ("«+0s»", "2026-11-21T10:34:05.678Z"),
        ("«-1d2h4m5.678s»", "2026-11-20T08:30:00.000Z"),
        ("«-1d@04:00:02 %d %B»", "20 November"),
        ("«-1d@04:00:02-2s»", "2026-11-20T04:00:00.000Z"),
        ('"«+0s ms»"', "1795257245678"),
        ('"«+0s s»"', "1795257245"),
        ('"«+0s seconds»"', "1795257245.678"),
        ("«+0s iso»", "2026-11-21T10:34:05.678000+00:00"),
        ("«+0s go»", "2026-11-21 10:34:05.678+00:00"),
        ("«+0s file»", "2026-11-21T10-34-05-678Z"),
        ("«+0s uuid7»", "01a1fdab-9fee"),
        ("«asked ms»", "1795257240678"),
        ('"«title»"', '"say \\"hi\\" ü"'),
        ('"«count»"', "7"),
        ("count «count»", "count 7"),
        ("«hex 8 title»", sha256('say "hi" ü'.encode()).hexdigest()[:8]),
    ],
)
def test_what_stands_between_the_marks(place: str, written: str) -> None:
    names = {"title": 'say "hi" ü', "asked": "-5s", "count": 7}
    assert Template(NOW, DATA).fill(place, names) == written


@pytest.mark.parametrize("place", ["«nobody»", "«-5x»", "«-»", "«-5s nothing»", "«@»", "«bytes nowhere 3»"])
def test_what_is_not_understood_is_named(place: str, tmp_path: Path) -> None:
    with pytest.raises(HermesTuiError, match=place):
        Template(NOW, tmp_path).fill(f'{{"a":"{place}"}}', {})


def test_blocks_and_lines(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('["name","thanks"]\n["a",null]\n["b","yes"]\n')
    text = 'first\n«each rows.jsonl»\n{"n":"«line»","name":"«name»"}\n«when thanks»"«thanks»"\n«end»\nend «pad 12»|\n'
    template = Template(NOW, tmp_path)
    expected = 'first\n{"n":1,"name":"a"}\n{"n":2,"name":"b"}\n"yes"\nend ' + " " * 6 + "|\n"
    template.written["this"] = template.fill_file(text, {})
    assert template.written["this"] == expected
    assert template.fill('"«bytes this 2»"', {}) == str(len('first\n{"n":1,"name":"a"}\n'))


def _strings(value: Any) -> set[str]:
    """Every text in a manifest, however deep."""
    if isinstance(value, dict):
        return {text for one in value.values() for text in _strings(one)}
    if isinstance(value, list):
        return {text for one in value for text in _strings(one)}
    return {value} if isinstance(value, str) else set()


def test_every_file_of_the_data_is_used() -> None:
    for folder in DATA.iterdir():
        used = _strings(yaml.safe_load((folder / "files.yaml").read_text()))
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != "files.yaml"]
        texts = "".join(path.read_text() for path in files)
        for path in files:
            name = str(path.relative_to(folder))
            assert name in used or f"«each {name}»" in texts, path


def test_the_data_are_small() -> None:
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 1_500_000


def test_another_moment_moves_everything_by_the_same_time(tmp_path: Path) -> None:
    later = timedelta(days=101, hours=5, seconds=7, milliseconds=123)
    times = []
    for name, moment in (("first", NOW), ("second", NOW + later)):
        write_home(tmp_path / name, moment, ["claude", "copilot"])
        (path,) = tmp_path.joinpath(name).glob(".claude/projects/*/72270340-*.jsonl")
        records = [json.loads(line) for line in path.read_text().splitlines()]
        times.append([datetime.fromisoformat(record["timestamp"]) for record in records if "timestamp" in record])
        assert path.stat().st_mtime == pytest.approx(times[-1][-1].timestamp(), abs=0.002)
    assert {second - first for first, second in zip(*times, strict=True)} == {later}


def test_a_fork_says_how_many_bytes_of_its_parent_are_its_own(tmp_path: Path) -> None:
    write_home(tmp_path, NOW, ["codex"])
    metas = {
        path: json.loads(path.read_text().split("\n")[0])["payload"] for path in tmp_path.rglob("rollout-*.jsonl")
    }
    ((base, parent),) = [
        (meta["history_base"], path)
        for meta in metas.values()
        if "history_base" in meta
        for path, other in metas.items()
        if other["id"] == meta["history_base"]["thread_id"]
    ]
    lines = parent.read_bytes().splitlines(keepends=True)
    own = [line for line in lines if json.loads(line)["ordinal"] < base["end_ordinal_exclusive"]]
    assert base["end_byte_offset"] == len(b"".join(own))


def test_the_first_line_of_omp_can_be_written_over(tmp_path: Path) -> None:
    write_home(tmp_path, NOW, ["omp"])
    sessions = list(tmp_path.rglob("*.jsonl"))
    assert sessions
    assert {len(path.read_bytes().split(b"\n")[0]) for path in sessions} == {255}


@pytest.mark.parametrize("to", ["../outside", "/tmp/outside", ".claude/../../outside"])
def test_nothing_is_written_outside(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "claude").mkdir(parents=True)
    (tmp_path / "data" / "claude" / "files.yaml").write_text(f'files: [{{text: "x", to: "{to}"}}]')
    monkeypatch.setattr(demo_home, "DATA", tmp_path / "data")
    with pytest.raises(ValidationError, match="lead out of the demo home"):
        write_home(tmp_path / "home", NOW)
    assert not list(tmp_path.rglob("outside"))


def test_a_link_in_a_former_demo_home_is_not_followed(tmp_path: Path) -> None:
    home, real = tmp_path / "home", tmp_path / "real"
    prepare(home)
    real.mkdir()
    (real / "mine").write_text("kept")
    (home / ".claude").symlink_to(real)
    prepare(home)
    write_home(home, NOW, ["claude"])
    assert [path.name for path in real.iterdir()] == ["mine"]
    assert (home / ".claude" / "projects").is_dir()


def test_what_is_no_json_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "claude"
    folder.mkdir(parents=True)
    (folder / "files.yaml").write_text("files: [{from: a.jsonl, rows: rows.jsonl, to: «name»}]")
    (folder / "rows.jsonl").write_text('["name"]\n["a"\n')
    (folder / "a.jsonl").write_text("{}\n")
    monkeypatch.setattr(demo_home, "DATA", tmp_path / "data")
    with pytest.raises(HermesTuiError, match=r"data/claude cannot be read.*rows\.jsonl"):
        write_home(tmp_path / "home", NOW)
