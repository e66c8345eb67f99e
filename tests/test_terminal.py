import json
import re
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import synthetic
import tito_audit as tito
from synthetic import Made, ids, judged, rollouts
from tiny import byte_level
from tito_audit.auditing.counts import TurnCount
from tito_audit.auditing.row_findings import RowFinding, WorstRow
from tito_audit.bar import Bar
from tito_audit.findings import Finding
from tito_audit.printable import cells
from tito_audit.rendering.concise import concise_report
from tito_audit.rendering.style import COLOUR
from tito_audit.rendering.terminal import text_report, verdict_lines
from tito_audit.rendering.terminal.findings import SHOWN_FINDINGS, advice, shown
from tito_audit.rendering.terminal.tables import SHOWN_TURNS
from tito_audit.report import ColumnsFound, Report, TokenizerInfo, Unchecked
from tito_audit.rules import RULES, rule

ANSI = re.compile(r"\x1b\[[0-9;]*m")
DRIFT, NEVER = Bar(fail_on="drift"), Bar(fail_on="never")
BAD = Finding(code="TITO001", message="token_ids: 1.5 at position 0 is no integer (got float)", token_start=0)


def clean() -> Report:
    return Made([judged(ids("d", "e"), mask=[1, 1])]).report()


def drifting() -> Report:
    return Made([judged(ids("d", "a", "b"), mask=[0, 0, 1]), judged(ids("d"), mask=[1])]).report()


def unreadable(*, rows: int = 1) -> Report:
    return Made([], extra=[BAD] * rows).report()


def last(made: Report, bar: Bar = Bar(), **options: Any) -> str:  # noqa: B008 - frozen
    return text_report(made, bar=bar, **options).splitlines()[-1]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_whole_report(width: int, snapshot: SnapshotAssertion) -> None:
    assert text_report(Made(rollouts(), width=width, extra=[BAD]).report(), width=width) == snapshot


def test_the_report_in_colour(snapshot: SnapshotAssertion) -> None:
    assert text_report(Made(rollouts(), extra=[BAD]).report(), style=COLOUR).replace("\x1b", "␛") == snapshot


def test_blocks_come_in_order() -> None:
    head, merge, straddling, codes, turns, worst, look, summary, verdict = str(drifting()).split("\n\n")
    assert head.startswith("tito-audit ")
    assert "columns found: token_ids, mask  (rollouts/step 12.jsonl)" in head
    assert merge.splitlines()[:2] == [
        'TITO101 merge: "a" "b" -> "ab"',
        "  --> rollouts/step 12.jsonl:1  id row-1  turn 0  tokens 1..3",
    ]
    assert "  help: " in merge
    assert straddling.startswith("TITO301 straddling-token: ")
    assert "  help: " not in straddling, "the same advice is given once"
    assert "  sampled" not in straddling, "one place is drawn once"
    assert [line.split()[0] for line in codes.splitlines()] == ["code", "TITO101", "TITO301"]
    assert turns.split()[:2] == ["turn", "rows"]
    assert worst.splitlines()[0].split()[:2] == ["worst", "rollouts"]
    assert [line.split()[:2] for line in look.splitlines()] == [["tito-audit", "show"], ["tito-audit", "explain"]]
    assert summary.splitlines()[0] == "  checked 2 of 2 rows, 4 tokens (2 trainable), in 1.2 s"
    assert verdict.startswith("OK  2 rows, 4 tokens: nothing over the bar (realised), training not compared")


def test_the_output_alone_leads_to_the_worst_rollout_and_its_reason() -> None:
    lines = str(drifting()).splitlines()
    assert "  tito-audit show 'rollouts/step 12.jsonl' --row 1 -t tokenizers/small/tokenizer.json" in lines
    assert "  tito-audit explain TITO101 TITO301" in lines
    read_so = text_report(drifting(), options=["--ids", "my ids"])
    assert "tokenizer.json --ids 'my ids'\n" in read_so


def test_the_first_error_is_led_to_as_well() -> None:
    lines = str(Made([judged(ids("d", "a", "b"))], extra=[BAD]).report()).splitlines()
    at = lines.index("  where it drifts most:")
    assert lines[at + 1 : at + 5] == [
        "  tito-audit show 'rollouts/step 12.jsonl' --row 1 -t tokenizers/small/tokenizer.json",
        "  where TITO001 is first:",
        "  tito-audit show 'rollouts/step 12.jsonl' --row 2 -t tokenizers/small/tokenizer.json",
        "  tito-audit explain TITO001 TITO101",
    ]
    same = str(Made([judged([*ids("a", "b"), 999])]).report())
    assert same.count("tito-audit show") == 1
    assert "tito-audit explain TITO005 TITO101" in same


def test_without_drift_the_gravest_finding_is_what_to_look_at() -> None:
    text = str(unreadable())
    assert "  tito-audit show 'rollouts/step 12.jsonl' --row 1 -t tokenizers/small/tokenizer.json" in text
    assert "  tito-audit explain TITO001" in text


@pytest.mark.parametrize(
    ("source", "tokenizer"),
    [("rows", "t.json"), ("-", "t.json"), ("/dev/stdin", "t.json"), ("r.jsonl", "tokenizers.Tokenizer")],
)
def test_no_command_is_given_for_what_no_command_can_read(source: str, tokenizer: str) -> None:
    text = str(replace_source(drifting(), source, tokenizer))
    assert "tito-audit show" not in text
    assert "tito-audit explain TITO101" in text


def replace_source(report: Report, source: str, tokenizer: str) -> Report:
    return replace(
        report,
        worst=tuple(row._replace(source=source) for row in report.worst),
        tokenizer=report.tokenizer._replace(source=tokenizer),
    )


def test_a_file_that_looks_like_an_option_is_shown_as_a_file() -> None:
    assert "show ./-r.jsonl --row" in str(replace_source(drifting(), "-r.jsonl", "t.json"))


def test_realised_drift_and_exposure_are_two_lines() -> None:
    def lines(**statistics: Any) -> list[str]:
        text = str(Made([judged(ids("a", "b"))], statistics=statistics).report())
        return [line for line in text.splitlines() if line.startswith(("  realised", "  exposure"))]

    exposure = (
        "  exposure: a re-encode would change 1 row (100.00%); 2 tokens, 0 of them trainable (- of all trainable)"
    )
    unknown, said = lines()
    assert unknown == "  realised drift: not compared: no row says what was trained"
    assert said == exposure
    kinds = {"retokenized": 10, "truncated": 2, "rewritten": 0}
    compared = {"realised_rows": 12, "realised_by_kind": kinds, "rows_checked": 40_000, "rows": 40_000}
    assert lines(compared_rows=40_000, **compared)[0] == (
        "  realised drift: 12 rows (0.03%): 10 retokenized, 2 truncated"
    )
    assert lines(compared_rows=120, **compared)[0] == (
        "  realised drift: 12 rows (10.00%): 10 retokenized, 2 truncated (120 rows compared)"
    )
    none = lines(realised_rows=0, compared_rows=3)[0]
    assert none == "  realised drift: none, the training ids equal the sampled ids (3 rows compared)"


def test_quiet_is_table_and_verdict() -> None:
    table, verdict = text_report(Made(rollouts(), extra=[BAD]).report(), quiet=True).split("\n\n")
    assert table.split()[0] == "code"
    assert verdict.startswith("FAILED")


def test_verdicts() -> None:
    assert last(clean()) == "OK  1 row, 2 tokens: nothing over the bar (realised), training not compared"
    assert last(clean(), DRIFT) == "OK  1 row, 2 tokens: nothing over the bar (drift)"
    assert last(drifting(), DRIFT) == "FAILED  drift in 1 of 2 rows  (bar: drift)"
    assert last(drifting()).endswith("; exposure 1 row (50.00%)")
    assert last(Made([judged(ids("d"))], extra=[BAD]).report()) == (
        "FAILED  TITO001 unreadable-record in 1 row  (bar: realised)"
    )
    assert last(unreadable(), NEVER) == "COULD NOT CHECK  the only row cannot be read"
    assert last(unreadable(rows=2), NEVER) == "COULD NOT CHECK  none of 2 rows can be read"
    assert last(replace(clean(), partial=True)) == "STOPPED  before the end; the report covers 1 row"
    compared = Made([judged(ids("d"))], statistics={"realised_rows": 0, "compared_rows": 1}).report()
    assert last(compared) == "OK  1 row, 1 token: training ids equal sampled ids"


def test_what_could_not_be_checked_and_what_failed_are_both_said() -> None:
    made = Made(
        [judged(ids("d"))], extra=[BAD], more={"unchecked": (Unchecked("r/t.jsonl", "TITO006", "r/t.jsonl: text"),)}
    ).report()
    assert list(verdict_lines(made)) == [
        "error: TITO006 no-token-ids: r/t.jsonl: text",
        "FAILED  TITO001 unreadable-record in 1 row  (bar: realised)",
        "COULD NOT CHECK  r/t.jsonl  (checked: 1 row)",
    ]


def test_long_lists_of_names_are_cut() -> None:
    unchecked = tuple(Unchecked(f"/nowhere/{n}", None, "no such file") for n in range(9))
    made = replace(clean(), unchecked=unchecked)
    assert last(made) == "COULD NOT CHECK  /nowhere/0, /nowhere/1, /nowhere/2, 6 more  (checked: 1 row)"
    assert last(made, width=60) == "COULD NOT CHECK  /nowhere/0, 8 more  (checked: 1 row)"


def test_the_verdict_is_one_line_however_narrow() -> None:
    for bar in (Bar(), DRIFT, NEVER):
        for made in (clean(), drifting(), Made(rollouts(), extra=[BAD]).report(), unreadable(rows=10_000)):
            assert re.match(r"OK|FAILED|COULD NOT CHECK", last(made, bar, width=60))


def found(code: str, *, row: int = 1, size: int = 0, message: str = "", context: tuple[str, ...] = ()) -> RowFinding:
    finding = Finding(code=code, message=message or f"{code} {row}")
    return RowFinding(finding=finding, source="r.jsonl", row=row, sampled_count=size, context=context)


def test_one_finding_of_each_code_first_then_the_largest() -> None:
    many = [found("TITO101", row=n, size=n) for n in range(1, 20)]
    picked = shown([*many, found("TITO018"), found("TITO005"), found("TITO004"), found("TITO001")])
    codes = [each.finding.code for each in picked]
    assert len(picked) == SHOWN_FINDINGS
    assert codes[:5] == ["TITO001", "TITO005", "TITO004", "TITO018", "TITO101"]
    sizes = [each.sampled_count for each in picked[5:]]
    assert sizes == sorted(sizes, reverse=True)


def test_what_was_shown_is_not_shown_again() -> None:
    first = found("TITO101", message="same", context=("lane",))
    again = [found("TITO101", row=2, message="same"), found("TITO101", row=3, context=("lane",))]
    assert shown([first, *again]) == [first]


def test_advice_that_was_given_is_not_given_again_with_more() -> None:
    merge, invalid = (rule(code).fix for code in ("TITO101", "TITO201"))
    assert invalid.startswith(f"{merge} "), "where one advice is another and more, the rest is what is new"
    assert [*advice([merge, invalid, merge])] == [merge, invalid.removeprefix(merge).strip(), None]


def test_names_of_owners_are_said_where_one_is_new() -> None:
    text = str(Made(rollouts()[:1]).report())
    named = [line for line in text.splitlines() if line.startswith("  owner  ") and "(" in line]
    assert [re.findall(r"\w+(?= \(mask)", line) for line in named] == [["prompt", "assistant"], ["assistant", "tool"]]
    assert text.count("  owner  ") == 5


def test_a_summary_of_nothing_is_left_out() -> None:
    text = str(unreadable(rows=2))
    assert "checked 0" not in text
    assert text.splitlines()[-1].startswith(("FAILED", "COULD NOT CHECK"))


def test_the_table_has_shares_of_what_was_looked_at() -> None:
    made = Made([judged([99], mask=[1])], extra=[BAD, BAD]).report()
    lines = [line.split() for line in text_report(made, quiet=True).splitlines()]
    shares = {line[0]: (line[4], line[-1]) for line in lines if line and line[0].startswith("TITO")}
    assert shares == {"TITO001": ("66.67%", "12.jsonl:2"), "TITO005": ("100.00%", "12.jsonl:1")}


@pytest.mark.parametrize("bar", [Bar(), DRIFT, NEVER])
def test_a_wrong_tokenizer_is_doubted_once(bar: Bar) -> None:
    made = Made([judged(ids("d", "a", "b"))] * 10).report()
    doubt = "warning: 100% of rows drift, 67% of their tokens: is this the sampler's tokenizer?"
    assert text_report(made, bar=bar).splitlines()[-2] == doubt
    assert text_report(made, bar=bar).count("is this the sampler's tokenizer") == 1


def test_many_turns_are_cut() -> None:
    turns = {"by_turn": {n: TurnCount(1, 0, None, None) for n in range(SHOWN_TURNS + 3)}}
    assert "  and 3 more turns" in str(Made([judged(ids("d"))], statistics=turns).report())


def test_what_was_not_measured_is_left_out_or_said() -> None:
    nothing: dict[str, Any] = dict.fromkeys(["trainable_tokens", "drift_trainable_tokens", "straddling_tokens"])
    unowned: dict[str, Any] = {**nothing, "owner_crossing_tokens": None, "shared_characters": None, "by_turn": {}}
    text = str(Made([judged(ids("a", "b"))], statistics=unowned).report())
    assert "ownership: unknown, there is no mask" in text
    assert "pipeline" not in text
    assert "trainable" not in text.split("  checked")[1]
    owned = str(Made([judged(ids("a", "b"))], statistics={**nothing, "owner_crossing_tokens": 1}).report())
    assert "straddling tokens unknown (no mask), owner-crossing tokens 1" in owned
    piped = Made([judged(ids("a", "b"))], statistics={"pipeline_drift_rows": 1, "artefact_rows": 1}).report()
    assert "exposure with the pipeline's decode options: 1 row" in str(piped)
    assert "spacing artefacts, no drift: 1 row" in str(piped)


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e\u2066\u009b31m\r\b\u2028שלום\ud800"
WORDS = st.text(max_size=90) | st.just(HOSTILE) | st.text(st.sampled_from("ab/ -"), max_size=200)
COUNTS = st.integers(0, 10**9)


@st.composite
def reports(draw: st.DrawFn, width: int) -> Report:
    """Reports of anything: rows that drift anyhow, names that are any text, findings of every code."""
    rows = draw(st.lists(st.lists(st.integers(0, synthetic.END + 1), max_size=12), max_size=3))
    checks = []
    for row in rows:
        owners = draw(st.none() | st.lists(st.integers(0, 3), min_size=len(row), max_size=len(row)))
        names = draw(st.none() | st.lists(WORDS, max_size=4))
        mask = None if owners is None else [owner % 2 for owner in owners]
        checks.append(judged(row, owners=owners, owner_names=names, mask=mask))
    extra = [Finding(code=code, message=draw(WORDS)) for code in draw(st.lists(st.sampled_from(sorted(RULES))))]
    source = draw(WORDS)
    made = Made(checks, source=source, extra=extra, width=draw(st.sampled_from([width, 110]))).report()
    number = draw(COUNTS)
    worst = WorstRow(source, number, draw(WORDS), number, number, number, None, draw(COUNTS), tuple(RULES)[:9])
    return replace(
        made,
        worst=draw(st.sampled_from([(), (worst,), made.worst])),
        tokenizer=TokenizerInfo(draw(WORDS), "0" * 64, draw(COUNTS), (), "reference", draw(WORDS)),
        columns=(ColumnsFound({"ids": draw(WORDS), "mask": draw(WORDS)}, draw(st.integers(1, 2)), draw(WORDS)),),
        unchecked=tuple(
            Unchecked(name, draw(st.sampled_from([None, "TITO006"])), draw(WORDS)) for name in [draw(WORDS)]
        ),
        findings=tuple(replace(each, id=draw(WORDS)) for each in made.findings),
        partial=draw(st.booleans()),
    )


@given(st.data(), st.integers(60, 130), st.sampled_from([Bar(), DRIFT, NEVER]))
def test_every_line_of_every_report_fits_and_is_harmless(data: st.DataObject, width: int, bar: Bar) -> None:
    made = data.draw(reports(width))
    text = text_report(made, bar=bar, width=width)
    for line in text.split("\n"):
        assert cells(line) <= width
        assert line.isprintable()
    assert ANSI.sub("", text_report(made, bar=bar, width=width, style=COLOUR)) == text
    assert all(line.isprintable() for line in verdict_lines(made, bar))
    text.encode()


@pytest.mark.parametrize("bar", [Bar(), DRIFT])
def test_nothing_that_a_terminal_would_obey_comes_through_an_audit(tmp_path: Path, bar: Bar) -> None:
    name = HOSTILE.removesuffix("\ud800").replace("/", "")
    path = tmp_path / f"{name}.jsonl"
    row = [*name.encode(), 0xE2, 0x82, 300]
    rows: list[Any] = [
        {"id": name, "token_ids": row, "mask": [0, 1] * (len(row) // 2) + [1] * (len(row) % 2), name: 1},
        {"id": name, "token_ids": [name], "mask": [1]},
        {"id": name, "token_ids": [1], "mask": [name]},
        {"id": name, "token_ids": [1], "mask": [1], "logprobs": [name]},
        {"id": "\ud800", "token_ids": [1], "mask": [1], "train_ids": [2]},
        {name: 1},
        name,
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text_only = tmp_path / f"text{name}.jsonl"
    text_only.write_text(json.dumps({name: 1}))
    made = tito.audit([path, text_only], byte_level())
    assert len(made.findings) > 5
    for text in (text_report(made, bar=bar), "\n".join(verdict_lines(made, bar)), concise_report(made)):
        assert all(line.isprintable() for line in text.split("\n"))
        text.encode()


def test_a_long_path_keeps_its_name() -> None:
    made = Made([judged(ids("a", "b"))], source=f"{'folder/' * 30}rollouts.jsonl").report()
    [place] = [line for line in text_report(made, width=60).splitlines() if line.startswith("  --> ")]
    assert place.startswith("  --> …/folder/rollouts.jsonl:1  id row-1")
    [row] = [line for line in text_report(made, width=60).splitlines() if line.startswith("  rollouts.jsonl:1 ")]
    assert PurePath(row.split(":")[0].strip()).name == "rollouts.jsonl"
