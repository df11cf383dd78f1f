"""Cursor: the CLI's chats and transcripts, the editor's databases, the document's.

Format: spec 004 §4.2.5; facts stores/cursor FACTS.md.

The rooms: `records` what Cursor writes, `pieces` what was typed out of what was sent; `chat_store` the CLI's chats,
`lines` and `plain` the transcripts, `editor_store` the editor's databases, `tracking` what it says of transcripts,
`document` the layout of the document; `facts` what they have in common, `summary` what a list shows and which of
several copies counts, `places` where all of it is, `native` commands and processes, `adapter` the whole.
"""
