"""Odd tokenizers and odd input: a verdict or an error that says what is wrong, never a crash, a panic or a hang."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models

import tito_audit as tito
import zoo
from agreement import compare
from reference import Reference
from sequences import ODD_IDS, Sampled

Spec = dict[str, Any]
T = TypeVar("T")
LONG = 1_000_000
SECONDS = 60
PLAIN = {"special": False, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LETTERS = {char: index for index, char in enumerate("abcdefgh")}


def spec(**parts: Any) -> Spec:
    """A small BPE over eight letters, with some parts exchanged."""
    model = {"type": "BPE", "vocab": {**LETTERS, "ab": 8}, "merges": [["a", "b"]]}
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", "added_tokens": [], **empty, "model": model, **parts}


def model(kind: str, **parts: Any) -> Spec:
    """A tokenizer of another model."""
    return spec(model={"type": kind, **parts}, decoder={"type": "Fuse"})


def added(*contents: str, **flags: bool) -> list[Spec]:
    """Added tokens behind the eight letters."""
    return [{"id": 9 + index, "content": text, **PLAIN, **flags} for index, text in enumerate(contents)]


ODD: dict[str, Spec] = {
    "no vocabulary": model("BPE", vocab={}, merges=[]),
    "no vocabulary, bytes": spec(
        model={"type": "BPE", "vocab": {}, "merges": []}, pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL
    ),
    "an empty entry": model("BPE", vocab={"": 0, "a": 1}, merges=[]),
    "the greatest id": model("BPE", vocab={"a": 2**32 - 1, "b": 2**31, "c": 0}, merges=[]),
    "gaps": model("BPE", vocab={"a": 5, "b": 1_000_000}, merges=[]),
    "a merge into nothing": model("BPE", vocab=LETTERS, merges=[["a", "b"]]),
    "a merge of nothing": model("BPE", vocab=LETTERS, merges=[["x", "y"]]),
    "unk that is no entry": model("BPE", vocab=LETTERS, merges=[], unk_token="<unk>"),
    "byte fallback without bytes": model("BPE", vocab=LETTERS, merges=[], byte_fallback=True),
    "byte tokens that are none": spec(
        model={"type": "BPE", "vocab": {"<0x+F>": 0, "<0xzz>": 1, "<0xé>": 2, "<0xE9>": 3, "a": 4}, "merges": []},
        decoder={"type": "ByteFallback"},
    ),
    "strip at the end": spec(decoder={"type": "Strip", "content": "a", "start": 1, "stop": 2}),
    "strip more than there is": spec(decoder={"type": "Strip", "content": "a", "start": 99, "stop": 99}),
    "CTC": spec(decoder={"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": True}),
    "suffix decoder": spec(decoder={"type": "BPEDecoder", "suffix": "b"}),
    "a decoder that replaces by a pattern": spec(
        decoder={"type": "Replace", "pattern": {"Regex": "[a-d]"}, "content": "zz"}
    ),
    "a decoder that deletes": spec(decoder={"type": "Replace", "pattern": {"String": "a"}, "content": ""}),
    "metaspace decoder alone": spec(
        decoder={"type": "Metaspace", "replacement": "a", "prepend_scheme": "always", "split": True}
    ),
    "no decoder steps": spec(decoder={"type": "Sequence", "decoders": []}),
    "bytes missing": spec(pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL),
    "added tokens that look empty": spec(
        added_tokens=added("\u200b", "\0", " ", "\u2028", "\ufeff"), decoder={"type": "Fuse"}
    ),
    "an added token without content": spec(added_tokens=added(""), decoder={"type": "Fuse"}),
    "one added token twice": spec(added_tokens=added("xy", "xy"), decoder={"type": "Fuse"}),
    "added tokens in the byte table": spec(
        added_tokens=added("é", "ÿ", "Ġ", "\ufffd", "a b"), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL
    ),
    "greedy added tokens": spec(
        added_tokens=added("a", "  ", lstrip=True, rstrip=True, normalized=True), decoder={"type": "Fuse"}
    ),
    "a very long added token": spec(added_tokens=added("ab" * 5_000), decoder={"type": "Fuse"}),
    "a normalizer that doubles": spec(
        normalizer={"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"}, decoder={"type": "Fuse"}
    ),
    "a normalizer that deletes": spec(
        normalizer={"type": "Replace", "pattern": {"Regex": "."}, "content": ""}, decoder={"type": "Fuse"}
    ),
    "a pattern that matches nothing": spec(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": False},
        decoder={"type": "Fuse"},
    ),
    "a template without its tokens": spec(
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {},
        },
        decoder={"type": "Fuse"},
    ),
    "WordPiece without its unk": model(
        "WordPiece", vocab=LETTERS, unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=2
    ),
    "WordPiece that takes no word": model(
        "WordPiece",
        vocab={**LETTERS, "[UNK]": 8},
        unk_token="[UNK]",
        continuing_subword_prefix="",
        max_input_chars_per_word=0,
    ),
    "WordLevel without its unk": model("WordLevel", vocab=LETTERS, unk_token="[UNK]"),
    "Unigram without unk": model("Unigram", vocab=[["a", -1.0], ["b", -2.0]], unk_id=None, byte_fallback=False),
    "Unigram with byte fallback and no bytes": model(
        "Unigram", vocab=[["<unk>", 0.0], ["a", -1.0]], unk_id=0, byte_fallback=True
    ),
    "Unigram with scores that are equal": model(
        "Unigram", vocab=[["<unk>", 0.0], *([char, 0.0] for char in "abcdefgh"), ["ab", 0.0]], unk_id=0
    ),
}
ROWS: list[list[int]] = [
    [],
    [0],
    [0, 1],
    [1, 0, 1, 0],
    [8, 8, 0, 1],
    list(range(14)),
    [9, 10, 9, 9, 0, 11, 12, 13, 8],
    [2, 9, 3, 9],
    [5] * 200,
    [-1],
    list(ODD_IDS),
    [0, *ODD_IDS, 1],
]


def load(folder: Path, source: bytes) -> tito.Tokenizer:
    """Load bytes as a file."""
    path = folder / "tokenizer.json"
    path.write_bytes(source)
    return tito.load_tokenizer(path)


def attempt(call: Callable[[], T]) -> T | None:
    """What the wheel says, None where it raises or panics."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ODD)
def test_an_odd_tokenizer_is_audited_or_refused(name: str, tmp_path: Path) -> None:
    source = json.dumps(ODD[name])
    reference = attempt(lambda: Reference(source))
    try:
        tok = load(tmp_path, source.encode())
    except tito.TokenizerError:
        assert reference is None, "the wheel takes this tokenizer"
        return
    assert reference is not None, "the wheel refuses this tokenizer"
    batch = tito.check_batch(ROWS, tok, mask=[[1] * len(row) for row in ROWS], threads=2)
    for index, ids in enumerate(ROWS):
        row = Sampled(ids, [at // 2 % 2 for at in range(len(ids))], [at % 3 for at in range(len(ids))])
        if attempt(lambda ids=ids: reference.encode(reference.decode(ids))) is None:  # type: ignore[misc]
            assert index in batch.errors
            with pytest.raises(tito.TokenizerError):
                tito.check(ids, tok)
        else:
            assert not compare(reference, tok, [row]).differences
            assert str(batch[index])


NO_TOKENIZERS: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"\x00\xff\xfe tokenizer",
    "another JSON": b"[1, 2, 3]",
    "an empty object": b"{}",
    "a page": b"<!DOCTYPE html><html></html>",
    "cut off": zoo.zoo()["bytelevel_gpt2"].encode()[:5000],
    "deeply nested": b"[" * 100_000 + b"]" * 100_000,
    "no UTF-8": json.dumps(spec()).encode().replace(b'"a"', b'"\xff"'),
    "a lone surrogate": json.dumps(spec()).replace('"a"', '"\\ud800"').encode(),
    "an unknown model": json.dumps(model("Neural", vocab={})).encode(),
    "a negative id": json.dumps(model("BPE", vocab={"a": -1}, merges=[])).encode(),
    "an id beyond 32 bits": json.dumps(model("BPE", vocab={"a": 2**32}, merges=[])).encode(),
    "a fraction for an id": json.dumps(model("BPE", vocab={"a": 0.5}, merges=[])).encode(),
    "a bad pattern": json.dumps(
        spec(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(["}, "behavior": "Isolated", "invert": False})
    ).encode(),
    "a bad character map": json.dumps(
        spec(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"})
    ).encode(),
    "a version from the future": json.dumps(spec(version="9.9")).encode(),
}


@pytest.mark.parametrize("name", NO_TOKENIZERS)
def test_what_is_no_tokenizer_is_refused_with_its_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(tito.TokenizerError, match=r"tokenizer\.json"):
        load(tmp_path, NO_TOKENIZERS[name])


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(tito.TokenizerError, match=tmp_path.name):
            tito.load_tokenizer(path)


@pytest.fixture(scope="module")
def tok() -> tito.Tokenizer:
    return tito.load_tokenizer(Tokenizer.from_str(zoo.zoo()["bytelevel_added"]))


# A token of one byte that is no character by itself; an integer that is no id.
REPEATED = ("a", " ", "\n", "7", "=", b"\xbf", -1)


@pytest.mark.parametrize("repeated", REPEATED)
@pytest.mark.parametrize(
    ("name", "times"), [("bytelevel_gpt2", LONG), ("spm_prepend", LONG // 5), ("unigram_fallback", LONG // 5)]
)
def test_a_million_times_the_same_token(name: str, times: int, repeated: str | bytes | int) -> None:
    tok = tito.load_tokenizer(Tokenizer.from_str(zoo.zoo()[name]))
    if isinstance(repeated, str):
        repeated = int(tok.encode(repeated)[-1])
    elif isinstance(repeated, bytes):
        repeated = next(token for token in range(tok.vocab_size) if tok.token_bytes(token) == repeated)
    started = time.monotonic()
    batch = tito.check_batch((np.full(times, repeated), np.array([0, times])), tok, mask=np.arange(times) % 2)
    seconds = time.monotonic() - started
    assert batch.n_tokens.tolist() == [times]
    assert seconds < SECONDS, f"{seconds:.1f} s"


def test_rows_of_special_tokens_only(tok: tito.Tokenizer) -> None:
    specials = [token for token, _, _ in tok.core.added_tokens]
    batch = tito.check_batch([specials, specials[:1] * 1000, specials[::-1]], tok)
    assert str(batch[0])
    assert not batch.drifted[1]


def test_two_strings_with_one_id() -> None:
    # Which of them the reference decodes to is drawn anew at every load, so there is no verdict to compare.
    source = json.dumps(model("BPE", vocab={"a": 0, "b": 0, "c": 1}, merges=[]))
    result = tito.check([0, 1, 0], tito.load_tokenizer(Tokenizer.from_str(source)))
    assert result.text in {"aca", "bcb"}
    assert not result.drifted


def test_no_rows_and_empty_rows(tok: tito.Tokenizer) -> None:
    assert len(tito.check_batch([], tok)) == 0
    batch = tito.check_batch([[], [], []], tok, mask=[[], [], []])
    assert not batch.drifted.any()
    assert (batch[0].text, batch[0].cause, batch[0].spans) == ("", None, ())
    assert tito.provenance([], tok, mask=[]).text == ""


@pytest.mark.parametrize("offsets", [[0], [1, 3], [0, 4], [0, 2, 1, 3], [0, -1, 3], [], [0, 3, 2**62]])
def test_offsets_that_do_not_tile_the_ids_are_refused(offsets: list[int], tok: tito.Tokenizer) -> None:
    with pytest.raises(ValueError, match="offsets"):
        tito.check_batch((np.arange(3), np.array(offsets, dtype=np.int64)), tok)
    with pytest.raises(ValueError):
        tok.core.audit(np.arange(3), np.array(offsets, dtype=np.int64))
    with pytest.raises(ValueError):
        tok.core.provenance(np.arange(3), np.array(offsets, dtype=np.int64))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32])
def test_extreme_values_of_every_type(dtype: type, tok: tito.Tokenizer) -> None:
    limits = np.iinfo(dtype)
    ids: NDArray[Any] = np.array([limits.min, limits.max, 5, limits.max - 1], dtype=dtype)
    result = tito.check(ids, tok)
    known = [at for at, token in enumerate(ids.tolist()) if tok.token_bytes(token) is not None]
    assert [at for at in range(4) if at not in known] == list(result.unknown_positions)


def test_arrays_that_numpy_lays_out_otherwise(tok: tito.Tokenizer) -> None:
    row = np.arange(40, dtype=np.int64)
    expected = tito.check(row[::2].tolist(), tok)
    for odd in (row[::2], row[::2].astype(">i8"), row.reshape(20, 2)[:, 0], row[::2].astype(np.uint64)):
        assert np.array_equal(tito.check(odd, tok).reencoded_ids, expected.reencoded_ids)
    readonly = row[::2].copy()
    readonly.flags.writeable = False
    assert np.array_equal(tito.check(readonly, tok).reencoded_ids, expected.reencoded_ids)


@pytest.mark.parametrize(
    ("contents", "said"),
    [(["\n"], "nothing is left of the added token"), (["ToolCall", "toolcall"], "the same after normalization")],
)
def test_added_tokens_without_a_text_of_their_own_are_refused(contents: list[str], said: str, tmp_path: Path) -> None:
    steps = [{"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Lowercase"}]
    source = spec(normalizer={"type": "Sequence", "normalizers": steps}, added_tokens=added(*contents, normalized=True))
    with pytest.raises(tito.TokenizerError, match=said):
        load(tmp_path, json.dumps(source).encode())


def test_a_stage_that_panics_when_it_is_first_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tito.TokenizerError):
        load(tmp_path, json.dumps(spec(pre_tokenizer={"type": "FixedLength", "length": 0})).encode())


def test_a_panic_of_the_reference_is_an_error_of_its_row_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    # One added token strips the white space that is another.
    tokenizer = Tokenizer(models.BPE({"a": 0, "Ġ": 1}, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("x", rstrip=True), AddedToken("\t", lstrip=True)])
    batch = tito.check_batch([[0], [2, 3, 1], [2, 0]], tito.load_tokenizer(tokenizer))
    assert batch.errors == {1: "the reference tokenizer failed on this row: AddedVocabulary bad split"}
    assert batch.drifted.tolist() == [False, False, False]
    assert capfd.readouterr() == ("", "")


def test_a_tower_of_marks_is_judged_in_memory_that_grows_with_it() -> None:
    source = json.loads(zoo.zoo()["bytelevel_cl100k"])
    assert source["normalizer"] is not None, "the tower must be put in order"
    wheel = Tokenizer.from_str(json.dumps(source | {"normalizer": None}))
    tok = tito.load_tokenizer(Tokenizer.from_str(json.dumps(source)))
    short, tall = (wheel.encode("a" + "\u0301\u0327" * marks, add_special_tokens=False).ids for marks in (4, 20_000))
    masks = [[position % 2 for position in range(len(ids))] for ids in (short, tall)]
    batch = tito.check_batch([short, tall], tok, mask=masks, threads=1)
    assert batch.drifted.all()
    assert batch.located.tolist() == [True, False]
    assert len(batch.columns["straddling_mask"]) < 1000


def test_a_run_that_the_reference_refuses_by_itself_costs_the_row_nothing() -> None:
    source = spec(
        model={"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "nope"},
        decoder={"type": "Fuse"},
        added_tokens=[{"id": 1, "content": "<s>", **PLAIN, "special": True}],
    )
    tok = tito.load_tokenizer(Tokenizer.from_str(json.dumps(source)))
    result = tito.check([0, 1, 0], tok, skip_special_tokens=True)
    assert not result.drifted
    assert result.pipeline is not None
    assert (result.pipeline.drifted, result.pipeline.lost_positions) == (True, (1,))


def test_bytes_inserted_at_an_empty_token_belong_to_a_token() -> None:
    source = spec(model={"type": "WordLevel", "vocab": {"": 0, "a": 1, "a ": 2, "[UNK]": 3}, "unk_token": "[UNK]"})
    tok = tito.load_tokenizer(Tokenizer.from_str(json.dumps(source)))
    assert tito.check([1, 0], tok, mask=[1, 1]).straddling == ()
    owners = tito.provenance([1, 0, 1], tok, owners=[3, 4, 3]).byte_owner
    assert owners is not None
    assert set(owners.tolist()) <= {3, 4}
