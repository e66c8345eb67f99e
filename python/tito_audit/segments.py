"""Sealed files of native records: their names, and the same records as Parquet."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito_audit.errors import MissingExtraError
from tito_audit.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PARQUET = ".parquet"
_ROW_GROUP = 256
_NAMED = ("id", "weight_version", "weight_versions")
"""Fields that hold strings or integers, as the caller likes."""


def sealed_files(path: Path) -> list[Path]:
    """List the sealed files of a recording, JSON Lines and Parquet, in the order of their numbers.

    Args:
        path: The file that is recorded to, such as ``rollouts.jsonl``; sealed are ``rollouts-00000.jsonl`` and so on.
    """
    name = re.compile(rf"{re.escape(path.stem)}-(\d{{5,}})({re.escape(path.suffix)}|{re.escape(PARQUET)})")
    found = [(int(match[1]), each) for each in path.parent.iterdir() if (match := name.fullmatch(each.name))]
    return [each for _, each in sorted(found)]


def next_sealed(path: Path) -> Path:
    """Return the name of the file that is sealed next."""
    numbers = [int(each.stem.rpartition("-")[2]) for each in sealed_files(path)]
    return path.with_name(f"{path.stem}-{max(numbers, default=-1) + 1:05}{path.suffix}")


def to_parquet(path: Path) -> Path:
    """Turn a sealed file into Parquet beside it, and remove it then; the records read back are the same.

    A process that dies meanwhile leaves the file as it was, or both; doing it again brings the same Parquet.

    Args:
        path: JSON Lines, one native record each. Nobody appends to it any more.

    Returns:
        The Parquet file.

    Raises:
        MissingExtraError: There is no pyarrow.
        OSError: It cannot be read or written; the sealed file is still there.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "parquet") from error
    final = path.with_suffix(PARQUET)
    if not final.exists():
        schema = _schema(_records(path), pa)
        with whole_file(final) as unfinished, parquet.ParquetWriter(unfinished, schema) as writer:
            records = _records(path)
            while rows := list(islice(records, _ROW_GROUP)):
                writer.write_table(pa.Table.from_pylist(_one_type_each(rows, schema, pa), schema=schema))
    path.unlink(missing_ok=True)
    return final


def finish(path: Path) -> None:
    """Turn what is sealed and no Parquet yet into it: a process may have died over it, or be at it now."""
    for each in sealed_files(path):
        if each.suffix != PARQUET:
            with suppress(FileNotFoundError):  # another process was faster
                to_parquet(each)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    import msgspec  # noqa: PLC0415 - beside its use

    with path.open("rb") as lines:
        yield from map(msgspec.json.decode, lines)


def _schema(records: Iterable[dict[str, Any]], pa: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The columns that some record has; one that holds strings and integers holds strings."""
    present: dict[str, None] = {}
    components: dict[str, None] = {}
    worded = set()
    for record in records:
        present |= dict.fromkeys(record)
        components |= dict.fromkeys(record["tokenizer_fingerprint"])
        for name in _NAMED:
            value = record.get(name)
            if any(isinstance(each, str) for each in (value if isinstance(value, list) else [value])):
                worded.add(name)
    name_types = {name: pa.string() if name in worded else pa.int64() for name in _NAMED}
    types = {
        "format": pa.string(),
        "format_version": pa.int64(),
        "tokenizer_fingerprint": pa.struct([(name, pa.string()) for name in components]),
        "token_ids": pa.list_(pa.int64()),
        "mask": pa.list_(pa.uint8()),
        "id": name_types["id"],
        "logprobs": pa.list_(pa.float64()),
        "owners": pa.list_(pa.uint8()),
        "owner_names": pa.list_(pa.string()),
        "turns": pa.list_(pa.int32()),
        "gen_steps": pa.list_(pa.int32()),
        "weight_version": name_types["weight_version"],
        "weight_versions": pa.list_(name_types["weight_versions"]),
        "train_ids": pa.list_(pa.int64()),
        "train_mask": pa.list_(pa.uint8()),
        "finish_reason": pa.string(),
        "end_ids": pa.list_(pa.int64()),
    }
    return pa.schema([(name, types[name]) for name in present])


def _one_type_each(rows: list[dict[str, Any]], schema: Any, pa: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as above
    """Records whose names are all strings where some in the file are."""
    for name in ("id", "weight_version"):
        if name in schema.names and schema.field(name).type == pa.string():
            for row in rows:
                if row.get(name) is not None:
                    row[name] = str(row[name])
    if "weight_versions" in schema.names and schema.field("weight_versions").type == pa.list_(pa.string()):
        for row in rows:
            versions = row.get("weight_versions")
            if versions is not None:
                row["weight_versions"] = [None if each is None else str(each) for each in versions]
    return rows
