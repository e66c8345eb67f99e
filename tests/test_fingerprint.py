import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

import tito_audit as tito
from tito_audit.loading.fingerprint import COMPONENTS, differing, sections
from zoo import bytelevel_added, bytelevel_cl100k, spm_prepend, unigram_fallback, wordpiece_uncased

Spec = dict[str, Any]
KINDS = [bytelevel_added, bytelevel_cl100k, spm_prepend, unigram_fallback, wordpiece_uncased]


def fingerprint(spec: Spec) -> dict[str, str]:
    return tito.Tokenizer(json.dumps(spec).encode(), "spec").fingerprint


def shuffled(value: Any) -> Any:
    """The same JSON with every mapping in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", KINDS)
def test_what_means_the_same_has_the_same_fingerprint(kind: Callable[[], str]) -> None:
    spec = json.loads(kind())
    found = fingerprint(spec)
    assert tuple(found) == COMPONENTS
    other = shuffled(spec)
    other["truncation"] = {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    other["post_processor"] = None
    if "merges" in spec["model"]:
        other["model"]["merges"] = [" ".join(merge) for merge in spec["model"]["merges"]]
        other["model"].pop("dropout")
    assert fingerprint(other) == found
    wheel = Tokenizer.from_str(json.dumps(spec))
    assert tito.load_tokenizer(wheel).fingerprint == found
    assert pickle.loads(pickle.dumps(tito.load_tokenizer(wheel))).fingerprint == found  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("component", "change"),
    [
        ("normalizer", lambda wheel: setattr(wheel, "normalizer", normalizers.NFD())),
        ("pre_tokenizer", lambda wheel: setattr(wheel, "pre_tokenizer", pre_tokenizers.ByteLevel(use_regex=False))),
        ("added_tokens", lambda wheel: wheel.add_special_tokens(["<|new|>"])),
        ("added_tokens", lambda wheel: wheel.add_tokens([AddedToken("<|new|>", rstrip=True)])),
        ("model", lambda wheel: setattr(wheel.model, "ignore_merges", True)),
        ("added_tokens", lambda wheel: setattr(wheel, "encode_special_tokens", True)),
    ],
)
def test_a_change_shows_in_its_component(component: str, change: Callable[[Tokenizer], None]) -> None:
    wheel = Tokenizer.from_str(bytelevel_added())
    before = tito.load_tokenizer(wheel).fingerprint
    change(wheel)
    found = differing(before, tito.load_tokenizer(wheel).fingerprint)
    assert set(found) - {"probe"} == {component}


@given(data=st.data())
def test_vocabulary_and_merges_count_one_by_one(data: st.DataObject) -> None:
    spec = json.loads(bytelevel_added())
    before = fingerprint(spec)
    model = spec["model"]
    if data.draw(st.booleans()):
        del model["merges"][data.draw(st.integers(0, len(model["merges"]) - 1))]
    else:
        one, other = data.draw(st.lists(st.sampled_from(sorted(model["vocab"])), min_size=2, max_size=2, unique=True))
        model["vocab"][one], model["vocab"][other] = model["vocab"][other], model["vocab"][one]
    assert "model" in differing(before, fingerprint(spec))


def test_defaults_written_out_mean_the_same() -> None:
    spec = json.loads(bytelevel_added())
    before = fingerprint(spec)
    assert spec["pre_tokenizer"] == {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    del spec["pre_tokenizer"]["use_regex"]
    spec["pre_tokenizer"]["trim_offsets"] = False
    spec["decoder"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    assert differing(before, fingerprint(spec)) == []


def test_differing_names_components_in_order() -> None:
    one = dict.fromkeys(COMPONENTS, "a")
    assert differing(one, one) == []
    assert differing(one, {**one, "probe": "b", "model": "b", "extra": "c"}) == ["model", "probe", "extra"]
    assert differing({}, {"probe": "x"}) == ["probe"]


@given(data=st.binary(max_size=60))
def test_sections_of_anything(data: bytes) -> None:
    assert isinstance(sections(data), dict)
