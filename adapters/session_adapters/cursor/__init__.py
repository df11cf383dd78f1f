"""Cursor: the CLI's chats and transcripts, the editor's databases, the document's.

Format: spec 004 §4.2.5; facts stores/cursor FACTS.md.

The rooms: `records` what Cursor writes and `wire` its protobuf, `prompts` what was typed out of what was sent;
`chat` and `chat_messages` the CLI's chats, `lines` and `plain` the transcripts, `state`, `composers`, `bubbles` and
`tabs` the editor, `editor` its databases as a whole, `tracking` what it says of transcripts, `document` the layout of
the document; `facts` what they have in common, `summary` what a list shows, `places` where all of it is, `relations`
which of several copies counts, `native` commands and processes, `adapter` the whole.
"""

from session_adapters.cursor.adapter import CursorAdapter

__all__ = ["CursorAdapter"]
