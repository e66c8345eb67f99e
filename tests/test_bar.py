"""What fails an audit, and which row is clean."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.auditing.counts import CodeCount, Statistics
from tito_audit.bar import REALISED, Bar
from tito_audit.rules import RULES


def statistics(rows: int = 100, drift: int = 0, accepted: int = 0, **codes: int) -> Statistics:
    made = Statistics(rows=rows, rows_checked=rows, drift_rows=drift, accepted_drift_rows=accepted)
    for code, count in codes.items():
        made.count(code, CodeCount(rows=count, findings=count, first=("a", 1)))
    return made


@pytest.mark.parametrize("code", sorted(RULES))
def test_errors_and_realised_drift_fail_by_default(code: str) -> None:
    fails = RULES[code].severity == "error" or code in REALISED
    assert bool(Bar().reasons(statistics(**{code: 1}))) == fails
    assert Bar().fails_row({code}, drifts=True) == fails


def test_drift_fails_where_it_is_asked_for() -> None:
    assert Bar().reasons(statistics(drift=3)) == []
    assert Bar(fail_on="drift").reasons(statistics(drift=3)) == ["drift in 3 of 100 rows"]
    assert Bar(fail_on="drift").reasons(statistics(drift=3, accepted=3)) == []
    assert Bar(fail_on="drift").fails_row((), drifts=True)
    assert not Bar().fails_row((), drifts=True)


def test_nothing_fails_where_nothing_may() -> None:
    assert Bar(fail_on="never").reasons(statistics(drift=3, TITO001=2, TITO110=1)) == []
    assert not Bar(fail_on="never").fails_row({"TITO001", "TITO110"}, drifts=True)


def test_a_share_of_rows_is_tolerated_and_no_more() -> None:
    bar = Bar(max_rate={"TITO001": 0.02, "TITO101": 0.5})
    assert bar.reasons(statistics(TITO001=2, TITO101=50)) == []
    assert bar.reasons(statistics(TITO001=3)) == ["TITO001 unreadable-record in 3 of 100 rows (at most 2.0000%)"]
    assert bar.reasons(statistics(TITO101=51)) == ["TITO101 merge in 51 of 100 rows (at most 50.0000%)"]
    assert bar.fails_row({"TITO101"}, drifts=True), "a tolerated row is not clean"


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_a_rate_is_taken_as_it_is_written(rows: int, whole: int) -> None:
    rate = round(rows / whole, 3)
    bar = Bar(max_rate={"TITO004": min(rate, 1.0)})
    most = int(Fraction(str(min(rate, 1.0))) * whole)
    assert not bar.reasons(statistics(whole, TITO004=most))
    assert bar.reasons(statistics(whole, TITO004=most + 1))


def test_a_rate_of_zero_tolerates_nothing_of_a_note() -> None:
    assert Bar(fail_on="never", max_rate={"TITO101": 0}).reasons(statistics(TITO101=1))


def test_what_the_baseline_holds_is_not_over_the_bar() -> None:
    made = statistics()
    made.count("TITO101", CodeCount(rows=5, findings=9, accepted_rows=5, first=("a", 1)))
    assert Bar(max_rate={"TITO101": 0.01}).reasons(made) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fail_on": "sometimes"}, "fail_on='sometimes'"),
        ({"max_rate": {"TITO999": 0.1}}, "there is no code 'TITO999'"),
        ({"max_rate": {"TITO101": 1.5}}, "TITO101=1.5 is no share"),
        ({"max_rate": {"TITO101": float("nan")}}, "is no share"),
    ],
)
def test_a_bar_without_meaning_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Bar(**options)  # type: ignore[arg-type]


@given(st.sets(st.sampled_from(sorted(RULES))), st.booleans(), st.sampled_from(["realised", "drift", "never"]))
def test_a_dataset_of_clean_rows_is_under_the_bar(codes: set[str], drifts: bool, fail_on: str) -> None:  # noqa: FBT001
    bar = Bar(fail_on=fail_on)  # type: ignore[arg-type]
    fails = bool(bar.reasons(statistics(drift=int(drifts), **dict.fromkeys(codes, 1))))
    assert bar.fails_row(codes, drifts=drifts) == fails
