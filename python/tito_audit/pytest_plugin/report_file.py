"""The report file of a session: what must never be replaced by it, and what an earlier run left under its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from tito_audit.report import KIND
from tito_audit.whole_file import is_one_of

_HEAD = 256
"""Bytes at the start of a report within which it says what it is."""
_REPORT = re.compile(rb'\s*\{\s*"format"\s*:\s*"' + re.escape(KIND.format.encode()) + b'"')


def refusal(path: Path, tokenizer: Iterable[Path] = ()) -> str | None:
    """Say why no report may be written to a file; None where one may.

    A report replaces an earlier report, or an empty file, and nothing else: not the tokenizer, whatever it was loaded
    from, nor a test whose name was taken for that of the report because that was forgotten.

    Args:
        path: The file; a link stands for what it leads to.
        tokenizer: Files of a tokenizer, to be named as such.
    """
    with suppress(OSError):
        if path.is_dir():
            return "it is a folder"
    if is_one_of(path, tokenizer):
        return "it is the tokenizer"
    if _is_replaceable(path):
        return None
    return "there is such a file, and it is no report; name another one, or remove it"


def numbered(path: Path, number: int) -> Path:
    """Name the report of one of several tokenizers."""
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def remove_earlier(path: Path) -> bool:
    """Remove the report that an earlier run left where this one writes none; say whether there was one.

    Raises:
        OSError: It cannot be removed.
    """
    if not _is_report(path):
        return False
    path.unlink()
    return True


def others(path: Path, written: int) -> Iterator[Path]:
    """Find numbered reports that this run did not write.

    Args:
        path: The name of the report without a number.
        written: Number of reports that were written.
    """
    for number in count(1 if written == 1 else written + 1):
        other = numbered(path, number)
        if not _is_report(other):
            return
        yield other


def _is_replaceable(path: Path) -> bool:
    try:
        return not path.is_file() or not path.stat().st_size or _is_report(path)
    except OSError:  # writing will say what is wrong
        return True


def _is_report(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return _REPORT.match(file.read(_HEAD)) is not None
    except OSError:
        return False
