"""Rows that were trained as they re-encode: told from the round trip just as the reference tells them."""

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

import tito_audit as tito
import zoo
from reference import Reference
from sequences import Sequences
from tito_audit.ragged import ReadRows, to_rows
from tito_audit.realised import compare_trained
from tito_audit.reencoded_rows import realised_of, reencoded_rows

KINDS = [name for name, source in zoo.zoo().items() if tito.load_tokenizer(Tokenizer.from_str(source)).engine == "fast"]


def some(rows: ReadRows, mask: NDArray[np.uint8], chosen: NDArray[np.int64]) -> tuple[ReadRows, NDArray[np.uint8]]:
    parts = [slice(*rows.offsets[row : row + 2].tolist()) for row in chosen.tolist()]
    lengths = [part.stop - part.start for part in parts]
    ids: Any = np.concatenate([rows.ids[part] for part in parts])
    return ReadRows(ids, np.cumsum([0, *lengths]), {}), np.concatenate([mask[part] for part in parts])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masks", ["none", "both"])
def test_it_says_what_the_reference_says(kind: str, masks: str) -> None:
    source = zoo.zoo()[kind]
    tok = tito.load_tokenizer(Tokenizer.from_str(source))
    rng = np.random.default_rng(5)
    rows = [row.ids for row in Sequences(Reference(source).wheel, seed=5).rows(300)]
    sampled = to_rows(rows)
    mask = rng.integers(0, 2, len(sampled.ids)).astype(np.uint8)
    batch = tito.check_batch(rows, tok, mask=(mask, sampled.offsets), recheck=0)
    trained = ReadRows(batch.reencoded_ids, batch.reencoded_offsets, {})
    train_mask = rng.integers(0, 2, len(trained.ids)).astype(np.uint8)
    chosen = reencoded_rows(batch, trained, np.arange(len(rows)))
    assert (len(chosen) > 20) == tok.joins_bytes
    if not tok.joins_bytes:
        return
    ours, our_mask = some(sampled, mask, chosen)
    theirs, their_mask = some(trained, train_mask, chosen)
    given: dict[str, Any] = (
        {"mask": our_mask, "train_mask": their_mask} if masks == "both" else {"mask": None, "train_mask": None}
    )
    wanted = compare_trained(ours, theirs, tok, **given)
    found = realised_of(batch, chosen, ours, theirs, **given)
    assert found is not None
    for name, column in cast("dict[str, Any]", wanted.columns).items():
        assert np.array_equal(cast("dict[str, Any]", found.columns)[name], column), name


def test_a_row_that_was_trained_otherwise_is_not_chosen() -> None:
    tok = tito.load_tokenizer(Tokenizer.from_str(zoo.zoo()["bytelevel_gpt2"]))
    cut = [int(tok.encode(letter)[0]) for letter in "them"]
    batch = tito.check_batch([cut], tok)
    again = batch.reencoded_ids.tolist()
    assert batch.drifted[0]
    assert len(reencoded_rows(batch, to_rows([again]), np.arange(1)))
    for other in (again[:-1], [*again, 1], cut, []):
        assert not len(reencoded_rows(batch, to_rows([other]), np.arange(1)))
