"""GitHub Copilot CLI (spec 004 §4.2.4; facts: stores/copilot FACTS.md).

The rooms: `records` what Copilot writes, `reader` lines turned into events, `tokens` whose tokens are whose,
`builder` and `pieces` events turned into messages, `summary` what a list shows, `document` the layouts of one JSON
document per session, `workspace` the YAML beside a session, `store` where everything is, `adapter` the whole.
"""
