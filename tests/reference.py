"""An independent brute force: what the product must answer, by definition and over the PyPI wheel.

Nothing here is fast and nothing here looks at the product. The verdict is the wheel's own round trip; `tracked`
says which tokens made each byte of D; `Placer` finds the re-encoded tokens on D; spans, straddling tokens,
provenance and artefact rows follow by loops over single bytes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from tokenizers import AddedToken, Tokenizer

from placed import Placer, Range
from tracked import Decoded, Sources, Tracker, Unsupported

MODELS_WITHOUT_PLACE = ("Unigram", "WordPiece", "WordLevel")
"""Models whose re-encoded tokens nobody can place once a normalizer has changed the text."""
IDS = range(2**32)
"""What the wheel takes for an id; it decodes any other integer to an exception, we to nothing."""
SHARED = -1


@dataclass(frozen=True)
class Span:
    """A drift span: tokens of both sides, and bytes of D."""

    token_start: int
    token_stop: int
    reencoded_start: int
    reencoded_stop: int
    byte_start: int
    byte_stop: int
    trimmed: bool = field(default=False, compare=False)
    """Equal ids were trimmed off its start, so that its first byte lies somewhere inside the cell."""


@dataclass(frozen=True)
class Straddle:
    """A re-encoded token whose bytes have both mask values."""

    index: int
    id: int
    byte_start: int
    byte_stop: int
    masks: tuple[int, ...]
    owners: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One row, judged. Fields that are None cannot be known for this tokenizer."""

    ids: list[int]
    text: str
    reencoded: list[int]
    unknown: list[int]
    artefact: bool
    changed: bool
    """The normalizer changes the text."""
    decoded: Decoded | None
    sampled: list[Range] | None
    placed: list[Range] | None

    @property
    def drifted(self) -> bool:
        """Whether the round trip gives other ids."""
        return self.ids != self.reencoded

    @property
    def first_diff(self) -> int:
        """First index where the lists disagree, -1 where they are equal."""
        if not self.drifted:
            return -1
        for index, (one, other) in enumerate(zip(self.ids, self.reencoded, strict=False)):
            if one != other:
                return index
        return min(len(self.ids), len(self.reencoded))


class Reference:
    """A ``tokenizer.json`` in the PyPI wheel, with what its parts say about the axis."""

    def __init__(self, source: str, *, encode_special_tokens: bool = False) -> None:
        self.spec: dict[str, Any] = json.loads(source)
        self.spec["model"]["dropout"] = None
        self.wheel = Tokenizer.from_str(json.dumps(self.spec))
        self.wheel.no_truncation()
        self.wheel.no_padding()
        self.wheel.encode_special_tokens = encode_special_tokens
        self.model: str = self.spec["model"].get("type") or "BPE"
        # The crate numbers added tokens itself where the model does not know them; the ids of the file are not binding.
        self.added: dict[int, AddedToken] = self.wheel.get_added_tokens_decoder()
        self._placer = Placer(self.wheel, self.spec)
        self._pieces: dict[int, str | None] = {}
        try:
            self._tracker: Tracker | None = Tracker(self.spec["decoder"])
        except Unsupported:
            self._tracker = None

    def piece(self, token: int) -> str | None:
        """The wheel's string for an id, None where there is none."""
        if token not in self._pieces:
            self._pieces[token] = self.wheel.id_to_token(token) if token in IDS else None
        return self._pieces[token]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode with special tokens kept; what is no id decodes to nothing."""
        text: str = self.wheel.decode([token for token in ids if token in IDS], skip_special_tokens=False)
        return text

    def encode(self, text: str) -> list[int]:
        """Encode without adding special tokens."""
        ids: list[int] = self.wheel.encode(text, add_special_tokens=False).ids
        return ids

    def judge(self, ids: Sequence[int]) -> Row:
        """Judge one row."""
        return self.judge_many([ids])[0]

    def judge_many(self, rows: Sequence[Sequence[int]]) -> list[Row]:
        """Judge rows; only the round trips themselves go through the wheel's batch calls."""
        valid = [[token for token in ids if token in IDS] for ids in rows]
        texts = self.wheel.decode_batch(valid, skip_special_tokens=False)
        encodings = self.wheel.encode_batch_fast(texts, add_special_tokens=False)
        return [
            self._judge(list(ids), text, encoding.ids)
            for ids, text, encoding in zip(rows, texts, encodings, strict=True)
        ]

    def _judge(self, ids: list[int], text: str, reencoded: list[int]) -> Row:
        decoded = self.follow(ids, text)
        return Row(
            ids=ids,
            text=text,
            reencoded=reencoded,
            unknown=[index for index, token in enumerate(ids) if self.piece(token) is None],
            artefact=self._is_artefact(ids, reencoded),
            changed=self._changes(text, reencoded),
            decoded=decoded,
            sampled=None if decoded is None else ranges(len(ids), decoded.sources),
            placed=self._placer.place(text, reencoded),
        )

    def follow(self, ids: Sequence[int], text: str) -> Decoded | None:
        """Say which tokens made each byte of ``text``, None where the decoder cannot be followed."""
        if self._tracker is None:
            return None
        pieces = [(index, piece) for index, token in enumerate(ids) if (piece := self.piece(token)) is not None]
        decoded = self._tracker.decode(pieces)
        if decoded.data != text.encode():
            raise AssertionError(f"the reference misreads this decoder: {ids} -> {text!r}, not {decoded.data!r}")
        return decoded

    def _changes(self, text: str, reencoded: list[int]) -> bool:
        """Whether the normalizer changes a segment between added tokens that are found in the text as it is."""
        if self.wheel.normalizer is None:
            return False
        segments, at = [], 0
        for token in reencoded:
            added = self.added.get(token)
            if added and not added.normalized and (found := text.find(added.content, at)) >= 0:
                segments.append(text[at:found].rstrip() if added.lstrip else text[at:found])
                at = found + len(added.content)
                at += len(text[at:]) - len(text[at:].lstrip()) if added.rstrip else 0
        segments.append(text[at:])
        return any(self.wheel.normalizer.normalize_str(segment) != segment for segment in segments)

    def borders(self, ids: Sequence[int]) -> list[int]:
        """Positions of the added tokens that neither strip to the left nor to the right."""
        return [
            index
            for index, token in enumerate(ids)
            if token in self.added and not self.added[token].lstrip and not self.added[token].rstrip
        ]

    def runs(self, ids: Sequence[int]) -> list[tuple[int, int, bool]]:
        """The runs between borders, empty ones too: first token, one past the last, and whether it comes back equal."""
        edges = [-1, *self.borders(ids), len(ids)]
        return [
            (start + 1, stop, self.encode(self.decode(ids[start + 1 : stop])) == list(ids[start + 1 : stop]))
            for start, stop in pairwise(edges)
        ]

    def same_added(self, ids: Sequence[int], reencoded: Sequence[int]) -> bool:
        """Whether both sides hold the same added tokens in the same order."""
        return [token for token in ids if token in self.added] == [t for t in reencoded if t in self.added]

    def _is_artefact(self, ids: list[int], reencoded: list[int]) -> bool:
        if ids == reencoded or not self.same_added(ids, reencoded):
            return False
        return all(equal for _, _, equal in self.runs(ids))


def ranges(tokens: int, sources: Sequence[Sources]) -> list[Range]:
    """Half-open byte range of every sampled token; a token behind no byte stands where the one before it ended."""
    spans: list[Range | None] = [None] * tokens
    for offset, behind in enumerate(sources):
        for token in behind:
            known = spans[token]
            spans[token] = (offset, offset + 1) if known is None else (known[0], offset + 1)
    out: list[Range] = []
    end = 0
    for known in spans:
        out.append(known or (end, end))
        end = max(end, out[-1][1])
    return out


def drift_spans(row: Row) -> list[Span] | None:
    """The spans of a row by definition, None where a side cannot be placed on D."""
    if not row.drifted:
        return []
    if row.sampled is None or row.placed is None:
        return None
    crossed = [False] * (len(row.text.encode()) + 1)
    for start, stop in [*row.sampled, *row.placed]:
        for offset in range(start + 1, stop):
            crossed[offset] = True
    ours, theirs = _group(row.sampled, crossed), _group(row.placed, crossed)
    out: list[Span] = []
    left = right = 0
    for key in sorted({*ours, *theirs}):
        mine, other = ours.get(key, []), theirs.get(key, [])
        stop = key[0] + 1
        while key[1] and crossed[stop]:
            stop += 1
        cell = (key[0], stop if key[1] else key[0])
        if key[1]:
            if [row.ids[i] for i in mine] != [row.reencoded[j] for j in other]:
                out.append(Span(left, left + len(mine), right, right + len(other), *cell))
        else:
            out += _empty_spans(row, left, left + len(mine), right, right + len(other), key[0])
        left, right = left + len(mine), right + len(other)
    return [_trim(row, span) for span in out]


def _group(placed: Sequence[Range], crossed: Sequence[bool]) -> dict[tuple[int, int], list[int]]:
    """Tokens by cell: ``(first byte, 1)``, or ``(offset, 0)`` for tokens without bytes on a cut."""

    def cell(offset: int) -> tuple[int, int]:
        while crossed[offset]:
            offset -= 1
        return (offset, 1)

    keys = [cell(start) if start < stop or crossed[start] else (start, 0) for start, stop in placed]
    full = [index for index, (start, stop) in enumerate(placed) if start < stop]
    for one, other in pairwise(full):
        if keys[one] == keys[other]:
            keys[one:other] = [keys[one]] * (other - one)
    groups: dict[tuple[int, int], list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    if sorted(groups) != list(groups):
        raise AssertionError(f"tokens out of order on the axis: {placed}")
    return groups


def _empty_spans(row: Row, left: int, left_stop: int, right: int, right_stop: int, at: int) -> list[Span]:
    """Tokens without bytes at one offset: equal ids are one token, each other one is a span of its own."""
    pairs: list[tuple[int, int]] = []
    start = left
    for index in range(right, right_stop):
        same = [other for other in range(start, left_stop) if row.ids[other] == row.reencoded[index]]
        if same:
            pairs.append((same[0], index))
            start = same[0] + 1
    out: list[Span] = []
    for one, other in [*pairs, (left_stop, right_stop)]:
        out += [Span(index, index + 1, right, right, at, at) for index in range(left, one)]
        out += [Span(one, one, index, index + 1, at, at) for index in range(right, other)]
        left, right = one + 1, other + 1
    return out


def _trim(row: Row, span: Span) -> Span:
    """Trim the leading run of equal ids off a span."""
    ours = row.ids[span.token_start : span.token_stop]
    theirs = row.reencoded[span.reencoded_start : span.reencoded_stop]
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    if same == 0:
        return span
    return replace(span, token_start=span.token_start + same, reencoded_start=span.reencoded_start + same, trimmed=True)


def owners_of(decoded: Decoded, owners: Sequence[int]) -> list[set[int]]:
    """Owners of every byte of D."""
    return [{owners[token] for token in behind} for behind in decoded.sources]


def single(values: set[int]) -> int:
    """The one value, or `SHARED`."""
    return next(iter(values)) if len(values) == 1 else SHARED


def straddling(row: Row, mask: Sequence[int], owners: Sequence[int]) -> tuple[list[Straddle], int] | None:
    """Straddling tokens, and how many tokens have several owners under one mask value.

    A clean row has neither: its re-encoded tokens are its sampled tokens, and each has its mask.
    """
    if row.decoded is None or row.placed is None:
        return None
    if not row.drifted:
        return [], 0
    masks, by_owner = owners_of(row.decoded, mask), owners_of(row.decoded, owners)
    out: list[Straddle] = []
    crossing = 0
    for index, (start, stop) in enumerate(row.placed):
        if len(set().union(*masks[start:stop])) > 1:
            per_byte = tuple(single(values) for values in masks[start:stop])
            per_owner = tuple(single(values) for values in by_owner[start:stop])
            out.append(Straddle(index, row.reencoded[index], start, stop, per_byte, per_owner))
        elif len(set().union(*by_owner[start:stop])) > 1:
            crossing += 1
    return out, crossing


@dataclass(frozen=True)
class Provenance:
    """Owner and token of every byte, and owner, token and first byte of every character."""

    byte_owner: list[int]
    byte_token: list[int]
    char_owner: list[int]
    char_token: list[int]
    char_byte: list[int]


def provenance(row: Row, owners: Sequence[int]) -> Provenance | None:
    """Provenance of D, None where the decoder cannot be followed."""
    return None if row.decoded is None else provenance_of(row.text, row.decoded, owners)


def provenance_of(text: str, decoded: Decoded, owners: Sequence[int]) -> Provenance:
    """Provenance by definition, byte by byte and character by character."""
    sets = owners_of(decoded, owners)
    tokens = [min(behind) for behind in decoded.sources]
    starts = [len(text[:index].encode()) for index in range(len(text) + 1)]
    chars = list(pairwise(starts))
    return Provenance(
        byte_owner=[single(values) for values in sets],
        byte_token=tokens,
        char_owner=[single(set().union(*sets[start:stop])) for start, stop in chars],
        char_token=[tokens[start] for start, _ in chars],
        char_byte=[start for start, _ in chars],
    )
