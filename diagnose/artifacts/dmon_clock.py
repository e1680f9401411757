"""Times of dmon rows: local wall time, with or without a date, or a wrapper's epoch stamp."""

from __future__ import annotations

import datetime
import re

_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})\Z")
_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})\Z")
_DAY = 86400.0
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_SLACK = 2.0  # a clock that is set right while dmon runs may step back this far


def seconds_of_day(token: str) -> float:
    """Seconds since midnight of `HH:MM:SS`; ValueError for anything else."""
    match = _TIME.match(token)
    if match is None:
        raise ValueError(token)
    hour, minute, second = (int(part) for part in match.groups())
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(token)
    return hour * 3600.0 + minute * 60.0 + second


def day_of(token: str) -> float:
    """Seconds since 1970 at the start of `YYYYMMDD`, local time treated as UTC; ValueError if no date."""
    match = _DATE.match(token)
    if match is None:
        raise ValueError(token)
    year, month, day = (int(part) for part in match.groups())
    return (datetime.date(year, month, day).toordinal() - _EPOCH_DAY) * _DAY


class Clock:
    """Gives (time, second) for the stamps of successive rows of one section.

    `time` needs a date. Without one, `second` still counts from the first row and rolls over at
    midnight: a fall of more than half a day is a new day. A smaller fall (an appended log, a clock
    that was set) leaves the number of days between unknown, so `second` is None from there on and
    `lost` is set. Epoch stamps give `second` only: what local time they stand for is not known.
    """

    def __init__(self) -> None:
        self.lost = False
        self._mode = ""
        self._first = 0.0
        self._days = 0.0
        self._last = 0.0
        self._seen: dict[tuple[str, str], float] = {}
        self._of_day: dict[str, float] = {}

    def read(
        self, date: str | None, time: str | None, epoch: float | None
    ) -> tuple[float | None, float | None]:
        """(time, second); ValueError when a stamp is malformed."""
        if time is not None and date is not None:
            key = (date, time)
            now = self._seen.get(key)
            if now is None:
                now = self._seen[key] = day_of(date) + seconds_of_day(time)
            return now, self._since_first("dated", now)
        if time is not None:
            second = self._of_day.get(time)
            if second is None:
                second = self._of_day[time] = seconds_of_day(time)
            return None, self._undated(second)
        if date is not None:
            day_of(date)
            return None, None
        return None, self._since_first("epoch", epoch) if epoch is not None else None

    def _undated(self, now: float) -> float | None:
        if self._mode == "undated" and now < self._last - _SLACK:
            if self._last - now > _DAY / 2:
                self._days += _DAY
            else:
                self.lost = True
        if self._mode in ("", "undated"):
            self._last = now
        return None if self.lost else self._since_first("undated", self._days + now)

    def _since_first(self, mode: str, now: float) -> float | None:
        if not self._mode:
            self._mode, self._first = mode, now
        return now - self._first if mode == self._mode else None
