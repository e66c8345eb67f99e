"""What is kept is a function of what was added, not of the order or the parts it came in."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tito_audit.auditing.kept import Kept
from tito_audit.auditing.row_findings import RowFinding
from tito_audit.findings import Finding

CODES = ["TITO101", "TITO102", "TITO201", "TITO301"]


def found(code: str, row: int, source: str = "a", token: int | None = None) -> RowFinding:
    return RowFinding(finding=Finding(code=code, message="", token_start=token), source=source, row=row)


FOUND = st.builds(found, st.sampled_from(CODES), st.integers(1, 9), st.sampled_from("ab"), st.integers(0, 3))


def kept(codes: list[str], most: int) -> list[tuple[str, int]]:
    keeper = Kept(most, (found(code, row) for row, code in enumerate(codes)))
    return [(each.finding.code, each.row or 0) for each in keeper]


def test_all_are_kept_while_there_is_room() -> None:
    assert kept(["TITO101", "TITO301", "TITO101"], 3) == [("TITO101", 0), ("TITO301", 1), ("TITO101", 2)]


def test_a_rare_code_that_comes_late_finds_room() -> None:
    assert kept(["TITO101"] * 10 + ["TITO301"], 3) == [("TITO101", 0), ("TITO101", 1), ("TITO301", 10)]


def test_none_are_kept() -> None:
    assert kept(["TITO101"], 0) == []


@given(st.lists(FOUND, max_size=60), st.integers(0, 12))
def test_it_is_what_comes_first_by_rank_within_the_code(all_found: list[RowFinding], most: int) -> None:
    ranked = []
    for code in CODES:
        of_code = sorted((each for each in all_found if each.finding.code == code), key=RowFinding.order)
        ranked += [(rank, code, each) for rank, each in enumerate(of_code)]
    ranked.sort(key=lambda entry: entry[:2])
    expected = sorted((each for _, _, each in ranked[:most]), key=RowFinding.order)
    assert list(Kept(most, all_found)) == expected


@given(st.lists(FOUND, max_size=40), st.lists(FOUND, max_size=40), st.lists(FOUND, max_size=40), st.integers(0, 12))
def test_parts_that_were_kept_add_up(a: list[RowFinding], b: list[RowFinding], c: list[RowFinding], most: int) -> None:
    whole = list(Kept(most, [*a, *b, *c]))
    parts = [list(Kept(most, part)) for part in (c, a, b)]
    assert list(Kept(most, [each for part in parts for each in part])) == whole
    pair = list(Kept(most, parts[0] + parts[1]))
    assert list(Kept(most, pair + parts[2])) == whole


@given(st.lists(st.sampled_from(CODES), max_size=60), st.integers(0, 12))
def test_the_shares_are_fair(codes: list[str], most: int) -> None:
    result = kept(codes, most)
    assert len(result) == min(most, len(codes))
    totals, shares = Counter(codes), Counter(code for code, _ in result)
    for code, total in totals.items():
        # Who has less than another had no more to keep.
        assert shares[code] == total or shares[code] >= max(shares.values(), default=0) - 1


@given(st.lists(FOUND, max_size=40), FOUND, st.integers(0, 9))
def test_it_wants_exactly_what_it_would_keep(before: list[RowFinding], new: RowFinding, most: int) -> None:
    keeper = Kept(most, before)
    wants, room = keeper.wants(new.finding.code, new.place), keeper.room(new.finding.code, new.place)
    wants_there = keeper.wants(new.finding.code, new.place, new.finding.token_start)
    had = list(keeper)
    keeper.add(new)
    if list(keeper) != had:
        assert wants
        assert wants_there
        assert room
    elif new not in had:  # one that begins where a kept one begins may be the one before it or after it
        assert not wants_there


@given(st.lists(FOUND, max_size=30), st.lists(FOUND, max_size=30), st.integers(0, 9))
def test_the_room_is_never_less_than_what_is_kept_next(
    before: list[RowFinding], after: list[RowFinding], most: int
) -> None:
    for code in CODES:
        more = sorted((each for each in after if each.finding.code == code), key=RowFinding.order)
        if more:
            keeper = Kept(most, before)
            room = keeper.room(code, more[0].place)
            assert list(Kept(most, [*before, *more[:room]])) == list(Kept(most, [*before, *more]))


def test_order_is_source_row_token_code() -> None:
    keeper = Kept(9)
    for source, row in (("b", 1), ("a", 10), ("a", 9)):
        keeper.add(found("TITO101", row, source))
    keeper.add(RowFinding(finding=Finding(code="TITO003", message="")))
    assert [(each.source, each.row) for each in keeper] == [(None, None), ("a", 9), ("a", 10), ("b", 1)]
