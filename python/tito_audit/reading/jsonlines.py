"""JSON Lines: bytes to records. A line that cannot be read is said so, and the others go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any, BinaryIO

from tito_audit.errors import RecordError, SourceError
from tito_audit.printable import counted, inert
from tito_audit.reading.columns import has
from tito_audit.reading.sources import Read, Record
from tito_audit.records import ValuelessError

_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 20
_LONGEST_LINE = 1 << 27
"""Bytes of a line that are parsed at most; its Python objects take up to ten times as much memory."""
_ONE_DOCUMENT = "one JSON document over many lines; write one object per line (jq -c does: {jq})"


class JsonLines:
    """The records of one stream, line by line; it is read once and never held.

    Lines are counted from 1, and blank ones left out. In place of a record that cannot be read there is the
    `RecordError` that says why. Iterating raises `SourceError` where the stream breaks off.
    """

    def __init__(self, path: str, file: BinaryIO, head: bytes = b"", *, keep_origin: bool = False) -> None:
        """Name the stream.

        Args:
            path: Name of the file, for messages.
            file: Its bytes, buffered.
            head: The first of them.
            keep_origin: Give each record with its bytes, line break included.
        """
        self.path = path
        self._file = file
        self._head = head
        self._keep_origin = keep_origin
        self._parse: Callable[[bytes], Record] = _parse

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """From the next line on decode these columns only, which skips long texts at several times the speed."""
        self._parse = _parser_of(tuple(names), tuple(needed))

    def __iter__(self) -> Iterator[Read]:
        """Go through the lines."""
        document = _document(self._head.removeprefix(_BOM).lstrip())
        if document is not None:
            raise SourceError(f"{inert(self.path)}: the file is {document}")
        number = 0
        while True:
            number += 1
            try:
                line = self._file.readline(_PIECE)
                fault = None
                if len(line) == _PIECE and not line.endswith(b"\n"):
                    line, fault = self._whole(line, number)
            except OSError as error:
                raise SourceError(
                    f"{inert(self.path)}: {error.strerror or error}; it was read up to line {number - 1:,}"
                ) from error
            if not line:
                return
            origin = line if self._keep_origin else None
            text = line.removeprefix(_BOM) if number == 1 else line
            if text.isspace() or not text:
                continue
            record: Record | RecordError
            try:
                record = fault or self._parse(text)
            except RecordError as error:
                record = error
            except MemoryError:
                record = ValuelessError(
                    f"a line of {counted(len(line), 'byte')}: there is not enough memory to parse it"
                )
            yield Read(number, record, origin)

    def _whole(self, line: bytes, number: int) -> tuple[bytes, RecordError | None]:
        """Read the rest of a long line, as far as it can be one of JSON."""
        start = (line.removeprefix(_BOM) if number == 1 else line).lstrip()[:1]
        if start not in {b"{", b"["}:
            length = len(line) + self._skipped()
            return line, ValuelessError(f"no JSON: a line of {counted(length, 'byte')} that begins with no brace")
        rest = self._file.readline(_LONGEST_LINE - len(line))
        whole = line + rest
        if len(whole) < _LONGEST_LINE or whole.endswith(b"\n"):
            return whole, None
        length = len(whole) + self._skipped()
        return line, ValuelessError(
            f"a line of {counted(length, 'byte')}, more than the {_LONGEST_LINE:,} that are read; split the record"
        )

    def _skipped(self) -> int:
        """Pass over the rest of a line; how long it was."""
        length = 0
        while piece := self._file.readline(_PIECE):
            length += len(piece)
            if piece.endswith(b"\n"):
                break
        return length


def _document(head: bytes) -> str | None:
    """Say that a file is one JSON document and no lines, as far as its first bytes tell."""
    line, line_break, rest = head.partition(b"\n")
    line, rest = line.strip(), rest.lstrip()
    # One bad line, of a log say, is no reason to refuse the records that follow it.
    followed = line_break and rest.startswith(b"{") and line != b"[" and not line.endswith(b",")
    if head[:1] == b"[" and not followed:
        return "one JSON array; write one object per line (jq -c does: jq -c '.[]')"
    if line == b"{" and rest and not rest.startswith(b"{"):
        return _ONE_DOCUMENT.format(jq="jq -c .")
    return None


def _parser_of(names: tuple[str, ...], needed: tuple[str, ...]) -> Callable[[bytes], Record]:
    """A parser that decodes only the named columns; `_parse` explains what it cannot read, or lacks what is needed."""
    import msgspec  # noqa: PLC0415 - 30 ms that `import tito_audit` and `--help` do not need

    plain = [name for name in needed if "." not in name]
    paths = [name for name in needed if "." in name]
    tops = [top for name in (*paths, *names) for top in (name, name.split(".")[0])]
    tops = list(dict.fromkeys([*plain, *tops]))
    keys = [f"column{i}" for i in range(len(tops))]
    try:
        record_type = msgspec.defstruct(
            "Record",
            [(key, Any, msgspec.UNSET) for key in keys],
            rename=dict(zip(keys, tops, strict=True)),
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
        if unset in values[: len(plain)]:
            return _parse(line)
        record = {name: value for name, value in zip(tops, values, strict=True) if value is not unset}
        if paths and not all(has(record, path) for path in paths):
            return _parse(line)
        if not line.isascii():
            _decoded(line)  # columns that are skipped are not looked into
        return record

    return parse


def _parse(line: bytes) -> Record:
    """Decode a whole line; like Python's writer it knows ``NaN`` and ``Infinity``.

    Raises:
        RecordError: What is wrong with the line, and where.
    """
    text = _decoded(line).strip()
    if text in {"[", "{"}:
        raise ValuelessError(f"the file is {_ONE_DOCUMENT.format(jq='jq -c .')}")
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text) or error.msg.startswith("Unterminated"):
            raise ValuelessError(
                f"no JSON: the line is cut off after {counted(len(text), 'character')} ({error.msg})"
            ) from error
        raise ValuelessError(
            f"no JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1:,} of {len(text):,}"
        ) from error
    except RecursionError as error:
        raise ValuelessError("no JSON that can be read: nested too deeply") from error
    except ValueError as error:  # an integer with thousands of digits
        raise ValuelessError(f"no JSON that can be read: {inert(str(error))}") from error
    if not isinstance(record, dict):
        raise ValuelessError(f"a JSON {_KINDS[type(record)]} where an object with named columns is needed")
    return record


_KINDS = {list: "array", str: "string", int: "number", float: "number", bool: "literal", type(None): "null"}


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ValuelessError(
            f"no UTF-8: byte 0x{line[error.start]:02X} at byte {error.start + 1} of the line "
            "(convert the file, for example with iconv)"
        ) from error
