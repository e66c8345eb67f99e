from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny import load
from tito_audit.loading.comparison import DifferenceError, refuse_difference, sequences, texts

Panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})


def raising(error: BaseException) -> list[int]:
    raise error


def test_the_same_texts_every_time() -> None:
    assert texts() == texts()
    assert len(texts(100)) == 100
    assert len(set(texts())) > 400
    assert any("<|x|>" in text for text in texts(surfaces=["<|x|>"]))
    joined = "".join(texts())
    for needed in ("\n", "\t", "\r\n", "    ", "🙂", "日", "'s", "1234", "\u00a0", "ſ"):
        assert needed in joined


def test_the_same_sequences_every_time() -> None:
    assert sequences([1, 2, 3], [9]) == sequences([1, 2, 3], [9])
    assert sequences([1], [9], 2)[0] == [9]
    assert {id_ for row in sequences([1, 2, 3]) for id_ in row} == {1, 2, 3}


@pytest.mark.parametrize(
    ("encode", "decode", "said"),
    [
        (lambda _: [5], lambda _: "ab", '"b" encodes to [5] in the original, to [1] in the reference'),
        (lambda _: [1], lambda _: "\x1b", r'ids [0, 1] decode to "\x1b" in the original, to "ab" in the reference'),
        (lambda _: list(range(30)), lambda _: "ab", ", … 10 more] in the original"),
        (lambda _: raising(ValueError("\x1b")), lambda _: "ab", r'"b" encodes to ValueError (\x1b) in the original'),
        (lambda _: raising(Panic("oh")), lambda _: "ab", '"b" encodes to PanicException (oh) in the original'),
        (lambda _: [1], lambda _: raising(Panic("oh")), "ids [0, 1] decode to PanicException (oh) in the original"),
    ],
)
def test_the_first_difference_is_shown(
    encode: Callable[[str], list[int]], decode: Callable[[list[int]], str], said: str
) -> None:
    core = load(["a", "b"]).reference
    with pytest.raises(DifferenceError) as caught:
        refuse_difference(core, encode=encode, decode=decode, drawn=["b"], rows=[[0, 1]])
    assert str(caught.value).startswith("converted to the reference engine it answers differently: ")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_difference_is_no_matter() -> None:
    tok = load(["a", "b"])
    encode, decode = (lambda text: tok.encode(text).tolist()), tok.decode
    refuse_difference(tok.reference, encode=encode, decode=decode, drawn=["ab", ""], rows=[[0, 1], []])


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, pytest.fail.Exception])
def test_a_wish_to_stop_is_no_difference(stop: type[BaseException]) -> None:
    tok = load(["a"])
    with pytest.raises(stop):
        refuse_difference(tok.reference, encode=lambda _: raising(stop()), decode=tok.decode, drawn=["a"], rows=[])


@given(before=st.text("ab", max_size=40), after=st.text("ab", max_size=40))
def test_of_a_long_text_the_part_that_differs_is_shown(before: str, after: str) -> None:
    tok = load(["a", "b", "c"])
    with pytest.raises(DifferenceError, match=r'differently: "c" encodes to \[9\] in the original, to \[2\]'):
        refuse_difference(
            tok.reference,
            encode=lambda text: [9 if id_ == 2 else id_ for id_ in tok.encode(text).tolist()],
            decode=tok.decode,
            drawn=[f"{before}c{after}"],
            rows=[],
        )
