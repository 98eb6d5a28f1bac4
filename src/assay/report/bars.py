"""Where the marks of an interval bar go: numbers in, drawing units out; the templates draw."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 200  # of the drawing, in its own units
MARGIN = 6  # so that a dot at either end is not cut off


@dataclass(frozen=True)
class Scale:
    """What the left and the right end of a bar stand for."""

    low: float
    high: float

    def x(self, value: float | None) -> float | None:
        """The place of a value, in drawing units; one outside the scale goes to its end.

        >>> Scale(0, 1).x(0.5), Scale(-1, 1).x(-2), Scale(0, 1).x(None)
        (100.0, 6.0, None)
        """
        if value is None:
            return None
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(MARGIN + share * (WIDTH - 2 * MARGIN), 1)


@dataclass(frozen=True)
class Bar:
    """An interval as a line, its value as a dot; zero, the noise floor and a reference as ticks; the same in words.

    `beyond` is 1 or -1 where the value lies beyond the right or the left end, at which its mark then points outwards.
    """

    zero: float
    value: float
    low: float | None
    high: float | None
    floor: float | None
    title: str
    description: str
    reference: float | None = None
    beyond: int = 0


def scale_for(values: Iterable[float | None]) -> Scale:
    """A scale from 0 to a round number over all values; to both sides of 0 where one of them is negative.

    >>> scale_for([0.12, None, 0.31])
    Scale(low=0.0, high=0.5)
    >>> scale_for([-0.012, 0.004])
    Scale(low=-0.02, high=0.02)
    """
    known = [value for value in values if value is not None]
    end = _round_up(max((abs(value) for value in known), default=0.0))
    return Scale(-end if any(value < 0 for value in known) else 0.0, end)


def signed_scale(values: Iterable[float | None]) -> Scale:
    """A scale to both sides of 0, whatever the signs of the values.

    >>> signed_scale([0.12, None])
    Scale(low=-0.2, high=0.2)
    """
    end = scale_for(values).high
    return Scale(-end, end)


def _round_up(value: float) -> float:
    """The next of …, 0.1, 0.2, 0.5, 1, … that is no smaller; 1 for 0."""
    if value < 1e-12:
        return 1.0
    power = math.floor(math.log10(value))
    candidates = (float(f"{step}e{power}") for step in (1, 2, 5, 10))
    return next((end for end in candidates if end >= value), float(f"2e{power + 1}"))


def bar(
    scale: Scale,
    value: float | None,
    low: float | None,
    high: float | None,
    floor: float | None,
    title: str,
    description: str,
    reference: float | None = None,
) -> Bar | None:
    """The bar of one estimate; none where there is no value to draw."""
    zero, dot = scale.x(0.0), scale.x(value)
    if value is None or zero is None or dot is None:
        return None
    beyond = (value > scale.high) - (value < scale.low)
    return Bar(zero, dot, scale.x(low), scale.x(high), scale.x(floor), title, description, scale.x(reference), beyond)
