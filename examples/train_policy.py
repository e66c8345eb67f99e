"""Train one small policy twice, on the ids it sampled and on the same text encoded again, and draw what happens.

The policy is a table of logits: each token depends on the one before it. It answers three times in a row, a tool speaks
in between, and the reward looks at the text alone. It is trained with the clipped policy gradient of PPO. The two runs
have the same policy, seed and rewards, and differ in one line: the one keeps the sampled ids to the loss, the other
decodes them, encodes the text, and lays mask and log-probabilities on the new ids by position.

Run it: ``python examples/train_policy.py [PICTURE.svg]``.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models

import tito_audit as tito
from curves import picture

PICTURE = Path(__file__).with_name("out") / "train_policy.svg"
PIECES = ["a", "b", "c", "ab", "bc", "abc", "=", "!"]
MERGES = [("a", "b"), ("b", "c"), ("ab", "c")]
START, TOOL, END = 6, [6, 7], 8
TARGET = "abc"
TURNS = 3
LONGEST = 12
"""Tokens of an answer at most."""
CLIP = 0.2

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a run is made.

    Attributes:
        steps: Batches of rollouts.
        rollouts: Rollouts of a batch.
        updates: Updates on each batch.
        rate: Size of an update.
        seed: Seed of the sampler.
    """

    steps: int = 60
    rollouts: int = 32
    updates: int = 3
    rate: float = 3.0
    seed: int = 0


class Rollout(NamedTuple):
    """What one rollout is, ids and not text, and the reward of its text."""

    buffer: tito.RolloutBuffer
    reward: float

    @property
    def ids(self) -> list[int]:
        """The ids that were sampled, and those of the tool."""
        ids: list[int] = self.buffer.ids.tolist()
        return ids

    @property
    def mask(self) -> list[int]:
        """1 where the policy sampled."""
        mask: list[int] = self.buffer.mask.tolist()
        return mask

    @property
    def logprobs(self) -> list[float]:
        """What the policy gave each token when it sampled it; 0.0 for the others."""
        logprobs: list[float] = self.buffer.logprobs.tolist()
        return logprobs


class Step(NamedTuple):
    """One step of a run, before its first update.

    Attributes:
        reward: Mean reward of the batch.
        ratio_error: Mean distance of the importance ratio from 1, which it has to be.
        angle: Degrees between the gradient of the run and that of the sampled ids.
    """

    reward: float
    ratio_error: float
    angle: float


def tokenizer() -> Tokenizer:
    """Make a BPE of three letters; the policy may also emit what the merges would never give."""
    made = Tokenizer(models.BPE({piece: id_ for id_, piece in enumerate(PIECES)}, MERGES))
    made.decoder = decoders.Fuse()
    made.add_special_tokens(["<e>"])
    return made


class Policy:
    """A table of logits, from the token before to the next one."""

    def __init__(self, logits: Array) -> None:
        """Take the logits, and what follows from them."""
        self.logits = logits
        highest = logits.max(axis=1, keepdims=True)
        self.logprobs: Array = logits - highest - np.log(np.exp(logits - highest).sum(axis=1, keepdims=True))
        self.probabilities: Array = np.exp(self.logprobs)
        self._cumulative = self.probabilities.cumsum(axis=1)

    def draw(self, before: int, rng: np.random.Generator) -> int:
        """Sample the token behind another one."""
        drawn = int(np.searchsorted(self._cumulative[before], rng.random()))
        return min(drawn, len(self.logits) - 1)  # the sum of the probabilities is rounded

    def score(self, ids: Sequence[int]) -> list[float]:
        """Give the log-probability of each id; the first has none and gets 0.0."""
        return [0.0, *self.logprobs[list(ids[:-1]), list(ids[1:])].tolist()]


def reward(text: str, *, ended: bool) -> float:
    """Pay for each right letter from the start, charge for each other one, and pay extra for all of it and no more."""
    right = next((at for at, (is_, wanted) in enumerate(zip(text, TARGET, strict=False)) if is_ != wanted), None)
    right = min(len(text), len(TARGET)) if right is None else right
    return right / len(TARGET) - 0.1 * (len(text) - right) + (0.5 if ended and text == TARGET else 0.0)


def rollout(policy: Policy, rng: np.random.Generator) -> Rollout:
    """Let the policy answer, and the tool reply, some times in a row; the buffer keeps all that a trainer needs."""
    buffer, paid = tito.RolloutBuffer(), 0.0
    buffer.add_prompt([START])
    last = START
    for _ in range(TURNS):
        answer: list[int] = []
        logprobs: list[float] = []
        while len(answer) < LONGEST and END not in answer:
            token = policy.draw(last, rng)
            logprobs.append(float(policy.logprobs[last, token]))
            answer.append(token)
            last = token
        text = "".join(PIECES[token] for token in answer if token != END)
        paid += reward(text, ended=END in answer) / TURNS
        buffer.add_sampled(answer, logprobs)
        buffer.add_tool(TOOL)
        last = TOOL[-1]
    return Rollout(buffer, paid)


def encoded_again(rollouts: Sequence[Rollout], tok: tito.Tokenizer) -> list[list[int]]:
    """Give the ids that come back when each rollout is decoded and encoded."""
    batch = tito.check_batch([each.ids for each in rollouts], tok)
    return [row.reencoded_ids.tolist() for row in batch]


def gradient(policy: Policy, paths: Sequence[Sequence[int]], rollouts: Sequence[Rollout], gains: Array) -> Array:
    """Give the gradient of PPO's clipped objective, a mean over trained tokens, in the logits.

    Args:
        policy: The policy, which may have changed since it sampled.
        paths: The ids that are scored, one list per rollout; mask and logprobs are laid on them by position.
        rollouts: What was sampled.
        gains: Advantage of each rollout.
    """
    before, after, old, gain = [], [], [], []
    for ids, sampled, advantage in zip(paths, rollouts, gains.tolist(), strict=True):
        trained = [t for t in range(1, min(len(ids), len(sampled.mask))) if sampled.mask[t]]
        before += [ids[t - 1] for t in trained]
        after += [ids[t] for t in trained]
        old += [sampled.logprobs[t] for t in trained]
        gain += [advantage] * len(trained)
    ratio = np.exp(policy.logprobs[before, after] - old)
    advantages = np.array(gain)
    clipped = np.where(advantages > 0, ratio > 1 + CLIP, ratio < 1 - CLIP)
    weight = np.where(clipped, 0.0, advantages * ratio) / max(len(before), 1)
    slope = np.zeros_like(policy.logits)
    np.add.at(slope, (before, after), weight)
    np.add.at(slope, before, -weight[:, None] * policy.probabilities[before])
    return slope


def angle(one: Array, other: Array) -> float:
    """Give the angle between two gradients in degrees; 0 where one of them is 0."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.degrees(np.arccos(np.clip((one * other).sum() / size, -1, 1)))) if size else 0.0


def train(tok: tito.Tokenizer, settings: Settings, *, keep_ids: bool) -> list[Step]:
    """Train a policy from nothing.

    Args:
        tok: The tokenizer.
        settings: How the run is made.
        keep_ids: Train on the sampled ids; otherwise on what comes back from decode and encode.
    """
    rng = np.random.default_rng(settings.seed)
    policy = Policy(np.zeros((END + 1, END + 1)))
    steps = []
    for _ in range(settings.steps):
        batch = [rollout(policy, rng) for _ in range(settings.rollouts)]
        sampled = [each.ids for each in batch]
        paths = sampled if keep_ids else encoded_again(batch, tok)  # the one line
        rewards = np.array([each.reward for each in batch])
        gains = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        ratios = tito.ratio_metrics(
            (
                tito.importance_ratio(
                    policy.score(path), each.logprobs, each.mask, sampled_ids=each.ids, trained_ids=path
                )
                for path, each in zip(paths, batch, strict=True)
            ),
            prefix="",
        )
        turned = angle(gradient(policy, paths, batch, gains), gradient(policy, sampled, batch, gains))
        steps.append(Step(float(rewards.mean()), ratios["mean_error"], turned))
        for _ in range(settings.updates):
            policy = Policy(policy.logits + settings.rate * gradient(policy, paths, batch, gains))
    return steps


TITLES = (
    "mean reward of a step",
    "mean |ratio - 1| before the update",
    "degrees off the gradient of the sampled ids",
)
"""What a `Step` holds."""
RUNS = ("ids kept", "encoded again")


def compare(settings: Settings) -> dict[str, list[Step]]:
    """Train once with the ids kept and once with the text encoded again."""
    tok = tito.load_tokenizer(tokenizer())
    return {run: train(tok, settings, keep_ids=run == RUNS[0]) for run in RUNS}


def columns(steps: Sequence[Step]) -> list[list[float]]:
    """Give what steps hold as one curve per number."""
    return [list(column) for column in zip(*steps, strict=True)]


def main(path: Path = PICTURE) -> None:
    """Train both runs, say how they went, and draw them."""
    runs = compare(Settings())
    print(f"{'':14}  {'reward first':>12}  {'last':>6}  {'mean |ratio - 1|':>16}  {'degrees off':>11}")
    for run, steps in runs.items():
        rewards, errors, angles = (np.array(column) for column in zip(*steps, strict=True))
        first, last = rewards[:5].mean(), rewards[-5:].mean()
        print(f"{run:14}  {first:12.2f}  {last:6.2f}  {errors.mean():16.3f}  {angles.mean():11.1f}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture({run: columns(steps) for run, steps in runs.items()}, TITLES), encoding="utf-8")
    print(f"drawn in {path}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
