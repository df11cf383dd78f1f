"""Random tests: the same few examples each time, many new ones in `make test-long`."""

from __future__ import annotations

import os
import random
from math import ceil
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis import seed as seeded
from hypothesis.internal.conjecture import providers

__all__ = ["SEED", "TIMES", "chance", "examples", "repeatable", "set_up"]

# Read now: tests see no variables.
_ASKED = os.environ.get("HERMES_TUI_EXAMPLES")
TIMES = int(_ASKED or 1)
"""How many times as many examples as usual are tried."""
_PART = 1.0 if _ASKED else 0.4
"""How much of the examples of hypothesis. Those that are the same each time find what broke; what nobody thought of
is found by `make test-long`, which draws 25 times as many anew."""

SEED = os.environ.get("HERMES_TUI_SEED") or None
"""What the seeds of all random tests are made of; None for the examples that are always the same."""

# How long an example takes depends on what else the machine does, and is no fault; one home serves all of a test.
_UNHURRIED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.function_scoped_fixture,
)


def set_up() -> None:
    """Settings of hypothesis for tests that name none."""
    settings.register_profile(
        "hermes-tui",
        max_examples=_number(100),
        deadline=None,
        suppress_health_check=_UNHURRIED,
        derandomize=SEED is None,
        print_blob=True,
    )
    settings.load_profile("hermes-tui")
    if SEED is None:
        # It draws now and then what stands in a module that is loaded: examples would hang on what ran before. For
        # that each worker parsed a thousand modules, and compared their texts with each new kind that is drawn.
        patch.object(providers, "is_local_module_file", lambda path: False).start()


def examples(count: int) -> settings:
    """A decorator: a part of that many examples of hypothesis, or the multiple that was asked for."""
    return settings(max_examples=_number(count))


def _number(count: int) -> int:
    return ceil(count * TIMES * _PART)


def repeatable(test: Any) -> Any:
    """Have this test of hypothesis, or this machine of states, draw its examples by `SEED`."""
    if SEED is not None and (is_hypothesis_test(test) or isinstance(test, type)):
        seeded(int(SEED))(test)
    return test


def chance(number: int) -> random.Random:
    """Dice that are thrown anew for each `SEED`, and differ from those of other numbers."""
    return random.Random(number if SEED is None else f"{SEED} {number}")
