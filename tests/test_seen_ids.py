"""Names that come twice, in memory of a fixed size."""

from hypothesis import given
from hypothesis import strategies as st

from tito_audit.auditing import seen_ids
from tito_audit.auditing.seen_ids import SeenIds

NAMES = st.none() | st.integers(-3, 3) | st.sampled_from(["a", "b", "1", "\ud800", ""])


def expected(batches: list[list[str | int | None]]) -> list[list[bool]]:
    seen: set[tuple[type, str | int]] = set()
    answers = []
    for batch in batches:
        answer = []
        for name in batch:
            answer.append(name is not None and (type(name), name) in seen)
            if name is not None:
                seen.add((type(name), name))
        answers.append(answer)
    return answers


@given(st.lists(st.lists(NAMES, max_size=8), max_size=5), st.integers(1, 4))
def test_a_name_was_seen_iff_it_came_before(batches: list[list[str | int | None]], fresh: int) -> None:
    original, seen_ids._FRESH = seen_ids._FRESH, fresh  # noqa: SLF001 - so that few names are sorted in
    try:
        seen = SeenIds()
        assert [seen.add(batch) for batch in batches] == expected(batches)
        assert not seen.full
    finally:
        seen_ids._FRESH = original  # noqa: SLF001


def test_no_more_names_are_remembered_than_there_is_room_for() -> None:
    seen = SeenIds(most=3)
    full = []
    assert seen.add([1, 2, 3]) == [False] * 3
    full.append(seen.full)
    assert seen.add([4, 4, 1, None]) == [False, False, True, False]
    full.append(seen.full)
    assert full == [False, True]
    assert seen.add([2, 5]) == [True, False]


def test_many_names() -> None:
    seen = SeenIds()
    names = [f"row {i}" for i in range(200_000)]
    assert not any(seen.add(names))
    assert all(seen.add(names))
    assert not any(seen.add(range(1000)))
