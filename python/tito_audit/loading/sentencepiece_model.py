"""SentencePiece models, written out as a ``tokenizer.json``.

Pieces, scores and the normalizer's settings come from the model's own protocol buffer, so a BPE splits as
``SentencePieceProcessor.encode`` does; what the comparison at load finds to differ (in practice every model with a
character map), and what has no counterpart in the reference (a Unigram model above all), SentencePiece answers itself.
Control pieces (``<s>``, ``</s>``) and the unknown piece become special added
tokens, as in every published ``tokenizer.json`` made from such a model: SentencePiece never reads them from text and
prints nothing for them, a training pipeline does both. They are left out of the comparison at load, and so are byte
pieces that form no character, of which SentencePiece and the reference print different numbers of U+FFFD.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito_audit.errors import TokenizerError
from tito_audit.loading.charsmap import keys
from tito_audit.loading.comparison import COUNT, Converted, DifferenceError, refuse_difference, sequences, texts
from tito_audit.loading.control import ControlIds
from tito_audit.loading.probes import byte_pieces, code_points, normalized
from tito_audit.loading.sentencepiece_object import SentencePiece
from tito_audit.printable import inert

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tito_audit import _core

SUFFIXES = (".model", ".spm")

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_UNIGRAM, _BPE = 1, 2
_ALL = 1 << 30
_SPACE = "▁"
_CHUNK = 64
_LONGEST_RUN = 100

Json = dict[str, Any]


def from_file(data: bytes, path: Path) -> Converted:
    """Convert the content of a ``tokenizer.model``.

    Where that differs from the original, SentencePiece itself is to answer.

    Raises:
        TokenizerError: It is none, or the packages that read it are missing.
    """
    name = inert(str(path))
    proto, processor = _opened(data, name)
    missing = _without_counterpart(proto)
    ids = {"bos": [processor.bos_id()], "eos": [processor.eos_id()], "pad": [processor.pad_id()]}
    control = {id_: piece.piece for id_, piece in enumerate(proto.pieces) if piece.type == _CONTROL}
    return Converted(
        tokenizer_json(proto) if missing is None else DifferenceError(f"the reference has no counterpart to {missing}"),
        ControlIds.of({group: [id_ for id_ in found if id_ >= 0] for group, found in ids.items()}),
        lambda core: _compare(core, proto, processor),
        "The tokenizer.json that your pipeline runs with has all of them",
        original=SentencePiece(processor, control, data),
    )


def tokenizer_json(proto: Any) -> bytes:  # noqa: ANN401 - a generated class
    """Write a model as a ``tokenizer.json``."""
    import msgspec  # noqa: PLC0415 - importing the package must not load it

    parts = {
        "version": "1.0",
        "added_tokens": _added(proto),
        "normalizer": _sequence("normalizers", _normalizers(proto)),
        "pre_tokenizer": _pre_tokenizer(proto),
        "decoder": _sequence("decoders", list(_decoders(proto))),
        "model": _bpe(proto),
    }
    return msgspec.json.encode(parts)


def _opened(data: bytes, name: str) -> tuple[Any, Any]:
    try:
        # Both are lazy: only such a file needs them.
        from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2  # noqa: PLC0415
    except ImportError as error:
        raise TokenizerError(
            f'{name}: a SentencePiece model takes the packages sentencepiece and protobuf: pip install "tito_audit[hf]"'
        ) from error
    try:
        proto = getattr(sentencepiece_model_pb2, "ModelProto").FromString(data)  # noqa: B009 - made at import
        processor = SentencePieceProcessor(model_proto=data)
    except Exception as error:  # the two packages raise types of their own
        raise TokenizerError(
            f"{name}: no SentencePiece model ({inert(str(error))[:200]}); of a file kept by Git LFS it may be the "
            "pointer only"
        ) from error
    if not len(proto.pieces):
        raise TokenizerError(f"{name}: a SentencePiece model without pieces")
    broken = next((id_ for id_, piece in enumerate(proto.pieces) if not isinstance(piece.piece, str)), None)
    if broken is not None:  # protobuf hands over what is no UTF-8 as bytes
        raise TokenizerError(f"{name}: piece {broken} is no UTF-8 text: the file is damaged, get it again")
    return proto, processor


def _without_counterpart(proto: Any) -> str | None:  # noqa: ANN401 - a generated class
    kind = proto.trainer_spec.model_type
    if kind == _UNIGRAM:
        return (
            "a Unigram model of SentencePiece, which adds scores in single precision and so chooses otherwise among "
            'ways to cut a text that score alike, such as "_", "__" and "__", "_"'
        )
    if kind != _BPE:
        return "a model of words or characters"
    if proto.trainer_spec.treat_whitespace_as_suffix:
        return "white space as a suffix of words"
    if proto.denormalizer_spec.precompiled_charsmap:
        return "a denormalizer"
    if len({piece.piece for piece in proto.pieces}) < len(proto.pieces):
        return "two pieces that are spelled alike"
    return None


def _added(proto: Any) -> list[Json]:  # noqa: ANN401 - a generated class
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [
        {"id": id_, "content": piece.piece, **flags}
        for id_, piece in enumerate(proto.pieces)
        if piece.type in {_CONTROL, _UNKNOWN}
    ]


def _bpe(proto: Any) -> Json:  # noqa: ANN401 - a generated class
    """Merge what two pieces make together, the best score first; only normal pieces merge."""
    normal = {piece.piece: (-piece.score, id_) for id_, piece in enumerate(proto.pieces) if piece.type == _NORMAL}
    ranked = [
        (normal[whole], whole[:cut], whole[cut:])
        for whole in normal
        for cut in range(1, len(whole))
        if whole[:cut] in normal and whole[cut:] in normal
    ]
    ranked.sort(key=lambda merge: merge[0])
    return {
        "type": "BPE",
        "unk_token": _unknown_piece(proto),
        "fuse_unk": True,
        "byte_fallback": bool(proto.trainer_spec.byte_fallback),
        # A user-defined piece is a word of its own by then, and no merges lead to it.
        "ignore_merges": any(piece.type == _USER_DEFINED for piece in proto.pieces),
        "vocab": {piece.piece: id_ for id_, piece in enumerate(proto.pieces)},
        "merges": [[left, right] for _, left, right in ranked],
    }


def _unknown_piece(proto: Any) -> str | None:  # noqa: ANN401 - a generated class
    return next((piece.piece for piece in proto.pieces if piece.type == _UNKNOWN), None)


def _normalizers(proto: Any) -> list[Json]:  # noqa: ANN401 - a generated class
    """The normalizer's steps in SentencePiece's order."""
    import base64  # noqa: PLC0415 - only a model with a character map needs it

    spec = proto.normalizer_spec
    steps: list[Json] = []
    if spec.precompiled_charsmap:
        charsmap = base64.b64encode(spec.precompiled_charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if spec.remove_extra_whitespaces:
        # At the end SentencePiece takes its own sign for a space off too.
        ends = rf"\A +|[ {_SPACE}]+\z" if spec.escape_whitespaces else r"\A +| +\z"
        steps += [_replace({"Regex": ends}, ""), _replace({"Regex": " {2,}"}, " ")]
    if spec.add_dummy_prefix:
        steps.append({"type": "Prepend", "prepend": _SPACE if spec.escape_whitespaces else " "})
    if spec.escape_whitespaces:
        steps.append(_replace({"String": " "}, _SPACE))
    return steps


def _pre_tokenizer(proto: Any) -> Json | None:  # noqa: ANN401 - a generated class
    """User-defined pieces are whole words wherever their text stands, the longest first; spelled-out bytes are none."""
    defined = sorted((piece.piece for piece in proto.pieces if piece.type == _USER_DEFINED), key=len, reverse=True)
    if not defined:
        return None
    steps = [_split("|".join(map(re.escape, defined)), "Isolated")]
    if proto.trainer_spec.byte_fallback and (cut := _cut_of_byte_pieces(proto)):
        steps.append(_split(cut, "MergedWithPrevious"))
    return _sequence("pretokenizers", steps)


def _cut_of_byte_pieces(proto: Any) -> str | None:  # noqa: ANN401 - a generated class
    """Where to cut the text ``<0x0A>``, in which SentencePiece sees no piece: where no other reaches across."""
    across = [piece.piece for piece in proto.pieces if piece.type != _BYTE]
    for before, after in (("<", "0x"), ("<0", "x")):
        pair = before[-1] + after[0]
        if not any(pair in spelled for spelled in across):
            return f"{before}(?={after}[0-9A-F]{{2}}>)"
    return None


def _split(pattern: str, behavior: str) -> Json:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def _decoders(proto: Any) -> Iterator[Json]:  # noqa: ANN401 - a generated class
    spec = proto.normalizer_spec
    yield _replace({"String": _SPACE}, " ")
    yield {"type": "ByteFallback"}
    yield {"type": "Fuse"}
    if spec.remove_extra_whitespaces or spec.add_dummy_prefix:
        yield {"type": "Strip", "content": " ", "start": _ALL if spec.remove_extra_whitespaces else 1, "stop": 0}


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _sequence(name: str, steps: Sequence[Json]) -> Json | None:
    return {"type": "Sequence", name: list(steps)} if steps else None


def _compare(core: _core.Tokenizer, proto: Any, processor: Any) -> None:  # noqa: ANN401 - generated classes
    pieces = [id_ for id_, piece in enumerate(proto.pieces) if piece.type in {_NORMAL, _USER_DEFINED}]
    unknown = processor.unk_id()
    drawn = texts()
    encoded = [processor.encode(text) for text in drawn]
    refuse_difference(
        core,
        encode=processor.encode,
        decode=processor.decode,
        drawn=chain(drawn, _probes(proto)),
        # An unknown character is printed as "⁇" there and as the piece here; of bytes, only whole characters are drawn.
        rows=[*sequences(pieces, count=COUNT // 2), *(ids for ids in encoded if unknown not in ids)],
    )


def _probes(proto: Any) -> Iterator[str]:  # noqa: ANN401 - a generated class
    """Texts that show what a normalizer, a byte piece in plain text or a user-defined piece may do otherwise."""
    yield from normalized(keys(proto.normalizer_spec.precompiled_charsmap))
    yield from byte_pieces()
    defined = [piece.piece for piece in proto.pieces if piece.type == _USER_DEFINED]
    yield from defined
    if defined:
        whole = [piece.piece for piece in proto.pieces if piece.type not in {_CONTROL, _UNKNOWN}]
        for start in range(0, len(whole), _CHUNK):
            yield defined[-1].join(["", *whole[start : start + _CHUNK], ""])
    yield from _tied(proto)
    yield from code_points()


def _tied(proto: Any) -> Iterator[str]:  # noqa: ANN401 - a generated class
    """Pieces that score alike, one after the other: SentencePiece joins the leftmost, the reference the first id."""
    scores = Counter(piece.score for piece in proto.pieces if piece.type == _NORMAL)
    tied = [piece.piece for piece in proto.pieces if piece.type == _NORMAL and scores[piece.score] > 1]
    for run in {spelled[0] for spelled in tied if len(set(spelled)) == 1}:
        yield from (f"a{run * length}b" for length in range(1, _LONGEST_RUN))
    draw = random.Random(0)  # noqa: S311 - the same texts every time, no secret
    if tied:
        yield from ("".join(draw.choices(tied, k=draw.randint(2, 8))) for _ in range(COUNT))
