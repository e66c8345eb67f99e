"""Tokenizers of ``tiktoken``, as an object or as a file of ranks, written out as a ``tokenizer.json``.

An encoding is bytes with ranks, a pattern that splits text, and special tokens. The reference says the same with merges
(every cut of a token into two tokens, by the token's rank: of these just one can ever apply), whole words first
(``ignore_merges``), the pattern, and special added tokens. It encodes as ``encode(text, allowed_special="all")`` does.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tito_audit.errors import TokenizerError
from tito_audit.loading.comparison import Converted, refuse_difference, sequences, texts
from tito_audit.loading.control import ControlIds
from tito_audit.loading.probes import code_points
from tito_audit.loading.split_pattern import to_oniguruma
from tito_audit.printable import counted, inert, piece
from tito_audit.records import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tito_audit import _core

SUFFIX = ".tiktoken"
_LINE = re.compile(rb"\s*[A-Za-z0-9+/]+={0,2} \d+\s*(\n|\Z)")
_ID_LIMIT = 1 << 32
_COMPARED_SPECIALS = 2000
_WAY_OUT = (
    "Pass the tokenizer.json that your pipeline runs with, or let the encoding answer itself, slowly: "
    "load_tokenizer(types.SimpleNamespace(encode=enc.encode, decode=enc.decode, n_vocab=enc.n_vocab))"
)

_GPT2_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_GPT4_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_GPT4O_SPLIT = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_END = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_HARMONY = {
    "<|startoftext|>": 199998,
    _END: 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    "<|endofprompt|>": 200018,
}
_LLAMA3 = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|reserved_special_token_0|>",
    "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>",
    "<|step_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    "<|image|>",
)


class Known(NamedTuple):
    """What a file of ranks does not say about itself.

    Attributes:
        pattern: How text is split.
        special: Special tokens and their ids.
        bos: Special tokens that begin a sequence.
        eos: Special tokens that end one, or a turn.
        pad: Special tokens that pad.
    """

    pattern: str
    special: dict[str, int]
    bos: tuple[str, ...] = ()
    eos: tuple[str, ...] = (_END,)
    pad: tuple[str, ...] = ()


def _harmony() -> dict[str, int]:
    taken = set(_HARMONY.values())
    return _HARMONY | {f"<|reserved_{id_}|>": id_ for id_ in range(200000, 201088) if id_ not in taken}


def _llama3() -> dict[str, int]:
    names = [*_LLAMA3, *(f"<|reserved_special_token_{number}|>" for number in range(2, 246))]
    return {name: 128000 + number for number, name in enumerate(names)}


# Hash of the file, then names that tell apart encodings with the same ranks; the first is taken where none fits.
_KNOWN: dict[str, dict[str, Known]] = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": {
        "r50k_base": Known(_GPT2_SPLIT, {_END: 50256})
    },
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": {
        "p50k_base": Known(_GPT2_SPLIT, {_END: 50256}),
        "p50k_edit": Known(_GPT2_SPLIT, {_END: 50256} | dict(zip(_FIM, range(50281, 50284), strict=True))),
    },
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": {
        "cl100k_base": Known(
            _GPT4_SPLIT,
            {_END: 100257} | dict(zip(_FIM, range(100258, 100261), strict=True)) | {"<|endofprompt|>": 100276},
        )
    },
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": {
        "o200k_base": Known(_GPT4O_SPLIT, {_END: 199999, "<|endofprompt|>": 200018}),
        "o200k_harmony": Known(
            _GPT4O_SPLIT, _harmony(), bos=("<|startoftext|>",), eos=(_END, "<|return|>", "<|call|>")
        ),
    },
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": {
        "llama3": Known(
            _GPT4_SPLIT,
            _llama3(),
            bos=("<|begin_of_text|>",),
            eos=("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"),
            pad=("<|finetune_right_pad_id|>",),
        )
    },
}


def is_ranks(data: bytes) -> bool:
    """Say whether a file holds ranks: base64 and a number on its first line."""
    return _LINE.match(data) is not None


def from_encoding(encoding: Any, source: str) -> Converted:  # noqa: ANN401
    """Convert a ``tiktoken.Encoding``; its own special tokens are encoded as such, as ``allowed_special="all"`` does.

    Raises:
        TokenizerError: The reference has no counterpart to it.
    """
    # What the object's own pickling hands out.
    ranks, special, pattern = encoding._mergeable_ranks, encoding._special_tokens, encoding._pat_str  # noqa: SLF001
    printed = {id_: encoding.decode([id_]) for id_ in special.values()}
    kept = {name: id_ for name, id_ in special.items() if special.get(printed[id_]) != id_ or printed[id_] == name}
    twice = [f"{piece(name.encode())} ({special[name]})" for name in special if name not in kept]
    known = [known for by_name in _KNOWN.values() for label, known in by_name.items() if label == encoding.name]
    return Converted(
        tokenizer_json(ranks, pattern, kept, source),
        _control(special, known[0] if known else Known("", {})),
        lambda core: _compare(core, encoding, kept),
        f"{_WAY_OUT} for the encoding enc",
        warning=f"{inert(source)}: special tokens with the id of another one are read as ordinary text, since the "
        f"reference knows one text for an id: {', '.join(twice[:5])}"
        if twice
        else None,
    )


def from_file(data: bytes, path: Path) -> Converted:
    """Convert a file of ranks whose pattern and special tokens are known by its hash.

    It is compared with ``tiktoken`` where that is installed.

    Raises:
        TokenizerError: A line is broken, or nothing is known about the file.
    """
    name = inert(str(path))
    ranks = parse(data, name)
    by_name = _KNOWN.get(hashlib.sha256(data).hexdigest())
    if by_name is None:
        raise TokenizerError(
            f"{name}: a file of tiktoken ranks ({counted(len(ranks), 'token')}) that is none of the known ones, and "
            "such a file says neither how text is split nor which special tokens there are; build it yourself and pass "
            "the object: "
            'tiktoken.Encoding("name", pat_str=..., mergeable_ranks=tiktoken.load.load_tiktoken_bpe(path), '
            "special_tokens={...}); a tokenizer.json of the same model will do as well"
        )
    matching = sorted((label for label in by_name if label in path.name.lower()), key=len)
    known = by_name[matching[-1] if matching else next(iter(by_name))]
    written = tokenizer_json(ranks, known.pattern, known.special, name)
    return Converted(
        written,
        _control(known.special, known),
        lambda core: _compare_installed(core, ranks, known),
        f"{_WAY_OUT} for enc = tiktoken.Encoding(...), made of these ranks",
    )


def parse(data: bytes, name: str) -> dict[bytes, int]:
    """Read a file of ranks: base64 of a token, a space and its rank on each line.

    Raises:
        TokenizerError: With the line, where one is something else, or says again what another has said.
    """
    ranks: dict[bytes, int] = {}
    lines: dict[int, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            encoded, rank_text = line.split()
            token = binascii.a2b_base64(encoded, strict_mode=True)
            if not (token and rank_text.isdigit()):
                raise ValueError  # noqa: TRY301 - the one message is below
            rank = int(rank_text)
        except ValueError as error:
            raise TokenizerError(
                f"{name}:{number}: {shown(line[:60].decode('latin-1'))} where the base64 of a token and its rank are "
                "needed; download the file again"
            ) from error
        if token in ranks or rank in lines:
            earlier = lines[rank if rank in lines else ranks[token]]
            raise TokenizerError(
                f"{name}:{number}: {'rank' if rank in lines else 'token'} of line {earlier} again; a rank is an id, so "
                "both must be unique"
            )
        ranks[token] = rank
        lines[rank] = number
    return ranks


def tokenizer_json(ranks: Mapping[bytes, int], pattern: str, special: Mapping[str, int], source: str) -> bytes:
    """Write ranks, pattern and special tokens as a ``tokenizer.json``.

    Raises:
        TokenizerError: A byte has no token, an id is none or is taken twice, or a special token is spelled like one of
            the ranks.
    """
    import msgspec  # noqa: PLC0415 - importing the package must not load it

    alphabet = _alphabet()
    vocab = {token.decode("latin-1").translate(alphabet): rank for token, rank in ranks.items()}
    _refuse_what_cannot_be(ranks, vocab, special, source)
    merges = []
    # In the order of ranks: a merge's place in the list is its priority.
    for spelled in sorted(vocab, key=vocab.__getitem__):
        for cut in range(1, len(spelled)):
            left = spelled[:cut]
            if left in vocab and (right := spelled[cut:]) in vocab:
                merges.append((left, right))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": to_oniguruma(pattern)}, "behavior": "Isolated", "invert": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    # Special tokens stand in the vocabulary too: only so they keep their ids where numbers between are left out. No
    # text reaches them there, since theirs is cut out of it first.
    model = {"type": "BPE", "ignore_merges": True, "vocab": {**vocab, **special}, "merges": merges}
    return msgspec.json.encode(
        {
            "version": "1.0",
            "added_tokens": [{"id": id_, "content": content, **flags} for content, id_ in special.items()],
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
            "decoder": byte_level,
            "model": model,
        }
    )


def _control(special: Mapping[str, int], known: Known) -> ControlIds:
    groups = {"bos": known.bos, "eos": known.eos, "pad": known.pad}
    return ControlIds.of({group: [special.get(name) for name in names] for group, names in groups.items()})


def _refuse_what_cannot_be(
    ranks: Mapping[bytes, int], vocab: Mapping[str, int], special: Mapping[str, int], source: str
) -> None:
    missing = next((byte for byte in range(256) if bytes([byte]) not in ranks), None)
    if missing is not None:
        raise TokenizerError(
            f"{inert(source)}: no rank for the single byte 0x{missing:02X}; text that holds it has no ids"
        )
    ids = [*ranks.values(), *special.values()]
    wrong = next((id_ for id_ in ids if not 0 <= id_ < _ID_LIMIT), None)
    if wrong is not None:
        raise TokenizerError(f"{inert(source)}: {shown(wrong)} is no id (integers from 0 to {_ID_LIMIT - 1})")
    taken = set(ranks.values())
    if len(taken) < len(ranks):
        raise TokenizerError(
            f"{inert(source)}: {counted(len(ranks) - len(taken), 'token')} with a rank that another one has"
        )
    for content, id_ in special.items():
        if id_ in taken or content in vocab or not content:
            raise TokenizerError(
                f"{inert(source)}: the special token {piece(content.encode())} has the id or the spelling of an "
                "ordinary token, which the reference cannot tell apart"
            )


def _alphabet() -> dict[int, int]:
    """The letter that a byte-level vocabulary writes each byte as."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: 256 + place for place, byte in enumerate(others)}


def _compare(core: _core.Tokenizer, encoding: Any, special: Mapping[str, int]) -> None:  # noqa: ANN401
    surfaces = list(special)[:_COMPARED_SPECIALS]
    ids = [*encoding._mergeable_ranks.values(), *special.values()]  # noqa: SLF001 - as above
    refuse_difference(
        core,
        encode=lambda text: encoding.encode(text, allowed_special="all"),
        decode=encoding.decode,
        drawn=[*texts(surfaces=surfaces), *(f"a {surface} b" for surface in surfaces), *code_points()],
        rows=sequences(ids, each=[special[surface] for surface in surfaces]),
    )


def _compare_installed(core: _core.Tokenizer, ranks: dict[bytes, int], known: Known) -> None:
    try:
        from tiktoken import Encoding  # noqa: PLC0415 - compared with where it is installed, needed nowhere
    except ImportError:
        return
    original = Encoding("ranks", pat_str=known.pattern, mergeable_ranks=ranks, special_tokens=known.special)
    _compare(core, original, known.special)
