"""Causes by their sentences: "a span is X iff ...", read off the axis and the wheel, first fit in order of precedence.

Only where every sentence can be decided from outside: models that merge, behind a ByteLevel pre-tokenizer, a Split or
none, with a normalizer that changes nothing, turns spaces into `▁`, or is NFC.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

from tokenizers import Tokenizer

from placed import MARK, nfc_places, stages
from reference import Reference, Row, Span
from tracked import byte_level_bytes, fallback_byte

DECIDABLE = ("NFC", "Prepend", "Replace")


class Causes:
    """The causes of one tokenizer's spans."""

    def __init__(self, reference: Reference) -> None:
        spec = reference.spec
        model = spec["model"]
        self._reference = reference
        self._wheel = reference.wheel
        normalizers = [stage["type"] for stage in stages(spec["normalizer"], "normalizers")]
        self._splits = [split["type"] for split in stages(spec["pre_tokenizer"], "pretokenizers")]
        self._byte_level = "ByteLevel" in self._splits
        self._nfc = "NFC" in normalizers
        self._fallback = bool(model.get("byte_fallback"))
        self._unknown = self._wheel.token_to_id(model["unk_token"]) if model.get("unk_token") else None
        affixes = model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
        self.decidable = (
            reference.model == "BPE"
            and not affixes
            and set(normalizers) <= set(DECIDABLE)
            and (self._byte_level or self._splits in ([], ["Split"]))
            and not ("Split" in self._splits and "Prepend" in normalizers)
            and self._decodes_by_pieces([stage["type"] for stage in stages(spec["decoder"], "decoders")])
        )
        self._pure: Tokenizer | None = None
        if model.get("ignore_merges"):
            plain = {**spec, "model": {**model, "ignore_merges": False}}
            self._pure = Tokenizer.from_str(json.dumps(plain))
        self._reachable = cache(self._is_reachable)

    def _decodes_by_pieces(self, decoders: list[str]) -> bool:
        """Whether text is what the pieces stand for, one behind the other."""
        sentencepiece = ["Replace", "ByteFallback", "Fuse"]
        return decoders == ["ByteLevel"] if self._byte_level else decoders[:3] == sentencepiece

    def of(self, row: Row, spans: Sequence[Span]) -> list[str]:
        """The codes of a row's spans."""
        return [self._of(row, span, self._around(row, spans, at)) for at, span in enumerate(spans)]

    def _around(self, row: Row, spans: Sequence[Span], at: int) -> tuple[bytes, bytes]:
        """The surfaces of both sides of the run of neighbouring spans that a span is in."""
        first, last = at, at
        while first and _touch(spans[first - 1], spans[first]):
            first -= 1
        while last + 1 < len(spans) and _touch(spans[last], spans[last + 1]):
            last += 1
        ours = row.ids[spans[first].token_start : spans[last].token_stop]
        theirs = row.reencoded[spans[first].reencoded_start : spans[last].reencoded_stop]
        return self._surface(ours), self._surface(theirs)

    def _of(self, row: Row, span: Span, around: tuple[bytes, bytes]) -> str:
        ours = row.ids[span.token_start : span.token_stop]
        theirs = row.reencoded[span.reencoded_start : span.reencoded_stop]
        before, after = self._surface(ours), self._surface(theirs)
        sentences: dict[str, Callable[[], bool]] = {
            "TITO005": lambda: any(span.token_start <= at < span.token_stop for at in row.unknown),
            "TITO204": lambda: self._unknown in [*ours, *theirs],
            "TITO201": lambda: self._is_bad(row, span),
            "TITO107": lambda: any(self._is_control(token) for token in [*ours, *theirs]),
            "TITO202": lambda: self._nfc and self._is_changed(row, span),
            "TITO207": lambda: self._is_spacing(row, span),
            # Where a neighbour has the space instead, it only moved.
            "TITO203": lambda: (before == b" " + after or after == b" " + before) and around[0] != around[1],
            "TITO105": lambda: self._fallback and any(self._is_byte(token) for token in ours),
            "TITO106": lambda: len(ours) == len(theirs) == 1 and before == after,
            "TITO102": lambda: self._crosses(row, span),
            "TITO103": lambda: self._is_whole_word(row, span),
            "TITO104": lambda: not all(self._reachable(token) for token in ours),
        }
        return next((code for code, fits in sentences.items() if fits()), "TITO101")

    def _surface(self, ids: Sequence[int]) -> bytes:
        """What the ids stand for by themselves."""
        return b"".join(self._bytes(token) for token in ids)

    def _bytes(self, token: int) -> bytes:
        piece = self._reference.piece(token) or ""
        if self._byte_level:
            return byte_level_bytes(piece)
        byte = fallback_byte(piece) if self._fallback else None
        return piece.replace(MARK, " ").encode() if byte is None else bytes([byte])

    def _is_byte(self, token: int) -> bool:
        return fallback_byte(self._reference.piece(token) or "") is not None

    def _is_control(self, token: int) -> bool:
        return token in self._reference.added and self._bytes(token).decode(errors="replace").strip() != ""

    def _is_bad(self, row: Row, span: Span) -> bool:
        assert row.decoded is not None
        bad = row.decoded.bad
        return bool(bad) and any(
            bad.intersection(behind) for behind in row.decoded.sources[span.byte_start : span.byte_stop]
        )

    def _is_changed(self, row: Row, span: Span) -> bool:
        text = row.text.encode()[span.byte_start : span.byte_stop].decode(errors="replace")
        return bytes(byte for byte, _ in nfc_places(text)) != text.encode()

    def _is_spacing(self, row: Row, span: Span) -> bool:
        if row.artefact or not self._reference.same_added(row.ids, row.reencoded):
            return row.artefact
        runs = self._reference.runs(row.ids)
        return any(back for start, stop, back in runs if start <= span.token_start and span.token_stop <= stop)

    def _found(self, row: Row) -> list[tuple[int, int]]:
        """Where added tokens were found by their own text (merges may give the same ids)."""
        assert row.placed is not None
        data = row.text.encode()
        return [
            (start, stop)
            for token, (start, stop) in zip(row.reencoded, row.placed, strict=True)
            if token in self._reference.added and self._reference.added[token].content.encode() in data[start:stop]
        ]

    def _cuts(self, row: Row) -> list[tuple[int, int]]:
        """The pre-tokens on D."""
        data = row.text.encode()
        edges = [(0, 0), *self._found(row), (len(data), len(data))]
        out: list[tuple[int, int]] = []
        for (_, start), (stop, _) in pairwise(edges):
            out += [(start + first, start + last) for first, last in self._pieces(data[start:stop].decode())]
        return out

    def _pieces(self, segment: str) -> list[tuple[int, int]]:
        """Pre-tokens of a segment: cut where its normalized text is cut, as far as that is a place of the text."""
        if not self._splits:
            return [(0, len(segment.encode()))]
        normal = self._wheel.normalizer.normalize_str(segment) if self._wheel.normalizer else segment
        if self._nfc:
            starts = [place for _, (place, _) in nfc_places(segment)]
            edges = [starts[len(normal[:at].encode())] for at in range(len(normal))]
        else:
            edges = [len(segment[:at].encode()) for at in range(len(segment))]
        edges.append(len(segment.encode()))
        pieces = self._wheel.pre_tokenizer.pre_tokenize_str(normal)
        return [(edges[first], edges[last]) for _, (first, last) in pieces]

    def _crosses(self, row: Row, span: Span) -> bool:
        assert row.sampled is not None
        cuts = {edge for piece in [*self._cuts(row), *self._found(row)] for edge in piece}
        return any(
            start < cut < stop for start, stop in row.sampled[span.token_start : span.token_stop] for cut in cuts
        )

    def _is_whole_word(self, row: Row, span: Span) -> bool:
        if self._pure is None or span.reencoded_stop - span.reencoded_start != 1:
            return False
        assert row.placed is not None
        if row.placed[span.reencoded_start] not in self._cuts(row):
            return False
        token = row.reencoded[span.reencoded_start]
        return [found.id for found in self._pure.model.tokenize(self._reference.piece(token))] != [token]

    def _is_reachable(self, token: int) -> bool:
        piece = self._reference.piece(token)
        return (
            piece is None
            or token in self._reference.added
            or [found.id for found in self._wheel.model.tokenize(piece)] == [token]
        )


def _touch(one: Span, other: Span) -> bool:
    return (one.token_stop, one.reencoded_stop) == (other.token_start, other.reencoded_start)
