from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import SourceError
from tito_audit.reading.columns import Columns, choose, find, listed
from tito_audit.reading.readers import (
    Finished,
    NoTokenIdsError,
    RowReader,
    expand,
    open_sources,
    read_file,
    read_records,
    rows_in_order,
)
from tito_audit.reading.rows import ReadOptions


def reader(records: Iterable[object], tmp_path: Path | None = None, **columns: str) -> RowReader:
    options = ReadOptions(columns=Columns(**columns))
    if tmp_path is None:
        return read_records(records, options)
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return read_file(str(path), options)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (["token_ids", "mask"], {"ids": "token_ids", "mask": "mask"}),
        (["input_ids", "completion_mask"], {"ids": "input_ids", "mask": "completion_mask"}),
        (["tokens", "loss_mask", "id"], {"ids": "tokens", "mask": "loss_mask", "id": "id"}),
        (
            ["prompt_ids", "completion_ids", "response_mask", "logprobs"],
            {
                "prompt_ids": "prompt_ids",
                "response_ids": "completion_ids",
                "mask": "response_mask",
                "logprobs": "logprobs",
            },
        ),
        (["response_ids"], {"response_ids": "response_ids"}),
        (["token_ids", "prompt_ids", "response_ids"], {"ids": "token_ids"}),
        (["loss_mask", "mask", "token_ids"], {"ids": "token_ids", "mask": "mask"}),
    ],
)
def test_columns_are_found_by_well_known_names(present: list[str], expected: dict[str, str]) -> None:
    columns = find(Columns(), present)
    assert columns is not None
    assert dict(columns.items()) == expected


@pytest.mark.parametrize("present", [[], ["text"], ["prompt_ids", "mask"], ["mask"]])
def test_no_column_of_ids(present: list[str]) -> None:
    assert find(Columns(), present) is None


def test_a_choice_beats_what_would_be_found() -> None:
    columns = find(Columns(response_ids="out", mask="m"), ["token_ids", "prompt_ids", "out", "mask"])
    assert columns == Columns(prompt_ids="prompt_ids", response_ids="out", mask="m")
    assert find(Columns(ids="mine"), ["token_ids"]) is None


def test_choices_without_meaning() -> None:
    with pytest.raises(ValueError, match="choose one"):
        Columns(ids="a", response_ids="b")
    with pytest.raises(ValueError, match="no such role of a column: masks"):
        choose({"masks": "mask"})
    assert choose(None) == Columns()


def test_column_names_are_cut_and_printable() -> None:
    assert listed(["a", "\x1b"]) == "a, \\x1b"
    assert listed([]) == "none"
    assert listed(map(str, range(30))).endswith("22, 23 and 6 more")


@pytest.mark.parametrize("in_file", [False, True])
def test_rows_before_the_columns_were_known_are_read_too(tmp_path: Path, in_file: bool) -> None:  # noqa: FBT001
    records = [{"text": "a"}, {"token_ids": [1]}, {"token_ids": [2]}, {"text": "b"}]
    rows = list(reader(records, tmp_path if in_file else None))
    assert [(row.number, row.ids is None) for row in rows] == [(1, True), (2, False), (3, False), (4, True)]
    assert "no column token_ids (found: text)" in rows[0].faults[0].finding.message
    assert rows[3].faults[0].finding.code == "TITO001"


@pytest.mark.parametrize("in_file", [False, True])
def test_a_mask_that_first_appears_later_is_used_from_there_on(tmp_path: Path, in_file: bool) -> None:  # noqa: FBT001
    records = [{"token_ids": [1]}, {"token_ids": [2], "loss_mask": [1]}, {"token_ids": [3]}]
    source = reader(records, tmp_path if in_file else None)
    rows = list(source)
    assert [row.mask is None for row in rows] == [True, False, True]
    assert not rows[2].faults
    assert source.notes == ["the first rows have no column loss_mask and were read without it"]


@pytest.mark.parametrize(
    "stranger",
    [
        {"turns": [{"role": "user", "content": "hi"}]},
        {"owners": "me"},
        {"logprobs": {"content": []}},
        {"logprobs": [[-1.0]]},
        {"turns": 3},
    ],
)
def test_a_well_known_name_over_something_else_is_ignored_and_said(stranger: dict[str, Any]) -> None:
    source = reader([{"token_ids": [1], **stranger}] * 3)
    rows = list(source)
    assert not any(row.faults for row in rows)
    [name] = stranger
    assert source.notes == [f"column {name} is ignored: it holds no {name} per token"]


def test_a_column_that_was_asked_for_is_never_ignored() -> None:
    [row] = reader([{"token_ids": [1], "turns": [{"role": "user"}]}], turns="turns")
    assert row.faults[0].finding.code == "TITO001"


@pytest.mark.parametrize("empty", [None, [], [None]])
def test_a_first_row_that_says_nothing_decides_nothing(empty: Any) -> None:
    source = reader([{"token_ids": [], "logprobs": empty}, {"token_ids": [1], "logprobs": [9.0]}])
    assert list(source)[1].faults[0].finding.code == "TITO017"


def test_no_token_ids_names_the_columns_and_what_to_log(tmp_path: Path) -> None:
    records = [{"input": "q", "output": "a", "score": 1.0}] * 3
    with pytest.raises(NoTokenIdsError) as caught:
        list(reader(records, tmp_path))
    message = str(caught.value)
    assert "none of 3 rows has token ids (columns found: input, output, score)" in message
    assert "log the sampled ids (token_ids, or prompt_ids and response_ids)" in message


def test_ids_that_were_asked_for_are_named() -> None:
    with pytest.raises(NoTokenIdsError, match="the only row lacks the column my_ids"):
        list(reader([{"token_ids": [1]}], ids="my_ids"))


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("role", ["mask", "owners", "turns"])
def test_a_column_per_token_that_was_asked_for_and_is_nowhere_is_one_problem(
    tmp_path: Path,
    in_file: bool,  # noqa: FBT001
    role: str,
) -> None:
    source = reader([{"token_ids": [1], "text": "a"}] * 3, tmp_path if in_file else None, **{role: "wrong"})
    rows = iter(source)
    with pytest.raises(SourceError, match="none of 3 rows has the column wrong") as caught:
        next(rows)
    assert "(columns found: token_ids, text)" in str(caught.value)
    assert not isinstance(caught.value, NoTokenIdsError)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_column_that_was_asked_for_and_comes_late(tmp_path: Path, in_file: bool) -> None:  # noqa: FBT001
    records = [{"text": "a"}, {"token_ids": [1]}, {"token_ids": [1], "m": [1]}, {"token_ids": [1]}]
    rows = list(reader(records, tmp_path if in_file else None, mask="m"))
    assert [row.ids is not None for row in rows] == [False, False, True, False]
    messages = [row.faults[0].finding.message.split(";")[0] for row in rows if row.faults]
    assert messages == ["no column token_ids (found: text)", *["m: absent where a mask is needed"] * 2]


def test_a_name_of_rows_that_is_nowhere_is_a_note() -> None:
    source = reader([{"token_ids": [1]}], id="uid")
    assert len(list(source)) == 1
    assert source.notes == ["no row has the column uid, so rows go by their number alone"]
    assert source.columns == Columns(ids="token_ids")


def test_a_meaning_of_null_masks_without_a_column_of_masks_is_a_note() -> None:
    source = read_records([{"token_ids": [1]}], ReadOptions(null_mask="all-trained"))
    assert len(list(source)) == 1
    assert source.notes == ["no column of masks was found: null_mask (--null-mask) stands for the mask of every row"]


def test_a_row_without_ids_names_all_its_columns(tmp_path: Path) -> None:
    rows = list(reader([{"token_ids": [1], "mask": [1]}, {"text": "a", "mask": [1]}], tmp_path))
    assert "no column token_ids (found: text, mask)" in rows[1].faults[0].finding.message


def test_a_long_file_without_ids_is_given_up_early() -> None:
    records = iter([{"text": "a"}] * 5000)
    with pytest.raises(NoTokenIdsError, match="the first 1,000 rows"):
        list(reader(records))
    assert len(list(records)) == 4000


def test_bad_lines_at_the_start_do_not_hide_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("log line\n" * 3000 + '{"text": "a"}\n' * 5 + "log line\n" * 2000 + '{"token_ids": [1]}\n' * 2)
    source = read_file(str(path), ReadOptions())
    rows = list(source)
    assert [row.number for row in rows] == list(range(1, 5008))
    assert [row.number for row in rows if row.ids is not None] == [5006, 5007]
    assert {row.faults[0].finding.code for row in rows[:5005]} == {"TITO001"}
    assert "(found: text)" in rows[3002].faults[0].finding.message


def test_a_file_without_any_record_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("log line\n" * 30_000)
    with pytest.raises(SourceError, match="none of the first 10,000 lines holds a record; the first: no JSON"):
        list(read_file(str(path), ReadOptions()))


def test_a_column_that_was_asked_for_and_is_nowhere() -> None:
    rows = reader([{"token_ids": [1]}], logprobs="lp")
    with pytest.raises(SourceError, match="no row has the column lp"):
        list(rows)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_no_rows(tmp_path: Path, content: str) -> None:
    (tmp_path / "empty.jsonl").write_text(content)
    with pytest.raises(SourceError, match=r"empty\.jsonl: no rows"):
        list(read_file(str(tmp_path / "empty.jsonl"), ReadOptions()))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{\n{\n", "the first: the file is one JSON document over many lines"),
        ("[INFO] hello\n{", "the first: no JSON"),
        ("hello\nworld\n", "the first: no JSON: Expecting value at character 1 of 5"),
    ],
)
def test_no_line_is_a_record(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(SourceError, match="no line holds a record") as caught:
        list(read_file(str(tmp_path / "x.json"), ReadOptions()))
    assert says in str(caught.value)


def test_an_element_that_is_no_record() -> None:
    rows = list(reader([{"token_ids": [1]}, [1, 2], None]))
    assert [fault.finding.code for row in rows for fault in row.faults] == ["TITO001", "TITO001"]


def test_sources_are_paths_patterns_or_records(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "[x].jsonl"):
        (tmp_path / name).write_text('{"token_ids": [1]}')
    names = [str(tmp_path / name) for name in ("[x].jsonl", "a.jsonl", "b.jsonl")]

    def sources(of: object) -> list[str]:
        return [each.source for each in open_sources(of, ReadOptions())]

    assert sources(str(tmp_path / "*.jsonl")) == names
    assert sources(tmp_path / "a.jsonl") == names[1:2]
    assert sources([names[0], tmp_path / "*.jsonl", names[2]]) == names
    assert sources(iter([{"token_ids": [1]}])) == ["rows"]
    assert sources([]) == ["rows"]
    assert expand(str(tmp_path / "none-*.jsonl")) == [str(tmp_path / "none-*.jsonl")]
    assert expand(os.fsencode(tmp_path / "a.jsonl").decode()) == [names[1]]


@pytest.mark.parametrize("sources", [5, None, b"rows.jsonl", {"token_ids": [1]}])
def test_what_is_no_source(sources: object) -> None:
    with pytest.raises(TypeError, match="where paths, a table, or an iterable of records"):
        list(open_sources(sources, ReadOptions()))


@pytest.mark.parametrize("in_file", [True, False])
def test_a_prompt_that_first_appears_later_is_used_from_there_on(tmp_path: Path, in_file: bool) -> None:  # noqa: FBT001
    records: list[Any] = [
        {"response_ids": [3], "mask": [1]},
        {"prompt_ids": [1, 2], "response_ids": [3], "mask": [1]},
        {"response_ids": [4], "mask": [1]},
    ]
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    source = read_file(str(path), ReadOptions()) if in_file else read_records(records, ReadOptions())
    rows = list(source)
    assert [None if row.ids is None else row.ids.tolist() for row in rows] == [[3], [1, 2, 3], [4]]
    assert [(row.prompt, row.context_unknown) for row in rows] == [(-1, True), (2, False), (-1, True)]
    assert source.notes == ["the first rows have no column prompt_ids and were read without it"]


def test_a_meaning_of_missing_masks_does_not_depend_on_the_order_of_rows() -> None:
    records: list[Any] = [{"token_ids": [3]}, {"token_ids": [3], "mask": [0]}, {"token_ids": [3]}]
    rows = list(read_records(records, ReadOptions(null_mask="all-trained")))
    assert [None if row.mask is None else row.mask.tolist() for row in rows] == [[1], [0], [1]]


def test_a_deeply_nested_record_in_memory_is_one_bad_row() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    records = [nested, {"token_ids": [1], "mask": nested}, {"token_ids": [1], "mask": [1]}]
    assert [row.ids is None for row in read_records(records, ReadOptions())] == [True, True, False]


def test_known_dumps_of_text_say_what_to_log_instead() -> None:
    dump = {"input": "q", "output": "a", "gts": "42", "score": 1.0, "step": 10}
    with pytest.raises(
        NoTokenIdsError, match=r"verl's dumps .* store text only: log prompt_ids, response_ids"
    ) as caught:
        list(reader([dump]))
    assert "(columns found: input, output, gts, score, step)" in str(caught.value)


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ({"response": {"output_ids": [1, 2], "text": "a"}}, "response.output_ids"),
        ({"choices": [{"token_ids": [1], "index": 0}]}, "choices.0.token_ids"),
        ({"a": {"b": {"c": [{"prompt_ids": [1]}]}}, "x": "text"}, "a.b.c.0.prompt_ids"),
        ({"my_tokens": np.arange(3)}, "my_tokens"),
    ],
)
def test_ids_below_the_top_are_named_and_can_be_asked_for(record: dict[str, Any], path: str) -> None:
    with pytest.raises(NoTokenIdsError) as caught:
        list(reader([{"nothing": 1}, record]))
    assert f"{path} holds integers" in str(caught.value)
    assert f"--ids {path}" in str(caught.value)
    [row] = reader([record], ids=path)
    assert row.ids is not None


@pytest.mark.parametrize("in_file", [True, False])
def test_nested_columns(tmp_path: Path, in_file: bool) -> None:  # noqa: FBT001
    records = [
        {"r": {"ids": [1, 2], "mask": [0, 1], "text": "x"}, "other": [3]},
        {"r": {"ids": [3]}},
        {"r": None},
        {"r.ids": [7], "r": {"mask": [1], "ids": [8, 9]}},
    ]
    rows = list(reader(records, tmp_path if in_file else None, ids="r.ids", mask="r.mask"))
    assert [None if row.ids is None else row.ids.tolist() for row in rows] == [[1, 2], None, None, [7]]
    assert [row.faults[0].finding.code for row in rows if row.faults] == ["TITO016", "TITO001"]
    assert "no column r.ids (found: r)" in rows[2].faults[0].finding.message


class Tensor:
    """What torch hands over, as far as it matters."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Tensor]:
        return (Tensor(value) for value in self.values)


def test_cells_may_be_tensors() -> None:
    record = {
        "token_ids": Tensor([1, 2]),
        "mask": Tensor([0, 1]),
        "owners": Tensor([3, 4]),
        "logprobs": Tensor([-1.0, -2.0]),
    }
    source = reader([record])
    [row] = source
    assert not row.faults
    assert not source.notes
    assert row.owners is not None
    assert row.owners.tolist() == [3, 4]


def test_chunks_are_bounded_and_rows_before_an_error_are_given() -> None:
    rows: list[Any] = [{"token_ids": range(30_000)}] * 5 + [{"token_ids": []}] * 3000
    chunks = list(reader(rows).chunks())
    assert [len(chunk) for chunk in chunks[:2]] == [3, 1024]
    assert sum(map(len, chunks)) == 3005
    source = reader([{"token_ids": [1]}], logprobs="lp")
    broken_off = source.chunks()
    assert len(next(broken_off)) == 1
    with pytest.raises(SourceError, match="no row has the column lp"):
        next(broken_off)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_rows_of_files_and_iterables_come_in_order(tmp_path: Path, workers: int) -> None:
    for number in range(7):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(f'{{"token_ids": [{number}, {row}]}}\n' for row in range(3000 if number % 2 else 3)))
    (tmp_path / "3.jsonl").write_text('{"text": 1}')
    (tmp_path / "5.jsonl").write_bytes(b"PAR1")
    told: list[int] = []
    readers = list(open_sources(str(tmp_path / "*.jsonl"), ReadOptions(), on_read=told.append, workers=workers))
    threads = set()

    def made() -> Iterator[Any]:
        threads.add(threading.current_thread())
        yield {"token_ids": [99]}

    readers.insert(2, read_records(made(), ReadOptions()))
    numbers: dict[str, list[int]] = {}
    ends = []
    for each in rows_in_order(readers, workers):
        if isinstance(each, Finished):
            ends.append((each.reader, each.error is None))
        else:
            assert len({row.source for row in each}) == 1
            assert each[0].source == readers[len(ends)].source
            numbers.setdefault(each[0].source, []).extend(row.number for row in each)
    assert ends == [(each, each not in {readers[4], readers[6]}) for each in readers]
    assert all(rows == list(range(1, len(rows) + 1)) for rows in numbers.values())
    assert sum(map(len, numbers.values())) == 3 * 4 + 3000 + 1
    assert threads == {threading.current_thread()}
    assert sum(told) == sum(path.stat().st_size for path in tmp_path.iterdir() if path.name != "5.jsonl")
    assert not [thread for thread in threading.enumerate() if thread.name == "tito-audit-ahead"]


def test_closing_stops_reading_ahead(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_text('{"token_ids": [1]}\n' * 20_000)
    chunks = rows_in_order(open_sources(str(tmp_path / "*.jsonl"), ReadOptions(), workers=3), 3)
    next(chunks)
    chunks.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "tito-audit-ahead"]


def test_origins_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": 1}\n{"token_ids": [1]}\r\nbad\n')
    rows = list(read_file(str(path), ReadOptions(keep_origin=True)))
    assert [row.origin for row in rows] == [b'{"text": 1}\n', b'{"token_ids": [1]}\r\n', b"bad\n"]


def test_folders_tell_what_they_leave_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"token_ids": [1]}')
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / "empty").mkdir()
    folder, file = open_sources(tmp_path, ReadOptions())
    assert (folder.source, file.source) == (str(tmp_path), str(tmp_path / "a.jsonl"))
    assert list(folder) == []
    assert folder.notes == ["1 other file was left out (README.md)"]
    [empty] = open_sources(tmp_path / "empty", ReadOptions())
    with pytest.raises(SourceError, match="no file in the folder looks like rollouts"):
        list(empty)
    assert [each.error is None for each in rows_in_order([empty, file]) if isinstance(each, Finished)] == [False, True]


def test_what_is_no_path_among_paths() -> None:
    with pytest.raises(TypeError, match="5 among paths"):
        list(open_sources(["a.jsonl", 5], ReadOptions()))


def test_redacted_refusals_hold_no_value() -> None:
    with pytest.raises(SourceError, match="the first: its value is redacted"):
        list(read_records(["secret"], ReadOptions(redact=True)))
    [row, _] = read_records(["secret", {"token_ids": [1]}], ReadOptions(redact=True))
    assert "secret" not in row.faults[0].finding.message


@given(
    records=st.lists(
        st.dictionaries(
            st.sampled_from(["token_ids", "mask", "loss_mask", "owners", "text", "prompt_ids"]),
            st.sampled_from([[1], [0], None, "x"]),
        ),
        min_size=1,
        max_size=7,
    )
)
def test_files_and_records_in_memory_are_read_alike(
    records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    def outcome(source: RowReader) -> Any:
        try:
            rows = [
                (row.number, *(None if each is None else each.tolist() for each in (row.ids, row.mask, row.owners)))
                for row in source
            ]
        except SourceError as error:
            return str(error).partition(": ")[2]
        return rows, source.notes, source.columns

    assert outcome(reader(records)) == outcome(reader(records, tmp_path_factory.mktemp("alike")))


def test_every_late_column_is_taken_up_once() -> None:
    records: list[Any] = [
        {"token_ids": [1], "x": 1},
        {"token_ids": [1], "y": 1},
        {"token_ids": [1], "y": 1, "owners": [3]},
        {"token_ids": [1], "mask": [1]},
        {"token_ids": [1], "mask": [0], "owners": [2]},
    ]
    source = reader(records)
    rows = list(source)
    assert [row.ids is not None for row in rows] == [True] * 5
    assert len(source.notes) == 2
    assert source.columns == Columns(ids="token_ids", mask="mask", owners="owners")


def test_a_file_by_several_names_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "r.jsonl"
    path.write_text('{"token_ids": [1]}\n')
    (tmp_path / "link.jsonl").symlink_to(path)
    readers = list(open_sources(["r.jsonl", "./r.jsonl", str(path), "link.jsonl", str(tmp_path)], ReadOptions()))
    assert [reader.source for reader in readers] == ["r.jsonl"]
