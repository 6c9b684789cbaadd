"""Durations as people write them: "20ms", "1m30s", 2.5."""

from __future__ import annotations

import datetime
import math
import re
import typing

Duration = typing.Union[str, int, float, datetime.timedelta]

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0,
            "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|m|h)")
_SIGNED = re.compile(r"([+-]?)(.*)", re.DOTALL)


def parse_duration(what: str, value: Duration) -> float:
    """Seconds. A plain number counts seconds.

    Raises ValueError, naming `what`, if it is no duration.
    """
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _finite(what, float(value), value)
    if isinstance(value, str):
        try:
            return _finite(what, float(value), value)
        except ValueError:
            return _from_parts(what, value)
    raise ValueError(_no_duration(what, value))


def format_duration(seconds: float) -> str:
    """As JSON of Protobuf has it: "1.500000000s"."""
    nanos = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and nanos else ""
    return f"{sign}{nanos // 10**9}.{nanos % 10**9:09d}s"


def _finite(what: str, seconds: float, value: Duration) -> float:
    if not math.isfinite(seconds):
        raise ValueError(_no_duration(what, value))
    return seconds


def _from_parts(what: str, text: str) -> float:
    sign, rest = typing.cast("re.Match[str]", _SIGNED.match(text)).groups()
    seconds = 0.0
    at = 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            raise ValueError(_no_duration(what, text))
        seconds += float(part[1]) * _SECONDS[part[2]]
        at = part.end()
    if not rest:
        raise ValueError(_no_duration(what, text))
    return -seconds if sign == "-" else seconds


def _no_duration(what: str, value: object) -> str:
    return (f'{what} "{value}": no duration; write for example 20ms, 600s or, '
            "in seconds, 2.5")
