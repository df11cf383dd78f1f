"""Gemini CLI (spec 004 §4.2.3; facts: stores/gemini FACTS.md).

The rooms: `records` what Gemini writes, `turns` what a record says, `replay` which of it still stands, `builder` how
it becomes messages, `document` the single JSON documents of 0.20, `summary` what a list shows, `places` where the
files are and which directory they belong to, `adapter` the whole.
"""
