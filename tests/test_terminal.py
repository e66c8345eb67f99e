import json
from pathlib import Path
from typing import Any

import pytest

from tiny import byte_level, straddler
from tito_audit.audit import audit
from tito_audit.report import FailOn, Report
from tito_audit.rules import rule
from tito_audit.terminal import SHOWN_FINDINGS, SHOWN_TURNS, advice, shown, text_report, verdict_lines

B, T, A, X, AA, E = range(6)
DRIFTS = {"id": "one", "token_ids": [B, T, A, A, X], "mask": [1, 0, 0, 1, 1]}
CLEAN = {"token_ids": [X], "mask": [1]}
BAD = {"token_ids": [1.5], "mask": [1]}


def report(*rows: Any, **options: Any) -> Report:
    return audit(rows, straddler(), **options)


def last(made: Report, fail_on: FailOn = "realised") -> str:
    return text_report(made, fail_on=fail_on).splitlines()[-1]


def test_the_whole_report() -> None:
    text = str(report(DRIFTS, CLEAN))
    head, *blocks = text.split("\n\n")
    assert head.startswith("tito-audit ")
    assert "columns found: token_ids, mask, id  (rows)" in head
    assert "note: turns: from mask" in head
    merge, straddling, table, turns, summary, verdict = blocks
    assert merge.splitlines()[0].startswith("TITO101 merge: ")
    assert merge.splitlines()[1] == "  --> rows:1  id one  turn 1  tokens 2..4"
    assert any(line.startswith("  sampled") for line in merge.splitlines())
    assert "  help: " in merge
    assert straddling.startswith("TITO301 straddling-token: ")
    assert "  help: " not in straddling, "the same advice is given once"
    assert [line.split()[0] for line in table.splitlines()] == ["code", "TITO101", "TITO301"]
    assert turns.splitlines()[0].split()[:2] == ["turn", "rows"]
    assert "checked 2 of 2 rows, 6 tokens (4 trainable), 0 skipped" in summary
    assert "1 row (50.00%), 0 of them silent; 2 tokens, 1 of them trainable (25.00% of all trainable)" in summary
    assert (
        verdict == "OK  2 rows, 6 tokens: every record is sound (what was trained is not compared)  "
        "(exposure: a re-encode would change 1 row (50.00%))"
    )


def test_quiet_is_table_and_verdict() -> None:
    table, verdict = text_report(report(DRIFTS, BAD), quiet=True).split("\n\n")
    assert table.split()[0] == "code"
    assert verdict.startswith("FAILED")


def test_verdicts(tmp_path: Path) -> None:
    assert last(report(CLEAN)) == "OK  1 row, 1 token: every record is sound (what was trained is not compared)"
    assert last(report(CLEAN), "drift") == "OK  1 row, 1 token: nothing over the bar (drift)"
    assert last(report(DRIFTS), "drift") == "FAILED  drift in 1 of 1 row  (bar: drift)"
    assert last(report(CLEAN, BAD)) == "FAILED  TITO001 unreadable-record in 1 row  (bar: realised)"
    assert last(report(BAD), "never") == "COULD NOT CHECK  the only row cannot be read"
    assert last(report(BAD, BAD), "never") == "COULD NOT CHECK  none of 2 rows can be read"
    assert last(report(BAD)).startswith("COULD NOT CHECK")
    (tmp_path / "t.jsonl").write_text('{"text": 1}')
    (tmp_path / "r.jsonl").write_text(json.dumps(BAD))
    (tmp_path / "c.jsonl").write_text(json.dumps(CLEAN))
    lines = list(verdict_lines(audit(str(tmp_path / "*.jsonl"), straddler()), "realised"))
    assert lines[0].startswith(f"error: TITO006 no-token-ids: {tmp_path}/t.jsonl: the only row lacks token ids")
    assert lines[1].startswith("FAILED"), "both are said"
    assert lines[2] == f"COULD NOT CHECK  {tmp_path}/t.jsonl  (checked: 1 row)"


def test_long_lists_of_names_are_cut() -> None:
    made = audit([f"/nowhere/{n}" for n in range(9)], straddler())
    assert last(made) == "COULD NOT CHECK  /nowhere/0, /nowhere/1, /nowhere/2, 6 more  (checked: 0 rows)"


def test_one_finding_of_each_code_first_then_the_largest() -> None:
    rows = [{"token_ids": [99 + n] * n, "mask": [1] * n} for n in range(1, 20)]
    odd = [{"token_ids": [A, A], "mask": [0, 0]}, BAD, {"token_ids": [], "mask": []}]
    picked = shown(report(*rows, *odd).findings)
    codes = [each.finding.code for each in picked]
    assert len(picked) == SHOWN_FINDINGS
    assert codes[:5] == ["TITO001", "TITO005", "TITO004", "TITO018", "TITO101"]
    sizes = [each.sampled_count for each in picked[5:]]
    assert sizes == sorted(sizes, reverse=True)


def test_what_was_shown_is_not_shown_again() -> None:
    again = [{"token_ids": [X, A, A], "mask": [1, 1, 1]}] * 5
    unreadable = [BAD] * 5
    picked = shown(report(DRIFTS, *again, *unreadable).findings)
    assert [(each.finding.code, each.row) for each in picked] == [("TITO001", 7), ("TITO101", 1), ("TITO301", 1)]
    text = str(report(DRIFTS, *again, *unreadable))
    assert "findings: 12 (12 kept, 3 shown)" in text
    assert len([line for line in text.splitlines() if line.startswith("  sampled ")]) == 1, "one place, drawn once"
    helps = [line for line in text.splitlines() if line.startswith("  help: ")]
    assert len(helps) == len(set(helps)) == 2


def test_advice_that_was_given_is_not_given_again_with_more() -> None:
    text = str(audit([{"token_ids": [0xE2, 0x82]}, {"token_ids": [65]}], byte_level()))
    assert text.count("Keep the sampled ids") == 1
    merge, invalid = (rule(code).fix for code in ("TITO101", "TITO201"))
    assert invalid.startswith(f"{merge} "), "where one advice is another and more, the rest is what is new"
    assert [*advice([merge, invalid, merge])] == [merge, invalid.removeprefix(merge).strip(), None]


def test_a_summary_of_nothing_is_left_out() -> None:
    text = str(report(BAD, BAD))
    assert "checked 0" not in text
    assert text.splitlines()[-1].startswith("COULD NOT CHECK")


def test_the_table_has_names_of_files_and_shares_of_what_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ({"token_ids": [99], "mask": [1]}, BAD, BAD)))
    lines = [line.split() for line in text_report(audit(path, straddler()), quiet=True).splitlines()]
    shares = {line[0]: (line[4], line[-1]) for line in lines if line and line[0].startswith("TITO")}
    assert shares == {"TITO001": ("66.67%", "r.jsonl:2"), "TITO005": ("100.00%", "r.jsonl:1")}


@pytest.mark.parametrize("fail_on", ["realised", "drift", "never"])
def test_a_wrong_tokenizer_is_doubted_in_the_last_line(fail_on: FailOn) -> None:
    rows = [{"token_ids": [A, A, X], "mask": [1, 1, 1]}] * 10
    assert last(report(*rows), fail_on).endswith(
        "  (100% of rows drift, 67% of their tokens: is this the sampler's tokenizer?)"
    )


def test_many_turns_are_cut() -> None:
    n = SHOWN_TURNS + 3
    text = str(report({"token_ids": [X] * n, "mask": [1] * n, "turns": list(range(n))}))
    assert "  and 3 more turns" in text


def test_what_was_not_measured_is_left_out_or_said() -> None:
    text = str(report({"token_ids": [A, A]}))
    assert "ownership: unknown, there is no mask" in text
    assert "pipeline" not in text
    assert "trainable" not in text.split("note: no mask")[1].split("\n", 1)[1]
    owned = str(report({"token_ids": [A, A], "owners": [0, 1]}))
    assert "straddling tokens unknown (no mask), owner-crossing tokens 1" in owned
    assert "drift with the pipeline's decode options: 1 row" in str(report(DRIFTS, skip_special_tokens=True))


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e\u2066\u009b31m\r\b\u2028"


@pytest.mark.parametrize("fail_on", ["realised", "drift"])
def test_nothing_that_a_terminal_would_obey_comes_through(tmp_path: Path, fail_on: FailOn) -> None:
    path = tmp_path / f"{HOSTILE.replace('/', '')}.jsonl"
    name = HOSTILE
    ids = [*HOSTILE.encode(), 0xE2, 0x82, 300]
    rows: list[Any] = [
        {"id": name, "token_ids": ids, "mask": [0, 1] * (len(ids) // 2) + [1] * (len(ids) % 2), name: 1},
        {"id": name, "token_ids": [name], "mask": [1]},
        {"id": name, "token_ids": [1], "mask": [name]},
        {"id": name, "token_ids": [1], "mask": [1], "logprobs": [name]},
        {name: 1},
        name,
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text_only = tmp_path / f"text{HOSTILE.replace('/', '')}.jsonl"
    text_only.write_text(json.dumps({name: 1}))
    made = audit([path, text_only], byte_level())
    assert made.statistics.rows_checked == 2
    text = text_report(made, fail_on=fail_on)
    assert len(made.findings) > 5
    assert all(line.isprintable() for line in text.split("\n"))
    lines = list(verdict_lines(made, fail_on))
    assert all(line.isprintable() for line in lines)


def test_a_lone_surrogate_in_a_name_can_be_printed() -> None:
    text = str(report({"id": "\ud800", "token_ids": [99], "mask": [1]}))
    assert "\\ud800" in text
    text.encode()


def test_long_names_are_cut() -> None:
    row = {"id": "x" * 10_000, "token_ids": [99], "y" * 10_000: 1}
    assert max(map(len, str(report(row)).splitlines())) < 300
    assert max(map(len, str(report({"y" * 10_000: 1})).splitlines())) < 500
