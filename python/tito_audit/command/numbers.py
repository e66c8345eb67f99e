"""Numbers that options take: counts, and numbers that are finite."""

from __future__ import annotations

import math
import sys
from typing import Any

import click


class Finite(click.FloatRange):
    """A number of a range; not nan, which is in every range of click, nor inf, which has no meaning."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Read the number; errors as click's."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is no finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        """Write the range for the help text: none without bounds, where click writes ``x<=None``."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class Count(click.IntRange):
    """A number of things, from a least one on."""

    def __init__(self, least: int = 0) -> None:
        """Take the least one; the most is what a machine counts to, which no help need say."""
        super().__init__(least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        """Read the number; errors as click's."""
        number: int = super().convert(value, param, ctx)
        if number > sys.maxsize:
            self.fail(f"{number} is too large: at most {sys.maxsize}.", param, ctx)
        return number
