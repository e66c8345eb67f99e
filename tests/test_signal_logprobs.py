"""Log-probabilities at their tokens: what a test that goes by anything but length must find, and must leave alone."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tito_audit.signal.logprobs import check_logprobs

some = st.floats(-20, -0.01)


@st.composite
def rollouts(draw: st.DrawFn) -> tuple[list[int], list[int], list[float]]:
    """Ids, mask and log-probabilities of turns of at least four tokens with context around each."""
    mask = [0] * draw(st.integers(4, 6))
    for _ in range(draw(st.integers(1, 3))):
        mask += [1] * draw(st.integers(4, 8)) + [0] * draw(st.integers(4, 6))
    ids = draw(st.lists(st.integers(0, 9), min_size=len(mask), max_size=len(mask)))
    return ids, mask, [draw(some) if bit else 0.0 for bit in mask]


def moved(values: list[Any], shift: int, fill: Any) -> list[Any]:
    """Entry t is that of token t + shift."""
    return [values[t + shift] if 0 <= t + shift < len(values) else fill for t in range(len(values))]


def codes(found: tito.LogprobCheck) -> list[str]:
    return [finding.code for finding in found.findings]


@given(rollouts(), st.sampled_from([0.0, -0.3]), st.sets(st.integers(0, 60)))
def test_entries_at_their_tokens_are_left_alone(
    rollout: tuple[list[int], list[int], list[float]], context: float, certain: set[int]
) -> None:
    ids, mask, logprobs = rollout
    logprobs = [
        (0.0 if t in certain else value) if bit else context
        for t, (value, bit) in enumerate(zip(logprobs, mask, strict=True))
    ]
    named = [{"token_id": id_, "logprob": value} for id_, value in zip(ids, logprobs, strict=True)]
    for entries in (logprobs, np.array(logprobs), named):
        found = check_logprobs(ids, entries, mask=mask)
        assert (found.misplaced, found.other_ids) == (None, ())


@given(rollouts(), st.sampled_from([1, -1, 2, -2, 3, -3]))
def test_a_shift_shows_in_where_entries_are_not_0(
    rollout: tuple[list[int], list[int], list[float]], shift: int
) -> None:
    ids, mask, logprobs = rollout
    found = check_logprobs(ids, moved(logprobs, shift, 0.0), mask=mask)
    assert (found.shift, found.packed) == (shift, False)
    assert codes(found) == ["TITO602"]


@given(rollouts(), st.sampled_from([1, -1, 2, -2, 3, -3]))
def test_a_shift_shows_beside_the_trainers(rollout: tuple[list[int], list[int], list[float]], shift: int) -> None:
    _, mask, _ = rollout
    rng = np.random.default_rng(len(mask))
    count = 60 + len(mask)
    true = -rng.exponential(2.0, size=count)
    noise = rng.normal(0, 0.01, size=count)
    found = check_logprobs(
        list(range(count)), moved(true.tolist(), shift, -1.0), mask=None, trainer_logprobs=true + noise - 1
    )
    assert found.shift == 0, "apart throughout, at no distance together"
    trainer = np.minimum(true + noise, 0)
    found = check_logprobs(list(range(count)), moved(true.tolist(), shift, -1.0), trainer_logprobs=trainer)
    assert (found.shift, codes(found)) == (shift, ["TITO602"])
    found = check_logprobs(list(range(count)), true, trainer_logprobs=trainer)
    assert codes(found) == []


@given(rollouts(), st.sampled_from([1, -1, 2, -2]))
def test_a_shift_shows_in_the_ids_that_entries_name(
    rollout: tuple[list[int], list[int], list[float]], shift: int
) -> None:
    _, mask, _ = rollout
    ids = list(range(len(mask)))
    named = [{"token_id": id_, "logprob": -0.5} for id_ in moved(ids, shift, 99)]
    found = check_logprobs(ids, named)
    assert (found.shift, found.other_ids) == (shift, tuple(ids))
    assert codes(found) == ["TITO602", "TITO009"]


def test_packed_entries_are_told_from_those_of_all_tokens() -> None:
    mask = [0, 0, 0, 1, 1, 0, 0, 1, 1, 0]
    packed = [-0.1, -0.2, -0.3, -0.4]
    for at in (0, 3):
        logprobs = [0.0] * at + packed + [0.0] * (6 - at)
        found = check_logprobs(list(range(10)), logprobs, mask=mask)
        assert found.packed
        assert found.misplaced is not None
        assert (found.misplaced.packed_at, found.shift) == (at, 0)
        assert codes(found) == ["TITO602"]
    full = [-0.1 if bit else 0.0 for bit in mask]
    assert not check_logprobs(list(range(10)), full, mask=mask).packed


def test_packed_entries_show_beside_the_trainers() -> None:
    rng = np.random.default_rng(1)
    mask = np.array([0] * 10 + [1] * 8 + [0] * 7 + [1] * 9 + [0] * 5)
    true = -rng.exponential(2.0, size=len(mask))
    packed = -rng.exponential(2.0, size=len(mask))  # what stands behind the packed ones is anything
    packed[: int(mask.sum())] = true[mask == 1]
    found = check_logprobs(list(range(len(mask))), packed, mask=mask, trainer_logprobs=true)
    assert found.packed
    assert codes(found) == ["TITO602"]


def test_odd_entries_are_told_apart() -> None:
    entries = [None, -0.1, math.nan, 0.5, -math.inf, "x", -0.2]
    found = check_logprobs(range(7), entries, mask=[0, 1, 1, 1, 1, 1, 1])
    assert found.missing == (0, 2)
    assert found.impossible == (3, 4, 5)
    [finding] = found.findings
    assert (finding.code, finding.positions) == ("TITO017", (2, 3, 4, 5)), "the first has none by definition"
    [finding] = check_logprobs([1, 2], [None, -0.1]).findings
    assert finding.positions == (0,), "nobody says that it is context"


def test_placeholders_are_whole_runs() -> None:
    mask = [0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1]
    logprobs = [0, 0.0, 0, 0, 0, 0, 0, 0, 0, -0.1, 0]
    found = check_logprobs(range(11), logprobs, mask=mask)
    assert found.placeholders == (1, 2, 3)
    assert codes(found) == ["TITO008"]


@pytest.mark.parametrize(
    ("named", "others", "shift"),
    [
        ([10, 11, 12], (), 0),
        ([11, 12, 13], (0, 1, 2), 1),
        ([9, 10, 11], (0, 1, 2), -1),
        ([10, 99, 12], (1,), 0),
        ([None, 12, None], (1,), 0),  # one id fits by chance
        ([12, 11, 10], (0, 2), 0),
    ],
)
def test_ids_that_entries_name(named: list[int | None], others: tuple[int, ...], shift: int) -> None:
    entries = [{"logprob": -0.1} | ({} if id_ is None else {"token": f"token_id:{id_}"}) for id_ in named]
    found = check_logprobs([10, 11, 12], entries)
    assert (found.other_ids, found.shift) == (others, shift)


def test_lengths_are_refused() -> None:
    for ids, mask, named in (([1, 2], None, "logprobs has 1"), ([1], [1, 0], "mask has 2")):
        with pytest.raises(tito.RecordError, match=named) as caught:
            check_logprobs(ids, [-0.1], mask=mask)
        assert caught.value.code == "TITO002"
    with pytest.raises(tito.RecordError, match="trainer_logprobs has 2"):
        check_logprobs([1], [-0.1], trainer_logprobs=[-0.1, -0.1])


def test_nothing_at_all_is_fine() -> None:
    assert check_logprobs([], [], mask=[]) == tito.LogprobCheck(None, (), (), (), (), ())
