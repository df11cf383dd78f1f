"""Codex CLI (spec 004 §4.2.2; facts: stores/codex FACTS.md).

The rooms: `records` what Codex writes, `store` where, `rollout` a file of it, `splice` forks by reference,
`summary` and `tokens` what a list shows, `messages` the conversation, `document` the oldest layout, of one JSON
document, `adapter` the whole.
"""
