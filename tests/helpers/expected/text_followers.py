"""Follows the texts of a database by what is new in it, to be compared with all of them."""

from __future__ import annotations

from collections.abc import Iterable

from sample_homes import quiet
from session_adapters.base import Adapter, Source
from session_adapters.reading.searchable import Text

__all__ = ["Follower", "in_order"]


class Follower:
    """Knows the texts of a database, by what was new in it alone."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._marks: dict[str, str] = {}
        self._texts: dict[str, dict[str, Text]] = {}
        self.anew = 0
        """Sessions that the last look gave as a whole."""

    def look(self, source: Source) -> list[Text]:
        """All texts there are now, by their ids."""
        found = self._adapter.new_texts(source, quiet, self._marks)
        assert found is not None
        marks: dict[str, str] = {}
        texts: dict[str, dict[str, Text]] = {}
        self.anew = 0
        for one in found:
            assert one.mark
            self.anew += one.whole
            known = {} if one.whole else self._texts.get(one.session_id, {})
            texts[one.session_id] = {**known, **{text.message_id: text for text in one.texts}}
            marks[one.session_id] = one.mark
        self._marks, self._texts = marks, texts
        return in_order(text for some in texts.values() for text in some.values())


def in_order(texts: Iterable[Text]) -> list[Text]:
    return sorted(texts, key=lambda text: (text.session_id, text.message_id))
