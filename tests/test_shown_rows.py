"""Rows that come one by one: counted as an audit counts them, and a realised drift is drawn."""

from dataclasses import replace

import tito_audit as tito
from tiny import straddler
from tito_audit.auditing.shown_rows import MOST_FINDINGS, ShownRows
from tito_audit.reading.parts import to_row
from tito_audit.reading.row import Row
from tito_audit.rendering.terminal import over_the_bar_text, totals_text
from tito_audit.report import Unchecked

TOK = straddler()
A, X, AA = 2, 3, 4


def shown(*trained: list[int] | None) -> ShownRows:
    rows = ShownRows(TOK)
    for number, ids in enumerate(trained, 1):
        row = to_row([A, A, X], mask=[0, 1, 1], train_ids=ids)
        row.source, row.number = "tests/test_a.py::test_it", number
        rows.add(row, tito.check([A, A, X], TOK, mask=[0, 1, 1], train_ids=ids))
    return rows


def test_what_was_trained_is_drawn_beside_what_was_sampled() -> None:
    report = shown(None, [AA, X]).report()
    [drawn] = (found.context for found in report.findings if found.finding.code == "TITO110")
    assert [line.split()[0] for line in drawn] == ["sampled", "trained", "mask"]
    assert {found.row for found in report.findings} == {1, 2}


def test_each_row_is_told_by_itself() -> None:
    rows = ShownRows(TOK)
    row = to_row([A, A])
    judged = rows.add(row, tito.check([A, A], TOK))
    assert (judged.row is row, judged.drifts, judged.open_codes) == (True, True, frozenset({"TITO101"}))
    skipped = Row(source="", number=2)
    skipped.note(tito.RecordError("no row"))
    assert rows.add(skipped, None).open_codes == frozenset({"TITO001"})
    assert rows.report().statistics.rows_skipped == 1


def test_findings_are_bounded_and_counted() -> None:
    report = shown(*[[AA, X]] * MOST_FINDINGS).report()
    assert len(report.findings) == MOST_FINDINGS
    of_one = shown([AA, X]).report().findings_total
    assert of_one > 1
    assert report.findings_total == of_one * MOST_FINDINGS


def test_only_what_is_over_the_bar_is_told() -> None:
    report = shown([AA, X]).report()
    assert over_the_bar_text(report, tito.Bar(fail_on="never")) == ""
    realised = over_the_bar_text(report, tito.Bar())
    assert realised.startswith("TITO110 training-ids-differ in 1 row  (bar: realised)\n")
    assert "TITO101" not in realised
    assert "TITO101" in over_the_bar_text(report, tito.Bar(fail_on="drift"))
    allowed = tito.Bar(fail_on="drift", max_rate={"TITO110": 1.0})
    assert "TITO110" not in over_the_bar_text(report, allowed)


def test_rows_that_could_not_be_relied_upon_are_over_every_bar() -> None:
    report = replace(shown(None).report(), unchecked=[Unchecked("a", "TITO010", "they disagree")])
    assert over_the_bar_text(report, tito.Bar(fail_on="never")) == "error: they disagree"


def test_totals_have_no_verdict_and_no_command() -> None:
    text = totals_text(shown([AA, X]).report())
    assert "checked 1 of 1 row" in text
    assert not {"FAILED", "OK"} & {*text.split()}
    assert "tito-audit show" not in text
