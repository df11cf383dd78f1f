"""The transcript: one session's messages, drawn a screen at a time.

From the outside in: `pane` the widget, `keys` and `border` what it says and hears, `canvas` how it draws, `view` what
is in view, `heights` where each message stands, `blocks` and `pieces` a message laid out, `tools`, `markdown` and
`text` its parts, `context` what depends on its neighbours, `branches` of a tree, `style` colours.
"""
