"""Progress of a long audit on stderr: a bar where somebody looks, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tito_audit.auditing.auditor import Progress
from tito_audit.printable import counted

_LINE_EVERY = 10.0
"""Seconds between two lines in a log."""
_ENOUGH_SECONDS = 1.0
"""A rate over less than this says nothing."""
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@contextmanager
def shown_progress(total_bytes: int | None) -> Iterator[Callable[[Progress], None]]:
    """Show how far an audit has come while the block runs: how much, how fast, and how long it will take.

    Args:
        total_bytes: Size of all files; None or 0 where it is unknown (stdin): then there is no percentage and no end.
    """
    if sys.stderr.isatty():
        with _bar(total_bytes) as show:
            yield show
    else:
        yield _lines(total_bytes)


@dataclass(slots=True)
class _Pace:
    """How far, how fast, how long."""

    total: int | None
    started: float

    def said(self, progress: Progress) -> str:
        """Write one line."""
        parts = [counted(progress.rows, "row"), counted(progress.tokens, "token")]
        seconds = time.monotonic() - self.started
        share = self.share(progress)
        if seconds >= _ENOUGH_SECONDS:
            parts.append(f"{rate(progress.tokens / seconds)} tokens/s")
            if share:
                parts.append(f"{duration(seconds / share - seconds)} left")
        return ", ".join(parts)

    def share(self, progress: Progress) -> float | None:
        """How much of the files has been read, from 0 to 1; None where nobody knows."""
        if not self.total or progress.bytes_read is None:
            return None
        return min(progress.bytes_read / self.total, 1.0)


def rate(per_second: float) -> str:
    """Write a rate with three digits: ``1.25 M``, ``640``."""
    for size, unit in _UNITS:
        if per_second >= size:
            return f"{per_second / size:.3g} {unit}" if per_second < 999.5 * size else f"{per_second / size:.0f} {unit}"
    return f"{per_second:.0f}"


def duration(seconds: float) -> str:
    """Write a time as ``1:05`` or ``2:00:07``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _bar(total_bytes: int | None) -> Iterator[Callable[[Progress], None]]:
    # 60 ms that only a terminal needs
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    pace = _Pace(total_bytes, time.monotonic())
    known = (BarColumn(), TaskProgressColumn()) if total_bytes else ()
    columns = (*known, TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)

        def show(progress: Progress) -> None:
            bar.update(task, completed=pace.share(progress) or 0.0, description=pace.said(progress))

        yield show


def _lines(total_bytes: int | None) -> Callable[[Progress], None]:
    pace = _Pace(total_bytes, time.monotonic())
    last = pace.started

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY:
            last = time.monotonic()
            share = pace.share(progress)
            percent = "" if share is None else f" ({share:.0%})"
            with suppress(OSError):  # nobody has to read it
                print(f"checked {pace.said(progress)}{percent}", file=sys.stderr, flush=True)  # noqa: T201

    return show
