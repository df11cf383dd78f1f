"""Full-text search over the messages of a store.

Format: spec 000, "Full-Text Search"; facts on Hermes, section 6.

Asked of the index as Hermes asks it. Where Hermes' own search finds nothing although the words are there, or shows
what the user took back, this one does not: see `search_messages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hermes_tui.lifecycle.state_db.connection.failures import QueryRefused
from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.content import decode_content, preview
from hermes_tui.lifecycle.state_db.fts_query import (
    Words,
    cjk_letters,
    parse_words,
    quote_words,
    sanitize_query,
    trigram_query,
)
from hermes_tui.lifecycle.state_db.sessions import escape_like

__all__ = [
    "search_messages",
]

_CONTEXT = 200
"""Characters of a message beside a hit."""
_SEARCHED = ("content", "tool_name", "tool_calls")
_HIT = (
    "m.id, m.session_id, m.role, {snippet} AS snippet, m.timestamp, m.tool_name, s.source, s.model,"
    " s.started_at AS session_started"
)
_FROM = "messages m JOIN sessions s ON s.id = m.session_id"
_ORDERS = {"newest": "m.timestamp DESC, ", "oldest": "m.timestamp, "}


class _Asked(NamedTuple):
    """What else a hit must be, and which of the hits are wanted."""

    conditions: str
    values: list[object]
    order: str
    page: tuple[int, int]


def search_messages(
    store: Store,
    query: str,
    source_filter: Sequence[str] | None = None,
    exclude_sources: Sequence[str] | None = None,
    role_filter: Sequence[str] | None = None,
    limit: int = 20,
    offset: int = 0,
    sort: str | None = None,
    include_inactive: bool = False,
) -> list[Row]:
    """Messages with these words, the best first; with `sort` "newest" or "oldest" in the order of time.

    Each has id, session_id, role, timestamp, tool_name, source, model, session_started, `snippet` (about 40
    words with `>>>` and `<<<` around the hits) and `context` (the message before, itself and the one after, 200
    characters of each). Rewound messages are found with `include_inactive` alone, summarized ones always.

    The same ids as in Hermes, save that (1) a search that FTS5 takes for a mistake (`can't`, `a@b.com`, `50%`)
    finds its words; (2) a search in Chinese, Japanese or Korean that is short, or mistaken, heeds AND, OR, NOT,
    takes words beside one another for AND, and hides what was rewound; (3) a store without a complete index is
    searched anyway.
    """
    cleaned = sanitize_query(query)
    if not cleaned:
        return []
    text, values = "", list[object]()
    if not include_inactive and store.schema.has("messages", "active"):
        # What was summarised is hidden from the conversation alone.
        compacted = " OR m.compacted = 1" if store.schema.has("messages", "compacted") else ""
        text += f" AND (m.active = 1 OR m.active IS NULL{compacted})"
    for condition, given in (
        ("s.source IN", source_filter),
        ("s.source NOT IN", exclude_sources),
        ("m.role IN", role_filter or None),  # as in Hermes: of no sources nothing is found, of no roles all
    ):
        if given is not None:
            text += f" AND {condition} ({', '.join('?' * len(given))})"
            values += given
    asked = _Asked(text, values, _ORDERS.get((sort or "").strip().lower(), ""), (limit, offset))
    hits = _search(store, cleaned, query, asked)
    return [{**hit, "context": _context(store, hit["id"])} for hit in hits]


def _search(store: Store, cleaned: str, query: str, asked: _Asked) -> list[Row]:
    if cjk_letters(cleaned):
        trigrams = trigram_query(cleaned)
        if trigrams and _has_index(store, "messages_fts_trigram"):
            try:
                return _match(store, "messages_fts_trigram", trigrams, asked)
            except QueryRefused:
                pass  # an operator in the wrong place
        return _scan(store, parse_words(cleaned), asked)
    if not _has_index(store, "messages_fts"):
        return _scan(store, parse_words(query), asked)
    try:
        return _match(store, "messages_fts", cleaned, asked)
    except QueryRefused:
        quoted = quote_words(parse_words(query))
        return _match(store, "messages_fts", quoted, asked) if quoted else []


def _has_index(store: Store, table: str) -> bool:
    return store.schema.has(table, "content") and f"{table}_insert" in store.schema.triggers


def _match(store: Store, table: str, expression: str, asked: _Asked) -> list[Row]:
    """Ask an index. The page is found first: making a snippet of every hit would take seconds."""
    found = store.rows(
        f"SELECT m.id FROM {table} JOIN messages m ON m.id = {table}.rowid"  # noqa: S608 - names of our own
        f" JOIN sessions s ON s.id = m.session_id WHERE {table} MATCH ?{asked.conditions}"
        f" ORDER BY {asked.order}rank LIMIT ? OFFSET ?",
        [expression, *asked.values, *asked.page],
    )
    ids = [row["id"] for row in found]
    hit = _HIT.format(snippet=f"snippet({table}, 0, '>>>', '<<<', '...', 40)")
    rows = store.rows(
        f"SELECT {hit} FROM {table} JOIN messages m ON m.id = {table}.rowid"  # noqa: S608 - names of our own
        f" JOIN sessions s ON s.id = m.session_id WHERE {table} MATCH ?"
        f" AND {table}.rowid IN ({', '.join('?' * len(ids))})",
        [expression, *ids],
    )
    by_id = {row["id"]: row for row in rows}
    return [by_id[id_] for id_ in ids if id_ in by_id]


def _scan(store: Store, words: Words, asked: _Asked) -> list[Row]:
    """Look into every message, for what no index holds."""
    if not words:
        return []
    values: list[object] = []

    def term(text: str) -> str:
        values.extend([f"%{escape_like(text)}%"] * len(_SEARCHED))
        return "(" + " OR ".join(f"COALESCE(m.{name}, '') LIKE ? ESCAPE '\\'" for name in _SEARCHED) + ")"

    alternatives = [
        " AND ".join(
            ("NOT " if part.negated else "") + "(" + " AND ".join(term(each.text) for each in part.terms) + ")"
            for part in parts
        )
        for parts in words
    ]
    condition = "(" + " OR ".join(f"({each})" for each in alternatives) + ")"
    first = words[0][0].terms[0].text
    hit = _HIT.format(snippet="substr(m.content, max(1, instr(m.content, ?) - 40), 120)")
    order = asked.order or _ORDERS["newest"]
    return store.rows(
        f"SELECT {hit} FROM {_FROM} WHERE {condition}{asked.conditions}"  # noqa: S608 - names of our own
        f" ORDER BY {order}m.id DESC LIMIT ? OFFSET ?",
        [first, *values, *asked.values, *asked.page],
    )


def _context(store: Store, message_id: int) -> list[Row]:
    """The message before, the message, and the one after, in the order of time."""
    beside = "(SELECT m.id FROM messages m, t WHERE m.session_id = t.session_id AND"
    rows = store.rows(
        "WITH t AS (SELECT session_id, timestamp, id FROM messages WHERE id = ?1)"  # noqa: S608
        " SELECT m.role, m.content FROM messages m JOIN ("
        f" SELECT 1 AS place, {beside} (m.timestamp, m.id) < (t.timestamp, t.id)"
        " ORDER BY m.timestamp DESC, m.id DESC LIMIT 1) AS id"
        " UNION ALL SELECT 2, ?1"
        f" UNION ALL SELECT 3, {beside} (m.timestamp, m.id) > (t.timestamp, t.id)"
        " ORDER BY m.timestamp, m.id LIMIT 1)) AS near ON near.id = m.id ORDER BY near.place",
        (message_id,),
    )
    return [{"role": row["role"], "content": preview(decode_content(row["content"]))[:_CONTEXT]} for row in rows]
