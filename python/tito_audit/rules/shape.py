"""What a rule is, and what the texts of several rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first: ``error`` fails by default, ``warning`` is shown, ``note`` is counted and shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of finding.

    Attributes:
        code: Such as ``"TITO101"``; never reused for anything else.
        name: Kebab name, such as ``"merge"``; of a cause, the name of the cause.
        severity: ``"error"``, ``"warning"`` or ``"note"``.
        headline: One line that says what is the matter.
        meaning: What it means.
        why: Why it matters for training.
        how_it_arises: How it comes about.
        fix: What to do about it.
        example: A Python session that shows it; a test runs it.
        iff: Of a cause, the definition: "A span is X iff ...".
    """

    code: str
    name: str
    severity: Severity
    headline: str
    meaning: str
    why: str
    how_it_arises: str
    fix: str
    example: str
    iff: str | None = None


KEEP_THE_IDS = (
    "Keep the sampled ids from the sampler to the loss and never encode what was decoded: append ids to the buffer, "
    "tool results included, and build mask and logprobs as it grows."
)
OTHER_TOKENS = (
    "A pipeline that encodes the text again scores tokens that the policy never sampled: the importance ratio compares "
    "the logprobs of two different tokens, and where the length changed every later mask entry is off."
)
BAD_ROW_LEFT_OUT = "The row cannot be audited and is left out; what the trainer does with it is anybody's guess."

TINY = """\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
>>> t.decoder = decoders.Fuse()
>>> tok = tito.load_tokenizer(t)
"""
BYTES = """\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
>>> ids = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
>>> t = Tokenizer(models.BPE(ids, []))
>>> t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
>>> t.decoder = decoders.ByteLevel()
>>> tok = tito.load_tokenizer(t)
"""
CONTROL = """\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"<": 0, "e": 1, ">": 2}, []))
>>> t.decoder = decoders.Fuse()
>>> t.add_special_tokens(["<e>"])
1
>>> tok = tito.load_tokenizer(t)
"""
