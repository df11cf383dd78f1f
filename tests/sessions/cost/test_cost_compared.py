"""Our estimates beside those of others: Claude Code's own, ccusage's, and the price list's.

`tests/recorded/ccusage.json` is what ccusage said of the same files (`make ccusage` writes it anew). Where it
differs, the tests say why, and by how much.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage as ListUsage
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from corpus.make_corpus import make_corpus
from hermes_tui.sessions.cost.prices import Prices, tariff_of
from hermes_tui.sessions.cost.rates import price
from hermes_tui.sessions.cost.report import CostBreakdown
from hermes_tui.sessions.manager import SessionManager
from record_ccusage import RECORDED
from session_adapters.base import Environment
from session_adapters.usage import Usage
from support import STORES

CENT = 0.005
FIGURES: dict[str, Any] = json.loads(RECORDED.read_text())


def groups_of(home: Path, agent: str, cache: Path, by: str = "model") -> dict[str, CostBreakdown]:
    manager = SessionManager(Environment(home=home), cache_dir=cache, agents=(agent,), prices={})
    return manager.total_cost(group_by=by).breakdowns or {}


def claude_tokens(one: CostBreakdown) -> dict[str, int]:
    return {
        "inputTokens": one.input_tokens,
        "outputTokens": one.output_tokens,
        "cacheCreationTokens": one.cache_write_tokens,
        "cacheReadTokens": one.cached_tokens,
    }


def codex_tokens(one: CostBreakdown) -> dict[str, int]:
    """Codex' input includes what came from the cache."""
    return {
        "inputTokens": one.input_tokens + one.cached_tokens,
        "cachedInputTokens": one.cached_tokens,
        "outputTokens": one.output_tokens,
    }


def without_cost(figures: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in figures.items() if name not in ("cost", "totalTokens")}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("corpus")
    make_corpus(home)
    return home


def replies(home: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Message id → model and usage of its last line, read in a few plain lines."""
    found = {}
    for path in sorted((home / ".claude" / "projects").rglob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            message = record.get("message")
            if record.get("type") == "assistant" and message.get("model", "<synthetic>") != "<synthetic>":
                found[message["id"]] = (message["model"], message["usage"])
    return found


# Claude Code ----------------------------------------------------------------------------------------------------


def test_claude_code_says_the_same_of_its_sessions(tmp_path: Path) -> None:
    """`cost-state` holds what Claude Code worked out, by model; after a fork it includes the parent's, and helpers'
    stands in the session that started them. What it says of a model that one session alone used must be ours."""
    home = STORES / "claude" / "home"
    theirs: dict[str, dict[str, float]] = {}
    for path in sorted((home / ".claude" / "projects").glob("*/*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record.get("type") == "cost-state":
                theirs[path.stem] = {name: one["costUSD"] for name, one in record["modelUsage"].items()}
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path, agents=("claude",), prices={})
    sheet = manager.costs
    manager.total_cost()
    related = {one.parent_id for one in manager.list() if one.parent_id} | {
        one.session_id for one in manager.list() if one.kind != "session"
    }
    compared = 0
    for session_id, models in theirs.items():
        if session_id in related:
            continue
        for model, usd in models.items():
            rows = [
                row for row in sheet.sheet().rows if row.unified_id == f"claude:{session_id}" and row.model == model
            ]
            assert sum(row.usd for row in rows) == pytest.approx(usd, abs=1e-9), (session_id, model)
            compared += 1
    assert compared >= 3


# ccusage: Claude ------------------------------------------------------------------------------------------------


def test_ccusage_on_the_claude_store(tmp_path: Path) -> None:
    """The same tokens of every model. It has no price for two of the models, and takes what is kept in the cache for
    an hour for what is kept five minutes: 1.25 instead of 2 dollars a million for claude-haiku-4-5."""
    theirs = FIGURES["claude"]["claude/home"]["models"]
    ours = groups_of(STORES / "claude" / "home", "claude", tmp_path)
    spent = {name: one for name, one in ours.items() if one.call_count}
    assert spent.keys() == theirs.keys()
    for model, figures in theirs.items():
        assert claude_tokens(spent[model]) == without_cost(figures), model
    assert [name for name, figures in theirs.items() if figures["cost"]] == ["claude-haiku-4-5"]
    haiku = [usage for model, usage in replies(STORES / "claude" / "home").values() if model == "claude-haiku-4-5"]
    for_an_hour = sum(usage["cache_creation"]["ephemeral_1h_input_tokens"] for usage in haiku)
    assert for_an_hour > 0
    assert ours["claude-haiku-4-5"].total_usd == pytest.approx(
        theirs["claude-haiku-4-5"]["cost"] + for_an_hour * (2 - 1.25) / 1e6, abs=1e-9
    )


def test_ccusage_on_the_older_claude_store(tmp_path: Path) -> None:
    """As above; and where lines carry no request id (1.0.x) it counts a reply once for each of its lines, and once
    more in each file that repeats it."""
    home = STORES / "claude" / "older" / "home"
    theirs = FIGURES["claude"]["claude/older/home"]["models"]
    ours = groups_of(home, "claude", tmp_path)
    each_once = replies(home)
    for model, figures in theirs.items():
        usages = [usage for name, usage in each_once.values() if name == model]
        assert ours[model].output_tokens == sum(usage["output_tokens"] for usage in usages)
        assert ours[model].input_tokens == sum(usage["input_tokens"] for usage in usages)
        if model != "claude-sonnet-4-20250514":
            assert claude_tokens(ours[model]) == without_cost(figures), model
    assert ours["claude-sonnet-4-20250514"].output_tokens < theirs["claude-sonnet-4-20250514"]["outputTokens"]
    for model, rates in {"claude-haiku-4-5-20251001": (2, 1.25), "claude-sonnet-4-5": (6, 3.75)}.items():
        usages = [usage for name, usage in each_once.values() if name == model]
        for_an_hour = sum((usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0) for usage in usages)
        more = for_an_hour * (rates[0] - rates[1]) / 1e6
        assert ours[model].total_usd == pytest.approx(theirs[model]["cost"] + more, abs=1e-9)


def test_ccusage_on_the_corpus(corpus: Path, tmp_path: Path) -> None:
    """To the cent, but for requests of more than 200,000 tokens to claude-sonnet-4-5: the vendor asks the higher
    price for all of such a request, ccusage only where one kind of token alone is more than 200,000."""
    theirs = FIGURES["claude"]["corpus S"]["models"]
    ours = groups_of(corpus, "claude", tmp_path)
    long_ones = 0.0
    for model, usage in replies(corpus).values():
        read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        if model.startswith("claude-sonnet-4-5") and usage["input_tokens"] + read + written > 200_000:
            high = usage["input_tokens"] * 6 + read * 0.6 + written * 7.5 + usage["output_tokens"] * 22.5
            kinds = ((usage["input_tokens"], 3), (read, 0.3), (written, 3.75))
            low = sum((tokens + max(0, tokens - 200_000)) * rate for tokens, rate in kinds)
            long_ones += (high - low - usage["output_tokens"] * 15) / 1e6
    assert long_ones > 0.1
    for model, figures in theirs.items():
        assert claude_tokens(ours[model]) == without_cost(figures), model
        more = long_ones if model == "claude-sonnet-4-5-20250929" else 0.0
        assert ours[model].total_usd == pytest.approx(figures["cost"] + more, abs=CENT), model


# ccusage: Codex -------------------------------------------------------------------------------------------------


def test_ccusage_on_codex_rollouts_of_the_corpus(corpus: Path, tmp_path: Path) -> None:
    theirs = FIGURES["codex"]["corpus S"]
    ours = groups_of(corpus, "codex", tmp_path)
    for model, figures in theirs["models"].items():
        assert codex_tokens(ours[model]) == without_cost(figures), model
    assert sum(one.total_usd for one in ours.values()) == pytest.approx(theirs["totalCost"], abs=CENT)


@pytest.mark.parametrize(("store", "expected"), [("home", "expected.json"), ("older/home", "expected.older.json")])
def test_ccusage_on_the_codex_stores(store: str, expected: str, tmp_path: Path) -> None:
    """Tokens are those of the independent reading beside the store. ccusage counts a fork's copy of its parent,
    leaves archived sessions out, and takes figures that are repeated after a compaction for calls."""
    theirs = FIGURES["codex"][f"codex/{store}"]["models"]
    ours = groups_of(STORES / "codex" / store, "codex", tmp_path)
    owned = [
        one["tokens_owned"]
        for one in json.loads((STORES / "codex" / expected).read_text())
        if one.get("tokens_owned")
    ]
    total = [codex_tokens(one) for one in ours.values()]
    for name, field in (("input", "inputTokens"), ("cached_input", "cachedInputTokens"), ("output", "outputTokens")):
        assert sum(one[field] for one in total) == sum(one[name] for one in owned), name
    same = {model for model, figures in theirs.items() if codex_tokens(ours[model]) == without_cost(figures)}
    assert same == ({"gpt-5.5", "gpt-5.4-mini"} if store == "home" else set())


# The price list -------------------------------------------------------------------------------------------------


def every_model() -> Sequence[tuple[Any, Any]]:
    return [(provider, model) for provider in get_snapshot().providers for model in provider.models]


COUNT = st.sampled_from((0, 1, 1000, 199_999, 200_001, 300_000, 1_200_000))


@examples(50)
@given(
    st.sampled_from(every_model()),
    st.tuples(COUNT, COUNT, COUNT, COUNT),
    st.floats(0, 1),
    st.floats(1.68e9, 1.85e9),
)
def test_our_arithmetic_is_the_price_lists(
    found: tuple[Any, Any], tokens: tuple[int, int, int, int], part: float, moment: float
) -> None:
    provider, model = found
    fresh, output, read, written = tokens
    hour, thinking = int(written * part), int(output * part)
    tariff = tariff_of(model)
    if tariff is None:
        return
    usage = ListUsage(
        input_tokens=fresh + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=hour,
        output_tokens=output,
        output_reasoning_tokens=thinking,
    )
    theirs = model.calc_price(usage, provider, genai_request_timestamp=datetime.fromtimestamp(moment, UTC))
    ours = price(tariff, Usage("s", "k", moment, "m", fresh, output, read, written, thinking, hour), 0.0)
    assert ours == pytest.approx(float(theirs.total_price), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "provider", "dollars"),
    [
        ("claude-haiku-4-5-20251001", None, 1.0),
        ("claude-haiku-4-5-20251001", "anthropic", 1.0),
        ("anthropic/claude-haiku-4.5", None, 1.0),
        ("anthropic/claude-haiku-4.5", "openrouter", 1.0),
        ("claude-haiku-4-5", "a-provider-that-nobody-knows", 1.0),
        ("gpt-5", "openai", 1.25),
        ("<synthetic>", None, None),
        ("default", None, None),
        ("", None, None),
        (None, None, None),
        ("gpt-oss:20b", "ollama", None),
        ("ollama/deepseek-r1", None, None),
    ],
)
def test_which_price_is_found(model: str | None, provider: str | None, dollars: float | None) -> None:
    tariff = Prices({}).of(model, provider)
    if dollars is None:
        assert tariff is None
    else:
        assert tariff is not None
        assert price(tariff, Usage("s", input_tokens=1_000_000), 1.79e9) == pytest.approx(dollars)


def test_a_sum_of_calls_is_priced_as_calls_of_average_size() -> None:
    tariff = Prices({}).of("claude-sonnet-4-5")
    assert tariff is not None
    assert price(tariff, Usage("s", input_tokens=1_000_000, calls=10), 1.79e9) == pytest.approx(3.0)
    assert price(tariff, Usage("s", input_tokens=1_000_000, calls=1), 1.79e9) == pytest.approx(6.0)


def test_the_list_is_asked_once_for_a_model(tmp_path: Path, store: Callable[..., Path]) -> None:
    """What it said is kept, also by the next process: importing it takes long and much memory."""
    home = store("claude", "home")
    groups_of(home, "claude", tmp_path)
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path, agents=("claude",), prices={})
    manager.total_cost()
    assert manager.costs.sheet().tariffs.keys() == {
        "\nclaude-haiku-4-5", "\nclaude-opus-4-6", "\nclaude-sonnet-4-6"
    }  # fmt: skip
