"""Does the next request go on where the rollout ends: where it breaks, why, and what that takes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from rollouts import CALLS, Call, filled
from tiny import byte_level, load
from tito_audit.continuation import Continuation

END, NEWLINE, A, AA, B, THINK, START = 6, 3, 0, 1, 2, 4, 5


def tokenizer() -> tito.Tokenizer:
    return load(["a", "aa", "b", "\n"], [("a", "a")], special=["<think>", "<start>", "<end>"])


TOK = tokenizer()


def turns() -> tito.RolloutBuffer:
    r"""``<start> b <end> \n <start> a a <end>``, then a tool's ``\n b <end>``, then ``a <end>``."""
    buffer = tito.RolloutBuffer()
    buffer.add_prompt([START, B, END, NEWLINE, START])
    buffer.add_sampled([A, A, END], [-0.1, -0.2, -0.3])
    buffer.add_tool([NEWLINE, B, END])
    buffer.add_sampled([A, END], [-0.1, -0.1])
    return buffer


HELD = [START, B, END, NEWLINE, START, A, A, END, NEWLINE, B, END, A, END]


@given(CALLS, st.lists(st.integers(0, 9), max_size=5))
def test_what_is_held_and_more_goes_on(calls: list[Call], more: list[int]) -> None:
    buffer = filled(calls)
    found = buffer.extends([*buffer.ids.tolist(), *more])
    assert found
    assert found.extends
    assert (found.first_diff, found.cause, found.code, found.finding, found.after) == (None, None, None, None, 0)
    assert found.delta.tolist() == more
    assert found.delta.dtype == np.int64


@given(CALLS, st.lists(st.integers(0, 9), max_size=20), st.sampled_from([None, TOK]))
def test_any_other_request_breaks_at_the_first_difference(
    calls: list[Call], request_ids: list[int], tok: tito.Tokenizer | None
) -> None:
    buffer = filled(calls)
    held = buffer.ids.tolist()
    found = buffer.extends(request_ids, tok=tok)
    same = next((i for i, (a, b) in enumerate(zip(held, request_ids, strict=False)) if a != b), None)
    first = min(len(held), len(request_ids)) if same is None else same
    assert bool(found) == (first == len(held))
    if not found:
        assert found.first_diff == first
        assert found.after == len(held) - first
        assert found.sampled_after == buffer.mask[first:].sum()
        assert found.code in {"TITO501", "TITO502"}
        assert (found.cause is None) == (tok is None and not found.separators)
        assert str(found).startswith(str(found.code))
        assert not len(found.delta)


@given(st.data())
def test_separators_that_are_missing_in_the_buffer_are_all_found(data: st.DataObject) -> None:
    """Between two turns of a rollout ids are put in: the request of a template that writes them."""
    buffer = turns()
    edges = [segment.start for segment in buffer.segments[1:]]
    places = data.draw(st.lists(st.sampled_from(edges), min_size=1, unique=True).map(sorted))
    put_in = data.draw(st.lists(st.sampled_from([NEWLINE, END]), min_size=1, max_size=4))
    request = []
    for index, id_ in enumerate(HELD):
        request += [*(put_in if index in places else []), id_]
    for tok in (TOK, None):
        found = buffer.extends([*request, B], tok=tok)
        assert not found
        assert found.cause == "missing-separator", found
        # What is reported is enough: put in and left out there, the buffer is a prefix of the request.
        repaired = list(HELD)
        for separator in reversed(found.separators):
            if separator.missing_in == "buffer":
                repaired[separator.token : separator.token] = separator.ids
            else:
                del repaired[separator.token : separator.token + len(separator.ids)]
        assert request[: len(repaired)] == repaired


CASES: list[tuple[str, list[int], str, int, int]] = [
    ("the end id is trimmed", [*HELD[:-1], NEWLINE], "missing-separator", 12, 1),
    ("the end of the first answer is trimmed", HELD[:7] + HELD[8:], "missing-separator", 7, 3),
    ("the newline is not written", HELD[:8] + HELD[9:], "missing-separator", 8, 2),
    ("encoded again", [*HELD[:5], AA, *HELD[7:]], "retokenization", 5, 8 - 3),
    ("encoded again, across the end", [*HELD[:11], AA, END], "history-changed", 11, 2),
    ("the answer is another", [*HELD[:5], B, *HELD[7:]], "history-changed", 5, 5),
    ("reasoning is put in", [*HELD[:5], THINK, B, *HELD[5:]], "template", 5, 5),
    ("the request ends early", HELD[:6], "history-changed", 6, 4),
    ("nothing is requested", [], "history-changed", 0, 5),
]


@pytest.mark.parametrize(
    ("request_ids", "cause", "first", "sampled"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_the_cause_of_a_break(request_ids: list[int], cause: str, first: int, sampled: int) -> None:
    found = turns().extends(request_ids, tok=TOK)
    assert (found.cause, found.first_diff, found.sampled_after) == (cause, first, sampled)
    assert found.code == ("TITO502" if cause == "missing-separator" else "TITO501")
    assert found.finding is not None
    assert found.finding.severity == "error"


def test_bytes_decide_whether_something_was_encoded_again() -> None:
    buffer = tito.RolloutBuffer()
    buffer.add_sampled([*"é".encode(), 65], [-0.1] * 3)
    tok = byte_level()
    assert buffer.extends([0xC3, 0xA8, 65], tok=tok).cause == "history-changed"
    assert buffer.extends([10**6, 0xA8, 65], tok=tok).cause == "history-changed"


def test_an_end_id_may_be_trimmed_where_that_is_allowed() -> None:
    trimmed = [*HELD[:-1], NEWLINE, B]
    options: list[dict[str, Any]] = [{"tok": TOK}, {"end_ids": [END]}]
    for option in options:
        found = turns().extends(trimmed, tail=1, **option)
        assert found
        assert found.trimmed == 1
        assert found.delta.tolist() == [NEWLINE, B]
        assert "1 end id trimmed" in str(found)
        assert not turns().extends(trimmed, **option)
        # An answer that was encoded again at its end is no end id that was trimmed.
        assert not turns().extends([*HELD[:-2], B], tail=2, **option)
    assert turns().extends(trimmed, end_ids=[END]).cause == "missing-separator"
    assert turns().extends(trimmed).cause is None


def test_the_tail_needs_to_know_what_ends_a_turn() -> None:
    with pytest.raises(ValueError, match="end_ids"):
        turns().extends(HELD, tail=1)
    with pytest.raises(ValueError, match="tail=-1"):
        turns().extends(HELD, tok=TOK, tail=-1)
    with pytest.raises(tito.TokenizerError):
        turns().extends(HELD, tok="tokenizer.json")  # type: ignore[arg-type]


def test_an_id_beyond_64_bits_is_refused() -> None:
    with pytest.raises(tito.RecordError, match="prompt_ids"):
        turns().extends([2**70])


def test_what_a_person_reads() -> None:
    said = str(turns().extends([*HELD[:5], AA, *HELD[7:]], tok=TOK))
    assert said == (
        "TITO501 prefix-break: the request parts from the 13 ids held at token 5 (retokenization); 8 ids held after "
        "that, 5 of them sampled"
    )
    assert str(turns().extends([*HELD, 1, 2])) == "the request goes on after 13 ids held: 2 more"
    missing = [*HELD[:8], *HELD[9:]]
    assert "the request lacks 3 at token 8" in str(turns().extends(missing, tok=TOK))
    assert isinstance(turns().extends(HELD), Continuation)


def test_a_long_rollout_with_many_missing_separators_takes_linear_time() -> None:
    buffer = tito.RolloutBuffer()
    request: list[int] = []
    for _ in range(2000):
        buffer.add_sampled([A, B, END], [-0.1] * 3)
        buffer.add_tool([START, B, B])
        request += [A, B, END, NEWLINE, START, B, B]
    found = buffer.extends(request, tok=TOK)
    assert len(found.separators) == 2000
