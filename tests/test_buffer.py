"""The buffer: lengths always fit, mask and turns follow from who added what, and no text gets in."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import tito_audit as tito
from rollouts import CALLS, Call, add, filled
from tiny import straddler
from tito_audit.native import rollout_record


@given(CALLS)
def test_what_is_held_is_what_was_added(calls: list[Call]) -> None:
    buffer = tito.RolloutBuffer()
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    for owner, added in calls:
        add(buffer, owner, added)
        sampled = owner == "assistant"
        ids += [pair[0] for pair in added] if sampled else added
        logprobs += [pair[1] for pair in added] if sampled else [0.0] * len(added)
        mask += [int(sampled)] * len(added)
        assert len(buffer) == len(buffer.ids) == len(buffer.mask) == len(buffer.logprobs) == len(buffer.turns)
    assert buffer.ids.tolist() == ids
    assert buffer.mask.tolist() == mask
    assert buffer.logprobs.tolist() == logprobs
    steps = [owner for owner, added in calls if added and owner == "assistant"]
    assert sorted(set(buffer.gen_steps.tolist()) - {-1}) == list(range(len(steps)))
    assert ((buffer.gen_steps >= 0) == (buffer.mask == 1)).all()


@given(CALLS)
def test_turns_are_the_maximal_runs_of_the_mask(calls: list[Call]) -> None:
    buffer = filled(calls)
    number, before = -1, 0
    for mask, turn in zip(buffer.mask.tolist(), buffer.turns.tolist(), strict=True):
        number += mask and not before
        before = mask
        assert turn == (number if mask else -1)


@given(CALLS)
def test_segments_tile_the_rollout(calls: list[Call]) -> None:
    buffer = filled(calls)
    done = 0
    for segment in buffer.segments:
        assert segment.start == done < segment.stop
        done = segment.stop
        assert (buffer.turns[segment.start : done] == segment.turn).all()
        assert (buffer.gen_steps[segment.start : done] == segment.gen_step).all()
    assert done == len(buffer)


def two_turns() -> tito.RolloutBuffer:
    buffer = tito.RolloutBuffer(weight_version=7)
    buffer.add_prompt([1, 2, 3])
    buffer.add_sampled([10, 11], [-0.1, -0.2], finish_reason="length")
    buffer.add_sampled([9], [-0.1], finish_reason="stop", weight_version=8)
    buffer.add_tool((4, 5))
    buffer.add_sampled(np.array([12, 9]), np.array([-0.3, -0.1], dtype=np.float32), finish_reason="stop")
    return buffer


def test_a_call_that_goes_on_is_the_same_turn_and_another_step() -> None:
    buffer = two_turns()
    assert buffer.turns.tolist() == [-1, -1, -1, 0, 0, 0, -1, -1, 1, 1]
    assert buffer.gen_steps.tolist() == [-1, -1, -1, 0, 0, 1, -1, -1, 2, 2]
    assert buffer.owners.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 1, 1]
    assert buffer.weight_versions == (7, 8, 7)
    assert [segment.owner for segment in buffer.segments] == ["prompt", "assistant", "assistant", "tool", "assistant"]
    assert repr(buffer) == "<RolloutBuffer 10 tokens, 5 sampled, 2 turns>"
    assert buffer
    assert tito.RolloutBuffer()


TEXTS: list[Any] = ["text", b"bytes", ["a"], "", [b"a"], bytearray(b"ab"), memoryview(b"ab"), np.array(["a"])]


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_no_method_takes_text(text: Any) -> None:
    buffer = tito.RolloutBuffer()
    for method in (buffer.add_prompt, buffer.add_tool, lambda ids: buffer.add_sampled(ids, [-0.1]), buffer.extends):
        with pytest.raises(tito.RecordError):
            method(text)
    assert len(buffer) == 0


@pytest.mark.parametrize(
    ("ids", "logprobs", "code"),
    [
        ([1, 2], [-0.1], "TITO002"),
        ([1], [-0.1, -0.2], "TITO002"),
        ([1], [], "TITO002"),
        ([1, 2], [-0.1, float("nan")], "TITO017"),
        ([1, 2], [None, -0.1], "TITO017"),
        ([1], [float("-inf")], "TITO017"),
        ([1], [0.5], "TITO017"),
        ([1], ["-0.1"], "TITO017"),
        ([1], [[-0.1]], "TITO017"),
        ([1, 2], [{"logprob": -0.1, "token_id": 1}, {"logprob": -0.1, "token_id": 3}], "TITO009"),
        ([1.5], [-0.1], "TITO001"),
        ([True], [-0.1], "TITO001"),
        ([2**63], [-0.1], "TITO005"),
        ([[1]], [-0.1], "TITO001"),
        (None, [-0.1], "TITO001"),
    ],
)
def test_what_is_refused_leaves_the_buffer_as_it_was(ids: Any, logprobs: Any, code: str) -> None:
    buffer = two_turns()
    before = buffer.as_dict()
    with pytest.raises(tito.RecordError) as caught:
        buffer.add_sampled(ids, logprobs)
    assert caught.value.code == code
    assert buffer.as_dict() == before


def test_logprobs_may_name_their_ids() -> None:
    buffer = tito.RolloutBuffer()
    buffer.add_sampled([5, 6], [{"logprob": -0.1, "token_id": 5}, {"logprob": -0.2, "token": "token_id:6"}])
    assert buffer.logprobs.tolist() == [-0.1, -0.2]


def test_nobody_can_change_what_is_held() -> None:
    ids = np.array([1, 2, 3])
    buffer = tito.RolloutBuffer()
    buffer.add_prompt(ids)
    ids[0] = 99
    assert buffer.ids.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        buffer.ids[0] = 99
    buffer.as_numpy()["token_ids"][0] = 99
    assert buffer.ids.tolist() == [1, 2, 3]


def test_a_dict_is_a_native_record_and_an_audit_reads_it() -> None:
    buffer = two_turns()
    fields = buffer.as_dict()
    assert fields["weight_versions"] == [7, 8, 7]
    assert "weight_version" not in fields
    assert fields["finish_reason"] == "stop"
    record = rollout_record(tokenizer_fingerprint={}, **fields)
    report = tito.audit([dict(record)], straddler())
    assert (report.statistics.rows_checked, report.statistics.trainable_tokens) == (1, 5)
    same = tito.RolloutBuffer(weight_version="step-3")
    same.add_sampled([1], [-0.1])
    assert same.as_dict()["weight_version"] == "step-3"
    assert "weight_versions" not in same.as_dict()
    assert tito.RolloutBuffer().as_dict()["token_ids"] == []


def test_a_copy_and_a_pickle_are_the_same() -> None:
    buffer = two_turns()
    for other in (copy.deepcopy(buffer), pickle.loads(pickle.dumps(buffer))):  # noqa: S301 - our own
        assert other.as_dict() == buffer.as_dict()
        other.add_tool([1])
        assert len(buffer) == 10


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensors = two_turns().as_torch()
    assert tensors["token_ids"].dtype == torch.int64
    assert tensors["logprobs"].dtype == torch.float64
    for name, column in two_turns().as_numpy().items():
        assert np.array_equal(tensors[name].numpy(), column)


def test_without_torch_the_export_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(tito.MissingExtraError, match="torch"):
        two_turns().as_torch()
