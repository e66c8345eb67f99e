"""What holds no ids or cannot be read is refused by name, and everything else is audited all the same."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from brute import SAMPLED
from shared import SHARED, audited, command, lines, tokenizer_path, write_lines

TOKENIZER = tokenizer_path("smollm2")
TEXT_ONLY = sorted((SHARED / "rollouts" / "text-only").iterdir())
MANY, BAD_ROW = 1_000_000, 654_321


def joined(text: str) -> str:
    """Text without the breaks of lines."""
    return " ".join(text.split())


@pytest.mark.parametrize("path", TEXT_ONLY, ids=lambda path: path.name)
def test_text_without_ids_is_refused_by_name_with_advice(path: Path, tmp_path: Path) -> None:
    ran = command("check", path, "-t", TOKENIZER)
    assert ran.code == 2
    assert str(path) in joined(ran.out)
    refused = path
    if path.suffix == ".json":  # the advice is to write one record per line; whoever follows it
        assert "jq -c" in ran.out
        refused = write_lines(tmp_path / "lines.jsonl", json.loads(path.read_text(encoding="utf-8")))
        ran = command("check", refused, "-t", TOKENIZER)
        assert ran.code == 2
    words = joined(ran.out)
    assert f"TITO006 no-token-ids: {refused}" in words
    assert "columns found: " in words
    for column in next(lines(refused)):
        assert column in words
    assert "log the sampled ids" in words
    code, report = audited(refused)
    assert (code, report["success"], report["statistics"]["rows_checked"]) == (2, False, 0)
    assert [(each["source"], each["code"]) for each in report["unchecked"]] == [(str(refused), "TITO006")]


def test_a_folder_of_text_only_files_is_refused_file_by_file() -> None:
    code, report = audited(SHARED / "rollouts" / "text-only")
    assert code == 2
    named = " ".join(each["source"] for each in report["unchecked"]) + " ".join(report["notes"])
    assert all(path.name in named for path in TEXT_ONLY if path.suffix == ".jsonl")


def test_text_beside_rollouts_does_not_keep_them_from_being_audited() -> None:
    code, report = audited(*TEXT_ONLY, *SAMPLED)
    assert code == 2
    assert report["statistics"]["rows_checked"] == 600
    assert {each["source"] for each in report["unchecked"]} == set(map(str, TEXT_ONLY))


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "text.jsonl": lambda _: b'{"prompt": "a", "completion": "b"}\n' * 5,
    "empty.jsonl": lambda _: b"",
    "noise.parquet": lambda data: b"PAR1" + data[:1000],
    "cut.jsonl.gz": lambda data: gzip.compress(data)[:-2000],
    "noise.jsonl.zst": lambda data: data[:1000],
    "noise.arrow": lambda _: b"ARROW1\x00\x00" + b"\xff" * 100,
    "noise.jsonl": lambda _: bytes(range(256)) * 9,
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_bad_file_among_ten(name: str, tmp_path: Path) -> None:
    raw = SAMPLED[1].read_bytes().splitlines(keepends=True)
    good = [tmp_path / f"{number}.jsonl" for number in range(9)]
    for number, path in enumerate(good):
        path.write_bytes(b"".join(raw[number * 20 : number * 20 + 20]))
    bad = tmp_path / name
    bad.write_bytes(BROKEN[name](b"".join(raw[200:260])))
    code, report = audited(tmp_path)
    assert (code, report["success"]) == (2, False)
    (unchecked,) = report["unchecked"]
    assert unchecked["source"] == str(bad)
    assert unchecked["message"]
    ran = command("check", tmp_path, "-t", TOKENIZER, "-q")
    assert ran.code == 2
    assert name in joined(ran.out + ran.err)
    # Of a file that breaks off, what came before the break is reported too.
    _, alone = audited(*good)
    before = report["statistics"]["rows_checked"] - alone["statistics"]["rows_checked"]
    assert alone["statistics"]["rows_checked"] == 180
    assert 0 <= before <= 60
    if not name.startswith("cut"):
        kept = ("rows_checked", "tokens", "drift_rows", "by_code", "by_turn", "trainable_tokens")
        assert {key: report["statistics"][key] for key in kept} == {key: alone["statistics"][key] for key in kept}


def test_one_bad_row_among_a_million(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    line, bad = '{"token_ids":[22188,42],"mask":[0,1]}\n', '{"token_ids":[22188,4.2],"mask":[0,1]}\n'
    path.write_text(line * (BAD_ROW - 1) + bad + line * (MANY - BAD_ROW))
    code, report = audited(path)
    statistics = report["statistics"]
    assert code == 1
    assert (statistics["rows"], statistics["rows_checked"], statistics["rows_skipped"]) == (MANY, MANY - 1, 1)
    assert (statistics["tokens"], statistics["trainable_tokens"]) == (2 * (MANY - 1), MANY - 1)
    (found,) = report["findings"]
    assert (found["code"], found["row"], found["column"]) == ("TITO001", BAD_ROW, "token_ids")
    assert "4.2 at position 1" in found["message"]
