"""The two executed blocks of the background article "Token-In, Token-Out", shown by the product.

The vocabularies are written as ``tokenizer.json`` by hand: a BPE with the article's merges, no pre-tokenizer.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import tito_audit as tito


def write_tokenizer(path: Path, letters: str, merges: Sequence[tuple[str, str]]) -> dict[str, int]:
    vocab = sorted({*letters, *("".join(pair) for pair in merges)})
    ids = {token: id_ for id_, token in enumerate(vocab)}
    model = {"type": "BPE", "vocab": ids, "merges": [list(pair) for pair in merges]}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "decoder": {"type": "Fuse"}, "model": model}))
    return ids


@pytest.fixture
def round_trip(tmp_path: Path) -> tuple[tito.Tokenizer, dict[str, int]]:
    path = tmp_path / "tokenizer.json"
    merges = [('"', "a"), ('"a', '"'), ('"a"', ":"), (":", "_"), ("a", "a"), ("aa", "aa")]
    ids = write_tokenizer(path, '"a:_1', merges)
    return tito.load_tokenizer(path), ids


@pytest.fixture
def boundary(tmp_path: Path) -> tuple[tito.Tokenizer, dict[str, int]]:
    path = tmp_path / "tokenizer.json"
    ids = write_tokenizer(path, "bTax", [("a", "a")])
    return tito.load_tokenizer(path), ids


def test_equal_length_drift_is_silent(round_trip: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = round_trip
    sampled = [ids['"a"'], ids[":_"], ids["1"]]
    assert sampled == [2, 6, 4]
    r = tito.check(sampled, tok)
    assert r.text == '"a":_1'
    assert r.drifted
    assert r.silent
    assert not r.artefact
    assert r.reencoded_ids.tolist() == [3, 7, 4] == [ids['"a":'], ids["_"], ids["1"]]
    assert sum(a != b for a, b in zip(sampled, r.reencoded_ids.tolist(), strict=True)) == 2
    assert (r.first_diff, r.cause, r.causes) == (0, "merge", ("merge",))
    assert tok.decode(r.reencoded_ids) == r.text
    [span] = r.spans
    assert (span.token_start, span.token_stop, span.reencoded_start, span.reencoded_stop) == (0, 2, 0, 2)
    assert (span.byte_start, span.byte_stop, span.length_delta) == (0, 5, 0)
    with pytest.raises(tito.DriftError):
        tito.assert_no_drift(sampled, tok)


def bigram(letters: int, start: int) -> Callable[[list[int]], NDArray[np.float64]]:
    """The article's policy: each token depends on the one before it, the first on ``start``."""
    logits = np.random.default_rng(0).normal(size=(letters, letters))
    logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return lambda ids: np.array([logprobs[before, id_] for before, id_ in zip([start, *ids], ids, strict=False)])


def test_ratio_of_an_unchanged_policy_on_both_paths(round_trip: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = round_trip
    score = bigram(len(ids), ids['"'])
    sampled = [ids['"a"'], ids[":_"], ids["1"]]
    both = tito.ratio_on_both_paths(sampled, tok, score)
    assert both.sampled.ratio.tolist() == [1, 1, 1]
    assert both.reencoded.ratio.round(6).tolist() == [0.585363, 0.198213, 0.563496]
    assert round(both.reencoded.max_error, 3) == 0.802
    assert both.reencoded_ids.tolist() == [ids['"a":'], ids["_"], ids["1"]]
    direct, indirect = both.reencoded.direct, both.reencoded.indirect
    assert direct is not None
    assert indirect is not None
    assert (len(direct), both.reencoded.trainable_tokens) == (2, 3)
    assert sorted([*direct.tolist(), *indirect.tolist()]) == both.reencoded.off.tolist() == [0, 1, 2]
    # The same from a record that holds both sides, as an audit finds it.
    old, new = score(sampled), score(both.reencoded_ids.tolist())
    r = tito.check(
        sampled,
        tok,
        mask=[1, 1, 1],
        logprobs=old,
        train_ids=both.reencoded_ids,
        train_mask=[1, 1, 1],
        train_logprobs=new,
    )
    [broken] = [finding for finding in r.findings if finding.code == "TITO601"]
    assert broken.positions == (0, 1, 2)
    assert "by 0.802 at most: 2 scored as another id, 1 behind another id" in broken.message
    kept = tito.check(sampled, tok, mask=[1, 1, 1], logprobs=old, train_ids=sampled, train_logprobs=old)
    assert [finding.code for finding in kept.findings] == ["TITO101"]
    assert tito.step0_kl(old, old, None).max == 0


def test_length_may_change(round_trip: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = round_trip
    r = tito.check([ids["aa"], ids["aa"]], tok)
    assert r.text == "aaaa"
    assert r.reencoded_ids.tolist() == [ids["aaaa"]]
    assert r.drifted
    assert not r.silent
    assert r.spans[0].length_delta == -1


def test_re_encoded_ids_are_clean(round_trip: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = round_trip
    tito.assert_no_drift([ids['"a":'], ids["_"], ids["1"]], tok)
    tito.assert_no_drift([ids["aaaa"]], tok)


def test_merge_across_the_tool_boundary_straddles(boundary: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = boundary
    buffer = [ids[piece] for piece in ("b", "T", "a", "a", "x")]
    r = tito.check(buffer, tok, mask=[1, 0, 0, 1, 1])
    assert r.text == "bTaax"
    assert r.reencoded_ids.tolist() == [ids[piece] for piece in ("b", "T", "aa", "x")]
    [token] = r.straddling
    assert token.id == ids["aa"]
    assert token.owners == [0, 1]
    assert token.mask_per_byte == (0, 1)
    assert token.bytes_per_owner == {0: 1, 1: 1}
    assert (token.reencoded_index, token.byte_start, token.byte_stop) == (2, 2, 4)
    assert [finding.code for finding in r.findings] == ["TITO101", "TITO301"]


def test_provenance_of_the_buffer(boundary: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = boundary
    buffer = [ids[piece] for piece in ("b", "T", "a", "a", "x")]
    p = tito.provenance(buffer, tok, mask=[1, 0, 0, 1, 1])
    assert p.char_owner is not None
    assert p.char_owner.tolist() == [1, 0, 0, 1, 1]
    assert p.runs == ((1, 0, 1), (0, 1, 3), (1, 3, 5))


def test_masked_mean_over_model_tokens_only() -> None:
    assert tito.masked_mean([-0.2, -9.0, -8.0, -0.3, -0.4], [1, 0, 0, 1, 1]) == pytest.approx(-0.3, abs=1e-12)


def test_all_tool_trajectory_has_no_mean(boundary: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    with pytest.raises(ValueError, match="no model-generated tokens"):
        tito.masked_mean([-0.2, -9.0, -8.0, -0.3, -0.4], [0, 0, 0, 0, 0])
    tok, ids = boundary
    r = tito.check([ids["T"], ids["aa"]], tok, mask=[0, 0])
    assert [finding.code for finding in r.findings] == ["TITO004"]


def test_mask_does_not_fit_the_re_encoded_ids(boundary: tuple[tito.Tokenizer, dict[str, int]]) -> None:
    tok, ids = boundary
    r = tito.check([ids["a"], ids["a"]], tok)
    with pytest.raises(tito.RecordError, match="mask has 2 entries, the token ids have 1"):
        tito.check(r.reencoded_ids, tok, mask=[0, 1])
