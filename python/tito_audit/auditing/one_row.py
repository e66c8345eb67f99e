"""One row of a dataset, found by its number and judged, to be shown."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tito_audit.auditing.groups import check_rows, check_trained
from tito_audit.errors import SourceError
from tito_audit.findings import Finding
from tito_audit.printable import counted, inert
from tito_audit.reading.columns import Columns
from tito_audit.reading.readers import Finished, open_sources, rows_in_order
from tito_audit.reading.record_checks import record_findings
from tito_audit.reading.row import Row
from tito_audit.reading.rows import ReadOptions
from tito_audit.results import Check, RowContext
from tito_audit.signal.findings import signal_findings
from tito_audit.tokenizer import Tokenizer


class OneRow(NamedTuple):
    """A row and what there is to say about it.

    Attributes:
        row: The row.
        check: The verdict; None where the record cannot be read.
        turns: Turn per token, -1 outside; None where nobody knows.
        columns: Columns that it was read by.
        faults: What is wrong with the record.
        notes: What to know about its source.
    """

    row: Row
    check: Check | None
    turns: NDArray[np.int32] | None
    columns: Columns | None
    faults: tuple[Finding, ...]
    notes: tuple[str, ...]


def one_row(
    source: str, number: int, tok: Tokenizer, options: ReadOptions, *, model_vocab_size: int | None = None
) -> OneRow:
    """Read a source up to a row, and judge that row.

    Args:
        source: A file.
        number: Number of the row, as findings give it: line of the file, or row of the table, from 1.
        tok: The tokenizer.
        options: How records are read.
        model_vocab_size: Rows of the model's embedding.

    Raises:
        SourceError: The file cannot be read, or has no such row.
        TokenizerError: The reference fails on the row.
    """
    options = replace(options, pad_ids=tok.control.pad, end_ids=tok.control.eos)
    readers = list(open_sources([source], options))
    if len(readers) != 1:
        raise SourceError(f"{inert(source)}: {len(readers)} files; name the one that the row is in")
    [reader] = readers
    last = 0
    with closing(rows_in_order(readers)) as chunks:
        for chunk in chunks:
            if isinstance(chunk, Finished):
                if chunk.error is not None:
                    raise chunk.error
                continue
            for row in chunk:
                if row.number == number:
                    return _judged(row, tok, options, model_vocab_size, reader.columns, tuple(reader.notes))
                last = row.number
    raise SourceError(f"{inert(source)}: there is no row {number:,} (the last is {last:,})")


def _judged(
    row: Row,
    tok: Tokenizer,
    options: ReadOptions,
    model_vocab_size: int | None,
    columns: Columns | None,
    notes: tuple[str, ...],
) -> OneRow:
    faults = tuple(fault.finding for fault in row.faults)
    if row.ids is None:
        return OneRow(row, None, None, columns, faults, notes)
    batch, turns = check_rows([row], tok, threads=1, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    trained = check_trained([row], tok, threads=1)
    context = RowContext(
        row.named_owners,
        model_vocab_size,
        redact=options.redact,
        findings=(
            *row.findings,
            *record_findings(row, tok),
            *signal_findings(row, tok, trained[0].scored(0) if trained else None),
        ),
        realised=trained[0].batch.row(0) if trained else None,
    )
    if row.padding:
        notes = (
            *notes,
            f"{counted(row.padding, 'token')} of padding removed: positions count from the first real token",
        )
    return OneRow(row, batch.row(0, context), turns, columns, faults, notes)
