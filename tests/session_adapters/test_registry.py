"""The registry tells what the adapters' own classes say."""

from __future__ import annotations

import pytest

from session_adapters.registry import BUILT_IN, LABELS, adapter_class, agent_names


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_labels_are_those_of_the_classes(name: str) -> None:
    adapter = adapter_class(name)
    assert adapter.name == name
    assert LABELS[name] == (adapter.label, adapter.badge)


def test_badges_tell_agents_apart() -> None:
    badges = [badge for _, badge in LABELS.values()]
    assert all(len(badge) == 2 for badge in badges)
    assert len(set(badges)) == len(badges)


def test_names_are_sorted_and_complete() -> None:
    assert list(agent_names()) == sorted(agent_names())
    assert set(BUILT_IN) <= set(agent_names())


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError):
        adapter_class("nobody")
