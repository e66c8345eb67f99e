"""A stand-in for the fast engine, which a test can make lie: a core that says it was fast, and asks the reference."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tito_audit as tito
from tito_audit import _core

FAST = _core.ENGINES.index("fast")
Lie = Callable[[dict[str, Any]], None]


class FastCore:
    """A core with a fast engine, for any tokenizer.

    Attributes:
        calls: Rows and engine of every question so far.
        lie: Changes what the fast engine says.
        slow: Rows that the fast engine leaves to the reference.
    """

    def __init__(self, core: Any, lie: Lie | None = None, slow: Callable[[int], bool] | None = None) -> None:
        self._core = core
        self.fast, self.not_fast, self.demoted = True, None, False
        self.calls: list[tuple[int, str]] = []
        self.lie, self.slow = lie, slow

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def audit(self, ids: Any, offsets: Any, *, engine: str = "auto", **options: Any) -> Any:
        """Answer as the reference does, but for lies and the column of who answered."""
        self.calls.append((len(offsets) - 1, engine))
        columns = self._core.audit(ids, offsets, engine="reference", **options)
        if engine != "reference":
            failed = dict(columns["errors"])
            for row in range(len(offsets) - 1):
                if row not in failed and not (self.slow and self.slow(row)):
                    columns["engine"][row] = FAST
            if self.lie is not None:
                self.lie(columns)
        return columns


def made_fast(tok: tito.Tokenizer, lie: Lie | None = None, **options: Any) -> tuple[tito.Tokenizer, FastCore]:
    """Give a tokenizer a fast engine."""
    tok = tok.with_engine("auto")
    core = FastCore(tok.core, lie, **options)
    tok.core = core  # type: ignore[assignment]
    return tok, core


def spoiled(name: str) -> Lie:
    """A lie about one column, wherever it has an entry."""

    def lie(columns: dict[str, Any]) -> None:
        column = columns[name]
        if name == "errors":
            column.append((0, "no"))
        elif name.endswith("offsets"):
            column[1:] = 0
        elif column.dtype == np.bool_:
            columns[name] = ~column
        else:
            columns[name] = column ^ 1

    return lie
