"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Lend the path of an unfinished file, which becomes ``path`` if the block ends well and is removed if not.

    Args:
        path: The final name; a symbolic link stays one, and its target is replaced.

    Raises:
        OSError: It cannot be written.
    """
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
