"""Time zones by rule, without any list of zones on the machine."""

from __future__ import annotations

import io
import struct
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

__all__ = ["RULES", "jumps", "zone_of"]

RULES = {
    "Berlin": "CET-1CEST,M3.5.0,M10.5.0/3",
    "New York": "EST5EDT,M3.2.0,M11.1.0",
    "Lord Howe, half an hour": "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "St John's, a minute past midnight": "NST3:30NDT,M3.2.0/0:01,M11.1.0/0:01",
    "Cairo, from and to midnight": "EET-2EEST,M4.5.5/0,M10.5.4/24",
    "Kolkata, never": "IST-5:30",
}
"""Name → TZ as POSIX has it."""


@cache
def zone_of(rule: str) -> ZoneInfo:
    """The zone of such a rule: a TZif file (RFC 8536) with nothing but its footer."""
    standard = struct.pack(">4s1s15x6L", b"TZif", b"2", 0, 0, 0, 0, 1, 4) + struct.pack(">lBB4s", 0, 0, 0, b"UTC\0")
    return ZoneInfo.from_file(io.BytesIO(standard * 2 + f"\n{rule}\n".encode()), key=rule)


@cache
def jumps(zone: ZoneInfo, year: int = 2026) -> list[datetime]:
    """The hours of the year at whose end the clocks have been changed, in UTC; midsummer where they never are."""
    hours = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(8760)]
    offsets = [hour.astimezone(zone).utcoffset() for hour in hours]
    changed = [hours[at] for at in range(8759) if offsets[at] != offsets[at + 1]]
    return changed or [datetime(year, 6, 21, tzinfo=UTC)]
