"""Progress of a long audit on stderr: a bar where somebody looks, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tito_audit.audit import Progress
from tito_audit.printable import counted

_LINE_EVERY = 10.0
"""Seconds between two lines in a log."""


@contextmanager
def shown_progress(total_bytes: int) -> Iterator[Callable[[Progress], None]]:
    """Show how far an audit has come while the block runs.

    Args:
        total_bytes: Size of all files.
    """
    if sys.stderr.isatty():
        with _bar(total_bytes) as show:
            yield show
    else:
        yield _lines(total_bytes)


@contextmanager
def _bar(total_bytes: int) -> Iterator[Callable[[Progress], None]]:
    # 60 ms that only a terminal needs
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total_bytes or None)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.bytes_read, description=_said(progress))

        yield show


def _lines(total_bytes: int) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY:
            last = time.monotonic()
            share = f" ({progress.bytes_read / total_bytes:.0%})" if total_bytes else ""
            with suppress(OSError):  # nobody has to read it
                print(f"checked {_said(progress)}{share}", file=sys.stderr, flush=True)  # noqa: T201

    return show


def _said(progress: Progress) -> str:
    return f"{counted(progress.rows, 'row')}, {counted(progress.tokens, 'token')}"
