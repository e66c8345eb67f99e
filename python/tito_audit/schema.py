"""The shapes of what this package writes for other programs, and their JSON Schemas (in the folder ``schemas``).

``report-1.json`` is what ``tito-audit check --output-format json`` writes; ``rollout-1.json`` is one record of the
native format. A test keeps the files in step with the types here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from msgspec import Meta

Id: TypeAlias = str | int | None
_MOST = (1 << 63) - 1

Count: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST)]
MaskCount: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST)] | None
"""Null where no row has a mask."""


class TokenizerDict(TypedDict):
    """The tokenizer of the audit."""

    source: str
    sha256: str
    vocab_size: Count
    changed: list[str]
    engine: Literal["fast", "reference", "python"]
    not_fast: Annotated[str, Meta(description="why no fast engine judges")] | None


class ColumnsDict(TypedDict):
    """Columns that sources were read by: role to name, number of sources, the first of them."""

    columns: dict[str, str]
    sources: Count
    first: str


class NoteDict(TypedDict):
    """What to know about sources."""

    text: str
    sources: Count
    first: str


class UncheckedDict(TypedDict):
    """A source that could not be read, or not to its end."""

    source: str
    code: str | None
    message: str


class PlaceDict(TypedDict):
    """Source and number of a row; null for a finding about the whole dataset."""

    source: str | None
    row: int | None


class CodeDict(TypedDict):
    """How often a code was found: in rows of ``rows_checked``, TITO001, 002, 016, 017, 019 in rows of ``rows``."""

    name: str
    severity: Literal["error", "warning", "note"]
    rows: Count
    findings: Count
    tokens: Count | None
    accepted_rows: Annotated[
        int, Meta(ge=0, le=_MOST, description="rows in which the baseline has all findings of the code")
    ]
    first: PlaceDict


class TurnDict(TypedDict):
    """One turn, over all rows that have it; drift_rows are a share of its rows, and so are the tokens of its tokens."""

    turn: int
    rows: Count
    drift_rows: Count
    trainable_tokens: MaskCount
    drift_trainable_tokens: MaskCount


class StatisticsDict(TypedDict):
    """Counts over the dataset; what each one is a share of stands beside it."""

    rows: Annotated[Count, Meta(description="rows read")]
    rows_checked: Annotated[Count, Meta(description="rows audited; row rates are over these")]
    rows_skipped: Annotated[Count, Meta(description="rows that could not be audited, of rows")]
    rows_by_engine: Annotated[dict[str, Count], Meta(description="of rows_checked: fast, reference, python")]
    rechecked: Annotated[
        Count, Meta(description="of the fast engine's rows; judged again by the reference, as time allows")
    ]
    tokens: Annotated[Count, Meta(description="sampled tokens of the rows checked, prompts included")]
    trainable_tokens: Annotated[Count, Meta(description="those with mask 1; token rates are over these")] | None
    drift_rows: Annotated[Count, Meta(description="of rows_checked")]
    drift_tokens: Annotated[Count, Meta(description="of tokens")]
    drift_trainable_tokens: Annotated[Count, Meta(description="of trainable_tokens")] | None
    silent_drift_rows: Annotated[Count, Meta(description="of drift_rows")]
    artefact_rows: Annotated[Count, Meta(description="of rows_checked; in no count of drift")]
    pipeline_drift_rows: Annotated[Count, Meta(description="of rows_checked; null unless asked for")] | None
    straddling_tokens: Annotated[Count, Meta(description="re-encoded tokens; null without a mask")] | None
    owner_crossing_tokens: Annotated[Count, Meta(description="re-encoded tokens; null without mask and owners")] | None
    shared_characters: Annotated[Count, Meta(description="characters; null without mask and owners")] | None
    accepted_drift_rows: Annotated[Count, Meta(description="of drift_rows; ignored or in the baseline")]
    accepted_pipeline_drift_rows: Annotated[Count, Meta(description="of pipeline_drift_rows; ignored")]
    realised_rows: Annotated[Count, Meta(description="of compared_rows; null where that is 0")] | None
    realised_by_kind: dict[str, Count]
    compared_rows: Annotated[Count, Meta(description="of rows_checked; rows that say what was trained")]
    invalid_utf8_rows: Annotated[Count, Meta(description="of rows_checked")]
    row_start_spans: Annotated[Count, Meta(description="spans; in no count of drift")]
    length_delta: Annotated[int, Meta(ge=-_MOST, le=_MOST, description="re-encoded minus sampled tokens")]
    length_delta_abs_max: Count
    rows_without_mask: Annotated[Count, Meta(description="of rows_checked")]
    rows_without_context: Annotated[Count, Meta(description="of rows_checked")]
    rows_from_mask: Annotated[Count, Meta(description="of rows_checked; turns are runs of mask 1")]
    rows_unplaced: Annotated[Count, Meta(description="of drift_rows; no straddling is known")]
    rows_unpadded: Annotated[Count, Meta(description="of rows_checked; padding was removed")]
    by_code: dict[str, CodeDict]
    by_turn: list[TurnDict]


class WorstDict(TypedDict):
    """One of the rows that drift most."""

    source: str
    row: int
    id: Id
    tokens: Count
    trainable_tokens: MaskCount
    drift_tokens: Count
    drift_trainable_tokens: MaskCount
    straddling_tokens: MaskCount
    codes: list[str]


class IdsDict(TypedDict):
    """The first ids concerned, and how many there are; an integer of hundreds of digits is a text."""

    ids: list[int | str]
    count: Count


class PositionsDict(TypedDict):
    """The first positions concerned, and how many there are."""

    listed: list[int]
    count: Count


class FindingDict(TypedDict):
    """One thing to know about one row. Positions count from the first prompt id, bytes from the start of the text."""

    code: str
    name: str
    severity: Literal["error", "warning", "note"]
    message: str
    cause: str | None
    source: str | None
    row: int | None
    id: Id
    column: str | None
    turn: int | None
    token_start: int | None
    token_stop: int | None
    byte_start: int | None
    byte_stop: int | None
    first_diff: int | None
    sampled: IdsDict
    reencoded: IdsDict
    owners: list[int]
    positions: PositionsDict
    padded_positions: list[int]
    flags: list[str]
    context: list[str]


class TimingDict(TypedDict):
    """How long it took; the only part that two runs over one input do not share."""

    seconds: Annotated[float, Meta(ge=0, le=1e12)]


class ReportDict(TypedDict):
    """A report. ``success``: everything was checked and nothing is over the bar."""

    format: Literal["tito_audit/report"]
    format_version: Literal[1]
    version: str
    tokenizers_version: str
    success: bool
    fail_on: Literal["realised", "drift", "never"]
    over_the_bar: list[str]
    partial: bool
    tokenizer: TokenizerDict
    columns: list[ColumnsDict]
    notes: list[str]
    source_notes: list[NoteDict]
    unchecked: list[UncheckedDict]
    statistics: StatisticsDict
    worst: list[WorstDict]
    findings: Annotated[list[FindingDict], Meta(description="kept findings, by source, row and token")]
    findings_total: Annotated[Count, Meta(description="findings there are")]
    max_findings: Annotated[Count, Meta(description="most that are kept")]
    timing: TimingDict


def json_schema(shape: Any, title: str) -> dict[str, Any]:  # noqa: ANN401 - a type
    """Return the JSON Schema of one of the shapes.

    Args:
        shape: A type of this module.
        title: What it is.
    """
    import msgspec  # noqa: PLC0415 - beside its use

    schema = msgspec.json.schema(shape)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | schema
