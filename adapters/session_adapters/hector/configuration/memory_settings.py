"""How much of a conversation Hector takes into its next call, by its settings.

Format: spec 001 «Configuration Modes»; facts agentmux_hector.md 2.4.

`agents.<name>.memory` has `strategy`, `window_size`, `budget` and `target`, in the guide below another `working`. The
configuration is looked for where the database is, as Hector would be started there, then at home and where we are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from session_adapters.base import Environment, Memory
from session_adapters.hector.configuration.places import CONFIGURATIONS
from session_adapters.reading.files import read_small
from session_adapters.reading.yaml_settings import read_yaml

__all__ = ["agents_of", "configuration_of", "memory_of", "working_of"]

_LIMIT = 1 << 20
_AGENTS = re.compile(rb"agents[ \t]*:")


def configuration_of(environment: Environment, path: str, agent: str) -> Path | None:
    """The configuration that has `agent`, of those that one in a database at `path` may be started with."""
    for file in _files(environment, path):
        try:
            if agent in agents_of(read_small(file, _LIMIT)):
                return file
        except (OSError, ValueError):
            continue  # `memory_of` tells of it
    return None


def memory_of(environment: Environment, path: str, agent: str | None, generation: str) -> Memory:
    """The memory of `agent` (None: of the only agent that has one) in a database at `path`."""
    trouble = ""
    for file in _files(environment, path):
        try:
            agents = agents_of(read_small(file, _LIMIT))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            trouble = trouble or f"{file} cannot be read: {reason}"
            continue
        if agent is not None:
            found = agents.get(agent)
        else:
            said = [one for one in agents.values() if one]
            found = said[0] if len(said) == 1 else None
        if found is None:
            continue
        value = working_of(found)
        strategy = value.get("strategy")
        target = value.get("target")
        return Memory(
            strategy=strategy if isinstance(strategy, str) else "",
            size=_number(value.get("window_size")),
            tokens=_number(value.get("budget")),
            target=target if isinstance(target, float) and 0 < target <= 1 else None,
            generation=generation,
            source=str(file),
        )
    return Memory(generation=generation, trouble=trouble)


def _files(environment: Environment, path: str) -> Iterator[Path]:
    folder = Path(path).parent
    working = environment.variables.get("PWD", "")
    folders = [folder.parent, folder] if path.startswith("/") else []
    folders += [environment.home, *([Path(working)] if working.startswith("/") else [])]
    for one in dict.fromkeys(folders):
        yield from (one / name for name in CONFIGURATIONS)


@lru_cache(maxsize=8)
def agents_of(data: bytes) -> dict[str, Any]:
    """What a configuration says of each agent's memory. Raises `ValueError`."""
    if not _AGENTS.search(data):
        return {}
    value = read_yaml(data)
    agents = value.get("agents") if isinstance(value, dict) else None
    if not isinstance(agents, dict):  # another program's: a list in it, as some have
        return {}
    found = {name: one.get("memory") for name, one in agents.items() if isinstance(one, dict)}
    return {str(name): one if isinstance(one, dict) else {} for name, one in found.items()}


def working_of(memory: dict[str, Any]) -> dict[str, Any]:
    """What an agent's `memory` says of its working memory: in the guide below another `working`."""
    inner = memory.get("working")
    return inner if isinstance(inner, dict) else memory


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
