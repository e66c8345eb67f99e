"""A table with one line per row of a dataset: JSON Lines, or Parquet where the name ends so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tito_audit.auditing.outcomes import Judged, Outcome
from tito_audit.errors import MissingExtraError
from tito_audit.whole_file import whole_file

_ROW_GROUP = 1 << 16


class RowsOut(Protocol):
    """A table that is being written."""

    def take(self, rows: Sequence[Judged]) -> None:
        """Write the next rows."""


@contextmanager
def rows_out(path: Path) -> Iterator[RowsOut]:
    """Write a table of rows, whole or not at all.

    Args:
        path: The file; ``.parquet`` at its end makes it Parquet.

    Raises:
        MissingExtraError: Parquet needs a package that is not installed.
        OSError: It cannot be written.
    """
    with whole_file(path) as unfinished:
        if is_parquet(path):
            with _parquet(unfinished) as table:
                yield table
        else:
            with unfinished.open("w", encoding="ascii") as file:
                yield _JsonLines(file)


def is_parquet(path: Path) -> bool:
    """Say whether a file is to be Parquet by its name."""
    return path.suffix.lower() in {".parquet", ".pq"}


class _JsonLines:
    def __init__(self, file: Any) -> None:  # noqa: ANN401 - a text file
        self._file = file

    def take(self, rows: Sequence[Judged]) -> None:
        self._file.writelines(f"{json.dumps(judged.outcome._asdict())}\n" for judged in rows)


@contextmanager
def _parquet(path: Path) -> Iterator[RowsOut]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "parquet") from error
    text, number, flag = pa.string(), pa.int64(), pa.bool_()
    kinds = {
        "source": text,
        "id": text,
        "realised_kind": text,
        "codes": pa.list_(text),
        "engine": text,
        **dict.fromkeys(("drifted", "artefact", "silent", "realised"), flag),
    }
    schema = pa.schema([(name, kinds.get(name, number)) for name in Outcome._fields])
    with parquet.ParquetWriter(path, schema) as writer:
        table = _Parquet(writer, schema)
        yield table
        table.flush()


class _Parquet:
    def __init__(self, writer: Any, schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        self._writer = writer
        self._schema = schema
        self._rows: list[dict[str, object]] = []

    def take(self, rows: Sequence[Judged]) -> None:
        for outcome in (judged.outcome for judged in rows):
            # A column has one type; a name is text, also where a record gives itself a number.
            name = None if outcome.id is None else str(outcome.id)
            self._rows.append(outcome._asdict() | {"source": _encodable(outcome.source), "id": _encodable(name)})
        if len(self._rows) >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()


def _encodable(text: str | None) -> str | None:
    """Escape what is no UTF-8: a file's name may hold any bytes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
