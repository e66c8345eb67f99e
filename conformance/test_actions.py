"""What a user does with a report: copy what is clean, add parts up, look at the worst rollout."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from brute import SAMPLED, Counted, causes, judged
from pyarrow import parquet
from shared import audited, command, lines, tokenizer, tokenizer_path, write_lines

import tito_audit as tito
from reference import Span

TOKENIZER = tokenizer_path("smollm2")


def everything() -> list[Counted]:
    """All sampled rollouts, in the order of their files."""
    return [each for path in SAMPLED for each in judged(path.name)]


# Clean copies


def test_a_clean_copy_holds_the_lines_that_do_not_drift_byte_for_byte(tmp_path: Path) -> None:
    copy, rows = tmp_path / "clean.jsonl", tmp_path / "rows.jsonl"
    code, report = audited(*SAMPLED, "--fail-on", "drift", "--write-clean", copy, "--rows-out", rows)
    assert (code, report["success"]) == (1, False)
    raw = [line for path in SAMPLED for line in path.read_bytes().splitlines(keepends=True)]
    assert len(raw) == len(everything()) == 600
    kept = [line for line, each in zip(raw, everything(), strict=True) if not each.drifts]
    assert copy.read_bytes() == b"".join(kept)
    assert len(kept) + report["statistics"]["drift_rows"] == 600
    assert sum(row["drifted"] for row in lines(rows)) == 600 - len(kept)
    again, second = audited(copy, "--fail-on", "drift")
    assert (again, second["success"]) == (0, True)
    assert (second["statistics"]["rows_checked"], second["statistics"]["drift_rows"]) == (len(kept), 0)


def test_how_many_were_kept_and_left_out_is_said(tmp_path: Path) -> None:
    drifting = sum(each.drifts for each in everything())
    ran = command("check", *SAMPLED, "-t", TOKENIZER, "--fail-on", "drift", "--write-clean", tmp_path / "c.jsonl", "-q")
    assert ran.code == 1
    said = re.search(r"(\d+) rows under the bar copied to .*, (\d+) left out", " ".join(ran.err.split()))
    assert said is not None
    assert tuple(map(int, said.groups())) == (600 - drifting, drifting)


def test_a_clean_copy_of_a_table_holds_its_rows_with_all_columns(tmp_path: Path) -> None:
    source, copy = tmp_path / "r.parquet", tmp_path / "clean.parquet"
    table = pa.Table.from_pylist([each.record for each in everything()])
    parquet.write_table(table, source, row_group_size=90)
    code, report = audited(source, "--fail-on", "drift", "--write-clean", copy)
    assert code == 1
    stay = [not each.drifts for each in everything()]
    written = parquet.read_table(copy)
    assert written.equals(table.filter(pa.array(stay)))
    assert written.num_rows + report["statistics"]["drift_rows"] == 600
    again, second = audited(copy, "--fail-on", "drift")
    assert (again, second["statistics"]["rows_checked"]) == (0, sum(stay))


# Parts


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Seven unlike parts of the rollouts: with bad rows, with what was trained, as a table, and one without ids."""
    folder = tmp_path_factory.mktemp("shards")
    found: list[list[Any]] = [[] for _ in range(7)]
    for at, each in enumerate(everything()):
        found[at % 7 if at % 5 else 3].append(each.record)
    found[0] = [row | {"train_ids": row["token_ids"][at % 3 :]} for at, row in enumerate(found[0])]
    bad: list[dict[str, Any]] = [
        {"token_ids": [1, 2.5], "mask": [0, 1]},
        {"token_ids": [1, 2], "mask": [0]},
        {"token_ids": [49_999], "mask": [1]},
    ]
    turns = [{"role": "user", "start": 0, "end": 1, "sampled": False}]
    found[1][4:4] = [row | {"turns": turns} for row in bad]
    found[2] = [{name: row[name] for name in ("id", "token_ids")} for row in found[2]]
    found[6] = [{"text": turn["text"]} for row in found[6][:9] for turn in row["turns"]]
    paths = [write_lines(folder / f"{number}.jsonl", rows) for number, rows in enumerate(found)]
    paths[5] = folder / "5.parquet"
    parquet.write_table(pa.Table.from_pylist(found[5]), paths[5], row_group_size=31)
    (folder / "5.jsonl").unlink()
    return paths


def without_time(report: dict[str, Any]) -> dict[str, Any]:
    assert "timing" in report
    statistics = {name: value for name, value in report["statistics"].items() if name != "rechecked"}
    return {name: value for name, value in report.items() if name != "timing"} | {"statistics": statistics}


ORDERS = [Random(seed).sample(range(7), 7) for seed in range(6)] + [list(range(7)), list(range(7))[::-1]]


@pytest.mark.parametrize("most", [1000, 40])
def test_reports_of_parts_add_up_to_that_of_the_whole(shards: list[Path], tmp_path: Path, most: int) -> None:
    code, whole = audited(*shards, "--max-findings", most)
    assert code == 2, "one part holds no ids"
    parts = []
    for number, path in enumerate(shards):
        parts.append(tmp_path / f"{number}.json")
        command("check", path, "-t", TOKENIZER, "--max-findings", most, "--output-format", "json", "-o", parts[-1])
    assert whole["findings_total"] > most
    assert whole["statistics"]["realised_rows"] > 10
    assert {"TITO001", "TITO002", "TITO005", "TITO101", "TITO111"} <= set(whole["statistics"]["by_code"])
    for order in ORDERS[-3:]:
        ran = command("merge", *(parts[at] for at in order), "--output-format", "json")
        assert ran.code == code
        assert without_time(json.loads(ran.out)) == without_time(whole)
    loaded = [tito.Report.load(part) for part in parts]
    for order in ORDERS:
        one, *others = [loaded[at] for at in order]
        assert without_time(one.merge(*others).as_dict()) == without_time(whole)
        nested = grouped(one, others)
        assert without_time(nested.as_dict()) == without_time(whole)
        assert nested.milliseconds == sum(report.milliseconds for report in loaded)


def grouped(one: tito.Report, others: Sequence[tito.Report]) -> tito.Report:
    """Merge some, then the merged: `((a b) (c d e)) (f g)`."""
    first = one.merge(others[0])
    second = others[1].merge(others[2]).merge(others[3])
    return others[4].merge(others[5]).merge(first.merge(second))


def test_the_text_of_merged_reports_is_that_of_the_whole(shards: list[Path]) -> None:
    tok = tokenizer("smollm2")
    whole = tito.audit([str(path) for path in shards], tok)
    parts = [tito.audit(str(path), tok) for path in shards]
    timed = re.compile(r"in \d+(\.\d+)? s|[\d,]+ rows? of the fast engine judged again by the reference")
    for order in list(permutations(range(7)))[:5040:1700]:
        one, *others = [parts[at] for at in order]
        assert timed.sub("", str(one.merge(*others))).split() == timed.sub("", str(whole)).split()


# The worst rollout


def damage(each: Counted) -> tuple[int, int]:
    """Trained tokens inside drift spans, then all."""
    return each.trained_inside, len(each.inside)


def worst() -> tuple[Path, int, Counted]:
    """File, number from 1 and verdict of the rollout with the most damage, by the independent count."""
    places = [(path, number, each) for path in SAMPLED for number, each in enumerate(judged(path.name), start=1)]
    places.sort(key=lambda place: damage(place[2]), reverse=True)
    assert damage(places[0][2]) > damage(places[1][2]), "there is one worst"
    return places[0]


def test_the_worst_rollout_of_the_text_is_that_of_the_count() -> None:
    path, number, each = worst()
    ran = command("check", *SAMPLED, "-t", TOKENIZER)
    assert ran.code == 0
    after = ran.out.split("worst rollouts", 1)[1].splitlines()
    named = after[1].split()
    assert named[:2] == [f"{path.name}:{number}", each.record["id"]]
    assert [int(word) for word in named[2:6]] == [
        len(each.row.ids),
        len(each.inside),
        each.trained_inside,
        len(each.straddling),
    ]
    pasted = next(line for line in after if line.strip().startswith("tito-audit show"))
    assert str(path) in pasted
    assert pasted.split()[pasted.split().index("--row") + 1] == str(number)


def test_the_worst_rollouts_are_ranked_as_the_count_ranks_them() -> None:
    _, report = audited(*SAMPLED)
    counted = {(str(path), n): each for path in SAMPLED for n, each in enumerate(judged(path.name), start=1)}
    ranked = sorted(counted, key=lambda place: (*(-part for part in damage(counted[place])), *place))
    assert [(row["source"], row["row"]) for row in report["worst"]] == ranked[: len(report["worst"])]
    assert len(report["worst"]) == 5


def is_merge(each: Counted, span: Span) -> bool:
    """By looking: the bytes lie inside one piece of the pre-tokenizer, which by itself encodes to what came back."""
    text = each.row.text
    wheel = causes()._wheel  # noqa: SLF001 - the wheel's tokenizer of the brute force
    starts = [len(text[:at].encode()) for at in range(len(text) + 1)]
    for _, (first, last) in wheel.pre_tokenizer.pre_tokenize_str(text):
        if starts[first] <= span.byte_start and span.byte_stop <= starts[last]:
            again = wheel.encode(text[first:last], add_special_tokens=False).ids
            wanted = each.row.reencoded[span.reencoded_start : span.reencoded_stop]
            size = len(wanted)
            return any(again[at : at + size] == wanted for at in range(len(again) - size + 1))
    return False


def test_show_names_the_causes_that_a_look_at_the_row_confirms() -> None:
    path, number, each = worst()
    confirmed = Counter("merge" if is_merge(each, span) else "other" for span in each.spans)
    assert confirmed == {"merge": len(each.spans)}
    assert set(causes().of(each.row, each.spans)) == {"TITO101"}
    ran = command("show", path, "--row", number, "-t", TOKENIZER, "--most-spans", 1000)
    assert ran.code == 0
    words = " ".join(ran.out.split())
    assert each.record["id"] in words
    assert "TITO101" in words
    assert "merge" in words
    assert not set(re.findall(r"TITO[12]\d\d", ran.out)) - {"TITO101"}
    for span in each.spans:
        ids = " ".join(map(str, each.row.ids[span.token_start : span.token_stop]))
        assert ids in words, f"span {span}"
