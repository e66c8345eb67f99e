import base64
import hashlib
import io
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sentencepiece import (
    SentencePieceNormalizer,
    SentencePieceProcessor,
    SentencePieceTrainer,
    sentencepiece_model_pb2,
)

import tito_audit as tito
from tito_audit.loading.charsmap import keys
from tito_audit.loading.control import ControlIds
from zoo import LINES

UNK, BOS, EOS = 0, 1, 2


@cache
def model(kind: str, *, extra_space: bool = True, prefix: bool = True, defined: tuple[str, ...] = ()) -> bytes:
    """A small model with byte fallback."""
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


def opened(data: bytes) -> Any:
    return getattr(sentencepiece_model_pb2, "ModelProto").FromString(data)  # noqa: B009 - made at import


def load(data: bytes, folder: Path, name: str = "tokenizer.model") -> tito.Tokenizer:
    path = folder / name
    path.write_bytes(data)
    return tito.load_tokenizer(path)


KINDS = [
    {"kind": "bpe"},
    {"kind": "bpe", "extra_space": False},
    {"kind": "bpe", "prefix": False, "defined": ("<tool>", "##", "#")},
]
# Control pieces are read from text here and not by SentencePiece (a test of their own).
plain = st.text(st.sampled_from(" ▁abehinrst.,#<>01\n\té日🙂"), max_size=30).filter(lambda drawn: "<s>" not in drawn)
text = plain | st.sampled_from(
    ["the <tool> of ## the", "#<0x0A>#", "<0x41><0x41>", "  a  b  ", "", " ", "###", "internationalisation"]
)


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


CHARACTER_MAPS = (
    {"model_type": "bpe"},
    {"model_type": "bpe", "byte_fallback": True},
    {"model_type": "bpe", "remove_extra_whitespaces": False},
    {"model_type": "bpe", "user_defined_symbols": ["##"], "normalization_rule_name": "nfkc_cf"},
)
NO_COUNTERPART = (
    ({"model_type": "unigram"}, "a Unigram model"),
    ({"model_type": "unigram", "byte_fallback": True, "normalization_rule_name": "identity"}, "a Unigram model"),
    ({"model_type": "char"}, "a model of words or characters"),
    ({"model_type": "bpe", "treat_whitespace_as_suffix": True}, "white space as a suffix"),
)
ITSELF = [*((options, "in the original, to [") for options in CHARACTER_MAPS), *NO_COUNTERPART]


@pytest.fixture(params=ITSELF, ids=str, scope="module")
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A processor, what is loaded from its file, the file and the warning."""
    options, said = request.param
    folder = tmp_path_factory.mktemp("model")
    data = trained(**options)
    with pytest.warns(tito.TokenizerWarning) as caught:
        tok = load(data, folder)
    (warning,) = map(str, (each.message for each in caught))
    assert said in warning
    return SentencePieceProcessor(model_proto=data), tok, folder / "tokenizer.model", warning


hostile = plain | st.lists(
    st.sampled_from(["ｶﾞ", "か\u3099", "²", "\ufe0f", "№", "\u0301", "ﬁ", "<0x0A>", "__", "_", "\r\n", " ", "A"]),
    max_size=9,
).map("".join)


@given(drawn=hostile)
def test_what_has_no_exact_conversion_answers_itself(asked: Any, drawn: str) -> None:
    processor, tok, *_ = asked
    ids = processor.encode(drawn)
    assert tok.encode(drawn).tolist() == ids
    assert tok.decode(ids) == processor.decode(ids)
    assert tito.check(ids, tok).drifted == (processor.encode(processor.decode(ids)) != ids)


@given(parts=st.lists(hostile, min_size=1, max_size=4))
def test_between_control_pieces_it_is_as_without_them(asked: Any, parts: list[str]) -> None:
    processor, tok, *_ = asked
    encoded = [processor.encode(part) for part in parts]
    row = [id_ for ids in encoded for id_ in (BOS, *ids, EOS)]
    assert tok.encode("".join(f"<s>{part}</s>" for part in parts)).tolist() == row
    assert tok.decode(row) == "".join(f"<s>{processor.decode(ids)}</s>" for ids in encoded)
    clean = all(processor.encode(processor.decode(ids)) == ids for ids in encoded)
    assert tito.check(row, tok).drifted != clean


def test_the_warning_says_why_and_what_it_costs(asked: Any) -> None:
    processor, tok, path, warning = asked
    assert warning.startswith(f"{path}: ")
    for said in ("one row after another: slow", "called unknown-id or merge", "no straddling tokens", "tokenizer.json"):
        assert said in warning
    assert warning.isprintable()
    assert (tok.engine, tok.vocab_size, tok.source) == ("python", processor.vocab_size(), str(path))
    assert tok.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert tok.control == ControlIds(frozenset({BOS}), frozenset({EOS}))
    assert tok.special_ids == {BOS, EOS}
    again = pickle.loads(pickle.dumps(tok))  # noqa: S301 - our own bytes
    assert again.encode("<s>a").tolist() == tok.encode("<s>a").tolist()
    assert (again.sha256, again.control) == (tok.sha256, tok.control)


def test_pieces_that_score_alike(tmp_path: Path) -> None:
    """SentencePiece joins the leftmost of them, the reference the one with the first id."""
    proto = opened(model("bpe"))
    normal = [each for each in proto.pieces if each.type == 1]
    for each in normal:
        each.score = 0.0
    with pytest.warns(tito.TokenizerWarning, match="answers differently"):
        tok = load(proto.SerializeToString(), tmp_path)
    assert tok.engine == "python"


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc_cf"])
def test_keys_of_a_character_map_are_what_it_replaces(rule: str) -> None:
    data = trained(model_type="bpe", normalization_rule_name=rule)
    charsmap = opened(data).normalizer_spec.precompiled_charsmap
    found = keys(charsmap)
    normalize = SentencePieceNormalizer(rule_name=rule).normalize
    assert len(found) > 20_000
    single = {key for key in found if len(key) == 1}
    for code in {*range(1, 0x3400), *range(0xF900, 0x10000)}:
        char = chr(code)
        if not char.isspace():
            assert normalize(f"_{char}_") == f"▁_{char}_" or char in single, hex(code)
    assert {"か\u3099", "e\u0301"} <= set(found)


@given(data=st.binary(max_size=3000))
def test_a_broken_character_map_has_some_keys_or_none(data: bytes) -> None:
    assert all(keys(data))


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


@example(cut=1, flipped=20, bit=7).via("a control piece that is no UTF-8")
@given(cut=st.integers(0, 2000), flipped=st.integers(0, 2000), bit=st.integers(0, 7))
def test_broken_models_are_errors(tmp_path_factory: pytest.TempPathFactory, cut: int, flipped: int, bit: int) -> None:
    data = bytearray(model("bpe"))
    data[flipped] ^= 1 << bit
    try:
        load(bytes(data if cut % 2 else data[: len(data) - cut]), tmp_path_factory.mktemp("broken"))
    except (tito.TokenizerError, tito.TokenizerWarning) as error:  # where a warning is an error
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
