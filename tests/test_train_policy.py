"""The example that trains: its gradient is one, the kept run is exact, and what the other run loses is real."""

import itertools
import math
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tito_audit as tito
import train_policy
from curves import picture
from train_policy import CLIP, END, RUNS, Policy, Rollout, Settings, Step, encoded_again, gradient, rollout

SMALL = Settings(steps=40, rollouts=16)
TOK = tito.load_tokenizer(train_policy.tokenizer())


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Step]]:
    return train_policy.compare(SMALL)


def batch(seed: int) -> tuple[Policy, list[Rollout]]:
    rng = np.random.default_rng(seed)
    policy = Policy(rng.normal(size=(END + 1, END + 1)))
    return policy, [rollout(policy, rng) for _ in range(6)]


def objective(policy: Policy, paths: list[list[int]], rollouts: list[Rollout], gains: list[float]) -> float:
    """PPO's clipped objective, written out."""
    terms = []
    for ids, sampled, gain in zip(paths, rollouts, gains, strict=True):
        scores = policy.score(ids)
        for t in range(min(len(ids), len(sampled.mask))):
            if sampled.mask[t]:
                ratio = math.exp(scores[t] - sampled.logprobs[t])
                terms.append(min(ratio * gain, min(max(ratio, 1 - CLIP), 1 + CLIP) * gain))
    return sum(terms) / len(terms)


@pytest.mark.parametrize("keep_ids", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_objective(seed: int, keep_ids: bool) -> None:  # noqa: FBT001
    policy, rollouts = batch(seed)
    rng = np.random.default_rng(seed + 100)
    gains = rng.normal(size=len(rollouts))
    paths = [each.ids for each in rollouts] if keep_ids else encoded_again(rollouts, TOK)
    changed = Policy(policy.logits + rng.normal(scale=0.1, size=policy.logits.shape))
    slope = gradient(changed, paths, rollouts, gains)
    step = 1e-6
    for at in itertools.product(range(END + 1), repeat=2):
        moved = np.zeros_like(changed.logits)
        moved[at] = step
        up, down = (
            objective(Policy(changed.logits + sign * moved), paths, rollouts, gains.tolist()) for sign in (1, -1)
        )
        assert slope[at] == pytest.approx((up - down) / (2 * step), abs=1e-6), at


def test_a_rollout_is_what_it_says() -> None:
    policy, rollouts = batch(5)
    for each in rollouts:
        assert len(each.ids) == len(each.mask) == len(each.logprobs)
        scores = policy.score(each.ids)
        for bit, logprob, score in zip(each.mask, each.logprobs, scores, strict=True):
            assert logprob == (score if bit else 0.0)
    assert any(path != each.ids for path, each in zip(encoded_again(rollouts, TOK), rollouts, strict=True))


def test_kept_ids_have_ratio_1_and_the_gradient_itself(runs: dict[str, list[Step]]) -> None:
    kept = runs[RUNS[0]]
    assert {step.ratio_error for step in kept} == {0.0}
    assert max(step.angle for step in kept) < 1e-4


def test_encoded_again_every_step_is_wrong(runs: dict[str, list[Step]]) -> None:
    again = runs[RUNS[1]]
    assert again[0].ratio_error == 0.0, "a policy of equal chances gives every token the same"
    assert min(step.ratio_error for step in again[1:]) > 0.005
    assert np.mean([step.angle for step in again]) > 20


def test_both_start_alike_and_only_one_learns(runs: dict[str, list[Step]]) -> None:
    kept, again = runs.values()
    assert kept[0].reward == again[0].reward
    assert np.mean([step.reward for step in kept[-5:]]) > 0.5
    assert np.mean([step.reward for step in again[-5:]]) < 0.2


def test_runs_are_repeatable(runs: dict[str, list[Step]]) -> None:
    assert train_policy.compare(SMALL) == runs


def test_it_draws_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "picture.svg"
    train_policy.main(path)
    root = ET.parse(path).getroot()  # noqa: S314 - our own file
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    drawn = [len(each.attrib["points"].split()) for each in lines]
    assert drawn == [60] * 6 + [2] * 2
    printed = capsys.readouterr().out.splitlines()
    assert [line[:14].strip() for line in printed[1:3]] == list(RUNS)


def test_a_picture_of_nothing_but_zeros() -> None:
    assert "nan" not in picture({"flat": [[0.0]]}, ["one"])
