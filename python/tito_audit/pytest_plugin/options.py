"""What options, the ini file and markers ask for: the bar of a test, and the tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tito_audit.bar import Bar
from tito_audit.errors import TokenizerError
from tito_audit.loading.control import tokenizer_files
from tito_audit.printable import inert
from tito_audit.pytest_plugin.report_file import refusal
from tito_audit.records import shown
from tito_audit.tokenizer import Tokenizer, load_tokenizer

_MARKER = ("fail_on", "max_rate")


def bar_of(fail_on: str, markers: Iterable[Mapping[str, Any] | tuple[object, ...]]) -> Bar:
    """Make the bar of one test.

    Args:
        fail_on: That of the session.
        markers: What the test's markers say, the closest first: their keywords, or else their other arguments.

    Raises:
        TypeError: A marker says something else than ``fail_on`` and ``max_rate``.
        ValueError: What it says has no meaning.
    """
    said: dict[str, Any] = {}
    for marker in markers:
        named = marker if isinstance(marker, Mapping) else dict.fromkeys(map(shown, marker))
        for name, value in named.items():
            if name not in _MARKER:
                raise TypeError(f"{name} is none of its arguments: fail_on=..., max_rate={{code: share of rows}}")
            if value is not None:
                said.setdefault(name, value)
    rates = said.get("max_rate", {})
    if not isinstance(rates, Mapping):
        raise TypeError(f"max_rate={shown(rates)}: a mapping from code to share of rows is needed")
    return Bar(fail_on=said.get("fail_on", fail_on), max_rate=rates)


def load_or_fail(source: object, folders: Sequence[Path]) -> Tokenizer:
    """Load a tokenizer, or fail the test that needs it.

    Args:
        source: What names it: anything that `tito_audit.load_tokenizer` takes. A text that is a path in one of the
            folders is that path.
        folders: Where to look for it.
    """
    __tracebackhide__ = True
    if source is None or source == "":
        pytest.fail(
            "there is no tokenizer: name one with --tito-tokenizer or, in the ini file, tito_tokenizer; or override "
            'the fixture tito_tokenizer (scope="session")',
            pytrace=False,
        )
    try:
        return load_tokenizer(_path_of(source, folders) or source)
    except TokenizerError as error:
        wrong = str(error)
    pytest.fail(wrong, pytrace=False)


def check_report(path: Path, source: object, folders: Sequence[Path]) -> None:
    """Refuse, before any test runs, a report that would replace what is no report.

    Args:
        path: The report.
        source: What names the tokenizer of the session; None for nothing.
        folders: Where to look for it.

    Raises:
        pytest.UsageError: Something else has that name.
    """
    named = _path_of(source, folders)
    reason = refusal(path, () if named is None else tokenizer_files(named))
    if reason is not None:
        raise pytest.UsageError(f"cannot write {inert(str(path))}: {reason} (--tito-report, tito_report)")


def _path_of(source: object, folders: Sequence[Path]) -> Path | None:
    if isinstance(source, str) and source:
        with suppress(OSError, ValueError):  # a text that cannot be a path
            return next((path for folder in folders if (path := folder / source).exists()), None)
    return None
