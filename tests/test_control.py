import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Wheel
from tokenizers import processors

import tito_audit as tito
from tiny import bpe
from tito_audit.loading.control import ControlIds, of_object

SPECIAL = ["<s>", "</s>", "<pad>", "<eot>"]
BOS, EOS, PAD, EOT = range(2, 6)


@pytest.fixture
def wheel() -> Wheel:
    return bpe(["a", "[B]"], special=SPECIAL)


def load(folder: Path, wheel: Wheel, **files: object) -> ControlIds:
    wheel.save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return tito.load_tokenizer(folder).control


def expected(bos: set[int] = frozenset(), eos: set[int] = frozenset(), pad: set[int] = frozenset()) -> ControlIds:  # type: ignore[assignment]
    return ControlIds(frozenset(bos), frozenset(eos), frozenset(pad))


def test_nothing_is_known_of_a_bare_file(tmp_path: Path, wheel: Wheel) -> None:
    assert load(tmp_path, wheel) == expected()
    assert tito.load_tokenizer(wheel).control == expected()


def test_every_file_beside_it_is_read(tmp_path: Path, wheel: Wheel) -> None:
    found = load(
        tmp_path,
        wheel,
        tokenizer_config={"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "pad_token": None},
        special_tokens_map={"pad_token": "<pad>"},
        generation_config={"eos_token_id": [EOS, EOT]},
        config={"eos_token_id": 77, "text_config": {"pad_token_id": 78}},
    )
    assert found == expected({BOS}, {EOS, EOT, 77}, {PAD, 78})


def test_a_token_of_the_vocabulary_alone_counts_too(tmp_path: Path, wheel: Wheel) -> None:
    found = load(tmp_path, wheel, tokenizer_config={"bos_token": "a", "eos_token": "no such", "pad_token": ""})
    assert found == expected({0})


def test_what_stands_before_a_text_begins_a_sequence(tmp_path: Path, wheel: Wheel) -> None:
    template = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", BOS), ("</s>", EOS)])
    wheel.post_processor = processors.Sequence([processors.ByteLevel(), template])
    assert load(tmp_path, wheel) == expected({BOS})
    wheel.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", EOS)])
    assert load(tmp_path, wheel) == expected()
    wheel.post_processor = processors.BertProcessing(("</s>", EOS), ("<s>", BOS))
    assert load(tmp_path, wheel) == expected({BOS})
    assert tito.load_tokenizer(wheel).control == expected({BOS})


def test_they_travel_with_a_pickle(tmp_path: Path, wheel: Wheel) -> None:
    load(tmp_path, wheel, generation_config={"eos_token_id": EOS})
    tok = tito.load_tokenizer(tmp_path)
    data = pickle.dumps(tok)
    (tmp_path / "generation_config.json").unlink()
    assert pickle.loads(data).control == expected(eos={EOS})  # noqa: S301 - our own bytes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["<s>", "", "\ud800", "a", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["content", "id", "ids"]), inner),
    max_leaves=6,
)
names = [f"{name}_token{id_}" for name in ("bos", "eos", "pad") for id_ in ("", "_id")]


@given(config=st.dictionaries(st.sampled_from([*names, "text_config"]), json_values))
def test_any_config_gives_ids(tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any]) -> None:
    found = load(tmp_path_factory.mktemp("config"), bpe(["a"], special=SPECIAL), config=config)
    for ids in found:
        assert all(type(id_) is int and 0 <= id_ < 2**32 for id_ in ids)


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, "5"])
def test_broken_configs_name_nothing(tmp_path: Path, wheel: Wheel, content: str) -> None:
    assert load(tmp_path, wheel, generation_config=content, config=content) == expected()


@given(processor=json_values)
def test_any_template_gives_ids(processor: Any) -> None:
    from tito_audit.loading.control import of_files  # noqa: PLC0415

    step = {"type": "TemplateProcessing", "single": processor, "special_tokens": processor}
    for parts in (step, {"processors": [step, processor]}, {"processors": processor}, processor, {"cls": processor}):
        data = json.dumps({"post_processor": parts}).encode()
        for ids in of_files(data, None, lambda _: None):
            assert all(type(id_) is int for id_ in ids)


def test_of_an_object() -> None:
    class Object:
        bos_token_id = 1
        pad_token_id = None

        @property
        def eos_token_id(self) -> int:
            raise KeyError

        def pad_id(self) -> int:
            return -1

        def bos_id(self) -> int:
            return 7

    assert of_object(Object()) == expected({1, 7})
    assert of_object(object()) == expected()
