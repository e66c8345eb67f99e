"""The published schemas are those of the types, and what is written has that shape."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tito_audit
import tito_audit as tito
from tiny import straddler
from tito_audit.native import RolloutRecord, rollout_record
from tito_audit.schema import ReportDict, json_schema

FOLDER = Path(tito_audit.__file__).parent / "schemas"
SCHEMAS: dict[str, tuple[Any, str]] = {
    "report-1.json": (ReportDict, "Report of tito-audit"),
    "rollout-1.json": (RolloutRecord, "Rollout record of tito-audit"),
}


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_published_schema_is_in_step(name: str) -> None:
    text = json.dumps(json_schema(*SCHEMAS[name]), indent=2) + "\n"
    if os.environ.get("TITO_UPDATE_SCHEMAS"):
        (FOLDER / name).write_text(text, encoding="utf-8")
    assert (FOLDER / name).read_text(encoding="utf-8") == text, "regenerate with TITO_UPDATE_SCHEMAS=1"


def keys_of(value: object) -> Any:
    """Keys of all mappings inside a value, by place."""
    if isinstance(value, dict):
        return {key: keys_of(each) for key, each in value.items()}
    return [keys_of(each) for each in value] if isinstance(value, list) else None


def test_a_report_has_the_published_shape() -> None:
    rows = [
        {"id": "a", "token_ids": [3, 0, 1, 1, 4], "mask": [1, 0, 0, 1, 1], "train_ids": [3, 0, 2, 4]},
        {"token_ids": [0, 10**400], "mask": [0, 1]},
        {"token_ids": [0.5], "mask": [1]},
    ]
    written = json.loads(tito.audit(rows, straddler()).to_json())
    read = msgspec.convert(written, ReportDict, strict=True)
    # Converting drops what the schema does not know, so nothing may be missing afterwards.
    assert keys_of(read) == keys_of(written)
    assert written["findings"]


RECORD: dict[str, Any] = {
    "tokenizer_fingerprint": {"model": "0" * 16},
    "token_ids": [3, 0, 1, 1, 4],
    "mask": [1, 0, 0, 1, 1],
}


def test_a_native_record_is_one_that_the_schema_allows_and_an_audit_reads() -> None:
    record = rollout_record(**RECORD, id=7, turns=None)
    assert record == RECORD | {"format": "tito_audit/rollout", "format_version": 1, "id": 7}
    assert tito.audit([dict(record)], straddler()).statistics.rows == 1
    scored = [rollout_record(**RECORD, train_logprobs=[0.0] * 5)]
    scored.append(rollout_record(**RECORD, train_ids=[1], train_logprobs=[0.0]))
    assert tito.audit(map(dict, scored), straddler()).statistics.rows_checked == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"mask": [2] * 5},
        {"turns": [-2] * 5},
        {"owners": [256] * 5},
        {"logprobs": ["x"] * 5},
        {"token_ids": [0.5]},
        {"mask": [1]},
        {"logprobs": [0.0]},
        {"train_ids": [1], "train_mask": [1, 1]},
        {"train_mask": [1]},
        {"train_logprobs": [0.0]},
        {"train_ids": [1], "train_logprobs": [0.0] * 5},
        {"train_logprobs": [None] * 5},
    ],
)
def test_a_wrong_field_is_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(tito.RecordError):
        rollout_record(**(RECORD | columns))
