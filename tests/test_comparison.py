from collections.abc import Callable

import pytest

import tito_audit as tito
from tiny import load
from tito_audit.loading.comparison import refuse_difference, sequences, texts


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
    ],
)
def test_the_first_difference_is_shown(
    encode: Callable[[str], list[int]], decode: Callable[[list[int]], str], said: str
) -> None:
    core = load(["a", "b"]).reference
    with pytest.raises(tito.TokenizerError) as caught:
        refuse_difference(core, "\x1bmine", encode=encode, decode=decode, drawn=["b"], rows=[[0, 1]])
    assert str(caught.value).startswith(r"\x1bmine: converted to the reference engine it answers differently: ")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_difference_is_no_matter() -> None:
    tok = load(["a", "b"])
    encode, decode = (lambda text: tok.encode(text).tolist()), tok.decode
    refuse_difference(tok.reference, "x", encode=encode, decode=decode, drawn=["ab", ""], rows=[[0, 1], []])
