"""A secret in the text of rollouts, beside it, and where ids should be: with --redact no output holds a piece of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from brute import SMOLLM2
from pyarrow import parquet
from shared import command, lines, tokenizer, tokenizer_path, write_lines
from tokenizers import Tokenizer

import tito_audit as tito

SECRET = "Kraken7Congratulations9Q"  # noqa: S105 - planted, and searched for
WORD = "Congratulations"
"""A part of it that the vocabulary has as one token, so that it would be shown whole."""
PIECE = 8
FORMATS = ("text", "concise", "json", "jsonl")
TOKENIZER = tokenizer_path("smollm2")

Record = dict[str, Any]


def pieces() -> set[str]:
    """Every eight characters of the secret, as they are, in lower case, reversed and escaped."""
    shapes = (SECRET, SECRET.lower(), SECRET[::-1], SECRET.encode().hex())
    return {shape[at : at + PIECE] for shape in shapes for at in range(len(shape) - PIECE + 1)}


def told(text: str) -> set[str]:
    return {piece for piece in pieces() if piece in text}


def planted() -> list[Record]:
    """Real rollouts with the secret in them."""
    wheel = Tokenizer.from_file(str(TOKENIZER))
    assert len(SECRET) == 24
    whole = wheel.encode(SECRET, add_special_tokens=False).ids
    assert wheel.token_to_id(WORD) in whole
    # Letter by letter it is not what the encoder gives: a drift span over the secret itself.
    letters = [token for letter in SECRET for token in wheel.encode(letter, add_special_tokens=False).ids]
    records = []
    for at, each in enumerate(list(lines(SMOLLM2 / "rollouts_t1.0.jsonl"))[:40]):
        ids, mask, place = each["token_ids"], each["mask"], 40 + at
        inside = letters if at % 2 else whole
        record = {
            "id": each["id"],
            "token_ids": [*ids[:place], *inside, *ids[place:]],
            "mask": [*mask[:place], *[at % 3 % 2] * len(inside), *mask[place:]],
            "question": SECRET,
            "turns": [{"role": "assistant", "start": place, "end": place + len(inside), "text": SECRET}],
        }
        if at % 4 == 1:  # trained on what came back, and on something else
            record["train_ids"] = [*ids[:place], *whole, *ids[place:]]
        if at % 8 == 2:
            record["train_ids"] = [*ids[:place], *ids[place + 3 :]]
        records.append(record)
    records[3]["id"] = f"a name with {SECRET} in it"
    records[4]["turns"][0]["role"] = SECRET
    records[5]["turns"][0]["finish_reason"] = SECRET
    records[6]["turns"] = [{"role": "tool", "start": 0, "end": len(records[6]["token_ids"]), "sampled": False}]
    records[6]["token_ids"][60] = 1  # a control id in the text of a tool, beside the secret
    return records


def broken() -> list[Record]:
    """The secret where ids, masks, logprobs, turns and notes should be."""
    fine: Record = {"token_ids": [22188, 42], "mask": [0, 1]}
    return [
        fine | {"token_ids": [22188, SECRET]},
        fine | {"token_ids": SECRET},
        fine | {"token_ids": {SECRET: 1}},
        fine | {"token_ids": [[SECRET]]},
        fine | {"mask": SECRET},
        fine | {"mask": [0, SECRET]},
        fine | {"mask": [SECRET]},
        fine | {"logprobs": [0.0, SECRET]},
        fine | {"logprobs": [{"token": SECRET, "logprob": 1.0}, {"token": SECRET, "logprob": None}]},
        fine | {"turns": [{"role": SECRET, "start": 0, "end": 9}]},
        fine | {"turns": [{"role": SECRET, "start": SECRET, "end": 1}]},
        fine | {"turns": [SECRET]},
        fine | {"turns": [{"role": [SECRET], "start": 0, "end": 1}]},
        fine | {"roles": [SECRET, 5]},
        fine | {"roles": [SECRET] * 3},
        fine | {"owners": [0, SECRET]},
        fine | {"train_ids": [SECRET]},
        fine | {"train_ids": [22188, 43], "train_mask": [SECRET, 1]},
        fine | {"train_ids": [22188, 43], "train_logprobs": [-0.5, SECRET]},
        fine | {"train_logprobs": [{"token": SECRET, "logprob": 1.0}, -0.5]},
        fine | {"finish_reason": SECRET, "eos_ids": [SECRET], "pad_id": SECRET, "sampled_len": SECRET},
        fine | {"tokenizer_fingerprint": {"vocab": SECRET, SECRET: SECRET}},
        fine | {"attention_mask": [SECRET, 1]},
        fine | {"prompt_ids": [SECRET], "response_ids": [42]},
        fine | {"id": [SECRET]},
        fine | {"id": {SECRET: SECRET}},
        fine | {"id": SECRET + " twice"},
        fine | {"id": SECRET + " twice"},
    ]


RAW = (
    f'{{"token_ids": [1, "{SECRET}\n',
    f"{SECRET}\n",
    f'"{SECRET}"\n',
    f'{{"token_ids": [1], "mask": [1], "text": "{SECRET}", }}\n',
    f'{{"token_ids": [1] "{SECRET}": 1}}\n',
    f'["{SECRET}", {{"token_ids": [1]}}]\n',
)
"""Lines that are no records."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_lines(tmp_path_factory.mktemp("planted") / "r.jsonl", [*planted(), *broken()])
    with path.open("a", encoding="utf-8") as file:
        file.writelines(RAW)
    with path.open("ab") as file:
        file.write(b'{"token_ids": [1], "text": "' + SECRET.encode() + b'\xff"}\n')
    return path


def test_the_secret_is_where_an_output_without_redact_shows_it(source: Path) -> None:
    """Else the tests below would find nothing whatever happened."""
    shown = command("check", source, "-t", TOKENIZER, "--output-format", "json")
    assert WORD[:PIECE] in shown.out
    assert SECRET in shown.out
    assert SECRET in tokenizer("smollm2").decode(planted()[1]["token_ids"])
    one = command("show", source, "--row", 2, "-t", TOKENIZER)
    assert WORD[:PIECE] in one.out


@pytest.mark.parametrize("most", [0, 10_000])
@pytest.mark.parametrize("kind", FORMATS)
def test_no_format_of_the_report_holds_a_piece_of_it(source: Path, kind: str, most: int, tmp_path: Path) -> None:
    options = ("--redact", "--output-format", kind, "--max-findings", most)
    ran = command("check", source, "-t", TOKENIZER, *options)
    assert ran.code == 1
    assert len(ran.out + ran.err) > 50
    assert not told(ran.out)
    assert not told(ran.err)
    saved = tmp_path / "report"
    told_beside = command("check", source, "-t", TOKENIZER, *options, "-o", saved)
    assert not told(saved.read_text() + told_beside.out + told_beside.err)


@pytest.mark.parametrize("options", ["-q", "--fail-on=drift", "--skip-special-tokens", "--color=always"])
def test_other_options_change_nothing_about_it(source: Path, options: str) -> None:
    ran = command("check", source, "-t", TOKENIZER, "--redact", options)
    assert not told(ran.out + ran.err)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_no_table_of_rows_holds_a_piece_of_it(source: Path, ending: str, tmp_path: Path) -> None:
    rows = tmp_path / f"rows.{ending}"
    ran = command("check", source, "-t", TOKENIZER, "--redact", "--rows-out", rows)
    written = list(lines(rows)) if ending == "jsonl" else parquet.read_table(rows).to_pylist()
    assert len(written) == len(planted()) + len(broken()) + len(RAW) + 1
    assert not told(json.dumps(written, default=str))
    assert not told(ran.out + ran.err)


def test_no_baseline_holds_a_piece_of_it(source: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    ran = command("check", source, "-t", TOKENIZER, "--redact", "--write-baseline", baseline)
    assert ran.code == 1
    assert not told(baseline.read_text())


def test_no_row_that_is_shown_holds_a_piece_of_it(source: Path) -> None:
    shown = 0
    for number in range(1, len(planted()) + len(broken()) + len(RAW) + 2):
        if number > 8 and number <= len(planted()):
            continue  # they are like the first
        ran = command("show", source, "--row", number, "-t", TOKENIZER, "--redact")
        assert not told(ran.out), number
        assert not told(ran.err), number
        shown += ran.code == 0
    assert shown > 8 + len(broken()) // 2


@pytest.mark.parametrize(
    "content",
    [
        f"{SECRET}\n",
        f'{{"text": "{SECRET}", "score": 1}}\n',
        f'["{SECRET}"]\n',
        f'{{"prompt": {{"{SECRET}": ["{SECRET}"]}}}}\n',
    ],
)
def test_a_file_that_cannot_be_audited_is_refused_without_it(content: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(content)
    for kind in FORMATS:
        ran = command("check", path, "-t", TOKENIZER, "--redact", "--output-format", kind)
        assert ran.code == 2
        assert not told(ran.out + ran.err)


def test_a_report_of_python_and_what_is_merged_of_it_hold_no_piece_of_it(source: Path) -> None:
    tok = tokenizer("smollm2")
    records = [*planted(), *broken()]
    reports = [tito.audit(each, tok, redact=True) for each in (str(source), records, records[:20])]
    for report in (*reports, reports[0].merge(*reports[1:])):
        for written in (str(report), repr(report), report.to_json(), json.dumps(report.as_metrics())):
            assert not told(written)
