"""The engine for an object with ``encode`` and ``decode``: its own round trip is the verdict, one row after another.

Nothing is known about how the object works, so nothing is said about it: a drifting row has one span, from the first
difference to the common suffix, without a place on the text. Its cause is ``unknown-id`` where an id outside the
vocabulary stands in it and else ``merge``, which claims least: that is what a span without any other cause is called.
No token is called straddling. Artefact rows are told as everywhere, by the added tokens that the object names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tito_audit.errors import TokenizerError
from tito_audit.loading.python_columns import (
    FAILED,
    FAILED_KIND,
    IDENTICAL,
    RETOKENIZED,
    REWRITTEN,
    TRUNCATED,
    Exposed,
    Realised,
    Row,
    audit_columns,
    difference_of,
    rows_of,
)
from tito_audit.loading.python_object import ID_LIMIT, PythonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tito_audit._core import AuditColumns, Engine, ProvenanceColumns, RealisedColumns
    from tito_audit.records import Ids


class PythonEngine:
    """What `_core.Tokenizer` is for the package, over an object of Python. It pickles as the object does."""

    changed: tuple[str, ...] = ()
    """Nothing of an object is changed."""

    def __init__(self, obj: object) -> None:
        """Wrap an object.

        Raises:
            TokenizerError: Its methods do not give ids and text.
        """
        self._object = PythonObject(obj)
        self._added = {token.id for token in self._object.added}
        self._special = frozenset(token.id for token in self._object.added if token.special)
        self._borders = {token.id for token in self._object.added if not token.strips}

    @property
    def obj(self) -> object:
        """The object itself."""
        return self._object.obj

    @property
    def sha256(self) -> str:
        """Hash of what identifies the object (see `PythonObject.sha256`)."""
        return self._object.sha256

    @property
    def vocab_size(self) -> int:
        """Number of ids; 0 where the object does not tell (then no id counts as unknown)."""
        return self._object.vocab_size or 0

    @property
    def model(self) -> str:
        """Name of the object's type."""
        return type(self.obj).__name__

    @property
    def added_tokens(self) -> list[tuple[int, str, bool]]:
        """``(id, content, special)`` of every added token that the object names, by id."""
        return [(token.id, token.content, token.special) for token in self._object.added]

    def token_bytes(self, id: int) -> bytes | None:  # noqa: A002 - as in the core
        """What the object prints for the id alone, in UTF-8; None where it prints nothing sensible."""
        if self._is_unknown(id):
            return None
        try:
            return self._object.decode([id]).encode("utf-8", "surrogatepass")
        except TokenizerError:
            return None

    def decode(self, ids: Ids, *, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False) -> str:
        """Decode as the object does; ids outside the vocabulary decode to nothing.

        Raises:
            TokenizerError: The object raises or gives no text.
        """
        known = [id_ for id_ in ids.tolist() if not self._is_unknown(id_)]
        return self._object.decode(
            known, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=clean_up_tokenization_spaces
        )

    def encode(self, text: str) -> NDArray[np.uint32]:
        """Encode as the object does, without adding special tokens.

        Raises:
            TokenizerError: The object raises or gives no ids.
        """
        return self._object.encode(text)

    def audit(
        self,
        ids: Ids,
        offsets: NDArray[np.int64],
        *,
        mask: NDArray[np.uint8] | None = None,  # noqa: ARG002 - no token is placed, so none straddles
        owners: NDArray[np.uint8] | None = None,  # noqa: ARG002 - as above
        joins: NDArray[np.int64] | None = None,
        row_start: NDArray[np.bool_] | None = None,
        threads: int = 1,  # noqa: ARG002 - an object of Python is asked by one
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool = False,
        engine: Engine = "auto",  # noqa: ARG002 - there is no other
    ) -> AuditColumns:
        """Judge every row; arguments and columns as in `_core.Tokenizer.audit`.

        Raises:
            TokenizerError: The object's ``decode`` does not take a pipeline option that is on.
        """
        pipeline = {
            "skip_special_tokens": skip_special_tokens,
            "clean_up_tokenization_spaces": clean_up_tokenization_spaces,
        }
        if any(pipeline.values()):
            self._object.decode([], **pipeline)  # which refuses what the object does not take
        rows: list[Row] = []
        exposed: list[Exposed] = []
        errors: list[tuple[int, str]] = []
        for row, sampled in enumerate(rows_of(ids, offsets)):
            try:
                judged = self._judge(sampled)
                again = self._expose(sampled, pipeline)
            except TokenizerError as error:
                judged, again = FAILED, Exposed([], [], [])
                errors.append((row, str(error)))
            rows.append(judged)
            if any(pipeline.values()):
                exposed.append(again)
        return audit_columns(rows, exposed, errors, joins, row_start)

    def provenance(self, *args: object, **options: object) -> ProvenanceColumns:
        """Refuse: which token printed which byte is nothing that such an object tells.

        Raises:
            TokenizerError: Always.
        """
        del args, options
        raise TokenizerError(
            f"no provenance for {self.model}: an object with encode and decode does not tell which token printed which "
            "byte; load the same tokenizer from a tokenizer.json"
        )

    def realised(
        self,
        ids: Ids,
        offsets: NDArray[np.int64],
        trained: Ids,
        trained_offsets: NDArray[np.int64],
        *,
        mask: NDArray[np.uint8] | None = None,
        train_mask: NDArray[np.uint8] | None = None,
        threads: int = 1,  # noqa: ARG002 - as above
    ) -> RealisedColumns:
        """Compare what was trained with what was sampled; columns as in `_core.Tokenizer.realised`.

        Masks are compared where the trained tokens are sampled ones (identical and truncated rows); elsewhere nobody
        can place them, and the counts are -1.
        """
        columns = Realised()
        for row, (sampled, seen) in enumerate(
            zip(rows_of(ids, offsets), rows_of(trained, trained_offsets), strict=True)
        ):
            start = 0
            try:
                kind, start = self._kind(sampled, seen)
            except TokenizerError as error:
                kind = FAILED_KIND
                columns.errors.append((row, str(error)))
            masks = None
            if mask is not None and train_mask is not None and kind in {IDENTICAL, TRUNCATED}:
                first, last = int(trained_offsets[row]), int(trained_offsets[row + 1])
                origin = int(offsets[row]) + start
                masks = (mask[origin : origin + last - first], train_mask[first:last])
            columns.add(kind, start, sampled, seen, masks)
        return columns.finished()

    def _judge(self, sampled: list[int]) -> Row:
        unknown = [position for position, id_ in enumerate(sampled) if self._is_unknown(id_)]
        text = self._decoded(sampled)
        reencoded = self._object.encode(text).tolist()
        difference = difference_of(sampled, reencoded)
        size = len(text.encode("utf-8", "surrogatepass"))
        artefact = difference is not None and self._is_artefact(sampled, reencoded)
        return Row(reencoded, unknown, difference, artefact, size if difference is None else 2 * size)

    def _is_artefact(self, sampled: list[int], reencoded: list[int]) -> bool:
        """All added ids came back, and every run between those that do not strip comes back equal by itself."""
        if [id_ for id_ in sampled if id_ in self._added] != [id_ for id_ in reencoded if id_ in self._added]:
            return False
        cuts = [-1, *(place for place, id_ in enumerate(sampled) if id_ in self._borders), len(sampled)]
        if len(cuts) == 2:
            return False
        runs = (sampled[start + 1 : stop] for start, stop in pairwise(cuts))
        return all(self._object.encode(self._decoded(run)).tolist() == run for run in runs)

    def _expose(self, sampled: list[int], options: dict[str, bool]) -> Exposed:
        if not any(options.values()):
            return Exposed([], [], [])
        skipped = self._special if options["skip_special_tokens"] else frozenset()
        lost = [place for place, id_ in enumerate(sampled) if id_ in skipped]
        return Exposed(sampled, self._object.encode(self._decoded(sampled, **options)).tolist(), lost)

    def _kind(self, sampled: list[int], trained: list[int]) -> tuple[int, int]:
        """Kind of realised drift, and where in the sampled ids the trained ones begin."""
        if sampled == trained:
            return IDENTICAL, 0
        size = len(trained)
        if size < len(sampled) and sampled[:size] == trained:
            return TRUNCATED, 0
        if size < len(sampled) and sampled[len(sampled) - size :] == trained:
            return TRUNCATED, len(sampled) - size
        return (RETOKENIZED if self._decoded(sampled) == self._decoded(trained) else REWRITTEN), 0

    def _decoded(self, ids: list[int], **options: bool) -> str:
        return self._object.decode([id_ for id_ in ids if not self._is_unknown(id_)], **options)

    def _is_unknown(self, id_: int) -> bool:
        size = self._object.vocab_size
        if not 0 <= id_ < ID_LIMIT:
            return True
        return size is not None and id_ >= size and id_ not in self._added
