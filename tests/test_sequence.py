"""One rollout out of its parts: joining, laying per-token data on it, and padding."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import RecordError
from tito_audit.reading.padding import kept_tokens, to_attention, without
from tito_audit.reading.sequence import Joined, Scope, beginning, differing, entries, join, to_targets
from tito_audit.records import ReadIds, to_ids, to_mask, to_owners

IDS = st.lists(st.integers(-(2**70), 2**70) | st.integers(0, 3), max_size=6)
FEW = st.lists(st.integers(0, 2), max_size=6)


def originals(joined: Joined) -> list[int]:
    return [joined.overflow.get(place, id_) for place, id_ in enumerate(joined.ids.tolist())]


@given(IDS, IDS)
def test_nothing_is_lost_by_joining(prompt: list[int], response: list[int]) -> None:
    joined = join(to_ids(response), to_ids(prompt))
    assert originals(joined) == prompt + response
    assert (joined.prompt, joined.length) == (len(prompt), len(prompt) + len(response))
    assert join(to_ids(response), None).prompt == -1


@given(FEW, FEW)
def test_data_of_either_scope_is_laid_on_the_sequence(prompt: list[int], response: list[int]) -> None:
    joined = join(to_ids(response), to_ids(prompt))
    part = [value + 1 for value in response]
    expected = [9] * len(prompt) + part
    for value, scope in ((part, "auto"), (part, "response"), (expected, "auto"), (expected, "full")):
        laid = joined.read(value, to_owners, column="x", scope=scope, outside=9)  # type: ignore[arg-type]
        assert laid.tolist() == expected


@given(FEW, st.data())
def test_without_parts_a_response_is_the_last_tokens(ids: list[int], data: st.DataObject) -> None:
    part = data.draw(st.lists(st.integers(0, 1), max_size=len(ids)))
    laid = join(to_ids(ids), None).read(part, to_mask, column="mask", scope="response")
    assert laid.tolist() == [0] * (len(ids) - len(part)) + part


@pytest.mark.parametrize(
    ("prompt", "count", "scope", "says"),
    [
        (
            -1,
            2,
            "auto",
            "x has 2 entries, the token ids have 5 (one entry per token is needed; nothing is ",
        ),
        (-1, 1, "full", "x has 1 entry, the token ids have 5"),
        (-1, 6, "response", "x has 6 entries, the token ids have 5"),
        (2, 2, "auto", "x has 2 entries, the response has 3 token ids, prompt and response together 5"),
        (2, 3, "full", "x has 3 entries, the token ids have 5"),
        (2, 5, "response", "x has 5 entries, the response has 3 token ids ("),
    ],
)
def test_a_length_that_fits_nothing_names_both(prompt: int, count: int, scope: Scope, says: str) -> None:
    joined = Joined(np.arange(5), {}, prompt)
    with pytest.raises(RecordError) as caught:
        joined.read([0] * count, to_mask, column="x", scope=scope)
    assert str(caught.value).startswith(says)
    assert (caught.value.code, caught.value.column) == ("TITO002", "x")


@pytest.mark.parametrize("value", [{}, "12", np.array(1), 5, {1, 2}, np.eye(2)], ids=repr)
def test_what_is_no_flat_sequence_has_no_entries(value: Any) -> None:
    assert entries(value, "x") is None
    with pytest.raises(RecordError, match=r"^x: .* where (a flat sequence|one flat row) "):
        Joined(np.arange(2), {}, 1).read(value, to_mask, column="x")


@given(IDS, st.integers(0, 7))
def test_a_beginning_keeps_what_no_array_holds(ids: list[int], count: int) -> None:
    found = beginning(to_ids(ids), count)
    assert originals(Joined(found.ids, found.overflow)) == ids[:count]
    assert all(place < count for place in found.overflow)


@given(st.lists(st.integers(0, 1), max_size=6))
def test_a_mask_of_predictors_moves_by_one(targets: list[int]) -> None:
    mask = np.array([*targets[1:], 0][: len(targets)], dtype=np.uint8)
    assert to_targets(mask, column="mask").tolist() == [0, *targets[1:]][: len(targets)]


def test_a_mask_of_predictors_marks_nothing_after_the_last_token() -> None:
    with pytest.raises(RecordError, match="the last entry, at position 2, is not 0") as caught:
        to_targets(np.array([0, 1, 1], dtype=np.uint8), column="mask")
    assert (caught.value.code, caught.value.position) == ("TITO016", 2)


@given(FEW, FEW)
def test_positions_that_differ(ours: list[int], theirs: list[int]) -> None:
    found = differing(np.array(ours), np.array(theirs))
    assert (found == ()) == (ours == theirs)
    assert all(place >= min(len(ours), len(theirs)) or ours[place] != theirs[place] for place in found)


@given(st.lists(st.integers(3, 9), max_size=5), st.integers(0, 4))
def test_padding_is_removed_from_one_side(ids: list[int], count: int) -> None:
    for padded, side in (([0] * count + ids, "left"), (ids + [0] * count, "right")):
        kept = kept_tokens(np.array(padded, dtype=np.int64), side, pads=frozenset({0}))  # type: ignore[arg-type]
        assert without(to_ids(padded), kept).ids.tolist() == ids


def test_the_first_of_a_run_that_also_ends_is_the_end() -> None:
    ids = np.array([7, 2, 2, 2])
    pads = frozenset({2})
    assert kept_tokens(ids, "right", pads=pads, ends=pads).tolist() == [True, True, False, False]
    cut = kept_tokens(ids, "right", pads=pads, ends=pads, cut_short=True)
    assert cut.tolist() == [True, False, False, False], "a response that was cut short has no end"
    trained = np.array([1, 1, 0, 0], dtype=np.uint8)
    kept = kept_tokens(ids, "right", pads=pads, ends=pads, cut_short=True, mask=trained)
    assert kept.tolist() == [True, True, False, False], "one that is trained is kept, to be found"


def test_integers_that_no_array_holds_keep_their_place_without_padding() -> None:
    ids, overflow = without(
        ReadIds(np.array([0, -1, 0, -1]), {1: 2**70, 3: 2**71}), np.array([False, True, False, True])
    )
    assert (ids.tolist(), overflow) == ([-1, -1], {0: 2**70, 1: 2**71})


@given(st.lists(st.integers(0, 2**40) | st.booleans() | st.floats(0, 9)))
def test_an_attention_mask_may_number_packed_sequences(attention: list[float]) -> None:
    assert to_attention(attention, len(attention)).tolist() == [each != 0 for each in attention]


@pytest.mark.parametrize("wrong", [-1, -100, float("nan"), float("-inf"), "x", None])
def test_an_attention_mask_has_no_other_values(wrong: Any) -> None:
    with pytest.raises(
        RecordError, match=r"^attention_mask: .* at position 1 is neither 0 \(padding\) nor above"
    ) as caught:
        to_attention([1, wrong, 0, wrong], 4)
    assert (caught.value.code, caught.value.positions) == ("TITO016", (1, 3))
