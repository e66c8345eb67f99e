import json
from pathlib import Path

import pytest
from pyarrow import parquet

from tito_audit.auditing.outcomes import Judged, Outcome
from tito_audit.auditing.rows_out import rows_out
from tito_audit.reading.row import Row

OUTCOMES = [
    Outcome("a.jsonl", 1, 7, 5, 3, drifted=True, first_diff=2, codes=("TITO101", "TITO301"), engine="reference"),
    Outcome("b\udcff\n.jsonl", 2, "naïve", codes=("TITO001",)),
]
ROWS = [Judged(Row(source=each.source, number=each.row), each, frozenset(), drifts=False) for each in OUTCOMES]


def test_lines_hold_every_field(tmp_path: Path) -> None:
    with rows_out(tmp_path / "rows.jsonl") as table:
        table.take(ROWS[:1])
        table.take(ROWS[1:])
    lines = (tmp_path / "rows.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [each._asdict() | {"codes": list(each.codes)} for each in OUTCOMES]


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    with rows_out(tmp_path / "rows.parquet") as table:
        table.take(ROWS)
    read = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert read[0] == OUTCOMES[0]._asdict() | {"codes": ["TITO101", "TITO301"], "id": "7"}
    assert read[1]["source"] == "b\\udcff\n.jsonl"
    assert read[1]["tokens"] is None


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    with rows_out(tmp_path / "rows.parquet"):
        pass
    assert parquet.read_table(tmp_path / "rows.parquet").column_names == list(Outcome._fields)


def test_nothing_is_left_of_a_table_that_was_broken_off(tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows.parquet"):
        with pytest.raises(KeyboardInterrupt), rows_out(tmp_path / name) as table:  # noqa: PT012 - it has to be begun
            table.take(ROWS)
            raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
