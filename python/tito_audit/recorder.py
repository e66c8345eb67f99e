"""Records rollouts as native records, so that an audit months later has the ids that were sampled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from tito_audit.appending import AppendFile
from tito_audit.buffer import RolloutBuffer
from tito_audit.errors import RecordError
from tito_audit.forking import ForkLock
from tito_audit.native import RolloutRecord, rollout_record
from tito_audit.printable import counted, inert
from tito_audit.records import as_array, at_least_one, shown, viewable
from tito_audit.segments import finish, next_sealed, to_parquet
from tito_audit.tokenizer import engine_of
from tito_audit.whole_file import is_one_of

if TYPE_CHECKING:
    from typing import Self

    from tito_audit.tokenizer import Tokenizer

_FIELDS = frozenset(RolloutRecord.__annotations__) - {"format", "format_version", "tokenizer_fingerprint"}
_INT64 = np.iinfo(np.int64)


class Recorder:
    """Appends rollouts to a file of JSON Lines that ``tito-audit check`` reads as it is.

    A row is one write. Once `append` returns, the death of the process does not touch the row; what a process that died
    in the middle left of one is cut off by the next that opens or appends. Threads may share a recorder, a forked child
    may go on with it, pickling it opens the file anew, and several processes of one machine may record to one file.

    Args:
        path: The file, such as ``rollouts/actor-3.jsonl``; its folder is made. What is there already stays.
        tok: The tokenizer of the sampler; its fingerprint goes into every record.
        segment_bytes: Size from which the file is sealed, that is renamed to ``actor-3-00000.jsonl`` and so on, and
            recording goes on in a new one; default: only `seal` does that.
        parquet: Turn sealed files into Parquet, which takes as long as it takes; what an earlier process left to do is
            done first.

    Raises:
        TokenizerError: ``tok`` is no loaded tokenizer.
        MissingExtraError: ``parquet`` needs a package that is not installed, and there is something to do already.
        OSError: The file cannot be opened.
        ValueError: ``segment_bytes`` is below 1, or the path is that of another format or leads to the tokenizer.

    Example:
        >>> import tempfile
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, models
        >>> tok = tito.load_tokenizer(Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")])))
        >>> buffer = tito.RolloutBuffer()
        >>> buffer.add_sampled([0, 0], [-0.5, -0.5])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with tito.Recorder(f"{folder}/rollouts.jsonl", tok) as recorder:
        ...         recorder.append(buffer, id="first")
        ...         rows = recorder.flush()
        ...     rows, tito.audit(f"{folder}/rollouts.jsonl", tok).statistics.drift_rows
        (1, 1)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tok: Tokenizer,
        *,
        segment_bytes: int | None = None,
        parquet: bool = False,
    ) -> None:
        """Open the file; see the class."""
        self.path = Path(path)
        if self.path.suffix not in {".jsonl", ".ndjson"}:
            raise ValueError(
                f"path={shown(str(path))}: a name that ends in .jsonl is needed (Parquet is for sealed files)"
            )
        if is_one_of(self.path, engine_of(tok).files):
            raise ValueError(f"path={shown(str(path))}: it is the tokenizer, and recording would cut it off")
        self._fingerprint = tok.fingerprint
        self._segment_bytes = None if segment_bytes is None else at_least_one(segment_bytes, "segment_bytes")
        self._parquet = parquet
        self._rows = 0
        self._lock = ForkLock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = AppendFile(self.path)
        if parquet:
            finish(self.path)

    def append(
        self,
        rollout: RolloutBuffer | Mapping[str, object],
        *,
        id: str | int | None = None,  # noqa: A002 - the name of the column
        train_ids: object = None,
        train_mask: object = None,
        end_ids: object = None,
    ) -> None:
        """Append one rollout.

        Args:
            rollout: A buffer, or fields of `tito_audit.native.RolloutRecord` by name (``token_ids`` and ``mask`` at
                least), lists or arrays.
            id: Name of the rollout.
            train_ids: Ids that the trainer scored, padding removed, where they are known already.
            train_mask: 0 or 1 per id of ``train_ids``.
            end_ids: Ids that end a turn.

        Raises:
            RecordError: A field is none, or holds what the schema does not allow; nothing was written.
            OSError: The row could not be written; nothing of it is in the file.
            ValueError: The recorder is closed.
        """
        fields = rollout.as_dict() if isinstance(rollout, RolloutBuffer) else dict(rollout)
        beside = {"id": id, "train_ids": train_ids, "train_mask": train_mask, "end_ids": end_ids}
        fields |= {name: value for name, value in beside.items() if value is not None}
        size = self._file.append(self._line(fields))
        with self._lock:
            self._rows += 1
        if self._segment_bytes is not None and size >= self._segment_bytes:
            self.seal()

    def flush(self, *, fsync: bool = False) -> int:
        """Acknowledge: say how many rows this recorder appended, a forked child counting on from its parent.

        All of them are in the file already, whatever becomes of this process.

        Args:
            fsync: Wait until the disk has them too, so that they outlive the machine's end; those in sealed files may
                not be waited for.

        Raises:
            OSError: The disk has them not.
            ValueError: The recorder is closed, and ``fsync`` is asked for.
        """
        with self._lock:
            rows = self._rows
        if fsync:
            self._file.sync()
        return rows

    def seal(self) -> Path | None:
        """Close the file under a name of its own and begin a new one.

        Returns:
            The sealed file, Parquet where the recorder is to make it; None where nothing was appended.

        Raises:
            MissingExtraError: Parquet needs a package that is not installed; the sealed file stays JSON Lines.
            OSError: It cannot be renamed, or not be written as Parquet; no row is lost.
            ValueError: The recorder is closed.
        """
        sealed = self._file.renamed(lambda: next_sealed(self.path))
        return to_parquet(sealed) if sealed is not None and self._parquet else sealed

    def close(self) -> None:
        """Close the file; doing so again does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        """Record inside a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close at its end."""
        self.close()

    def __repr__(self) -> str:
        """Name the file and count the rows."""
        return f"<Recorder {inert(str(self.path))}: {counted(self._rows, 'row')}>"

    def _line(self, fields: dict[str, Any]) -> bytes:
        import msgspec  # noqa: PLC0415 - beside its use

        unknown = sorted(set(map(str, fields)) - _FIELDS)
        if unknown:
            raise RecordError(f"{inert(unknown[0])}: no field of a rollout record", column=unknown[0])
        missing = {"token_ids", "mask"} - set(fields)
        if missing:
            raise RecordError(f"a rollout record without {' and '.join(sorted(missing))}", code="TITO006")
        plain = {name: _plain(value, name) for name, value in fields.items()}
        for number, logprob in enumerate(plain.get("logprobs") or ()):
            if isinstance(logprob, float) and not np.isfinite(logprob):
                raise RecordError(
                    f"logprobs: {logprob} at position {number} is no finite number, and JSON has none",
                    code="TITO017",
                    column="logprobs",
                    position=number,
                    value=logprob,
                )
        try:
            return msgspec.json.encode(rollout_record(tokenizer_fingerprint=self._fingerprint, **plain)) + b"\n"
        except (OverflowError, UnicodeEncodeError) as error:
            raise RecordError(f"no rollout record: {inert(str(error))}") from error


def _plain(value: object, name: str) -> Any:  # noqa: ANN401 - what JSON has
    """Arrays as lists, their scalars as numbers; an integer beyond 64 bits is refused, since no table holds it."""
    if viewable(value):
        value = as_array(value, name).tolist()
    if isinstance(value, tuple):
        value = list(value)
    entries = value if isinstance(value, list) else [value]
    if any(isinstance(each, int) and not _INT64.min <= each <= _INT64.max for each in entries):
        raise RecordError(f"{name}: an integer beyond 64 bits, which no table holds", column=name)
    entries = [each.item() if isinstance(each, np.generic) else each for each in entries]
    return entries if isinstance(value, list) else entries[0]
