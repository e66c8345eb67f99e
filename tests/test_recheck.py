"""Rows of the fast engine are judged again within their share of the time, and a lie of it is found."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from fast import FAST, FastCore, made_fast, spoiled
from tiny import refusing, straddler
from tito_audit.asked import WORK, Asked
from tito_audit.ragged import to_rows
from tito_audit.recheck import LEAST, Looked, Recheck, key_of, lots_of

TOK = straddler()
CLEAN, DRIFTING = [0, 1], [2, 2]
NAMES = sorted(set(tito.check_batch([CLEAN], TOK).columns) - set(WORK))


class Clock:
    """A clock that only tests move; the reference takes a second for ``rate`` tokens."""

    def __init__(self, rate: float) -> None:
        self.now, self.rate = 0.0, rate

    def perf_counter(self) -> float:
        return self.now


class Timed(FastCore):
    """A core whose reference takes time."""

    clock: Clock
    seen: list[list[int]]

    def audit(self, ids: Any, offsets: Any, **options: Any) -> Any:
        self.seen.append(np.diff(offsets).tolist())
        self.clock.now += len(ids) / self.clock.rate
        return super().audit(ids, offsets, **options)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(rate=1000)
    monkeypatch.setattr("tito_audit.recheck.time", clock)
    return clock


def looked(ledger: Recheck, core: FastCore, rows: list[list[int]], earned: float, first: int = 0) -> Looked:
    asked = Asked(*to_rows(rows)[:2])
    columns = FastCore.audit(core, asked.ids, asked.offsets)
    lots = lambda places: lots_of(places + first, np.zeros(1, dtype=np.uint64))  # noqa: E731 - as the type is written
    core.calls.clear()
    return ledger.look(asked, columns, core, threads=1, earned=earned, lots=lots, private=True)  # type: ignore[arg-type]


@pytest.fixture
def core(clock: Clock) -> Timed:
    core = Timed(TOK.core)
    core.clock, core.seen = clock, []
    return core


@given(lengths=st.lists(st.integers(1, 300), min_size=20, max_size=60), earned=st.floats(0, 0.1))
def test_what_is_spent_is_what_was_earned_and_no_row_is_too_long_for_ever(lengths: list[int], earned: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(rate=1000)
        patch.setattr("tito_audit.recheck.time", clock)
        core, ledger = Timed(TOK.core), Recheck()
        core.clock, core.seen = clock, []
        # Rates are known only roughly at first.
        looked(ledger, core, [[0] * 20_000], 100.0)
        before = clock.now
        ledger = _with_credit(ledger, 0.0)
        done = 0
        for number, length in enumerate(lengths):
            done += looked(ledger, core, [[0] * length] * 3, earned, first=3 * number).rows
            assert clock.now - before <= earned * (number + 1) * 1.1 + 1e-9
        if earned * len(lengths) > 2.0:
            assert done > 0


def _with_credit(ledger: Recheck, credit: float) -> Recheck:
    ledger._credit = credit  # noqa: SLF001 - a test of the ledger itself
    return ledger


def test_a_row_longer_than_the_budget_waits_until_enough_has_come_together(core: Timed) -> None:
    ledger = Recheck()
    looked(ledger, core, [[0] * 20_000], 100.0)
    _with_credit(ledger, 0.0)
    rows = [looked(ledger, core, [[0] * 1000], 0.3).rows for _ in range(8)]
    assert sum(rows) == 2
    assert rows[0] == 0


def test_nothing_is_chosen_before_a_row_of_middling_length_can_be_paid(core: Timed) -> None:
    ledger = Recheck()
    looked(ledger, core, [[0] * 20_000], 100.0)
    _with_credit(ledger, 0.0)
    rows = [[0] * 10, *[[0] * 1000] * 9]
    done = [looked(ledger, core, rows, 0.25, first=10 * number).rows for number in range(4)]
    assert done[:3] == [0, 0, 0]
    assert done[3] > 0


def test_short_rows_do_not_keep_a_long_one_from_its_turn(core: Timed) -> None:
    ledger = Recheck()
    looked(ledger, core, [[0] * 20_000], 100.0)
    _with_credit(ledger, 0.0)
    longest, before = 0, core.clock.now
    for number in range(100):
        core.seen.clear()
        looked(ledger, core, [[0] * 10] * 100 + [[0] * 1000], 0.1, first=101 * number)
        longest += any(length == 1000 for lengths in core.seen for length in lengths)
    # Half of the time is for them.
    assert longest == pytest.approx(5, abs=2)
    assert core.clock.now - before == pytest.approx(10, rel=0.2)


def test_an_array_that_somebody_writes_to_is_no_mismatch_and_rows_of_our_own_are() -> None:
    def changed(columns: dict[str, Any]) -> None:
        columns["n_shared_chars"] += len(stand_in.calls) == 1  # another answer the first time

    tok, stand_in = made_fast(TOK, changed)
    rechecked = 0
    while not rechecked:
        stand_in.calls.clear()
        batch = tito.check_batch([CLEAN] * 3, tok, recheck=1.0)
        rechecked, mismatches = batch.rechecked, batch.mismatches
        assert (mismatches, tok.engine) == ({}, "fast")
    stand_in.calls.clear()
    with pytest.warns(tito.EngineWarning, match="asked once more, the fast engine agrees"):
        tito.check(CLEAN, tok)


def test_some_clean_and_some_drifting_rows_are_owed(core: Timed) -> None:
    ledger = Recheck(least=LEAST)
    assert looked(ledger, core, [CLEAN] * 10 + [DRIFTING] * 40, 0.0).rows == 10 + LEAST
    assert looked(ledger, core, [CLEAN] * 10 + [DRIFTING] * 40, 0.0).rows == LEAST - 10
    assert looked(ledger, core, [CLEAN] * 10 + [DRIFTING] * 40, 0.0).rows == 0
    assert core.calls == []


def test_what_the_reference_answered_is_not_judged_again(core: Timed) -> None:
    core.slow = lambda row: row != 3
    assert looked(Recheck(least=LEAST), core, [CLEAN, DRIFTING] * 9, 100.0).rows == 1
    core.slow = lambda _: True
    assert looked(Recheck(least=LEAST), core, [CLEAN, DRIFTING] * 9, 100.0).rows == 0


@pytest.mark.parametrize(
    "lots", [lambda rows: 1_000 - rows.astype(np.uint64), lambda rows: lots_of(rows, np.zeros(1, dtype=np.uint64))]
)
def test_the_lowest_lots_come_first(core: Timed, lots: Any) -> None:
    judged: list[Any] = []
    reference = core._core  # noqa: SLF001 - what the stand-in asks

    class Watched(FastCore):
        def audit(self, ids: Any, offsets: Any, **options: Any) -> Any:
            judged.append(ids.tolist())
            return super().audit(ids, offsets, **options)

    watched: Any = Watched(reference)

    asked = Asked(*to_rows([[0] * length for length in range(1, 1_001)])[:2])
    columns = FastCore(reference).audit(asked.ids, asked.offsets)
    Recheck(least=3).look(
        asked,
        columns,
        watched,
        threads=1,
        earned=0.0,
        lots=lots,
        private=True,
    )
    lowest = np.argsort(lots(np.arange(1_000)))[:3]
    assert judged == [[0] * int((lowest + 1).sum())]


def test_lots_are_the_same_in_every_process() -> None:
    program = (
        "import numpy as np; from tito_audit.recheck import key_of, lots_of; "
        "print(lots_of(np.arange(3), np.array([key_of('a.jsonl', 7)], dtype=np.uint64)).tolist())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert key_of("a", 0) != key_of("a", 1) != key_of("b", 1)
    keys = np.array([key_of("a")], dtype=np.uint64)
    lots = lots_of(np.arange(10_000), keys)
    assert len(np.unique(lots)) == 10_000
    assert abs(float((lots >> np.uint64(63)).mean()) - 0.5) < 0.05


def until_it_is_found(rows: list[list[int]], tok: tito.Tokenizer, **options: Any) -> tito.Batch:
    """Check until enough time has come together for a second judgement."""
    for _ in range(10_000):
        batch = tito.check_batch(rows, tok, recheck=1.0, **options)
        if batch.mismatches:
            return batch
    raise AssertionError("nothing was found")


@pytest.mark.parametrize("name", NAMES)
def test_a_lie_in_any_column_is_found_and_the_reference_answers(name: str) -> None:
    tok, core = made_fast(TOK, spoiled(name))
    rows = [[2, 2], [0], [2, 2, 5, 9]]
    options: dict[str, Any] = {"mask": [[0, 1], [1], [1, 0, 1, 0]], "skip_special_tokens": True}
    with pytest.warns(tito.EngineWarning, match="TITO010 engine-mismatch: .* on row . the fast engine and the refer"):
        batch = until_it_is_found(rows, tok, **options)
    assert any(name in mismatch.names for mismatch in batch.mismatches.values())
    assert tok.engine == "reference"
    assert "TITO010" in str(tok.not_fast)
    expected = tito.check_batch(rows, TOK, **options)
    for column in NAMES:
        assert np.array_equal(batch.columns[column], expected.columns[column]), column  # type: ignore[literal-required]
    assert set(batch.engine.tolist()) == {0}
    # And it stays so, in other processes too.
    core.calls.clear()
    assert not tito.check_batch(rows, tok, **options).mismatches
    assert core.calls == [(3, "reference")]
    assert pickle.loads(pickle.dumps(tok)).not_fast == tok.not_fast  # noqa: S301 - our own bytes
    with pytest.raises(tito.TokenizerError, match="no fast engine judges with it"):
        tok.with_engine("fast")


def test_both_answers_are_kept_in_the_finding() -> None:
    tok, _ = made_fast(TOK, spoiled("first_diff"))
    with pytest.warns(tito.EngineWarning) as warned:
        check = tito.check(DRIFTING, tok)
    assert [each.filename for each in warned] == [__file__]
    assert check.mismatch is not None
    assert (check.mismatch.fast["first_diff"].tolist(), check.mismatch.reference["first_diff"].tolist()) == ([1], [0])
    finding = check.findings[0]
    assert str(finding) == (
        "TITO010 engine-mismatch: the fast engine and the reference disagree: first_diff: fast [1], reference [0]"
    )
    assert (finding.severity, finding.sampled_ids, finding.reencoded_ids) == ("error", (2, 2), (4,))
    assert (check.first_diff, check.engine) == (0, "reference")


def test_a_row_that_only_the_reference_refuses_is_a_mismatch_and_an_error() -> None:
    tok = refusing()

    def lie(columns: dict[str, Any]) -> None:
        columns["errors"].clear()
        columns["engine"][:] = FAST

    fast, _ = made_fast(tok, lie)
    with pytest.warns(tito.EngineWarning):
        batch = until_it_is_found([[0, 1]] * 3, fast)
    assert set(batch.errors) == {0, 1, 2}
    with pytest.raises(tito.TokenizerError):
        _ = batch[0]


def test_single_rows_are_judged_again_at_first_and_never_by_an_assertion() -> None:
    tok, core = made_fast(TOK)
    for _ in range(LEAST):
        tito.assert_no_drift(CLEAN, tok)
    assert {engine for _, engine in core.calls} == {"auto"}
    core.calls.clear()
    for _ in range(2):
        assert tito.check(CLEAN, tok).engine == tito.check(DRIFTING, tok).engine == "fast"
    assert [engine for _, engine in core.calls] == ["auto", "reference"] * 4


def test_no_share_is_no_second_judgement() -> None:
    tok, core = made_fast(TOK, spoiled("drifted"))
    for _ in range(50):
        assert tito.check_batch([CLEAN] * 50, tok, recheck=0).rechecked == 0
    assert {engine for _, engine in core.calls} == {"auto"}


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "1", True, None])
def test_a_share_is_a_number_from_0_to_1(wrong: Any) -> None:
    with pytest.raises(ValueError if isinstance(wrong, float) else TypeError, match="recheck="):
        tito.check_batch([CLEAN], TOK, recheck=wrong)


def test_the_time_of_a_batch_earns_second_judgements() -> None:
    tok, _ = made_fast(TOK)
    rechecked = [tito.check_batch([CLEAN] * 500, tok, recheck=1.0).rechecked for _ in range(30)]
    assert sum(rechecked) > 0
    assert max(rechecked) <= 500


RECORDS = [{"token_ids": DRIFTING, "mask": [0, 1]}] * 20 + [{"token_ids": CLEAN, "mask": [0, 1]}] * 20


def test_an_audit_judges_some_of_each_kind_again() -> None:
    tok, _ = made_fast(TOK, slow=lambda row: row == 0)
    report = tito.audit(RECORDS, tok)
    s = report.statistics
    assert (s.rows_by_engine, s.rechecked >= 2 * LEAST) == ({"fast": 39, "reference": 1}, True)
    assert s.rechecked <= 39
    assert report.complete
    assert report.tokenizer[4:] == ("fast", None)
    assert f"engines: fast 39 rows, reference 1 row; {s.rechecked} rows of the fast engine judged again" in str(report)
    assert report.merge(report).statistics.rechecked == 2 * s.rechecked
    assert report.statistics == tito.audit(RECORDS, tok, threads=2).statistics


def lying(columns: dict[str, Any]) -> None:
    """One row in ten is taken for clean."""
    columns["n_shared_chars"][::10] += 1


def test_an_audit_that_finds_a_lie_has_not_checked_everything() -> None:
    tok, _ = made_fast(TOK, lying)
    with pytest.warns(tito.EngineWarning):
        report = tito.audit(RECORDS, tok, ignore=["TITO1", "TITO3"])
    assert report.statistics.rows_by_engine == {"reference": 40}
    count = report.statistics.by_code["TITO010"]
    assert count.rows == count.findings >= 1
    [finding] = [found.finding for found in report.findings][:1]
    assert finding.code == "TITO010"
    assert "n_shared_chars: fast [" in finding.message
    assert not report.complete
    [unchecked] = report.unchecked
    assert (unchecked.source, unchecked.code) == ("rows", "TITO010")
    assert "what the fast engine said of 0 rows before may be wrong" in unchecked.message
    assert report.tokenizer.engine == "reference"
    assert "TITO010" in str(report.tokenizer.not_fast)
    assert tito.Report.from_json(report.to_json()) == report


def test_ignoring_the_finding_hides_nothing() -> None:
    tok, _ = made_fast(TOK, lying)
    with pytest.warns(tito.EngineWarning):
        report = tito.audit(RECORDS, tok, ignore=["TITO010"])
    assert "TITO010" not in report.statistics.by_code
    assert not report.complete
