import base64
import io
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

import tito_audit as tito
from tito_audit.loading.control import ControlIds
from zoo import LINES

UNK, BOS, EOS = 0, 1, 2


@cache
def model(kind: str, *, extra_space: bool = True, prefix: bool = True, defined: tuple[str, ...] = ()) -> bytes:
    """A small model with byte fallback; a Unigram one too free of ties, which SentencePiece rounds otherwise."""
    return trained(
        model_type=kind,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=not extra_space,
        add_dummy_prefix=prefix,
        user_defined_symbols=list(defined),
    )


def trained(**options: Any) -> bytes:
    out = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter([line.strip() for line in LINES if line.strip()]),
        model_writer=out,
        minloglevel=2,
        vocab_size=1100,
        character_coverage=0.98,
        hard_vocab_limit=False,
        **options,
    )
    return out.getvalue()


def load(data: bytes, folder: Path, name: str = "tokenizer.model") -> tito.Tokenizer:
    path = folder / name
    path.write_bytes(data)
    return tito.load_tokenizer(path)


KINDS = [
    {"kind": "bpe"},
    {"kind": "bpe", "extra_space": False},
    {"kind": "bpe", "prefix": False, "defined": ("<tool>", "##", "#")},
    {"kind": "unigram"},
    {"kind": "unigram", "extra_space": False, "prefix": False},
]
# Control pieces are read from text here and not by SentencePiece (a test of their own).
plain = st.text(st.sampled_from(" ▁abehinrst.,#<>01\n\té日🙂"), max_size=30).filter(lambda drawn: "<s>" not in drawn)
text = plain | st.sampled_from(["the <tool> of ## the", "  a  b  ", "", " ", "###", "internationalisation"])


@pytest.fixture(params=KINDS, ids=str, scope="module")
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = model(**request.param)
    return SentencePieceProcessor(model_proto=data), load(data, tmp_path_factory.mktemp("model"))


@given(drawn=text)
def test_a_converted_model_encodes_as_sentencepiece_does(both: Any, drawn: str) -> None:
    processor, tok = both
    assert tok.encode(drawn).tolist() == processor.encode(drawn)
    ids = processor.encode(drawn)
    if UNK not in ids:
        assert tok.decode(ids) == processor.decode(ids)


def test_control_pieces_are_special_tokens(both: Any) -> None:
    processor, tok = both
    assert tok.control == ControlIds(frozenset({BOS}), frozenset({EOS}))
    assert tok.special_ids == {UNK, BOS, EOS}
    assert tok.encode("</s>").tolist()[-1] == EOS
    assert tok.decode([EOS]) == "</s>"
    assert processor.decode([EOS]) == ""  # which no training pipeline does
    ids = [BOS, *processor.encode("the cat"), EOS]
    check = tito.check(ids, tok)
    assert check.artefact or not check.drifted
    assert pickle.loads(pickle.dumps(tok)).control == tok.control  # noqa: S301 - our own bytes


def test_an_original_that_the_reference_reads_otherwise_is_refused(tmp_path: Path) -> None:
    """The reference normalizes CR LF as one cluster, SentencePiece character by character."""
    data = trained(model_type="bpe", normalization_rule_name="nmt_nfkc", remove_extra_whitespaces=False)
    with pytest.raises(tito.TokenizerError) as caught:
        load(data, tmp_path)
    message = str(caught.value)
    assert message.startswith(
        f"{tmp_path / 'tokenizer.model'}: converted to the reference engine it answers differently"
    )
    assert " in the original, to [" in message
    assert message.isprintable()
    with pytest.warns(tito.TokenizerWarning):
        tok = tito.load_tokenizer(SentencePieceProcessor(model_proto=data))
    assert (tok.engine, tok.vocab_size) == ("python", 1100)
    assert tok.control.eos == {EOS}


@pytest.mark.parametrize(
    ("options", "what"),
    [({"model_type": "char"}, "a model of words or characters"), ({"treat_whitespace_as_suffix": True}, "as a suffix")],
)
def test_models_without_a_counterpart(tmp_path: Path, options: dict[str, Any], what: str) -> None:
    with pytest.raises(tito.TokenizerError, match=what) as caught:
        load(trained(**options), tmp_path)
    assert "sentencepiece.SentencePieceProcessor" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"garbage", b"\x0a\xff\xff\xff\xff\x0f", b"version https://git-lfs\noid 1\n", b"\x00" * 100],
    ids=repr,
)
def test_garbage_is_named(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(tito.TokenizerError) as caught:
        load(data, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'tokenizer.model'}: ")
    assert str(caught.value).isprintable()


@given(cut=st.integers(0, 2000), flipped=st.integers(0, 2000), bit=st.integers(0, 7))
def test_broken_models_are_errors(tmp_path_factory: pytest.TempPathFactory, cut: int, flipped: int, bit: int) -> None:
    data = bytearray(model("bpe"))
    data[flipped] ^= 1 << bit
    try:
        load(bytes(data if cut % 2 else data[: len(data) - cut]), tmp_path_factory.mktemp("broken"))
    except tito.TokenizerError as error:
        assert str(error).isprintable()  # noqa: PT017 - some of them still are models


@pytest.mark.parametrize("package", ["sentencepiece", "google.protobuf"])
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for module in [name for name in sys.modules if name.startswith("sentencepiece")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(tito.TokenizerError, match=r'pip install "tito_audit\[hf\]"'):
        load(model("bpe"), tmp_path)


def test_a_rank_file_of_that_name_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(tito.TokenizerError, match="tiktoken ranks"):
        load(base64.b64encode(b"a") + b" 0\n", tmp_path)


def test_a_tokenizer_json_of_that_name_is_one(tmp_path: Path) -> None:
    from tiny import bpe  # noqa: PLC0415

    assert load(bpe(["a"]).to_str().encode(), tmp_path).vocab_size == 1
