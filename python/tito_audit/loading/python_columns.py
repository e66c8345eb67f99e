"""Columns of the engine for objects of Python: what the core gives for many rows at once, gathered row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tito_audit import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit._core import AuditColumns, RealisedColumns
    from tito_audit.records import Ids

IDENTICAL, RETOKENIZED, TRUNCATED, REWRITTEN, FAILED_KIND = 0, 1, 2, 3, 255
"""Kinds of realised drift, as the core numbers them."""

_UNKNOWN_ID = _core.CAUSES.index("TITO005")
_SPECIAL_SKIPPED = _core.CAUSES.index("TITO205")
_MERGE = _core.CAUSES.index("TITO101")
_NO_CAUSE = 255
_ENGINE = len(_core.ENGINES)
"""This engine in the column ``engine``, after those of the core."""
_AT_SEGMENT_JOIN = 1 << _core.FLAGS.index("at_segment_join")
_AT_ROW_START = 1 << _core.FLAGS.index("at_row_start")


class Difference(NamedTuple):
    """The one span of a row: from the first difference to the common suffix.

    Attributes:
        start: First token, of both sides.
        stop: One past the last token of the sampled side.
        other_stop: One past the last token of the other side.
    """

    start: int
    stop: int
    other_stop: int


class Row(NamedTuple):
    """The verdict on one row.

    Attributes:
        reencoded: encode(decode(ids)).
        unknown: Positions of ids outside the vocabulary.
        difference: Where the two disagree, None if they do not.
        artefact: It drifts only because of spaces beside control tokens.
        encoded_bytes: Length of all text that was encoded for the verdict.
    """

    reencoded: list[int]
    unknown: list[int]
    difference: Difference | None
    artefact: bool
    encoded_bytes: int


FAILED = Row([], [], None, artefact=False, encoded_bytes=0)
"""What the columns hold for a row on which the object failed."""


class Exposed(NamedTuple):
    """The second exposure of one row: what a decode with pipeline options encodes to, and the tokens it dropped."""

    sampled: list[int]
    reencoded: list[int]
    lost: list[int]


class Realised:
    """Columns of realised drift, gathered row by row."""

    def __init__(self) -> None:
        self.errors: list[tuple[int, str]] = []
        self._rows: list[tuple[int, int, int, int]] = []
        self._counts: list[tuple[int, int, int]] = []
        self._spans: list[Difference] = []
        self._span_counts: list[int] = []
        self._causes: list[int] = []
        self._wrong: list[list[int]] = []

    def add(
        self,
        kind: int,
        start: int,
        sampled: list[int],
        trained: list[int],
        masks: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None,
    ) -> None:
        """Add a row: kind, place of the first id kept, both id lists, both masks of the tokens that are the same."""
        difference = None if kind in {IDENTICAL, FAILED_KIND} else difference_of(sampled, trained)
        lost = len(sampled) - len(trained) if kind == TRUNCATED else 0
        self._rows.append((kind, -1 if difference is None else difference.start, start, lost))
        wrong: list[int] = []
        counts = (-1, -1, -1)
        if masks is not None:
            before, after = masks
            wrong = np.flatnonzero(before != after).tolist()
            counts = (int(((before == 0) & (after == 1)).sum()), int(((before == 1) & (after == 0)).sum()), 0)
        self._counts.append(counts)
        self._wrong.append(wrong)
        # What a truncated row lost is no span: everything that is left is as it was.
        spans = [difference] if difference is not None and kind in {RETOKENIZED, REWRITTEN} else []
        self._spans += spans
        self._causes += [_MERGE if kind == RETOKENIZED else _NO_CAUSE] * len(spans)
        self._span_counts.append(len(spans))

    def finished(self) -> RealisedColumns:
        """Give the columns."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        counts = np.array(self._counts, dtype=np.int64).reshape(-1, 3)
        spans = np.array(self._spans, dtype=np.int64).reshape(-1, 3)
        nowhere = np.full(len(spans), -1, dtype=np.int64)
        return {
            "kind": rows[:, 0].astype(np.uint8),
            "first_diff": rows[:, 1].copy(),
            "kept_start": rows[:, 2].copy(),
            "lost": rows[:, 3].copy(),
            "span_offsets": _offsets(self._span_counts),
            "span_token_start": spans[:, 0].copy(),
            "span_token_stop": spans[:, 1].copy(),
            "span_trained_start": spans[:, 0].copy(),
            "span_trained_stop": spans[:, 2].copy(),
            "span_byte_start": nowhere,
            "span_byte_stop": nowhere.copy(),
            "span_cause": np.array(self._causes, dtype=np.uint8),
            "wrong_trained": counts[:, 0].copy(),
            "wrong_untrained": counts[:, 1].copy(),
            "straddling": counts[:, 2].copy(),
            "wrong_offsets": _offsets(list(map(len, self._wrong))),
            "wrong_positions": np.array([place for row in self._wrong for place in row], dtype=np.int64),
            "errors": self.errors,
        }


def rows_of(ids: Ids, offsets: NDArray[np.int64]) -> list[list[int]]:
    """Cut ragged ids into lists.

    Raises:
        ValueError: The offsets do not tile the ids.
    """
    bounds = offsets.tolist()
    if not bounds or bounds[0] != 0 or bounds[-1] != len(ids) or bounds != sorted(bounds):
        raise ValueError("offsets do not tile ids")
    return [ids[start:stop].tolist() for start, stop in pairwise(bounds)]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same


def difference_of(one: list[int], other: list[int]) -> Difference | None:
    """The span between common prefix and common suffix; None where the lists are equal."""
    if one == other:
        return None
    start = _common(one, other)
    suffix = _common(one[start:][::-1], other[start:][::-1])
    return Difference(start, len(one) - suffix, len(other) - suffix)


def audit_columns(
    rows: list[Row],
    exposed: list[Exposed],
    errors: list[tuple[int, str]],
    joins: NDArray[np.int64] | None,
    row_start: NDArray[np.bool_] | None,
) -> AuditColumns:
    """Put verdicts into the columns of `_core.Tokenizer.audit`; no token is placed, so none straddles.

    Args:
        rows: The verdicts.
        exposed: The second exposure of each row; empty where no option asked for it.
        errors: Row and message where the object failed.
        joins: As in `_core.Tokenizer.audit`.
        row_start: Likewise.
    """
    flags = [_flags(each.difference, row, joins, row_start) for row, each in enumerate(rows)]
    columns = {
        **_row_columns(rows),
        **_span_columns(rows, flags),
        **_straddling_columns(len(rows)),
        **_pipeline_columns(exposed),
        "errors": errors,
    }
    return cast("AuditColumns", columns)


def _flags(
    difference: Difference | None,
    row: int,
    joins: NDArray[np.int64] | None,
    row_start: NDArray[np.bool_] | None,
) -> int:
    if difference is None:
        return 0
    join = -1 if joins is None else int(joins[row])
    at_join = join >= 0 and difference.start <= join <= difference.stop
    at_start = row_start is not None and bool(row_start[row]) and difference.start == 0
    return at_join * _AT_SEGMENT_JOIN | at_start * _AT_ROW_START


def _row_columns(rows: list[Row]) -> dict[str, object]:
    def each(value: Callable[[Row], object], dtype: type[np.generic]) -> NDArray[Any]:
        return np.array([value(row) for row in rows], dtype=dtype)

    nothing = np.zeros(len(rows), dtype=np.int64)
    drifting = [row.reencoded if row.difference else [] for row in rows]
    return {
        "engine": np.full(len(rows), _ENGINE, dtype=np.uint8),
        "drifted": each(lambda row: row.difference is not None, np.bool_),
        "artefact": each(lambda row: row.artefact, np.bool_),
        "located": each(lambda row: row.difference is None, np.bool_),
        "invalid_utf8": np.zeros(len(rows), dtype=np.bool_),
        "first_diff": each(lambda row: -1 if row.difference is None else row.difference.start, np.int64),
        "encoded_bytes": each(lambda row: row.encoded_bytes, np.int64),
        "n_owner_crossing": nothing,
        "n_shared_chars": nothing.copy(),
        "reencoded_ids": np.array([id_ for ids in drifting for id_ in ids], dtype=np.uint32),
        "reencoded_offsets": _offsets(list(map(len, drifting))),
        "unknown_positions": np.array([place for row in rows for place in row.unknown], dtype=np.int64),
        "unknown_offsets": _offsets([len(row.unknown) for row in rows]),
    }


def _span_columns(rows: list[Row], flags: list[int]) -> dict[str, object]:
    spans = [(row, flag, row.difference) for row, flag in zip(rows, flags, strict=True) if row.difference is not None]
    causes = [
        _UNKNOWN_ID if any(span.start <= place < span.stop for place in row.unknown) else _MERGE
        for row, _, span in spans
    ]
    places = np.array([span for _, _, span in spans], dtype=np.int64).reshape(-1, 3)
    nowhere = np.full(len(spans), -1, dtype=np.int64)
    return {
        "span_offsets": _offsets([row.difference is not None for row in rows]),
        "span_cause": np.array(causes, dtype=np.uint8),
        "span_flags": np.array([flag for _, flag, _ in spans], dtype=np.uint16),
        "span_token_start": places[:, 0].copy(),
        "span_token_stop": places[:, 1].copy(),
        "span_reencoded_start": places[:, 0].copy(),
        "span_reencoded_stop": places[:, 2].copy(),
        "span_byte_start": nowhere,
        "span_byte_stop": nowhere.copy(),
    }


def _straddling_columns(rows: int) -> dict[str, object]:
    none = np.zeros(0, dtype=np.int64)
    return {
        "straddling_offsets": np.zeros(rows + 1, dtype=np.int64),
        "straddling_index": none,
        "straddling_id": none.astype(np.uint32),
        "straddling_byte_start": none.copy(),
        "straddling_byte_stop": none.copy(),
        "straddling_byte_offsets": np.zeros(1, dtype=np.int64),
        "straddling_mask": none.astype(np.int8),
        "straddling_owner": none.astype(np.int16),
    }


def _pipeline_columns(exposed: list[Exposed]) -> dict[str, object]:
    differences = [difference_of(each.sampled, each.reencoded) for each in exposed]
    causes = [
        _NO_CAUSE if span is None else _SPECIAL_SKIPPED if each.lost else _MERGE
        for span, each in zip(differences, exposed, strict=True)
    ]
    return {
        "pipeline_drifted": np.array([span is not None for span in differences], dtype=np.bool_),
        "pipeline_first_diff": np.array([-1 if span is None else span.start for span in differences], dtype=np.int64),
        "pipeline_cause": np.array(causes, dtype=np.uint8),
        "pipeline_ids": np.array([id_ for each in exposed for id_ in each.reencoded], dtype=np.uint32),
        "pipeline_offsets": _offsets([len(each.reencoded) for each in exposed]),
        "pipeline_lost_positions": np.array([place for each in exposed for place in each.lost], dtype=np.int64),
        "pipeline_lost_offsets": _offsets([len(each.lost) for each in exposed]),
    }


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
