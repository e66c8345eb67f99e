"""Clean rows go through unchanged: lines byte for byte, rows of tables with all their columns."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tito_audit.auditing.clean_copy import clean_copy
from tito_audit.auditing.outcomes import Judged, Outcome
from tito_audit.bar import Bar
from tito_audit.errors import SourceError
from tito_audit.reading.columns import Columns
from tito_audit.reading.row import Row


def judged(origin: object, *codes: str, drifts: bool = False, number: int = 1) -> Judged:
    row = Row(source="a", number=number, origin=origin)
    return Judged(row, Outcome("a", number, None, codes=codes), frozenset(codes), drifts=drifts)


LINES = st.lists(
    st.tuples(st.binary(min_size=1, max_size=9).map(lambda b: b.replace(b"\n", b"")), st.booleans()), max_size=9
)


@given(LINES, st.booleans())
def test_lines_are_kept_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[bytes, bool]],
    whole: bool,  # noqa: FBT001
) -> None:
    path = tmp_path_factory.mktemp("clean") / "clean.jsonl"
    origins = [line + b"\n" for line, _ in lines]
    if origins and not whole:
        origins[-1] = origins[-1][:-1]  # the last line of a file may lack its break
    rows = [
        judged(origin, *(["TITO001"] if bad else []), number=number)
        for number, (origin, (_, bad)) in enumerate(zip(origins, lines, strict=True), start=1)
    ]
    with clean_copy(path, Bar()) as copy:
        copy.take(rows[:3])
        copy.take(rows[3:])
    assert path.read_bytes() == b"".join(origin for origin, (_, bad) in zip(origins, lines, strict=True) if not bad)
    assert (copy.kept + copy.dropped, copy.dropped) == (len(lines), sum(bad for _, bad in lines))


def test_a_last_line_without_break_does_not_swallow_the_next_file(tmp_path: Path) -> None:
    with clean_copy(tmp_path / "c", Bar()) as copy:
        copy.take([judged(b"1"), judged(b"2\r\n"), judged(b"3")])
    assert (tmp_path / "c").read_bytes() == b"1\n2\r\n3"


def test_the_bar_decides(tmp_path: Path) -> None:
    rows = [judged(b"drift\n", "TITO101", drifts=True), judged(b"note\n", "TITO101")]
    with clean_copy(tmp_path / "a", Bar()) as all_rows, clean_copy(tmp_path / "b", Bar(fail_on="drift")) as no_drift:
        all_rows.take(rows)
        no_drift.take(rows)
    assert (tmp_path / "a").read_bytes() == b"drift\nnote\n"
    assert (tmp_path / "b").read_bytes() == b"note\n"


def test_the_name_says_how_it_is_compressed(tmp_path: Path) -> None:
    for name in ("c.jsonl.gz", "c.jsonl.zst"):
        with clean_copy(tmp_path / name, Bar()) as copy:
            copy.take([judged(b"1\n"), judged(b"2\n")])
    assert gzip.decompress((tmp_path / "c.jsonl.gz").read_bytes()) == b"1\n2\n"
    with zstandard.open(tmp_path / "c.jsonl.zst", "rb") as file:
        assert file.read() == b"1\n2\n"


def test_rows_of_a_table_keep_all_columns(tmp_path: Path) -> None:
    table = pa.table({"token_ids": [[1], [2], [3]], "text": ["a", None, "c"], "nested": [{"x": 1}, {"x": None}, None]})
    batches = table.to_batches(max_chunksize=2)
    places = [(batches[0], 0), (batches[0], 1), (batches[1], 0)]
    rows = [judged(place, *codes) for place, codes in zip(places, ([], ["TITO002"], []), strict=True)]
    with clean_copy(tmp_path / "c.parquet", Bar()) as copy:
        copy.take(rows[:2])
        copy.take(rows[2:])
    assert parquet.read_table(tmp_path / "c.parquet").equals(table.take([0, 2]))


def test_without_a_clean_row_the_table_is_empty(tmp_path: Path) -> None:
    batch = pa.record_batch({"token_ids": [[1]]})
    with clean_copy(tmp_path / "c.parquet", Bar()) as copy:
        copy.take([judged((batch, 0), "TITO001")])
    assert parquet.read_table(tmp_path / "c.parquet").equals(pa.Table.from_batches([batch]).slice(1))


@pytest.mark.parametrize(
    ("name", "origin", "words"),
    [
        ("c.jsonl", None, "rows that are in memory have no lines"),
        ("c.parquet", b"1\n", "JSON lines cannot be copied to a Parquet file"),
        ("c.jsonl", (pa.record_batch({"a": [1]}), 0), "cannot be copied as JSON lines"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_is_left(
    tmp_path: Path, name: str, origin: object, words: str
) -> None:
    with pytest.raises(SourceError, match=words), clean_copy(tmp_path / name, Bar()) as copy:
        copy.take([judged(origin)])
    assert not list(tmp_path.iterdir())


def test_tables_with_different_columns_do_not_fit_one_file(tmp_path: Path) -> None:
    a, b = pa.record_batch({"token_ids": [[1]]}), pa.record_batch({"tokens": [[1]]})
    with pytest.raises(SourceError, match="different columns"), clean_copy(tmp_path / "c.parquet", Bar()) as copy:
        copy.take([judged((a, 0)), judged((b, 0))])
    assert not list(tmp_path.iterdir())


def test_a_byte_order_mark_stays_at_the_start(tmp_path: Path) -> None:
    with clean_copy(tmp_path / "c", Bar()) as copy:
        copy.take([judged(b"\xef\xbb\xbf1\n"), judged(b"2\n", number=2), judged(b"\xef\xbb\xbf3\n")])
    assert (tmp_path / "c").read_bytes() == b"\xef\xbb\xbf1\n2\n3\n"


def test_the_same_rows_are_the_same_bytes_compressed(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        with clean_copy(tmp_path / name, Bar()) as copy:
            copy.take([judged(b"1\n")])
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_rows_of_other_columns_do_not_fit_one_file(tmp_path: Path) -> None:
    def row(source: str, columns: Columns) -> Judged:
        return Judged(
            Row(source=source, number=1, origin=b"1\n", columns=columns),
            Outcome("a", 1, None),
            frozenset(),
            drifts=False,
        )

    one, more = row("a", Columns(ids="token_ids", mask="mask")), row("b", Columns(ids="token_ids", owners="owners"))
    with clean_copy(tmp_path / "c", Bar()) as copy:
        copy.take([one, more])
    for other in (Columns(ids="input_ids"), Columns(response_ids="r"), Columns(ids="token_ids", mask="loss_mask")):
        with pytest.raises(SourceError, match="one copy cannot hold both"), clean_copy(tmp_path / "d", Bar()) as copy:
            copy.take([one, row("b", other)])
    assert not (tmp_path / "d").exists()


def test_columns_that_cannot_be_gathered_are_cut(tmp_path: Path) -> None:
    batch = pa.record_batch({"token_ids": [[1], [2]], "text": pa.array(["a", "b"], pa.string_view())})
    with clean_copy(tmp_path / "c.parquet", Bar()) as copy:
        copy.take([judged((batch, 1))])
    assert parquet.read_table(tmp_path / "c.parquet")["token_ids"].to_pylist() == [[2]]
