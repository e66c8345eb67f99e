"""Rules about the training signal: TITO601 to TITO604."""

from __future__ import annotations

from tito_audit.rules.shape import CONTROL, KEEP_THE_IDS, TINY, Rule

SIGNAL = (
    Rule(
        code="TITO601",
        name="ratio-broken",
        severity="error",
        headline="with an unchanged policy the importance ratio is not 1",
        meaning="The record has the log-probabilities of sampler and trainer before the first update, and paired by "
        "position exp(trainer - sampler) is off 1 by more than 0.2 at a trained token that was scored as another id or "
        "behind another id. Where the ids are the same or unknown: at more than half of the trained tokens, three at "
        "least.",
        why="The loss weighs tokens by a ratio that says nothing about the policy, and clipping takes the gradient of "
        "others away, before anything was learnt.",
        how_it_arises="The trainer scored ids that were encoded again; or other weights, another temperature, another "
        "prompt than the sampler had.",
        fix=KEEP_THE_IDS,
        example=TINY
        + """\
>>> r = tito.check([0, 0, 0], tok, mask=[0, 1, 1], logprobs=[0.0, -0.5, -0.5], train_ids=[1, 0], \
train_logprobs=[-2.0, -1.5])
>>> print(next(found for found in r.findings if found.code == "TITO601"))
TITO601 ratio-broken: with an unchanged policy the ratio is off 1 by more than 0.2 at 1 of 1 trained token, by 0.632 \
at most: 0 scored as another id, 1 behind another id
""",
    ),
    Rule(
        code="TITO602",
        name="logprob-shifted",
        severity="error",
        headline="log-probabilities do not belong to the tokens they stand at",
        meaning="There are as many as tokens, but they fit only shifted by up to three tokens, or are those of the "
        "tokens with mask 1 alone, packed together and read as those of all. It shows in the ids that entries name, in "
        "where entries are not 0.0 beside the mask, or beside the trainer's log-probabilities.",
        why="Every importance ratio compares the log-probabilities of two different tokens.",
        how_it_arises="Logits at t taken for those of token t, when they are those of token t + 1; a leading begin id; "
        "sources that keep one entry per sampled token, padded to the length of the row.",
        fix="Append the log-probability together with its id. Entries that stand before their tokens or are packed on "
        "purpose are read with --logprobs-align shifted or masked.",
        example=TINY
        + """\
>>> print(tito.check([0, 1, 0, 1], tok, mask=[0, 0, 1, 1], logprobs=[0.0, -0.5, -0.2, 0.0]).findings[-1])
TITO602 logprob-shifted: each logprob belongs to the token 1 later (where it is not 0.0, the mask stands so)
""",
    ),
    Rule(
        code="TITO603",
        name="step0-kl",
        severity="warning",
        headline="sampler and trainer are apart before the first update",
        meaning="On the trained tokens the mean of exp(l) - 1 - l, with l = trainer - sampler in nats (k3), is above "
        "0.01, or one token is off by more than 3 nats. The tokens that are off by more than 1 are listed. It is no "
        "proof of re-tokenization: where the trained ids differ and a ratio is broken, that is TITO601.",
        why="The ratio starts away from 1, so the update is off-policy from its first step.",
        how_it_arises="Another checkpoint or template, dropout, another temperature, lower precision or other routing "
        "of experts in the sampler, or ids that were encoded again.",
        fix="Record the trained ids (train_ids) to rule re-tokenization in or out; then compare weights, temperature "
        "and dropout. What remains is arithmetic, for which there is importance sampling with a cap.",
        example=TINY
        + """\
>>> print(tito.check([0, 1], tok, mask=[1, 1], logprobs=[-0.5, -0.5], train_logprobs=[-0.5, -1.0]).findings[0])
TITO603 step0-kl: sampler and trainer are apart before the first update: k1 0.25, k3 0.0533 (bar 0.01), mean 0.25, \
max 0.5 nats (bar 3) over 2 tokens, 0 of them by more than 1
""",
    ),
    Rule(
        code="TITO604",
        name="signal-lost",
        severity="note",
        headline="sampled tokens are not trained",
        meaning="Of the tokens that the model sampled (by the turns, or else the mask) some are demoted: the trainer "
        "scored them with mask 0; or dropped: they are not among the ids that it scored. Up to eight tokens at the "
        "edge of a turn may be what a template writes, and do not count.",
        why="A repair that looks harmless can take most of a trajectory out of training; its reward is for all of it.",
        how_it_arises="A prefix break that was repaired by masking what came before, a fork that keeps one branch, a "
        "cut to the trainer's limit, ids that were encoded again.",
        fix="Count them over the run (tito.signal_account), and repair the cause: where ids are kept nothing is lost.",
        example=CONTROL
        + """\
>>> r = tito.check([1, 0, 2, 1], tok, mask=[0, 1, 1, 1], train_ids=[1, 0, 2], train_mask=[0, 0, 1])
>>> print(next(found for found in r.findings if found.code == "TITO604"))
TITO604 signal-lost: 2 of 3 sampled tokens not trained: 1 trained, 1 demoted to mask 0, 1 dropped
""",
    ),
)
