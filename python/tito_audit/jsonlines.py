"""JSON Lines files: bytes to records. A line that cannot be read is said so, and the others go on."""

from __future__ import annotations

import glob
import io
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tito_audit.errors import RecordError, SourceError
from tito_audit.printable import inert

Record = Mapping[str, Any]

_BOM = b"\xef\xbb\xbf"
# What people hand over instead of JSON Lines, by the first bytes of the file.
_OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x1f\x8b": "gzip-compressed",
    b"\x28\xb5\x2f\xfd": "zstd-compressed",
    b"PK\x03\x04": "a zip archive (torch.save writes those); it is never unpickled here, since that can run code",
    b"\x80\x02": "a pickle; it is never unpickled here, since that can run code",
    b"\x80\x03": "a pickle; it is never unpickled here, since that can run code",
    b"\x80\x04": "a pickle; it is never unpickled here, since that can run code",
    b"\x80\x05": "a pickle; it is never unpickled here, since that can run code",
}


class JsonLines:
    """The records of one file, line by line; the file is read once and never held.

    Iterating yields ``(line, record)``, with lines counted from 1 and blank ones left out. In place of a record that
    cannot be read there is the `RecordError` that says why. Iterating raises `SourceError` where the file itself
    cannot be read.
    """

    def __init__(self, path: str, *, on_read: Callable[[int], None] | None = None) -> None:
        """Name the file; it is opened by iterating.

        Args:
            path: The file.
            on_read: Told the length in bytes of each line that was read.
        """
        self.path = path
        self._on_read = on_read or (lambda _: None)
        self._parse: Callable[[bytes], Record] = _parse

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """From the next line on decode these columns only, which skips long texts at several times the speed.

        Args:
            names: Columns to decode.
            needed: Those of them that a record has to have: one that lacks any is decoded whole, so that its other
                columns can be named.
        """
        self._parse = _parser_of(tuple(dict.fromkeys([*needed, *names])), len(needed))

    def __iter__(self) -> Iterator[tuple[int, Record | RecordError]]:
        """Go through the lines."""
        try:
            with self._open() as file:
                _refuse_other_formats(file, self.path)
                yield from self._records(file)
        except OSError as error:
            raise SourceError(f"{inert(self.path)}: cannot be read ({error.strerror or error})") from error

    def _open(self) -> io.BufferedReader:
        try:
            # Names are bytes for the system; what is no UTF-8 in them survives the trip.
            return open(os.fsencode(self.path), "rb")  # noqa: PTH123 - a Path cannot hold bytes
        except FileNotFoundError as error:
            if self.path == "-":
                raise SourceError("-: stdin is not read yet; name /dev/stdin instead") from error
            if glob.has_magic(self.path):
                raise SourceError(f"{inert(self.path)}: the pattern matches no file") from error
            raise
        except IsADirectoryError as error:
            raise SourceError(f"{inert(self.path)}: is a directory; name the files in it, such as *.jsonl") from error
        except ValueError as error:  # a null byte, say
            raise SourceError(f"{inert(self.path)}: no name of a file ({error})") from error

    def _records(self, file: io.BufferedReader) -> Iterator[tuple[int, Record | RecordError]]:
        for number, line in enumerate(file, start=1):
            self._on_read(len(line))
            text = line.removeprefix(_BOM) if number == 1 else line
            if text.isspace() or not text:
                continue
            try:
                yield number, self._parse(text)
            except RecordError as error:
                yield number, error


def _refuse_other_formats(file: io.BufferedReader, path: str) -> None:
    head = file.peek(64)
    for magic, kind in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise SourceError(f"{inert(path)}: {kind}; write one JSON object per line (.jsonl)")
    # JSON begins with ASCII, of which UTF-16 and UTF-32 make every second byte null. Any other null is a bad line.
    start = head[:4]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0\0" in (start[::2], start[1::2]):
        raise SourceError(f"{inert(path)}: no UTF-8 text (UTF-16, or a binary file); write JSON Lines as UTF-8")


def _parser_of(names: tuple[str, ...], needed: int) -> Callable[[bytes], Record]:
    """A parser that decodes only the named columns; `_parse` explains what it cannot read, or lacks the first few."""
    import msgspec  # noqa: PLC0415 - 30 ms that `import tito_audit` and `--help` do not need

    keys = [f"column{i}" for i in range(len(names))]
    try:
        record_type = msgspec.defstruct(
            "Record",
            [(key, Any, msgspec.UNSET) for key in keys],
            rename=dict(zip(keys, names, strict=True)),
        )
    except ValueError:  # names that need an escape in JSON
        return _parse
    decode = msgspec.json.Decoder(record_type).decode
    unset = msgspec.UNSET

    def parse(line: bytes) -> Record:
        try:
            values = msgspec.structs.astuple(decode(line))
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return _parse(line)
        if unset in values[:needed]:
            return _parse(line)
        if not line.isascii():
            _decoded(line)  # columns that are skipped are not looked into
        return {name: value for name, value in zip(names, values, strict=True) if value is not unset}

    return parse


def _parse(line: bytes) -> Record:
    """Decode a whole line; like Python's writer it knows ``NaN`` and ``Infinity``.

    Raises:
        RecordError: What is wrong with the line, and where.
    """
    text = _decoded(line).strip()
    if text in {"[", "{"}:
        raise RecordError("the file is one JSON document over many lines; write one object per line (jq -c does)")
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text) or error.msg.startswith("Unterminated"):
            raise RecordError(f"no JSON: the line is cut off after {len(text):,} characters ({error.msg})") from error
        raise RecordError(f"no JSON: {error.msg} at character {error.pos + 1:,} of {len(text):,}") from error
    except RecursionError as error:
        raise RecordError("no JSON that can be read: nested too deeply") from error
    except ValueError as error:  # an integer with thousands of digits
        raise RecordError(f"no JSON that can be read: {inert(str(error))}") from error
    if not isinstance(record, dict):
        raise RecordError(f"a JSON {_KINDS[type(record)]} where an object with named columns is needed")
    return record


_KINDS = {list: "array", str: "string", int: "number", float: "number", bool: "literal", type(None): "null"}


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise RecordError(
            f"no UTF-8: byte 0x{line[error.start]:02X} at byte {error.start + 1} of the line "
            "(convert the file, for example with iconv)"
        ) from error
