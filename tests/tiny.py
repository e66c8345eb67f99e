"""Tokenizers small enough to read, for tests that show one thing each."""

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

import tito_audit as tito


def bpe(
    vocab: Sequence[str], merges: Sequence[tuple[str, str]] = (), *, special: Sequence[str | AddedToken] = ()
) -> Tokenizer:
    """A BPE whose ids are the places in ``vocab``, without pre-tokenizer; special tokens come after."""
    tokenizer = Tokenizer(models.BPE({piece: id_ for id_, piece in enumerate(vocab)}, list(merges)))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def load(
    vocab: Sequence[str], merges: Sequence[tuple[str, str]] = (), *, special: Sequence[str | AddedToken] = ()
) -> tito.Tokenizer:
    return tito.load_tokenizer(bpe(vocab, merges, special=special))


def straddler() -> tito.Tokenizer:
    """``a a`` merges, which crosses the edge between a tool result and an answer; ``<e>`` is a control token."""
    return load(["b", "T", "a", "x", "aa"], [("a", "a")], special=["<e>"])


def byte_level() -> tito.Tokenizer:
    """Every id is its byte."""
    letters = {_letter(byte): byte for byte in range(256)}
    tokenizer = Tokenizer(models.BPE(letters, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tito.load_tokenizer(tokenizer)


def sentence_piece() -> tito.Tokenizer:
    """Llama 2 in small: ``▁ a ▁a aa``, a space before each text, and ``<s>`` beside which decoding prints it."""
    tokenizer = Tokenizer(models.BPE({"▁": 0, "a": 1, "▁a": 2, "aa": 3}, [("▁", "a"), ("a", "a")]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<s>"])
    return tito.load_tokenizer(tokenizer)


def refusing() -> tito.Tokenizer:
    """A word-level model without an unknown token: it cannot encode what two of its words print."""
    return tito.load_tokenizer(Tokenizer(models.WordLevel({"a": 0, "b": 1})))


def _letter(byte: int) -> str:
    """The letter that a byte-level vocabulary writes a byte as."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [each for each in range(256) if each not in printable]
    return chr(byte) if byte in printable else chr(256 + others.index(byte))
