"""The transcript: one session's messages, drawn a screen at a time.

From the outside in: `pane` the widget, `block_keys`, `jump_keys` and `border` what it takes and shows,
`open_transcript` the session in it, `find` what is looked for, `context_view` what is dimmed, `renderer` how it
draws, `view` what is in view; `layout` lays a message out.
"""
