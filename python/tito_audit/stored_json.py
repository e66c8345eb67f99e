"""Files of JSON that this package writes and reads again: of which kind they are, and checked against their shape."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tito_audit.errors import ReportError
from tito_audit.printable import inert

_LONGEST_INTEGER = 400
"""Digits of an integer that is read as one; no file of ours has more than twenty."""

_PATTERN = re.compile(r"matching regex '.*'(?= - at |$)")
"""What a refusal says of a text, which is for nobody who looks for the damage."""

_Shape = TypeVar("_Shape")


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        format: What its member ``format`` says.
        version: What its member ``format_version`` says.
        noun: What it is, such as ``"report"``.
        source: What it is a report of, as it follows the noun; may be empty.
        anew: How to get one, as in "no report; write one with: ...".
    """

    format: str
    version: int
    noun: str
    source: str
    anew: str


def read_stored(path: str | os.PathLike[str], kind: Kind) -> dict[str, Any]:
    """Read a file of one kind.

    Args:
        path: The file.
        kind: What it has to be.

    Returns:
        What it holds; nothing but kind and version was looked at.

    Raises:
        ReportError: It cannot be read, is no JSON, of another kind or of another version.
    """
    name = os.fsdecode(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReportError(f"{inert(name)}: cannot be read ({inert(reason)})") from error
    return decoded(data, kind, source=name)


def decoded(data: str | bytes, kind: Kind, *, source: str) -> dict[str, Any]:
    """Read the content of a file of one kind; as `read_stored`.

    Args:
        data: The JSON.
        kind: What it has to be.
        source: Name for messages.
    """
    name = inert(source)
    try:
        found = json.loads(data, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{name}: no JSON ({inert(str(error))}); {kind.anew}") from error
    if not isinstance(found, dict) or found.get("format") != kind.format:
        raise ReportError(f"{name}: no {kind.noun}{kind.source}; {kind.anew}")
    version = found.get("format_version")
    if version != kind.version:
        is_later = isinstance(version, int) and version > kind.version
        what_to_do = f"update tito_audit, or {kind.anew}" if is_later else kind.anew
        raise ReportError(
            f"{name}: a {kind.noun} of format {inert(str(version))}, this version reads format {kind.version}; "
            f"{what_to_do}"
        )
    return found


def shaped(found: object, shape: type[_Shape], kind: Kind, *, source: str) -> _Shape:
    """Check what was read against its shape.

    Args:
        found: What `decoded` returned.
        shape: A type that msgspec knows.
        kind: What it is.
        source: Name for messages.

    Raises:
        ReportError: It has another shape; the message names the field.
    """
    import msgspec  # noqa: PLC0415 - 30 ms that only reading such a file needs

    try:
        return msgspec.convert(found, shape, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:  # the latter where a key is no text
        wrong = inert(_PATTERN.sub("of another form", str(error)))
        raise ReportError(f"{inert(source)}: a damaged {kind.noun} ({wrong}); {kind.anew}") from error


def _integer(digits: str) -> int | float:
    # A longer one is beyond every bound, and Python refuses to read very long ones in words of its own.
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.inf
