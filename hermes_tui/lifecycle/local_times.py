"""Converts Hermes' local times without a zone to instants, and back.

Such a time is what a clock on the gateway's wall shows. In autumn it shows an hour twice, in spring it leaves one
out; Hermes takes no notice, so what it will do can only be told by following the wall clock. A `zone` of None is
this machine's.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

__all__ = ["entry_time", "first_shown", "from_wall", "wall"]

_STEP = timedelta(microseconds=1)


def wall(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """What the clock shows at `moment` (aware), without a zone and without saying which of two."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def from_wall(shown: datetime, zone: tzinfo | None = None, later: bool = False) -> datetime:
    """The instant, in UTC, at which the clock shows that: the first of two, or the second if `later`. A time that
    is left out in spring counts as so much after the hour was skipped."""
    folded = shown.replace(fold=int(later))
    return (folded.astimezone() if zone is None else folded.replace(tzinfo=zone)).astimezone(UTC)


def entry_time(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """Any time in the form that an entry has: an aware one as the wall clock shows it, a local one as it is."""
    return moment if moment.tzinfo is None else wall(moment, zone)


def first_shown(shown: datetime, after: datetime, zone: tzinfo | None = None) -> datetime:
    """The first instant not before `after` (aware) at which the clock shows `shown` or later, in UTC."""
    after = after.astimezone(UTC)
    if wall(after, zone) >= shown:
        return after
    first, second = from_wall(shown, zone), from_wall(shown, zone, later=True)
    if second < first:
        # Left out: the clock jumps over it somewhere between the two; where, is found by halves.
        before, reached = second, first
        while reached - before > _STEP:
            middle = before + (reached - before) / 2
            if wall(middle, zone) >= shown:
                reached = middle
            else:
                before = middle
        return reached
    return first if first >= after else second
