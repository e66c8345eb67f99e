"""Rewrites that are known and accepted: a baseline keeps old drift from failing a check, so that new drift does.

A rewrite is what a drift span turns into what: the code, the sampled ids and the re-encoded ids. The row that it is
found in is no part of it, so a baseline holds for datasets to come, and only for the tokenizer that it was made with.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.batch import Batch
from tito_audit.errors import ReportError
from tito_audit.printable import inert
from tito_audit.stored_json import Kind, read_stored, shaped
from tito_audit.whole_file import write_whole

KIND = Kind("tito_audit/baseline", 1, "baseline", " of an audit", "write one with check --write-baseline")

_WRITTEN_OUT = 64
"""Ids of one side up to which a rewrite is written out; a longer one (a row that cannot be taken apart) is hashed."""


class Rewrite(NamedTuple):
    """What a drift span turns into what.

    Attributes:
        code: Code of the cause.
        sampled: The sampled ids, or the hash of very many.
        reencoded: Likewise, what they come back as.
    """

    code: str
    sampled: tuple[int, ...] | str
    reencoded: tuple[int, ...] | str


class Baseline:
    """A set of rewrites of one tokenizer."""

    def __init__(self, sha256: str, rewrites: Iterable[Rewrite] = ()) -> None:
        """Hold rewrites of the tokenizer with a digest."""
        self.sha256 = sha256
        self.rewrites = set(rewrites)

    @classmethod
    def load(cls, path: str | os.PathLike[str], sha256: str) -> Baseline:
        """Read a baseline.

        Args:
            path: What `save` wrote.
            sha256: Digest of the tokenizer of the audit.

        Raises:
            ReportError: It cannot be read, is no baseline or a damaged one, or was made with another tokenizer; the
                message names the file and, of a damaged one, the field.
        """
        found = read_stored(path, KIND)
        from tito_audit.auditing.baseline_shape import BaselineDict  # noqa: PLC0415 - it brings msgspec

        data, name = shaped(found, BaselineDict, KIND, source=os.fsdecode(path)), inert(os.fsdecode(path))
        made_with = data["tokenizer_sha256"]
        if made_with != sha256:
            raise ReportError(
                f"{name}: made with another tokenizer (sha256 {inert(made_with)[:8]}, this one has {sha256[:8]}); "
                "write a new one with --write-baseline"
            )
        return cls(
            sha256,
            (Rewrite(code, _hashable(one), _hashable(other)) for code, one, other in data["rewrites"]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline, the same rewrites always as the same bytes.

        Raises:
            OSError: It cannot be written.
        """
        lines = ",\n  ".join(json.dumps(each) for each in sorted(self.rewrites, key=repr))
        head = {"format": KIND.format, "format_version": KIND.version, "tokenizer_sha256": self.sha256}
        write_whole(Path(path), f'{json.dumps(head)[:-1]}, "rewrites": [\n  {lines}\n]}}\n')

    def add(self, batch: Batch) -> None:
        """Take up every drift span of a batch."""
        self.rewrites.update(rewrites_of(batch))

    def holds(self, batch: Batch) -> NDArray[np.bool_]:
        """Say of each drift span of a batch whether the baseline has its rewrite."""
        return np.fromiter((each in self.rewrites for each in rewrites_of(batch)), dtype=np.bool_)


def rewrites_of(batch: Batch) -> list[Rewrite]:
    """Return the rewrite of each drift span of a batch."""
    columns = batch.columns
    row = np.repeat(np.arange(len(batch)), batch.n_spans)
    first, first_reencoded = batch.offsets[row], columns["reencoded_offsets"][row]
    places = zip(
        columns["span_cause"].tolist(),
        (first + columns["span_token_start"]).tolist(),
        (first + columns["span_token_stop"]).tolist(),
        (first_reencoded + columns["span_reencoded_start"]).tolist(),
        (first_reencoded + columns["span_reencoded_stop"]).tolist(),
        strict=True,
    )
    return [
        Rewrite(_core.CAUSES[cause], _side(batch.ids[a:b]), _side(columns["reencoded_ids"][c:d]))
        for cause, a, b, c, d in places
    ]


def _side(ids: NDArray[np.integer]) -> tuple[int, ...] | str:
    if len(ids) <= _WRITTEN_OUT:
        return tuple(ids.tolist())
    return f"{len(ids)} ids {hashlib.sha256(ids.astype(np.int64).tobytes()).hexdigest()[:32]}"


def _hashable(side: str | list[int]) -> str | tuple[int, ...]:
    return side if isinstance(side, str) else tuple(side)
