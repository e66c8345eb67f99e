"""What the command writes: results to stdout or a file, everything else to stderr; whoever reads may have gone."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

from tito_audit.printable import inert
from tito_audit.whole_file import write_whole


def prepare_streams() -> None:
    """Put something into the place of a closed stdout (``>&-``), which fails when written to, or stderr.

    Else the next file that is opened gets its descriptor, and what was meant for stderr goes to stdout.
    """
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: PTH123, SIM115 - a descriptor
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may be unable to show what is printed
            stream.reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """Write a line to stderr, harmless whatever is in it; nobody has to read it."""
    with contextlib.suppress(OSError):
        print(inert(line), file=sys.stderr, flush=True)  # noqa: T201


def say_internal_error(*, redact: bool = False) -> None:
    """Say what is being handled, whatever it is: a panic of the core is no `Exception`.

    Args:
        redact: Where it happened and what it is, without its words, which may quote a rollout.
    """
    kind, _, trace = sys.exc_info()
    if redact and kind is not None:
        lines = [*"".join(traceback.format_tb(trace)).splitlines(), kind.__name__]
    else:
        lines = traceback.format_exc().splitlines()
    for line in lines:
        say(line)
    say("internal error: a fault of tito-audit; please report it with the lines above")


def write_result(text: str, path: Path | None) -> None:
    """Write a result to stdout, or to a file: whole or not at all; a device or a pipe is written straight.

    Raises:
        OSError: It cannot be written.
    """
    if path is None or is_open_as(path, (1,)):
        flush_stdout(text)
    elif is_open_as(path, (2,)):
        print(text, file=sys.stderr, flush=True)  # noqa: T201
    elif path.exists() and (not path.is_file() or _is_descriptor(path)):
        with path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        write_whole(path, text + "\n")


def flush_stdout(text: str = "") -> None:
    """Write to stdout and flush; a reader that has gone (``| head``) is no fault.

    Raises:
        OSError: It cannot be written.
    """
    try:
        if text:
            print(text)  # noqa: T201
        sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        if not isinstance(error, BrokenPipeError):
            raise


def silence_stdout() -> None:
    """Throw away what is still buffered: it would fail again at exit, and Python would replace the exit code."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def unwritten(path: str | os.PathLike[str] | None, reason: str) -> str:
    """Say that a result cannot be written, and why."""
    return inert(f"cannot write{'' if path is None else f' {os.fsdecode(path)}'}: {reason}")


def is_open_as(path: Path, numbers: Iterable[int]) -> bool:
    """Whether a path leads to what a descriptor of this process writes to, such as ``/dev/stdout`` and its target."""
    try:
        status = path.stat()
        return any(os.path.samestat(status, os.fstat(number)) for number in numbers)
    except OSError:
        return False


def _is_descriptor(path: Path) -> bool:
    """Whether a path names an open descriptor (``/dev/fd/3``), whose file belongs to whoever opened it."""
    return path.parent.resolve().is_relative_to("/proc")
