from collections.abc import Iterator

import numpy as np
import pytest

from tiny import straddler
from tito_audit.auditing import groups
from tito_audit.auditing.groups import check_rows, check_trained, grouped
from tito_audit.reading.row import Row
from tito_audit.reading.training import Training
from tito_audit.records import to_ids


def row(*ids: int, mask: bool = False, skipped: bool = False) -> Row:
    return Row(
        source="a",
        number=1,
        ids=None if skipped else np.array(ids, dtype=np.int64),
        mask=np.ones(len(ids), dtype=np.uint8) if mask else None,
    )


def sizes(rows: list[Row]) -> list[int]:
    return [len(group) for group in grouped(rows)]


def test_rows_of_one_layout_go_together_and_skipped_ones_along() -> None:
    assert sizes([]) == []
    assert sizes([row(1), row(skipped=True), row(2)]) == [3]
    assert sizes([row(skipped=True), row(1, mask=True), row(2), row(skipped=True), row(3, mask=True)]) == [2, 2, 1]


def test_a_group_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_MOST_TOKENS", 4)
    assert sizes([row(1, 2, 3), row(1), row(1), row(1, 2, 3, 4, 5, 6), row(1)]) == [2, 2, 1]
    monkeypatch.setattr(groups, "_MOST_ROWS", 2)
    assert sizes([row(skipped=True)] * 5) == [2, 2, 1]


def test_a_group_keeps_every_thread_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_MOST_TOKENS", 4)
    assert [len(group) for group in grouped([row(1, 2)] * 9, threads=2)] == [4, 4, 1]


def test_a_group_is_ready_before_the_next_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_MOST_ROWS", 1)

    def rows() -> Iterator[Row]:
        yield row(1)
        raise AssertionError

    assert len(next(grouped(rows()))) == 1


def test_integers_beyond_an_array_reach_the_verdict() -> None:
    odd = row(0, -1)
    odd.overflow = {1: 2**70}
    batch, turns = check_rows(
        [row(2, 2), odd], straddler(), threads=1, skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    assert turns is None
    assert batch.drifted.tolist() == [True, True]
    [finding] = batch[1].findings
    assert finding.sampled_ids == (2**70,)


def seen(prompt: int, *ids: int, trained: list[int], mask: list[int] | None = None) -> Row:
    of = row(*ids)
    of.prompt = prompt
    of.training = Training(to_ids(trained), None if mask is None else np.array(mask, dtype=np.uint8))
    return of


def test_what_was_trained_is_compared_as_a_whole_sequence_whatever_it_covers() -> None:
    rows = [
        seen(1, 0, 2, 2, trained=[4]),
        row(1),
        seen(1, 0, 2, 2, trained=[0, 2, 2]),
        seen(1, 0, 2, 2, trained=[2, 2], mask=[1, 0]),
        seen(-1, 2, 2, trained=[4], mask=[1]),
    ]
    plain, masked = check_trained(rows, straddler(), threads=1)
    assert (plain.indices.tolist(), masked.indices.tolist()) == ([0, 2], [3, 4])
    assert [each.kind for each in plain.batch] == ["retokenized", None]
    assert [each.kind for each in masked.batch] == [None, "retokenized"]
    assert plain.batch[0].train_ids.tolist() == [0, 4]
    assert [each.train_mask.tolist() for each in masked.batch if each.train_mask is not None] == [[0, 1, 0], [1]]
