"""One row, many rows, and the assertion: what goes in, and that the three say the same."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import byte_level, refusing, sentence_piece, straddler
from tito_audit.check import pool_size

TOK = straddler()
IDS = st.lists(st.integers(-1, 7), max_size=12)


def test_clean_row() -> None:
    r = tito.check([4, 3], TOK)
    assert (r.drifted, r.artefact, r.silent, r.first_diff, r.cause, r.causes) == (False, False, False, None, None, ())
    assert (r.spans, r.straddling, r.findings, r.pipeline) == ((), (), (), None)
    assert r.reencoded_ids.tolist() == r.token_ids.tolist() == [4, 3]
    assert r.text == "aax"
    assert r.located


@pytest.mark.parametrize(
    "ids", [[2, 2], (2, 2), np.array([2, 2], dtype=">i2"), np.array([2, 0, 2, 0])[::2], np.array([2, 2], np.uint32)]
)
def test_row_in_any_container(ids: object) -> None:
    assert tito.check(ids, TOK).reencoded_ids.tolist() == [4]


def test_empty_row() -> None:
    r = tito.check([], TOK, mask=[])
    assert (r.drifted, r.first_diff, r.text, len(r.reencoded_ids)) == (False, None, "", 0)
    assert [finding.code for finding in r.findings] == ["TITO018"]


def test_result_does_not_follow_the_array_it_was_made_from() -> None:
    ids = np.array([2, 2])
    r = tito.check(ids, TOK)
    ids[:] = 0
    assert r.text == "aa"
    assert r.token_ids.tolist() == [2, 2]


def test_prompt_and_response_are_audited_together() -> None:
    r = tito.check([2, 3], TOK, prompt_ids=[0, 2], mask=[1, 1])
    assert r.token_ids.tolist() == [0, 2, 2, 3]
    assert r.mask is not None
    assert r.mask.tolist() == [0, 0, 1, 1]
    assert r.first_diff == 1
    [span] = r.spans
    assert (span.token_start, span.token_stop, span.flags) == (1, 3, ("at_segment_join",))
    [token] = r.straddling
    assert token.mask_per_byte == (0, 1)
    assert r.findings[0].flags == ("at_segment_join",)


@pytest.mark.parametrize("at", range(5))
def test_a_span_lies_across_the_join_if_tokens_of_both_sides_are_in_it(at: int) -> None:
    whole = [0, 2, 2, 3]
    [span] = tito.check(whole[at:], TOK, prompt_ids=whole[:at]).spans
    assert (span.token_start, span.token_stop) == (1, 3)
    assert ("at_segment_join" in span.flags) == (span.token_start < at < span.token_stop)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (b"\xc3", [("head", "tail")]),
        (b"\xa9a", [("head",)]),
        (b"a\xc3", [("tail",)]),
        (b"a\xc3b", [("interior",)]),
        (b"\xa9a\xffb\xc3", [("head",), ("interior",), ("tail",)]),
    ],
)
def test_broken_characters_are_marked_by_their_place_in_the_text(text: bytes, flags: list[tuple[str, ...]]) -> None:
    r = tito.check(list(text), byte_level())
    assert [span.flags for span in r.spans] == flags


def test_mask_and_owners_may_cover_both() -> None:
    r = tito.check([2, 3], TOK, prompt_ids=[0, 2], mask=[0, 1, 1, 1], owners=[5, 6, 7, 7])
    assert r.straddling == ()
    assert r.owner_crossing == 1
    assert r.owners is not None
    assert r.owners.tolist() == [5, 6, 7, 7]


def test_owners_of_the_response_alone() -> None:
    r = tito.check([2, 3], TOK, prompt_ids=[0, 2], owners=[1, 2])
    assert r.owners is not None
    assert r.owners.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("length", [0, 1, 3, 5])
def test_mask_that_fits_neither(length: int) -> None:
    with pytest.raises(
        tito.RecordError,
        match=rf"mask has {length} entr(y|ies), the response has 2 token ids, prompt and response together 4",
    ):
        tito.check([2, 3], TOK, prompt_ids=[0, 2], mask=[0] * length)


@pytest.mark.parametrize("whole", [{}, {1, 2}, "12", np.array(1), 5], ids=repr)
@pytest.mark.parametrize("argument", ["mask", "owners"])
def test_per_token_data_that_is_no_sequence(argument: str, whole: object) -> None:
    for prompt in (None, [0, 2]):
        with pytest.raises(tito.RecordError, match=f"^{argument}: .* where (a flat sequence|one flat row) "):
            tito.check([2, 3], TOK, prompt_ids=prompt, **{argument: whole})  # type: ignore[arg-type]
    with pytest.raises(tito.RecordError, match=f"^{argument}: "):
        tito.check_batch([[2, 3]], TOK, **{argument: whole})  # type: ignore[arg-type]


def test_pair_of_lists_is_not_audited_as_two_rows() -> None:
    with pytest.raises(tito.RecordError, match=r"^rows: ambiguous"):
        tito.check_batch(([2, 2, 1, 2], [0, 2, 4]), TOK)


def test_marker_in_a_mask_names_no_option_of_another_function() -> None:
    for call in (
        lambda mask: tito.check([2, 2], TOK, mask=mask),
        lambda mask: tito.check_batch([[2, 2]], TOK, mask=[mask]),
        lambda mask: tito.provenance([2, 2], TOK, mask=mask),
        lambda mask: tito.masked_mean([2, 2], mask),
    ):
        with pytest.raises(tito.RecordError, match=r"pass np\.where\(np\.equal\(mask, -100\), 0, mask\)$"):
            call([-100, 1])


def test_empty_prompt_is_no_prompt() -> None:
    r = tito.check([2, 2], TOK, prompt_ids=[], mask=[0, 1])
    assert r.spans[0].flags == ()
    assert len(r.straddling) == 1


def test_empty_response() -> None:
    r = tito.check([], TOK, prompt_ids=[0, 2], mask=[])
    assert r.token_ids.tolist() == [0, 2]
    assert not r.drifted


def test_mask_without_owners_gives_the_owners() -> None:
    r = tito.check([2, 2], TOK, mask=[0.0, 0.5])
    assert r.owners is not None
    assert r.owners.tolist() == [0, 1]
    assert not r.has_owners


def test_without_mask_nothing_straddles_and_nobody_owns() -> None:
    r = tito.check([2, 2], TOK)
    assert (r.straddling, r.owner_crossing, r.mask, r.owners) == ((), 0, None, None)


def test_ids_outside_the_vocabulary_are_audited() -> None:
    r = tito.check([0, 2**70, -5, 99, 1], TOK)
    assert r.unknown_positions == (1, 2, 3)
    assert r.original_ids(0, 5) == [0, 2**70, -5, 99, 1]
    assert r.token_ids.tolist() == [0, -1, -5, 99, 1]
    assert (r.text, r.cause, r.first_diff) == ("bT", "unknown-id", 1)
    assert r.reencoded_ids.tolist() == [0, 1]


def test_unknown_ids_of_the_prompt_count_too() -> None:
    r = tito.check([2**70], TOK, prompt_ids=[2**71, 0])
    assert r.original_ids(0, 3) == [2**71, 0, 2**70]


@pytest.mark.parametrize("argument", ["token_ids", "prompt_ids", "mask", "owners"])
def test_refusals_name_the_argument(argument: str) -> None:
    arguments: dict[str, Any] = {"token_ids": [0], "prompt_ids": [0], "mask": [1], "owners": [1]}
    with pytest.raises(tito.RecordError, match=f"^{argument}: '1' at position 0") as caught:
        tito.check(tok=TOK, **(arguments | {argument: ["1"]}))
    assert caught.value.column == argument


def test_pipeline_exposure_is_apart_from_drift() -> None:
    r = tito.check([2, 5, 2], TOK, skip_special_tokens=True)
    assert not r.drifted
    assert r.pipeline is not None
    assert (r.pipeline.drifted, r.pipeline.cause, r.pipeline.first_diff) == (True, "special-skipped", 0)
    assert (r.pipeline.text, r.pipeline.reencoded_ids.tolist(), r.pipeline.lost_positions) == ("aa", [4], (1,))


def test_clean_pipeline() -> None:
    r = tito.check([2, 3], TOK, skip_special_tokens=True)
    assert r.pipeline is not None
    assert (r.pipeline.drifted, r.pipeline.cause, r.pipeline.first_diff) == (False, None, None)
    assert r.pipeline.lost_positions == ()


def test_artefact_row_passes_the_assertion() -> None:
    tok = sentence_piece()
    r = tito.check([4, 2], tok)
    assert (r.drifted, r.artefact, r.causes) == (True, True, ("control-spacing",))
    tito.assert_no_drift([4, 2], tok)


def test_artefact_beside_a_merge_does_not_hide_it() -> None:
    tok = sentence_piece()
    r = tito.check([4, 2, 4, 2, 1, 1], tok)
    assert r.drifted
    assert not r.artefact
    assert "merge" in r.causes
    assert "control-spacing" in r.causes
    with pytest.raises(tito.DriftError, match="merge"):
        tito.assert_no_drift([4, 2, 4, 2, 1, 1], tok)


def test_assertion_joins_the_prompt() -> None:
    tito.assert_no_drift([2, 3], TOK)
    with pytest.raises(tito.DriftError) as caught:
        tito.assert_no_drift([2, 3], TOK, prompt_ids=[2])
    assert caught.value.result is not None
    assert caught.value.result.first_diff == 0


def test_row_that_the_reference_cannot_encode() -> None:
    tok = refusing()
    b = tito.check_batch([[0], [0, 1], [1]], tok)
    assert list(b.errors) == [1]
    assert not b[0].drifted
    with pytest.raises(tito.TokenizerError, match=r"row 1: .*UNK"):
        b[1]
    with pytest.raises(tito.TokenizerError, match="UNK"):
        tito.check([0, 1], tok)


@given(st.lists(IDS), st.data())
def test_batch_says_what_check_says(rows: list[list[int]], data: st.DataObject) -> None:
    masks = [data.draw(st.lists(st.integers(0, 1), min_size=len(row), max_size=len(row))) for row in rows]
    owners = [data.draw(st.lists(st.integers(0, 3), min_size=len(row), max_size=len(row))) for row in rows]
    b = tito.check_batch(rows, TOK, mask=masks, owners=owners, threads=2)
    assert len(b) == len(rows)
    for i, (row, mask, owner) in enumerate(zip(rows, masks, owners, strict=True)):
        one, many = tito.check(row, TOK, mask=mask, owners=owner), b[i]
        assert one.reencoded_ids.tolist() == many.reencoded_ids.tolist()
        assert (one.spans, one.straddling) == (many.spans, many.straddling)
        # What is wrong with a record is asked of single rows and of datasets.
        assert [each for each in one.findings if each.code != "TITO008"] == list(many.findings)
        assert (one.drifted, one.artefact, one.silent, one.located, one.invalid_utf8) == (
            b.drifted[i],
            b.artefact[i],
            b.silent[i],
            b.located[i],
            b.invalid_utf8[i],
        )
        assert (-1 if one.first_diff is None else one.first_diff) == b.first_diff[i]
        assert (len(row), len(one.reencoded_ids)) == (b.n_tokens[i], b.n_reencoded[i])
        assert (len(one.spans), len(one.straddling)) == (b.n_spans[i], b.n_straddling[i])
        assert (one.owner_crossing, one.shared_characters) == (b.n_owner_crossing[i], b.n_shared_chars[i])


@given(st.lists(IDS, min_size=1), st.integers(1, 4))
def test_number_of_threads_changes_nothing(rows: list[list[int]], threads: int) -> None:
    one, many = (tito.check_batch(rows, TOK, threads=n).columns for n in (1, threads))
    for name, column in one.items():
        np.testing.assert_array_equal(column, many[name], err_msg=name)  # type: ignore[literal-required]


def test_joins_and_row_start_set_flags() -> None:
    b = tito.check_batch([[2, 2], [2, 2], [0, 2, 2]], TOK, joins=[1, -1, 2], row_start=[False, True, True])
    assert [r.spans[0].flags for r in b] == [("at_segment_join",), ("at_row_start",), ("at_segment_join",)]


@pytest.mark.parametrize(
    "options", [{"joins": [1]}, {"joins": [0.5, 1]}, {"row_start": [True]}, {"mask": [[1, 1]]}, {"owners": [[1]]}]
)
def test_options_per_row_must_fit(options: dict[str, Any]) -> None:
    with pytest.raises(tito.RecordError):
        tito.check_batch([[2, 2], [2]], TOK, **options)


def test_threads_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="threads=0: at least 1 is needed"):
        tito.check_batch([[0]], TOK, threads=0)
    with pytest.raises(TypeError, match="threads='x': an integer of at least 1 is needed"):
        tito.check_batch([[0]], TOK, threads="x")  # type: ignore[arg-type]
    assert pool_size(3) == 3
    assert pool_size(None) >= 1


def test_calls_from_many_threads_at_once() -> None:
    tok = byte_level()
    wanted = tito.check_batch([list(b"abc\xff")] * 50, tok).reencoded_ids.tolist()
    wrong: list[object] = []

    def work() -> None:
        for _ in range(20):
            found = tito.check_batch([list(b"abc\xff")] * 50, tok, threads=2).reencoded_ids.tolist()
            if found != wanted:
                wrong.append(found)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("join", [5, -2, 2**70, -(2**70)])
def test_a_join_is_a_place_in_its_row(join: int) -> None:
    with pytest.raises(
        tito.RecordError, match=r"row 1: joins: .* is no number of prompt ids of a row of 2 ids"
    ) as caught:
        tito.check_batch([[0], [2, 2]], TOK, joins=[-1, join])
    assert (caught.value.row, caught.value.value) == (1, join)
    tito.check_batch([[0], [2, 2], []], TOK, joins=[0, 2, 0])


TURNS = [{"role": "tool", "start": 0, "end": 2}, {"role": "assistant", "start": 2, "end": 4}]


def codes(r: tito.Check) -> list[str]:
    return [finding.code for finding in r.findings]


def test_findings_say_what_is_wrong_with_the_record_too() -> None:
    assert codes(tito.check([0, 1, 3, 3], TOK, mask=[0, 0, 1, 1], turns=TURNS)) == []
    assert codes(tito.check([0, 1, 3, 3], TOK, mask=[1, 1, 0, 0], turns=TURNS)) == ["TITO304"]
    assert codes(tito.check([1, 0, 0], TOK, mask=[0, 1, 1])) == ["TITO008"]
    entries = [{"token_id": 3, "logprob": -0.5}, {"token_id": 0, "logprob": -0.5}]
    r = tito.check([3, 1], TOK, prompt_ids=[0], logprobs=entries)
    assert [(each.code, each.positions) for each in r.findings] == [("TITO009", (2,))]
    tito.assert_no_drift([0, 0], TOK)


def test_turns_with_roles_are_the_owners_where_none_are_given() -> None:
    r = tito.check([2, 2, 3, 3], TOK, mask=[0, 1, 1, 1], turns=TURNS)
    assert r.owners is not None
    assert (r.owners.tolist(), r.owner_name(0), r.owner_name(1)) == ([0, 0, 1, 1], "tool", "assistant")
    r = tito.check([2, 2, 3, 3], TOK, owners=[7, 7, 8, 8], turns=TURNS)
    assert r.owners is not None
    assert r.owners.tolist() == [7, 7, 8, 8]
    r = tito.check([2, 2, 3, 3], TOK, turns=TURNS, owner_names=["somebody"])
    assert r.owner_name(0) == "somebody"
    assert tito.check([2, 3], TOK, prompt_ids=[0], turns=[0, 1]).owners is None


def test_names_of_owners_are_judged_like_roles() -> None:
    owners = {"owners": [3, 3, 5, 5], "owner_names": {5: "assistant", 3: "user"}}
    assert codes(tito.check([0, 1, 3, 3], TOK, mask=[0, 0, 1, 1], **owners)) == []  # type: ignore[arg-type]
    assert codes(tito.check([0, 1, 3, 3], TOK, mask=[1, 1, 0, 0], **owners)) == ["TITO304"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "value", "code"),
    [
        ("turns", [0], "TITO002"),
        ("turns", [0, -2, 0, 0], "TITO001"),
        ("turns", [{"start": 0, "end": 9}], "TITO002"),
        ("turns", [{"start": 0}], "TITO001"),
        ("turns", "0011", "TITO001"),
        ("logprobs", [0.0], "TITO002"),
        ("logprobs", [0.0, None, 0.0, 0.0], "TITO017"),
        ("logprobs", [0.0, 0.0, 0.0, 1.0], "TITO017"),
        ("logprobs", 3.0, "TITO017"),
        ("train_ids", [1, "2"], "TITO001"),
        ("train_ids", 5, "TITO001"),
        ("train_mask", [1, 1], "TITO001"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(argument: str, value: Any, code: str) -> None:
    with pytest.raises(tito.RecordError) as caught:
        tito.check([0, 1, 3, 3], TOK, mask=[0, 0, 1, 1], **{argument: value})
    assert (caught.value.code, caught.value.column) == (code, argument)
    assert str(caught.value).startswith(argument)


def test_a_training_mask_of_another_length_names_both() -> None:
    with pytest.raises(tito.RecordError, match="train_mask has 1 entry, train_ids has 2"):
        tito.check([2, 2], TOK, train_ids=[2, 2], train_mask=[1])


def test_what_the_trainer_scored() -> None:
    r = tito.check([2, 2], TOK, mask=[0, 1])
    assert (r.realised, r.realised_kind) == (None, None)
    r = tito.check([2, 2], TOK, mask=[0, 1], train_ids=[2, 2], train_mask=[0, 1])
    assert (r.realised, r.realised_kind) == (False, None)
    r = tito.check([2, 2], TOK, train_ids=[4])
    assert (r.realised, r.realised_kind) == (True, "retokenized")
    assert codes(r) == ["TITO101", "TITO110"]
    assert tito.check([2, 3], TOK, train_ids=[2]).realised_kind == "truncated"
    assert tito.check([2, 3], TOK, train_ids=[0, 1]).realised_kind == "rewritten"


@given(IDS, IDS)
def test_training_ids_may_be_those_of_the_response(prompt: list[int], response: list[int]) -> None:
    for trained in (response or prompt, prompt + response):  # nothing at all is no response: it is what was left
        assert tito.check(response, TOK, prompt_ids=prompt, train_ids=trained).realised is False


def test_training_ids_do_not_follow_the_array_they_came_from() -> None:
    trained = np.array([2, 2])
    r = tito.check([2, 2], TOK, train_ids=trained)
    trained[:] = 0
    assert r.realised_kind is None
    assert r.context.realised is not None
    assert list(r.context.realised.train_ids) == [2, 2]


def test_a_verdict_keeps_its_mask_and_owners_whatever_becomes_of_the_arrays() -> None:
    mask, owners = np.array([0, 1], dtype=np.uint8), np.array([3, 4], dtype=np.uint8)
    r = tito.check(np.array([2, 2]), TOK, mask=mask, owners=owners)
    mask[:], owners[:] = 1, 9
    assert (r.mask is not None, r.owners is not None) == (True, True)
    assert (np.asarray(r.mask).tolist(), np.asarray(r.owners).tolist()) == ([0, 1], [3, 4])


def test_an_assertion_keeps_the_ids_it_failed_on() -> None:
    ids = np.array([2, 2])
    with pytest.raises(tito.DriftError) as caught:
        tito.assert_no_drift(ids, TOK)
    ids[:] = 0
    assert caught.value.result is not None
    assert caught.value.result.token_ids.tolist() == [2, 2]
