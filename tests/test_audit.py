import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers

import tito_audit as tito
from lines import write
from tiny import byte_level, refusing, sentence_piece, straddler
from tito_audit.audit import audit
from tito_audit.auditing import groups
from tito_audit.auditing.auditor import Auditor, Progress
from tito_audit.auditing.row_findings import LISTED
from tito_audit.auditing.tally import TallyOptions
from tito_audit.bar import Bar
from tito_audit.reading.columns import WELL_KNOWN
from tito_audit.reading.rows import ReadOptions

B, T, A, X, AA, E = range(6)
TINY = straddler()


def test_a_file_from_end_to_end(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"id": "one", "token_ids": [B, T, A, A, X], "mask": [1, 0, 0, 1, 1], "logprobs": None},
        {"id": 2, "token_ids": [B, 1.5], "mask": [0, 1]},
        {"id": "three", "token_ids": [AA, X, 99], "mask": [0, 1, 0]},
        {"id": "four", "token_ids": [], "mask": []},
    )
    report = audit(path, straddler())
    s = report.statistics
    assert (s.rows, s.rows_checked, s.rows_skipped, s.tokens, s.trainable_tokens) == (4, 3, 1, 8, 4)
    assert (s.drift_rows, s.drift_tokens, s.drift_trainable_tokens, s.straddling_tokens) == (2, 3, 1, 1)
    assert sum(s.rows_by_engine.values()) == 3
    assert set(s.rows_by_engine) <= {"fast", "reference"}
    assert {code: (count.rows, count.findings) for code, count in s.by_code.items()} == {
        "TITO001": (1, 1),
        "TITO101": (1, 1),
        "TITO301": (1, 1),
        "TITO005": (1, 1),
        "TITO018": (1, 1),
    }
    assert [(each.finding.code, each.row, each.id, each.turn, each.column) for each in report.findings] == [
        ("TITO101", 1, "one", 1, None),
        ("TITO301", 1, "one", 1, None),
        ("TITO001", 2, 2, None, "token_ids"),
        ("TITO005", 3, "three", None, None),
        ("TITO018", 4, "four", None, None),
    ]
    assert report.findings[0].source == path
    assert "aa" in "".join(report.findings[0].context)
    assert report.findings_total == 5
    assert report.columns[0].columns == {"ids": "token_ids", "mask": "mask", "logprobs": "logprobs", "id": "id"}
    assert report.notes == ("turns: from mask (each run of mask 1 is a turn)",)
    assert not report.unchecked
    assert report.complete
    assert report.over_the_bar() == ["TITO001 unreadable-record in 1 row", "TITO005 unknown-id in 1 row"]
    assert report.over_the_bar(Bar(fail_on="drift"))[-1] == "drift in 2 of 3 rows"
    assert report.over_the_bar(Bar(fail_on="never")) == []


def test_prompt_and_response_are_audited_as_one_sequence(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"prompt_ids": [B, A], "response_ids": [A, X], "mask": [1, 1]})
    report = audit(path, straddler())
    assert report.statistics.straddling_tokens == 1
    merge = report.findings[0].finding
    assert (merge.token_start, merge.token_stop, merge.flags) == (1, 3, ("at_segment_join",))


def test_a_response_alone_does_not_count_what_happens_at_its_start(tmp_path: Path) -> None:
    rows = [{"response_ids": [A, A, X]}, {"response_ids": [X, A, A]}]
    report = audit(write(tmp_path / "r.jsonl", *rows), straddler())
    s = report.statistics
    assert (s.drift_rows, s.drift_tokens, s.row_start_spans) == (1, 2, 1)
    assert s.by_code["TITO101"].rows == 2, "everything found is in by_code"
    assert any("context unknown in 2 of 2 rows" in note for note in report.notes)


def test_without_a_mask_ownership_is_unknown_and_said_once() -> None:
    report = audit([{"token_ids": [A, A]}] * 3, straddler())
    s = report.statistics
    assert s.drift_rows == 3
    unknown = (s.trainable_tokens, s.drift_trainable_tokens, s.straddling_tokens, s.owner_crossing_tokens)
    assert unknown == (None,) * 4
    assert s.shared_characters is None
    assert not s.by_turn
    assert len([note for note in report.notes if note.startswith("no mask in 3 of 3 rows")]) == 1


def test_owners_without_a_mask() -> None:
    s = audit([{"token_ids": [A, A], "owners": [3, 4]}], straddler()).statistics
    assert (s.owner_crossing_tokens, s.straddling_tokens) == (1, None)


def test_turns_of_a_column() -> None:
    report = audit([{"token_ids": [A, A, X], "mask": [1, 1, 1], "turns": [4, 4, 9]}], straddler())
    assert {turn: (count.rows, count.drift_rows) for turn, count in report.statistics.by_turn.items()} == {
        4: (1, 1),
        9: (1, 0),
    }
    assert report.findings[0].turn == 4
    assert not report.notes


def test_artefacts_are_counted_apart() -> None:
    tok = sentence_piece()
    ids = [4, 2]  # <s> ▁a
    assert tito.check(ids, tok).artefact
    report = audit([{"token_ids": ids}], tok)
    s = report.statistics
    assert (s.drift_rows, s.drift_tokens, s.artefact_rows) == (0, 0, 1)
    assert "TITO207" in s.by_code
    assert report.passes(Bar(fail_on="drift"))


def test_a_pipeline_is_a_second_exposure() -> None:
    rows = [{"token_ids": [A, E, X]}, {"token_ids": [X]}]
    assert audit(rows, straddler()).statistics.pipeline_drift_rows is None
    report = audit(rows, straddler(), skip_special_tokens=True)
    assert (report.statistics.pipeline_drift_rows, report.statistics.drift_rows) == (1, 0)
    assert report.over_the_bar(Bar(fail_on="drift")) == ["pipeline drift in 1 of 2 rows"]
    assert report.findings[0].finding.code == "TITO205"


def test_invalid_utf8_rows() -> None:
    assert audit([{"token_ids": [0xE2, 0x82]}, {"token_ids": [65]}], byte_level()).statistics.invalid_utf8_rows == 1


def test_a_row_on_which_the_reference_fails_is_skipped_and_said() -> None:
    report = audit([{"token_ids": [0, 1], "mask": [0, 0]}, {"token_ids": [0], "mask": [1]}], refusing())
    s = report.statistics
    assert (s.rows, s.rows_checked, s.rows_skipped, s.tokens, s.trainable_tokens) == (2, 1, 1, 1, 1)
    [found] = report.findings
    assert (found.finding.code, found.row) == ("TITO001", 1)
    assert "the reference tokenizer failed on this row" in found.finding.message


def test_original_values_of_impossible_ids_and_the_padded_range() -> None:
    report = audit([{"token_ids": [B, 7, 2**80, -5]}], straddler(), model_vocab_size=8)
    [found] = report.findings
    assert found.finding.sampled_ids == (7, 2**80, -5)
    assert found.finding.padded_positions == (1,)


def test_files_that_fail_do_not_stop_others(tmp_path: Path) -> None:
    good = write(tmp_path / "good.jsonl", {"token_ids": [A, A]})
    text = write(tmp_path / "text.jsonl", {"input": "q", "output": "a"})
    report = audit([tmp_path / "missing.jsonl", text, good], straddler())
    assert report.statistics.rows_checked == 1
    assert [(each.source, each.code) for each in report.unchecked] == [
        (str(tmp_path / "missing.jsonl"), None),
        (text, "TITO006"),
    ]
    assert not report.complete
    assert not report.passes(Bar(fail_on="never"))


def test_a_broken_line_does_not_stop_the_next(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"token_ids": [2, 2]}\n{"token_ids": [2, \n\xff\n{"token_ids": [3]}\n')
    report = audit(path, straddler())
    assert (report.statistics.rows_checked, report.statistics.rows_skipped) == (2, 2)
    assert [(each.row, each.finding.code) for each in report.findings if each.finding.code == "TITO001"] == [
        (2, "TITO001"),
        (3, "TITO001"),
    ]


def test_no_rows_at_all() -> None:
    report = audit([], straddler())
    assert report.unchecked[0].message == "rows: no rows"
    assert not report.complete


def test_rows_none_of_which_can_be_read() -> None:
    report = audit([{"token_ids": ["a"]}], straddler())
    assert not report.unchecked
    assert not report.complete


def test_batches_and_threads_do_not_change_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"token_ids": [A, A, X] * n, "mask": [1, 0, 1] * n} for n in range(20)]
    paths = [write(tmp_path / name, *rows) for name in ("a.jsonl", "b.jsonl")]

    def whole(threads: int) -> dict[str, Any]:
        return audit(paths, straddler(), threads=threads, max_findings=7).as_dict() | {"timing": None}

    expected = whole(1)
    assert whole(3) == expected
    monkeypatch.setattr(groups, "_MOST_TOKENS", 1)
    assert whole(1) == expected
    assert len(expected["findings"]) == 7
    assert expected["findings_total"] > 7


def test_a_mask_in_one_file_and_none_in_another(tmp_path: Path) -> None:
    one = write(tmp_path / "a.jsonl", {"token_ids": [A, A], "mask": [0, 1]})
    two = write(tmp_path / "b.jsonl", {"input_ids": [A, A]})
    report = audit([one, two], straddler())
    assert (report.statistics.drift_rows, report.statistics.trainable_tokens) == (2, 1)
    assert {(found.columns["ids"], found.sources) for found in report.columns} == {("token_ids", 1), ("input_ids", 1)}
    assert any(note.startswith("no mask in 1 of 2 rows") for note in report.notes)


def test_notes_of_many_sources_are_said_once(tmp_path: Path) -> None:
    row = {"token_ids": [A], "turns": [{"role": "user"}]}
    paths = [write(tmp_path / f"{n}.jsonl", row) for n in range(3)]
    [note] = [note for note in audit(paths, straddler()).notes if "turns" in note]
    assert note.startswith(f"{paths[0]} and 2 more: column turns is ignored")


def test_what_may_be_as_long_as_a_row_is_cut_in_findings() -> None:
    report = audit([{"token_ids": [99] * (LISTED + 5), "logprobs": [1.0] * (LISTED + 5)}], straddler())
    unknown = next(each for each in report.findings if each.finding.code == "TITO005")
    assert (len(unknown.finding.sampled_ids), unknown.sampled_count) == (LISTED, LISTED + 5)
    assert (len(unknown.finding.positions), unknown.positions_count) == (LISTED, LISTED + 5)


def test_findings_are_made_only_of_rows_that_have_one_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    original = tito.Batch.row

    def counted(self: tito.Batch, row: int, *args: Any) -> tito.Check:
        made.append(row)
        return original(self, row, *args)

    monkeypatch.setattr(tito.Batch, "row", counted)
    rows = [{"token_ids": [A, A]}] * 500 + [{"token_ids": [99]}] + [{"token_ids": [A, A]}] * 500
    report = audit(rows, straddler(), max_findings=4)
    assert len(made) < 20
    assert [each.finding.code for each in report.findings] == ["TITO101"] * 3 + ["TITO005"]
    assert report.statistics.by_code["TITO101"].findings == 1000


def test_records_are_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_MOST_TOKENS", 10)
    seen: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for n in range(10_000):
            seen.append(n)
            yield {"token_ids": [A, A]}

    told: list[Progress] = []

    def progress(so_far: Progress) -> None:
        assert len(seen) <= so_far.rows + 1024
        told.append(so_far)

    audit(rows(), straddler(), progress=progress)
    assert told[-1].rows == 10_000
    assert told[-1].tokens == 20_000


def test_a_partial_report_has_what_was_found_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_MOST_TOKENS", 10)

    def stop(so_far: Progress) -> None:
        if so_far.rows >= 50:
            raise KeyboardInterrupt

    auditor = Auditor(straddler(), ReadOptions(), TallyOptions())
    with pytest.raises(KeyboardInterrupt):
        auditor.run([{"token_ids": [A, A], "turns": "x"}] * 100, progress=stop)
    report = auditor.report()
    assert report.partial
    assert report.statistics.drift_rows == 50
    assert report.columns[0].columns == {"ids": "token_ids"}
    assert any("column turns is ignored" in note for note in report.notes)


def test_columns_by_role(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"in": [B], "out": [A, A], "m": [-100, 1]})
    columns = {"prompt_ids": "in", "response_ids": "out", "mask": "m"}
    report = audit(path, straddler(), columns=columns, mask_ignore=-100)
    assert report.statistics.straddling_tokens == 1


@pytest.mark.parametrize(
    "options",
    [
        {"columns": {"idz": "a"}},
        {"columns": {"ids": "a", "response_ids": "b"}},
        {"max_findings": -1},
        {"threads": 0},
        {"model_vocab_size": 0},
        {"null_mask": "all_trained"},
    ],
)
def test_options_without_meaning(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        audit([], straddler(), **options)


def test_what_is_no_tokenizer() -> None:
    with pytest.raises(tito.TokenizerError):
        audit([], "tokenizer.json")  # type: ignore[arg-type]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Twenty times the rows, one and the same peak (a child process each, since a peak never falls)."""
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a"]]}}))
    row = json.dumps({"token_ids": [0, 1] * 2000, "mask": [0, 1] * 2000, "text": "x" * 10_000}) + "\n"
    program = (
        "import sys, tito_audit as tito\n"
        "from tito_audit.auditing import groups\n"
        "groups._MOST_TOKENS = 100_000\n"
        "report = tito.audit(sys.argv[1], tito.load_tokenizer(sys.argv[2]), threads=1)\n"
        "status = open('/proc/self/status').read()\n"
        "print(report.statistics.tokens, status.split('VmHWM:')[1].split()[0])\n"
    )
    peaks = []
    for count in (50, 1000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            file.writelines(row for _ in range(count))
        run = subprocess.run(
            [sys.executable, "-c", program, str(path), str(tokenizer)], capture_output=True, text=True, check=True
        )
        tokens, peak = map(int, run.stdout.split())
        assert tokens == count * 4000
        peaks.append(peak)
    assert peaks[1] < peaks[0] * 1.2


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 6)
    | st.sampled_from([2**70, 1.5, -100, float("nan")])
    | st.text("a\x1b")
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab"), inner), max_leaves=6
)
RECORDS = st.dictionaries(st.sampled_from(sorted({name for names in WELL_KNOWN.values() for name in names})), VALUES)


@given(st.lists(RECORDS | VALUES, max_size=5), st.booleans())
def test_any_json_gives_a_report(records: list[Any], in_file: bool) -> None:  # noqa: FBT001
    if in_file:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
            file.flush()
            report = audit(file.name, TINY)
    else:
        assume(not (records and isinstance(records[0], str)))  # which is a path
        report = audit(iter(records), TINY)
    s = report.statistics
    assert s.rows == s.rows_checked + s.rows_skipped
    assert s.rows in {0, len(records)}
    assert s.rows or report.unchecked
    assert json.loads(report.to_json())["findings_total"] == report.findings_total
    assert all(line.isprintable() for line in str(report).split("\n"))


@given(st.lists(st.integers(0, 10**6), max_size=6), st.binary(max_size=3))
def test_damaged_bytes_give_a_report(places: list[int], damage: bytes) -> None:
    content = bytearray(
        b'{"id": "caf\xc3\xa9", "token_ids": [2, 2, 3], "mask": [0, 1, 1], "logprobs": [0, -1, -1.5]}\n' * 3
    )
    for place in places:
        at = place % len(content)
        content[at : at + 1] = damage
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(content)
        file.flush()
        report = audit(file.name, TINY)
    assert report.statistics.rows or report.unchecked
    assert all(line.isprintable() for line in str(report).split("\n"))


def test_no_trainable_token_is_counted_in_a_turn_without_a_mask() -> None:
    report = audit([{"token_ids": [A, A], "turns": [0, 1]}], TINY)
    counts = report.statistics.by_turn.values()
    assert [(each.trainable_tokens, each.drift_trainable_tokens) for each in counts] == [(None, None)] * 2
    assert [line.split()[4:] for line in str(report).splitlines() if line.startswith("     0 ")] == [["-", "-", "-"]]


def test_integers_of_thousands_of_digits_are_shortened_in_a_report() -> None:
    huge = 10**5000
    report = audit([{"token_ids": [huge], "mask": [1], "id": huge}], TINY)
    assert "(5001 digits)" in json.loads(report.to_json())["findings"][0]["sampled"]["ids"][0]
    assert "(5001 digits)" in str(report)


def test_rows_whose_tokens_cannot_be_placed_are_said() -> None:
    lowering = Tokenizer(models.Unigram([("?", 0.0), ("a", -1.0), ("b", -2.0), ("ab", -1.5), ("A", -1.0)], unk_id=0))
    lowering.normalizer = normalizers.Lowercase()
    lowering.decoder = decoders.Fuse()
    rows = [{"token_ids": [4, 2], "mask": [0, 1]}, {"token_ids": [1], "mask": [1]}, {"token_ids": [1], "mask": [0]}]
    notes = audit(rows, tito.load_tokenizer(lowering)).notes
    assert "1 of 3 rows has re-encoded tokens that cannot be placed: no straddling is computed there" in notes
    assert not any("cannot be placed" in note for note in audit(rows[1:], tito.load_tokenizer(lowering)).notes)
