from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tito_audit.findings import Finding
from tito_audit.kept import Kept
from tito_audit.report import RowFinding


def found(code: str, row: int, source: str = "a") -> RowFinding:
    return RowFinding(finding=Finding(code=code, message=""), source=source, row=row)


def kept(codes: list[str], most: int) -> list[tuple[str, int]]:
    keeper = Kept(most)
    for row, code in enumerate(codes):
        keeper.add(found(code, row))
    return [(each.finding.code, each.row or 0) for each in keeper]


def test_all_are_kept_while_there_is_room() -> None:
    assert kept(["TITO101", "TITO301", "TITO101"], 3) == [("TITO101", 0), ("TITO301", 1), ("TITO101", 2)]


def test_a_rare_code_that_comes_late_finds_room() -> None:
    assert kept(["TITO101"] * 10 + ["TITO301"], 3) == [("TITO101", 0), ("TITO101", 1), ("TITO301", 10)]


def test_none_are_kept() -> None:
    assert kept(["TITO101"], 0) == []


@given(st.lists(st.sampled_from(["TITO101", "TITO102", "TITO201", "TITO301"]), max_size=60), st.integers(0, 12))
def test_the_first_of_each_code_in_fair_shares(codes: list[str], most: int) -> None:
    result = kept(codes, most)
    assert len(result) == min(most, len(codes))
    totals, shares = Counter(codes), Counter(code for code, _ in result)
    for code, share in shares.items():
        firsts = [row for row, each in enumerate(codes) if each == code][:share]
        assert [row for each, row in result if each == code] == firsts
    for code, total in totals.items():
        # Who has less than another had no more to keep.
        assert shares[code] == total or shares[code] >= max(shares.values(), default=0) - 1


@given(st.lists(st.sampled_from(["TITO101", "TITO102", "TITO201"]), max_size=40), st.integers(0, 9))
def test_room_is_never_less_than_what_is_kept_next(codes: list[str], most: int) -> None:
    keeper = Kept(most)
    for row, code in enumerate(codes):
        room, before = keeper.room(code), sum(each.finding.code == code for each in keeper)
        keeper.add(found(code, row))
        assert sum(each.finding.code == code for each in keeper) - before == (room > 0)


def test_order_is_source_row_token_code() -> None:
    keeper = Kept(9)
    for source, row in (("b", 1), ("a", 10), ("a", 9)):
        keeper.add(found("TITO101", row, source))
    keeper.add(RowFinding(finding=Finding(code="TITO003", message="")))
    assert [(each.source, each.row) for each in keeper] == [(None, None), ("a", 9), ("a", 10), ("b", 1)]
