"""Log-probabilities: which token each belongs to, and which of them no sampler meant."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import RecordError
from tito_audit.reading.logprobs import LogprobAlignment, read_logprobs
from tito_audit.reading.sequence import Joined, join
from tito_audit.records import to_ids

PARTS = join(to_ids([12, 13, 14]), to_ids([10, 11]))
WHOLE = Joined(PARTS.ids, {})
MASK = np.array([0, 0, 1, 0, 1], dtype=np.uint8)
NAN = None
"""How the tables below write that nothing is recorded."""


def written(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


@pytest.mark.parametrize(
    ("joined", "alignment", "entries", "expected"),
    [
        (PARTS, "auto", [-1, -2, -3], [NAN, NAN, -1, -2, -3]),
        (PARTS, "auto", [0, 0, -1, -2, -3], [0, 0, -1, -2, -3]),
        (PARTS, "full", [0, 0, -1, -2, -3], [0, 0, -1, -2, -3]),
        (PARTS, "response", [-1, -2, -3], [NAN, NAN, -1, -2, -3]),
        (PARTS, "masked", [-1, -3], [NAN, NAN, -1, NAN, -3]),
        (PARTS, "shifted", [0, -1, -2, -3], [NAN, 0, -1, -2, -3]),
        (WHOLE, "auto", [0, 0, -1, -2, -3], [0, 0, -1, -2, -3]),
        (WHOLE, "response", [-2, -3], [NAN, NAN, NAN, -2, -3]),
        (WHOLE, "masked", [-1, -3], [NAN, NAN, -1, NAN, -3]),
        (WHOLE, "shifted", [0, -1, -2, -3], [NAN, 0, -1, -2, -3]),
    ],
)
def test_entries_find_their_tokens(
    joined: Joined, alignment: LogprobAlignment, entries: list[float], expected: list[float | None]
) -> None:
    for value in (entries, tuple(entries), np.array(entries, dtype=np.float32), [np.float64(each) for each in entries]):
        assert written(read_logprobs(value, joined, alignment=alignment, mask=MASK).values) == expected


@pytest.mark.parametrize(
    ("joined", "alignment", "count", "says"),
    [
        (PARTS, "auto", 2, "as many as tokens with mask 1: --logprobs-align masked"),
        (PARTS, "auto", 4, "one less than tokens: --logprobs-align shifted"),
        (WHOLE, "auto", 2, "as many as tokens with mask 1: --logprobs-align masked"),
        (WHOLE, "auto", 4, "one less than tokens: --logprobs-align shifted"),
        (WHOLE, "auto", 3, "if they belong to the last tokens: --logprobs-align response"),
        (PARTS, "auto", 1, "logprobs has 1 entry, the response has 3 token ids, prompt and response together 5"),
        (PARTS, "full", 3, "logprobs has 3 entries, the token ids have 5"),
        (PARTS, "response", 5, "logprobs has 5 entries, the response has 3 token ids"),
        (PARTS, "masked", 3, "logprobs has 3 entries, tokens with mask 1 there are 2"),
        (PARTS, "shifted", 5, "logprobs has 5 entries, tokens after the first there are 4"),
    ],
)
def test_a_number_of_entries_that_fits_nothing_is_refused_and_never_guessed(
    joined: Joined, alignment: LogprobAlignment, count: int, says: str
) -> None:
    with pytest.raises(RecordError) as caught:
        read_logprobs([-1.0] * count, joined, alignment=alignment, mask=MASK)
    assert caught.value.code == "TITO002"
    assert says in str(caught.value)


def test_entries_for_the_mask_need_one() -> None:
    with pytest.raises(RecordError, match="no mask is there"):
        read_logprobs([-1.0], WHOLE, alignment="masked")


@pytest.mark.parametrize(
    "entries",
    [
        [{"token_id": 12, "logprob": -1}, {"token_id": 13, "logprob": -2.0}, {"token_id": 14, "logprob": -3}],
        [{"token": f"token_id:{id_}", "logprob": -value} for id_, value in ((12, 1), (13, 2), (14, 3))],
        [{"id": 12, "logprob": -1}, {"token": "text", "logprob": -2, "bytes": None}, -3.0],
    ],
)
def test_entries_that_are_mappings(entries: list[Any]) -> None:
    read = read_logprobs(entries, PARTS)
    assert written(read.values) == [NAN, NAN, -1, -2, -3]
    assert read.disagreeing == ()


def test_entries_that_name_other_ids_are_told_by_position() -> None:
    joined = Joined(np.array([10, 11, 12]), {})
    entries = [{"token": f"token_id:{id_}", "logprob": -0.1} for id_ in (11, 12, 13)]
    assert read_logprobs(entries, joined).disagreeing == (0, 1, 2)
    big = Joined(np.array([-1, 1]), {0: 2**70})
    assert read_logprobs([{"token_id": 2**70, "logprob": -1}, {"token_id": 2, "logprob": 0}], big).disagreeing == (1,)


@pytest.mark.parametrize("entry", [{}, {"logprob": None}, {"logprob": "x"}, {"token_id": 10}, {"logprob": [0.0]}])
def test_a_mapping_without_a_log_probability(entry: dict[str, Any]) -> None:
    with pytest.raises(RecordError) as caught:
        read_logprobs([-1.0, entry, -1.0], PARTS)
    assert (caught.value.code, caught.value.positions) == ("TITO017", (1,))


def test_the_first_token_of_a_rollout_has_none() -> None:
    joined = Joined(np.array([10, 11, 12]), {})
    values = [None, -0.2, -0.3]
    assert written(read_logprobs(values, joined, mask=np.array([0, 1, 1], dtype=np.uint8)).values) == [NAN, -0.2, -0.3]
    with pytest.raises(RecordError, match="null at position 0") as caught:
        read_logprobs(values, joined, mask=np.array([1, 1, 1], dtype=np.uint8))
    assert caught.value.positions == (0,)
    with pytest.raises(RecordError, match="null at position 0"):
        read_logprobs(values, joined)
    with pytest.raises(RecordError, match="null at position 1"):
        read_logprobs([0.0, None, -0.3], joined, mask=np.array([0, 0, 1], dtype=np.uint8))
    # With parts the first token of the prompt is no secret, and that of the response is none such.
    assert written(read_logprobs([None, 0, -1, -2, -3], PARTS).values)[0] is NAN
    with pytest.raises(RecordError, match="null at position 0"):
        read_logprobs([None, -2, -3], PARTS)


def test_entries_of_padding_may_be_anything() -> None:
    kept = np.array([False, True, True, True, False])
    for odd in (None, math.nan, 7.0, "x"):
        read = read_logprobs([odd, None, -1.0, -2.0, odd], WHOLE, mask=MASK, kept=kept)
        assert written(read.values)[1:4] == [NAN, -1.0, -2.0]
    with pytest.raises(RecordError) as caught:
        read_logprobs([None, 0.0, math.nan, -2.0, None], WHOLE, mask=MASK, kept=kept)
    assert caught.value.positions == (2,)


@given(st.lists(st.floats(max_value=0.001, allow_infinity=False, allow_nan=False), min_size=5, max_size=5))
def test_numbers_are_kept_as_they_are(values: list[float]) -> None:
    assert read_logprobs(values, WHOLE).values.tolist() == values
    mappings = [{"logprob": value} for value in values]
    assert read_logprobs(mappings, WHOLE).values.tolist() == values


@pytest.mark.parametrize("value", ["text", 5, {"content": []}, b"12"])
def test_what_is_no_sequence(value: object) -> None:
    with pytest.raises(RecordError, match="where one log-probability per token is needed") as caught:
        read_logprobs(value, WHOLE)
    assert caught.value.code == "TITO017"


def test_a_huge_negative_integer_is_a_log_probability() -> None:
    assert read_logprobs([-(10**400), 0, 0, 0, 0], WHOLE).values[0] == -math.inf
