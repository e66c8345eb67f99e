"""On every handed tokenizer: verdict, ids, spans, straddling and provenance equal the brute force over the wheel.

`TITO_SEQUENCES` is the number of sequences per tokenizer (20000 for a release).
"""

import os
from collections.abc import Iterator

import pytest
from shared import NAMES, rollouts, texts, tokenizer, tokenizer_path

from agreement import assert_agreement, compare
from reference import Reference
from sequences import Sampled, Sequences

SEQUENCES = int(os.environ.get("TITO_SEQUENCES", "2000"))
LONG = SEQUENCES // 500
SEED = 2026
SLICE = 60
WHOLE = 500
"""Rows below this length are also compared as a whole."""


def sampled_rows(name: str) -> Iterator[Sampled]:
    """Slices of what a model really sampled, with the mask that came with it."""
    for record in rollouts(name):
        ids = record["token_ids"]
        mask = [int(value == 1) for value in record["mask"] or [0] * len(ids)]
        parts = [slice(start, start + SLICE) for start in range(0, len(ids), 7 * SLICE)]
        for part in [*parts, slice(None)] if len(ids) < WHOLE else parts:
            yield Sampled(ids[part], mask[part], [value * 3 for value in mask[part]])


@pytest.mark.parametrize("name", NAMES)
def test_sequences(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    reference = Reference(tokenizer_path(name).read_text(encoding="utf-8"))
    sequences = Sequences(reference.wheel, texts=texts(), seed=SEED)
    result = assert_agreement(reference, tokenizer(name), sequences.rows(SEQUENCES, long=LONG))
    assert result.rows == SEQUENCES
    with capfd.disabled():
        print(f"\n{name}: {result}")  # noqa: T201 - the count is the result


@pytest.mark.parametrize("name", [name for name in NAMES if rollouts(name)])
def test_sampled_rollouts(name: str) -> None:
    reference = Reference(tokenizer_path(name).read_text(encoding="utf-8"))
    result = compare(reference, tokenizer(name), sampled_rows(name))
    assert result.rows > 0
    assert not result.differences, "\n".join(map(str, result.differences[:5]))


def test_all_handed_tokenizers_are_here() -> None:
    assert len(NAMES) >= 15
