"""Prints the lines of the report, and times calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence


def milliseconds(action: Callable[[], object]) -> float:
    """Call a function and return how many milliseconds it took."""
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1000


def row(name: str, values: Sequence[float], unit: str, note: str = "") -> None:
    """Print one line of the report."""
    middle = statistics.median(values)
    print(f"{name:<58} {middle:9.2f} {unit:<6} (min {min(values):.2f}, max {max(values):.2f}) {note}")


def print_comparison(name: str, alone: Sequence[float], through: Sequence[float], unit: str) -> None:
    """Print two lines: with httpx2 alone, and through the daemon with the ratio of the medians."""
    row(f"{name}, httpx2 alone", alone, unit)
    ratio = statistics.median(through) / statistics.median(alone)
    row(f"{name}, daemon", through, unit, f"{ratio:.1f} times as much")
