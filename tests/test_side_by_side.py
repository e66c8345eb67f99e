"""The side-by-side timing runs, and its engines agree; what it times is nobody's business here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import zoo
from beside.rows import encoded, joined, recut

SCRIPT = Path(__file__).parents[1] / "benches" / "side_by_side.py"
KINDS = ("code", "drift-5")

small_rows = st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=6)


@given(st.data(), small_rows)
def test_equal_rows_are_counted_one_by_one(data: st.DataObject, first: list[list[int]]) -> None:
    count = len(first)
    second = data.draw(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=count, max_size=count))
    other = joined(second)
    expected = sum(row == there for row, there in zip(first, second, strict=True))
    assert joined(first).count_equal(other.ids, other.offsets.astype(np.uint64)) == expected
    assert other.count_equal(other.ids, other.offsets) == count


@given(small_rows, st.integers(1, 9))
def test_slices_are_all_rows_in_order(rows: list[list[int]], tokens: int) -> None:
    assert [row for part in joined(rows).slices(tokens) for row in part.lists()] == rows


def test_recut_rows_keep_their_text_and_drift() -> None:
    wheel = Tokenizer.from_str(zoo.zoo()["bytelevel_cl100k"])
    rows = encoded(wheel, iter(zoo.TEXT.splitlines()), tokens=10**9, rows=10**9)
    cut = recut(wheel, rows, 20, seed=0)
    assert cut is not None
    assert len(cut.ids) == len(rows.ids) + 20
    assert wheel.decode_batch(cut.lists()) == wheel.decode_batch(rows.lists())
    assert 0 < len(rows) - rows.count_equal(cut.ids, cut.offsets) <= 20


def test_quick_run_agrees_with_the_reference(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(zoo.zoo()["bytelevel_cl100k"], encoding="utf-8")
    options = ("--quick", "--rows", ",".join(KINDS), "--measure", "rows,load,assert,provenance")
    files = ("--tokenizer", f"zoo={tmp_path / 'tokenizer.json'}", "--json", str(tmp_path / "raw.json"))
    environment = os.environ | {"TITO_SIDE_BY_SIDE": str(tmp_path / "rows")}
    done = subprocess.run([sys.executable, SCRIPT, *options, *files], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    numbers = json.loads((tmp_path / "raw.json").read_text(encoding="utf-8"))["numbers"]
    rows = [entry for entry in numbers if entry["measure"] == "rows"]
    assert [(entry["kind"], entry["engine"]) for entry in rows] == [
        (kind, engine) for kind in KINDS for engine in ("tito_audit", "tokenizers")
    ]
    assert all(run["equal"] == run["compared"] > 0 for entry in rows for run in entry["runs"])
    assert [entry["measure"] for entry in numbers if entry["measure"] != "rows"] == ["load", "assert", "provenance"]
