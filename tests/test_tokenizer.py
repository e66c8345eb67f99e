import copy
import hashlib
import json
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Wheel
from tokenizers import decoders, models, pre_tokenizers

import tito_audit as tito
from tiny import bpe, byte_level, sentence_piece, straddler
from tito_audit import _core
from tito_audit.loading.control import ControlIds
from tito_audit.tokenizer import version_skew


@pytest.fixture
def wheel() -> Wheel:
    return bpe(["a", "b", "ab", "<"], [("a", "b")], special=["<e>"])


@pytest.fixture
def folder(tmp_path: Path, wheel: Wheel) -> Path:
    wheel.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_from_file_folder_and_object(folder: Path, wheel: Wheel) -> None:
    path = folder / "tokenizer.json"
    loaded = [tito.load_tokenizer(source) for source in (path, str(path), folder, str(folder), wheel)]
    for tok in loaded:
        assert (tok.vocab_size, tok.model, tok.changed) == (5, "BPE", ())
        assert tok.special_ids == {4}
        assert tok.encode("abb<e>").tolist() == [2, 1, 4]
        assert tok.decode([2, 1, 4]) == "abb<e>"
        assert tok.decode([2, 99, 4], skip_special_tokens=True) == "ab"
    assert {tok.source for tok in loaded} == {str(path), "tokenizers.Tokenizer"}


def test_fingerprint_is_that_of_the_bytes(folder: Path, wheel: Wheel) -> None:
    data = (folder / "tokenizer.json").read_bytes()
    assert tito.load_tokenizer(folder).sha256 == hashlib.sha256(data).hexdigest()
    assert tito.load_tokenizer(wheel).sha256 == hashlib.sha256(wheel.to_str().encode()).hexdigest()


def test_token_bytes(wheel: Wheel) -> None:
    tok = tito.load_tokenizer(wheel)
    assert [tok.token_bytes(id_) for id_ in (0, 2, 4, 5, -1, 2**32, 2**70)] == [b"a", b"ab", b"<e>", *[None] * 4]
    assert byte_level().token_bytes(0xC3) == b"\xc3"
    assert sentence_piece().token_bytes(2) == b" a"


def test_what_loading_changed_is_named(wheel: Wheel) -> None:
    wheel.enable_truncation(3)
    wheel.enable_padding()
    tok = tito.load_tokenizer(wheel)
    assert sorted(tok.changed) == ["padding", "truncation"]
    assert tok.encode("a" * 9).tolist() == [0] * 9


def test_dropout_is_refused_unless_it_is_ignored(wheel: Wheel) -> None:
    wheel.model.dropout = 0.5
    with pytest.raises(tito.TokenizerError, match="dropout"):
        tito.load_tokenizer(wheel)
    tok = tito.load_tokenizer(wheel, ignore_dropout=True)
    assert tok.changed == ("dropout",)
    assert all(tok.encode("ab").tolist() == [2] for _ in range(20))


def test_encode_special_tokens_of_an_object_is_kept(wheel: Wheel) -> None:
    assert tito.check([3], tito.load_tokenizer(wheel)).causes == ()
    wheel.encode_special_tokens = True
    tok = tito.load_tokenizer(wheel)
    assert tok.encode("<e>").tolist() == [3]
    again = pickle.loads(pickle.dumps(tok))  # noqa: S301 - our own bytes
    assert again.encode("<e>").tolist() == [3]


def test_pickled_tokenizer_is_the_same() -> None:
    tok = straddler()
    for again in (pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok)):  # noqa: S301 - our own bytes
        assert (again.source, again.sha256, repr(again)) == (tok.source, tok.sha256, repr(tok))
        assert tito.check([2, 2], again).cause == "merge"


def test_one_tokenizer_serves_many_threads() -> None:
    tok = straddler()
    with ThreadPoolExecutor(8) as pool:
        causes = pool.map(lambda _: tito.check([2, 2] * 50, tok).cause, range(200))
    assert set(causes) == {"merge"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no/such/file", "no/such/file: no such file or folder, and no hub id (those read like org/name)"),
        (Path("org/name"), "org/name: no such file or folder, and no hub id"),
        ("tokenizer.json", "tokenizer.json: no such file"),
        ("org/tokenizer.model", "org/tokenizer.model: no such file"),
        ("\x1b[31m", r"\x1b[31m: no such file"),
        ("a\0b", "no such file"),
        (
            5,
            "no tokenizer in 5 (accepted: the path of a tokenizer.json, a folder that holds one, a hub",
        ),
        (None, "no tokenizer in None"),
        (Wheel, "no tokenizer in <class"),
        (b"tokenizer.json", "no tokenizer in b'tokenizer.json'"),
    ],
)
def test_refusals_say_what_is_accepted(source: object, message: str) -> None:
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer(source)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_fast_tokenizer_of_transformers(wheel: Wheel) -> None:
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415 - seconds

    made: Any = PreTrainedTokenizerFast
    tok = tito.load_tokenizer(made(tokenizer_object=wheel, eos_token="<e>"))
    assert (tok.engine == "python", tok.vocab_size, tok.model) == (False, 5, "BPE")
    assert tok.source.startswith("transformers.")
    assert tok.control == ControlIds(eos=frozenset({4}))
    assert tok.encode("<e>").tolist() == [4]
    with pytest.warns(tito.TokenizerWarning, match="clean_up_tokenization_spaces") as caught:
        tok = tito.load_tokenizer(
            made(tokenizer_object=wheel, clean_up_tokenization_spaces=True, split_special_tokens=True)
        )
    assert caught[0].filename == __file__
    assert tok.encode("<").tolist() == [3]
    assert tok.encode("<e>").tolist() == [3]
    assert pickle.loads(pickle.dumps(tok)).encode("<e>").tolist() == [3]  # noqa: S301 - our own bytes


def test_an_implementation_of_the_wheel() -> None:
    from tokenizers import ByteLevelBPETokenizer  # noqa: PLC0415

    tok = tito.load_tokenizer(ByteLevelBPETokenizer({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    assert (tok.engine == "python", tok.encode("ab").tolist()) == (False, [2])


def test_a_loaded_one_comes_back(wheel: Wheel) -> None:
    tok = tito.load_tokenizer(wheel)
    assert tito.load_tokenizer(tok) is tok


def test_a_revision_is_for_hub_ids(folder: Path, wheel: Wheel) -> None:
    for source in (folder, wheel):
        with pytest.raises(tito.TokenizerError, match="is for hub ids"):
            tito.load_tokenizer(source, revision="main")


def test_folder_without_the_file_names_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(tito.TokenizerError, match="found: nothing"):
        tito.load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.model").touch()
    with pytest.raises(tito.TokenizerError, match=r"holds no tokenizer\.json \(found: tokenizer\.model\)"):
        tito.load_tokenizer(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"model": 5}', b"[" * 100_000], ids=repr)
def test_broken_files_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(("value", "number"), [("true", 1), ("false", 0), ("null", 0)])
def test_cleanup_in_the_config_warns_once(folder: Path, value: str, number: int) -> None:
    (folder / "tokenizer_config.json").write_text(f'{{"clean_up_tokenization_spaces": {value}}}')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tito.load_tokenizer(folder)
    assert [warning.category for warning in caught] == ([tito.TokenizerWarning] * number)
    for warning in caught:
        assert "clean_up_tokenization_spaces=True" in str(warning.message)
        assert "--clean-up-tokenization-spaces" in str(warning.message)
        assert warning.filename == __file__


@pytest.mark.parametrize("config", ["{", "[]", "", '{"clean_up_tokenization_spaces": "yes"}'])
def test_config_that_says_nothing_is_no_matter(folder: Path, config: str) -> None:
    (folder / "tokenizer_config.json").write_text(config)
    tito.load_tokenizer(folder)


def test_version_skew() -> None:
    assert version_skew("0.23.9", "0.23.2") is None
    for other in ("0.22.2", "1.23.2", "0.24.0rc1"):
        message = version_skew(other, "0.23.2")
        assert message is not None
        assert other in message


def test_skew_of_this_environment() -> None:
    import tokenizers  # noqa: PLC0415

    same = tokenizers.__version__.split(".")[:2] == _core.TOKENIZERS_VERSION.split(".")[:2]
    assert (straddler().skew is None) == same


def test_loading_a_file_does_not_import_the_wheel(folder: Path) -> None:
    code = f"import sys, tito_audit; tito_audit.load_tokenizer({str(folder)!r}); sys.exit('tokenizers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_a_loaded_tokenizer_will_do(wheel: Wheel) -> None:
    for wrong in ("tokenizer.json", wheel, None):
        with pytest.raises(tito.TokenizerError, match="pass what load_tokenizer returns"):
            tito.check([0], wrong)  # type: ignore[arg-type]


def test_repr_names_source_model_size_and_engine(wheel: Wheel) -> None:
    tok = tito.load_tokenizer(wheel)
    assert repr(tok) == f"<Tokenizer tokenizers.Tokenizer BPE 5 ids sha256:{tok.sha256[:8]} {tok.engine} engine>"


def test_a_config_that_is_too_deep_is_ignored(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text("[" * 100_000)
    assert tito.load_tokenizer(folder).vocab_size == 5


def test_what_cannot_be_loaded_moves_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31m.json"
    path.write_text(json.dumps({"model": {"type": "BPE", "vocab": {"x": 0}, "merges": [["\x1b[31mPWN", "x"]]}}))
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer(path)
    assert str(caught.value).isprintable()
    assert r"\x1b[31m.json: " in str(caught.value)


def test_components_written_in_python_are_named(wheel: Wheel) -> None:
    class Splitter:
        def pre_tokenize(self, text: object) -> None:
            pass

    wheel.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Splitter())
    with pytest.raises(tito.TokenizerError, match="a custom component written in Python"):
        tito.load_tokenizer(wheel)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, pytest.fail.Exception])
def test_a_panic_while_loading_is_an_error_and_a_wish_to_stop_is_none(
    monkeypatch: pytest.MonkeyPatch, wheel: Wheel, stop: type[BaseException]
) -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    raised: list[BaseException] = [panic("\x1b[31m"), stop()]

    def serialise(*_: object, **__: object) -> None:
        raise raised.pop(0)

    monkeypatch.setattr("tito_audit.loading.dispatch._from_wheel", serialise)
    with pytest.raises(tito.TokenizerError, match="a package that reads it crashed") as caught:
        tito.load_tokenizer(wheel)
    assert str(caught.value).isprintable()
    with pytest.raises(stop):
        tito.load_tokenizer(wheel)


@given(st.lists(st.sampled_from(["a", "b", "ab", "c"]), min_size=1, max_size=8))
def test_of_two_pieces_with_the_same_text_both_are_in_the_vocabulary(pieces: list[str]) -> None:
    wheel = Wheel(models.Unigram([(piece, -float(place)) for place, piece in enumerate(pieces)], unk_id=0))
    wheel.decoder = decoders.Fuse()
    tok = tito.load_tokenizer(wheel)
    for token in range(len(pieces) + 2):
        is_known = wheel.id_to_token(token) is not None
        assert (tok.token_bytes(token) is not None) == is_known
        assert (tito.check([token], tok).unknown_positions == ()) == is_known


@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=3), st.integers(0, 40), min_size=1, max_size=8),
    st.lists(st.sampled_from(["ab", "x", "yy"]), unique=True),
)
def test_ids_may_lie_apart_and_have_several_strings(vocab: dict[str, int], added: list[str]) -> None:
    wheel = Wheel(models.WordLevel(vocab, unk_token=next(iter(vocab))))
    wheel.decoder = decoders.Fuse()
    wheel.add_tokens(added)
    tok, loaded = tito.load_tokenizer(wheel), Wheel.from_str(wheel.to_str())
    known = [token for token in range(60) if loaded.id_to_token(token) is not None]
    assert [token for token in range(60) if tok.token_bytes(token) is not None] == known


def test_it_knows_the_files_it_was_read_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bpe(["a"]).save(str(tmp_path / "tokenizer.json"))
    monkeypatch.chdir(tmp_path)
    for source in (str(tmp_path), Path(), "tokenizer.json"):
        first, *beside = tito.load_tokenizer(source).files
        assert first == tmp_path / "tokenizer.json"
        assert tmp_path / "tokenizer_config.json" in beside
    assert tito.load_tokenizer(bpe(["a"])).files == ()
