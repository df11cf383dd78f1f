"""Now, and the zone in which people read it; fixed for pictures and tests.

Widgets never ask the system for the time: they are given a `Clock`.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

__all__ = ["Clock"]


class Clock:
    """The time as the screen shows it.

    With `fixed` (an aware datetime) time stands still there, and local time is that of `zone` (UTC unless
    given), so that the same data always gives the same picture.
    """

    def __init__(self, fixed: datetime | None = None, zone: tzinfo | None = None) -> None:
        self._fixed = fixed
        self._zone = zone if zone is not None or fixed is None else UTC

    @property
    def is_fixed(self) -> bool:
        """Whether time stands still."""
        return self._fixed is not None

    def now(self) -> datetime:
        """The moment, in UTC."""
        return self._fixed.astimezone(UTC) if self._fixed is not None else datetime.now(UTC)

    def local(self, moment: datetime) -> datetime:
        """`moment` (aware) in the reader's zone."""
        return moment.astimezone(self._zone)
