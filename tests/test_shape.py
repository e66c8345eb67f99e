"""Which of several columns of ids are a record's sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tito_audit.reading.shape import encloses, is_read_whole, is_response

IDS = st.lists(st.integers(1, 9), max_size=5)
SOME = st.lists(st.integers(1, 9), min_size=1, max_size=5)
PAD = 0


def ids(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


@given(SOME, SOME, SOME)
def test_several_turns_enclose_the_first_prompt_and_the_last_response(
    prompt: list[int], between: list[int], response: list[int]
) -> None:
    several = ids(*prompt, *between, *response)
    assert encloses(several, ids(*prompt), ids(*response))
    assert not is_read_whole(several, ids(*prompt), ids(*response), lengths=[len(several)])
    assert not encloses(ids(*prompt, *response), ids(*prompt), ids(*response))
    assert not encloses(several, ids(), ids(*response))
    assert not encloses(several, ids(*prompt), ids())
    assert not encloses(ids(PAD, *several), ids(*prompt), ids(*response))
    assert not encloses(ids(*several, PAD), ids(*prompt), ids(*response))


@given(IDS, IDS, st.sampled_from([[], [1], [2], [1, 2]]))
def test_parts_that_are_the_whole_are_read(prompt: list[int], response: list[int], about: list[int]) -> None:
    lengths = [{1: len(prompt + response), 2: len(response)}[each] for each in about]
    assert not is_read_whole(ids(*prompt, *response), ids(*prompt), ids(*response), lengths=lengths)


@pytest.mark.parametrize(
    ("lengths", "attention", "whole"),
    [
        ([], None, False),
        ([2], None, False),  # the response's
        ([3], None, False),  # that of both parts
        ([4], None, True),
        ([4, 2], None, False),
        ([4, 4], 4, True),
        ([], 4, True),
        ([], 3, False),
        ([2], 3, False),
        ([7], None, False),
    ],
)
def test_where_they_hold_other_ids_the_length_of_what_is_about_them_decides(
    lengths: list[int], attention: int | None, *, whole: bool
) -> None:
    assert is_read_whole(ids(1, 2, 3, 9), ids(1), ids(2, 4), lengths=lengths, attention=attention) == whole


def test_an_attention_mask_that_fits_both_is_about_the_whole() -> None:
    whole, prompt, response = ids(PAD, 1, 2, 3, PAD), ids(PAD, PAD, 1), ids(2, 3)
    assert is_read_whole(whole, prompt, response, lengths=[5], attention=5)
    assert not is_read_whole(whole, prompt, response, lengths=[5])


@given(SOME, IDS, st.integers(0, 3), st.integers(0, 3))
def test_ids_that_begin_with_the_prompt_are_the_whole(
    prompt: list[int], response: list[int], left: int, more: int
) -> None:
    whole = ids(*prompt, *response)
    assert not is_response(whole, ids(*prompt))
    assert not is_response(whole, ids())
    if len(set(prompt)) > 1:
        padded = ids(*[PAD] * left, *whole)
        assert not is_response(padded, ids(*prompt))
        assert not is_response(padded, ids(*[PAD] * left, *prompt))
        assert not is_response(padded, ids(*[PAD] * more, *prompt)) or more == 1


@given(SOME, st.lists(st.integers(10, 19), max_size=5))
def test_ids_that_do_not_are_the_response(prompt: list[int], response: list[int]) -> None:
    assert is_response(ids(*response), ids(*prompt))
    assert is_response(ids(*response), ids(*prompt), attention=len(prompt + response))
    assert not is_response(ids(*response), ids(*prompt), attention=len(response))
