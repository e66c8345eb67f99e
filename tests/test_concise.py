import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from synthetic import Made, rollouts
from tito_audit.auditing.row_findings import RowFinding
from tito_audit.findings import Finding
from tito_audit.rendering.concise import concise_report
from tito_audit.rendering.style import COLOUR
from tito_audit.report import Report

ANSI = re.compile(r"\x1b\[[0-9;]*m")
BAD = Finding(code="TITO001", message="token_ids: 1.5 at position 0 is no integer (got float)", token_start=0)


def made() -> Report:
    return Made(rollouts(), extra=[BAD]).report()


def with_finding(found: RowFinding) -> str:
    return concise_report(replace(made(), findings=(found,)))


def test_one_line_per_finding(snapshot: SnapshotAssertion) -> None:
    assert concise_report(made()) == snapshot
    assert len(concise_report(made()).splitlines()) == len(made().findings)


def test_what_has_no_place_says_so() -> None:
    skew = Finding(code="TITO003", message="installed 0.1")
    assert with_finding(RowFinding(finding=skew)) == "-:-:-:-: TITO003 installed 0.1"
    assert with_finding(RowFinding(finding=skew, source="r.jsonl", row=2)) == "r.jsonl:2:-:-: TITO003 installed 0.1"
    assert with_finding(RowFinding(finding=BAD, source="r.jsonl", row=2, column="token_ids")).startswith(
        "r.jsonl:2:-:-:"
    )
    placed = RowFinding(finding=BAD, source="r.jsonl", row=2, turn=1)
    assert with_finding(placed).startswith("r.jsonl:2:1:0: TITO001 ")


def test_lines_are_sorted_whatever_the_order_of_the_findings() -> None:
    turned = replace(made(), findings=made().findings[::-1])
    assert concise_report(turned) == concise_report(made())


def test_nothing_found_is_nothing() -> None:
    assert concise_report(replace(made(), findings=())) == ""


@given(st.text(), st.text(), st.integers(1, 9))
def test_every_line_is_one_and_harmless(source: str, message: str, row: int) -> None:
    line = with_finding(RowFinding(finding=replace(BAD, message=message), source=source, row=row))
    assert line.isprintable()
    line.encode()


def test_colour_adds_nothing_but_colour() -> None:
    coloured = concise_report(made(), style=COLOUR)
    assert coloured != concise_report(made())
    assert ANSI.sub("", coloured) == concise_report(made())
