import copy
import pickle
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Wheel

import tito_audit as tito
from tiny import bpe, byte_level, load
from tito_audit import _core
from tito_audit.loading.control import ControlIds
from tito_audit.loading.python_engine import PythonEngine

VOCAB, MERGES = ["b", "T", "a", "x", "aa"], [("a", "a")]


class Wrapped:
    """The tiny tokenizer as an object: what it answers is what the reference answers."""

    def __init__(self, wheel: Wheel | None = None) -> None:
        self.wheel = wheel or bpe(VOCAB, MERGES, special=["<e>"])
        self.added_tokens_decoder = self.wheel.get_added_tokens_decoder()
        self.eos_token_id = 5

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        return [*self.wheel.encode(text).ids, *([5] if add_special_tokens else [])]

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        return self.wheel.decode(list(ids), skip_special_tokens=skip_special_tokens)

    def get_vocab(self) -> dict[str, int]:
        return self.wheel.get_vocab()

    def __len__(self) -> int:
        return self.wheel.get_vocab_size()


class Plain:
    """Every character its code, and ``odd`` does what it likes."""

    n_vocab = 1000

    def encode(self, text: str) -> Any:
        return [ord(char) for char in text]

    def decode(self, ids: Sequence[int]) -> Any:
        return "".join(map(chr, ids))


def python(obj: object) -> tito.Tokenizer:
    with pytest.warns(tito.TokenizerWarning, match="slow"):
        return tito.load_tokenizer(obj)


@pytest.fixture(scope="module")
def tok() -> tito.Tokenizer:
    return python(Wrapped())


rows = st.lists(st.lists(st.integers(0, 5) | st.sampled_from([-1, 6, 2**40]), max_size=12), max_size=5)


@given(rows=rows)
def test_verdicts_are_those_of_the_reference(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    expected = tito.check_batch(rows, load(VOCAB, MERGES, special=["<e>"]))
    found = tito.check_batch(rows, tok)
    same = ("drifted", "artefact", "invalid_utf8", "first_diff", "reencoded_ids", "reencoded_offsets")
    for name in (*same, "unknown_positions", "unknown_offsets"):
        assert np.array_equal(found.columns[name], expected.columns[name]), name  # type: ignore[literal-required]


@given(rows=rows)
def test_columns_have_the_shape_of_the_core(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    for options in ({}, {"skip_special_tokens": True}):
        expected = tito.check_batch(rows, load(VOCAB, MERGES, special=["<e>"]), **options).columns
        found = tito.check_batch(rows, tok, **options).columns
        assert list(found) == list(expected)
        for name, column in expected.items():
            if name != "errors":
                assert found[name].dtype == column.dtype, name  # type: ignore[literal-required,attr-defined]
                if name.endswith("offsets") or name.startswith("pipeline"):
                    assert found[name].ndim == 1, name  # type: ignore[literal-required]
        pipeline = ("pipeline_drifted", "pipeline_first_diff", "pipeline_ids", "pipeline_lost_positions")
        for name in pipeline:
            assert np.array_equal(found[name], expected[name]), name  # type: ignore[literal-required]


@given(rows=rows)
def test_spans_are_one_and_cover_the_difference(tok: tito.Tokenizer, rows: list[list[int]]) -> None:
    for check in tito.check_batch(rows, tok):
        assert check.located == (not check.drifted)
        assert len(check.spans) == check.drifted
        assert str(check)
        for span in check.spans:
            ids, again = check.original_ids(0, len(check.token_ids)), check.reencoded_ids.tolist()
            assert ids[: span.token_start] == again[: span.reencoded_start]
            assert ids[span.token_stop :] == again[span.reencoded_stop :]
            assert ids[span.token_start : span.token_stop] != again[span.reencoded_start : span.reencoded_stop]
            assert (span.byte_start, span.byte_stop) == (-1, -1)
            unknown = any(span.token_start <= place < span.token_stop for place in check.unknown_positions)
            assert span.cause == ("unknown-id" if unknown else "merge")


def test_flags_and_the_second_exposure(tok: tito.Tokenizer) -> None:
    check = tito.check([2, 3], tok, prompt_ids=[2], skip_special_tokens=True)
    assert check.spans[0].flags == ("at_segment_join",)
    batch = tito.check_batch([[2, 2]], tok, row_start=[True])
    assert batch[0].spans[0].flags == ("at_row_start",)
    pipeline = tito.check([0, 5, 1], tok, skip_special_tokens=True).pipeline
    assert pipeline is not None
    assert (pipeline.cause, pipeline.lost_positions, pipeline.text) == ("special-skipped", (1,), "bT")
    with pytest.raises(tito.TokenizerError, match="takes no clean_up_tokenization_spaces"):
        tito.check([0], tok, clean_up_tokenization_spaces=True)


def test_what_the_object_is(tok: tito.Tokenizer) -> None:
    assert (tok.engine, tok.model, tok.vocab_size, tok.changed, tok.skew) == ("python", "Wrapped", 6, (), None)
    assert tok.source == f"{__name__}.Wrapped"
    assert tok.special_ids == {5}
    assert tok.control == ControlIds(eos=frozenset({5}))
    assert tok.token_bytes(4) == b"aa"
    assert [tok.token_bytes(id_) for id_ in (-1, 6, 2**70)] == [None] * 3
    assert set(tok.fingerprint) == {"model", "added_tokens", "probe"}
    with pytest.raises(tito.TokenizerError, match="no provenance for Wrapped"):
        tito.provenance([0], tok)
    with pytest.raises(tito.TokenizerError, match="not in the reference engine"):
        _ = tok.reference


def test_the_hash_is_that_of_the_vocabulary() -> None:
    one, same = python(Wrapped()), python(Wrapped())
    other = python(Wrapped(bpe(["b", "T", "a", "y", "aa"], MERGES, special=["<e>"])))
    assert one.sha256 == same.sha256 != other.sha256
    assert python(Plain()).sha256 == python(Plain()).sha256 != one.sha256


@pytest.mark.parametrize(("stated", "is_taken"), [("a" * 64, True), ("A" * 64, False), ("", False), (None, False)])
def test_a_hash_that_the_object_states_is_taken(stated: object, *, is_taken: bool) -> None:
    class Stating(Plain):
        sha256 = stated

    assert (python(Stating()).sha256 == stated) == is_taken


def test_the_warning_and_the_verdict_agree_about_causes() -> None:
    with pytest.warns(tito.TokenizerWarning, match="one wide span a drifting row, called unknown-id or merge whatever"):
        tok = tito.load_tokenizer(Wrapped())
    assert tito.check([2, 2], tok).causes == ("merge",)
    assert tito.check([2, 7, 2], tok).causes == ("unknown-id",)


def test_it_pickles_as_the_object_does(tok: tito.Tokenizer) -> None:
    for again in (pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok)):  # noqa: S301 - our own bytes
        assert (again.sha256, again.source, again.control) == (tok.sha256, tok.source, tok.control)
        assert tito.check([2, 2], again).drifted


def test_many_ways_to_answer() -> None:
    class Arrays(Plain):
        def encode(self, text: str) -> Any:
            return np.array([ord(char) for char in text], dtype=np.int16)

    class Encodings(Plain):
        def encode(self, text: str) -> Any:
            return SimpleNamespace(ids=[ord(char) for char in text])

    class Tuples(Plain):
        def encode(self, text: str) -> Any:
            return tuple(ord(char) for char in text)

    for obj in (Arrays(), Encodings(), Tuples(), Plain()):
        assert not tito.check([97, 98], python(obj)).drifted


def test_options_that_keep_it_to_the_letter_are_passed_where_they_are_taken() -> None:
    class Options(Plain):
        clean_up_tokenization_spaces = True

        def encode(self, text: str, *, allowed_special: object = (), bos: bool = True) -> Any:
            assert (allowed_special, bos) == ("all", False)
            return super().encode(text)

        def decode(self, ids: Sequence[int], **options: object) -> Any:
            assert options == {"clean_up_tokenization_spaces": False}
            return super().decode(ids)

    assert not tito.check([97], python(Options())).drifted


@pytest.mark.parametrize("size", ["vocab_size", "n_vocab", "__len__", "get_vocab", None])
def test_sizes(size: str | None) -> None:
    class Sized:
        encode, decode = Plain.encode, Plain.decode

    answers: dict[str, object] = {
        "vocab_size": 300,
        "n_vocab": 300,
        "__len__": lambda _: 300,
        "get_vocab": lambda _: {"a": 299},
    }
    if size:
        setattr(Sized, size, answers[size])
    tok = python(Sized())
    assert tok.vocab_size == (300 if size else 0)
    assert tito.check([299, 300, -1], tok).unknown_positions == ((1, 2) if size else (2,))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (1.5, "encode gives no ids"),
        (None, "encode gives no ids"),
        ("ids", "encode gives no ids"),
        ([1.5], "encode gives no ids"),
        ([True], "encode gives no ids"),
        ([[1]], "encode gives no ids"),
        ([-1], "encode gives an id that is none"),
        ([2**32], "encode gives an id that is none"),
        ([2**70], "encode gives an id that is none"),
        (ValueError("\x1b[31m"), r"encode raised ValueError: \x1b[31m"),
        (KeyError("x"), "encode raised KeyError"),
        (RecursionError(), "encode raised RecursionError"),
        (type("Panic", (BaseException,), {})("oh"), "encode raised Panic: oh"),
    ],
)
def test_an_encode_that_fails_is_the_error_of_its_row(answer: object, said: str) -> None:
    class Failing(Plain):
        def encode(self, text: str) -> Any:
            if "!" not in text or len(text) > 3:
                return super().encode(text)
            if isinstance(answer, BaseException):
                raise answer
            return answer

    tok = python(Failing())
    batch = tito.check_batch([[97], [33], [98, 98]], tok, skip_special_tokens=False)
    assert batch.drifted.tolist() == [False] * 3
    assert list(batch.errors) == [1]
    assert said in batch.errors[1]
    assert batch.errors[1].isprintable()
    assert batch.n_reencoded.tolist() == [1, 0, 2]
    with pytest.raises(tito.TokenizerError):
        tito.check([33], tok)


def test_a_decode_that_gives_no_text() -> None:
    class Failing(Plain):
        def decode(self, ids: Sequence[int]) -> Any:
            return super().decode(ids) if len(ids) > 1 else b"x"

    assert "decode gives no text but b'x'" in tito.check_batch([[97]], python(Failing())).errors[0]


def test_lone_surrogates_do_no_harm() -> None:
    class Surrogates(Plain):
        n_vocab = 0x110000

    check = tito.check([0xD800, 97], python(Surrogates()))
    assert not check.drifted
    assert check.text == "\ud800a"


@pytest.mark.parametrize("failing", ["encode", "decode"])
def test_an_object_that_never_works_is_refused_at_load(failing: str) -> None:
    class Broken(Plain):
        def __getattribute__(self, name: str) -> Any:
            return (lambda *_: None) if name == failing else super().__getattribute__(name)

    with pytest.raises(tito.TokenizerError, match=f"{failing} gives no .* an object is a tokenizer where encode"):
        tito.load_tokenizer(Broken())


def test_a_class_is_no_tokenizer() -> None:
    for wrong in (Plain, SimpleNamespace(encode=1, decode=2), "a b c"):
        with pytest.raises(tito.TokenizerError):
            tito.load_tokenizer(wrong)


def test_a_slow_tokenizer_of_transformers() -> None:
    from transformers import PreTrainedTokenizer  # noqa: PLC0415 - seconds

    class Letters(PreTrainedTokenizer):
        vocab_size = 128

        def _tokenize(self, text: str, **_: object) -> list[str]:
            return list(text)

        def _convert_token_to_id(self, token: str) -> int:
            return ord(token) % 128

        def _convert_id_to_token(self, index: int) -> str:
            return chr(index)

        def get_vocab(self) -> dict[str, int]:
            return {chr(code): code for code in range(128)} | self.added_tokens_encoder

        def convert_tokens_to_string(self, tokens: list[str]) -> str:
            return "".join(tokens)

    slow: Any = Letters
    tok = python(slow(eos_token="</s>", clean_up_tokenization_spaces=True))
    assert tok.vocab_size == 129
    assert tok.special_ids == tok.control.eos == {128}
    ids = [*map(ord, "a . b"), 128]
    assert not tito.check(ids, tok).drifted
    pipeline = tito.check(ids, tok, clean_up_tokenization_spaces=True).pipeline
    assert pipeline is not None
    assert pipeline.drifted


pairs = st.tuples(st.lists(st.integers(0, 5), max_size=6), st.lists(st.integers(0, 5), max_size=6))


@given(pairs=st.lists(pairs | st.lists(st.integers(0, 5), max_size=6).map(lambda row: (row, row[1:])), max_size=4))
def test_realised_kinds_by_definition(pairs: list[tuple[list[int], list[int]]]) -> None:
    engine = PythonEngine(Wrapped())
    columns = engine.realised(*_ragged([one for one, _ in pairs]), *_ragged([other for _, other in pairs]))
    decoded = load(VOCAB, MERGES, special=["<e>"])
    for row, (sampled, trained) in enumerate(pairs):
        kind = columns["kind"][row]
        size = len(trained)
        if sampled == trained:
            expected = 0
        elif size < len(sampled) and trained in (sampled[:size], sampled[len(sampled) - size :]):
            expected = 2
        else:
            expected = 1 if decoded.decode(sampled) == decoded.decode(trained) else 3
        assert kind == expected
        if kind == 2:
            start = columns["kept_start"][row]
            assert sampled[start : start + size] == trained
            assert columns["lost"][row] == len(sampled) - size
        start, stop = columns["span_offsets"][row : row + 2]
        assert stop - start == (kind in {1, 3})
        for span in range(start, stop):
            one, two = columns["span_token_start"][span], columns["span_token_stop"][span]
            three, four = columns["span_trained_start"][span], columns["span_trained_stop"][span]
            assert sampled[:one] == trained[:three]
            assert sampled[two:] == trained[four:]
            assert columns["span_cause"][span] == (255 if kind == 3 else _core.CAUSES.index("TITO101"))


@given(pairs=st.lists(pairs, max_size=4))
def test_realised_columns_are_those_of_the_core(pairs: list[tuple[list[int], list[int]]]) -> None:
    both = *_ragged([one for one, _ in pairs]), *_ragged([other for _, other in pairs])
    expected = load(VOCAB, MERGES, special=["<e>"]).reference.realised(*both)
    found: Any = PythonEngine(Wrapped()).realised(*both)
    assert set(found) == set(expected)
    for name, column in expected.items():
        assert name == "errors" or found[name].dtype == column.dtype, name  # type: ignore[attr-defined]
    for name in ("kind", "first_diff", "kept_start", "lost"):
        assert np.array_equal(found[name], expected[name]), name  # type: ignore[literal-required]


def test_realised_errors_are_those_of_their_rows() -> None:
    class Failing(Plain):
        def decode(self, ids: Sequence[int]) -> Any:
            return super().decode(ids) if 33 not in ids or len(ids) > 2 else None

    columns = PythonEngine(Failing()).realised(*_ragged([[33], [97]]), *_ragged([[97], [97]]))
    assert columns["kind"].tolist() == [255, 0]
    assert columns["first_diff"].tolist() == [-1, -1]
    assert columns["errors"] == [(0, "decode gives no text but None")]
    assert columns["span_offsets"].tolist() == [0, 0, 0]


def test_realised_masks_count_where_tokens_are_the_same() -> None:
    engine = PythonEngine(Wrapped())
    sampled, trained = _ragged([[0, 1], [0, 1, 3], [2, 2]]), _ragged([[0, 1], [1, 3], [4]])
    masks: dict[str, Any] = {
        "mask": np.array([0, 1, 0, 0, 1, 1, 1], dtype=np.uint8),
        "train_mask": np.array([1, 1, 1, 0, 1], dtype=np.uint8),
    }
    columns = engine.realised(*sampled, *trained, **masks)
    assert columns["wrong_trained"].tolist() == [1, 1, -1]
    assert columns["wrong_untrained"].tolist() == [0, 1, -1]
    assert columns["straddling"].tolist() == [0, 0, -1]
    assert columns["wrong_offsets"].tolist() == [0, 1, 3, 3]
    assert columns["wrong_positions"].tolist() == [0, 0, 1]
    assert engine.realised(*sampled, *trained)["wrong_trained"].tolist() == [-1] * 3


def test_offsets_that_do_not_tile() -> None:
    engine = PythonEngine(Plain())
    for offsets in ([0], [], [1, 2], [0, 3, 2]):
        with pytest.raises(ValueError, match="tile"):
            engine.audit(np.array([1, 2]), np.array(offsets, dtype=np.int64))


def test_no_warning_for_what_has_an_engine() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = byte_level()
        assert tito.load_tokenizer(loaded) is loaded


def _ragged(rows: list[list[int]]) -> tuple[Any, Any]:
    flat = np.array([id_ for row in rows for id_ in row], dtype=np.int64)
    return flat, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def test_ids_that_no_vocabulary_has_are_unknown_whatever_the_object_says() -> None:
    class Letters:
        def encode(self, text: str) -> list[int]:
            return [ord(letter) for letter in text]

        def decode(self, ids: list[int]) -> str:
            return "".join(map(chr, ids))

    with pytest.warns(tito.TokenizerWarning):
        tok = tito.load_tokenizer(Letters())
    r = tito.check([97, 2**32, -1, 2**80, 98], tok)
    assert r.unknown_positions == (1, 2, 3)
    assert r.reencoded_ids.tolist() == [97, 98]
