"""Codex CLI (spec 004 §4.2.2; facts: stores/codex FACTS.md).

The rooms: `records` what Codex writes, `store` where, `rollout` a file of it, `splice` forks by reference, `survey`,
`summary` and `tokens` what a list shows, `messages` and `pages` the conversation, `document` the layout of the
specification, `live` its processes, `adapter` the whole.
"""

from session_adapters.codex.adapter import CodexAdapter

__all__ = ["CodexAdapter"]
