"""Rules about which tokenizer it is: TITO407."""

from __future__ import annotations

from tito_audit.rules.shape import TINY, Rule

IDENTITY = (
    Rule(
        code="TITO407",
        name="fingerprint-changed",
        severity="error",
        headline="the tokenizer is not the one that the ids were sampled with",
        meaning="The record carries the fingerprint of the sampler's tokenizer, and that of the audit differs in the "
        "components named. A fingerprint hashes what a component means, not its bytes.",
        why="Every verdict of the audit is about another vocabulary, or about other rules of splitting and merging. A "
        "trainer with this tokenizer scores other tokens than were sampled.",
        how_it_arises="A tokenizer file was converted or updated between sampling and training, or the command line "
        "names the tokenizer of another checkpoint.",
        fix="Audit with the tokenizer that the sampler loaded, and pin its file with the checkpoint.",
        example=TINY
        + """\
>>> row = {"token_ids": [1], "mask": [1], "tokenizer_fingerprint": {"model": "another"}}
>>> print(tito.audit([row], tok).findings[0].finding)
TITO407 fingerprint-changed: sampled with another tokenizer: model differs
""",
    ),
)
