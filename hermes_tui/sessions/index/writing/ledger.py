"""Numbers of sources, sessions and names in the index, and each one's progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hermes_tui.sessions.index.source_state import Key, Level, Standing, key_of
from hermes_tui.sessions.index.writing.transactions import Transactions
from session_adapters.base import Source

__all__ = ["SourceLedger"]

_NAMES = 20_000
"""Numbers of names that are kept in mind."""
_STRUCK = "UPDATE meta SET value=(SELECT value + 1 FROM meta WHERE key='commits') WHERE key='struck'"


class SourceLedger:
    """Knows every source; looks up names and sessions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._collected = transactions.collected
        self._sources: dict[Key, Standing] | None = None
        self._names: dict[tuple[int, str], int] = {}
        self._next: dict[str, int] = {}
        """Table → number of its next row."""

    def trim(self) -> None:
        """Keep no more in mind than is worth it, while all but what is collected can be looked up."""
        if len(self._names) >= _NAMES and self._transactions.committed:
            self._names = {(kind, text): number for number, kind, text in self._collected.names}

    def forget(self) -> None:
        """Something of what it took for written was not."""
        self._sources = None
        self._next.clear()
        self._names.clear()

    # Sources -----------------------------------------------------------------------------------------------

    @property
    def sources(self) -> Mapping[Key, Standing]:
        """Every source there is, as it stands also after what is written later."""
        return self._known()

    def source(self, source: Source) -> tuple[int, bool]:
        """The number of a source, and whether it was put in because it was not there yet."""
        key = key_of(source)
        known = self._known()
        if key in known:
            return known[key].number, False
        number = self._new("source")
        known[key] = self._collected.sources[key] = Standing(number)
        return number, True

    def change(self, source: Source) -> Standing:
        """How a source stands, to be changed and written down; put in if it was not there yet."""
        self.source(source)
        key = key_of(source)
        one = self._collected.sources[key] = self._known()[key]
        return one

    def strike(self, key: Key) -> int:
        """Take a source out that is there; the number it had."""
        number = self._known().pop(key).number
        self._collected.sources.pop(key, None)
        self._transactions.run("DELETE FROM source WHERE id=?", (number,))
        self._transactions.run(_STRUCK)
        return number

    def _known(self) -> dict[Key, Standing]:
        if self._sources is None:
            rows = self._transactions.any().execute("SELECT agent, path, native, id, stamp, level, again FROM source")
            self._sources = {
                (agent, path, native): Standing(number, tuple(map(int, stamp.split())), Level(level), again)
                for agent, path, native, number, stamp, level, again in rows
            }
        return self._sources

    # Sessions ----------------------------------------------------------------------------------------------

    def sessions(self, source: int) -> dict[str, int]:
        """Native id → number, of the sessions of a source."""
        sql = "SELECT native, id FROM session WHERE source=?"
        return dict(self._transactions.about(source).execute(sql, (source,)))

    def marks(self, source: int) -> dict[str, str]:
        """Native id → `SessionTexts.mark`, of the sessions that have one."""
        sql = "SELECT native, mark FROM session WHERE source=? AND mark <> ''"
        return dict(self._transactions.about(source).execute(sql, (source,)))

    def session(self, source: int, native: str) -> int:
        """The number of a session that is put in."""
        self._transactions.touch(source)
        number = self._new("session")
        self._collected.session(number, source, native)
        return number

    # Names -------------------------------------------------------------------------------------------------

    def names(self, wanted: Iterable[tuple[int, str]]) -> str:
        """Kinds and names as `Row.names` has them."""
        return " ".join(map(str, sorted({self._name(one) for one in wanted})))

    def _name(self, one: tuple[int, str]) -> int:
        number = self._names.get(one)
        if number is None:
            sql = "SELECT id FROM name WHERE kind=? AND text=?"
            number = self._transactions.any().execute(sql, one).get
            if number is None:
                number = self._new("name")
                self._collected.names.append((number, *one))
            self._names[one] = number
        return number

    def _new(self, table: str) -> int:
        """The number of a new row."""
        number = self._next.get(table)
        if number is None:
            sql = f"SELECT coalesce(max(id), 0) + 1 FROM {table}"  # noqa: S608
            number = int(self._transactions.any().execute(sql).get)
        self._next[table] = number + 1
        return number
