"""The product's answers equal the brute force over the PyPI wheel, on a tokenizer of every kind and on real ones."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import tito_audit as tito
import wheels
import zoo
from agreement import assert_agreement, compare
from families import PRE_TOKENIZERS, families
from reference import IDS, Reference
from sequences import ODD_IDS, TEXTS, Sampled, Sequences

ROWS = {"zoo": 600, "families": 300, "wheels": 1200}
LONG = 3
SEED = 20
WITH_A_FAST_ENGINE = [family + kind for family in PRE_TOKENIZERS if family != "unsplit" for kind in ("_nfc", "_whole")]
KINDS_FOR_PROPERTIES = (
    "bytelevel_cl100k",
    "bytelevel_added",
    "spm_prepend_added",
    "metaspace_first",
    "wordpiece_cased",
)


@cache
def kind(name: str) -> tuple[tito.Tokenizer, Reference]:
    """One kind of the zoo in the product and in the reference."""
    return tito.load_tokenizer(Tokenizer.from_str(zoo.zoo()[name])), Reference(zoo.zoo()[name])


def agree(source: str, tok: tito.Tokenizer, rows: int, *, encode_special_tokens: bool = False) -> None:
    """Compare seeded rows of every kind."""
    reference = Reference(source, encode_special_tokens=encode_special_tokens)
    assert_agreement(reference, tok, Sequences(reference.wheel, seed=SEED).rows(rows, long=LONG))


def load(folder: Path, source: str) -> tito.Tokenizer:
    """Load a file as users do."""
    path = folder / "tokenizer.json"
    path.write_text(source, encoding="utf-8")
    return tito.load_tokenizer(path)


@pytest.mark.parametrize("name", zoo.KINDS)
def test_every_kind(name: str, tmp_path: Path) -> None:
    source = zoo.zoo()[name]
    agree(source, load(tmp_path, source), ROWS["zoo"])


@pytest.mark.parametrize("name", wheels.BUILDERS)
def test_real_tokenizers(name: str, tmp_path: Path) -> None:
    source = wheels.need(name)
    agree(source, load(tmp_path, source), ROWS["wheels"])


@pytest.mark.parametrize("name", WITH_A_FAST_ENGINE)
def test_families_with_a_fast_engine(name: str) -> None:
    # Both engines share what says why a row drifts: a fault there is no difference between them.
    source = families()[name]
    tok = tito.load_tokenizer(Tokenizer.from_str(source))
    assert tok.engine == "fast", tok.not_fast
    agree(source, tok, ROWS["families"])


@pytest.mark.parametrize("name", ["bytelevel_gpt2", "spm_prepend"])
def test_truncation_padding_and_dropout_are_cleared(name: str, tmp_path: Path) -> None:
    source = zoo.zoo()[name]
    tokenizer = Tokenizer.from_str(source)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9, pad_id=1)
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_str(), encoding="utf-8")
    tok = tito.load_tokenizer(path)
    assert set(tok.changed) == {"truncation", "padding"}
    agree(source, tok, ROWS["zoo"])

    spec = json.loads(tokenizer.to_str())
    spec["model"]["dropout"] = 0.3
    path.write_text(json.dumps(spec), encoding="utf-8")
    with pytest.raises(tito.TokenizerError, match="dropout"):
        tito.load_tokenizer(path)
    tok = tito.load_tokenizer(path, ignore_dropout=True)
    assert set(tok.changed) == {"truncation", "padding", "dropout"}
    agree(source, tok, ROWS["zoo"])


@pytest.mark.parametrize("name", ["bytelevel_added", "spm_prepend_added", "wordpiece_cased"])
def test_an_object_that_encodes_special_tokens_as_text(name: str) -> None:
    source = zoo.zoo()[name]
    tokenizer = Tokenizer.from_str(source)
    tokenizer.encode_special_tokens = True
    tok = tito.load_tokenizer(tokenizer)
    agree(source, tok, ROWS["zoo"], encode_special_tokens=True)


def test_rows_do_not_depend_on_their_neighbours_or_on_threads() -> None:
    tok, reference = kind("bytelevel_added")
    rows = [row.ids for row in Sequences(reference.wheel, seed=SEED).rows(400)]
    together = tito.check_batch(rows, tok, threads=8)
    for at in range(0, len(rows), 7):
        alone = tito.check(rows[at], tok)
        assert together[at].spans == alone.spans
        assert np.array_equal(together[at].reencoded_ids, alone.reencoded_ids)
    one = tito.check_batch(rows, tok, threads=1).columns
    for name, column in together.columns.items():
        assert np.array_equal(np.asarray(column), np.asarray(one[name])), name  # type: ignore[literal-required]


CLEAN_UP = {
    **{f" {mark}": mark for mark in ".?!,"},
    " ' ": "'",
    **{f" {ending}": ending for ending in ("n't", "'m", "'s", "'ve", "'re")},
}
"""What transformers replaces after decoding, in this order."""


def pipeline_text(reference: Reference, ids: Sequence[int], *, skip: bool, clean: bool) -> str:
    """Decode as a pipeline with these options does."""
    text: str = reference.wheel.decode([token for token in ids if token in IDS], skip_special_tokens=skip)
    for old, new in CLEAN_UP.items() if clean else ():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("skip", "clean"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", ["bytelevel_added", "spm_prepend_added", "unigram_fallback", "wordpiece_cased"])
def test_the_second_exposure_is_that_pipeline(name: str, skip: bool, clean: bool) -> None:  # noqa: FBT001
    tok, reference = kind(name)
    rows = [row.ids for row in Sequences(reference.wheel, seed=SEED).rows(400)]
    batch = tito.check_batch(rows, tok, skip_special_tokens=skip, clean_up_tokenization_spaces=clean)
    plain = tito.check_batch(rows, tok)
    assert np.array_equal(batch.drifted, plain.drifted)
    special = {token for token, added in reference.added.items() if added.special}
    drifted = 0
    for ids, result in zip(rows, batch, strict=True):
        text = pipeline_text(reference, ids, skip=skip, clean=clean)
        assert result.pipeline is not None
        assert result.pipeline.text == text
        assert result.pipeline.reencoded_ids.tolist() == reference.encode(text)
        assert result.pipeline.drifted == (reference.encode(text) != ids)
        assert (result.pipeline.cause is None) == (not result.pipeline.drifted)
        lost = [at for at, token in enumerate(ids) if skip and token in special]
        assert list(result.pipeline.lost_positions) == lost
        drifted += result.pipeline.drifted
    assert drifted


def test_owners_are_the_mask_where_none_are_given() -> None:
    tok, reference = kind("bytelevel_added")
    rows = list(Sequences(reference.wheel, seed=SEED).rows(400))
    ids, mask = [row.ids for row in rows], [row.mask for row in rows]
    alone, named = (
        tito.check_batch(ids, tok, mask=mask).columns,
        tito.check_batch(ids, tok, mask=mask, owners=mask).columns,
    )
    for name, column in alone.items():
        assert np.array_equal(np.asarray(column), np.asarray(named[name])), name  # type: ignore[literal-required]
    assert alone["straddling_offsets"][-1] > 0
    without = tito.check_batch(ids, tok).columns
    assert without["straddling_offsets"][-1] == 0
    assert not without["n_owner_crossing"].any()
    assert not without["n_shared_chars"].any()


def ids_of(name: str) -> st.SearchStrategy[list[int]]:
    """Short rows of a kind: mostly ids, sometimes what is none; they shrink to few and small ids."""
    known = st.integers(0, kind(name)[1].wheel.get_vocab_size() - 1)
    return st.lists(st.one_of(known, known, known, st.sampled_from(ODD_IDS)), max_size=12)


def sampled(name: str) -> st.SearchStrategy[Sampled]:
    """Such rows with a mask and owners."""

    def owned(ids: list[int]) -> st.SearchStrategy[Sampled]:
        values = [st.lists(st.integers(0, most), min_size=len(ids), max_size=len(ids)) for most in (1, 4)]
        return st.builds(Sampled, st.just(ids), *values)

    return ids_of(name).flatmap(owned)


@pytest.mark.parametrize("name", KINDS_FOR_PROPERTIES)
def test_property_every_row_equals_the_brute_force(name: str) -> None:
    tok, reference = kind(name)

    @settings(max_examples=150)
    @given(sampled(name))
    def holds(row: Sampled) -> None:
        assert not compare(reference, tok, [row]).differences

    holds()


@pytest.mark.parametrize("name", KINDS_FOR_PROPERTIES)
def test_property_what_the_ids_come_back_as_is_what_the_wheel_says(name: str) -> None:
    tok, reference = kind(name)

    @settings(max_examples=100)
    @given(st.text(max_size=40) | st.sampled_from(TEXTS))
    def holds(text: str) -> None:
        ids = reference.encode(text)
        assert tok.encode(text).tolist() == ids
        assert tok.decode(ids) == reference.decode(ids)
        assert tito.check(ids, tok).drifted == (reference.encode(reference.decode(ids)) != ids)

    holds()


@pytest.mark.parametrize("name", ["bytelevel_gpt2", "bytelevel_chained", "spm_replace"])
def test_property_text_that_was_encoded_is_clean(name: str) -> None:
    tok, reference = kind(name)

    @settings(max_examples=100)
    @given(st.text(max_size=60))
    def holds(text: str) -> None:
        result = tito.check(reference.encode(text), tok, mask=[1] * len(reference.encode(text)))
        assert not result.drifted
        assert (result.text, result.first_diff, result.cause, result.spans) == (text, None, None, ())

    holds()


def test_property_one_mask_value_straddles_nowhere_and_owners_are_only_names() -> None:
    tok, _ = kind("bytelevel_added")

    @settings(max_examples=100)
    @given(sampled("bytelevel_added"), st.permutations(range(5)))
    def holds(row: Sampled, names: Sequence[int]) -> None:
        renamed = [names[owner] for owner in row.owners]
        assert tito.check(row.ids, tok, mask=[1] * len(row.ids)).straddling == ()
        first = tito.check(row.ids, tok, mask=row.mask, owners=row.owners)
        second = tito.check(row.ids, tok, mask=row.mask, owners=renamed)
        assert first.owner_crossing == second.owner_crossing
        assert first.shared_characters == second.shared_characters
        assert [one.mask_per_byte for one in first.straddling] == [one.mask_per_byte for one in second.straddling]

    holds()
