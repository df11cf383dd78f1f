"""Which of the colours for agents each agent has."""

from __future__ import annotations

__all__ = ["AGENT_COLOURS", "agent_colour"]

AGENT_COLOURS = 8
"""How many colours there are for agents: `$agent-0` to `$agent-7`."""

_KNOWN = {
    "claude": 0,
    "hermes": 1,
    "codex": 2,
    "gemini": 3,
    "opencode": 4,
    "copilot": 5,
    "cursor": 6,
    "pi": 7,
    # There are more agents than colours: these share one.
    "hector": 3,
    "omp": 5,
    "openclaw": 6,
}


def agent_colour(agent: str) -> int:
    """Which of the agent colours an agent has; the same on every machine and in every run."""
    known = _KNOWN.get(agent)
    return known if known is not None else sum(agent.encode()) % AGENT_COLOURS
