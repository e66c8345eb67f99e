"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MOST_OF_NAME = 40
"""Characters of a name that the unfinished file repeats: a system may allow the name itself and not a longer one."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Lend the path of an unfinished file, which becomes ``path`` if the block ends well and is removed if not.

    What is no file of its own (a device, a pipe) is lent itself and written straight.

    Args:
        path: The final name; a symbolic link stays one, and its target is replaced.

    Raises:
        OSError: It cannot be written; the error names the file.
    """
    try:
        if path.exists() and not path.is_file():
            yield path
            return
        final = _resolved(path)
        unfinished = final.with_name(f".{final.name[:_MOST_OF_NAME]}.{os.getpid()}.part")
        try:
            yield unfinished
            unfinished.replace(final)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        if error.filename is None or str(error.filename).endswith(".part"):  # which is nobody's business
            error.filename = str(path)
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all.

    Raises:
        OSError: It cannot be written; the error names the file.
    """
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def is_one_of(path: Path, others: Iterable[str | os.PathLike[str]]) -> bool:
    """Say whether a name leads to one of some files, by whatever link; a file that is not there is none of them."""
    for other in others:
        with suppress(OSError, ValueError):  # neither there, nor a name of a file
            if path.is_file() and os.path.samefile(path, other):  # noqa: PTH121 - odd names
                return True
    return False


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError as error:  # links in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
