"""What the trainer scored: whole sequence or response, its mask, and padding that it shares with the sampled ids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import load, sentence_piece, straddler
from tito_audit.auditing.groups import check_trained
from tito_audit.errors import RecordError
from tito_audit.reading.columns import Columns, find
from tito_audit.reading.rows import ReadOptions, read_row
from tito_audit.reading.sequence import Joined, join
from tito_audit.reading.training import Training, read_training, settled
from tito_audit.realised import Realised
from tito_audit.records import to_ids, to_mask

TOK = straddler()
PAD = 5
"""``<e>``, which no row has but where a test says so."""
IDS = st.lists(st.integers(-1, 4) | st.just(2), max_size=7)
RANKS = (None, "truncated", "retokenized", "rewritten")
"""Kinds of realised drift by what is taken first."""


def encoded(ids: Sequence[int], tok: tito.Tokenizer = TOK) -> list[int]:
    text = tok.core.decode(np.array(ids, dtype=np.int64))
    return [int(id_) for id_ in tok.core.encode(text)]


@st.composite
def trained_in(draw: st.DrawFn, prompt: list[int], response: list[int]) -> list[int]:
    """What a pipeline may have made of a row: all of it or the response, as it is, cut, encoded again or changed."""
    ids = draw(st.sampled_from([response, prompt + response]))
    kind = draw(st.sampled_from(["same", "start", "end", "encoded", "changed", "anything"]))
    place = draw(st.integers(0, len(ids)))
    made = {
        "same": ids,
        "start": ids[:place],
        "end": ids[place:],
        "encoded": encoded(ids),
        "changed": [*ids[:place], draw(st.integers(0, 4)), *ids[place + draw(st.integers(0, 2)) :]],
        "anything": draw(IDS),
    }
    return made[kind]


def trained(ids: Any, prompt: Any, tok: tito.Tokenizer = TOK, **columns: Any) -> Realised:
    found = tito.check(ids, tok, prompt_ids=prompt, **columns).context.realised
    assert found is not None
    return found


def everything(realised: Realised) -> tuple[Any, ...]:
    places = (realised.first_diff, realised.kept_start, realised.lost, realised.spans, realised.wrong_positions)
    return (realised.kind, realised.train_ids.tolist(), *places, realised.straddling)


@given(IDS, IDS, st.data())
def test_parts_have_the_verdict_of_one_column(prompt: list[int], response: list[int], data: st.DataObject) -> None:
    seen = data.draw(trained_in(prompt, response))
    mask, train_mask = ([data.draw(st.integers(0, 1)) for _ in ids] for ids in (prompt + response, seen))
    whole = trained(prompt + response, None, mask=mask, train_ids=seen, train_mask=train_mask)
    after = trained(
        prompt + response, None, mask=mask, train_ids=prompt + seen, train_mask=[0] * len(prompt) + train_mask
    )
    found = trained(response, prompt, mask=mask, train_ids=seen, train_mask=train_mask)
    if not prompt or not seen or RANKS.index(whole.kind) < RANKS.index(after.kind):
        assert everything(found) == everything(whole)
    elif RANKS.index(after.kind) < RANKS.index(whole.kind):
        assert everything(found) == everything(after)
    elif whole.kind == "rewritten":
        assert everything(found) in (everything(whole), everything(after))
    else:
        assert everything(found) == everything(whole), "the whole comes first"


@given(IDS, IDS, st.data())
def test_whole_sequences_are_not_taken_for_responses(
    prompt: list[int], response: list[int], data: st.DataObject
) -> None:
    ids = prompt + response
    start = data.draw(st.integers(0, len(ids)))
    for seen in (ids, ids[start:], ids[:start], encoded(ids)):
        assume(seen != response or ids == response or not response)
        if seen != encoded(ids) or not _is_start(seen, response):
            found, expected = trained(response, prompt, train_ids=seen), trained(ids, None, train_ids=seen)
            assert everything(found) == everything(expected)


def _is_start(ids: list[int], of: list[int]) -> bool:
    return ids == of[: len(ids)]


def text_of(*pieces: str) -> tuple[tito.Tokenizer, dict[str, int]]:
    letters = sorted({letter for piece in pieces for letter in piece})
    merges, vocab = [], list(letters)
    for piece in pieces:
        for size in range(2, len(piece) + 1):
            if piece[:size] not in vocab:
                merges.append((piece[: size - 1], piece[size - 1]))
                vocab.append(piece[:size])
    return load(vocab, merges), {piece: place for place, piece in enumerate(vocab)}


def test_a_whole_that_was_encoded_again_from_its_first_id_on_is_retokenized() -> None:
    tok, id_of = text_of("The", "cat", "sat")
    prompt, response = [id_of[each] for each in "The"], [id_of[each] for each in "cat"]
    seen = encoded(prompt + response, tok)
    assert len(seen) < len(response)
    assert seen[0] != prompt[0]
    found = trained(response, prompt, train_ids=seen, tok=tok)
    assert (found.kind, found.train_ids.tolist()) == ("retokenized", seen)


def test_a_short_end_of_the_whole_is_truncated() -> None:
    found = trained([2, 3, 0], [0, 1, 3, 0, 1, 3], train_ids=[3, 2, 3, 0])
    assert (found.kind, found.lost, found.kept_start) == ("truncated", 5, 5)
    found = trained([2, 3, 0], [0, 1], train_ids=[3, 0])
    assert (found.kind, found.lost, found.kept_start) == ("truncated", 3, 3), "of both it is the whole's"


@pytest.mark.parametrize("response", [[], [2, 2]])
def test_nothing_that_was_trained_is_all_that_was_lost(response: list[int]) -> None:
    found = trained(response, [0, 1], train_ids=[], train_mask=[])
    assert (found.kind, found.lost) == ("truncated", 2 + len(response))


def test_a_response_that_was_encoded_by_itself_is_one() -> None:
    # Encoding begins with a space, so the text of the whole is another; the response's own is the same.
    tok = sentence_piece()
    found = trained([1, 1], [2], train_ids=encoded([1, 1], tok), tok=tok)
    assert found.train_ids.tolist()[:1] == [2]
    found = trained([1, 1, 1], [2, 3], train_ids=[*encoded([1, 1, 1], tok)], tok=tok)
    assert found.train_ids.tolist()[:2] == [2, 3]


def test_what_changes_as_much_either_way_is_the_whole() -> None:
    assert trained([1], [3], train_ids=[0, 0]).train_ids.tolist() == [0, 0]


def test_integers_that_no_array_holds_are_told_apart() -> None:
    prompt, response = [2**70, 1], [3, 2**71]
    found = trained(response, prompt, train_ids=[3, 2**71])
    assert (found.kind, found.original_ids(0, 4)) == (None, prompt + response)
    found = trained(response, prompt, train_ids=[3, 2**72])
    assert (found.kind, found.original_ids(0, 4)) == ("retokenized", [2**70, 1, 3, 2**72])
    assert trained(response, prompt, train_ids=[2**71]).kind == "truncated"


class Undecodable:
    """A tokenizer that has nothing to say."""

    core = None


@given(IDS, IDS)
def test_rows_that_nobody_changed_need_no_tokenizer(prompt: list[int], response: list[int]) -> None:
    joined = join(to_ids(response), to_ids(prompt))
    for seen in (prompt + response, response, prompt, response[1:]):
        whole = settled(Training(to_ids(seen)), joined, Undecodable())  # type: ignore[arg-type]
        assert whole.ids.ids.tolist() in (seen, prompt + seen)


def as_mask(value: object, ids: Any) -> Any:
    return to_mask(value, len(ids), column="train_mask")


def test_a_training_mask_may_cover_the_prompt_before_trained_responses() -> None:
    joined = join(to_ids([3, 4]), to_ids([1, 2]))
    for ids, mask in (([3, 4], [0, 1]), ([1, 2, 3, 4], [0, 0, 0, 1]), ([3, 4], [0, 0, 0, 1])):
        whole = settled(read_training(to_ids(ids), mask, joined, as_mask), joined, TOK)
        assert whole.mask is not None
        assert (whole.ids.ids.tolist(), whole.mask.tolist()) == ([1, 2, 3, 4], [0, 0, 0, 1])
    assert read_training(to_ids([3, 4]), None, joined, as_mask).mask is None
    whole = settled(read_training(to_ids([0]), [1, 0, 1], joined, as_mask), joined, TOK)
    assert whole.mask is not None
    assert (whole.ids.ids.tolist(), whole.mask.tolist()) == ([1, 2, 0], [1, 0, 1])


@pytest.mark.parametrize(
    ("ids", "mask"), [([3, 4], [0, 0, 1]), ([1, 2, 3, 4], [0] * 6), ([], [0]), ([3, 4], []), ([3], [0] * 4)]
)
def test_a_training_mask_of_another_length_names_both(ids: list[int], mask: list[int]) -> None:
    joined = Joined(np.array([1, 2, 3, 4]), {}, 2)
    with pytest.raises(RecordError, match=rf"train_mask has {len(mask)} entr.*, train_ids has {len(ids)} ") as caught:
        read_training(to_ids(ids), mask, joined, as_mask)
    assert caught.value.code == "TITO002"


# Padding


def audited(record: dict[str, Any], **options: Any) -> Realised:
    columns = find(Columns(), record)
    assert columns is not None
    row = read_row("f", 1, record, columns, ReadOptions(**options))
    assert not row.faults, row.faults
    [found] = check_trained([row], TOK, threads=1)
    return found.batch[0]


@given(IDS, IDS, st.data())
def test_padding_changes_no_verdict(prompt: list[int], response: list[int], data: st.DataObject) -> None:
    left, right = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    seen = data.draw(trained_in(prompt, response))
    mask, train_mask = ([data.draw(st.integers(0, 1)) for _ in ids] for ids in (prompt + response, seen))
    sides = [PAD] * left, [PAD] * right
    attention = [0] * left + [1] * len(prompt + response) + [0] * right
    padded = {
        "prompt_ids": sides[0] + prompt,
        "response_ids": response + sides[1],
        "attention_mask": attention,
        "mask": [0] * left + mask + [0] * right,
    }
    expected = trained(response, prompt, mask=mask, train_ids=seen, train_mask=train_mask)
    trainings = [(seen, train_mask)]
    if len(seen) == len(prompt + response):
        trainings.append((sides[0] + seen + sides[1], [0] * left + train_mask + [0] * right))
    if len(seen) == len(response):
        trainings.append((seen + sides[1], train_mask + [0] * right))
    for ids, ones in trainings:
        found = audited(padded | {"train_ids": ids, "train_mask": ones})
        assert everything(found) == everything(expected)
    whole = audited({"input_ids": prompt + response, "mask": mask, "train_ids": seen, "train_mask": train_mask})
    together = {"input_ids": sides[0] + prompt + response + sides[1], "attention_mask": attention}
    assert everything(audited(together | {"mask": padded["mask"], "train_ids": seen, "train_mask": train_mask})) == (
        everything(whole)
    )


@given(st.integers(0, 3), st.integers(0, 3))
def test_an_end_that_also_pads_is_no_padding_of_unpadded_ids(left: int, right: int) -> None:
    record = {
        "prompt_ids": [PAD] * left + [0],
        "response_ids": [3, PAD] + [PAD] * right,
        "attention_mask": [0] * left + [1, 1, 1] + [0] * right,
    }
    for seen in ([0, 3, PAD], [3, PAD], [3, PAD] + [PAD] * right, [PAD] * left + [0, 3, PAD] + [PAD] * right):
        assert audited(record | {"train_ids": seen}).kind is None


@given(st.integers(0, 2), st.sampled_from(["bare", "padded"]))
def test_a_mask_with_the_prompt_loses_the_padding_of_either(left: int, prompt: str) -> None:
    record = {"prompt_ids": [PAD] * left + [0], "response_ids": [3, 2], "attention_mask": [0] * left + [1, 1, 1]}
    mask = [1, 0, 1] if prompt == "bare" else [0] * left + [1, 0, 1]
    found = audited(record | {"train_ids": [3, 2], "train_mask": mask, "mask": [0] * left + [0, 1, 1]})
    assert (found.kind, found.wrong_positions) == (None, (0, 1))
