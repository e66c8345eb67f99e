"""SentencePiece models, written out as a ``tokenizer.json``.

Pieces, scores and the normalizer's settings come from the model's own protocol buffer, so the result splits as
``SentencePieceProcessor.encode`` does. Control pieces (``<s>``, ``</s>``) and the unknown piece become special added
tokens, as in every published ``tokenizer.json`` made from such a model: SentencePiece never reads them from text and
prints nothing for them, a training pipeline does both. They are left out of the comparison at load, and so are byte
pieces that form no character, of which SentencePiece and the reference print different numbers of U+FFFD.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito_audit.errors import TokenizerError
from tito_audit.loading.comparison import COUNT, Converted, refuse_difference, sequences, texts
from tito_audit.loading.control import ControlIds
from tito_audit.printable import inert

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tito_audit import _core

SUFFIXES = (".model", ".spm")

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_MODELS = {1: "Unigram", 2: "BPE"}
_ALL = 1 << 30
_SPACE = "▁"

Json = dict[str, Any]


def from_file(data: bytes, path: Path) -> Converted:
    """Convert the content of a ``tokenizer.model``.

    Raises:
        TokenizerError: It is none, a kind without a counterpart in the reference, or the packages that read it are
            missing.
    """
    import msgspec  # noqa: PLC0415 - importing the package must not load it

    name = inert(str(path))
    proto, processor = _opened(data, name)
    _refuse_what_has_no_counterpart(proto, name)
    parts = {
        "version": "1.0",
        "added_tokens": _added(proto),
        "normalizer": _sequence("normalizers", _normalizers(proto)),
        "pre_tokenizer": _pre_tokenizer(proto),
        "decoder": _sequence("decoders", list(_decoders(proto))),
        "model": _unigram(proto) if _MODELS[proto.trainer_spec.model_type] == "Unigram" else _bpe(proto),
    }
    ids = {"bos": [processor.bos_id()], "eos": [processor.eos_id()], "pad": [processor.pad_id()]}
    control = ControlIds.of({group: [id_ for id_ in found if id_ >= 0] for group, found in ids.items()})
    return Converted(msgspec.json.encode(parts), control, lambda core: _compare(core, proto, processor, name))


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
    return proto, processor


def _refuse_what_has_no_counterpart(proto: Any, name: str) -> None:  # noqa: ANN401 - a generated class
    kind = proto.trainer_spec.model_type
    what = None
    if kind not in _MODELS:
        what = "a model of words or characters"
    elif proto.trainer_spec.treat_whitespace_as_suffix:
        what = "white space as a suffix of words"
    elif proto.denormalizer_spec.precompiled_charsmap:
        what = "a denormalizer"
    elif len({piece.piece for piece in proto.pieces}) < len(proto.pieces):
        what = "two pieces that are spelled alike"
    if what is not None:
        raise TokenizerError(
            f"{name}: {what}: the reference has no counterpart; pass the object "
            "(sentencepiece.SentencePieceProcessor), which is audited slowly but as it is"
        )


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


def _unigram(proto: Any) -> Json:  # noqa: ANN401 - a generated class
    best = max((piece.score for piece in proto.pieces if piece.type == _NORMAL), default=0.0)
    return {
        "type": "Unigram",
        "unk_id": next((id_ for id_, piece in enumerate(proto.pieces) if piece.type == _UNKNOWN), None),
        "vocab": [
            # As SentencePiece scores what its users define: before anything of the same length.
            [piece.piece, len(piece.piece.encode()) * best - 0.1 if piece.type == _USER_DEFINED else piece.score]
            for piece in proto.pieces
        ],
        "byte_fallback": bool(proto.trainer_spec.byte_fallback),
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
    """User-defined pieces are whole words for a BPE wherever their text stands, the longest first."""
    if _MODELS[proto.trainer_spec.model_type] == "Unigram":
        return None  # where their scores say the same
    pieces = sorted((piece.piece for piece in proto.pieces if piece.type == _USER_DEFINED), key=len, reverse=True)
    if not pieces:
        return None
    pattern = "|".join(map(re.escape, pieces))
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


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


def _compare(core: _core.Tokenizer, proto: Any, processor: Any, source: str) -> None:  # noqa: ANN401 - generated classes
    pieces = [id_ for id_, piece in enumerate(proto.pieces) if piece.type in {_NORMAL, _USER_DEFINED}]
    unknown = processor.unk_id()
    drawn = texts()
    encoded = [processor.encode(text) for text in drawn]
    refuse_difference(
        core,
        source,
        encode=processor.encode,
        decode=processor.decode,
        drawn=drawn,
        # An unknown character is printed as "⁇" there and as the piece here; of bytes, only whole characters are drawn.
        rows=[*sequences(pieces, count=COUNT // 2), *(ids for ids in encoded if unknown not in ids)],
    )
