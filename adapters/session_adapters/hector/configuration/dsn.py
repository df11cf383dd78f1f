"""Addresses of PostgreSQL databases.

They may hold a password, which leaves this module only on its way to a server.

Taken apart by our own strict rules rather than by the usual forgiving ones: in an address with an unescaped `#` or
`@` in its password those take half of the password for a host, and it would be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, quote

__all__ = ["DSN_VARIABLE", "Dsn", "parse_dsns"]

DSN_VARIABLE = "HERMES_TUI_HECTOR_DSN"
"""Addresses of databases with Hector's tables, separated by white space."""

_ADDRESS = re.compile(
    r"postgres(?:ql)?://"
    r"(?:(?P<user>[^:@/?#\[\]]*)(?::[^:@/?#\[\]]*)?@)?"
    r"(?P<hosts>(?:(?:[\w.%-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)(?:,(?:[\w.%-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)*)"
    r"(?:/(?P<database>[^:@/?#\[\]]*))?"
    r"(?:\?(?P<query>[a-z_]+=[^#?@]*))?",
    re.ASCII,
)
_SEARCH_PATH = re.compile(r"-c\s*search_path=(\S+)")


class Dsn:
    """One address. Only `label` may be shown."""

    __slots__ = ("database", "hosts", "label", "text")

    def __init__(self, text: str, label: str, hosts: tuple[str, ...], database: str) -> None:
        self.text = text
        """With the password: for the server alone."""
        self.label = label
        """Without it, and always the same for the same address."""
        self.hosts = hosts
        """Each with its port."""
        self.database = database

    def __repr__(self) -> str:
        return f"Dsn({self.label!r})"


def parse_dsns(value: str, trouble: Callable[[str, str], None]) -> Iterator[Dsn]:
    """The addresses in the variable's value. `trouble` is told of each that is none: which, and why."""
    seen: dict[str, str] = {}
    for number, text in enumerate(value.split(), 1):
        found = _ADDRESS.fullmatch(text)
        if found is None:
            trouble(
                f"entry {number}",
                "it is no address of the form postgresql://user:password@host:port/database; special characters in "
                "the user or password must be percent-encoded",
            )
            continue
        options = dict(parse_qsl(found["query"] or "", keep_blank_values=True))
        hosts = found["hosts"] or options.get("host", "") or options.get("hostaddr", "") or "localhost"
        port = options.get("port", "5432")
        places = tuple(host if re.search(r":\d+$", host) else f"{host}:{port}" for host in hosts.split(","))
        user = found["user"] or options.get("user", "")
        database = found["database"] or options.get("dbname", "") or user
        shown = ",".join(quote(place, safe=":[].%") for place in places)
        label = f"postgresql:{quote(user, safe='%')}{'@' if user else ''}{shown}/{quote(database, safe='%')}"
        schema = _SEARCH_PATH.search(options.get("options", ""))
        if schema is not None:  # one database may hold Hector's tables in several schemas
            label += f"?search_path={quote(schema[1], safe='')}"
        if seen.get(label) == text:
            continue
        if label in seen:  # the same place, with another password for one
            label = f"{label}#{number}"
        seen[label] = text
        yield Dsn(text, label, places, database)
