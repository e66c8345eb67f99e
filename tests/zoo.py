"""One small tokenizer of every kind, trained on ``corpus.txt``: what the truth of the verdicts is tested on.

`zoo` gives each kind's ``tokenizer.json`` text by name. The texts are the same in every process, and kept under
``.cache`` by a hash of this script, the corpus and the trainer's version.
"""

import hashlib
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

CORPUS = Path(__file__).with_name("corpus.txt")
CACHE = Path(__file__).parents[1] / ".cache"

# Windows line ends and lone control characters stand here, since editors and git would change them in the corpus.
TEXT = CORPUS.read_text(encoding="utf-8") + "one\r\ntwo\r\n\r\nthree\r\n\x07bell\x1b[0m\x7f\n"
LINES = TEXT.splitlines(keepends=True)
BLOCKS = ["".join(LINES[i : i + 12]) for i in range(0, len(LINES), 12)]

GPT4_SPLIT = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIALS = ("<unk>", "<s>", "</s>")

# Every flag of an added token, surfaces that overlap, and surfaces of white space alone.
ADDED = (
    AddedToken("<|start|>", special=True),
    AddedToken("<|end|>", special=True),
    AddedToken("<|end|><|start|>", special=True),
    AddedToken("<tool>", special=False, normalized=False),
    AddedToken("<left>", special=True, lstrip=True),
    AddedToken("<right>", special=True, rstrip=True),
    AddedToken("<both>", special=False, lstrip=True, rstrip=True, normalized=False),
    AddedToken("whole", special=False, single_word=True, normalized=False),
    AddedToken("<one>", special=True, single_word=True, rstrip=True),
    AddedToken("abc", special=False, normalized=False),
    AddedToken("abcd", special=False, normalized=False),
    AddedToken("cde", special=False, normalized=False),
    AddedToken("Norm", special=False, normalized=True),
    AddedToken("Café", special=False, normalized=True),
    AddedToken("   ", special=False, normalized=False),
    AddedToken("\n\n", special=False, normalized=False),
    AddedToken("\t", special=False, normalized=True),
    AddedToken("日本", special=False, normalized=False),
)

Spec = dict[str, Any]


def _train(tokenizer: Tokenizer, trainer: trainers.Trainer, texts: Sequence[str] = BLOCKS) -> Spec:
    tokenizer.train_from_iterator(texts, trainer)
    spec: Spec = json.loads(tokenizer.to_str())
    return spec


def _text(spec: Spec | Tokenizer, added: Sequence[AddedToken] = ()) -> str:
    """Serialise, after a round through the wheel that shows the file to be loadable."""
    tokenizer = spec if isinstance(spec, Tokenizer) else Tokenizer.from_str(json.dumps(spec))
    tokenizer.add_tokens(list(added))
    return tokenizer.to_str(pretty=False)


def _bytelevel(
    pre_tokenizer: pre_tokenizers.PreTokenizer,
    *,
    normalizer: normalizers.Normalizer | None = None,
    vocab_size: int = 1500,
    all_bytes: bool = True,
) -> Spec:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if all_bytes else []
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet)
    return _train(tokenizer, trainer)


def _common(limit: int) -> list[str]:
    """The corpus without its rarest characters (the trainer's own limit breaks ties by a hash map's order)."""
    counts = Counter(TEXT)
    rare = {ord(char) for char in sorted(counts, key=lambda char: (-counts[char], char))[limit:]}
    return [block.translate(dict.fromkeys(rare)) for block in BLOCKS]


def _append(spec: Spec, piece: str) -> None:
    """Give the vocabulary one entry more, without a merge that makes it."""
    spec["model"]["vocab"][piece] = len(spec["model"]["vocab"])


def _gpt2() -> Spec:
    return _bytelevel(pre_tokenizers.ByteLevel(add_prefix_space=False))


def _split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def _bytes_after(*splits: pre_tokenizers.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def bytelevel_gpt2() -> str:
    """GPT-2: byte-level BPE behind the ByteLevel regex."""
    return _text(_gpt2())


def bytelevel_cl100k() -> str:
    """GPT-4 style: Split regex, NFC, `ignore_merges`, with entries that only the whole-word rule reaches."""
    spec = _bytelevel(_bytes_after(_split(GPT4_SPLIT)), normalizer=normalizers.NFC())
    model = spec["model"]
    model["ignore_merges"] = True
    model["merges"] = [merge for rank, merge in enumerate(model["merges"]) if rank < 400 or rank % 9]
    return _text(spec)


def bytelevel_chained() -> str:
    """Three Splits one behind the other, as DeepSeek has them."""
    cjk = _split(r"[\x{4e00}-\x{9fff}\x{3040}-\x{30ff}]+")
    words = _split(
        r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+"
    )
    return _text(_bytelevel(_bytes_after(_split(r"\p{N}{1,3}"), cjk, words)))


def bytelevel_digits() -> str:
    """Digits one by one, then ByteLevel; bytes that the corpus lacks are not in the vocabulary."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _text(_bytelevel(pre_tokenizers.Sequence([digits, byte_level]), all_bytes=False))


def bytelevel_prefix_space() -> str:
    """RoBERTa style: ByteLevel that adds a leading space."""
    return _text(_bytelevel(pre_tokenizers.ByteLevel(add_prefix_space=True)))


def bytelevel_changing() -> str:
    """A normalizer that changes the text: NFKC, lower case, no accents, no outer space."""
    steps = [normalizers.NFKC(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spec = _bytelevel(byte_level, normalizer=normalizers.Sequence(steps))
    # A normalized token that the normalizer empties makes the reference panic on every text.
    return _text(spec, [token for token in ADDED if token.content != "\t"])


def bytelevel_odd_vocabulary() -> str:
    """Entries without a merge, an alias (a raw space beside its byte-level spelling), and ids in another order."""
    spec = _gpt2()
    for piece in ("Ġunreachable", "ĠtheĠ", ".Ċ#", " the", "�"):
        _append(spec, piece)
    model = spec["model"]
    last = len(model["vocab"]) - 1
    model["vocab"] = {piece: last - index for piece, index in model["vocab"].items()}
    # A merge listed again counts at its later place: the ranks are no longer those of the ids.
    model["merges"] += model["merges"][5:25]
    return _text(spec)


def bytelevel_added() -> str:
    """Every kind of added token over byte-level BPE."""
    return _text(_gpt2(), ADDED)


def no_decoder() -> str:
    """Byte-level BPE that joins its tokens with spaces, since it has no decoder."""
    spec = _gpt2()
    spec["decoder"] = None
    return _text(spec)


def _sentencepiece(normalizer: normalizers.Normalizer, decoder: decoders.Decoder) -> Spec:
    """SentencePiece-style BPE with byte fallback: trained behind a split, used without one."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = _split(r"▁*[^▁\n]+|▁+|\n+")
    specials = [*SPECIALS, *(f"<0x{byte:02X}>" for byte in range(256))]
    # Rare characters stay outside, so that byte fallback has something to do.
    trainer = trainers.BpeTrainer(vocab_size=1600, show_progress=False, special_tokens=specials)
    spec = _train(tokenizer, trainer, _common(400))
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] in SPECIALS]
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoder
    finished: Spec = json.loads(tokenizer.to_str())
    finished["pre_tokenizer"] = None
    return finished


def _prepend() -> Spec:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    return _sentencepiece(
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), decoders.Sequence(steps)
    )


def _replace() -> Spec:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return _sentencepiece(normalizers.Replace(" ", "▁"), decoders.Sequence(steps))


def spm_prepend() -> str:
    """Llama-2 style: a space is prepended and stripped again."""
    return _text(_prepend())


def spm_prepend_added() -> str:
    """The same with every kind of added token."""
    return _text(_prepend(), ADDED)


def spm_replace() -> str:
    """Gemma style: spaces are replaced, nothing is prepended."""
    return _text(_replace())


def spm_replace_split() -> str:
    """Gemma-3 style: as above behind a Split at spaces, with runs of newlines as added tokens."""
    spec = _replace()
    spec["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }
    return _text(spec, [AddedToken("\n" * n, special=False, normalized=False) for n in range(1, 6)])


def _metaspace(scheme: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=scheme == "always"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, special_tokens=list(SPECIALS))
    tokenizer.train_from_iterator(_common(200), trainer)
    return tokenizer


def metaspace_always() -> str:
    """Metaspace BPE with an unk token that fuses, no byte fallback."""
    return _text(_metaspace("always"))


def metaspace_first() -> str:
    """Metaspace that prepends at the start of the text only; unk tokens stay apart; every kind of added token."""
    return _text(_metaspace("first"), ADDED)


def _affixed(*, prefix: str = "", suffix: str = "") -> Spec:
    """BPE whose symbols depend on their place in the word."""
    # The alphabet goes in as special tokens: its ids would else follow a hash map's order, and ties with them.
    letters = sorted(set(normalizers.Lowercase().normalize_str(TEXT)))
    forms = [prefix * inner + char + suffix * last for char in letters for inner in (0, 1) for last in (0, 1)]
    alphabet = list(dict.fromkeys(forms))
    affix: dict[str, Any] = {"continuing_subword_prefix": prefix} if prefix else {"end_of_word_suffix": suffix}
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", **affix))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + 600,
        show_progress=False,
        special_tokens=["<unk>", *alphabet],
        **affix,
    )
    spec = _train(tokenizer, trainer)
    spec["added_tokens"] = spec["added_tokens"][:1]
    return spec


def bpe_suffix() -> str:
    """Old GPT and CLIP: the last piece of a word carries `</w>`."""
    tokenizer = Tokenizer.from_str(json.dumps(_affixed(suffix="</w>")))
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return _text(tokenizer)


def bpe_prefix() -> str:
    """BPE with `##` before every piece that continues a word."""
    tokenizer = Tokenizer.from_str(json.dumps(_affixed(prefix="##")))
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return _text(tokenizer)


def _pieces(limit: int) -> list[tuple[str, float]]:
    """Pieces of a Metaspace BPE with log frequencies (the Unigram trainer answers differently in every process)."""
    tokenizer = _metaspace("always")
    counts: dict[str, int] = {}
    for line in LINES:
        cuts = tokenizer.encode(line).tokens
        for piece in [*cuts, *(a + b for a, b in pairwise(cuts) if not b.startswith("▁"))]:
            counts[piece] = counts.get(piece, 0) + 1
    for char in sorted(set(TEXT.replace(" ", "▁"))):
        if char.isalnum() or char in "▁.,:;!?'\"()-\n":
            counts.setdefault(char, 1)
    for special in SPECIALS:
        counts.pop(special, None)
    best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    single = [item for item in best if len(item[0]) == 1]
    kept = [*single, *(item for item in best if len(item[0]) > 1)][:limit]
    total = sum(counts.values())
    return [(piece, round(math.log(count / total), 6)) for piece, count in kept]


def unigram_fallback() -> str:
    """Unigram with byte fallback and Metaspace."""
    bytes_ = [(f"<0x{byte:02X}>", -12.0) for byte in range(256)]
    specials = [(special, 0.0) for special in SPECIALS]
    tokenizer = Tokenizer(models.Unigram([*specials, *bytes_, *_pieces(1000)], unk_id=0, byte_fallback=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    steps = [decoders.ByteFallback(), decoders.Fuse(), decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return _text(tokenizer, [AddedToken(special, special=True) for special in SPECIALS])


def unigram() -> str:
    """T5 style: Unigram with a text-changing normalizer, an unk token, no byte fallback; every kind of added token."""
    specials = [(special, 0.0) for special in SPECIALS]
    tokenizer = Tokenizer(models.Unigram([*specials, *_pieces(800)], unk_id=0, byte_fallback=False))
    steps = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    whitespace = pre_tokenizers.WhitespaceSplit()
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([whitespace, metaspace])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return _text(tokenizer, [AddedToken(special, special=True) for special in SPECIALS] + list(ADDED))


def _wordpiece(pieces: dict[str, int], *, cleanup: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=30))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=cleanup)
    return tokenizer


def wordpiece_uncased() -> str:
    """BERT: WordPiece behind BertNormalizer, with a decoder that cleans up."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = [piece for piece in _affixed(prefix="##")["model"]["vocab"] if piece != "<unk>"]
    tokenizer = _wordpiece({piece: index for index, piece in enumerate([*names, *trained])}, cleanup=True)
    tokenizer.normalizer = normalizers.BertNormalizer()
    return _text(tokenizer, [AddedToken(name, special=True) for name in names])


def wordpiece_cased() -> str:
    """WordPiece without a normalizer and without clean-up; every kind of added token."""
    trained = [piece for piece in _affixed(prefix="##")["model"]["vocab"] if piece != "<unk>"]
    upper = [piece.upper() for piece in trained if piece.upper() != piece]
    pieces = list(dict.fromkeys(["[UNK]", *trained, *upper]))
    return _text(_wordpiece({piece: index for index, piece in enumerate(pieces)}, cleanup=False), ADDED)


def wordlevel() -> str:
    """Whole words with an unk token, joined by spaces."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=700, show_progress=False, special_tokens=["[UNK]", "[SEP]"])
    return _text(_train(tokenizer, trainer))


BUILDERS: dict[str, Callable[[], str]] = {
    build.__name__: build
    for build in (
        bytelevel_gpt2,
        bytelevel_cl100k,
        bytelevel_chained,
        bytelevel_digits,
        bytelevel_prefix_space,
        bytelevel_changing,
        bytelevel_odd_vocabulary,
        bytelevel_added,
        no_decoder,
        spm_prepend,
        spm_prepend_added,
        spm_replace,
        spm_replace_split,
        metaspace_always,
        metaspace_first,
        bpe_suffix,
        bpe_prefix,
        unigram_fallback,
        unigram,
        wordpiece_uncased,
        wordpiece_cased,
        wordlevel,
    )
}
KINDS = tuple(BUILDERS)


@cache
def zoo() -> dict[str, str]:
    """Give the ``tokenizer.json`` text of every kind, by name, in the order of `KINDS`."""
    key = hashlib.sha256(Path(__file__).read_bytes() + TEXT.encode() + tokenizers.__version__.encode()).hexdigest()
    path = CACHE / f"zoo-{key[:16]}.json"
    if not path.exists():
        built = {name: build() for name, build in BUILDERS.items()}
        CACHE.mkdir(exist_ok=True)
        # Written aside and renamed: another process may be reading.
        with tempfile.NamedTemporaryFile("w", dir=CACHE, encoding="utf-8", delete=False) as handle:
            json.dump(built, handle)
        Path(handle.name).replace(path)
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return texts
