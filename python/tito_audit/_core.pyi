"""The Rust core: what an id sequence turns into, and where it differs.

Rows arrive as ragged arrays: ``ids`` holds all rows end to end and row ``i`` is ``ids[offsets[i]:offsets[i + 1]]``.
Answers leave as columns. Nothing here formats text for people; that is the package's part.
"""

from typing import Literal, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

__version__: str
TOKENIZERS_VERSION: str
"""Version of the ``tokenizers`` crate that is linked in, such as ``"0.23.2"``."""
DEBUG_BUILD: bool
"""True where the core was built without optimisation (an order of magnitude slower)."""
CAUSES: tuple[str, ...]
"""Codes of the causes (``"TITO005"``, ``"TITO204"``, ...) in order of precedence; ``span_cause`` indexes it."""
ENGINES: tuple[str, ...]
"""Names of the engines that answer, ``("reference", "fast")``; the column ``engine`` indexes it."""
FLAGS: tuple[str, ...]
"""Names of the span flags, lowest bit first; ``span_flags`` is their bit set."""

Engine: TypeAlias = Literal["auto", "fast", "reference"]
"""Which engine may answer: the fast one where it is proven, the same but refused where it is not, or the reference."""

Ids: TypeAlias = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint32]

class AuditColumns(TypedDict):
    """What `Tokenizer.audit` returns: one set of arrays per row, per span and per straddling token."""

    # one entry per row
    engine: NDArray[np.uint8]
    """Index into `ENGINES`: which one answered. No part of the verdict."""
    drifted: NDArray[np.bool_]
    artefact: NDArray[np.bool_]
    located: NDArray[np.bool_]
    """False where the reference cannot place the re-encoded tokens on the axis (byte offsets of spans are -1)."""
    invalid_utf8: NDArray[np.bool_]
    first_diff: NDArray[np.int64]
    """-1 where the row is clean."""
    encoded_bytes: NDArray[np.int64]
    """Bytes of text that were encoded to judge the row: the work it took, no part of the verdict.

    By the reference the length of D for a clean row, and up to three times that to explain drift; by the fast engine
    what had to be looked at closely.
    """
    n_owner_crossing: NDArray[np.int64]
    n_shared_chars: NDArray[np.int64]
    # ragged: re-encoded ids of the drifting rows; nothing for a clean row, whose own ids they are
    reencoded_ids: NDArray[np.uint32]
    reencoded_offsets: NDArray[np.int64]
    # ragged: positions of ids outside the vocabulary
    unknown_positions: NDArray[np.int64]
    unknown_offsets: NDArray[np.int64]
    # ragged: drift spans; positions count from the row's first id, bytes from the start of D
    span_offsets: NDArray[np.int64]
    span_cause: NDArray[np.uint8]
    span_flags: NDArray[np.uint16]
    span_token_start: NDArray[np.int64]
    span_token_stop: NDArray[np.int64]
    span_reencoded_start: NDArray[np.int64]
    span_reencoded_stop: NDArray[np.int64]
    span_byte_start: NDArray[np.int64]
    span_byte_stop: NDArray[np.int64]
    # ragged: straddling tokens (none without a mask)
    straddling_offsets: NDArray[np.int64]
    straddling_index: NDArray[np.int64]
    straddling_id: NDArray[np.uint32]
    straddling_byte_start: NDArray[np.int64]
    straddling_byte_stop: NDArray[np.int64]
    # ragged inside a straddling token: one entry per byte it covers
    straddling_byte_offsets: NDArray[np.int64]
    straddling_mask: NDArray[np.int8]
    """0 or 1; -1 for a byte that tokens of both mask values produced together."""
    straddling_owner: NDArray[np.int16]
    """Owner; -1 for a byte that several owners produced together."""
    # the second exposure; empty unless an option asked for it
    pipeline_drifted: NDArray[np.bool_]
    pipeline_first_diff: NDArray[np.int64]
    pipeline_cause: NDArray[np.uint8]
    """Index into `CAUSES`; 255 where the row is clean."""
    pipeline_ids: NDArray[np.uint32]
    pipeline_offsets: NDArray[np.int64]
    pipeline_lost_positions: NDArray[np.int64]
    pipeline_lost_offsets: NDArray[np.int64]
    # rows on which the reference itself failed (its other columns are neutral)
    errors: list[tuple[int, str]]

class ProvenanceColumns(TypedDict):
    """What `Tokenizer.provenance` returns: every byte of D with its owner and sampled token."""

    text_bytes: NDArray[np.uint8]
    byte_offsets: NDArray[np.int64]
    byte_owner: NDArray[np.int16]
    """-1 where several owners produced the byte together (a shared U+FFFD); empty without owners."""
    byte_token: NDArray[np.int32]
    """Index in the row of the (first) sampled token that produced the byte."""
    errors: list[tuple[int, str]]

class CharacterColumns(TypedDict):
    """What `characters` returns: every character of D with its owner and sampled token."""

    char_offsets: NDArray[np.int64]
    char_owner: NDArray[np.int16]
    """-1 where the character's bytes have several owners; empty without owners."""
    char_token: NDArray[np.int32]
    char_byte: NDArray[np.int32]
    """Offset in the row's D of the character's first byte."""

def characters(
    text_bytes: NDArray[np.uint8],
    byte_offsets: NDArray[np.int64],
    byte_token: NDArray[np.int32],
    byte_owner: NDArray[np.int16],
    *,
    threads: int = 1,
) -> CharacterColumns:
    """Give owner and sampled token of every character of rows whose bytes `Tokenizer.provenance` gave; without the GIL.

    Raises `ValueError` where the columns do not fit together.
    """

class RealisedColumns(TypedDict):
    """What `Tokenizer.realised` returns: what the trainer scored beside what was sampled, per row and per span."""

    # one entry per row
    kind: NDArray[np.uint8]
    """0 identical, 1 retokenized, 2 truncated, 3 rewritten; 255 where the reference failed: the ids differ somehow."""
    first_diff: NDArray[np.int64]
    """-1 where the row is identical, and where the reference failed."""
    kept_start: NDArray[np.int64]
    """Index in the sampled ids where the trained ids begin: 0 unless the row is truncated at its start."""
    lost: NDArray[np.int64]
    """Sampled tokens that a truncated row lost."""
    wrong_trained: NDArray[np.int64]
    """Trained tokens with mask 1 over bytes of mask 0; -1 where a mask is missing."""
    wrong_untrained: NDArray[np.int64]
    """Trained tokens with mask 0 over bytes of mask 1; -1 likewise."""
    straddling: NDArray[np.int64]
    """Trained tokens over bytes of both mask values, for which no value is right; -1 likewise."""
    # ragged: positions, among the trained ids, of the tokens with a wrong mask
    wrong_positions: NDArray[np.int64]
    wrong_offsets: NDArray[np.int64]
    # ragged: where the ids differ; none for a truncated row
    span_offsets: NDArray[np.int64]
    span_cause: NDArray[np.uint8]
    """Index into `CAUSES`; 255 where the text changed."""
    span_token_start: NDArray[np.int64]
    span_token_stop: NDArray[np.int64]
    span_trained_start: NDArray[np.int64]
    span_trained_stop: NDArray[np.int64]
    span_byte_start: NDArray[np.int64]
    """-1 where there is no common axis."""
    span_byte_stop: NDArray[np.int64]
    # rows on which the reference itself failed
    errors: list[tuple[int, str]]

def integers(items: object) -> NDArray[np.int64] | None:
    """A list or tuple of integers as an array; None where an entry is no plain ``int`` of 64 bits."""

def integer_rows(rows: list[object]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """A list of such lists and tuples as an array of all and the offsets of the rows; None likewise."""

@final
class Tokenizer:
    """A ``tokenizer.json`` in the reference engine, with our own table from ids to bytes. Immutable, thread-safe."""

    @staticmethod
    def from_json(data: bytes, *, encode_special_tokens: bool = False, ignore_dropout: bool = False) -> Tokenizer:
        """Load a serialised tokenizer; truncation and padding are cleared.

        Raises `tito_audit.errors.TokenizerError` for a file that the reference cannot load, and for ``dropout > 0``
        unless ``ignore_dropout``.
        """
    @property
    def vocab_size(self) -> int:
        """Number of ids, added tokens included."""
    @property
    def model(self) -> str:
        """``"BPE"``, ``"Unigram"``, ``"WordPiece"`` or ``"WordLevel"``."""
    @property
    def changed(self) -> list[str]:
        """What loading changed: ``"truncation"``, ``"padding"``, ``"dropout"``."""
    @property
    def added_tokens(self) -> list[tuple[int, str, bool]]:
        """``(id, content, special)`` of every added token, by id."""
    @property
    def fast(self) -> bool:
        """Whether a fast engine is proven to answer as the reference does."""
    @property
    def not_fast(self) -> str | None:
        """Why none is, None where one is."""
    @property
    def demoted(self) -> bool:
        """Whether the self-test at load took the fast engine away: ``not_fast`` has what it found."""
    def token_bytes(self, id: int) -> bytes | None:
        """Bytes that the id stands for by itself (a space for a `▁` that means one), or None outside the vocabulary."""
    def decode(self, ids: Ids, *, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False) -> str:
        """Decode as the reference does; ids outside the vocabulary decode to nothing."""
    def encode(self, text: str) -> NDArray[np.uint32]:
        """Encode as the reference does, without adding special tokens."""
    def audit(
        self,
        ids: Ids,
        offsets: NDArray[np.int64],
        *,
        mask: NDArray[np.uint8] | None = None,
        owners: NDArray[np.uint8] | None = None,
        joins: NDArray[np.int64] | None = None,
        row_start: NDArray[np.bool_] | None = None,
        threads: int = 1,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool = False,
        engine: Engine = "auto",
    ) -> AuditColumns:
        """Judge every row; the GIL is released.

        ``mask`` is 0 or 1 per id. ``owners`` default to the mask. ``joins[i]`` is the number of prompt ids of row ``i``
        (-1: no join); ``row_start[i]`` says that the row lacks its context. The last two set the span flags
        ``at_segment_join`` and ``at_row_start``. A set pipeline option fills the ``pipeline_*`` columns.

        Raises `ValueError` where ``offsets`` do not tile ``ids`` or an array has another length, and
        `tito_audit.errors.TokenizerError` where ``engine`` is ``"fast"`` and none is proven.
        """
    def provenance(
        self,
        ids: Ids,
        offsets: NDArray[np.int64],
        *,
        owners: NDArray[np.uint8] | None = None,
        threads: int = 1,
    ) -> ProvenanceColumns:
        """Give owner and sampled token of every byte of each row; the GIL is released.

        A row of more than 2,147,483,647 tokens or bytes has no bytes and an entry in ``errors``.
        """
    def realised(
        self,
        ids: Ids,
        offsets: NDArray[np.int64],
        trained: Ids,
        trained_offsets: NDArray[np.int64],
        *,
        mask: NDArray[np.uint8] | None = None,
        train_mask: NDArray[np.uint8] | None = None,
        threads: int = 1,
    ) -> RealisedColumns:
        """Compare every row of sampled ids with what was trained in its place; the GIL is released.

        Ids are compared as integers: two of them outside the vocabulary are the same only if they are equal. ``mask``
        is 0 or 1 per id, ``train_mask`` per trained id.

        Raises `ValueError` where offsets do not tile their ids, an array has another length, or the numbers of rows
        differ.
        """
