from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.auditing.sampling import some_rows
from tito_audit.reading.row import Row


def rows(count: int, source: str = "a") -> list[Row]:
    return [Row(source=source, number=number) for number in range(1, count + 1)]


@given(st.integers(0, 30), st.none() | st.integers(0, 40), st.none() | st.integers(0, 40), st.integers(0, 5))
def test_so_many_rows_in_the_order_of_reading(count: int, limit: int | None, sample: int | None, seed: int) -> None:
    chosen = [row.number for row in some_rows(rows(count), limit=limit, sample=sample, seed=seed)]
    most = min(each for each in (count, limit, sample) if each is not None)
    assert len(chosen) == most
    assert chosen == sorted(set(chosen))
    assert all(number <= (count if limit is None else limit) for number in chosen)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 9), st.integers(0, 3))
def test_the_draw_does_not_depend_on_the_order_of_files(a: int, b: int, sample: int, seed: int) -> None:
    def drawn(all_rows: list[Row]) -> set[tuple[str, int]]:
        return {row.place for row in some_rows(all_rows, limit=None, sample=sample, seed=seed)}

    assert drawn(rows(a) + rows(b, "b")) == drawn(rows(b, "b") + rows(a))


def test_every_row_has_the_same_chance() -> None:
    drawn = Counter(row.number for seed in range(2000) for row in some_rows(rows(10), limit=None, sample=3, seed=seed))
    assert set(drawn) == set(range(1, 11))
    # 600 are expected of each; five standard deviations are about 100.
    assert all(count == pytest.approx(600, abs=100) for count in drawn.values())
