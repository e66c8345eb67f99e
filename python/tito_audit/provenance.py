"""Who wrote each byte and each character of the decoded text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tito_audit._core import characters
from tito_audit.check import pool_size
from tito_audit.lazy import lazy
from tito_audit.printable import counted
from tito_audit.ragged import aligned, row_index, to_rows
from tito_audit.records import to_ids, to_mask, to_owners
from tito_audit.tokenizer import Tokenizer, engine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tito_audit._core import CharacterColumns, ProvenanceColumns

SHARED = -1
"""Owner of a byte or character that several owners produced."""
NO_OWNERS = np.empty(0, dtype=np.int16)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Provenance:
    """Owner and sampled token of every byte and character of D = decode(ids, skip_special_tokens=False).

    Attributes:
        text: D.
        byte_owner: ``int16`` per UTF-8 byte of D, -1 for a byte of a U+FFFD that several owners produced; None where
            neither mask nor owners were given.
        byte_token: ``int32`` per byte: position of the (first) sampled token that produced it.
        char_owner: ``int16`` per character (code point) of D, -1 where its bytes have several owners; or None.
        char_token: ``int32`` per character: token of its first byte.
        char_byte: ``int32`` per character: offset of its first byte on D.
    """

    text: str
    byte_owner: NDArray[np.int16] | None
    byte_token: NDArray[np.int32]
    char_owner: NDArray[np.int16] | None
    char_token: NDArray[np.int32]
    char_byte: NDArray[np.int32]

    @property
    def runs(self) -> tuple[tuple[int, int, int], ...]:
        """Maximal runs of one owner as ``(owner, char_start, char_stop)``; empty without owners."""
        if self.char_owner is None or not len(self.char_owner):
            return ()
        starts = [0, *(np.flatnonzero(np.diff(self.char_owner)) + 1).tolist()]
        stops = [*starts[1:], len(self.char_owner)]
        return tuple(zip(self.char_owner[starts].tolist(), starts, stops, strict=True))

    @property
    def shared_tokens(self) -> tuple[int, ...]:
        """Positions of the sampled tokens that produced bytes of shared characters, ascending."""
        if self.char_owner is None:
            return ()
        shared = self.char_owner == SHARED
        lengths = np.diff(self.char_byte, append=len(self.byte_token))
        return tuple(np.unique(self.byte_token[np.repeat(shared, lengths)]).tolist())

    def __repr__(self) -> str:
        """Count characters, bytes and runs."""
        sizes = [counted(len(self.text), "character"), counted(len(self.byte_token), "byte")]
        if self.char_owner is not None:
            sizes.append(counted(len(self.runs), "run"))
        return f"<Provenance {', '.join(sizes)}>"


class ProvenanceBatch:
    """`Provenance` of many rows as ragged columns; ``batch[i]`` is one row.

    The columns per character are computed when one of them is first asked for.

    Attributes:
        text_bytes: ``uint8``, D of all rows end to end, UTF-8.
        byte_offsets: ``int64``, shape ``(rows + 1,)``, of the columns per byte.
        byte_owner: ``int16`` per byte, or None.
        byte_token: ``int32`` per byte; positions count from the first id of the row.
        errors: Row to message where the reference failed to decode, or where the row has more than 2,147,483,647 tokens
            or bytes of text; such a row has no text.
    """

    def __init__(self, columns: ProvenanceColumns, *, owned: bool, threads: int = 1) -> None:
        """Name the columns of the core."""
        self.text_bytes = columns["text_bytes"]
        self.byte_offsets = columns["byte_offsets"]
        self.byte_owner = columns["byte_owner"] if owned else None
        self.byte_token = columns["byte_token"]
        self.errors = dict(columns["errors"])
        self._threads = threads

    @property
    def char_offsets(self) -> NDArray[np.int64]:
        """``int64``, shape ``(rows + 1,)``, of the columns per character."""
        return self._characters["char_offsets"]

    @property
    def char_owner(self) -> NDArray[np.int16] | None:
        """``int16`` per character, -1 where its bytes have several owners; or None."""
        return None if self.byte_owner is None else self._characters["char_owner"]

    @property
    def char_token(self) -> NDArray[np.int32]:
        """``int32`` per character: token of its first byte."""
        return self._characters["char_token"]

    @property
    def char_byte(self) -> NDArray[np.int32]:
        """``int32`` per character: its first byte; offsets count from the start of the row's D."""
        return self._characters["char_byte"]

    @lazy
    def _characters(self) -> CharacterColumns:
        owner = NO_OWNERS if self.byte_owner is None else self.byte_owner
        return characters(self.text_bytes, self.byte_offsets, self.byte_token, owner, threads=self._threads)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.byte_offsets) - 1

    def __getitem__(self, row: int) -> Provenance:
        """Return one row; negative indices count from the end.

        Raises:
            IndexError: No such row.
            TypeError: No row number; slices are not supported.
            TokenizerError: The reference failed on the row.
        """
        index = row_index(row, len(self), self.errors)
        of_bytes = slice(*self.byte_offsets[index : index + 2].tolist())
        of_chars = slice(*self.char_offsets[index : index + 2].tolist())
        return Provenance(
            text=self.text_bytes[of_bytes].tobytes().decode(),
            byte_owner=None if self.byte_owner is None else self.byte_owner[of_bytes],
            byte_token=self.byte_token[of_bytes],
            char_owner=None if self.char_owner is None else self.char_owner[of_chars],
            char_token=self.char_token[of_chars],
            char_byte=self.char_byte[of_chars],
        )

    def __iter__(self) -> Iterator[Provenance]:
        """Go through the rows."""
        return map(self.__getitem__, range(len(self)))

    def __repr__(self) -> str:
        """Count rows and bytes."""
        return f"<ProvenanceBatch {counted(len(self), 'row')}, {counted(len(self.text_bytes), 'byte')}>"


def provenance(token_ids: object, tok: Tokenizer, *, mask: object = None, owners: object = None) -> Provenance:
    """Say which sampled token and which owner produced each byte and each character of the decoded text.

    Use it to build a loss mask on text, to colour a transcript, or to see which characters no mask can cut.

    Args:
        token_ids: As in `tito_audit.check`, shape ``(tokens,)``.
        tok: What `load_tokenizer` returns.
        mask: One value per token, as in `tito_audit.check`; the owners are then 0 and 1.
        owners: Number from 0 to 255 per token; they win over a mask.

    Raises:
        RecordError: An id is no integer, lengths differ, a mask value has no meaning, or an owner is not from 0 to 255.
        TokenizerError: ``tok`` is no loaded tokenizer, or the reference fails to decode.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
        >>> bpe.decoder = decoders.Fuse()
        >>> tok = tito.load_tokenizer(bpe)
        >>> tito.provenance([0, 1, 1], tok, mask=[0, 1, 1]).runs
        ((0, 0, 1), (1, 1, 3))
    """
    engine = engine_of(tok)
    ids = to_ids(token_ids).ids
    owner = to_owners(owners, len(ids)) if owners is not None else None
    if mask is not None:
        zero_one = to_mask(mask, len(ids))  # A wrong mask is refused even where owners win over it.
        owner = zero_one if owner is None else owner
    offsets = np.array([0, len(ids)], dtype=np.int64)
    return ProvenanceBatch(engine.core.provenance(ids, offsets, owners=owner, threads=1), owned=owner is not None)[0]


def provenance_batch(
    rows: object, tok: Tokenizer, *, mask: object = None, owners: object = None, threads: int | None = None
) -> ProvenanceBatch:
    """Say the same as `provenance` for many rows at once, over a pool of threads and without the GIL.

    Args:
        rows: As in `tito_audit.check_batch`.
        tok: What `load_tokenizer` returns.
        mask: As in `tito_audit.check_batch`.
        owners: As in `tito_audit.check_batch`; they win over a mask.
        threads: Size of the pool; default: the processors this process may use.

    Raises:
        RecordError: As in `provenance`, with the row.
        TokenizerError: ``tok`` is no loaded tokenizer.
        TypeError: ``threads`` is no integer.
        ValueError: ``threads`` is below 1.
    """
    engine = engine_of(tok)
    ids, offsets, _ = to_rows(rows)
    owner = aligned(owners, offsets, to_owners, column="owners") if owners is not None else None
    if mask is not None:
        zero_one = aligned(mask, offsets, to_mask, column="mask")
        owner = zero_one if owner is None else owner
    pool = pool_size(threads)
    columns = engine.core.provenance(ids, offsets, owners=owner, threads=pool)
    return ProvenanceBatch(columns, owned=owner is not None, threads=pool)
