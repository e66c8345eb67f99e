"""Real faults of records (masks, ends, padding, containers): the right verdict from every way in."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from shared import SHARED, audited, lines, tokenizer, tokenizer_path, write_lines

import tito_audit as tito

NAMES = ("H038", "H040", "H041", "H043", "H045", "H046", "H047", "H049", "H055", "H057")
CASES = {case["id"]: case for case in lines(SHARED / "cases" / "hand-over.jsonl") if case["id"] in NAMES}
NO_TOKENIZER = "qwen3"
"""For the cases that name none: their ids are ids of every vocabulary."""

Record = dict[str, Any]


class Verdict(NamedTuple):
    """What a way in says about the rows of a case."""

    findings: list[Record]
    statistics: Record

    def rows(self, code: str) -> list[int]:
        """Numbers of the rows with a code."""
        return [found["row"] for found in self.findings if found["code"] == code]

    def one(self, code: str) -> Record:
        """The only finding of a code."""
        (found,) = [found for found in self.findings if found["code"] == code]
        return found

    def positions(self, code: str) -> list[int]:
        """The positions of the only finding of a code, all of them."""
        positions = self.one(code)["positions"]
        assert len(positions["listed"]) == positions["count"]
        listed: list[int] = positions["listed"]
        return listed


def name_of(case: Record) -> str:
    return NO_TOKENIZER if case["tokenizer"] in {"none", "any"} else case["tokenizer"]


def of_report(report: Record) -> Verdict:
    for found in report["findings"]:
        assert report["statistics"]["by_code"][found["code"]]["severity"] == found["severity"]
    return Verdict(report["findings"], report["statistics"])


def from_lines(records: list[Record], name: str, folder: Path, *options: str) -> Verdict:
    return of_report(audited(write_lines(folder / "r.jsonl", records), *options, name=name)[1])


def from_parquet(records: list[Record], name: str, folder: Path, *options: str) -> Verdict:
    parquet.write_table(pa.Table.from_pylist(records), folder / "r.parquet")
    return of_report(audited(folder / "r.parquet", *options, name=name)[1])


def from_python(records: list[Record], name: str, _: Path, *options: str) -> Verdict:
    keywords: Record = {"padding": options[1]} if options else {}
    return of_report(json.loads(tito.audit(records, tokenizer(name), **keywords).to_json()))


def from_arrays(records: list[Record], name: str, folder: Path, *options: str) -> Verdict:
    """Python, with every list of numbers as an array."""
    arrays = [
        {key: np.array(value) if isinstance(value, list) and None not in value else value for key, value in row.items()}
        for row in records
    ]
    return from_python(arrays, name, folder, *options)


WAYS = (from_lines, from_parquet, from_python, from_arrays)
Way = Callable[..., Verdict]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture
def expected(request: pytest.FixtureRequest) -> Iterator[Record]:
    """The expected fields of the case that the test is named after; each has to be taken out."""
    name = request.node.name.split("_")[1].upper()
    fields = dict(CASES[name]["expected"])
    yield fields
    assert not fields, "fields of the case that nothing compares"


def records_of(name: str, **names: str) -> list[Record]:
    """The input of a case as one record, under the names that rollouts use."""
    given = CASES[name]["input"]
    return [{names.get(key, key): value for key, value in given.items()}]


def test_h038_two_ids_that_begin(way: Way, expected: Record, tmp_path: Path) -> None:
    case = CASES["H038"]
    verdict = way(records_of("H038", ids="token_ids"), case["tokenizer"], tmp_path)
    assert bool(verdict.rows("TITO011")) == expected.pop("double_bos")
    positions = expected.pop("positions")
    assert verdict.positions("TITO011") == positions
    bos = expected.pop("bos_id")
    assert [case["input"]["ids"][at] for at in positions] == [bos, bos]
    one = [{"token_ids": case["input"]["ids"][1:]}]
    assert not way(one, case["tokenizer"], tmp_path).rows("TITO011")


def test_h040_an_end_that_was_appended_and_trained(way: Way, expected: Record, tmp_path: Path) -> None:
    case = CASES["H040"]
    verdict = way(records_of("H040"), case["tokenizer"], tmp_path)
    assert verdict.positions("TITO013") == expected.pop("unsampled_but_trained")
    assert verdict.one("TITO013")["name"] == expected.pop("cause").replace("_", "-")
    assert verdict.one("TITO013")["severity"] == "error"
    sampled = [records_of("H040")[0] | {"sampled_len": 2, "logprobs": [-0.7, -0.1]}]
    assert not verdict_codes(way(sampled, case["tokenizer"], tmp_path)) & {"TITO013"}


def test_h041_an_end_after_a_length_stop(way: Way, expected: Record, tmp_path: Path) -> None:
    case = CASES["H041"]
    verdict = way(records_of("H041"), case["tokenizer"], tmp_path)
    assert bool(verdict.rows("TITO013")) == expected.pop("end_id_after_length_stop")
    assert verdict.positions("TITO013") == [expected.pop("at_index")]
    stopped = [records_of("H041")[0] | {"finish_reason": "stop"}]
    assert not way(stopped, case["tokenizer"], tmp_path).rows("TITO013")


def test_h043_a_null_among_logprobs(way: Way, expected: Record, tmp_path: Path) -> None:
    given = CASES["H043"]["input"]
    nulls = expected.pop("null_positions")
    assert expected.pop("first_null_allowed") == "only for prompt logprobs"
    completion = [{"completion_ids": given["ids"], "logprobs": given["logprobs"], "mask": [1, 1, 1]}]
    found = way(completion, NO_TOKENIZER, tmp_path)
    assert found.positions("TITO017") == nulls
    assert found.one("TITO017")["severity"] == "error"
    prompt = [
        {"prompt_ids": given["ids"], "response_ids": [13], "logprobs": [*given["logprobs"], -0.1], "mask": [0, 0, 0, 1]}
    ]
    assert not way(prompt, NO_TOKENIZER, tmp_path).rows("TITO017")


def test_h045_the_end_is_masked_out(way: Way, expected: Record, tmp_path: Path) -> None:
    case = CASES["H045"]
    wanted = expected.pop("eos_masked_out")
    verdict = way(records_of("H045", ids="token_ids"), case["tokenizer"], tmp_path)
    assert verdict.positions("TITO015") == wanted
    assert verdict.one("TITO015")["severity"] == "warning"
    given = case["input"]
    owners = [0] * len(given["ids"])
    result = tito.check(
        given["ids"], tokenizer(case["tokenizer"]), mask=given["mask"], owners=owners, owner_names=["assistant"]
    )
    (found,) = [finding for finding in result.findings if finding.code == "TITO015"]
    assert list(found.positions) == wanted


def test_h046_a_mask_of_zeros(way: Way, expected: Record, tmp_path: Path) -> None:
    given = CASES["H046"]["input"]
    trainable = expected.pop("trainable_tokens")
    assert expected.pop("finding") == "all_zero_mask"
    verdict = way(records_of("H046", ids="token_ids"), NO_TOKENIZER, tmp_path)
    assert verdict.statistics["trainable_tokens"] == trainable
    assert verdict.rows("TITO004") == [1]
    assert verdict.statistics["by_code"]["TITO004"]["rows"] == 1
    result = tito.check(given["ids"], tokenizer(NO_TOKENIZER), mask=given["mask"])
    assert "TITO004" in {found.code for found in result.findings}
    with pytest.raises(ValueError, match="mask"):
        tito.masked_mean(np.ones(len(given["ids"])), given["mask"])
    metrics = tito.audit(records_of("H046", ids="token_ids"), tokenizer(NO_TOKENIZER)).as_metrics()
    assert all(value == value for value in metrics.values()), "NaN"  # noqa: PLR0124 - that is what NaN is


def test_h047_a_row_without_active_tokens_is_in_no_divisor(way: Way, expected: Record, tmp_path: Path) -> None:
    masks = [row["mask"] for row in CASES["H047"]["input"]["rows"]]
    records = [{"token_ids": list(range(10, 10 + len(mask))), "mask": mask} for mask in masks]
    verdict = way(records, NO_TOKENIZER, tmp_path)
    trainable, wrong = expected.pop("trainable_tokens"), expected.pop("not_divisor")
    assert verdict.statistics["trainable_tokens"] == trainable != wrong
    # Theirs count rows from 0, ours from 1.
    assert [row - 1 for row in verdict.rows("TITO004")] == expected.pop("all_zero_rows")
    values = np.arange(1.0, 8.0)
    assert tito.masked_mean(values, np.concatenate(masks)) == values[:4].sum() / trainable
    report = tito.audit(records, tokenizer(NO_TOKENIZER))
    inside = report.statistics.drift_trainable_tokens
    assert inside == 2, "`,` and `-` merge"
    assert report.as_metrics()["tito/drift_token_rate"] == inside / trainable


def test_h049_the_end_that_also_pads(way: Way, expected: Record, tmp_path: Path) -> None:
    case = CASES["H049"]
    end, padding = expected.pop("real_eos_index"), expected.pop("padding")
    for options in ((), ("--padding", "right")):
        verdict = way(records_of("H049"), case["tokenizer"], tmp_path, *options)
        assert verdict.positions("TITO015") == [end]
        kept = len(case["input"]["response_ids"]) - (len(padding) if options else 0)
        assert verdict.statistics["tokens"] == kept
        assert verdict.statistics["rows_unpadded"] == bool(options)
        assert "TITO014" not in verdict_codes(verdict)
    assert expected.pop("real_eos_masked_out")
    # The same with the padding trained: each of its tokens is named, and the real end is not.
    trained = [records_of("H049")[0] | {"mask": [1, 1, 1, 1, 1]}]
    verdict = way(trained, case["tokenizer"], tmp_path)
    assert verdict.positions("TITO014") == padding
    assert not verdict.rows("TITO015")


def verdict_codes(verdict: Verdict) -> set[str]:
    return {found["code"] for found in verdict.findings}


TURNS = [{"role": "user", "start": 0, "end": 1}, {"role": "assistant", "start": 1, "end": 2}]
OPTIONAL: list[tuple[str, object, list[object]]] = [
    ("turns", TURNS, [None, []]),
    ("turns", [0, 1], [None]),
    ("owners", [0, 1], [None]),
    ("roles", ["user", "assistant"], [None]),
    ("logprobs", [0.0, -1.0], [None]),
    ("train_ids", [9707, 1879], [None]),
    ("attention_mask", [1, 1], [None]),
    ("finish_reason", "length", [None]),
]


@pytest.mark.parametrize(("name", "value", "nothing"), OPTIONAL)
def test_a_row_may_lack_what_another_row_has_in_any_order(name: str, value: object, nothing: list[object]) -> None:
    bare: Record = {"token_ids": [9707, 1879], "mask": [0, 1]}
    for other in [bare, *(bare | {name: each} for each in nothing)]:
        for rows in ([bare | {name: value}, other], [other, bare | {name: value}]):
            report = tito.audit(rows, tokenizer(NO_TOKENIZER))
            assert report.statistics.rows_checked == 2, rows
            assert report.statistics.trainable_tokens == 2
            assert not report.statistics.by_code


# Containers of ids

IDS = [9707, 1879, 198, 198, 9707]
CELLS: dict[str, Callable[[list[int]], object]] = {
    "list<int64>": lambda ids: ids,
    "list<int32>": lambda ids: pa.array(ids, pa.int32()),
    "numpy.ndarray int64": lambda ids: np.array(ids, dtype=np.int64),
    "numpy.ndarray int32": lambda ids: np.array(ids, dtype=np.int32),
    "pyarrow ListScalar": pa.scalar,
}
"""Their words for a cell, and how a Python cell of that kind is made."""
COLUMNS = {
    "list<int64>": pa.list_(pa.int64()),
    "list<int32>": pa.list_(pa.int32()),
    "large_list": pa.large_list(pa.int64()),
}


def plain(report: tito.Report) -> Record:
    """A report without the name of its source."""
    made: Record = json.loads(report.to_json())
    for found in made["findings"]:
        found["source"] = None
    for count in made["statistics"]["by_code"].values():
        count["first"]["source"] = None
    return {name: made[name] for name in ("statistics", "findings")}


@pytest.fixture(scope="module")
def wanted_verdict() -> Record:
    return plain(tito.audit([{"token_ids": IDS}, {"token_ids": IDS[:2]}], tokenizer(NO_TOKENIZER)))


def test_h055_every_column_of_ids(expected: Record, wanted_verdict: Record, tmp_path: Path) -> None:
    tok = tokenizer(NO_TOKENIZER)
    assert wanted_verdict["statistics"]["drift_rows"] == 1
    for number, kind in enumerate(COLUMNS.values()):
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(pa.table({"token_ids": pa.array([IDS, IDS[:2]], kind)}), path)
        frame = pd.read_parquet(path)  # cells are numpy arrays there
        assert isinstance(frame["token_ids"][0], np.ndarray)
        read: list[object] = [str(path), frame, frame.to_dict("records"), parquet.read_table(path).to_pylist()]
        for source in read:
            assert plain(tito.audit(source, tok)) == wanted_verdict
    assert expected.pop("accept_all")
    assert expected.pop("same_verdict")


@pytest.mark.parametrize("kind", CELLS)
def test_h055_every_cell_of_ids(kind: str, wanted_verdict: Record) -> None:
    assert list(CELLS) == CASES["H055"]["input"]["cell_types"]
    cell, tok = CELLS[kind], tokenizer(NO_TOKENIZER)
    assert plain(tito.audit([{"token_ids": cell(IDS)}, {"token_ids": cell(IDS[:2])}], tok)) == wanted_verdict
    assert tito.check(cell(IDS), tok).reencoded_ids.tolist() == tito.check(IDS, tok).reencoded_ids.tolist()
    assert tito.check(cell(IDS), tok).first_diff == 2


class Tensor:
    """What a torch tensor is to somebody who has no torch: on a device, off its graph, viewed through numpy."""

    def __init__(self, values: object) -> None:
        self._values = np.asarray(values)
        self.moved: list[str] = []

    def detach(self) -> "Tensor":
        self.moved.append("detach")
        return self

    def cpu(self) -> "Tensor":
        self.moved.append("cpu")
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.moved[-2:] != ["detach", "cpu"]:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")
        return np.array(self._values, dtype=dtype, copy=copy)


HOLDERS: dict[str, Callable[[list[int]], object]] = {
    "numpy.int64 scalars": lambda ids: [np.int64(id_) for id_ in ids],
    "torch tensor": Tensor,
    "tuple": tuple,
}


@pytest.mark.parametrize("kind", [*HOLDERS, "all"])
def test_h057_a_report_is_plain_json(kind: str, expected: Record) -> None:
    assert CASES["H057"]["input"]["ids"] == ", ".join(HOLDERS)
    assert expected.pop("report_json_serializable")
    tok = tokenizer(NO_TOKENIZER)
    holders = list(HOLDERS.values()) if kind == "all" else [HOLDERS[kind]]
    records: list[Record] = [
        {
            "id": np.int64(7 + number),
            "token_ids": hold(IDS),
            "mask": hold([0, 1, 1, 1, 1]),
            "train_ids": hold(IDS[:3]),
            "train_mask": hold([0, 1, 0]),
            "logprobs": hold([0, -1, -1, -1, 1]),
            "eos_ids": [198],
        }
        for number, hold in enumerate(holders)
    ]
    report = tito.audit(records, tok)
    assert report.statistics.rows_checked == len(holders)
    assert {"TITO101", "TITO111", "TITO017"} <= set(report.statistics.by_code)
    made = report.as_dict()
    assert json.loads(json.dumps(made)) == json.loads(report.to_json()) == made
    assert {type(leaf) for leaf in leaves(made)} <= {str, int, float, bool, type(None)}
    assert [found["id"] for found in made["findings"] if found["code"] == "TITO101"] == [
        7 + number for number in range(len(holders))
    ]
    assert json.dumps(report.as_metrics())


def test_end_ids_on_a_device_are_read_like_any_others() -> None:
    record = {"token_ids": IDS, "mask": [1, 1, 0, 1, 1]}
    tok = tokenizer(NO_TOKENIZER)
    wanted = plain(tito.audit([record | {"eos_ids": [198]}] * 2, tok))
    assert "TITO015" in wanted["statistics"]["by_code"]
    assert plain(tito.audit([record | {"eos_ids": [198]}, record | {"eos_ids": Tensor([198])}], tok)) == wanted


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def test_every_case_of_a_record_is_tested() -> None:
    assert sorted(CASES) == sorted(NAMES)
    assert all(tokenizer_path(name_of(case)).is_file() for case in CASES.values())
