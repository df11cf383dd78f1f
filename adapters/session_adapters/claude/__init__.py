"""Claude Code (spec 004 §4.2.1; facts: stores/claude FACTS.md).

The rooms: `records` what Claude Code writes, `paths` where, `summary` what a list reads of a file, `builder` how
records become messages, `relate` forks by shared history, `live` what processes have open, `adapter` the whole.
"""
