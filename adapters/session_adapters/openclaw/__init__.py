"""OpenClaw, clawdbot before (spec 004 §4.2.9; facts: stores/openclaw FACTS.md).

The rooms: `records` what OpenClaw writes and what its session keys say, `rules` how its events become messages,
`places` where its stores are, `database` what is asked of one, `file_stores` what is in files without lines, `index`
the keys in `sessions.json`, `keys` which source holds what a key names, `listing` what a list shows, `relations`
copies, forks and helpers, `native` commands and processes, `zstd` packed transcripts, `adapter` all.
"""
