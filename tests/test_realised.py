"""What was trained beside what was sampled: differential against a brute force over the wheel, then examples."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import tito_audit as tito
import zoo
from reference import Reference, drift_spans, owners_of, ranges
from sequences import ODD_IDS, Sequences
from tiny import byte_level, load, straddler
from tito_audit.ragged import ReadRows, to_rows
from tito_audit.realised import (
    KINDS,
    TEXT_CHANGED,
    Realised,
    RealisedBatch,
    RealisedSpan,
    assert_trained_ids,
    compare_trained,
    realised_findings,
)
from tito_audit.results import Check, RowContext

ROWS = 150
SEED = 11
TOK = straddler()
BYTES = byte_level()
# Two turns of the article: P P P|A A A A|P P|A A, and the second and third id of the first answer merge.
ARTICLE = load(["p", "q", "a", "b", "x", "y", "ab"], [("a", "b")])
SAMPLED = [0, 1, 0, 4, 2, 3, 5, 1, 0, 4, 5]
TRAINED = [0, 1, 0, 4, 6, 5, 1, 0, 4, 5]
MASK = [0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1]

Masks = Sequence[Sequence[int]]


@cache
def kind_of_zoo(name: str) -> tuple[tito.Tokenizer, Reference]:
    return tito.load_tokenizer(Tokenizer.from_str(zoo.zoo()[name])), Reference(zoo.zoo()[name])


def flat(mask: Masks | None) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
    return None if mask is None else np.array([value for row in mask for value in row], dtype=np.uint8)


def compared(
    sampled: object,
    trained: object,
    tok: tito.Tokenizer,
    *,
    mask: Masks | None = None,
    train_mask: Masks | None = None,
    threads: int = 1,
) -> RealisedBatch:
    return compare_trained(
        to_rows(sampled), to_rows(trained), tok, mask=flat(mask), train_mask=flat(train_mask), threads=threads
    )


def one(
    sampled: Sequence[int],
    trained: Sequence[int],
    tok: tito.Tokenizer = TOK,
    *,
    mask: Sequence[int] | None = None,
    train_mask: Sequence[int] | None = None,
) -> Realised:
    masks = [None if values is None else [values] for values in (mask, train_mask)]
    return compared([sampled], [trained], tok, mask=masks[0], train_mask=masks[1])[0]


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    return next((i for i in range(max(len(a), len(b))) if a[i : i + 1] != b[i : i + 1]), None)


def assert_rebuilds(realised: Realised, sampled: Sequence[int], trained: Sequence[int]) -> None:
    """Putting the trained side of every span into the sampled ids gives the trained ids."""
    rebuilt: list[int] = []
    done = 0
    for span in realised.spans:
        rebuilt += sampled[done : span.token_start]
        assert len(rebuilt) == span.trained_start
        rebuilt += trained[span.trained_start : span.trained_stop]
        assert sampled[span.token_start : span.token_stop] != trained[span.trained_start : span.trained_stop]
        done = span.token_stop
    assert [*rebuilt, *sampled[done:]] == list(trained)
    assert realised.first_diff == realised.spans[0].token_start


def expected_kind(reference: Reference, sampled: list[int], trained: list[int]) -> str | None:
    """The definitions, in their order."""
    size = len(trained)
    if sampled == trained:
        return None
    if size < len(sampled) and trained in (sampled[:size], sampled[len(sampled) - size :]):
        return "truncated"
    return "retokenized" if reference.decode(sampled) == reference.decode(trained) else "rewritten"


def expected_counts(values: Iterable[set[int]], train_mask: Sequence[int]) -> tuple[int, int, int, list[int]]:
    """Count tokens by the mask values of the bytes that they cover."""
    wrong_trained, wrong_untrained, straddling, positions = 0, 0, 0, []
    for position, (found, value) in enumerate(zip(values, train_mask, strict=True)):
        straddling += len(found) > 1
        if found == {1 - value}:
            wrong_trained += value == 1
            wrong_untrained += value == 0
            positions.append(position)
    return wrong_trained, wrong_untrained, straddling, positions


def counts(realised: Realised) -> tuple[int | None, int | None, int | None, list[int]]:
    return realised.wrong_trained, realised.wrong_untrained, realised.straddling, list(realised.wrong_positions)


def by_span(realised: Realised, mask: Sequence[int], trained: int) -> Iterator[set[int]]:
    """The mask value of each token that is in no span; nothing for one that is."""
    inside = {i for span in realised.spans for i in range(span.trained_start, span.trained_stop)}
    shift = {0: 0} | {span.trained_stop: span.token_stop - span.trained_stop for span in realised.spans}
    moved = 0
    for position in range(trained):
        moved = shift.get(position, moved)
        yield set() if position in inside else {mask[position + moved]}


# What a pipeline that encodes again trains on


@pytest.mark.parametrize("name", zoo.KINDS)
def test_what_a_round_trip_gave_is_judged_as_the_round_trip_is(name: str) -> None:
    tok, reference = kind_of_zoo(name)
    rows = [row for row in Sequences(reference.wheel, seed=SEED).rows(ROWS, long=2) if row.ids]
    judged = reference.judge_many([row.ids for row in rows])
    trained = [row.reencoded for row in judged]
    ids, masks = [row.ids for row in rows], [row.mask for row in rows]
    # The mask is kept by position: cut or padded to the new length.
    train_masks = [(row.mask + [0] * len(new))[: len(new)] for row, new in zip(rows, trained, strict=True)]
    batch = compared(ids, trained, tok, mask=masks, train_mask=train_masks, threads=2)
    audited = tito.check_batch(ids, tok, mask=masks)
    for i, row in enumerate(judged):
        realised = batch[i]
        assert realised.kind == expected_kind(reference, row.ids, row.reencoded)
        assert realised.first_diff == audited[i].first_diff == first_difference(row.ids, row.reencoded)
        values: Iterable[set[int]] = by_span(realised, masks[i], len(row.reencoded))
        if realised.kind in {None, "truncated"}:
            assert not realised.spans
            values = [{value} for value in masks[i][realised.kept_start :][: len(row.reencoded)]]
        elif realised.kind == "retokenized":
            places = [span[2:] for span in realised.spans]
            assert places == [span[2:8] for span in audited[i].spans]
            assert [span.cause for span in realised.spans] == [span.cause for span in audited[i].spans]
            assert realised.straddling == (len(audited[i].straddling) if audited[i].located else 0)
            if audited[i].located:
                if row.decoded is None or row.placed is None:
                    continue  # nobody else can place it
                owners = owners_of(row.decoded, masks[i])
                values = [set().union(*owners[start:stop]) for start, stop in row.placed]
        else:
            assert_rebuilds(realised, row.ids, row.reencoded)
            assert {span.cause for span in realised.spans} == {TEXT_CHANGED}
        assert counts(realised) == expected_counts(values, train_masks[i])
    assert {kind: count for kind, count in batch.by_kind().items() if count}.keys() & {"retokenized", "rewritten"}


@pytest.mark.parametrize("name", zoo.KINDS)
def test_any_other_segmentation_lies_where_it_is_printed(name: str) -> None:
    """The sampled ids are canonical, what was trained is not: two decoders' traces, no encoder's."""
    tok, reference = kind_of_zoo(name)
    rows = [row for row in Sequences(reference.wheel, seed=SEED + 1).rows(ROWS) if row.ids]
    judged = reference.judge_many([row.ids for row in rows])
    kept = [
        (row.ids, other, row.mask)
        for row, other in zip(rows, judged, strict=True)
        if other.drifted and reference.decode(other.reencoded) == other.text
    ]
    retokenized = 0
    for trained, other, train_mask in kept:
        sampled = other.reencoded
        mask = [(i // 3) % 2 for i in range(len(sampled))]
        realised = one(sampled, trained, tok, mask=mask, train_mask=train_mask)
        assert realised.kind == expected_kind(reference, sampled, trained)
        if realised.kind != "retokenized":
            continue
        retokenized += 1
        assert_rebuilds(realised, sampled, trained)
        back = reference.judge(sampled)
        if other.decoded is None or back.decoded is None:
            continue
        theirs = ranges(len(trained), other.decoded.sources)
        row = replace(back, reencoded=trained, placed=theirs)
        spans = drift_spans(row)
        assert spans is not None
        # Equal ids at the front of the lists are in no span, wherever they lie.
        common = realised.first_diff or 0
        ends = [(s.token_start, s.token_stop, s.reencoded_start, s.reencoded_stop) for s in spans]
        places = [tuple(max(end, common) for end in place) for place in ends]
        kept_spans = [i for i, (first, last, new, end) in enumerate(places) if (first, new) != (last, end)]
        assert [span[2:6] for span in realised.spans] == [places[i] for i in kept_spans]
        for i, span in zip(kept_spans, realised.spans, strict=True):
            if not spans[i].trimmed and places[i] == ends[i]:
                assert span[6:] == (spans[i].byte_start, spans[i].byte_stop)
        owners = owners_of(back.decoded, mask)
        values = [set().union(*owners[start:stop]) for start, stop in theirs]
        assert counts(realised) == expected_counts(values, train_mask)
    assert retokenized or name in {"no_decoder", "wordlevel"}, "spaces between tokens show where they were cut"


def test_a_token_that_a_trainer_cannot_have_gotten_by_encoding() -> None:
    realised = one([4, 0], [2, 2, 0])  # `aa b`, cut up
    assert realised.spans == (RealisedSpan("TITO101", "merge", 0, 1, 0, 2, 0, 2),)
    unknown = one([4, 0], [4, 99, 0])
    assert unknown.kind == "retokenized"
    assert [(span.cause, span.token_start, span.trained_start) for span in unknown.spans] == [("unknown-id", 1, 1)]


def test_invalid_utf8_on_either_side() -> None:
    replacement = list("�".encode())
    assert one([0x61, 0xE2], [0x61, *replacement], BYTES).causes == {"invalid-utf8": 1}
    assert one([0x61, *replacement], [0x61, 0xE2], BYTES).causes == {"invalid-utf8": 1}
    assert one([0x61, 0xE2], [0x61, 0xF0], BYTES).causes == {"invalid-utf8": 1}


# Truncated, identical, rewritten


@given(ids=st.lists(st.integers(0, 9), min_size=1, max_size=9), cut=st.integers(1, 9), data=st.data())
def test_a_prefix_or_a_suffix_is_truncated(ids: list[int], cut: int, data: st.DataObject) -> None:
    assume(cut <= len(ids))
    size = len(ids) - cut
    trained = data.draw(st.sampled_from([ids[:size], ids[cut:]]))
    mask, train_mask = (data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)) for n in (len(ids), size))
    realised = one(ids, trained, BYTES, mask=mask, train_mask=train_mask)
    assert (realised.kind, realised.lost, realised.spans) == ("truncated", cut, ())
    assert ids[realised.kept_start :][:size] == trained
    assert realised.kept_start == (0 if ids[:size] == trained else cut)
    kept = mask[realised.kept_start :][:size]
    assert counts(realised) == expected_counts([{value} for value in kept], train_mask)


@given(tokens=st.lists(st.tuples(st.integers(-3, 300), st.booleans(), st.booleans()), max_size=8))
def test_identical_rows_are_held_to_their_masks(tokens: list[tuple[int, bool, bool]]) -> None:
    ids = [token for token, _, _ in tokens]
    mask, train_mask = [int(a) for _, a, _ in tokens], [int(b) for _, _, b in tokens]
    realised = one(ids, ids, BYTES, mask=mask, train_mask=train_mask)
    assert (realised.kind, realised.first_diff, realised.spans) == (None, None, ())
    assert counts(realised) == expected_counts([{value} for value in mask], train_mask)


# Letters only: `b`, `T` and `x` never merge, and 5 is the control token.
OTHERS = st.lists(st.sampled_from([0, 1, 3, 5]), max_size=12)


@given(sampled=OTHERS, trained=OTHERS, data=st.data())
@settings(max_examples=300)
def test_rewritten_rows_are_diffed(sampled: list[int], trained: list[int], data: st.DataObject) -> None:
    mask, train_mask = (
        data.draw(st.lists(st.integers(0, 1), min_size=len(ids), max_size=len(ids))) for ids in (sampled, trained)
    )
    realised = one(sampled, trained, mask=mask, train_mask=train_mask)
    assume(realised.kind not in {None, "truncated"})
    assert realised.kind == "rewritten"
    assert_rebuilds(realised, sampled, trained)
    assert {(span.code, span.cause, span.byte_start, span.byte_stop) for span in realised.spans} == {
        (None, TEXT_CHANGED, -1, -1)
    }
    assert counts(realised) == expected_counts(by_span(realised, mask, len(trained)), train_mask)


def test_control_ids_are_anchors() -> None:
    # b e b b e b, and e T T e: a plain diff could keep the letters instead.
    realised = one([0, 5, 0, 0, 5, 0], [5, 1, 1, 5])
    assert [(s.token_start, s.token_stop, s.trained_start, s.trained_stop) for s in realised.spans] == [
        (0, 1, 0, 0),
        (2, 4, 1, 3),
        (5, 6, 4, 4),
    ]


def test_a_dropped_piece_is_one_span() -> None:
    ids = [0, 1, 3, 0, 1, 1, 3]
    realised = one(ids, [*ids[:2], *ids[4:]])
    assert [(s.token_start, s.token_stop, s.length_delta) for s in realised.spans] == [(2, 4, -2)]


def test_a_long_hostile_row_is_one_span() -> None:
    rng = np.random.default_rng(SEED)
    a, b = rng.integers(0, 256, 300_000), rng.integers(0, 256, 300_000)
    a[0], b[0], a[-1], b[-1] = 1, 2, 3, 4
    batch = compare_trained(to_rows([a]), to_rows([b]), BYTES)
    assert [tuple(span) for span in batch[0].spans] == [(None, TEXT_CHANGED, 0, 300_000, 0, 300_000, -1, -1)]


# Integers


@pytest.mark.parametrize("ours", [np.int64, np.int32, np.uint32])
@pytest.mark.parametrize("theirs", [np.int64, np.int32, np.uint32])
def test_any_width_on_either_side(ours: type, theirs: type) -> None:
    offsets, other = np.array([0, 11, 13]), np.array([0, 10, 12])
    batch = compare_trained(
        ReadRows(np.array([*SAMPLED, 1, 2], dtype=ours), offsets, {}),
        ReadRows(np.array([*TRAINED, 1, 2], dtype=theirs), other, {}),
        ARTICLE,
    )
    assert [KINDS[kind] for kind in batch.kind] == ["retokenized", "identical"]
    assert batch.first_diff.tolist() == [4, -1]


def test_the_same_bits_are_not_the_same_integer() -> None:
    one_side = ReadRows(np.array([2**32 - 1], dtype=np.uint32), np.array([0, 1]), {})
    other = ReadRows(np.array([-1], dtype=np.int32), np.array([0, 1]), {})
    assert compare_trained(one_side, other, TOK)[0].kind == "retokenized"


@given(st.lists(st.sampled_from([0, 1, -1, -2, 2**63, 2**64, -(2**63) - 1, 10**5000, *ODD_IDS]), max_size=4), st.data())
def test_identity_is_that_of_the_integers_handed_over(ids: list[int], data: st.DataObject) -> None:
    other = [data.draw(st.sampled_from([value, 2**63, 2**65, -1, -(2**63)])) for value in ids]
    realised = one(ids, other)
    assert (realised.kind is None) == (ids == other)
    assert realised.first_diff == first_difference(ids, other)
    assert realised.original_ids(0, len(other)) == other
    if realised.kind == "retokenized":
        assert realised.causes == {"unknown-id": len(realised.spans)}
        assert_rebuilds(realised, ids, other)
    for finding in realised_findings(tito.check(ids, TOK), realised):
        first = realised.spans[0]
        assert finding.sampled_ids == tuple(ids[first.token_start : first.token_stop])
        assert finding.reencoded_ids == tuple(other[first.trained_start : first.trained_stop])


# The article


def test_two_turns_of_which_the_first_loses_an_id() -> None:
    assert ARTICLE.encode(ARTICLE.decode(SAMPLED)).tolist() == TRAINED
    realised = one(SAMPLED, TRAINED, ARTICLE, mask=MASK, train_mask=MASK[: len(TRAINED)])
    assert realised.kind == "retokenized"
    assert realised.spans == (RealisedSpan("TITO101", "merge", 4, 6, 4, 5, 4, 6),)
    # P trained, A missed: the mask is kept by position while everything moved by one.
    assert (realised.wrong_trained, realised.wrong_untrained, realised.straddling) == (1, 1, 0)
    assert realised.wrong_positions == (6, 8)
    found = list(realised_findings(tito.check(SAMPLED, ARTICLE, mask=MASK), realised))
    assert [found[0].code, found[1].code] == ["TITO110", "TITO306"]
    assert [finding.message for finding in found] == [
        'retokenized: 11 sampled ids became 10; first at token 4: "a" "b" -> "ab"; 1 place: merge 1',
        "1 token of mask 0 is trained, 1 token of mask 1 is missed; 0 straddling (trained tokens 6, 8)",
    ]
    assert [finding.severity for finding in found] == ["error", "error"]
    first = found[0]
    assert (first.cause, first.first_diff, first.sampled_ids, first.reencoded_ids) == ("merge", 4, (2, 3), (6,))
    assert (first.token_start, first.token_stop, first.byte_start, first.byte_stop, first.owners) == (4, 6, 4, 6, (1,))
    assert found[1].positions == (6, 8)


def test_a_mask_that_moved_along_is_right() -> None:
    moved = MASK[:4] + MASK[5:]
    realised = one(SAMPLED, TRAINED, ARTICLE, mask=MASK, train_mask=moved)
    assert counts(realised) == (0, 0, 0, [])
    assert [f.code for f in realised_findings(tito.check(SAMPLED, ARTICLE), realised)] == ["TITO110"]


def test_the_silent_case() -> None:
    tok = load(["a", "b", "ab", "ba"], [("b", "a"), ("a", "b")])
    sampled, trained = [2, 0], [0, 3]  # ab|a and a|ba
    assert tok.encode(tok.decode(sampled)).tolist() == trained
    realised = one(sampled, trained, tok, mask=[0, 1], train_mask=[0, 1])
    assert (realised.kind, realised.straddling, realised.wrong_positions) == ("retokenized", 1, ())
    finding, masks = realised_findings(tito.check(sampled, tok), realised)
    assert masks.message == "0 tokens of mask 0 are trained, 0 tokens of mask 1 are missed; 1 straddling"
    assert finding.message == (
        "retokenized: 2 sampled ids became 2 others, silently: the length is the same; first at token 0: "
        '"ab" "a" -> "a" "ba"; 1 place: merge 1'
    )


def test_straddling_tokens_are_counted_apart() -> None:
    realised = one([0, 1, 2, 2, 3], [0, 1, 4, 3], mask=[1, 0, 0, 1, 1], train_mask=[0, 0, 1, 1])
    assert counts(realised) == (0, 1, 1, [0])


# Findings


def findings(realised: Realised, *, redact: bool = False) -> list[tito.Finding]:
    mask = None if realised.mask is None else [realised.mask]
    batch = tito.check_batch([realised.token_ids], TOK, mask=mask)
    check = batch.row(0, RowContext({}, redact=redact))
    return list(realised_findings(check, realised))


@pytest.mark.parametrize(
    ("sampled", "trained", "message", "place"),
    [
        ([0, 1, 3], [0], "the last 2 of 3 sampled ids were not trained; 1 of them has mask 1", (1, 3)),
        ([0, 1, 3], [1, 3], "the first of 3 sampled ids was not trained; its mask is 1", (0, 1)),
        ([0, 1, 3], [0, 1], "the last of 3 sampled ids was not trained; its mask is 1", (2, 3)),
        ([0, 1], [0], "the last of 2 sampled ids was not trained; its mask is 0", (1, 2)),
        ([0, 1, 3], [], "none of 3 sampled ids was trained; 2 of them have mask 1", (0, 3)),
        ([0], [], "the only sampled id was not trained; its mask is 1", (0, 1)),
        ([0, 1, 3, 3], [0, 1], "the last 2 of 4 sampled ids were not trained; all have mask 1", (2, 4)),
        ([0, 1, 3, 3, 0, 0], [0, 1, 3, 3], "the last 2 of 6 sampled ids were not trained; none has mask 1", (4, 6)),
    ],
)
def test_truncated_rows(sampled: list[int], trained: list[int], message: str, place: tuple[int, int]) -> None:
    mask = [1, 0, 1, 1, 0, 0][: len(sampled)]
    [finding] = findings(one(sampled, trained, mask=mask))
    assert (finding.code, finding.severity, finding.message) == ("TITO111", "warning", f"truncated: {message}")
    assert (finding.token_start, finding.token_stop) == place
    assert finding.sampled_ids == tuple(sampled[slice(*place)])
    assert finding.owners == tuple(sorted({mask[i] for i in range(*place)}))


def test_rewritten_rows_say_that_the_text_differs() -> None:
    [finding] = findings(one([0, 1, 3], [0, 3, 1, 1]))
    assert finding.message.startswith("rewritten: the text differs, 3 sampled ids became 4; first at token 1: ")
    assert finding.cause == TEXT_CHANGED
    assert (finding.byte_start, finding.byte_stop) == (None, None)


def test_many_ids_and_positions_are_cut() -> None:
    [finding] = findings(one([0] * 20, [1] * 21))
    assert '"b" "b" "b" "b" "b" "b" ... (14 more) -> "T" "T" "T" "T" "T" "T" ... (15 more); 1 place' in finding.message
    [finding] = findings(one([0] * 20, [0] * 20, mask=[0] * 20, train_mask=[1] * 20))
    assert finding.message.endswith("(trained tokens 0, 1, 2, 3, 4, 5, ... (14 more))")
    assert finding.positions == tuple(range(20))


def test_a_redacted_row_shows_ids_only() -> None:
    realised = one([0, 1, 3], [0, 3, 3])
    [plain], [redacted] = findings(realised), findings(realised, redact=True)
    assert '"T" -> "x"' in plain.message
    assert "first at token 1: 1 -> 3; 1 place" in redacted.message


def test_an_identical_row_has_no_findings() -> None:
    assert findings(one([0, 1], [0, 1])) == []
    assert findings(one([0, 1], [0, 1], mask=[0, 1], train_mask=[0, 1])) == []
    [finding] = findings(one([0, 1], [0, 1], mask=[0, 1], train_mask=[1, 1]))
    assert (finding.code, finding.positions, finding.first_diff) == ("TITO306", (0,), None)
    assert finding.message.startswith("1 token of mask 0 is trained, 0 tokens of mask 1 are missed; ")


# The batch


@pytest.fixture
def batch() -> RealisedBatch:
    return compared([[2, 2], [3], [], [2, 2, 3]], [[4], [3], [0], [2, 2]], TOK, mask=[[0, 1], [1], [], [1, 1, 1]])


def test_columns(batch: RealisedBatch) -> None:
    assert [KINDS[kind] for kind in batch.kind] == ["retokenized", "identical", "rewritten", "truncated"]
    assert batch.first_diff.tolist() == [0, -1, 0, 2]
    assert batch.lost.tolist() == [0, 0, 0, 1]
    assert batch.by_kind() == {"retokenized": 1, "truncated": 1, "rewritten": 1}
    for column in (batch.wrong_trained, batch.wrong_untrained, batch.straddling):
        assert column.tolist() == [-1] * 4, "nobody said with which mask it was trained"
    types = {"kind": np.uint8, "span_cause": np.uint8}
    for name, values in batch.columns.items():
        assert name == "errors" or getattr(values, "dtype", None) == types.get(name, np.int64), name


def test_rows_are_views(batch: RealisedBatch) -> None:
    assert len(batch) == 4
    assert [r.kind for r in batch] == ["retokenized", None, "rewritten", "truncated"]
    last = batch[-1]
    assert last.token_ids.tolist() == [2, 2, 3]
    assert last.train_ids.tolist() == [2, 2]
    assert last.mask is not None
    assert last.mask.tolist() == [1, 1, 1]
    assert (last.train_mask, last.wrong_trained, last.straddling) == (None, None, None)
    assert repr(last) == "<Realised truncated: 3 sampled ids, 2 trained>"
    assert repr(batch[1]) == "<Realised identical: 1 sampled id, 1 trained>"
    assert repr(batch) == "<RealisedBatch 4 rows, 3 differ>"
    with pytest.raises(IndexError, match="row 4 of a batch of 4 rows"):
        batch[4]
    with pytest.raises(TypeError, match="one at a time"):
        batch[:1]  # type: ignore[index]


def test_a_batch_crosses_processes(batch: RealisedBatch) -> None:
    again = pickle.loads(pickle.dumps(batch))  # noqa: S301 - our own bytes
    assert [r.spans for r in again] == [r.spans for r in batch]


def test_a_row_on_which_the_reference_failed(batch: RealisedBatch) -> None:
    batch.columns["errors"].append((2, "it panicked"))
    assert batch.errors == {2: "it panicked"}
    with pytest.raises(tito.TokenizerError, match="row 2: it panicked"):
        batch[2]


def test_no_rows() -> None:
    assert len(compared([], [], TOK)) == 0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(tito.RecordError, match="train_ids has 2 rows, the token ids have 1"):
        compared([[0]], [[0], [1]], TOK)
    with pytest.raises(tito.RecordError, match="mask has 1 entry, its ids have 2"):
        compared([[0, 1]], [[0]], TOK, mask=[[1]])
    with pytest.raises(tito.RecordError, match="train_mask has 2 entries, its ids have 1"):
        compared([[0, 1]], [[0]], TOK, train_mask=[[1, 0]])
    ids, offsets = np.array([0, 1]), np.array([0, 2])
    core = TOK.core
    for wrong in (np.array([0, 1]), np.array([1, 2]), np.array([0, 3]), np.array([], dtype=np.int64)):
        with pytest.raises(ValueError, match="offsets"):
            core.realised(ids, offsets, ids, wrong)
    with pytest.raises(ValueError, match="0 or 1 everywhere"):
        core.realised(ids, offsets, ids, offsets, train_mask=np.array([0, 2], dtype=np.uint8))
    with pytest.raises(TypeError, match="int64, int32 or uint32"):
        core.realised(ids, offsets, ids.astype(float), offsets)


@given(
    rows=st.lists(st.tuples(OTHERS, OTHERS), max_size=8),
    threads=st.integers(1, 3),
)
def test_many_rows_are_each_row(rows: list[tuple[list[int], list[int]]], threads: int) -> None:
    batch = compared([a for a, _ in rows], [b for _, b in rows], TOK, threads=threads)
    for found, (a, b) in zip(batch, rows, strict=True):
        alone = one(a, b)
        assert (found.kind, found.first_diff, found.lost, found.spans) == (
            alone.kind,
            alone.first_diff,
            alone.lost,
            alone.spans,
        )


# The assertion


class Tensor:
    """What torch hands over: numpy sees it once it is off its graph and device."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self._values)


FORMS = (list, tuple, np.array, Tensor, lambda ids: np.array(ids, dtype=np.uint8), lambda ids: np.array(ids)[::1])


@pytest.mark.parametrize("ours", FORMS)
@pytest.mark.parametrize("theirs", FORMS)
def test_equal_ids_pass_in_any_form(ours: Any, theirs: Any) -> None:
    assert_trained_ids(ours([1, 2, 3]), theirs([1, 2, 3]))
    with pytest.raises(tito.DriftError):
        assert_trained_ids(ours([1, 2, 3]), theirs([1, 2, 4]))


IDS = st.lists(st.sampled_from([0, 1, 2, 4, -1, 2**63, 2**70]), max_size=5)


@given(sampled=IDS, trained=IDS, tok=st.sampled_from([None, TOK]))
def test_it_raises_iff_the_lists_differ(sampled: list[int], trained: list[int], tok: tito.Tokenizer | None) -> None:
    if sampled == trained:
        assert_trained_ids(sampled, trained, tok=tok)
        assert_trained_ids(sampled, tuple(trained), tok=tok)
        return
    with pytest.raises(tito.DriftError) as caught:
        assert_trained_ids(sampled, trained, tok=tok)
    assert (caught.value.result is None) == (tok is None)
    assert all(line.isprintable() for line in str(caught.value).splitlines())
    if tok is None:
        assert f"first at token {first_difference(sampled, trained)}" in str(caught.value)


@given(sampled=IDS, trained=IDS, data=st.data(), tok=st.sampled_from([None, TOK]))
def test_with_a_mask_only_targets_count(
    sampled: list[int], trained: list[int], data: st.DataObject, tok: tito.Tokenizer | None
) -> None:
    mask = data.draw(st.lists(st.integers(0, 1), min_size=len(sampled), max_size=len(sampled)))
    wrong = [
        i for i, (id_, value) in enumerate(zip(sampled, mask, strict=True)) if value and trained[i : i + 1] != [id_]
    ]
    if not wrong:
        assert_trained_ids(sampled, trained, mask=mask, tok=tok)
        return
    with pytest.raises(tito.DriftError, match=f"token {wrong[0]}\\b"):
        assert_trained_ids(sampled, trained, mask=mask, tok=tok)


def test_right_padding_passes_with_a_mask_only() -> None:
    padded = [*SAMPLED, 0, 0, 0]
    assert_trained_ids(SAMPLED, padded, mask=MASK)
    with pytest.raises(tito.DriftError):
        assert_trained_ids(SAMPLED, padded)


@pytest.mark.parametrize("wrong", [[1, 2.0], [1, True], [1, None], ["1", 2], "12", 7, np.array([1.0, 2.0]), [[1, 2]]])
def test_what_is_no_list_of_integers_is_refused(wrong: object) -> None:
    for pair in ((wrong, [1, 2]), ([1, 2], wrong), (wrong, wrong)):
        with pytest.raises(tito.RecordError, match=r"sampled|trained"):
            assert_trained_ids(*pair)


def test_a_mask_that_does_not_fit_is_refused() -> None:
    with pytest.raises(tito.RecordError, match="mask has 1 entry, the token ids have 2"):
        assert_trained_ids([1, 2], [1, 2], mask=[1])
    with pytest.raises(tito.RecordError, match="-100"):
        assert_trained_ids([1, 2], [1, 2], mask=[1, -100])
    with pytest.raises(tito.TokenizerError, match="load_tokenizer"):
        assert_trained_ids([1], [1], tok="gpt2")  # type: ignore[arg-type]


def test_the_message_with_a_tokenizer() -> None:
    with pytest.raises(tito.DriftError) as caught:
        assert_trained_ids(SAMPLED, TRAINED, tok=ARTICLE)
    headline, *lines = str(caught.value).splitlines()
    assert headline == (
        "the trained ids are not the sampled ones (TITO110 training-ids-differ): retokenized: 11 sampled ids became "
        "10, first at token 4"
    )
    assert lines[:3] == [
        '  sampled     ...  "q"  "p"  "x"  "a"  "b"  "y"  "q"  "p"  ...   1 0 4 2 3 5 1 0',
        '  trained     ...  "q"  "p"  "x"  "ab"      "y"  "q"  "p"  ...   1 0 4 6   5 1 0',
        "  1 place: merge 1",
    ]
    assert lines[3].startswith("help: ")
    result = caught.value.result
    assert isinstance(result, Check)
    assert (result.realised, result.realised_kind) == (True, "retokenized")


def test_the_message_points_at_the_target_that_moved() -> None:
    with pytest.raises(tito.DriftError) as caught:
        assert_trained_ids(SAMPLED, TRAINED, tok=ARTICLE, mask=[0] * 9 + [1, 1])
    lines = str(caught.value).splitlines()
    assert lines[1] == "  of 2 tokens of mask 1 the first that is not trained where it was sampled: token 9"
    assert '"ab"' in lines[3], "the span that moved it"


def test_the_message_of_a_truncated_row() -> None:
    with pytest.raises(tito.DriftError) as caught:
        assert_trained_ids(SAMPLED, SAMPLED[:9], tok=ARTICLE)
    assert str(caught.value).splitlines()[0] == (
        "the trained ids are not the sampled ones (TITO111 training-ids-truncated): truncated: the last 2 of 11 "
        "sampled ids were not trained"
    )


def test_the_message_without_a_tokenizer() -> None:
    with pytest.raises(tito.DriftError) as caught:
        assert_trained_ids([*range(20), 2**70], [*range(18), 99])
    assert str(caught.value).splitlines()[:3] == [
        "the trained ids are not the sampled ones: 21 ids became 19, first at token 18",
        "  sampled     ...  15  16  17  18  19  1180591620717411303424",
        "  trained     ...  15  16  17  99",
    ]


def test_a_row_that_the_reference_refuses_is_told_in_ids() -> None:
    from tiny import refusing  # noqa: PLC0415 - beside its only use

    with pytest.raises(tito.DriftError, match="2 ids became 1, first at token 1") as caught:
        assert_trained_ids([0, 1], [0], tok=refusing())
    assert caught.value.result is None
